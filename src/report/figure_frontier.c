/* figure_frontier.c: the trade-off of a frontier: how well the attribute is found against how well the target is
 * predicted, one point a gamma. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "report/canvas.h"
#include "report/legend.h"
#include "verdict/json.h"

enum { MOST_SERIES = 8, MOST_POINTS = 16 };

#define CHANCE 0.86 /* of the size of text: the word "chance" */

typedef struct point {
  double gamma, x, y;
} point;

/* A curve: the strongest attacker on a source, or the bound of a release. */
typedef struct series {
  char name[64];
  const char *key;
  bool bound;
  point points[MOST_POINTS];
  size_t count;
} series;

typedef struct plot {
  series series[MOST_SERIES];
  size_t count;
  point data; /* the data itself; NaN: not known */
  double chance;
  const char *condition, *target;
} plot;

static double strongest(json_t *audit, const char *source) {
  double best = NAN;
  size_t i, k;
  json_t *entry, *attack;
  json_array_foreach(json_object_get(audit, "attacks"), i, entry) {
    if (strcmp(comp__member_text(entry, "source"), source) != 0) continue;
    json_array_foreach(json_object_get(entry, "attackers"), k, attack) {
      const double value = comp__member_number(json_object_get(attack, "balanced_accuracy"), "value");
      if (!(value <= best)) best = value;
    }
  }
  return best;
}

static double kept(json_t *audit, const char *source) {
  size_t i;
  json_t *u;
  json_array_foreach(json_object_get(audit, "utility"), i, u) {
    if (strcmp(comp__member_text(u, "source"), source) == 0) return comp__member_number(u, "accuracy");
  }
  return NAN;
}

static void add_point(plot *p, const char *key, bool bound, const char *name, point at) {
  size_t s = 0;
  if (!isfinite(at.x) || !isfinite(at.y)) return;
  while (s < p->count && !(strcmp(p->series[s].key, key) == 0 && p->series[s].bound == bound)) s++;
  if (s == MOST_SERIES) return;
  series *one = &p->series[s];
  if (s == p->count) {
    p->count++;
    one->key = key;
    one->bound = bound;
    snprintf(one->name, sizeof one->name, "%s", name);
  }
  if (one->count < MOST_POINTS) one->points[one->count++] = at;
}

static void gather(plot *p, json_t *root) {
  size_t i, k;
  json_t *entry, *c;
  p->condition = comp__member_text(root, "condition");
  p->target = comp__member_text(root, "target");
  p->chance = 1 / (double)json_array_size(json_object_get(root, "levels"));
  p->data = (point){NAN, NAN, NAN};
  json_array_foreach(json_object_get(root, "points"), i, entry) {
    json_t *audit = json_object_get(entry, "audit");
    const double gamma = comp__member_number(entry, "gamma");
    add_point(p, "means", false, "means: strongest attacker",
              (point){gamma, kept(audit, "means"), strongest(audit, "means")});
    add_point(p, "draws", false, "draws: strongest attacker",
              (point){gamma, kept(audit, "draws"), strongest(audit, "draws")});
    p->data = (point){NAN, kept(audit, "data"), strongest(audit, "data")};
    json_array_foreach(json_object_get(audit, "certificates"), k, c) {
      const char *release = comp__member_text(c, "release");
      char name[64];
      snprintf(name, sizeof name, "%s: bound on any attacker", release);
      add_point(
          p, release, true, name,
          (point){gamma, kept(audit, release), comp__member_number(json_object_get(c, "balanced_accuracy"), "upper")});
    }
  }
}

static void ranges(comp__frame *f, const plot *p) {
  f->x_min = f->y_min = INFINITY;
  f->x_max = f->y_max = -INFINITY;
  for (size_t s = 0; s < p->count; s++)
    for (size_t i = 0; i < p->series[s].count; i++) {
      const point *at = &p->series[s].points[i];
      f->x_min = fmin(f->x_min, at->x);
      f->x_max = fmax(f->x_max, at->x);
      f->y_max = fmax(f->y_max, at->y);
    }
  if (isfinite(p->data.x) && isfinite(p->data.y)) {
    f->x_min = fmin(f->x_min, p->data.x);
    f->x_max = fmax(f->x_max, p->data.x);
    f->y_max = fmax(f->y_max, p->data.y);
  }
  f->y_min = p->chance;
  comp__range_pad(&f->x_min, &f->x_max, 0.08);
  comp__range_pad(&f->y_min, &f->y_max, 0.06);
}

static const comp__color colors[MOST_SERIES + 1] = {0x0072B2, 0xD55E00, 0x009E73, 0xCC79A7, 0xE69F00,
                                                    0x56B4E9, 0x999999, 0x5B3A8C, 0x111111};

static void draw_series(comp__canvas *canvas, const comp__frame *frame, const series *s, comp__color color) {
  const comp__pen *pen = canvas->pen;
  comp__set_color(canvas, color);
  pen->line_width(canvas->sheet, 0.9);
  if (s->bound) pen->dash(canvas->sheet, 3, 1.5);
  pen->move_to(canvas->sheet, comp__frame_x(frame, s->points[0].x), comp__frame_y(frame, s->points[0].y));
  for (size_t i = 1; i < s->count; i++)
    pen->line_to(canvas->sheet, comp__frame_x(frame, s->points[i].x), comp__frame_y(frame, s->points[i].y));
  pen->stroke(canvas->sheet);
  pen->dash(canvas->sheet, 0, 0);
  for (size_t i = 0; i < s->count; i++) {
    const double x = comp__frame_x(frame, s->points[i].x), y = comp__frame_y(frame, s->points[i].y);
    comp__set_color(canvas, color);
    pen->circle(canvas->sheet, x, y, 1.8);
    pen->fill(canvas->sheet);
  }
}

typedef struct box {
  double left, top, right, bottom;
} box;

typedef struct labels {
  box boxes[MOST_SERIES * MOST_POINTS + 1];
  size_t count;
} labels;

static bool overlaps(const labels *l, const box *b) {
  for (size_t k = 0; k < l->count; k++) {
    const box *o = &l->boxes[k];
    if (b->left < o->right && o->left < b->right && b->top < o->bottom && o->top < b->bottom) return true;
  }
  return false;
}

/* Writes the gamma of a point above it, or else at the first place where no other label is; above it where all are
 * taken. */
static void draw_label(comp__canvas *canvas, labels *taken, const comp__frame *frame, const point *at) {
  static const double places[][2] = {{0, -1}, {0, 1},  {1, 0},   {-1, 0}, {0, -2},
                                     {0, 2},  {1, -1}, {-1, -1}, {1, 1},  {-1, 1}};
  const double size = 0.8 * canvas->font, x = comp__frame_x(frame, at->x), y = comp__frame_y(frame, at->y);
  char text[32];
  snprintf(text, sizeof text, "%g", at->gamma);
  const double half = comp__text_width(canvas, size, COMP__BOLD, text) / 2 + 0.14 * size; /* the halo is part of it */
  box chosen = {0};
  for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
    const double middle_x = x + places[k][0] * (half + 0.5 * canvas->font),
                 middle_y = y + places[k][1] * 1.1 * canvas->font;
    const box b = {middle_x - half, middle_y - size / 2, middle_x + half, middle_y + size / 2};
    const bool free = !overlaps(taken, &b);
    if (k == 0 || free) chosen = b;
    if (free) break;
  }
  taken->boxes[taken->count++] = chosen;
  comp__text_halo(canvas, (chosen.left + chosen.right) / 2, (chosen.top + chosen.bottom) / 2, size, text);
}

/* The word at the right end of the line of chance has its place. */
static void draw_labels(comp__canvas *canvas, const plot *p, const comp__frame *frame) {
  const double right = frame->x + frame->width, y = comp__frame_y(frame, p->chance), size = CHANCE * canvas->font;
  labels taken = {.boxes = {{right - comp__text_width(canvas, size, COMP__PLAIN, "chance"), y - 2 - size, right, y}},
                  .count = 1};
  for (size_t s = 0; s < p->count; s++)
    for (size_t i = 0; i < p->series[s].count; i++) draw_label(canvas, &taken, frame, &p->series[s].points[i]);
}

static void draw_all(comp__canvas *canvas, const plot *p, const char *title) {
  const double size = canvas->font, left = 13 * COMP__MM;
  double y = 3 * COMP__MM;
  comp__lines lines;
  if (title) {
    comp__text_wrap(&lines, canvas, 1.2 * size, COMP__BOLD, title, canvas->width - 4 * COMP__MM, 2);
    comp__set_color(canvas, 0x111111);
    y = comp__text_lines(canvas, 2 * COMP__MM, y + size, 1.2 * size, COMP__BOLD, 0, &lines);
  }
  comp__frame frame = {.x = left, .y = y + size, .width = canvas->width - left - 4 * COMP__MM, .height = 58 * COMP__MM};
  ranges(&frame, p);
  comp__frame_axes(canvas, &frame, "xy");
  char text[300];
  comp__set_color(canvas, 0x999999);
  canvas->pen->line_width(canvas->sheet, 0.6);
  canvas->pen->dash(canvas->sheet, 1, 2);
  canvas->pen->move_to(canvas->sheet, frame.x, comp__frame_y(&frame, p->chance));
  canvas->pen->line_to(canvas->sheet, frame.x + frame.width, comp__frame_y(&frame, p->chance));
  canvas->pen->stroke(canvas->sheet);
  canvas->pen->dash(canvas->sheet, 0, 0);
  comp__text(canvas, frame.x + frame.width, comp__frame_y(&frame, p->chance) - 2, CHANCE * size, COMP__PLAIN, 1,
             "chance");
  for (size_t s = 0; s < p->count; s++) draw_series(canvas, &frame, &p->series[s], colors[s]);
  if (isfinite(p->data.x) && isfinite(p->data.y)) {
    const double x = comp__frame_x(&frame, p->data.x), at = comp__frame_y(&frame, p->data.y);
    comp__set_color(canvas, colors[MOST_SERIES]);
    canvas->pen->rectangle(canvas->sheet, x - 1.8, at - 1.8, 3.6, 3.6);
    canvas->pen->fill(canvas->sheet);
  }
  draw_labels(canvas, p, &frame);
  comp__set_color(canvas, 0x111111);
  snprintf(text, sizeof text, "accuracy of '%.100s'", p->target);
  comp__text(canvas, frame.x + frame.width / 2, frame.y + frame.height + 3 + 2.6 * size, size, COMP__PLAIN, 0.5, text);
  snprintf(text, sizeof text, "balanced accuracy of '%.100s'", p->condition);
  comp__text_up(canvas, 3.2 * COMP__MM, frame.y + frame.height / 2, size, text);
  const char *names[MOST_SERIES + 1];
  comp__color shown[MOST_SERIES + 1];
  size_t n = 0;
  for (; n < p->count; n++) {
    names[n] = p->series[n].name;
    shown[n] = colors[n];
  }
  if (isfinite(p->data.x)) {
    names[n] = "the data: strongest attacker";
    shown[n++] = colors[MOST_SERIES];
  }
  y = frame.y + frame.height + 5 * size;
  const comp__legend legend = {.title = "numbers are gamma; lower right is best",
                               .names = names,
                               .colors = shown,
                               .count = n,
                               .squares = n > p->count};
  canvas->height = y + comp__legend_draw(canvas, &legend, 3 * COMP__MM, y, canvas->width - 6 * COMP__MM) + 2 * COMP__MM;
}

comp_status comp__figure_frontier(const char *json, const char *path, const comp__figure_options *options) {
  comp__canvas canvas = {0};
  comp_status status;
  plot p = {0};
  json_t *root = json_loads(json, 0, NULL);
  COMP__TRY(comp_figure_check(path));
  if (!json_is_array(json_object_get(root, "points")))
    COMP__FAIL(COMP_ERR_FORMAT, "this is no frontier: there are no \"points\" (comp audit --gammas)");
  gather(&p, root);
  if (p.count == 0) COMP__FAIL(COMP_ERR_DATA, "the frontier has no numbers to draw");
  COMP__TRY(comp__canvas_init(&canvas, options, 130));
  draw_all(&canvas, &p, options->title);
  COMP__TRY(comp__canvas_save(&canvas, path));
done:
  comp__canvas_release(&canvas);
  json_decref(root);
  return status;
}
