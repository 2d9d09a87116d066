/*
 * canvas.h: a sheet to draw on, and words. Drawing is recorded first, in points (1/72 inch) with y downwards, so that a
 * figure can find out how high it is while it is drawn; comp__canvas_save() makes the file.
 */
#ifndef COMP_REPORT_CANVAS_H
#define COMP_REPORT_CANVAS_H

#include <stdbool.h>
#include <stddef.h>

#include "report/options.h"
#include "report/pen.h"

#define COMP__MM (72.0 / 25.4)

typedef struct comp__canvas {
  const comp__pen *pen; /* draws on the sheet */
  comp__sheet *sheet;
  double width, height; /* points; the height may be set until it is saved */
  double font;          /* size of ordinary text */
  double dpi;
} comp__canvas;

/* A sheet of options->width, or `width_mm` where that is 0. It should be released via comp__canvas_release().
 * COMP_ERR_UNAVAILABLE without the module `figures`. */
comp_status comp__canvas_init(comp__canvas *out, const comp__figure_options *options, double width_mm);
void comp__canvas_release(comp__canvas *canvas);

/* Writes what was drawn, on white, whole or not at all. */
comp_status comp__canvas_save(comp__canvas *canvas, const char *path);

void comp__set_color(comp__canvas *canvas, comp__color color);

typedef enum comp__weight { COMP__PLAIN, COMP__BOLD } comp__weight;

/* The width of text of a size. */
double comp__text_width(comp__canvas *canvas, double size, comp__weight weight, const char *text);

/* Writes text with its baseline at y, in the current colour; anchor 0: x is its left end, 0.5: its middle, 1: its right
 * end. */
void comp__text(comp__canvas *canvas, double x, double y, double size, comp__weight weight, double anchor,
                const char *text);

/* The same turned by 90 degrees, reading upwards, with its middle at y. */
void comp__text_up(comp__canvas *canvas, double x, double y, double size, const char *text);

/* A number on white, readable on any picture; (x, y) is its middle. */
void comp__text_halo(comp__canvas *canvas, double x, double y, double size, const char *text);

/* Text broken into lines that fit a width: at spaces and underscores where possible, the last line losing its middle
 * when there are too many. */
enum { COMP__LINES = 8, COMP__LINE_BYTES = 512 };
typedef struct comp__lines {
  char text[COMP__LINES][COMP__LINE_BYTES];
  size_t count;
  double width; /* of the longest */
  bool cut;     /* something was left out */
} comp__lines;
void comp__text_wrap(comp__lines *out, comp__canvas *canvas, double size, comp__weight weight, const char *text,
                     double width, size_t max_lines);

/* Draws the lines, the first with its baseline at y; gives the baseline after the last. */
double comp__text_lines(comp__canvas *canvas, double x, double y, double size, comp__weight weight, double anchor,
                        const comp__lines *lines);

/* ---- Dense points ---- */

/* From so many points on, a vector file holds them as an image: it would be slow to open, and large. */
enum { COMP__MANY_POINTS = 3000 };

/* An image in place of a part of a sheet: what is drawn on `canvas` with its place less (x, y). */
typedef struct comp__raster {
  comp__canvas canvas;
  double x, y, scale;
} comp__raster;

/* An image over the rectangle, aligned to its pixels, with the dots an inch of the sheet. It should be ended via
 * comp__raster_end(), which places it on the sheet. */
void comp__raster_begin(comp__raster *out, const comp__canvas *canvas, double x, double y, double width, double height);
void comp__raster_end(comp__raster *raster, comp__canvas *canvas);

/* ---- Axes ---- */

/* A rectangle with the range of values that it shows. */
typedef struct comp__frame {
  double x, y, width, height;
  double x_min, x_max, y_min, y_max;
} comp__frame;

double comp__frame_x(const comp__frame *frame, double value);
double comp__frame_y(const comp__frame *frame, double value);

/* How many panels stand side by side: at most 4, each at least 28 mm wide. */
size_t comp__columns(double width, double gap, size_t panels);

/* Widens a range by a share on both sides; a range of one value gets some room. */
void comp__range_pad(double *min, double *max, double share);

/* Round values within a range, some `wanted` of them; gives their number, at most 12. */
size_t comp__ticks(double out[12], double min, double max, size_t wanted);

/* A tick as short text. */
const char *comp__tick_text(char buffer[32], double value, double step);

/* Left and bottom lines with ticks and numbers; `sides` of 'x' and 'y'. */
void comp__frame_axes(comp__canvas *canvas, const comp__frame *frame, const char *sides);

#endif
