/* run_folder.c: the folder of `comp run`, its record run.json, and the steps that need not be done again. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/run.h"
#include "cli/text.h"
#include "comp/file.h"

void run_say(run_job *job, const char *format, ...) {
  char text[2048];
  va_list arguments;
  if (job->session->common.quiet) return;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  cli_progress_clear(&job->session->progress);
  fprintf(stderr, "%s\n", text_clean(text));
}

uint64_t run_mix(uint64_t seed, const void *data, size_t size) {
  const unsigned char *p = data;
  for (; size >= 8; size -= 8, p += 8) { /* matrices are large: by words */
    uint64_t word;
    memcpy(&word, p, 8);
    seed = (seed ^ word) * 0x9e3779b97f4a7c15u;
    seed ^= seed >> 29;
  }
  for (; size > 0; size--, p++) seed = (seed ^ *p) * 0x100000001b3u;
  return seed ^ seed >> 29;
}

uint64_t run_mix_text(uint64_t seed, const char *text) {
  return text ? run_mix(seed, text, strlen(text) + 1) : run_mix(seed, "\1", 2);
}

const char *run_path(run_job *job, const char *name) {
  char *path = job->paths[job->next_path++ & 3];
  snprintf(path, sizeof job->paths[0], "%s/%s", job->work, name);
  return path;
}

/* ---- Command lines --------------------------------------------------------------------------------------------- */

/* As a shell takes it. */
static void put_word(FILE *out, const char *word) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,+%@";
  if (*word && strspn(word, plain) == strlen(word)) {
    fprintf(out, " %s", word);
    return;
  }
  fputs(" '", out);
  for (; *word; word++) fputs(*word == '\'' ? "'\\''" : (char[]){*word, '\0'}, out);
  fputc('\'', out);
}

void run_line_start(run_job *job, const char *id, const char *command) {
  run_line *l = &job->line;
  *l = (run_line){0};
  l->shown = open_memstream(&l->shown_text, &l->shown_size);
  l->key = open_memstream(&l->key_text, &l->key_size);
  job->id = id;
  job->started = cli_now();
  if (l->shown) fprintf(l->shown, "comp %s", command);
  if (l->key) fprintf(l->key, "%s", command);
}

static void add(run_job *job, const char *option, const char *value, bool decides) {
  run_line *l = &job->line;
  if (!l->shown || !l->key) return;
  if (option) put_word(l->shown, option);
  if (value) put_word(l->shown, value);
  if (decides && option) put_word(l->key, option);
  if (decides && value) put_word(l->key, value);
}

void run_line_path(run_job *job, const char *option, const char *name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", job->folder, name);
  add(job, option, path, false);
}

void run_line_own(run_job *job, const char *option, const char *path) {
  if (path) add(job, option, path, false);
}

void run_line_text(run_job *job, const char *option, const char *value) {
  if (value) add(job, option, value, true);
}

void run_line_flag(run_job *job, const char *option) {
  add(job, option, NULL, true);
}

void run_line_number(run_job *job, const char *option, double value) {
  char text[40];
  if (!isnan(value)) add(job, option, text_real(text, sizeof text, value, false), true);
}

/* One option that is set, as it is given on a command line. */
static void show_option(run_job *job, const comp_options *options, const comp_option *option) {
  char name[80], value[1024];
  snprintf(name, sizeof name, "--%s", comp_option_name(option));
  const char *text = comp_options_get(options, comp_option_name(option), value, sizeof value);
  size_t count;
  const char *const *items = comp_options_get_list(&count, options, comp_option_name(option));
  for (size_t i = 0; i < count && !text; i++) add(job, name, items[i], false); /* names are one text */
  if (comp_option_get_type(option) == COMP_OPTION_BOOL && text && strcmp(text, "true") == 0)
    add(job, name, NULL, false);
  else if (comp_option_get_type(option) != COMP_OPTION_BOOL && text)
    add(job, name, text, false);
}

void run_line_options(run_job *job, const comp_options *options) {
  const comp_option *option;
  char *text;
  for (size_t i = 0; (option = comp_options_at(options, i)); i++)
    if (comp_options_given(options, comp_option_name(option))) show_option(job, options, option);
  if (!job->line.key || comp_options_to_json(&text, options) != COMP_OK) return;
  fprintf(job->line.key, " %s %s", comp_options_kind(options), text);
  comp_free(text);
}

static void release_line(run_line *l) {
  if (l->shown) fclose(l->shown);
  if (l->key) fclose(l->key);
  free(l->shown_text);
  free(l->key_text);
  *l = (run_line){0};
}

/* ---- Steps ----------------------------------------------------------------------------------------------------- */

static const char *text_of(json_t *object, const char *name) {
  const char *text = json_string_value(json_object_get(object, name));
  return text ? text : "";
}

void run_hex(char out[20], uint64_t value) {
  snprintf(out, 20, "%016llx", (unsigned long long)value);
}

static json_t *old_step(run_job *job, uint64_t fingerprint) {
  char wanted[20];
  size_t i;
  json_t *step;
  run_hex(wanted, fingerprint);
  json_array_foreach(json_object_get(job->old, "steps"), i, step) {
    if (strcmp(text_of(step, "fingerprint"), wanted) == 0) return step;
  }
  return NULL;
}

uint64_t run_file_digest(const char *path) {
  static const size_t block = 1 << 16;
  uint64_t id = 1;
  FILE *file = fopen(path, "rb");
  unsigned char *bytes = file ? malloc(block) : NULL;
  for (size_t n = 1; bytes && n > 0;) {
    n = fread(bytes, 1, block, file);
    id = run_mix(id, bytes, n);
  }
  if (!bytes || ferror(file)) id = 0;
  if (file) fclose(file);
  free(bytes);
  return id;
}

static bool is_digest(json_t *object, const char *name, uint64_t value) {
  char text[20];
  run_hex(text, value);
  return strcmp(text_of(object, name), text) == 0;
}

/* Whether a file of the folder was not touched since the record was made. */
static bool file_is_untouched(const char *path, json_t *file) {
  struct stat info;
  return file && stat(path, &info) == 0 &&
         json_integer_value(json_object_get(file, "bytes")) == (json_int_t)info.st_size &&
         json_integer_value(json_object_get(file, "modified")) ==
             (json_int_t)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec;
}

/* Whether a file of the folder is what the record says: not touched, or of the same content. */
static bool file_is_intact(const char *folder, json_t *record, const char *name) {
  char path[4096];
  json_t *file = json_object_get(json_object_get(record, "files"), name);
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return file && (file_is_untouched(path, file) || is_digest(file, "digest", run_file_digest(path)));
}

/* The same of data.h5ad, which may have other bytes and yet hold the same. */
static bool data_is_intact(run_job *job, const char *folder, json_t *record) {
  char path[4096];
  const char *name;
  json_t *value, *content = json_object_get(record, "content");
  comp_dataset *dataset = NULL;
  snprintf(path, sizeof path, "%s/data.h5ad", folder);
  if (file_is_untouched(path, json_object_get(json_object_get(record, "files"), "data.h5ad"))) return true;
  if (!content || comp_dataset_read(&dataset, job->context, path, NULL) != COMP_OK) return false;
  json_t *found = run_content_list(dataset);
  bool same = found != NULL;
  json_object_foreach(content, name, value) {
    if (same) same = strcmp(text_of(found, name), json_string_value(value) ? json_string_value(value) : "") == 0;
  }
  json_decref(found);
  comp_dataset_free(dataset);
  return same;
}

static bool is_matrix(const char *output, comp_slot *slot, const char **name) {
  *name = strchr(output, '/') ? strchr(output, '/') + 1 : output;
  *slot = strncmp(output, "obsm/", 5) == 0 ? COMP_SLOT_OBSM : COMP_SLOT_LAYERS;
  return *slot == COMP_SLOT_OBSM || strncmp(output, "layers/", 7) == 0;
}

/* What data.h5ad of the earlier run holds; NULL when it cannot be used. */
static comp_dataset *old_data(run_job *job) {
  if (job->old_data_read) return job->old_data;
  job->old_data_read = true;
  if (!job->old || access(run_path(job, "data.h5ad"), F_OK) != 0) return NULL;
  comp_options *read = NULL;
  comp_status status = comp_options_new(&read, "read");
  if (status == COMP_OK) status = cli_input_skip(read, true, false);
  if (status == COMP_OK) status = comp_dataset_read(&job->old_data, job->context, run_path(job, "data.h5ad"), read);
  comp_options_free(read);
  if (status != COMP_OK) return NULL;
  if (comp_dataset_sample_count(job->old_data) != comp_dataset_sample_count(job->dataset) ||
      comp_dataset_feature_count(job->old_data) != comp_dataset_feature_count(job->dataset)) {
    comp_dataset_free(job->old_data);
    job->old_data = NULL;
  }
  return job->old_data;
}

void run_keep_old_data(run_job *job) {
  old_data(job);
}

/* Whether all matrices that steps of the earlier run made are made by this one, too. */
static bool makes_all(run_job *job) {
  size_t i, k;
  json_t *step, *output;
  bool all = true;
  json_array_foreach(json_object_get(job->old, "steps"), i, step) {
    json_array_foreach(json_object_get(step, "outputs"), k, output) {
      comp_slot slot;
      const char *name;
      if (is_matrix(json_string_value(output), &slot, &name)) all = all && run_makes(job, json_string_value(output));
    }
  }
  return all;
}

/* Before the first step that is taken over from a run that was stopped. Training itself tells of its checkpoint. */
static void tell_stopped(run_job *job) {
  if (job->stopped) run_say(job, "going on where the last run stopped");
  job->stopped = false;
}

bool run_take_prepared(run_job *job, uint64_t request) {
  json_t *step = json_array_get(json_object_get(job->old, "steps"), 0);
  job->request = request;
  if (job->options->fresh || !is_digest(step, "request", request) || !makes_all(job)) return false;
  const char *path = run_path(job, "data.h5ad");
  bool untouched = file_is_untouched(path, json_object_get(json_object_get(job->old, "files"), "data.h5ad"));
  if (comp_dataset_read(&job->dataset, job->context, path, NULL) != COMP_OK) return false;
  json_t *content = json_object_get(job->old, "content");
  if (!untouched && !is_digest(content, "prepared", run_content_prepared(job->dataset))) {
    comp_dataset_free(job->dataset);
    job->dataset = NULL;
    return false;
  }
  job->reused = true;
  tell_stopped(job);
  run_say(job, "$ %s    # as before", text_of(step, "command"));
  job->fingerprint = strtoull(text_of(step, "fingerprint"), NULL, 16);
  job->all = run_mix(job->all, &job->fingerprint, sizeof job->fingerprint);
  json_array_append(json_object_get(job->record, "steps"), step);
  return true;
}

static bool take_over(run_job *job, const char *output) {
  comp_slot slot;
  const char *name;
  comp_matrix *copy = NULL;
  if (!is_matrix(output, &slot, &name)) return file_is_intact(job->work, job->old, output);
  comp_dataset *old = job->reused ? job->dataset : old_data(job);
  const comp_matrix *matrix = old ? comp_dataset_matrix(old, slot, name) : NULL;
  if (matrix && !is_digest(json_object_get(job->old, "content"), output, run_content_matrix(matrix))) return false;
  if (matrix && job->reused) return true;
  if (!matrix || comp_matrix_select(&copy, job->context, matrix, NULL, 0, NULL, 0) != COMP_OK) return false;
  comp_dataset_remove_matrix(old, slot, name); /* it is not needed twice */
  return comp_dataset_set_matrix(job->dataset, slot, name, copy) == COMP_OK;
}

/* Lists the outputs and takes the fingerprint. */
static void take_fingerprint(run_job *job, uint64_t upstream, const char *const *outputs) {
  run_line *l = &job->line;
  json_decref(job->outputs);
  job->outputs = json_array();
  for (const char *const *o = outputs; *o; o++) json_array_append_new(job->outputs, json_string(*o));
  if (l->shown) fflush(l->shown);
  if (l->key) fflush(l->key);
  job->fingerprint = run_mix(0xcbf29ce484222325u, &upstream, sizeof upstream);
  job->fingerprint = run_mix_text(run_mix_text(job->fingerprint, job->id), l->key_text);
}

static void show(run_job *job, const char *note) {
  run_say(job, "$ %s%s", job->line.shown_text ? job->line.shown_text : "comp", note);
}

void run_step_begin(run_job *job, uint64_t upstream, const char *const *outputs) {
  take_fingerprint(job, upstream, outputs);
  show(job, "");
}

bool run_step_needed(run_job *job, uint64_t upstream, const char *const *outputs) {
  take_fingerprint(job, upstream, outputs);
  bool found = !job->options->fresh && old_step(job, job->fingerprint) != NULL;
  for (const char *const *o = outputs; *o && found; o++) found = take_over(job, *o);
  if (found) tell_stopped(job);
  show(job, found ? "    # as before" : "");
  for (const char *const *o = outputs; *o && !found; o++) {
    comp_slot slot;
    const char *name;
    if (is_matrix(*o, &slot, &name)) job->data_changed++;
  }
  return !found;
}

int run_step_done(run_job *job) {
  char fingerprint[20];
  run_hex(fingerprint, job->fingerprint);
  json_t *step = json_pack("{s:s, s:s, s:s, s:f, s:O}", "name", job->id, "command",
                           job->line.shown_text ? job->line.shown_text : "", "fingerprint", fingerprint, "seconds",
                           round(1000 * (cli_now() - job->started)) / 1000, "outputs", job->outputs);
  if (step && strcmp(job->id, "prep") == 0) {
    run_hex(fingerprint, job->request);
    json_object_set_new(step, "request", json_string(fingerprint));
  }
  bool good = step && json_array_append_new(json_object_get(job->record, "steps"), step) == 0;
  job->all = run_mix(job->all, &job->fingerprint, sizeof job->fingerprint);
  release_line(&job->line);
  return good ? 0 : cli_error(job->session, EXIT_FAILED, "the step '%s' cannot be recorded: out of memory", job->id);
}

/* ---- The folder ------------------------------------------------------------------------------------------------ */

static json_t *read_record(const char *folder) {
  char path[4096];
  snprintf(path, sizeof path, "%s/run.json", folder);
  json_t *record = json_load_file(path, 0, NULL);
  if (json_is_array(json_object_get(record, "steps"))) return record;
  json_decref(record);
  return NULL;
}

static int make_folder(run_job *job, const char *path) {
  struct stat info;
  if (mkdir(path, 0777) != 0 && errno != EEXIST)
    return cli_error(job->session, EXIT_FAILED, "cannot make the folder '%s': %s", path, strerror(errno));
  if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode))
    return cli_error(job->session, EXIT_FAILED, "--output: '%s' is there, and is not a folder", path);
  if (access(path, W_OK | X_OK) != 0)
    return cli_error(job->session, EXIT_FAILED, "--output: the folder '%s' cannot be written to: %s", path,
                     strerror(errno));
  return 0;
}

/* Files of an earlier run, for the steps that need not be done again: the same bytes under a second name. Files are
 * only ever replaced as a whole, so the first name keeps them. */
static void link_earlier(run_job *job, json_t *record) {
  const char *name;
  json_t *file;
  char from[4096];
  json_object_foreach(json_object_get(record, "files"), name, file) {
    snprintf(from, sizeof from, "%s/%s", job->folder, name);
    if (strstr(name, "..") || link(from, run_path(job, name)) != 0) continue; /* then the step is done again */
  }
}

int run_folder_open(run_job *job) {
  static const char *const ours[] = {"data.h5ad", "model.safetensors", "scores.json", "report.html"};
  char path[4096];
  job->made = access(job->folder, F_OK) != 0;
  int code = make_folder(job, job->folder);
  if (code) return code;
  json_t *earlier = read_record(job->folder);
  for (size_t i = 0; i < sizeof ours / sizeof *ours && !earlier; i++) {
    snprintf(path, sizeof path, "%s/%s", job->folder, ours[i]);
    if (access(path, F_OK) == 0)
      return cli_error(job->session, EXIT_FAILED,
                       "--output: '%s' holds %s, but no run.json of comp run: choose another folder", job->folder,
                       ours[i]);
  }
  bool fresh_work = access(job->work, F_OK) != 0;
  code = make_folder(job, job->work);
  if (!code) code = make_folder(job, run_path(job, "figures"));
  if (code) goto done;
  job->lock = open(run_path(job, "lock"), O_CREAT | O_RDWR | O_CLOEXEC, 0666);
  if (job->lock < 0 || flock(job->lock, LOCK_EX | LOCK_NB) != 0) {
    code = cli_error(job->session, EXIT_FAILED, "--output: another comp run is at work in '%s'", job->folder);
    goto done;
  }
  job->old = read_record(job->work);
  if (!job->old && earlier) {
    link_earlier(job, earlier);
    job->old = json_incref(earlier);
  }
  job->stopped = !fresh_work && job->old;
done:
  json_decref(earlier);
  return code;
}

/* Sizes and times of all files that steps made. */
static void list_files(run_job *job) {
  size_t i, k;
  json_t *step, *output, *files = json_object();
  json_array_foreach(json_object_get(job->record, "steps"), i, step) {
    json_array_foreach(json_object_get(step, "outputs"), k, output) {
      comp_slot slot;
      const char *name, *file = json_string_value(output);
      struct stat info;
      if (is_matrix(file, &slot, &name)) file = "data.h5ad";
      if (json_object_get(files, file) || stat(run_path(job, file), &info) != 0) continue;
      json_t *entry = json_pack("{s:I, s:I}", "bytes", (json_int_t)info.st_size, "modified",
                                (json_int_t)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec);
      json_object_set_new(files, file, entry);
      if (strcmp(file, "data.h5ad") == 0) continue; /* its content is listed */
      char digest[20];
      run_hex(digest, run_file_digest(run_path(job, file)));
      json_object_set_new(entry, "digest", json_string(digest));
    }
  }
  json_object_set_new(job->record, "files", files);
}

int run_folder_save(run_job *job, bool finished) {
  list_files(job);
  json_object_set_new(job->record, "finished", json_boolean(finished));
  char *text = json_dumps(job->record, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
  comp_status status = text ? comp_file_write(run_path(job, "run.json"), text, strlen(text)) : COMP_ERR_MEMORY;
  free(text);
  return status == COMP_OK ? 0 : cli_fail(job->session, status);
}

bool run_folder_is_complete(run_job *job, uint64_t identity) {
  char wanted[20];
  const char *name;
  json_t *file, *record = read_record(job->folder);
  run_hex(wanted, identity);
  bool complete = !job->options->fresh && record && json_is_true(json_object_get(record, "finished")) &&
                  strcmp(text_of(record, "identity"), wanted) == 0;
  json_object_foreach(json_object_get(record, "files"), name, file) {
    if (complete)
      complete = strcmp(name, "data.h5ad") == 0 ? data_is_intact(job, job->folder, record)
                                                : file_is_intact(job->folder, record, name);
  }
  if (complete) {
    json_decref(job->record);
    job->record = record;
  } else {
    json_decref(record);
    json_object_set_new(job->record, "identity", json_string(wanted));
  }
  return complete;
}

static int move(run_job *job, const char *name) {
  char to[4096];
  const char *from = run_path(job, name);
  snprintf(to, sizeof to, "%s/%s", job->folder, name);
  if (rename(from, to) != 0) return cli_error(job->session, EXIT_FAILED, "cannot write '%s': %s", to, strerror(errno));
  unlink(from); /* renaming one of two names of a file to the other leaves both */
  return 0;
}

int run_folder_publish(run_job *job) {
  const char *name;
  json_t *file, *earlier = read_record(job->folder);
  char path[4096];
  snprintf(path, sizeof path, "%s/figures", job->folder);
  int code = run_folder_save(job, true);
  if (!code) code = make_folder(job, path);
  json_object_foreach(json_object_get(job->record, "files"), name, file) {
    if (!code) code = move(job, name);
  }
  /* What an earlier run with other options made, and this one did not. */
  json_object_foreach(json_object_get(earlier, "files"), name, file) {
    snprintf(path, sizeof path, "%s/%s", job->folder, name);
    if (!code && !json_object_get(json_object_get(job->record, "files"), name) && !strstr(name, "..")) unlink(path);
  }
  if (!code) code = move(job, "run.json");
  json_decref(earlier);
  return code;
}

/* After a whole run nothing of it is left in `work`; an unfinished one stays for the next. */
static void clear_work(run_job *job) {
  const char *name;
  json_t *file;
  if (access(run_path(job, "run.json"), F_OK) == 0) return;
  if (access(run_path(job, "model.checkpoint"), F_OK) == 0) return;
  json_object_foreach(json_object_get(job->old, "files"), name, file) unlink(run_path(job, name));
  unlink(run_path(job, "data.h5ad"));
  unlink(run_path(job, "lock"));
  rmdir(run_path(job, "figures"));
  rmdir(job->work);
}

void run_folder_close(run_job *job) {
  release_line(&job->line);
  if (job->lock >= 0) {
    clear_work(job);
    close(job->lock);
  }
  if (job->made) rmdir(job->folder); /* which an empty one allows only */
  json_decref(job->outputs);
  json_decref(job->old);
  json_decref(job->record);
  comp_dataset_free(job->old_data);
}
