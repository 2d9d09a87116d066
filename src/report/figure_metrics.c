/* figure_metrics.c: bars of metrics, one panel a metric, one bar a method. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "report/canvas.h"
#include "report/legend.h"
#include "verdict/scores.h"

/* Different names in the order in which they come. */
typedef struct names {
  const char **items;
  size_t count, capacity;
} names;

static comp_status add_name(names *list, const char *name) {
  for (size_t i = 0; i < list->count; i++)
    if (strcmp(list->items[i], name) == 0) return COMP_OK;
  comp_status status = comp__grow(&list->items, &list->capacity, list->count, list->count + 1, sizeof *list->items);
  if (status == COMP_OK) list->items[list->count++] = name;
  return status;
}

static const comp__read_score *find(const comp__scores *scores, const char *metric, const char *method) {
  for (size_t i = scores->count; i-- > 0;) {
    const comp__read_score *s = &scores->items[i];
    if (!s->label && strcmp(s->name, metric) == 0 && strcmp(s->method, method) == 0 && isfinite(s->value)) return s;
  }
  return NULL;
}

/* Of several changes of condition that were predicted, the first is drawn: bars of one panel must be comparable. Gives
 * it; NULL: none. */
static const char *keep_first_change(comp__scores *scores) {
  const char *first = NULL;
  for (size_t i = 0; i < scores->count; i++) {
    comp__read_score *s = &scores->items[i];
    if (!s->change) continue;
    if (!first) first = s->change;
    if (strcmp(s->change, first) != 0) s->value = NAN;
  }
  return first;
}

/* What rounding leaves of nothing is nothing. */
#define NOTHING 1e-9

static void draw_bar(comp__canvas *canvas, const comp__frame *frame, const comp__read_score *s, double x, double width,
                     comp__color color) {
  double zero = comp__frame_y(frame, 0), top = comp__frame_y(frame, s->value), size = 0.86 * canvas->font;
  comp__set_color(canvas, color);
  canvas->pen->rectangle(canvas->sheet, x, fmin(zero, top), width, fmax(0.4, fabs(zero - top)));
  canvas->pen->fill(canvas->sheet);
  comp__set_color(canvas, 0x222222);
  if (isfinite(s->error)) {
    canvas->pen->line_width(canvas->sheet, 0.6);
    canvas->pen->move_to(canvas->sheet, x + width / 2, comp__frame_y(frame, s->value - s->error));
    canvas->pen->line_to(canvas->sheet, x + width / 2, comp__frame_y(frame, s->value + s->error));
    canvas->pen->stroke(canvas->sheet);
  }
  char text[40];
  int digits = 3;
  double value = fabs(s->value) < NOTHING ? 0 : s->value;
  do snprintf(text, sizeof text, "%s%.*g", value < 0 ? "\u2212" : "", digits, fabs(value));
  while (--digits > 0 && comp__text_width(canvas, size, COMP__PLAIN, text) >= width + 6);
  if (comp__text_width(canvas, size, COMP__PLAIN, text) < width + 6) {
    double above = isfinite(s->error) ? fabs(comp__frame_y(frame, 0) - comp__frame_y(frame, s->error)) : 0;
    comp__text(canvas, x + width / 2, s->value < 0 ? top + above + 1.1 * size : top - above - 0.3 * size, size,
               COMP__PLAIN, 0.5, text);
  }
}

static void draw_panel(comp__canvas *canvas, comp__frame *frame, const comp__scores *scores, const char *metric,
                       const names *methods, const comp__color *colors) {
  static const char *const hints[] = {"", "lower is better", "higher is better", "0 is best"};
  comp_better better = COMP_BETTER_UNKNOWN;
  double min = 0, max = 0, size = canvas->font;
  size_t bars = 0, bar = 0; /* of the methods that have this metric */
  for (size_t m = 0; m < methods->count; m++) {
    const comp__read_score *s = find(scores, metric, methods->items[m]);
    if (!s) continue;
    bars++;
    double error = isfinite(s->error) ? s->error : 0;
    min = fmin(min, s->value - error);
    max = fmax(max, s->value + error);
    better = s->better;
  }
  if (max - min < NOTHING) {
    min = 0;
    max = 1;
  }
  frame->y_min = min < 0 ? min - 0.14 * (max - min) : 0;
  frame->y_max = max > 0 ? max + 0.14 * (max - min) : 0;
  comp__frame_axes(canvas, frame, "y");
  double slot = fmin(frame->width / (double)(bars ? bars : 1), 12 * COMP__MM);
  for (size_t m = 0; m < methods->count; m++) {
    const comp__read_score *s = find(scores, metric, methods->items[m]);
    if (s) draw_bar(canvas, frame, s, frame->x + slot * ((double)bar++ + 0.12), slot * 0.76, colors[m]);
  }
  comp__set_color(canvas, 0x333333);
  canvas->pen->line_width(canvas->sheet, 0.5);
  canvas->pen->move_to(canvas->sheet, frame->x, comp__frame_y(frame, 0));
  canvas->pen->line_to(canvas->sheet, frame->x + frame->width, comp__frame_y(frame, 0));
  canvas->pen->stroke(canvas->sheet);
  comp__lines lines;
  comp__text_wrap(&lines, canvas, size, COMP__BOLD, comp__score_title(metric, true), frame->width + 8 * COMP__MM, 2);
  comp__set_color(canvas, 0x111111);
  comp__text_lines(canvas, frame->x - 8 * COMP__MM, frame->y - (0.8 + 1.2 * (double)lines.count) * size, size,
                   COMP__BOLD, 0, &lines);
  comp__set_color(canvas, 0x555555);
  comp__text(canvas, frame->x - 8 * COMP__MM, frame->y - 0.8 * size, 0.86 * size, COMP__PLAIN, 0, hints[better]);
}

static void draw_all(comp__canvas *canvas, const comp__scores *scores, const names *metrics, const names *methods,
                     const comp__color *colors, const char *change, const char *title) {
  double size = canvas->font, y = 2 * COMP__MM, left = 11 * COMP__MM, gap = 13 * COMP__MM;
  comp__lines lines;
  if (title) {
    comp__text_wrap(&lines, canvas, 1.2 * size, COMP__BOLD, title, canvas->width - 6 * COMP__MM, COMP__LINES);
    comp__set_color(canvas, 0x111111);
    y = comp__text_lines(canvas, 3 * COMP__MM, y + size, 1.2 * size, COMP__BOLD, 0, &lines);
  }
  size_t columns = comp__columns(canvas->width - left - 3 * COMP__MM, gap, metrics->count);
  double width =
      fmin(50 * COMP__MM, (canvas->width - left - 3 * COMP__MM - gap * (double)(columns - 1)) / (double)columns);
  double height = 30 * COMP__MM, step = height + 6.2 * size;
  y += 4.7 * size;
  for (size_t k = 0; k < metrics->count; k++) {
    size_t row = k / columns;
    comp__frame frame = {.x = left + (double)(k % columns) * (width + gap),
                         .y = y + (double)row * step,
                         .width = width,
                         .height = height,
                         .x_min = 0,
                         .x_max = 1};
    draw_panel(canvas, &frame, scores, metrics->items[k], methods, colors);
  }
  size_t rows = (metrics->count + columns - 1) / columns;
  y += (double)rows * step - 2.5 * size;
  comp__legend legend = {.title = "method", .names = methods->items, .colors = colors, .count = methods->count};
  canvas->height = y + comp__legend_draw(canvas, &legend, 3 * COMP__MM, y, canvas->width - 6 * COMP__MM) + 2 * COMP__MM;
  if (!change) return;
  char text[COMP__LINE_BYTES];
  snprintf(text, sizeof text, "Predictions are of %.450s; mean over labels.", change);
  comp__text_wrap(&lines, canvas, size, COMP__PLAIN, text, canvas->width - 6 * COMP__MM, COMP__LINES);
  comp__set_color(canvas, 0x111111);
  canvas->height =
      comp__text_lines(canvas, 3 * COMP__MM, canvas->height + size, size, COMP__PLAIN, 0, &lines) + COMP__MM;
}

comp_status comp__figure_metrics(const char *const *score_files, size_t n_files, const char *path,
                                 const comp__figure_options *options) {
  comp__scores scores = {0};
  comp__canvas canvas = {0};
  names metrics = {0}, methods = {0};
  comp__color *colors = NULL;
  comp_status status;
  COMP__TRY(comp_figure_check(path));
  for (size_t i = 0; i < n_files; i++) COMP__TRY(comp__scores_read(&scores, score_files[i]));
  const char *change = keep_first_change(&scores);
  for (size_t i = 0; i < scores.count; i++) {
    const comp__read_score *s = &scores.items[i];
    if (s->label || !isfinite(s->value)) continue;
    COMP__TRY(add_name(&metrics, s->name));
    COMP__TRY(add_name(&methods, s->method));
  }
  if (metrics.count == 0) COMP__FAIL(COMP_ERR_DATA, "no score has a value over all samples: there is nothing to draw");
  COMP__TRY(comp__palette(&colors, methods.count, COMP__ON_LIGHT));
  COMP__TRY(comp__canvas_init(&canvas, options, metrics.count == 1 ? 85 : 180));
  draw_all(&canvas, &scores, &metrics, &methods, colors, change, options->title);
  COMP__TRY(comp__canvas_save(&canvas, path));
done:
  comp__canvas_release(&canvas);
  comp__scores_release(&scores);
  comp__free(metrics.items);
  comp__free(methods.items);
  comp__free(colors);
  return status;
}
