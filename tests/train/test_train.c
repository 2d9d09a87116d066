/*
 * test_train.c: training as a whole: the same bytes at any number of threads and after an interruption, batches that
 * hold every condition, models that come back from their files, and every kind of bad input.
 */
#include "testing.h"

#include <jansson.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/matrix.h"
#include "core/rng.h"
#include "model/bound.h"
#include "model/trained.h"
#include "task/options.h"
#include "train/loader.h"
#include "training.h"

static char folder[] = "/tmp/comp-test-train-XXXXXX";

static int enter(void **state) {
  (void)state;
  return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave(void **state) {
  (void)state;
  const char *names[] = {"a.comp", "b.comp", "run.checkpoint", "log.jsonl"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) remove(names[i]);
  return chdir("/") == 0 && rmdir(folder) == 0 ? 0 : -1;
}

/* Samples whose features depend on a label and on the condition; `sizes` samples of each condition. */
static comp_dataset *make_data(comp_context *context, const size_t *sizes, size_t conditions, size_t features,
                               bool sparse) {
  size_t n = 0, row = 0;
  for (size_t k = 0; k < conditions; k++) n += sizes[k];
  comp_matrix *x, *csr;
  comp_dataset *d;
  int32_t *codes = malloc(n * sizeof *codes);
  static const char *const levels[] = {"a", "b", "c", "d", "e"};
  assert_ok(comp_matrix_new_dense(&x, n, features));
  for (size_t k = 0; k < conditions; k++)
    for (size_t i = 0; i < sizes[k]; i++, row++) {
      codes[row] = (int32_t)k;
      comp__rng rng = comp__rng_at(1, COMP__RNG_TEST, k, i);
      for (size_t g = 0; g < features; g++) {
        double v = (double)((i + g) % 3) + 0.3 * (double)k + 0.2 * comp__rng_normal(rng, g);
        x->values[row * features + g] = v > 0.7 ? (float)v : 0.0f;
      }
    }
  if (sparse) {
    assert_ok(comp_matrix_to_csr(&csr, context, x));
    comp_matrix_free(x);
    x = csr;
  }
  assert_ok(comp_dataset_new(&d, x, NULL, NULL));
  assert_ok(comp_table_add_categorical(comp_dataset_obs(d), "c", codes, levels, conditions));
  free(codes);
  return d;
}

static comp__train_options small_options(const char *model) {
  comp__train_options o = test_train_options(model, 16, 12);
  o.batch = 32;
  o.epochs = 5;
  return o;
}

static char *file_bytes(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  char *bytes = malloc(*size + 1);
  assert_int_equal(fread(bytes, 1, *size, file), *size);
  fclose(file);
  return bytes;
}

static void write_file(const char *path, const char *bytes, size_t size) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, size, file), size);
  fclose(file);
}

static void assert_same_files(const char *a, const char *b) {
  size_t n, m;
  char *x = file_bytes(a, &n), *y = file_bytes(b, &m);
  assert_int_equal(n, m);
  assert_memory_equal(x, y, n);
  free(x), free(y);
}

static void train_to(const char *path, comp_context *context, const comp_dataset *d, const comp__train_options *o) {
  comp_model *model;
  assert_ok(comp__train(&model, context, d, o));
  assert_ok(comp_model_save(model, path));
  comp_model_free(model);
}

static void same_bytes_at_any_thread_count(void **state) {
  (void)state;
  for (size_t m = 0; m < comp_model_kind_count(); m++)
    for (int sparse = 0; sparse < 2; sparse++) {
      comp__train_options o = small_options(comp_model_kind_name(m));
      o.model.learn_scale = sparse;
      for (int t = 0; t < TEST_THREADS_COUNT; t++) {
        comp_context *context = test_context(TEST_THREADS[t]);
        comp_dataset *d = make_data(context, (size_t[]){70, 45, 20}, 3, 24, sparse);
        train_to(t == 0 ? "a.comp" : "b.comp", context, d, &o);
        if (t > 0) assert_same_files("a.comp", "b.comp");
        comp_dataset_free(d);
        comp_context_free(context);
      }
    }
}

/* Asks to stop when the log has a given number of lines: a stop at a place that the test can choose. */
typedef struct stopper {
  comp_context *context;
  uint64_t at, seen;
} stopper;

static void on_progress(void *user, const comp_progress *progress) {
  stopper *s = user;
  (void)progress;
  if (++s->seen == s->at) comp_context_interrupt(s->context);
}

/* What a run that is killed long after its last checkpoint leaves: lines of epochs that come again, the last one cut. A
 * run that ends before it opens its log, as on a slow machine, leaves it as the one before did. */
static void add_lost_lines(const char *path) {
  FILE *log = fopen(path, "a+");
  assert_non_null(log);
  const bool cut = fseek(log, -1, SEEK_END) == 0 && fgetc(log) != '\n';
  fseek(log, 0, SEEK_END);
  if (!cut) fputs("{\"epoch\":301,\"steps\":1}\n{\"epoch\":302,\"st", log);
  assert_int_equal(fclose(log), 0);
}

/* Every epoch once, in order. */
static void assert_log_is_whole(const char *path, int epochs) {
  FILE *log = fopen(path, "r");
  char *line = NULL;
  size_t room = 0;
  assert_non_null(log);
  for (int e = 1; e <= epochs; e++) {
    int found = 0;
    assert_true(getline(&line, &room, log) > 0);
    assert_int_equal(sscanf(line, "{\"epoch\":%d,", &found), 1);
    assert_int_equal(found, e);
  }
  assert_true(getline(&line, &room, log) < 0);
  free(line);
  fclose(log);
}

static void check_resumed(comp_select select) {
  comp_context *context = test_context(2);
  comp_dataset *d = make_data(context, (size_t[]){70, 45}, 2, 24, true);
  comp__train_options o = small_options("comp");
  /* What changes from step to step: gamma in one, the blur in the other. */
  if (select == COMP_SELECT_LAST) o.kl_target = 0.3;
  if (select == COMP_SELECT_AVERAGE) o.blur_from = 2, o.blur_to = 0.1, o.model.centred = true;
  o.select = select;
  o.schedule = COMP_SCHEDULE_PLATEAU;
  o.epochs = 300;
  train_to("a.comp", context, d, &o);
  o.checkpoint = "run.checkpoint";
  o.log = "log.jsonl";
  o.resume = true;
  int stops = 0;
  for (uint64_t at = 2;; at += 1) {
    stopper s = {.at = at};
    s.context = test_context(3);
    comp_context_on_progress(s.context, on_progress, &s);
    comp_model *model = NULL;
    comp_status status = comp__train(&model, s.context, d, &o);
    comp_context_free(s.context);
    if (status == COMP_OK) {
      assert_ok(comp_model_save(model, "b.comp"));
      comp_model_free(model);
      break;
    }
    assert_int_equal(status, COMP_ERR_INTERRUPTED);
    comp_model_free(model);
    if (stops == 0 && access("run.checkpoint", F_OK) != 0)
      continue; /* before the first step nothing is there to save */
    assert_int_equal(access("run.checkpoint", F_OK), 0);
    add_lost_lines("log.jsonl");
    stops++;
  }
  assert_true(stops > 0);
  assert_same_files("a.comp", "b.comp");
  assert_log_is_whole("log.jsonl", 300);
  /* Another run's checkpoint is refused. */
  o.seed = 1;
  comp_model *model;
  assert_error(comp__train(&model, context, d, &o), COMP_ERR_DATA, "belongs to a run with other data or options");
  assert_null(model);
  /* And one that was damaged. */
  o.seed = 0;
  size_t size;
  char *bytes = file_bytes("run.checkpoint", &size);
  bytes[size - 9] = (char)(bytes[size - 9] ^ 4);
  write_file("run.checkpoint", bytes, size);
  assert_error(comp__train(&model, context, d, &o), COMP_ERR_FORMAT, "changed or damaged since it was written");
  assert_null(model);
  free(bytes);
  remove("run.checkpoint");
  comp_dataset_free(d);
  comp_context_free(context);
}

static void resumed_runs_end_with_the_same_bytes(void **state) {
  (void)state;
  check_resumed(COMP_SELECT_LAST);
  check_resumed(COMP_SELECT_AVERAGE);
}

/* A checkpoint that says that its run had as many shards as none has is refused. It crashed. */
static void damaged_numbers_of_shards(void **state) {
  (void)state;
  static const char *const numbers[] = {"-1", "1099511627776", "2048", "3", "null", "{}"};
  comp_context *context = test_context(1);
  comp_dataset *d = make_data(context, (size_t[]){20, 20}, 2, 5, false);
  comp__train_options o = small_options("comp");
  o.checkpoint = "run.checkpoint";
  o.resume = true;
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    char bytes[512] = {0};
    int size = snprintf(bytes + 8, sizeof bytes - 8,
                        "{\"__metadata__\":{\"format\":\"comp-checkpoint-2\",\"identity\":"
                        "\"{\\\"training\\\":{\\\"shards\\\":%s}} 0\"}}",
                        numbers[i]);
    bytes[0] = (char)size;
    write_file("run.checkpoint", bytes, 8 + (size_t)size);
    comp_model *model;
    assert_error(comp__train(&model, context, d, &o), COMP_ERR_DATA, "belongs to a run with other data or options");
    assert_null(model);
  }
  remove("run.checkpoint");
  comp_dataset_free(d);
  comp_context_free(context);
}

/* Noise that a network learns by heart: on samples held out the loss is lowest while the rate still rises. */
static comp_dataset *make_noise(size_t n, size_t features) {
  comp_matrix *x;
  comp_dataset *d;
  int32_t *codes = malloc(n * sizeof *codes);
  assert_ok(comp_matrix_new_dense(&x, n, features));
  for (size_t i = 0; i < n; i++) {
    codes[i] = (int32_t)(i % 2);
    comp__rng_fill_normal(x->values + i * features, features, comp__rng_at(5, COMP__RNG_TEST, 0, i), 0);
  }
  assert_ok(comp_dataset_new(&d, x, NULL, NULL));
  assert_ok(comp_table_add_categorical(comp_dataset_obs(d), "c", codes, (const char *const[]){"a", "b"}, 2));
  free(codes);
  return d;
}

/* The history of a training, and the epochs, from 1, with the lowest validation loss and with the last mark "best". */
static json_t *history_of(const comp_model *model, size_t *lowest, size_t *marked) {
  json_t *history = json_loads(comp_model_history(model), 0, NULL), *entry;
  double best = INFINITY;
  size_t i;
  *lowest = *marked = 0;
  json_array_foreach(history, i, entry) {
    double loss = json_number_value(json_object_get(json_object_get(entry, "validation"), "total"));
    if (loss < best) best = loss, *lowest = i + 1;
    if (json_is_true(json_object_get(entry, "best"))) *marked = i + 1;
  }
  return history;
}

static bool until(void *user, const comp_epoch *epoch) {
  return epoch->epoch < *(const size_t *)user;
}

/* The warm-up is no candidate: neither is a model of it kept, nor does training stop because it was better. */
static void early_stopping_begins_after_the_warmup(void **state) {
  (void)state;
  enum { EPOCHS = 60, WARM = 48, PATIENCE = 4 };
  comp_context *context = test_context(2);
  comp_dataset *d = make_noise(80, 30);
  comp__train_options o = test_train_options("comp", 64, 64);
  o.model.latent = 20;
  o.model.gamma = 0;
  o.batch = 1000; /* a step an epoch */
  o.align = COMP_ALIGN_ALL;
  o.epochs = EPOCHS;
  o.warmup = 0.8;
  o.patience = PATIENCE;
  o.select = COMP_SELECT_BEST;
  o.rate = 0.02;
  comp_model *stopped, *last;
  assert_ok(comp__train(&stopped, context, d, &o));
  size_t lowest, marked;
  json_t *history = history_of(stopped, &lowest, &marked);
  assert_true(lowest + PATIENCE < WARM); /* else the test shows nothing */
  assert_true(marked > WARM);
  assert_int_equal(json_array_size(history), marked + PATIENCE < EPOCHS ? marked + PATIENCE : EPOCHS);
  json_decref(history);
  /* The weights are those of the marked epoch: of a run that was ended there. */
  comp_context_on_epoch(context, until, &marked);
  o.select = COMP_SELECT_LAST;
  assert_ok(comp__train(&last, context, d, &o));
  assert_memory_equal(stopped->params, last->params, stopped->network.params.size * sizeof(float));
  comp_model_free(stopped);
  comp_model_free(last);
  comp_dataset_free(d);
  comp_context_free(context);
}

/* The default recipe trains to the end and keeps the last weights; the paper's recipes are as they were. */
static void recipes_choose_weights(void **state) {
  (void)state;
  for (size_t p = 0; p < comp_preset_count(); p++) {
    comp__train_options o;
    const char *name = comp_preset_name(p);
    const bool ours = strcmp(name, "default") == 0;
    assert_ok(comp__train_options_init(&o, "comp", name));
    assert_int_equal(o.patience, 0);
    assert_int_equal(o.select, ours ? COMP_SELECT_LAST : COMP_SELECT_BEST);
    assert_true(o.model.bound == (ours ? 2.0 : 0.0));
  }
}

/* One sample of each condition is unlike all others: without a bound the two leave together, here to 5.5 times the
 * length of 95 % of the samples; with it they stay near. */
static void pairs_do_not_run_away(void **state) {
  (void)state;
  enum { N = 120, FEATURES = 40, LATENT = 10 };
  comp_context *context = test_context(2);
  comp_dataset *d = make_noise(N, FEATURES);
  float *x = comp_matrix_values(comp_dataset_x(d));
  for (size_t i = 0; i < N; i++)
    for (size_t g = 0; g < FEATURES; g++) x[i * FEATURES + g] = x[i * FEATURES + g] * 0.3f + (g % 3 == i / 2 % 3);
  for (size_t i = 0; i < 2; i++)
    for (size_t g = 0; g < FEATURES; g++) x[i * FEATURES + g] += g % 4 ? 0.0f : 6.0f;
  comp__train_options o = test_train_options("comp", 64, 64);
  o.model.latent = LATENT;
  o.model.scale = 0.1; /* narrow posteriors: those of the pair reach nobody else */
  o.epochs = 200;
  o.batch = 1000;
  o.validation = 0;
  double ratio[2];
  for (int bounded = 0; bounded < 2; bounded++) {
    comp_model *model;
    float z[N * LATENT], lengths[N], spare[N];
    o.model.bound = bounded ? 2 : 0;
    assert_ok(comp__train(&model, context, d, &o));
    comp_matrix *found;
    comp__embed_options e = comp__embed_defaults();
    assert_ok(comp__embed(&found, NULL, context, model, d, &e));
    memcpy(z, comp_matrix_const_values(found), sizeof z);
    comp__bound_lengths(lengths, z, N, LATENT);
    ratio[bounded] = (double)lengths[0] / (double)comp__bound_quantile(spare, lengths, N);
    comp_matrix_free(found);
    comp_model_free(model);
  }
  if (!(ratio[0] > 3.5 && ratio[1] < 2.3)) fail_msg("%g without a bound, %g with one", ratio[0], ratio[1]);
  comp_dataset_free(d);
  comp_context_free(context);
}

/* The mean of the weights after the steps of the last quarter, each from a run that ends there; and statistics that are
 * those of the averaged weights. */
static void averages_are_means_of_the_last_weights(void **state) {
  (void)state;
  enum { STEPS = 8, TAIL = 3, SAMPLES = 90, FEATURES = 11 }; /* after 6, 7 and 8 of 8 steps */
  comp_dataset *d = NULL;
  comp_model *average[TEST_THREADS_COUNT], *one;
  comp__train_options o = small_options("comp");
  o.schedule = COMP_SCHEDULE_CONSTANT;
  o.batch = 1000; /* a step an epoch */
  o.align = COMP_ALIGN_ALL;
  o.validation = 0;
  o.epochs = STEPS;
  for (int t = 0; t < TEST_THREADS_COUNT; t++) {
    comp_context *context = test_context(TEST_THREADS[t]);
    comp_dataset_free(d);
    d = make_data(context, (size_t[]){50, 40}, 2, FEATURES, false);
    o.select = COMP_SELECT_AVERAGE;
    assert_ok(comp__train(&average[t], context, d, &o));
    comp_context_free(context);
  }
  comp_context *context = test_context(2);
  const comp__network *n = &average[0]->network;
  double *mean = calloc(n->params.size, sizeof *mean);
  for (size_t last = STEPS - TAIL + 1; last <= STEPS; last++) {
    o.epochs = last;
    o.select = COMP_SELECT_LAST;
    assert_ok(comp__train(&one, context, d, &o));
    for (size_t i = 0; i < n->params.size; i++) mean[i] += (double)one->params[i] / TAIL;
    comp_model_free(one);
  }
  for (size_t i = 0; i < n->params.size; i++)
    assert_true(fabs((double)average[0]->params[i] - mean[i]) <= 1e-6 * (1 + fabs(mean[i])));
  const comp__hidden *first = &n->encoder[0];
  const float *x = comp_matrix_const_values(comp_dataset_x(d)), *w = average[0]->params + first->dense.weight;
  for (size_t c = 0; c < first->dense.out; c++) {
    double sum = 0, squares = 0;
    for (size_t i = 0; i < SAMPLES; i++) {
      double y = w[(i < 50 ? (size_t)FEATURES : FEATURES + 1) * first->dense.out + c];
      for (size_t g = 0; g < FEATURES; g++) y += (double)x[i * FEATURES + g] * w[g * first->dense.out + c];
      sum += y;
      squares += y * y;
    }
    const double middle = sum / SAMPLES, variance = (squares - SAMPLES * middle * middle) / (SAMPLES - 1);
    assert_true(fabs(average[0]->buffers[first->running_mean + c] - middle) <= 1e-4 * (1 + fabs(middle)));
    assert_true(fabs(average[0]->buffers[first->running_var + c] - variance) <= 1e-4 * (1 + variance));
  }
  for (int t = 0; t < TEST_THREADS_COUNT; t++) {
    assert_memory_equal(average[t]->params, average[0]->params, n->params.size * sizeof(float));
    assert_memory_equal(average[t]->buffers, average[0]->buffers, n->buffers.size * sizeof(float));
  }
  for (int t = TEST_THREADS_COUNT - 1; t >= 0; t--) comp_model_free(average[t]);
  free(mean);
  comp_dataset_free(d);
  comp_context_free(context);
}

static void every_batch_holds_every_condition(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  comp_dataset *d = make_data(context, (size_t[]){201, 50, 3, 1, 2}, 5, 6, false);
  comp_groups groups;
  assert_ok(comp_table_groups(&groups, comp_dataset_obs(d), 0));
  for (size_t batch = 2; batch < 300; batch = batch * 2 + 1) { /* also sizes that leave a remainder of one */
    comp__loader_options options = {.x = comp_dataset_x(d),
                                    .samples = 257,
                                    .codes = groups.codes,
                                    .conditions = 5,
                                    .batch = batch,
                                    .validation = 0.1};
    comp__loader *loader;
    assert_ok(comp__loader_new(&loader, context, &options));
    char seen[257] = {0};
    comp__loader_begin_epoch(loader, 7);
    for (size_t b = 0; b < comp__loader_batches(loader); b++) {
      comp__batch made;
      assert_ok(comp__loader_batch(&made, context, loader, b));
      assert_in_range(made.rows, 5, batch + 15);
      assert_in_range(made.rows, 1, comp__loader_largest_batch(loader));
      for (size_t k = 0; k < 5; k++) {
        assert_true(made.start[k + 1] > made.start[k]);
        for (size_t i = made.start[k]; i < made.start[k + 1]; i++) {
          assert_int_equal(groups.codes[made.ids[i]], k);
          seen[made.ids[i]] = 1;
        }
      }
    }
    size_t count = 0;
    for (size_t i = 0; i < 257; i++) count += (size_t)seen[i];
    assert_int_equal(count, comp__loader_training_samples(loader)); /* nothing is left out */
    comp__loader_free(loader);
  }
  comp_groups_release(&groups);
  comp_dataset_free(d);
  comp_context_free(context);
}

/* A model is of the options that it was trained with, also when it comes from a file, and of no others. */
static void models_know_their_recipe(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  comp_dataset *d = make_data(context, (size_t[]){40, 30}, 2, 12, true);
  comp__train_options o = small_options("comp");
  comp_model *model;
  o.blur_from = 2, o.blur_to = 0.3; /* changes `select` and `patience` */
  o.epochs = 0, o.steps = 40;       /* left to the data */
  o.precision = COMP_PRECISION_AUTO;
  train_to("a.comp", context, d, &o);
  assert_ok(comp_model_load(&model, "a.comp"));
  assert_true(comp__model_follows(model, &o));
  comp__train_options other = o;
  other.blur_to = 0.2;
  assert_false(comp__model_follows(model, &other));
  other = o;
  other.model.latent = 4;
  assert_false(comp__model_follows(model, &other));
  other = o;
  other.model.centred = true;
  assert_false(comp__model_follows(model, &other));
  other = o;
  other.seed = 1;
  assert_false(comp__model_follows(model, &other));
  other = o;
  other.epochs = 1;
  assert_false(comp__model_follows(model, &other));
  comp_model_free(model);
  comp_dataset_free(d);
  comp_context_free(context);
}

static void files_bring_the_model_back(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  comp_dataset *d = make_data(context, (size_t[]){40, 30}, 2, 10, false);
  comp__train_options o = small_options("trvae");
  o.log = "log.jsonl";
  comp_model *model, *back;
  assert_ok(comp_dataset_set_record(d, "{\"steps\":[]}"));
  assert_ok(comp__train(&model, context, d, &o));
  assert_ok(comp_model_save(model, "a.comp"));
  assert_ok(comp_model_load(&back, "a.comp"));
  assert_memory_equal(back->params, model->params, model->network.params.size * sizeof(float));
  assert_memory_equal(back->buffers, model->buffers, model->network.buffers.size * sizeof(float));
  assert_string_equal(comp_model_condition(back), "c");
  assert_string_equal(comp_model_level_name(back, 1), "b");
  assert_string_equal(comp_model_feature_name(back, 9), "9");
  assert_string_equal(comp_model_config(back), comp_model_config(model));
  assert_string_equal(comp_model_history(back), comp_model_history(model));
  assert_string_equal(back->record, "{\"steps\":[]}");
  assert_ok(comp_model_save(back, "b.comp"));
  assert_same_files("a.comp", "b.comp");
  size_t size, lines = 0;
  char *log = file_bytes("log.jsonl", &size);
  for (size_t i = 0; i < size; i++) lines += log[i] == '\n';
  assert_int_equal(lines, o.epochs);
  free(log);
  comp_model_free(model), comp_model_free(back);
  comp_dataset_free(d);
  comp_context_free(context);
}

static void refuse(const char *bytes, size_t size, const char *text) {
  comp_model *model = NULL;
  write_file("b.comp", bytes, size);
  assert_error(comp_model_load(&model, "b.comp"), COMP_ERR_FORMAT, text);
  assert_null(model);
}

/* Replaces the only occurrence of `from` in the header by as much text. */
static void replace(char *bytes, const char *from, const char *to) {
  uint64_t header;
  memcpy(&header, bytes, 8);
  assert_int_equal(strlen(from), strlen(to));
  char *found = memmem(bytes + 8, header, from, strlen(from));
  assert_non_null(found);
  memcpy(found, to, strlen(to));
}

/* A file as earlier versions wrote it, without a digest, from one of today. */
static void take_digest_away(char *bytes) {
  char *digest = strstr(bytes + 8, "\"digest\""), *end = strstr(digest, "\",") + 2;
  memset(digest, ' ', (size_t)(end - digest));
  replace(bytes, "\"format_version\":\"2\"", "\"format_version\":\"1\"");
}

/* The bytes of a model with hidden layers of 3 units. The caller frees them. */
static char *small_model_file(comp_context *context, size_t *size) {
  comp_dataset *d = make_data(context, (size_t[]){20, 15}, 2, 5, false);
  comp__train_options o = small_options("cvae");
  o.epochs = 1;
  o.model.hidden[0] = o.model.hidden[1] = 3;
  train_to("a.comp", context, d, &o);
  comp_dataset_free(d);
  return file_bytes("a.comp", size);
}

/* Any byte of the header changed, every third of the arrays, any cut, one byte more: refused. */
static void damaged_model_files(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  size_t size;
  char *bytes = small_model_file(context, &size);
  uint64_t header;
  memcpy(&header, bytes, 8);
  static const unsigned char flips[] = {0x15, 0x01, 0x20, 0x80};
  for (size_t i = 0; i < size; i += i < 8 + header ? 1 : 3)
    for (size_t f = 0; f < sizeof flips; f++) {
      bytes[i] = (char)(bytes[i] ^ flips[f]);
      refuse(bytes, size, "'b.comp'");
      bytes[i] = (char)(bytes[i] ^ flips[f]);
    }
  for (size_t cut = 0; cut < size; cut += cut + 1 + size / 50 < size ? 1 + size / 50 : 1)
    refuse(bytes, cut, "'b.comp'");
  char *longer = calloc(size + 1, 1);
  memcpy(longer, bytes, size);
  refuse(longer, size + 1, "bytes together");
  /* What the digest alone tells: names and numbers that are as good as others. */
  char *copy = malloc(size);
  const char *const names[][2] = {{"\\\"0\\\"", "\\\"9\\\""}, {"\"condition\":\"c\"", "\"condition\":\"d\""}};
  for (size_t i = 0; i < 2; i++) {
    memcpy(copy, bytes, size);
    replace(copy, names[i][0], names[i][1]);
    refuse(copy, size, "changed or damaged since it was written");
  }
  memcpy(copy, bytes, size);
  replace(copy, "\"digest\"", "\"digset\"");
  refuse(copy, size, "its digest is missing");
  /* Without a digest it loads, as files of earlier versions do; one byte more is refused there, too. */
  take_digest_away(bytes);
  write_file("b.comp", bytes, size);
  comp_model *model = NULL;
  assert_ok(comp_model_load(&model, "b.comp"));
  assert_null(comp_model_digest(model));
  comp_model_free(model);
  model = NULL;
  memcpy(longer, bytes, size);
  refuse(longer, size + 1, "bytes together");
  memcpy(copy, bytes, size);
  replace(copy, "\\\"centred\\\":false", "\\\"centred\\\":12345");
  refuse(copy, size, "configuration is damaged");
  replace(copy, "\\\"centred\\\":12345", "\\\"centred\\\":true ");
  refuse(copy, size, "'centre'");
  float nan = NAN;
  memcpy(bytes + 8 + header, &nan, sizeof nan);
  refuse(bytes, size, "not a finite number");
  assert_error(comp_model_load(&model, "no-such.comp"), COMP_ERR_IO, "No such file");
  free(copy);
  free(longer);
  free(bytes);
  comp_context_free(context);
}

/* A small file whose configuration speaks of a large network is refused in little memory. It took 3 GB. */
static void large_networks_in_small_files(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  size_t size;
  char *bytes = small_model_file(context, &size);
  take_digest_away(bytes);
  static const char from[] = "\\\"hidden\\\":[3,3]", to[] = "\\\"hidden\\\":[20000,20000]";
  char *found = memmem(bytes, size, from, sizeof from - 1);
  assert_non_null(found);
  const size_t more = sizeof to - sizeof from, before = (size_t)(found - bytes), after = before + sizeof from - 1;
  uint64_t header;
  memcpy(&header, bytes, 8);
  header += more;
  char *large = malloc(size + more);
  memcpy(large, bytes, before);
  memcpy(large, &header, 8);
  memcpy(large + before, to, sizeof to - 1);
  memcpy(large + before + sizeof to - 1, bytes + after, size - after);
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  const long peak = usage.ru_maxrss;
  refuse(large, size + more, "x 20000");
  getrusage(RUSAGE_SELF, &usage);
  assert_in_range(usage.ru_maxrss - peak, 0, 300000); /* kB */
  free(large);
  free(bytes);
  comp_context_free(context);
}

static bool all_finite(const comp_model *m) {
  for (size_t i = 0; i < m->network.params.size; i++)
    if (!isfinite(m->params[i])) return false;
  for (size_t i = 0; i < m->network.buffers.size; i++)
    if (!isfinite(m->buffers[i])) return false;
  return true;
}

/* Trains; a run that works must leave finite weights, one that fails must say what is wrong. */
static void survive(comp_context *context, comp_dataset *d, const comp__train_options *o) {
  comp_model *model = NULL;
  comp_status status = comp__train(&model, context, d, o);
  if (model) assert_true(all_finite(model));
  if (status != COMP_OK) assert_true(strlen(comp_error_message()) > 20);
  comp_model_free(model);
  comp_dataset_free(d);
}

static void hard_data(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  const char *models[] = {"comp", "trvae", "vfae"};
  for (int m = 0; m < 3; m++) {
    comp__train_options o = small_options(models[m]);
    survive(context, make_data(context, (size_t[]){60, 1}, 2, 8, true), &o); /* a condition of one */
    survive(context, make_data(context, (size_t[]){60, 2}, 2, 8, true), &o);
    survive(context, make_data(context, (size_t[]){1, 1}, 2, 8, false), &o);
    o.model.include_self = false;
    survive(context, make_data(context, (size_t[]){60, 1}, 2, 8, true), &o);
    o.model.include_self = true;
    o.batch = 100000; /* more than there are */
    survive(context, make_data(context, (size_t[]){33, 32}, 2, 8, true), &o);
    o.batch = 8; /* a remainder of one */
    survive(context, make_data(context, (size_t[]){33, 32}, 2, 8, true), &o);
    o.rate = 10;
    o.epochs = 30;
    survive(context, make_data(context, (size_t[]){60, 40}, 2, 8, true), &o);
    comp_dataset *d = make_data(context, (size_t[]){60, 40}, 2, 8, false);
    o.rate = 1e-3;
    for (size_t i = 0; i < 100; i++) comp_dataset_x(d)->values[i * 8 + 3] = 2.0f; /* a constant feature */
    for (size_t g = 0; g < 8; g++) comp_dataset_x(d)->values[5 * 8 + g] = 0.0f;   /* an empty sample */
    for (size_t i = 0; i < 100; i++) comp_dataset_x(d)->values[i * 8 + 4] = 9e5f * (float)(i % 2); /* huge values */
    survive(context, d, &o);
  }
  comp_context_free(context);
}

static void bad_input_is_named(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  comp_dataset *d = make_data(context, (size_t[]){20, 15}, 2, 5, false),
               *one = make_data(context, (size_t[]){20}, 1, 5, false);
  comp__train_options o = small_options("comp");
  comp_model *model = NULL;
  assert_error(comp__train(&model, context, one, &o), COMP_ERR_DATA, "only one value, 'a'");
  o.condition = "cc";
  assert_error(comp__train(&model, context, d, &o), COMP_ERR_DATA, "did you mean 'c'?");
  o = small_options("comp");
  o.model.latent = 0;
  assert_error(comp__train(&model, context, d, &o), COMP_ERR_ARGUMENT, "latent: 0");
  o = small_options("comp");
  o.rate = -1;
  assert_error(comp__train(&model, context, d, &o), COMP_ERR_ARGUMENT, "lr: -1");
  o = small_options("comp");
  o.batch = 1;
  assert_error(comp__train(&model, context, d, &o), COMP_ERR_ARGUMENT, "batch: 1");
  o = small_options("vae");
  o.kl_target = 1;
  assert_error(comp__train(&model, context, d, &o), COMP_ERR_ARGUMENT, "has no penalty");
  o = small_options("comp");
  o.blur_from = 1;
  assert_error(comp__train(&model, context, d, &o), COMP_ERR_ARGUMENT, "blur: 1 and 0");
  o = small_options("comp");
  o.model.likelihood = COMP_LIKELIHOOD_NB;
  assert_error(comp__train(&model, context, d, &o), COMP_ERR_DATA, "not a whole number");
  o = small_options("comp");
  comp_dataset_x(d)->values[7] = 2e6f;
  assert_error(comp__train(&model, context, d, &o), COMP_ERR_DATA, "as large as 2e+06");
  comp_dataset_x(d)->values[7] = NAN;
  assert_error(comp__train(&model, context, d, &o), COMP_ERR_DATA, "sample 2, feature 3");
  assert_error(comp__train_options_init(&o, "cmop", NULL), COMP_ERR_ARGUMENT, "did you mean 'comp'?");
  assert_error(comp__train_options_init(&o, "comp", "paper-kong"), COMP_ERR_ARGUMENT, "did you mean 'paper-kang'");
  assert_null(model);
  comp_dataset_free(d), comp_dataset_free(one);
  comp_context_free(context);
}

static void presets_follow_the_paper(void **state) {
  (void)state;
  comp__train_options o;
  for (size_t p = 0; p < comp_preset_count(); p++)
    for (size_t m = 0; m < comp_model_kind_count(); m++) {
      assert_ok(comp__train_options_init(&o, comp_model_kind_name(m), comp_preset_name(p)));
      o.condition = "c";
      assert_ok(comp__options_check(&comp__train_kind, &o));
    }
  assert_ok(comp__train_options_init(&o, "comp", "paper-kang"));
  assert_true(o.rate == 1e-6 && o.epochs == 10000 && o.batch == 512 && o.model.beta == 1e-7 && o.model.gamma == 1.0);
  assert_ok(comp__train_options_init(&o, "vfae", "paper-adult"));
  assert_true(o.model.n_hidden == 1 && o.model.learn_scale && !o.model.multi_scale && o.model.gamma == 1000.0);
  assert_ok(comp__train_options_init(&o, "cvae", "paper-tumour"));
  assert_true(o.model.penalty == COMP_PENALTY_NONE && o.batch == 5500 && o.model.latent == 16);
  assert_ok(comp__train_options_init(&o, "comp", "protect"));
  assert_true(o.model.scale == 1.0 && o.model.beta == 1.0 && o.model.gamma == 10.0 && o.patience == 0);
  assert_true(o.steps == 3000 && o.epochs == 0 && o.schedule == COMP_SCHEDULE_COSINE && !o.model.include_self);
  assert_true(!o.model.encoder_sees_condition && !o.model.centred);
  assert_ok(comp__train_options_init(&o, "comp", "default"));
  assert_true(o.model.include_self && o.model.encoder_sees_condition);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(same_bytes_at_any_thread_count),
      cmocka_unit_test(resumed_runs_end_with_the_same_bytes),
      cmocka_unit_test(damaged_numbers_of_shards),
      cmocka_unit_test(early_stopping_begins_after_the_warmup),
      cmocka_unit_test(recipes_choose_weights),
      cmocka_unit_test(pairs_do_not_run_away),
      cmocka_unit_test(averages_are_means_of_the_last_weights),
      cmocka_unit_test(every_batch_holds_every_condition),
      cmocka_unit_test(models_know_their_recipe),
      cmocka_unit_test(files_bring_the_model_back),
      cmocka_unit_test(damaged_model_files),
      cmocka_unit_test(large_networks_in_small_files),
      cmocka_unit_test(hard_data),
      cmocka_unit_test(bad_input_is_named),
      cmocka_unit_test(presets_follow_the_paper),
  };
  return cmocka_run_group_tests_name("train/train", tests, enter, leave);
}
