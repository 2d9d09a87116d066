/* test_figure.c: figures of all kinds and formats: nothing is cut off at the edge of the sheet, whatever the names; bad
 * input is refused and leaves no file. */
#include "report/options.h"
#include "report/report_testing.h"
#include "train/options.h"

#include <cairo.h>

static const comp__figure_options LOOK = {.n_de = 10, .font = 7, .dpi = 80};
static const char LONG_NAME[] = "CD8+ effector memory T cells re-expressing CD45RA_and_a_suffix_without_a_space_%zu";

/* Pixels of the colour of text in the first `share` of a picture's height, and the side of the largest square of them
 * in the whole picture, up to 40. */
static void count_dark(size_t *pixels, int *square, const char *path, double share) {
  cairo_surface_t *image = cairo_image_surface_create_from_png(path);
  assert_int_equal(cairo_surface_status(image), CAIRO_STATUS_SUCCESS);
  const int width = cairo_image_surface_get_width(image), height = cairo_image_surface_get_height(image);
  const int stride = cairo_image_surface_get_stride(image);
  const unsigned char *data = cairo_image_surface_get_data(image);
  int *sides = calloc((size_t)width * 2, sizeof *sides); /* of squares that end in a row, and in the row before */
  *pixels = 0;
  *square = 0;
  for (int y = 0; y < height; y++) {
    int *row = sides + (y % 2) * width, *above = sides + (1 - y % 2) * width;
    for (int x = 0; x < width; x++) {
      uint32_t pixel;
      memcpy(&pixel, data + (size_t)y * (size_t)stride + 4 * (size_t)x, 4);
      const bool dark = (pixel & 0xFFFFFFu) == 0x111111u;
      *pixels += dark && y < share * height;
      const int least = x == 0 ? 0 : above[x] < above[x - 1] ? above[x] : above[x - 1];
      row[x] = !dark ? 0 : 1 + (x == 0 ? 0 : least < row[x - 1] ? least : row[x - 1]);
      if (row[x] > *square) *square = row[x];
    }
  }
  free(sides);
  cairo_surface_destroy(image);
}

/* Draws at the edge would be text or lines that go on beyond it. */
static void assert_margin_is_white(const char *path) {
  cairo_surface_t *image = cairo_image_surface_create_from_png(path);
  assert_int_equal(cairo_surface_status(image), CAIRO_STATUS_SUCCESS);
  int width = cairo_image_surface_get_width(image), height = cairo_image_surface_get_height(image);
  int stride = cairo_image_surface_get_stride(image);
  const unsigned char *data = cairo_image_surface_get_data(image);
  size_t ink = 0;
  assert_true(width > 200 && height > 100);
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++) {
      uint32_t pixel;
      memcpy(&pixel, data + (size_t)y * (size_t)stride + 4 * (size_t)x, 4);
      bool white = (pixel & 0xFFFFFFu) == 0xFFFFFFu;
      ink += !white;
      if ((x == 0 || y == 0 || x == width - 1 || y == height - 1) && !white) fail_msg("%s: ink at %d, %d", path, x, y);
    }
  assert_true(ink > 500);
  cairo_surface_destroy(image);
}

static void check_kind(comp_context *context, comp_dataset *d, int kind, const char *path, double width) {
  comp__figure_options look = LOOK;
  look.condition = "condition";
  look.label = "label";
  look.width = width;
  look.title =
      width > 0 ? "A title that is long enough to be broken into two lines on a sheet that is this narrow" : NULL;
  const char *maps[] = {"X_umap_before", "X_umap"}, *columns[] = {"condition", "label", "depth"};
  if (kind == 0)
    assert_ok(comp__figure_scatter(context, d, path, maps, 2, columns, 3, &look));
  else if (kind == 1)
    assert_ok(comp__figure_counterfactual(context, d, path, &look));
  else
    assert_ok(comp__figure_strip(context, d, path, &look));
}

static void nothing_is_cut_off(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  const size_t labels[] = {2, 8, 35};
  for (size_t k = 0; k < 6; k++) {
    sample_shape shape = {labels[k % 3], 2, 8, 20, k < 3 ? "type%zu" : LONG_NAME, false, false};
    comp_dataset *d = sample_dataset(context, &shape);
    for (int kind = 0; kind < 3; kind++)
      for (int narrow = 0; narrow < 2; narrow++) {
        const char *path = scratch("figure.png");
        check_kind(context, d, kind, path, narrow ? 85 : 0);
        assert_margin_is_white(path);
      }
    comp_dataset_free(d);
  }
  comp_context_free(context);
  /* cairo keeps fonts for the next figure. Giving them back fails when a figure left anything of its own. (Not after
   * .svg: there cairo 1.16 itself loses text that was recorded first.) */
  cairo_debug_reset_static_data();
}

static void every_ending_gives_its_format(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  comp_dataset *d = sample_dataset(context, &SMALL_SHAPE);
  const struct { const char *name, *start; } formats[] = {{"a.svg", "<?xml"}, {"a.PDF", "%PDF"}, {"a.png", "\x89PNG"}};
  for (int k = 0; k < 3; k++) {
    size_t size;
    check_kind(context, d, 0, scratch(formats[k].name), 0);
    char *text = read_text(scratch(formats[k].name), &size);
    assert_memory_equal(text, formats[k].start, 4);
    free(text);
  }
  comp_dataset_free(d);
  comp_context_free(context);
}

static void many_points_are_an_image(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  sample_shape shape = {2, 2, 1000, 5, "type%zu", false, false}; /* 4,000 samples */
  comp_dataset *d = sample_dataset(context, &shape);
  const char *columns[] = {"label"}, *maps[] = {"X_umap"};
  size_t size;
  assert_ok(comp__figure_scatter(context, d, scratch("many.svg"), maps, 1, columns, 1, &LOOK));
  char *text = read_text(scratch("many.svg"), &size);
  assert_non_null(strstr(text, "data:image/png;base64"));
  free(text);
  comp_dataset_free(d);
  shape = (sample_shape){8, 2, 4, 2000, "type%zu", false, false}; /* 16,000 points of means */
  d = sample_dataset(context, &shape);
  comp__figure_options look = LOOK;
  look.condition = "condition";
  look.label = "label";
  assert_ok(comp__figure_counterfactual(context, d, scratch("means.svg"), &look));
  text = read_text(scratch("means.svg"), &size);
  assert_non_null(strstr(text, "data:image/png;base64"));
  assert_true(size < 1500 * 1000);
  free(text);
  comp_dataset_free(d);
  comp_context_free(context);
}

static void metrics_are_bars(void **state) {
  (void)state;
  write_text(scratch("a.json"),
             "[{\"name\": \"kBET\", \"value\": 0.12, \"method\": \"comp\", \"error\": 0.02},"
             " {\"name\": \"s\", \"value\": -0.2, \"method\": \"comp\"},"
             " {\"name\": \"kBET\", \"value\": 0.5, \"method\": \"comp\", \"label\": \"B\"},"
             " {\"name\": \"kBET\", \"value\": null, \"method\": \"none\"},"
             " {\"name\": \"kBET\", \"value\": 0.9, \"method\": \"a method of a rather long name\"}]");
  char json[256], path[256];
  snprintf(json, sizeof json, "%s", scratch("a.json"));
  const char *files[] = {json};
  snprintf(path, sizeof path, "%s", scratch("bars.png"));
  assert_ok(comp__figure_metrics(files, 1, path, &LOOK));
  assert_margin_is_white(path);
  /* What rounding leaves of 0 is drawn as 0. */
  char *figures[2];
  size_t sizes[2];
  for (int k = 0; k < 2; k++) {
    write_text(json, k ? "[{\"name\": \"s\", \"value\": 1.11e-15}]" : "[{\"name\": \"s\", \"value\": 0}]");
    assert_ok(comp__figure_metrics(files, 1, scratch("zero.svg"), &LOOK));
    figures[k] = read_text(scratch("zero.svg"), &sizes[k]);
  }
  assert_int_equal(sizes[0], sizes[1]);
  assert_memory_equal(figures[0], figures[1], sizes[0]);
  free(figures[0]);
  free(figures[1]);
  write_text(json, "[{\"name\": \"kBET\", \"value\": null}]");
  assert_error(comp__figure_metrics(files, 1, path, &LOOK), COMP_ERR_DATA, "nothing to draw");
  write_text(json, "{\"scores\": [{\"value\": 1}]}");
  assert_error(comp__figure_metrics(files, 1, path, &LOOK), COMP_ERR_FORMAT, "no \"name\"");
  write_text(json, "[{\"name\": \"kBET\", \"value\": \"high\"}]");
  assert_error(comp__figure_metrics(files, 1, path, &LOOK), COMP_ERR_FORMAT, "'kBET' has no \"value\"");
  write_text(json, "[");
  assert_error(comp__figure_metrics(files, 1, path, &LOOK), COMP_ERR_FORMAT, "not JSON");
  write_text(json, "{\"a\": \"b\"}");
  assert_error(comp__figure_metrics(files, 1, path, &LOOK), COMP_ERR_FORMAT, "holds no scores");
  files[0] = "/nowhere/scores.json";
  assert_error(comp__figure_metrics(files, 1, path, &LOOK), COMP_ERR_IO, "/nowhere/scores.json");
}

static void training_is_curves(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  comp_dataset *d = sample_dataset(context, &SMALL_SHAPE);
  comp__train_options options;
  assert_ok(comp__train_options_init(&options, "comp", "default"));
  options.condition = "condition";
  options.model.n_hidden = 1;
  options.model.hidden[0] = 8;
  options.model.latent = 2;
  options.epochs = 4;
  comp_model *model;
  assert_ok(comp__train(&model, context, d, &options));
  assert_ok(comp__figure_history(model, scratch("history.png"), &LOOK));
  assert_margin_is_white(scratch("history.png"));
  comp_model_free(model);
  comp_dataset_free(d);
  comp_context_free(context);
}

/* One gamma, found as often in means as in `source`; the data beside it or not. */
static const char *frontier_of(char *out, size_t size, const char *source, bool data) {
  static const char one[] = "{\"source\": \"%s\", \"attackers\": [{\"balanced_accuracy\": {\"value\": 0.7}}]}";
  char attacks[512], extra[256] = "";
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  size_t used = (size_t)snprintf(attacks, sizeof attacks, one, "means");
  if (source) {
    used += (size_t)snprintf(attacks + used, sizeof attacks - used, ", ");
    used += (size_t)snprintf(attacks + used, sizeof attacks - used, one, source);
    snprintf(extra, sizeof extra, ", {\"source\": \"%s\", \"accuracy\": %g}", source, data ? 0.9 : 0.8);
  }
#pragma GCC diagnostic pop
  snprintf(out, size,
           "{\"condition\": \"sex\", \"target\": \"income\", \"levels\": [{}, {}], \"points\": [{\"gamma\": 888888, "
           "\"audit\": {\"attacks\": [%s], \"utility\": [{\"source\": \"means\", \"accuracy\": 0.8}%s]}}]}",
           attacks, extra);
  return out;
}

/* Labels of points at one place do not hide each other, and the legend has a square where the picture has one. */
static void a_frontier_can_be_read(void **state) {
  (void)state;
  comp__figure_options look = LOOK;
  char text[2048];
  size_t one, both, with_data;
  int side;
  const double plot = 0.6; /* the legend is below */
  look.dpi = 300;
  assert_ok(comp__figure_frontier(frontier_of(text, sizeof text, NULL, false), scratch("frontier.png"), &look));
  count_dark(&one, &side, scratch("frontier.png"), plot);
  assert_true(side < 15);
  assert_ok(comp__figure_frontier(frontier_of(text, sizeof text, "draws", false), scratch("frontier.png"), &look));
  assert_margin_is_white(scratch("frontier.png"));
  count_dark(&both, &side, scratch("frontier.png"), plot);
  if (both < one + one / 4) fail_msg("%zu dark pixels with two labels, %zu with one", both, one);
  assert_ok(comp__figure_frontier(frontier_of(text, sizeof text, "data", true), scratch("frontier.png"), &look));
  count_dark(&with_data, &side, scratch("frontier.png"), plot);
  if (side < 20) fail_msg("the largest square is of %d pixels", side);
  remove(scratch("frontier.png"));
}

static void bad_input_is_refused_and_leaves_nothing(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  comp_dataset *d = sample_dataset(context, &SMALL_SHAPE);
  const char *maps[] = {"X_umap"}, *columns[] = {"label"}, *wrong[] = {"X_tsne"}, *none[] = {"lable"};
  char path[256];
  snprintf(path, sizeof path, "%s", scratch("bad.svg"));
  assert_error(comp__figure_scatter(context, d, scratch("a.gif"), maps, 1, columns, 1, &LOOK), COMP_ERR_ARGUMENT,
               ".svg, .pdf or .png");
  assert_error(comp__figure_scatter(context, d, "/nowhere/a.svg", maps, 1, columns, 1, &LOOK), COMP_ERR_IO, "/nowhere");
  assert_error(comp__figure_scatter(context, d, path, wrong, 1, columns, 1, &LOOK), COMP_ERR_DATA, "X_umap");
  assert_error(comp__figure_scatter(context, d, path, maps, 1, none, 1, &LOOK), COMP_ERR_DATA, "did you mean 'label'");
  comp_options *look;
  assert_ok(comp_options_new(&look, "figure"));
  assert_ok(comp_options_set(look, "width", "20"));
  assert_error(comp_figure_scatter(context, d, path, maps, 1, columns, 1, look), COMP_ERR_ARGUMENT, "width: 20");
  comp_options_free(look);
  comp_matrix_values(comp_dataset_matrix(d, COMP_SLOT_OBSM, "X_umap"))[7] = NAN;
  assert_error(comp__figure_scatter(context, d, path, maps, 1, columns, 1, &LOOK), COMP_ERR_DATA, "row 4");
  assert_int_equal(access(path, F_OK), -1);
  comp_dataset_free(d);
  comp_context_free(context);
}

static void names_that_are_no_text_are_drawn_all_the_same(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  const char *names[] = {"new\nline\t%zu", "<b>&\"%zu", "\xe7\xb4\xb0\xe8\x83\x9e %zu", "%zu "};
  for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
    sample_shape shape = {3, 2, 8, 10, names[k], false, false};
    comp_dataset *d = sample_dataset(context, &shape);
    check_kind(context, d, 0, scratch("names.png"), 0);
    assert_margin_is_white(scratch("names.png"));
    comp_dataset_free(d);
  }
  comp_context_free(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nothing_is_cut_off),
      cmocka_unit_test(every_ending_gives_its_format),
      cmocka_unit_test(many_points_are_an_image),
      cmocka_unit_test(metrics_are_bars),
      cmocka_unit_test(training_is_curves),
      cmocka_unit_test(a_frontier_can_be_read),
      cmocka_unit_test(bad_input_is_refused_and_leaves_nothing),
      cmocka_unit_test(names_that_are_no_text_are_drawn_all_the_same),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
