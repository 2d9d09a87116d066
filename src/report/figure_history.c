/* figure_history.c: the losses of a training, epoch by epoch. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "core/alloc.h"
#include "core/error.h"
#include "report/canvas.h"

static const struct {
  const char *key, *title;
} parts[] = {{"total", "loss"}, {"likelihood", "reconstruction"}, {"kl", "KL to prior"}, {"penalty", "penalty"}};
enum { PARTS = 4 };

static const struct {
  const char *key, *name;
  comp__color color;
} series[] = {{"train", "training", 0x0072B2}, {"validation", "validation", 0xD55E00}};

static double value_at(json_t *history, size_t i, const char *set, const char *part) {
  json_t *value = json_object_get(json_object_get(json_array_get(history, i), set), part);
  return json_is_number(value) ? json_number_value(value) : NAN;
}

static double epoch_at(json_t *history, size_t i) {
  json_t *epoch = json_object_get(json_array_get(history, i), "epoch");
  return json_is_number(epoch) ? json_number_value(epoch) : (double)(i + 1);
}

/* The first epochs can be far above the rest: the range is that of the epochs after the first twentieth, widened to all
 * when that costs little. */
static void range_of(double *min, double *max, json_t *history, const char *part) {
  size_t n = json_array_size(history);
  double all_min = INFINITY, all_max = -INFINITY;
  *min = INFINITY;
  *max = -INFINITY;
  for (int s = 0; s < 2; s++)
    for (size_t i = 0; i < n; i++) {
      double v = value_at(history, i, series[s].key, part);
      if (!isfinite(v)) continue;
      all_min = fmin(all_min, v);
      all_max = fmax(all_max, v);
      if (i < n / 20) continue;
      *min = fmin(*min, v);
      *max = fmax(*max, v);
    }
  if (all_max - all_min < 3 * (*max - *min)) {
    *min = all_min;
    *max = all_max;
  }
  if (!(*min <= *max)) *min = 0, *max = 1;
  comp__range_pad(min, max, 0.05);
}

static void draw_curve(comp__canvas *canvas, const comp__frame *frame, json_t *history, int s, const char *part) {
  const comp__pen *pen = canvas->pen;
  comp__sheet *sheet = canvas->sheet;
  pen->push(sheet);
  pen->rectangle(sheet, frame->x, frame->y - 1, frame->width, frame->height + 2);
  pen->clip(sheet);
  comp__set_color(canvas, series[s].color);
  pen->line_width(sheet, 0.9);
  pen->round_joins(sheet);
  if (s == 1) pen->dash(sheet, 3, 1.5);
  for (size_t i = 0; i < json_array_size(history); i++) {
    double v = value_at(history, i, series[s].key, part);
    if (isfinite(v)) pen->line_to(sheet, comp__frame_x(frame, epoch_at(history, i)), comp__frame_y(frame, v));
  }
  pen->stroke(sheet);
  pen->pop(sheet);
}

static void draw_panel(comp__canvas *canvas, comp__frame *frame, json_t *history, const char *part, const char *title) {
  range_of(&frame->y_min, &frame->y_max, history, part);
  comp__frame_axes(canvas, frame, "xy");
  for (int s = 0; s < 2; s++) draw_curve(canvas, frame, history, s, part);
  comp__set_color(canvas, 0x111111);
  comp__text(canvas, frame->x, frame->y - 4, canvas->font, COMP__BOLD, 0, title);
  comp__text(canvas, frame->x + frame->width / 2, frame->y + frame->height + 3 + 2.6 * canvas->font, canvas->font,
             COMP__PLAIN, 0.5, "epoch");
}

static bool has_part(json_t *history, const char *part) {
  for (int s = 0; s < 2; s++)
    for (size_t i = 0; i < json_array_size(history); i++) {
      double v = value_at(history, i, series[s].key, part);
      if (isfinite(v) && v != 0) return true;
    }
  return false;
}

static void draw_all(comp__canvas *canvas, json_t *history, const char *title) {
  double size = canvas->font, gap = 14 * COMP__MM, left = 14 * COMP__MM, y = 3 * COMP__MM + (title ? 2.2 * size : 0);
  double width = (canvas->width - left - gap - 4 * COMP__MM) / 2, height = 32 * COMP__MM;
  double last = epoch_at(history, json_array_size(history) - 1), first = epoch_at(history, 0), x = left;
  if (title) {
    comp__lines lines;
    comp__text_wrap(&lines, canvas, 1.2 * size, COMP__BOLD, title, canvas->width - 4 * COMP__MM, 1);
    comp__text_lines(canvas, 2 * COMP__MM, 2 * COMP__MM + 1.2 * size, 1.2 * size, COMP__BOLD, 0, &lines);
  }
  for (int s = 0; s < 2; s++) {
    if (s == 1 && !json_object_get(json_array_get(history, 0), "validation")) break;
    comp__set_color(canvas, series[s].color);
    canvas->pen->line_width(canvas->sheet, 1.2);
    if (s == 1) canvas->pen->dash(canvas->sheet, 3, 1.5);
    canvas->pen->move_to(canvas->sheet, x, y + 0.7 * size);
    canvas->pen->line_to(canvas->sheet, x + 14, y + 0.7 * size);
    canvas->pen->stroke(canvas->sheet);
    canvas->pen->dash(canvas->sheet, 0, 0);
    comp__set_color(canvas, 0x111111);
    comp__text(canvas, x + 17, y + size, size, COMP__PLAIN, 0, series[s].name);
    x += 32 + comp__text_width(canvas, size, COMP__PLAIN, series[s].name);
  }
  y += 3.4 * size;
  size_t shown = 0;
  for (size_t k = 0; k < PARTS; k++) {
    if (!has_part(history, parts[k].key)) continue;
    size_t row = shown / 2;
    comp__frame frame = {.x = left + (shown % 2 ? width + gap : 0),
                         .y = y + (double)row * (height + 6.2 * size),
                         .width = width,
                         .height = height,
                         .x_min = first,
                         .x_max = last > first ? last : first + 1};
    draw_panel(canvas, &frame, history, parts[k].key, parts[k].title);
    shown++;
  }
  size_t rows = (shown + 1) / 2;
  canvas->height = y + (double)rows * (height + 6.2 * size) - 1.5 * size;
}

comp_status comp__figure_history(const comp_model *model, const char *path, const comp__figure_options *options) {
  comp__canvas canvas = {0};
  comp_status status;
  json_t *history = json_loads(comp_model_history(model), 0, NULL);
  COMP__TRY(comp_figure_check(path));
  if (!json_is_array(history)) COMP__FAIL(COMP_ERR_FORMAT, "the model's history is damaged: it is not a JSON list");
  if (json_array_size(history) == 0) COMP__FAIL(COMP_ERR_DATA, "the model has no history: nothing to draw");
  COMP__TRY(comp__canvas_init(&canvas, options, 130));
  draw_all(&canvas, history, options->title);
  COMP__TRY(comp__canvas_save(&canvas, path));
done:
  comp__canvas_release(&canvas);
  json_decref(history);
  return status;
}
