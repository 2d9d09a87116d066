/* folder.c: the folder of a run and its record run.json. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "comp/file.h"
#include "comp/io.h"
#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/file.h"
#include "pipeline/job.h"

comp__path comp__path_in(const char *folder, const char *name) {
  comp__path path;
  snprintf(path.text, sizeof path.text, "%s/%s", folder, name);
  return path;
}

comp__path comp__path_at_work(const comp__job *job, const char *name) {
  return comp__path_in(job->work, name);
}

/* ---- Files ----------------------------------------------------------------------------------------------------- */

/* The fingerprint of a file's bytes; 0 when it cannot be read. */
static uint64_t file_digest(const char *path) {
  static const size_t block = 1 << 16;
  uint64_t id = 1;
  FILE *file = fopen(path, "rb");
  unsigned char *bytes = file ? malloc(block) : NULL;
  for (size_t n = 1; bytes && n > 0;) {
    n = fread(bytes, 1, block, file);
    id = comp__mix(id, bytes, n);
  }
  if (!bytes || ferror(file)) id = 0;
  if (file) fclose(file);
  free(bytes);
  return id;
}

static json_t *file_entry(json_t *record, const char *name) {
  return json_object_get(json_object_get(record, "files"), name);
}

bool comp__file_is_untouched(const char *folder, json_t *record, const char *name) {
  struct stat info;
  json_t *file = file_entry(record, name);
  return file && stat(comp__path_in(folder, name).text, &info) == 0 &&
         json_integer_value(json_object_get(file, "bytes")) == (json_int_t)info.st_size &&
         json_integer_value(json_object_get(file, "modified")) ==
             (json_int_t)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec;
}

bool comp__file_is_intact(const char *folder, json_t *record, const char *name) {
  json_t *file = file_entry(record, name);
  return file && (comp__file_is_untouched(folder, record, name) ||
                  comp__is_digest(file, "digest", file_digest(comp__path_in(folder, name).text)));
}

/* The same of data.h5ad, which may have other bytes and yet hold the same. */
static bool data_is_intact(comp__job *job, const char *folder, json_t *record) {
  const char *name;
  json_t *value, *content = json_object_get(record, "content");
  comp_dataset *dataset = NULL;
  if (comp__file_is_untouched(folder, record, "data.h5ad")) return true;
  if (!content) return false;
  if (comp_dataset_read(&dataset, job->context, comp__path_in(folder, "data.h5ad").text, NULL) != COMP_OK) return false;
  json_t *found = comp__content_list(dataset);
  bool same = found != NULL;
  json_object_foreach(content, name, value) {
    if (same) same = json_is_string(value) && json_equal(value, json_object_get(found, name));
  }
  json_decref(found);
  comp_dataset_free(dataset);
  return same;
}

/* ---- The folder ------------------------------------------------------------------------------------------------ */

comp_status comp__folder_check(comp__job *job) {
  struct stat a, b;
  const char *path = job->given ? NULL : job->o.input;
  if (strlen(job->o.output) > 3000) return comp__error(COMP_ERR_ARGUMENT, "output: the name of the folder is too long");
  snprintf(job->folder, sizeof job->folder, "%s", job->o.output);
  for (size_t n = strlen(job->folder); n > 1 && job->folder[n - 1] == '/';) job->folder[--n] = '\0';
  snprintf(job->work, sizeof job->work, "%s/.unfinished", job->folder);
  if (path && stat(comp__path_in(job->folder, "data.h5ad").text, &a) == 0 && stat(path, &b) == 0 &&
      a.st_dev == b.st_dev && a.st_ino == b.st_ino)
    return comp__error(COMP_ERR_ARGUMENT, "output: the input is the data.h5ad of that folder, which would be replaced");
  if (stat(job->folder, &a) == 0 && !S_ISDIR(a.st_mode))
    return comp__error(COMP_ERR_IO, "--output: '%s' is there, and is not a folder", job->folder);
  return COMP_OK;
}

static json_t *read_record(const char *folder) {
  json_t *record = json_load_file(comp__path_in(folder, "run.json").text, 0, NULL);
  if (json_is_array(json_object_get(record, "steps"))) return record;
  json_decref(record);
  return NULL;
}

static comp_status make_folder(const char *path) {
  struct stat info;
  if (mkdir(path, 0777) != 0 && errno != EEXIST) return comp__error_errno("cannot make the folder '%s'", path);
  if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode))
    return comp__error(COMP_ERR_IO, "--output: '%s' is there, and is not a folder", path);
  if (access(path, W_OK | X_OK) != 0) return comp__error_errno("--output: the folder '%s' cannot be written to", path);
  return COMP_OK;
}

/* The record of a run that made everything, and was stopped while it moved files to their places. */
static bool is_half_moved(json_t *record) {
  return json_is_true(json_object_get(record, "finished"));
}

/* Files of an earlier run, for the steps that need not be done again: the same bytes under a second name. Files are
 * only ever replaced as a whole, so the first name keeps them. */
static void link_earlier(comp__job *job, json_t *record) {
  const char *name;
  json_t *file;
  json_object_foreach(json_object_get(record, "files"), name, file) {
    if (strstr(name, "..")) continue;
    comp__path from = comp__path_in(job->folder, name), to = comp__path_at_work(job, name);
    if (link(from.text, to.text) != 0) continue; /* then the step is done again */
  }
}

static bool was_half_moved(const comp__job *job) {
  json_t *record = read_record(job->work);
  bool half = is_half_moved(record);
  json_decref(record);
  return half;
}

/* A folder without a record must not hold what looks like a result: it is somebody else's. */
static comp_status check_foreign(const comp__job *job) {
  static const char *const ours[] = {"data.h5ad", "model.safetensors", "scores.json", "report.html"};
  for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
    if (access(comp__path_in(job->folder, ours[i]).text, F_OK) == 0)
      return comp__error(COMP_ERR_IO, "--output: '%s' holds %s, but no run.json of comp run: choose another folder",
                         job->folder, ours[i]);
    if (errno != ENOENT) return comp__error_errno("--output: cannot look into '%s'", job->folder);
  }
  return COMP_OK;
}

/* One run at a time. */
static comp_status lock_folder(comp__job *job) {
  job->lock = open(comp__path_at_work(job, "lock").text, O_CREAT | O_RDWR | O_CLOEXEC, 0666);
  if (job->lock < 0 || flock(job->lock, LOCK_EX | LOCK_NB) != 0)
    return comp__error(COMP_ERR_IO, "--output: another comp run is at work in '%s'", job->folder);
  return COMP_OK;
}

comp_status comp__folder_open(comp__job *job) {
  comp_status status;
  json_t *earlier = NULL;
  job->made = access(job->folder, F_OK) != 0;
  COMP__TRY(make_folder(job->folder));
  earlier = read_record(job->folder);
  if (!earlier && !was_half_moved(job)) COMP__TRY(check_foreign(job));
  bool fresh_work = access(job->work, F_OK) != 0;
  COMP__TRY(make_folder(job->work));
  COMP__TRY(make_folder(comp__path_at_work(job, "figures").text));
  COMP__TRY(lock_folder(job));
  comp__output_sweep(job->work);
  comp__output_sweep(comp__path_at_work(job, "figures").text);
  job->old = read_record(job->work);
  if (!job->old) job->old = json_incref(earlier);
  if (job->old == earlier || is_half_moved(job->old)) link_earlier(job, job->old);
  job->stopped = !fresh_work && job->old;
done:
  json_decref(earlier);
  return status;
}

void comp__tell_stopped(comp__job *job) {
  if (job->stopped) comp__info(job->context, "going on where the last run stopped");
  job->stopped = false;
}

bool comp__record_lists(json_t *record, const char *output) {
  size_t i, k;
  json_t *step, *made;
  bool found = false;
  json_array_foreach(json_object_get(record, "steps"), i, step) {
    json_array_foreach(json_object_get(step, "outputs"), k, made) {
      found = found || (json_is_string(made) && strcmp(json_string_value(made), output) == 0);
    }
  }
  return found;
}

bool comp__run_made(const comp__job *job, const char *name) {
  if (!comp__record_lists(job->record, name)) return false;
  return access(comp__path_at_work(job, name).text, F_OK) == 0 || errno != ENOENT; /* reading it tells what is wrong */
}

/* Size, time and digest of a file that a step made, unless it is not there: a step may make none. */
static comp_status list_file(json_t *files, const comp__job *job, const char *name) {
  struct stat info;
  comp__path path = comp__path_at_work(job, name);
  if (json_object_get(files, name)) return COMP_OK;
  if (stat(path.text, &info) != 0) return errno == ENOENT ? COMP_OK : comp__error_errno("cannot read '%s'", path.text);
  json_t *entry = json_pack("{s:I, s:I}", "bytes", (json_int_t)info.st_size, "modified",
                            (json_int_t)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec);
  if (strcmp(name, "data.h5ad") != 0) /* whose content is listed */
    json_object_set_new(entry, "digest", json_string(comp__hex_of(file_digest(path.text)).text));
  if (json_object_set_new(files, name, entry) != 0) return comp__error(COMP_ERR_MEMORY, "out of memory");
  return COMP_OK;
}

static comp_status list_files(comp__job *job) {
  size_t i, k;
  json_t *step, *output, *files = json_object();
  comp_status status = COMP_OK;
  json_array_foreach(json_object_get(job->record, "steps"), i, step) {
    json_array_foreach(json_object_get(step, "outputs"), k, output) {
      comp_slot slot;
      const char *name, *file = json_string_value(output);
      if (comp__output_is_matrix(file, &slot, &name)) file = "data.h5ad";
      if (status == COMP_OK) status = list_file(files, job, file);
    }
  }
  json_object_set_new(job->record, "files", files);
  return status;
}

comp_status comp__folder_save(comp__job *job, bool finished) {
  comp_status status = list_files(job);
  if (status != COMP_OK) return status;
  json_object_set_new(job->record, "finished", json_boolean(finished));
  char *text = json_dumps(job->record, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
  if (!text) return comp__error(COMP_ERR_MEMORY, "run.json cannot be made: out of memory");
  status = comp_file_write(comp__path_at_work(job, "run.json").text, text, strlen(text));
  free(text);
  return status;
}

bool comp__folder_is_complete(comp__job *job, uint64_t identity) {
  const char *name;
  json_t *file, *record = read_record(job->folder);
  bool complete = !job->o.fresh && json_is_true(json_object_get(record, "finished")) &&
                  comp__is_digest(record, "identity", identity) && comp__steps_are_recorded(job, record);
  json_object_foreach(json_object_get(record, "files"), name, file) {
    if (complete)
      complete = strcmp(name, "data.h5ad") == 0 ? data_is_intact(job, job->folder, record)
                                                : comp__file_is_intact(job->folder, record, name);
  }
  if (complete) {
    json_decref(job->record);
    job->record = record;
  } else {
    json_decref(record);
    json_object_set_new(job->record, "identity", json_string(comp__hex_of(identity).text));
  }
  return complete;
}

static comp_status move(const comp__job *job, const char *name) {
  comp__path from = comp__path_at_work(job, name), to = comp__path_in(job->folder, name);
  if (rename(from.text, to.text) != 0) return comp__error_errno("cannot write '%s'", to.text);
  unlink(from.text); /* renaming one of two names of a file to the other leaves both */
  return COMP_OK;
}

/* Removes what an earlier run with other options made, and this one did not. */
static void remove_others(const comp__job *job, json_t *earlier) {
  const char *name;
  json_t *file;
  json_object_foreach(json_object_get(earlier, "files"), name, file) {
    if (!file_entry(job->record, name) && !strstr(name, "..")) unlink(comp__path_in(job->folder, name).text);
  }
}

comp_status comp__folder_publish(comp__job *job) {
  const char *name;
  json_t *file, *earlier = read_record(job->folder);
  comp_status status = comp__folder_save(job, true);
  if (status == COMP_OK) status = make_folder(comp__path_in(job->folder, "figures").text);
  json_object_foreach(json_object_get(job->record, "files"), name, file) {
    if (status == COMP_OK) status = move(job, name);
  }
  if (status == COMP_OK) remove_others(job, earlier);
  if (status == COMP_OK && is_half_moved(job->old)) remove_others(job, job->old);
  if (status == COMP_OK) status = move(job, "run.json");
  json_decref(earlier);
  return status;
}

/* After a whole run nothing of it is left in `work`; an unfinished one stays for the next. */
static void clear_work(comp__job *job) {
  const char *name;
  json_t *file;
  if (access(comp__path_at_work(job, "run.json").text, F_OK) == 0 || errno != ENOENT) return;
  if (access(comp__path_at_work(job, "model.checkpoint").text, F_OK) == 0 || errno != ENOENT) return;
  json_object_foreach(json_object_get(job->old, "files"), name, file) unlink(comp__path_at_work(job, name).text);
  unlink(comp__path_at_work(job, "data.h5ad").text);
  unlink(comp__path_at_work(job, "lock").text);
  rmdir(comp__path_at_work(job, "figures").text);
  rmdir(job->work);
}

void comp__folder_close(comp__job *job) {
  if (job->lock >= 0) {
    clear_work(job);
    close(job->lock);
  }
  if (job->made) rmdir(job->folder); /* which an empty one allows only */
  json_decref(job->old);
  json_decref(job->record);
  comp_dataset_free(job->old_data);
}
