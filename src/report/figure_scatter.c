/* figure_scatter.c: maps of samples coloured by columns, before and after side by side. */
#include <math.h>
#include <stdio.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/rng.h"
#include "core/sort.h"
#include "report/canvas.h"
#include "report/colors.h"
#include "report/embedding.h"
#include "report/legend.h"

enum { MANY_LEVELS = 13 }; /* from here on each level has a number */

/* One panel's points. */
typedef struct cloud {
  const comp_matrix *embedding;
  const comp__coloring *coloring;
  const size_t *order; /* in which the samples are drawn: mixed, so that no group covers another */
  comp__frame frame;
} cloud;

/* Points fill about a third of the panel, within what is still a point. */
static double point_radius(const comp__frame *frame, size_t n) {
  double radius = sqrt(0.35 * frame->width * frame->height / (M_PI * (double)(n ? n : 1)));
  return fmin(1.6, fmax(0.3, radius));
}

static void draw_points(comp__canvas *canvas, const cloud *c, double x0, double y0) {
  const float *v = comp_matrix_const_values(c->embedding);
  size_t n = comp_matrix_rows(c->embedding), cols = comp_matrix_cols(c->embedding);
  double radius = point_radius(&c->frame, n);
  for (size_t k = 0; k < n; k++) {
    size_t i = c->order[k];
    comp__set_color(canvas, c->coloring->colors[i]);
    canvas->pen->circle(canvas->sheet, comp__frame_x(&c->frame, (double)v[i * cols]) - x0,
                        comp__frame_y(&c->frame, (double)v[i * cols + 1]) - y0, radius);
    canvas->pen->fill(canvas->sheet);
  }
}

static void draw_points_as_image(comp__canvas *canvas, const cloud *c) {
  comp__raster raster;
  comp__raster_begin(&raster, canvas, c->frame.x, c->frame.y, c->frame.width, c->frame.height);
  draw_points(&raster.canvas, c, raster.x, raster.y);
  comp__raster_end(&raster, canvas);
}

/* Numbers that have their place: none may lie over another. */
typedef struct places {
  double x[1024], y[1024], width, height;
  size_t count;
} places;

static bool is_free(const places *p, double x, double y) {
  for (size_t k = 0; k < p->count; k++)
    if (fabs(p->x[k] - x) < p->width && fabs(p->y[k] - y) < p->height) return false;
  return true;
}

/* Where a level's number points to: its sample that is nearest to its median, so that it lies on its own cloud also
 * when there are two. */
static size_t middle_sample(float *scratch, const cloud *c, int32_t level) {
  const int32_t *codes = c->coloring->groups.codes;
  const float *v = comp_matrix_const_values(c->embedding);
  size_t n = comp_matrix_rows(c->embedding), cols = comp_matrix_cols(c->embedding), best = 0;
  double median[2], least = INFINITY;
  for (size_t dim = 0; dim < 2; dim++) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
      if (codes[i] == level) scratch[count++] = v[i * cols + dim];
    comp__sort_floats(scratch, count);
    median[dim] = (double)scratch[count / 2];
  }
  for (size_t i = 0; i < n; i++) {
    if (codes[i] != level) continue;
    double away = hypot((double)v[i * cols] - median[0], (double)v[i * cols + 1] - median[1]);
    if (away < least) {
      least = away;
      best = i;
    }
  }
  return best;
}

/* Inside of the frame, with the number's whole box. */
static void keep_inside(const cloud *c, const places *p, double *x, double *y) {
  const comp__frame *f = &c->frame;
  *x = fmin(fmax(*x, f->x + p->width / 2), f->x + f->width - p->width / 2);
  *y = fmin(fmax(*y, f->y + p->height / 2), f->y + f->height - p->height / 2);
}

/* A place for the number of a level whose middle is at (*x, *y): there, else on a sample of its own that is near, else
 * at the nearest free place around. */
static void find_place(const cloud *c, const places *taken, int32_t level, double *x, double *y) {
  const int32_t *codes = c->coloring->groups.codes;
  const float *v = comp_matrix_const_values(c->embedding);
  size_t n = comp_matrix_rows(c->embedding), cols = comp_matrix_cols(c->embedding);
  double x0 = *x, y0 = *y, least = 2 * taken->width;
  bool found = false;
  keep_inside(c, taken, x, y);
  if (is_free(taken, *x, *y)) return;
  for (size_t i = 0; i < n; i++) {
    if (codes[i] != level) continue;
    double px = comp__frame_x(&c->frame, (double)v[i * cols]), py = comp__frame_y(&c->frame, (double)v[i * cols + 1]);
    double away = hypot(px - x0, py - y0);
    keep_inside(c, taken, &px, &py);
    if (away >= least || !is_free(taken, px, py)) continue;
    least = away;
    *x = px;
    *y = py;
    found = true;
  }
  for (int k = 1; k < 4000 && !found; k++) { /* a spiral */
    double turn = 0.5 * k, radius = 0.12 * taken->height * sqrt((double)k) * 2;
    *x = x0 + radius * cos(turn);
    *y = y0 + radius * sin(turn);
    keep_inside(c, taken, x, y);
    found = is_free(taken, *x, *y);
  }
}

static comp_status draw_numbers(comp__canvas *canvas, const cloud *c) {
  const float *v = comp_matrix_const_values(c->embedding);
  size_t cols = comp_matrix_cols(c->embedding), levels = c->coloring->groups.n_levels;
  float *scratch;
  double size = canvas->font * 0.9;
  char text[32];
  snprintf(text, sizeof text, "%zu", levels);
  places taken = {.width = comp__text_width(canvas, size, COMP__BOLD, text) + 0.3 * size, .height = 1.1 * size};
  if (levels > sizeof taken.x / sizeof *taken.x) return COMP_OK; /* nobody could read them */
  comp_status status = comp__alloc(&scratch, comp_matrix_rows(c->embedding), sizeof *scratch);
  if (status != COMP_OK) return status;
  double from_x[sizeof taken.x / sizeof *taken.x], from_y[sizeof taken.y / sizeof *taken.y];
  for (size_t level = 0; level < levels; level++) {
    size_t i = middle_sample(scratch, c, (int32_t)level);
    double x = comp__frame_x(&c->frame, (double)v[i * cols]), y = comp__frame_y(&c->frame, (double)v[i * cols + 1]);
    from_x[level] = x;
    from_y[level] = y;
    find_place(c, &taken, (int32_t)level, &x, &y);
    taken.x[taken.count] = x;
    taken.y[taken.count++] = y;
  }
  /* A number that is away from its cloud is tied to it. All lines first: none may cross a number. */
  comp__set_color(canvas, 0x111111);
  canvas->pen->line_width(canvas->sheet, 0.4);
  for (size_t level = 0; level < levels; level++) {
    if (hypot(taken.x[level] - from_x[level], taken.y[level] - from_y[level]) < taken.width) continue;
    canvas->pen->move_to(canvas->sheet, from_x[level], from_y[level]);
    canvas->pen->line_to(canvas->sheet, taken.x[level], taken.y[level]);
    canvas->pen->stroke(canvas->sheet);
  }
  for (size_t level = 0; level < levels; level++) {
    snprintf(text, sizeof text, "%zu", level + 1);
    comp__text_halo(canvas, taken.x[level], taken.y[level], size, text);
  }
  comp__free(scratch);
  return COMP_OK;
}

static comp_status draw_panel(comp__canvas *canvas, cloud *c, const char *title, const char *name) {
  comp__lines lines;
  double size = canvas->font;
  comp__set_color(canvas, 0x111111);
  comp__text_wrap(&lines, canvas, size, COMP__BOLD, title, c->frame.width, 1);
  comp__text_lines(canvas, c->frame.x + c->frame.width / 2, c->frame.y - 0.6 * size, size, COMP__BOLD, 0.5, &lines);
  comp__embedding_range(&c->frame.x_min, &c->frame.x_max, c->embedding, 0);
  comp__embedding_range(&c->frame.y_min, &c->frame.y_max, c->embedding, 1);
  comp__range_pad(&c->frame.x_min, &c->frame.x_max, 0.04);
  comp__range_pad(&c->frame.y_min, &c->frame.y_max, 0.04);
  if (comp_matrix_rows(c->embedding) > COMP__MANY_POINTS)
    draw_points_as_image(canvas, c);
  else
    draw_points(canvas, c, 0, 0);
  comp__set_color(canvas, 0x999999);
  canvas->pen->line_width(canvas->sheet, 0.5);
  canvas->pen->rectangle(canvas->sheet, c->frame.x, c->frame.y, c->frame.width, c->frame.height);
  canvas->pen->stroke(canvas->sheet);
  char axis[96];
  comp__set_color(canvas, 0x555555);
  snprintf(axis, sizeof axis, "%.60s 1", name);
  comp__text(canvas, c->frame.x, c->frame.y + c->frame.height + 1.2 * size, 0.86 * size, COMP__PLAIN, 0, axis);
  snprintf(axis, sizeof axis, "%.60s 2", name);
  comp__text_up(canvas, c->frame.x - 0.4 * size,
                c->frame.y + c->frame.height - comp__text_width(canvas, 0.86 * size, COMP__PLAIN, axis) / 2,
                0.86 * size, axis);
  if (c->coloring->categorical && c->coloring->groups.n_levels >= MANY_LEVELS) return draw_numbers(canvas, c);
  return COMP_OK;
}

/* What is drawn, for all rows. */
typedef struct scatter {
  const comp_dataset *dataset;
  const char *const *names;
  const comp_matrix **embeddings;
  size_t n;
  const size_t *order;
} scatter;

/* A name without what says nothing: "X_umap_before" is UMAP. */
static const char *axis_name(const char *name) {
  static const struct {
    const char *prefix, *shown;
  } known[] = {{"X_umap", "UMAP"}, {"X_pca", "PC"}, {"X_tsne", "t-SNE"}};
  for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
    size_t i = 0;
    while (known[k].prefix[i] && known[k].prefix[i] == name[i]) i++;
    if (!known[k].prefix[i]) return known[k].shown;
  }
  return name;
}

/* Where things are in a row. */
typedef struct layout {
  double left, inside, gap; /* the sheet without its margins; between panels */
  double panel, side;       /* widths of a panel, and of a legend beside it */
  bool beside;
} layout;

static comp__legend legend_of(const comp__coloring *coloring) {
  return (comp__legend){.title = coloring->name,
                        .names = (const char *const *)coloring->groups.levels,
                        .colors = coloring->levels,
                        .count = coloring->groups.n_levels,
                        .numbered = coloring->groups.n_levels >= MANY_LEVELS};
}

static layout lay_out(comp__canvas *canvas, const scatter *s, const comp__coloring *coloring) {
  layout l = {.left = 4 * COMP__MM, .gap = 6 * COMP__MM, .side = 22 * COMP__MM, .beside = true};
  l.inside = canvas->width - l.left - 2 * COMP__MM;
  double panels = (double)s->n;
  if (coloring->categorical) {
    comp__legend legend = legend_of(coloring);
    l.side = comp__legend_width(canvas, &legend);
    double with = (l.inside - l.side - l.gap * panels) / panels;
    l.beside = with >= 30 * COMP__MM && comp__legend_beside(canvas, &legend, fmin(with, 80 * COMP__MM));
  }
  l.panel = (l.inside - (l.beside ? l.side + l.gap : 0) - l.gap * (panels - 1)) / panels;
  l.panel = fmin(l.panel, 88 * COMP__MM);
  return l;
}

static comp_status draw_row(comp__canvas *canvas, const scatter *s, const comp__coloring *coloring, double panel,
                            double *y) {
  layout l = lay_out(canvas, s, coloring);
  comp__legend legend = legend_of(coloring);
  double size = canvas->font, top = *y + 2 * size, right = l.left + (double)s->n * (panel + l.gap);
  for (size_t k = 0; k < s->n; k++) {
    cloud c = {s->embeddings[k],
               coloring,
               s->order,
               {.x = l.left + (double)k * (panel + l.gap), .y = top, .width = panel, .height = panel}};
    comp_status status = draw_panel(canvas, &c, comp__embedding_title(s->names, s->n, k), axis_name(s->names[k]));
    if (status != COMP_OK) return status;
  }
  *y = top + panel + 2 * size;
  if (!coloring->categorical)
    comp__colorbar_draw(canvas, coloring->name, coloring->min, coloring->max, right, top, panel);
  else if (l.beside)
    comp__legend_draw(canvas, &legend, right, top - 0.3 * size, l.side + 1);
  else
    *y += comp__legend_draw(canvas, &legend, l.left, *y, l.inside) + size;
  *y += 0.6 * size;
  return COMP_OK;
}

/* All rows, their panels of one size. */
static comp_status draw_rows(comp__canvas *canvas, const scatter *s, const char *const *columns, size_t n, double *y) {
  comp__coloring *colorings;
  comp_status status = comp__calloc(&colorings, n, sizeof *colorings);
  if (status != COMP_OK) return status;
  double panel = INFINITY;
  for (size_t k = 0; k < n; k++) {
    COMP__TRY(comp__coloring_init(&colorings[k], comp_dataset_obs(s->dataset), columns[k]));
    panel = fmin(panel, lay_out(canvas, s, &colorings[k]).panel);
  }
  for (size_t k = 0; k < n; k++) COMP__TRY(draw_row(canvas, s, &colorings[k], panel, y));
done:
  for (size_t k = 0; k < n; k++) comp__coloring_release(&colorings[k]);
  comp__free(colorings);
  return status;
}

comp_status comp__figure_scatter(comp_context *context, const comp_dataset *dataset, const char *path,
                                 const char *const *embeddings, size_t n_embeddings, const char *const *columns,
                                 size_t n_columns, const comp__figure_options *options) {
  (void)context;
  comp__canvas canvas = {0};
  scatter s = {.dataset = dataset, .names = embeddings, .n = n_embeddings};
  size_t *order = NULL;
  comp_status status;
  COMP__TRY(comp_figure_check(path));
  if (n_embeddings == 0 || n_columns == 0)
    COMP__FAIL(COMP_ERR_ARGUMENT, "a scatter plot needs an embedding and a column at least");
  COMP__TRY(comp__alloc(&s.embeddings, n_embeddings, sizeof(const comp_matrix *)));
  for (size_t k = 0; k < n_embeddings; k++)
    COMP__TRY(comp__embedding_require(&s.embeddings[k], dataset, embeddings[k]));
  COMP__TRY(comp__alloc(&order, comp_dataset_sample_count(dataset), sizeof *order));
  comp__rng_permutation(order, comp_dataset_sample_count(dataset), comp__rng_at(0, COMP__RNG_REPORT, 0, 0));
  s.order = order;
  COMP__TRY(comp__canvas_init(&canvas, options, n_embeddings == 1 ? 110 : 180));
  double y = 2 * COMP__MM;
  if (options->title) {
    comp__lines lines;
    comp__text_wrap(&lines, &canvas, canvas.font * 1.2, COMP__BOLD, options->title, canvas.width - 4 * COMP__MM,
                    COMP__LINES);
    comp__set_color(&canvas, 0x111111);
    y = comp__text_lines(&canvas, 2 * COMP__MM, y + canvas.font, canvas.font * 1.2, COMP__BOLD, 0, &lines);
  }
  COMP__TRY(draw_rows(&canvas, &s, columns, n_columns, &y));
  canvas.height = y + COMP__MM;
  COMP__TRY(comp__canvas_save(&canvas, path));
done:
  comp__canvas_release(&canvas);
  comp__free(order);
  comp__free(s.embeddings);
  return status;
}
