/* figures.c: the module `figures`, the only caller of cairo. */
#include "report/pen.h"

#include <cairo-pdf.h>
#include <cairo-svg.h>
#include <cairo.h>
#include <math.h>

#include "core/module.h"

/* A sheet is a drawing context of cairo's and nothing else. */
static cairo_t *cr_of(comp__sheet *sheet) {
  return (cairo_t *)sheet;
}

/* The surface belongs to the sheet from here on. */
static comp__sheet *sheet_on(cairo_surface_t *surface) {
  cairo_t *cr = cairo_create(surface);
  cairo_surface_destroy(surface);
  return (comp__sheet *)cr;
}

static comp__sheet *sheet_new(double width) {
  /* Without bounds, cairo 1.16 reads bounds that it never set, and writes what was in memory there into the file. */
  const cairo_rectangle_t bounds = {0, 0, width, 1e5};
  comp__sheet *sheet = sheet_on(cairo_recording_surface_create(CAIRO_CONTENT_COLOR_ALPHA, &bounds));
  cairo_font_options_t *font = cairo_font_options_create();
  cairo_font_options_set_hint_metrics(font, CAIRO_HINT_METRICS_OFF);
  cairo_font_options_set_hint_style(font, CAIRO_HINT_STYLE_NONE);
  cairo_font_options_set_antialias(font, CAIRO_ANTIALIAS_GRAY);
  cairo_set_font_options(cr_of(sheet), font);
  cairo_font_options_destroy(font);
  return sheet;
}

static comp__sheet *image_new(int width, int height, double scale) {
  comp__sheet *sheet = sheet_on(cairo_image_surface_create(CAIRO_FORMAT_ARGB32, width, height));
  cairo_scale(cr_of(sheet), scale, scale);
  return sheet;
}

static void sheet_free(comp__sheet *sheet) {
  cairo_destroy(cr_of(sheet));
}

static void place(comp__sheet *sheet, comp__sheet *image, double x, double y, double scale) {
  cairo_t *cr = cr_of(sheet);
  cairo_save(cr);
  cairo_translate(cr, x, y);
  cairo_scale(cr, 1 / scale, 1 / scale);
  cairo_set_source_surface(cr, cairo_get_target(cr_of(image)), 0, 0);
  cairo_paint(cr);
  cairo_restore(cr);
}

/* ---- Files ----------------------------------------------------------------------------------------------------- */

typedef struct sink {
  comp__take take;
  void *to;
} sink;

static cairo_status_t give(void *closure, const unsigned char *bytes, unsigned int count) {
  const sink *s = closure;
  return s->take(s->to, bytes, count) ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_NO_MEMORY;
}

static cairo_surface_t *surface_for(comp__format format, double width, double height, double scale, sink *s) {
  if (format == COMP__SVG) return cairo_svg_surface_create_for_stream(give, s, width, height);
  if (format == COMP__PDF) return cairo_pdf_surface_create_for_stream(give, s, width, height);
  return cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)ceil(width * scale), (int)ceil(height * scale));
}

static void color(comp__sheet *sheet, comp__color color) {
  cairo_set_source_rgb(cr_of(sheet), (double)(color >> 16 & 255u) / 255, (double)(color >> 8 & 255u) / 255,
                       (double)(color & 255u) / 255);
}

static cairo_status_t paint(cairo_surface_t *surface, comp__sheet *sheet, double scale) {
  cairo_t *cr = cairo_create(surface);
  cairo_scale(cr, scale, scale);
  color((comp__sheet *)cr, 0xFFFFFF);
  cairo_paint(cr);
  cairo_set_source_surface(cr, cairo_get_target(cr_of(sheet)), 0, 0);
  cairo_paint(cr);
  cairo_status_t drawn = cairo_status(cr);
  cairo_destroy(cr);
  return drawn;
}

static comp_status save(comp__sheet *sheet, comp__format format, double width, double height, double scale,
                        comp__take take, void *to, const char **problem) {
  cairo_status_t drawn = cairo_status(cr_of(sheet));
  if (drawn == CAIRO_STATUS_SUCCESS) {
    sink s = {take, to};
    cairo_surface_t *surface = surface_for(format, width, height, scale, &s);
    drawn = paint(surface, sheet, format == COMP__PNG ? scale : 1);
    if (drawn == CAIRO_STATUS_SUCCESS && format == COMP__PNG)
      drawn = cairo_surface_write_to_png_stream(surface, give, &s);
    cairo_surface_finish(surface);
    if (drawn == CAIRO_STATUS_SUCCESS) drawn = cairo_surface_status(surface);
    cairo_surface_destroy(surface);
  }
  if (drawn == CAIRO_STATUS_SUCCESS) return COMP_OK;
  *problem = cairo_status_to_string(drawn);
  return drawn == CAIRO_STATUS_NO_MEMORY ? COMP_ERR_MEMORY : COMP_ERR_DATA;
}

/* ---- Lines and areas ------------------------------------------------------------------------------------------- */

static void push(comp__sheet *sheet) {
  cairo_save(cr_of(sheet));
}

static void pop(comp__sheet *sheet) {
  cairo_restore(cr_of(sheet));
}

static void translate(comp__sheet *sheet, double x, double y) {
  cairo_translate(cr_of(sheet), x, y);
}

static void turn_up(comp__sheet *sheet) {
  cairo_rotate(cr_of(sheet), -M_PI / 2);
}

static void line_width(comp__sheet *sheet, double width) {
  cairo_set_line_width(cr_of(sheet), width);
}

static void round_joins(comp__sheet *sheet) {
  cairo_set_line_join(cr_of(sheet), CAIRO_LINE_JOIN_ROUND);
}

static void dash(comp__sheet *sheet, double on, double off) {
  const double lengths[] = {on, off};
  cairo_set_dash(cr_of(sheet), lengths, on > 0 ? 2 : 0, 0);
}

static void move_to(comp__sheet *sheet, double x, double y) {
  cairo_move_to(cr_of(sheet), x, y);
}

static void line_to(comp__sheet *sheet, double x, double y) {
  cairo_line_to(cr_of(sheet), x, y);
}

static void rectangle(comp__sheet *sheet, double x, double y, double width, double height) {
  cairo_rectangle(cr_of(sheet), x, y, width, height);
}

static void circle(comp__sheet *sheet, double x, double y, double radius) {
  cairo_arc(cr_of(sheet), x, y, radius, 0, 2 * M_PI);
}

static void letters(comp__sheet *sheet, double x, double y, const char *text) {
  cairo_text_extents_t extents;
  cairo_text_extents(cr_of(sheet), text, &extents);
  cairo_move_to(cr_of(sheet), x - extents.x_bearing - extents.width / 2, y - extents.y_bearing - extents.height / 2);
  cairo_text_path(cr_of(sheet), text);
}

static void stroke(comp__sheet *sheet) {
  cairo_stroke(cr_of(sheet));
}

static void stroke_keep(comp__sheet *sheet) {
  cairo_stroke_preserve(cr_of(sheet));
}

static void fill(comp__sheet *sheet) {
  cairo_fill(cr_of(sheet));
}

static void fill_shades(comp__sheet *sheet, const comp__color *colors, size_t count, double from_y, double to_y) {
  cairo_pattern_t *pattern = cairo_pattern_create_linear(0, from_y, 0, to_y);
  for (size_t k = 0; k < count; k++) {
    const comp__color c = colors[k];
    cairo_pattern_add_color_stop_rgb(pattern, (double)k / (double)(count - 1), (double)(c >> 16 & 255u) / 255,
                                     (double)(c >> 8 & 255u) / 255, (double)(c & 255u) / 255);
  }
  cairo_set_source(cr_of(sheet), pattern);
  cairo_fill(cr_of(sheet));
  cairo_pattern_destroy(pattern);
}

static void clip(comp__sheet *sheet) {
  cairo_clip(cr_of(sheet));
}

/* ---- Text ------------------------------------------------------------------------------------------------------ */

static void font(comp__sheet *sheet, double size, bool bold) {
  cairo_select_font_face(cr_of(sheet), "DejaVu Sans", CAIRO_FONT_SLANT_NORMAL,
                         bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
  cairo_set_font_size(cr_of(sheet), size);
}

static double text_width(comp__sheet *sheet, const char *text) {
  cairo_text_extents_t extents;
  cairo_text_extents(cr_of(sheet), text, &extents);
  return extents.x_advance;
}

static void show_text(comp__sheet *sheet, double x, double y, const char *text) {
  cairo_move_to(cr_of(sheet), x, y);
  cairo_show_text(cr_of(sheet), text);
}

static const comp__pen table = {
    .sheet_new = sheet_new,
    .image_new = image_new,
    .sheet_free = sheet_free,
    .place = place,
    .save = save,
    .push = push,
    .pop = pop,
    .translate = translate,
    .turn_up = turn_up,
    .color = color,
    .line_width = line_width,
    .round_joins = round_joins,
    .dash = dash,
    .move_to = move_to,
    .line_to = line_to,
    .rectangle = rectangle,
    .circle = circle,
    .letters = letters,
    .stroke = stroke,
    .stroke_keep = stroke_keep,
    .fill = fill,
    .fill_shades = fill_shades,
    .clip = clip,
    .font = font,
    .text_width = text_width,
    .text = show_text,
};
COMP__MODULE_EXPORT(table, "cairo " CAIRO_VERSION_STRING);
