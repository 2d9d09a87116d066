/*
 * pen.h: what the module `figures` does for canvas.h: drawing on sheets, by cairo. Lengths are points, y goes
 * downwards, a colour is 0xRRGGBB. Failures are kept in the sheet, and further drawing on it does nothing: save()
 * reports them.
 */
#ifndef COMP_REPORT_PEN_H
#define COMP_REPORT_PEN_H

#include <stdbool.h>
#include <stddef.h>

#include "comp/status.h"
#include "report/palette.h"

typedef struct comp__sheet comp__sheet;

typedef enum comp__format { COMP__SVG, COMP__PDF, COMP__PNG, COMP__FORMATS } comp__format;

/* Takes some bytes of a file; false ends the writing. */
typedef bool (*comp__take)(void *to, const unsigned char *bytes, size_t count);

typedef struct comp__pen {
  /* A sheet of any height, which records what is drawn; never NULL. It should be freed via sheet_free(). */
  comp__sheet *(*sheet_new)(double width);
  /* A transparent image of width x height pixels, `scale` pixels a point. It should be freed via sheet_free(). */
  comp__sheet *(*image_new)(int width, int height, double scale);
  void (*sheet_free)(comp__sheet *sheet);
  /* Draws an image with its top left corner at (x, y). */
  void (*place)(comp__sheet *sheet, comp__sheet *image, double x, double y, double scale);
  /* Gives what was drawn to `take` as a file, on white; `scale` pixels a point in COMP__PNG. On failure `*problem` says
   * why, in memory that is not to be freed. */
  comp_status (*save)(comp__sheet *sheet, comp__format format, double width, double height, double scale,
                      comp__take take, void *to, const char **problem);

  /* Keeps colour, line and position until pop(). */
  void (*push)(comp__sheet *sheet);
  void (*pop)(comp__sheet *sheet);
  void (*translate)(comp__sheet *sheet, double x, double y);
  /* By 90 degrees: text reads upwards. */
  void (*turn_up)(comp__sheet *sheet);

  void (*color)(comp__sheet *sheet, comp__color color);
  void (*line_width)(comp__sheet *sheet, double width);
  void (*round_joins)(comp__sheet *sheet);
  /* Lines of dashes; `on` 0: whole lines again. */
  void (*dash)(comp__sheet *sheet, double on, double off);

  /* These make a path; stroke(), stroke_keep(), fill(), fill_shades() and clip() use it. */
  void (*move_to)(comp__sheet *sheet, double x, double y);
  void (*line_to)(comp__sheet *sheet, double x, double y); /* the first one of a path moves */
  void (*rectangle)(comp__sheet *sheet, double x, double y, double width, double height);
  void (*circle)(comp__sheet *sheet, double x, double y, double radius);
  void (*letters)(comp__sheet *sheet, double x, double y, const char *text); /* (x, y) is their middle */
  void (*stroke)(comp__sheet *sheet);
  void (*stroke_keep)(comp__sheet *sheet); /* the path stays */
  void (*fill)(comp__sheet *sheet);
  void (*fill_shades)(comp__sheet *sheet, const comp__color *colors, size_t count, double from_y, double to_y);
  void (*clip)(comp__sheet *sheet);

  /* Text is UTF-8 without control characters. */
  void (*font)(comp__sheet *sheet, double size, bool bold);
  double (*text_width)(comp__sheet *sheet, const char *text);
  void (*text)(comp__sheet *sheet, double x, double y, const char *text); /* (x, y) is where its baseline begins */
} comp__pen;

#endif
