/* figure_effects.c: predicted against real means of features: a scatter plot for each label, and a strip plot of what
 * is missed. */
#include <math.h>
#include <stdio.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/rng.h"
#include "report/canvas.h"
#include "report/effects.h"
#include "report/legend.h"
#include "report/noun.h"

#define MARKED   0xD55E00u
#define UNMARKED 0x0072B2u
#define NOTHING  0x999999u

/* The longest that a turned name below a strip may be. */
#define NAME_HEIGHT (32 * COMP__MM)

static comp_status compute(comp__effects *out, comp_context *context, const comp_dataset *dataset, const char *path,
                           const comp__figure_options *options) {
  *out = (comp__effects){0};
  comp_status status = comp_figure_check(path);
  if (status == COMP_OK && !options->condition)
    status = comp__error(COMP_ERR_ARGUMENT, "the column that holds the condition must be named");
  if (status != COMP_OK) return status;
  return comp__effects_init(
      out, context, dataset,
      &(comp__effects_options){options->condition, options->label, options->from, options->to, options->n_de, 2});
}

/* A title over all of it: given, or which change it is and `about`. Gives the place below. */
static double draw_title(comp__canvas *canvas, const comp__effects *effects, const char *title, const char *about) {
  char text[2 * COMP__LINE_BYTES];
  comp__lines lines;
  double size = 1.15 * canvas->font;
  snprintf(text, sizeof text, "%.200s \u2192 %.200s: %s", effects->source, effects->target, about);
  comp__text_wrap(&lines, canvas, size, COMP__BOLD, title ? title : text, canvas->width - 6 * COMP__MM, 4);
  comp__set_color(canvas, 0x111111);
  return comp__text_lines(canvas, 3 * COMP__MM, 2 * COMP__MM + size, size, COMP__BOLD, 0, &lines);
}

static void dot(comp__canvas *canvas, double x, double y, double radius, comp__color color) {
  comp__set_color(canvas, color);
  canvas->pen->circle(canvas->sheet, x, y, radius);
  canvas->pen->fill(canvas->sheet);
}

/* A spot of colour and what it means, at (*x, *y); what does not fit beside the one before goes on the next line. */
static void key(comp__canvas *canvas, double *x, double *y, comp__color color, const char *text) {
  double left = 3 * COMP__MM, right = canvas->width - 3 * COMP__MM, size = canvas->font;
  if (*x > left && *x + 6 + comp__text_width(canvas, size, COMP__PLAIN, text) > right) {
    *x = left;
    *y += 1.4 * size;
  }
  comp__lines lines;
  comp__text_wrap(&lines, canvas, size, COMP__PLAIN, text, right - *x - 6, 2);
  dot(canvas, *x + 2, *y - 0.35 * size, 1.8, color);
  comp__set_color(canvas, 0x111111);
  *y = comp__text_lines(canvas, *x + 6, *y, size, COMP__PLAIN, 0, &lines) - 1.2 * size;
  *x += 6 + lines.width + 10;
}

static const char *name_of(const comp__effects *effects, size_t l) {
  return effects->label_names ? effects->labels[l].label : "all samples";
}

/* Names that had to be cut may look the same: then each has a number, and this is the key to them. Gives its height. */
static comp_status draw_key(double *height, comp__canvas *canvas, const comp__effects *effects, const char *title,
                            double y) {
  const char **names;
  comp_status status = comp__alloc(&names, effects->n_labels, sizeof(const char *));
  if (status != COMP_OK) return status;
  for (size_t l = 0; l < effects->n_labels; l++) names[l] = name_of(effects, l);
  comp__legend legend = {.title = title, .names = names, .count = effects->n_labels, .numbered = true};
  *height = comp__legend_draw(canvas, &legend, 3 * COMP__MM, y, canvas->width - 6 * COMP__MM);
  comp__free(names);
  return COMP_OK;
}

/* The points of all features: an image where there are many in all panels. The marked ones stay as they are. */
static void draw_cloud(comp__canvas *canvas, const comp__frame *frame, const comp__effects *effects,
                       const comp__effect *e) {
  comp__raster raster = {0};
  bool many = effects->genes * effects->n_labels > COMP__MANY_POINTS;
  if (many) comp__raster_begin(&raster, canvas, frame->x, frame->y, frame->width, frame->height);
  for (size_t j = 0; j < effects->genes; j++)
    dot(many ? &raster.canvas : canvas, comp__frame_x(frame, e->target[j]) - raster.x,
        comp__frame_y(frame, e->predicted[j]) - raster.y, 0.8, UNMARKED);
  if (many) comp__raster_end(&raster, canvas);
}

/* ---- One panel a label ----------------------------------------------------------------------------------------- */

/* In two columns of words, r where there is one. */
static void draw_r(comp__canvas *canvas, const comp__frame *frame, const comp__effect *e) {
  double size = 0.86 * canvas->font, y = frame->y + size;
  const struct {
    const char *name;
    double value;
  } rows[] = {{"r all", e->r_all}, {"r DE", e->r_de}, {"r change", e->r_change}};
  comp__set_color(canvas, 0x111111);
  for (int k = 0; k < 3; k++) {
    char text[64];
    if (isnan(rows[k].value)) continue;
    snprintf(text, sizeof text, "%s = %.3f", rows[k].name, rows[k].value);
    comp__text(canvas, frame->x + 3, y, size, COMP__PLAIN, 0, text);
    y += 1.25 * size;
  }
}

/* The title of a panel; `number` 0: none. */
static void title_of(comp__lines *out, comp__canvas *canvas, const char *name, size_t number, double width) {
  char text[COMP__LINE_BYTES];
  if (number)
    snprintf(text, sizeof text, "%zu: %.400s", number, name);
  else
    snprintf(text, sizeof text, "%.400s", name);
  comp__text_wrap(out, canvas, canvas->font, COMP__BOLD, text, width, 2);
}

static bool is_title_cut(comp__canvas *canvas, const comp__effects *effects, double width) {
  comp__lines lines;
  bool cut = false;
  for (size_t l = 0; l < effects->n_labels && !cut; l++) {
    title_of(&lines, canvas, name_of(effects, l), 0, width);
    cut = lines.cut;
  }
  return cut;
}

static void draw_panel(comp__canvas *canvas, comp__frame *frame, const comp__effects *effects, size_t l,
                       bool numbered) {
  const comp__effect *e = &effects->labels[l];
  double min = INFINITY, max = -INFINITY, size = canvas->font;
  for (size_t j = 0; j < effects->genes; j++) {
    min = fmin(min, fmin(e->target[j], e->predicted[j]));
    max = fmax(max, fmax(e->target[j], e->predicted[j]));
  }
  comp__range_pad(&min, &max, 0.05);
  frame->x_min = frame->y_min = min;
  frame->x_max = frame->y_max = max;
  comp__frame_axes(canvas, frame, "xy");
  comp__set_color(canvas, 0xBBBBBB);
  canvas->pen->line_width(canvas->sheet, 0.5);
  canvas->pen->move_to(canvas->sheet, frame->x, frame->y + frame->height);
  canvas->pen->line_to(canvas->sheet, frame->x + frame->width, frame->y);
  canvas->pen->stroke(canvas->sheet);
  draw_cloud(canvas, frame, effects, e);
  for (size_t k = 0; k < e->n_de; k++)
    dot(canvas, comp__frame_x(frame, e->target[e->de[k]]), comp__frame_y(frame, e->predicted[e->de[k]]), 1.3, MARKED);
  draw_r(canvas, frame, e);
  comp__lines lines;
  char title[64];
  title_of(&lines, canvas, name_of(effects, l), numbered ? l + 1 : 0, frame->width);
  comp__set_color(canvas, 0x111111);
  comp__text_lines(canvas, frame->x, frame->y - 1.9 * size - 1.2 * size * (double)(lines.count - 1), size, COMP__BOLD,
                   0, &lines);
  snprintf(title, sizeof title, "n = %zu \u2192 %zu", e->n_source, e->n_target);
  comp__set_color(canvas, 0x555555);
  comp__text(canvas, frame->x, frame->y - 0.7 * size, 0.86 * size, COMP__PLAIN, 0, title);
}

/* Words below the panels and beside them. */
static void draw_axis_names(comp__canvas *canvas, const comp__effects *effects, double left, double bottom,
                            double middle) {
  char text[COMP__LINE_BYTES];
  comp__lines lines;
  comp__set_color(canvas, 0x111111);
  snprintf(text, sizeof text, "mean of real samples (%.200s)", effects->target);
  comp__text_wrap(&lines, canvas, canvas->font, COMP__PLAIN, text, canvas->width - left - 3 * COMP__MM, 1);
  comp__text_lines(canvas, left, bottom, canvas->font, COMP__PLAIN, 0, &lines);
  comp__text_up(canvas, 2 * COMP__MM + canvas->font * 0.4, middle, canvas->font, "mean predicted");
}

static comp_status draw_panels(comp__canvas *canvas, const comp__effects *effects, const char *label,
                               const char *title) {
  double size = canvas->font, left = 11 * COMP__MM, gap = 10 * COMP__MM;
  double y = draw_title(canvas, effects, title, "real and predicted means") + 0.5 * size, x = 3 * COMP__MM, height = 0;
  size_t columns = comp__columns(canvas->width - left - 3 * COMP__MM, gap, effects->n_labels);
  double panel =
      fmin((canvas->width - left - 3 * COMP__MM - gap * (double)(columns - 1)) / (double)columns, 60 * COMP__MM);
  bool numbered = effects->n_labels > 1 && is_title_cut(canvas, effects, panel);
  const char *noun = comp__noun(effects->dataset);
  char text[COMP__LINE_BYTES];
  snprintf(text, sizeof text, "all %ss", noun);
  key(canvas, &x, &y, UNMARKED, text);
  snprintf(text, sizeof text, "top %zu DE %ss (Wilcoxon)", effects->labels[0].n_de, noun);
  if (effects->labels[0].n_de) key(canvas, &x, &y, MARKED, text);
  y += 5 * size;
  double step = panel + 7.5 * size;
  size_t rows = (effects->n_labels + columns - 1) / columns;
  for (size_t l = 0; l < effects->n_labels; l++) {
    size_t row = l / columns;
    comp__frame frame = {.x = left + (double)(l % columns) * (panel + gap),
                         .y = y + (double)row * step,
                         .width = panel,
                         .height = panel};
    draw_panel(canvas, &frame, effects, l, numbered);
  }
  double bottom = y + (double)rows * step - 4 * size;
  draw_axis_names(canvas, effects, left, bottom, y + ((double)rows * step - 7.5 * size) / 2);
  canvas->height = bottom + 1.2 * size;
  if (!numbered) return COMP_OK;
  comp_status status = draw_key(&height, canvas, effects, label, canvas->height + size);
  canvas->height += size + height + COMP__MM;
  return status;
}

comp_status comp__figure_counterfactual(comp_context *context, const comp_dataset *dataset, const char *path,
                                        const comp__figure_options *options) {
  comp__effects effects;
  comp__canvas canvas = {0};
  comp_status status;
  COMP__TRY(compute(&effects, context, dataset, path, options));
  COMP__TRY(comp__canvas_init(&canvas, options, effects.n_labels == 1 ? 85 : 180));
  COMP__TRY(draw_panels(&canvas, &effects, options->label, options->title));
  COMP__TRY(comp__canvas_save(&canvas, path));
done:
  comp__canvas_release(&canvas);
  comp__effects_release(&effects);
  return status;
}

/* ---- Strips ---------------------------------------------------------------------------------------------------- */

static void draw_strip(comp__canvas *canvas, const comp__frame *frame, const comp__effect *e, size_t l, double half) {
  for (size_t k = 0; k < e->n_de; k++) {
    size_t j = e->de[k];
    double shift = (comp__rng_uniform(comp__rng_at(0, COMP__RNG_REPORT, 1, l), k) - 0.5) * half * 0.7;
    double middle = frame->x + frame->width * ((double)l + 0.5) / frame->x_max;
    dot(canvas, middle - half / 2 + shift, comp__frame_y(frame, e->source[j] - e->target[j]), 1, NOTHING);
    dot(canvas, middle + half / 2 + shift, comp__frame_y(frame, e->predicted[j] - e->target[j]), 1, MARKED);
  }
}

/* How the names of labels stand below the strips. */
typedef struct naming {
  bool turned, numbered;
} naming;

/* Few names have room for several lines; many are turned; where that is not enough, they are numbered. */
static naming choose_naming(comp__canvas *canvas, const comp__frame *frame, const comp__effects *effects) {
  double size = canvas->font, room = frame->width / (double)effects->n_labels, widest = 0;
  naming n = {false, false};
  for (size_t l = 0; l < effects->n_labels; l++)
    widest = fmax(widest, comp__text_width(canvas, size, COMP__PLAIN, name_of(effects, l)));
  if (widest <= room - 4) return n;
  for (size_t l = 0; l < effects->n_labels && room >= 24 * COMP__MM; l++) {
    comp__lines lines;
    comp__text_wrap(&lines, canvas, size, COMP__PLAIN, name_of(effects, l), room - 4, COMP__LINES);
    n.numbered = n.numbered || lines.cut;
  }
  if (room >= 24 * COMP__MM) return n;
  n.numbered = widest > NAME_HEIGHT;
  n.turned = !n.numbered;
  return n;
}

/* Names of labels; gives the height that they take. */
static double draw_names(comp__canvas *canvas, const comp__frame *frame, const comp__effects *effects, naming how) {
  double size = canvas->font, room = frame->width / (double)effects->n_labels, height = 0;
  comp__lines lines;
  comp__set_color(canvas, 0x111111);
  for (size_t l = 0; l < effects->n_labels; l++) {
    double x = frame->x + room * ((double)l + 0.5), y = frame->y + frame->height + 1.3 * size;
    char number[32];
    snprintf(number, sizeof number, "%zu", l + 1);
    comp__text_wrap(&lines, canvas, size, COMP__PLAIN, how.numbered ? number : name_of(effects, l),
                    how.turned ? NAME_HEIGHT + 1 : fmax(room - 4, 3 * size), how.turned ? 1 : COMP__LINES);
    canvas->pen->push(canvas->sheet);
    canvas->pen->translate(canvas->sheet, x, y);
    if (how.turned) canvas->pen->turn_up(canvas->sheet);
    comp__text_lines(canvas, 0, how.turned ? 0.35 * size : 0, size, COMP__PLAIN, how.turned ? 1 : 0.5, &lines);
    canvas->pen->pop(canvas->sheet);
    height = fmax(height, how.turned ? lines.width : 1.2 * size * (double)lines.count);
  }
  return height + 1.5 * size;
}

static comp_status draw_strips(comp__canvas *canvas, const comp__effects *effects, const char *label,
                               const char *title) {
  double size = canvas->font, min = 0, max = 0, x = 3 * COMP__MM, height = 0;
  double y = draw_title(canvas, effects, title, "error of the prediction") + 0.5 * size;
  char text[COMP__LINE_BYTES];
  snprintf(text, sizeof text, "%.200s \u2212 real (predicting no change)", effects->source);
  key(canvas, &x, &y, NOTHING, text); /* in the order of the strips */
  key(canvas, &x, &y, MARKED, "predicted \u2212 real");
  for (size_t l = 0; l < effects->n_labels; l++)
    for (size_t k = 0; k < effects->labels[l].n_de; k++) {
      const comp__effect *e = &effects->labels[l];
      size_t j = e->de[k];
      min = fmin(min, fmin(e->source[j], e->predicted[j]) - e->target[j]);
      max = fmax(max, fmax(e->source[j], e->predicted[j]) - e->target[j]);
    }
  comp__range_pad(&min, &max, 0.06);
  comp__frame frame = {.x = 14 * COMP__MM,
                       .y = y + 1.5 * size,
                       .width = canvas->width - 17 * COMP__MM,
                       .height = 55 * COMP__MM,
                       .x_min = 0,
                       .x_max = (double)effects->n_labels,
                       .y_min = min,
                       .y_max = max};
  comp__frame_axes(canvas, &frame, "y");
  comp__set_color(canvas, 0x333333);
  canvas->pen->line_width(canvas->sheet, 0.5);
  canvas->pen->move_to(canvas->sheet, frame.x, comp__frame_y(&frame, 0));
  canvas->pen->line_to(canvas->sheet, frame.x + frame.width, comp__frame_y(&frame, 0));
  canvas->pen->stroke(canvas->sheet);
  double half = fmin(0.45 * frame.width / (double)effects->n_labels, 8 * COMP__MM);
  for (size_t l = 0; l < effects->n_labels; l++) draw_strip(canvas, &frame, &effects->labels[l], l, half);
  comp__set_color(canvas, 0x111111);
  snprintf(text, sizeof text, "difference of means, top %zu DE %ss", effects->labels[0].n_de,
           comp__noun(effects->dataset));
  comp__text_up(canvas, 2 * COMP__MM + size * 0.6, frame.y + frame.height / 2, size, text);
  naming how = choose_naming(canvas, &frame, effects);
  canvas->height = frame.y + frame.height + draw_names(canvas, &frame, effects, how) + COMP__MM;
  if (!how.numbered) return COMP_OK;
  comp_status status = draw_key(&height, canvas, effects, label, canvas->height);
  canvas->height += height + COMP__MM;
  return status;
}

comp_status comp__figure_strip(comp_context *context, const comp_dataset *dataset, const char *path,
                               const comp__figure_options *options) {
  comp__effects effects;
  comp__canvas canvas = {0};
  comp_status status;
  COMP__TRY(compute(&effects, context, dataset, path, options));
  COMP__TRY(comp__canvas_init(&canvas, options, effects.n_labels < 6 ? 85 : 180));
  COMP__TRY(draw_strips(&canvas, &effects, options->label, options->title));
  COMP__TRY(comp__canvas_save(&canvas, path));
done:
  comp__canvas_release(&canvas);
  comp__effects_release(&effects);
  return status;
}
