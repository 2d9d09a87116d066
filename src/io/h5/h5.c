/* h5.c: HDF5 files, handles, errors, groups. */
#include "io/h5/h5.h"

#include <errno.h>
#include <fcntl.h>
#include <liblzf/lzf.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/error.h"
#include "io/h5/vet.h"

/* What decompressing may need when the filter's parameters do not say. */
enum { MOST_LZF = 1 << 30 };

/* The lzf filter as h5py has it: cd[2], when there, is the size of a chunk; data that does not shrink is stored as it
 * is, which failing to compress stands for. */
static size_t lzf_filter(unsigned flags, size_t n_cd, const unsigned cd[], size_t size, size_t *capacity, void **data) {
  bool unpack = (flags & H5Z_FLAG_REVERSE) != 0;
  size_t told = n_cd > 2 && cd[2] <= MOST_LZF ? cd[2] : 0; /* the size of a chunk; damaged, it is only slower */
  size_t out_size = unpack ? (told > 0 ? told : *capacity * 4) : size;
  unsigned used = 0;
  void *out = NULL;
  if (size > MOST_LZF) return 0;
  for (; out_size <= MOST_LZF; out_size *= 2) {
    out = malloc(out_size);
    if (!out) return 0;
    used = unpack ? lzf_decompress(*data, (unsigned)size, out, (unsigned)out_size)
                  : lzf_compress(*data, (unsigned)size, out, (unsigned)out_size);
    if (used > 0) break;
    free(out);
    if (!unpack || errno != E2BIG || out_size == 0) return 0;
  }
  if (used == 0) return 0;
  /* HDF5 takes the capacity for the size of a chunk when it copies text, and clears that much of a buffer of its own:
   * it must not be more. */
  void *fitted = realloc(out, used);
  free(*data);
  *data = fitted ? fitted : out;
  *capacity = used;
  return used;
}

/* h5py puts the size of a chunk into the filter's parameters when a dataset is created. */
static herr_t lzf_set_local(hid_t list, hid_t type, hid_t space) {
  (void)space;
  unsigned flags, cd[3] = {4, LZF_VERSION, 0};
  size_t n_cd = 0;
  hsize_t chunk[H5S_MAX_RANK];
  if (H5Pget_filter_by_id2(list, COMP__H5_LZF, &flags, &n_cd, NULL, 0, NULL, NULL) < 0) return -1;
  int rank = H5Pget_chunk(list, H5S_MAX_RANK, chunk);
  size_t bytes = H5Tget_size(type);
  for (int i = 0; i < rank; i++) bytes *= (size_t)chunk[i];
  if (bytes > UINT32_MAX) return -1;
  cd[2] = (unsigned)bytes;
  return H5Pmodify_filter(list, COMP__H5_LZF, flags, 3, cd);
}

static void register_lzf(void) {
  static const H5Z_class2_t lzf = {H5Z_CLASS_T_VERS, COMP__H5_LZF, 1, 1, "lzf", NULL, lzf_set_local, lzf_filter};
  if (H5Zfilter_avail(COMP__H5_LZF) <= 0) H5Zregister(&lzf);
}

/* Before HDF5's first call: at the program's end it would close what a damaged file has left open, and complain on
 * stderr that it cannot. All our files are closed by then. */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void start_hdf5(void) {
  H5dont_atexit();
}

static void silence(comp__h5_file *file) {
  H5Eget_auto2(H5E_DEFAULT, &file->print, &file->print_data);
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  file->quiet = true;
}

/* HDF5 1.10 crashes when memory runs out in its start or while it opens a file, which take less than this. */
enum { HDF5_ROOM = 8 << 20 };

/* STRONG: a handle lost on some error path must not keep the file open. */
static comp_status open_or_create(comp__h5_file *out, const char *path, unsigned flags) {
  comp_status status = COMP_OK;
  status = comp__room(HDF5_ROOM);
  if (status == COMP_OK && flags != H5F_ACC_RDONLY) status = comp__calloc(&out->failed, 1, sizeof *out->failed);
  if (status != COMP_OK) return status;
  pthread_once(&once, start_hdf5);
  silence(out);
  register_lzf();
  hid_t list = H5Pcreate(H5P_FILE_ACCESS);
  if (list >= 0 && H5Pset_fclose_degree(list, H5F_CLOSE_STRONG) >= 0 && comp__h5_guard(list, out->failed, out->vet))
    out->id = flags == H5F_ACC_TRUNC ? H5Fcreate(path, flags, H5P_DEFAULT, list) : H5Fopen(path, flags, list);
  comp__h5_close(&list);
  return COMP_OK;
}

/* One walk: what to call, and the objects that it has come to. */
typedef struct visit {
  comp__h5_visit_fn fn;
  void *user;
  comp__vet seen; /* its table of addresses only */
} visit;

/* HDF5 comes back to an object that has one link by its own account: a damaged group leads it in circles. It builds the
 * path of each object again, and calls itself for each group. */
static herr_t visit_once(hid_t root, const char *name, const H5O_info_t *info, void *user) {
  visit *v = user;
  bool seen;
  int depth = 0;
  for (const char *p = name; (p = strchr(p, '/')) && depth < COMP__VET_DEPTH; p++) depth++;
  if (depth == COMP__VET_DEPTH) return -1;
  if (comp__vet_note(&v->seen, info->addr, COMP__VET_HEADER, &seen) != COMP_OK) {
    comp__h5_doubt(root, ENOMEM);
    return -1;
  }
  return seen ? -1 : v->fn(root, name, info, v->user);
}

herr_t comp__h5_visit(hid_t object, comp__h5_visit_fn fn, void *user) {
  visit v = {.fn = fn, .user = user};
#if H5_VERSION_GE(1, 12, 0)
  herr_t result = H5Ovisit1(object, H5_INDEX_NAME, H5_ITER_NATIVE, visit_once, &v);
#else
  herr_t result = H5Ovisit(object, H5_INDEX_NAME, H5_ITER_NATIVE, visit_once, &v);
#endif
  comp__free(v.seen.known);
  return result;
}

static herr_t visit_nothing(hid_t root, const char *name, const H5O_info_t *info, void *user) {
  (void)root, (void)name, (void)info, (void)user;
  return 0;
}

/* Objects that only structure with checksums leads to are looked through when HDF5 comes to them: all at once here. So
 * are those of very many groups, which may be within each other. */
static comp_status visit_all(const comp__h5_file *file) {
  if (!file->vet->sealed && file->vet->groups < COMP__VET_DEPTH) return COMP_OK;
  if (comp__h5_visit(file->id, visit_nothing, NULL) >= 0 && file->vet->broken == COMP_OK) return COMP_OK;
  comp_status status = comp__h5_certain(file->id);
  if (status != COMP_OK) return status;
  return comp__h5_error(COMP_ERR_FORMAT,
                        "the file is damaged: not all of its objects can be read (or groups are more than %d deep); "
                        "copy it again, or make it again",
                        COMP__VET_DEPTH);
}

comp_status comp__h5_open(comp__h5_file *out, const char *path, bool write) {
  *out = (comp__h5_file)COMP__H5_FILE_INIT;
  if (access(path, write ? R_OK | W_OK : R_OK) != 0) return comp__error_errno("cannot open");
  out->vet_fd = open(path, O_RDONLY | O_CLOEXEC);
  if (out->vet_fd < 0) return comp__error_errno("cannot open");
  comp_status status = comp__vet_new(&out->vet, out->vet_fd);
  if (status == COMP_OK) status = open_or_create(out, path, write ? H5F_ACC_RDWR : H5F_ACC_RDONLY);
  if (status == COMP_OK && out->id < 0)
    status = comp__h5_error(COMP_ERR_FORMAT, "not a readable HDF5 file (cut short, damaged, or still being written?)");
  return status == COMP_OK ? visit_all(out) : status;
}

comp_status comp__h5_create(comp__h5_file *out, const char *path) {
  *out = (comp__h5_file)COMP__H5_FILE_INIT;
  comp_status status = open_or_create(out, path, H5F_ACC_TRUNC);
  if (status == COMP_OK && out->id < 0) status = comp__h5_error(COMP_ERR_IO, "cannot create %s", path);
  return status;
}

comp_status comp__h5_finish_file(comp__h5_file *file) {
  comp_status status = comp__h5_certain(file->id);
  if (H5Fclose(file->id) < 0 && status == COMP_OK) status = comp__h5_error(COMP_ERR_IO, "cannot write");
  file->id = H5I_INVALID_HID;
  if (status == COMP_OK && file->failed && *file->failed) {
    errno = *file->failed;
    status = comp__error_errno("cannot write");
  }
  comp__h5_close_file(file);
  return status;
}

void comp__h5_close_file(comp__h5_file *file) {
  if (file->id >= 0) H5Fclose(file->id);
  if (file->quiet) {
    H5Eclear2(H5E_DEFAULT);
    H5Eset_auto2(H5E_DEFAULT, file->print, file->print_data);
  }
  comp__free(file->failed);
  comp__vet_free(file->vet);
  if (file->vet_fd >= 0) close(file->vet_fd);
  *file = (comp__h5_file)COMP__H5_FILE_INIT;
}

/* Keeps HDF5's account of an error, which every call clears, for the message that is yet to be made. */
void comp__h5_close(hid_t *id) {
  hid_t errors = *id >= 0 && H5Eget_num(H5E_DEFAULT) > 0 ? H5Eget_current_stack() : H5I_INVALID_HID;
  if (*id >= 0) H5Idec_ref(*id);
  if (errors >= 0) H5Eset_current_stack(errors);
  *id = H5I_INVALID_HID;
}

comp_status comp__h5_end(hid_t *dataset) {
  char where[256];
  comp_status status = COMP_OK;
  if (*dataset < 0) return COMP_OK;
  comp__h5_where(*dataset, where, sizeof where);
  if (H5Idec_ref(*dataset) < 0) status = comp__h5_error(COMP_ERR_IO, "cannot write %s", where);
  *dataset = H5I_INVALID_HID;
  return status;
}

comp_status comp__h5_unlink(hid_t parent, const char *path) {
  htri_t exists = H5Lexists(parent, path, H5P_DEFAULT);
  if (exists == 0 || (exists > 0 && H5Ldelete(parent, path, H5P_DEFAULT) >= 0)) return COMP_OK;
  return comp__h5_error(COMP_ERR_IO, "cannot replace '%s'", path);
}

typedef struct account {
  char deepest[256];
  bool memory; /* somewhere memory ran out */
} account;

/* Two descriptions tell most: the deepest is the cause, and the system's own words are in it when there are any. */
static herr_t keep_deepest(unsigned depth, const H5E_error2_t *entry, void *user) {
  account *a = user;
  if (depth == 0) snprintf(a->deepest, sizeof a->deepest, "%s", entry->desc ? entry->desc : "");
  if (entry->min_num == H5E_CANTALLOC || (entry->maj_num == H5E_RESOURCE && entry->min_num == H5E_NOSPACE))
    a->memory = true;
  return 0;
}

comp_status comp__h5_error(comp_status status, const char *format, ...) {
  char text[1024];
  account a = {"", false};
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_deepest, &a);
  H5Eclear2(H5E_DEFAULT);
  if (a.memory && status == COMP_ERR_FORMAT) status = COMP_ERR_MEMORY;
  for (char *c = a.deepest; *c; c++)
    if (*c == '\n') *c = ' ';
  if (a.deepest[0]) return comp__error(status, "%s (HDF5: %s)", text, a.deepest);
  return comp__error(status, "%s", text);
}

const char *comp__h5_where(hid_t object, char *buffer, size_t size) {
  char path[256] = "";
  ssize_t length = H5Iget_name(object, path, sizeof path);
  if (length <= 1)
    snprintf(buffer, size, "%s", length == 1 ? "the root group" : "(unnamed)");
  else
    snprintf(buffer, size, "%s", path + 1);
  return buffer;
}

/* Whether one part of a path is surely not there: no link, one that leads nowhere, or a dataset where a group would
 * have to be. `whole`: it is the last part. */
static bool part_is_absent(hid_t parent, const char *part, bool whole) {
  H5L_info_t info;
  htri_t exists = H5Lexists(parent, part, H5P_DEFAULT);
  if (exists <= 0) return exists == 0;
  if (H5Lget_info(parent, part, &info, H5P_DEFAULT) < 0) return false;
  hid_t object = H5Oopen(parent, part, H5P_DEFAULT);
  if (object < 0) return info.type != H5L_TYPE_HARD;
  bool group = H5Iget_type(object) == H5I_GROUP;
  comp__h5_close(&object);
  return !group && !whole;
}

/* Why a path cannot be opened: true when nothing is there, false when that could not be found out. */
static bool is_absent(hid_t parent, const char *path) {
  char part[1024];
  if (strlen(path) >= sizeof part) return false;
  for (size_t end = strcspn(path, "/");; end += 1 + strcspn(path + end + 1, "/")) {
    snprintf(part, sizeof part, "%.*s", (int)end, path);
    if (part_is_absent(parent, part, path[end] == '\0')) return true;
    if (path[end] == '\0') return false;
  }
}

comp__h5_kind comp__h5_find(hid_t parent, const char *path) {
  hid_t object = H5Oopen(parent, path, H5P_DEFAULT);
  if (object < 0) {
    if (!is_absent(parent, path)) comp__h5_doubt(parent, 0);
    H5Eclear2(H5E_DEFAULT);
    return COMP__H5_NONE;
  }
  H5I_type_t type = H5Iget_type(object);
  comp__h5_close(&object);
  if (type == H5I_GROUP) return COMP__H5_GROUP;
  if (type == H5I_DATASET) return COMP__H5_DATASET;
  return COMP__H5_OTHER;
}

/* For messages: what a path is in, and its last part. */
static const char *name_parts(char *where, size_t size, hid_t parent, const char *path) {
  const char *slash = strrchr(path, '/');
  comp__h5_where(parent, where, size);
  if (!slash || slash == path || strcmp(where, "the root group") != 0) return path;
  snprintf(where, size, "%.*s", (int)(slash - path), path);
  return slash + 1;
}

static comp_status open_as(hid_t *out, hid_t parent, const char *path, H5I_type_t type, const char *kind) {
  char where[256];
  const char *name = name_parts(where, sizeof where, parent, path);
  *out = H5Oopen(parent, path, H5P_DEFAULT);
  if (*out < 0) {
    hid_t errors = H5Eget_current_stack(); /* the next call would clear it: memory that has run out is no damage */
    const bool exists = H5Lexists(parent, path, H5P_DEFAULT) > 0;
    if (errors >= 0) H5Eset_current_stack(errors);
    if (exists) return comp__h5_error(COMP_ERR_FORMAT, "'%s' in %s cannot be opened: the file is damaged", name, where);
    H5Eclear2(H5E_DEFAULT);
    return comp__error(COMP_ERR_FORMAT, "there is no '%s' in %s", name, where);
  }
  if (H5Iget_type(*out) == type) return COMP_OK;
  comp__h5_close(out);
  return comp__error(COMP_ERR_FORMAT, "'%s' in %s is not a %s", name, where, kind);
}

comp_status comp__h5_open_group(hid_t *out, hid_t parent, const char *path) {
  return open_as(out, parent, path, H5I_GROUP, "group");
}

comp_status comp__h5_open_dataset(hid_t *out, hid_t parent, const char *path) {
  return open_as(out, parent, path, H5I_DATASET, "dataset");
}

typedef struct member_walk {
  comp__strings *out;
  comp_status status;
} member_walk;

static herr_t add_member(hid_t group, const char *name, const H5L_info_t *info, void *user) {
  (void)group, (void)info;
  member_walk *walk = user;
  walk->status = comp__strings_append(walk->out, name, strlen(name));
  return walk->status == COMP_OK ? 0 : 1;
}

comp_status comp__h5_members(comp__strings *out, hid_t group) {
  member_walk walk = {out, COMP_OK};
  char where[256];
  comp__h5_where(group, where, sizeof where);
  if (H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, NULL, add_member, &walk) < 0)
    return comp__h5_error(COMP_ERR_FORMAT, "cannot list %s", where);
  return walk.status;
}

/* Deflate packs at most 1032:1, lzf less; fill values alone make up the rest of a small file. */
enum { MOST_RATIO = 1100, FREE_BYTES = 16 << 20 };

static comp_status check_plausible(hid_t dataset, const size_t *shape, int rank, const char *where) {
  hid_t type = H5Dget_type(dataset);
  size_t bytes = type < 0 ? 0 : H5Tget_size(type);
  comp__h5_close(&type);
  bool fits = bytes > 0;
  for (int i = 0; i < rank; i++) fits = fits && comp__size_mul(&bytes, bytes, shape[i]);
  hsize_t stored = H5Dget_storage_size(dataset);
  size_t most;
  if (!comp__size_mul(&most, (size_t)stored, MOST_RATIO) || !comp__size_add(&most, most, FREE_BYTES)) most = SIZE_MAX;
  if (fits && bytes <= most) return COMP_OK;
  H5Eclear2(H5E_DEFAULT);
  return comp__error(COMP_ERR_FORMAT, "%s claims %s%zu bytes, but only %llu are stored: the file is damaged", where,
                     fits ? "" : "more than ", fits ? bytes : SIZE_MAX, (unsigned long long)stored);
}

comp_status comp__h5_shape(size_t *shape, int *rank, int most, hid_t dataset) {
  char where[256];
  comp__h5_where(dataset, where, sizeof where);
  hsize_t dims[H5S_MAX_RANK] = {0};
  hid_t space = H5Dget_space(dataset);
  H5S_class_t class = space < 0 ? H5S_NO_CLASS : H5Sget_simple_extent_type(space);
  *rank = space < 0 ? -1 : H5Sget_simple_extent_dims(space, dims, NULL);
  comp__h5_close(&space);
  if (*rank < 0) return comp__h5_error(COMP_ERR_FORMAT, "%s has no readable shape", where);
  if (class == H5S_NULL) return comp__error(COMP_ERR_FORMAT, "%s is empty", where);
  if (*rank > most) return comp__error(COMP_ERR_FORMAT, "%s has %d dimensions, not %d", where, *rank, most);
  for (int i = 0; i < *rank; i++) shape[i] = (size_t)dims[i];
  return check_plausible(dataset, shape, *rank, where);
}

comp_status comp__h5_make_group(hid_t *out, hid_t parent, const char *path, const char *type, const char *version) {
  hid_t links = comp__h5_link_list();
  *out = H5Gcreate2(parent, path, links, H5P_DEFAULT, H5P_DEFAULT);
  comp__h5_close(&links);
  if (*out < 0) return comp__h5_error(COMP_ERR_IO, "cannot write group '%s'", path);
  return comp__h5_put_encoding(*out, type, version);
}

hid_t comp__h5_link_list(void) {
  hid_t list = H5Pcreate(H5P_LINK_CREATE);
  if (list < 0) return list;
  if (H5Pset_create_intermediate_group(list, 1) < 0 || H5Pset_char_encoding(list, H5T_CSET_UTF8) < 0)
    comp__h5_close(&list);
  return list;
}

hid_t comp__h5_attribute_list(void) {
  hid_t list = H5Pcreate(H5P_ATTRIBUTE_CREATE);
  if (list >= 0 && H5Pset_char_encoding(list, H5T_CSET_UTF8) < 0) comp__h5_close(&list);
  return list;
}

hid_t comp__h5_dataset_list(void) {
  hid_t list = H5Pcreate(H5P_DATASET_CREATE);
  if (list >= 0 && H5Pset_obj_track_times(list, false) < 0) comp__h5_close(&list);
  return list;
}

hid_t comp__h5_bool_type(void) {
  signed char no = 0, yes = 1;
  hid_t type = H5Tenum_create(H5T_STD_I8LE);
  if (type < 0) return type;
  if (H5Tenum_insert(type, "FALSE", &no) < 0 || H5Tenum_insert(type, "TRUE", &yes) < 0) comp__h5_close(&type);
  return type;
}

static bool has_member(hid_t type, const char *name, signed char wanted) {
  signed char value;
  int index = H5Tget_member_index(type, name);
  if (index < 0) H5Eclear2(H5E_DEFAULT);
  return index >= 0 && H5Tget_member_value(type, (unsigned)index, &value) >= 0 && value == wanted;
}

/* Any other enum must not be read as a bool: HDF5 1.10 takes members that only one of the two types has from memory
 * that nobody wrote. */
bool comp__h5_is_bool(hid_t type) {
  return H5Tget_class(type) == H5T_ENUM && H5Tget_size(type) == 1 && H5Tget_nmembers(type) == 2 &&
         has_member(type, "FALSE", 0) && has_member(type, "TRUE", 1);
}

hid_t comp__h5_text_type(void) {
  hid_t type = H5Tcopy(H5T_C_S1);
  if (type < 0) return type;
  if (H5Tset_size(type, H5T_VARIABLE) < 0 || H5Tset_cset(type, H5T_CSET_UTF8) < 0) comp__h5_close(&type);
  return type;
}
