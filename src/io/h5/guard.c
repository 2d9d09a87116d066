/*
 * guard.c: the file driver through which HDF5 reads and writes here.
 *
 * Reading: HDF5 gets as structure only what was looked through before (vet.h). What variable-length text is kept in
 * (global heap collections) is found through data, and so is checked here: HDF5 1.10 believes the sizes inside, and a
 * damaged collection makes it run in circles or beyond its buffers.
 *
 * Writing: HDF5 1.10 cannot close a file that it could not write to, and crashes when the process ends. So after the
 * first failure (a full disk) writing goes on as if it worked, to nowhere, and the failure is kept for
 * comp__h5_written() and comp__h5_finish_file() to report. The file is then removed by whoever made it.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.h"
#include "io/h5/h5.h"
#include "io/h5/heap.h"
#include "io/h5/vet.h"

typedef struct guarded {
  H5FD_t base; /* HDF5's part: must be first */
  comp__h5_handle handle;
  int *failed_at_last; /* where the failure is noted when the file is closed; NULL: nowhere */
  haddr_t eoa;         /* how far HDF5 thinks that the file is in use */
  haddr_t eof;
  dev_t device;
  ino_t inode;
} guarded;

/* What an access list carries to the driver. */
typedef struct guard_info {
  int *failed;
  comp__vet *vet;
} guard_info;

static int open_flags(unsigned flags) {
  int out = O_CLOEXEC | (flags & H5F_ACC_RDWR ? O_RDWR : O_RDONLY);
  if (flags & H5F_ACC_CREAT) out |= O_CREAT;
  if (flags & H5F_ACC_TRUNC) out |= O_TRUNC;
  if (flags & H5F_ACC_EXCL) out |= O_EXCL;
  return out;
}

static bool is_same(const struct stat *a, const comp__vet *vet) {
  struct stat b;
  return fstat(vet->fd, &b) == 0 && a->st_dev == b.st_dev && a->st_ino == b.st_ino;
}

/* Whether an open file is the one that was vetted. */
static bool is_vetted(const comp__vet *vet, int fd) {
  struct stat a;
  return fd >= 0 && fstat(fd, &a) == 0 && is_same(&a, vet);
}

/* A link to another file would open that one with the same list. It is not even opened: that may have effects, and
 * waits for ever where it is a pipe. */
static bool is_link(const char *name, const guard_info *with) {
  struct stat a;
  return !with || !with->vet || (stat(name, &a) == 0 && !is_same(&a, with->vet));
}

static H5FD_t *guard_open(const char *name, unsigned flags, hid_t list, haddr_t most) {
  (void)most;
  struct stat info;
  guarded *file = NULL;
  const guard_info *with = H5Pget_driver_info(list);
  if (!(flags & H5F_ACC_CREAT) && is_link(name, with)) return NULL;
  int fd = open(name, open_flags(flags), 0666);
  bool known = flags & H5F_ACC_CREAT || is_vetted(with->vet, fd);
  if (fd >= 0 && known && fstat(fd, &info) == 0) file = calloc(1, sizeof *file);
  if (!file) {
    if (fd >= 0) close(fd);
    return NULL;
  }
  file->handle = (comp__h5_handle){fd, 0, 0, with && !(flags & H5F_ACC_RDWR) ? with->vet : NULL};
  file->failed_at_last = with ? with->failed : NULL;
  file->eof = (haddr_t)info.st_size;
  file->device = info.st_dev;
  file->inode = info.st_ino;
  return &file->base;
}

static herr_t guard_close(H5FD_t *base) {
  guarded *file = (guarded *)base;
  if (close(file->handle.fd) != 0 && file->handle.failed == 0) file->handle.failed = errno;
  if (file->failed_at_last) *file->failed_at_last = file->handle.failed;
  free(file);
  return 0;
}

/* Whether two are the same file. */
static int guard_cmp(const H5FD_t *a, const H5FD_t *b) {
  const guarded *x = (const guarded *)a, *y = (const guarded *)b;
  if (x->device != y->device) return x->device < y->device ? -1 : 1;
  if (x->inode != y->inode) return x->inode < y->inode ? -1 : 1;
  return 0;
}

/* No gathering of small reads into large ones: every piece of HDF5's own data has to come by itself. */
static herr_t guard_query(const H5FD_t *base, unsigned long *flags) {
  (void)base;
  *flags = H5FD_FEAT_DATA_SIEVE | H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_AGGREGATE_SMALLDATA |
           H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
  return 0;
}

static haddr_t guard_get_eoa(const H5FD_t *base, H5FD_mem_t type) {
  (void)type;
  return ((const guarded *)base)->eoa;
}

static herr_t guard_set_eoa(H5FD_t *base, H5FD_mem_t type, haddr_t eoa) {
  (void)type;
  ((guarded *)base)->eoa = eoa;
  return 0;
}

static haddr_t guard_get_eof(const H5FD_t *base, H5FD_mem_t type) {
  (void)type;
  return ((const guarded *)base)->eof;
}

static herr_t guard_get_handle(H5FD_t *base, hid_t list, void **handle) {
  (void)list;
  *handle = &((guarded *)base)->handle;
  return 0;
}

/* Beyond the end of the file there are zeros, as HDF5's own driver has it. HDF5 1.10 crashes when reading fails while
 * it copies. All structure has been read before (vet.h), so a failure here is one of the moment: it is tried again. */
static bool read_bytes(guarded *file, haddr_t at, size_t size, unsigned char *out) {
  enum { ATTEMPTS = 3 };
  int failures = 0;
  while (size > 0) {
    ssize_t n = pread(file->handle.fd, out, size, (off_t)at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && ++failures < ATTEMPTS) continue;
    if (n < 0) {
      if (file->handle.doubt == 0) file->handle.doubt = errno;
      return false;
    }
    if (n == 0) {
      memset(out, 0, size);
      return true;
    }
    out += n;
    at += (haddr_t)n;
    size -= (size_t)n;
  }
  return true;
}

/* HDF5 gets the bytes that were looked through, and of the file only what was not. False: none could be read. What
 * could not be read is 0 then, also where HDF5 reads on beyond the end of a piece; nothing is made of it, since
 * comp__h5_certain() is asked before. */
static bool read_known(guarded *file, haddr_t at, size_t size, void *buffer) {
  comp__h5_pages *pages = file->handle.vet ? file->handle.vet->pages : NULL;
  size_t known = pages ? comp__h5_pages_kept(pages, buffer, at, size) : 0;
  if (known == size || read_bytes(file, at + known, size - known, (unsigned char *)buffer + known)) return true;
  memset((unsigned char *)buffer + known, 0, size - known);
  if (known > 0) comp__h5_pages_kept(pages, buffer, at, size);
  return known > 0;
}

/* A collection whose beginning HDF5 has asked for. */
static bool collection_is_sound(guarded *file, haddr_t at, const unsigned char *head, size_t head_size) {
  if (head_size < COMP__H5_COLLECTION_HEADER) return true; /* HDF5 cannot take that for one */
  uint64_t size = comp__h5_collection_size(head);
  if (size < COMP__H5_COLLECTION_HEADER || at > file->eof || size > file->eof - at) return false;
  if (size <= head_size) return comp__h5_collection_is_sound(head, (size_t)size);
  unsigned char *whole = malloc((size_t)size);
  bool sound = whole && read_known(file, at, (size_t)size, whole) && comp__h5_collection_is_sound(whole, (size_t)size);
  free(whole);
  return sound;
}

static herr_t guard_read(H5FD_t *base, H5FD_mem_t type, hid_t list, haddr_t at, size_t size, void *buffer) {
  (void)list;
  guarded *file = (guarded *)base;
  if (at == HADDR_UNDEF || at > file->eoa || size > file->eoa - at) return -1;
  bool structure = type != H5FD_MEM_DRAW && type != H5FD_MEM_SUPER;
  comp__vet *vet = structure ? file->handle.vet : NULL;
  if (!read_known(file, at, size, buffer) && structure) return -1;
  if (vet && !comp__vet_knows(vet, at) && !comp__vet_late(vet, at, buffer, size, type == H5FD_MEM_OHDR)) {
    if (file->handle.doubt == 0 && vet->broken == COMP_ERR_MEMORY) file->handle.doubt = ENOMEM;
    if (file->handle.doubt == 0 && vet->broken == COMP_ERR_IO) file->handle.doubt = EIO;
    return -1;
  }
  /* HDF5 reads collections as raw data, so the type tells nothing; no text has a byte of 1 in it. */
  if (size >= 5 && memcmp(buffer, "GCOL\1", 5) == 0 && !collection_is_sound(file, at, buffer, size)) return -1;
  return 0;
}

static herr_t guard_write(H5FD_t *base, H5FD_mem_t type, hid_t list, haddr_t at, size_t size, const void *buffer) {
  (void)type, (void)list;
  guarded *file = (guarded *)base;
  const char *from = buffer;
  if (at == HADDR_UNDEF || at > file->eoa || size > file->eoa - at) return -1;
  while (size > 0 && file->handle.failed == 0) {
    ssize_t n = pwrite(file->handle.fd, from, size, (off_t)at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) file->handle.failed = errno;
    if (n <= 0) break;
    from += n;
    at += (haddr_t)n;
    size -= (size_t)n;
  }
  if (at + size > file->eof) file->eof = at + size;
  return 0;
}

/* The file ends where what is in use ends. */
static herr_t guard_truncate(H5FD_t *base, hid_t list, hbool_t closing) {
  (void)list, (void)closing;
  guarded *file = (guarded *)base;
  if (file->eoa == file->eof) return 0;
  if (file->handle.failed == 0 && ftruncate(file->handle.fd, (off_t)file->eoa) != 0) file->handle.failed = errno;
  file->eof = file->eoa;
  return 0;
}

static const H5FD_class_t guard = {
#ifdef H5FD_CLASS_VERSION /* HDF5 1.14 */
    .version = H5FD_CLASS_VERSION,
    .value = (H5FD_class_value_t)517, /* 512 and up are for private use */
#endif
    .name = "comp",
    .maxaddr = INT64_MAX,
    .fc_degree = H5F_CLOSE_STRONG,
    .fapl_size = sizeof(guard_info),
    .open = guard_open,
    .close = guard_close,
    .cmp = guard_cmp,
    .query = guard_query,
    .get_eoa = guard_get_eoa,
    .set_eoa = guard_set_eoa,
    .get_eof = guard_get_eof,
    .get_handle = guard_get_handle,
    .read = guard_read,
    .write = guard_write,
    .truncate = guard_truncate,
    .fl_map = H5FD_FLMAP_DICHOTOMY,
};

/* Registered once and for good: HDF5 gives up its own hold on a driver before it calls its close, so that of a driver
 * which nobody else holds it would read freed memory. */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static hid_t driver = -1;

static void register_driver(void) {
  driver = H5FDregister(&guard);
}

bool comp__h5_guard(hid_t list, int *failed, comp__vet *vet) {
  guard_info info = {failed, vet};
  pthread_once(&once, register_driver);
  return driver >= 0 && H5Pset_driver(list, driver, &info) >= 0;
}

/* The handle of the open file of an object; NULL: there is none. */
static comp__h5_handle *handle_of(hid_t object) {
  comp__h5_handle *handle = NULL;
  hid_t file = H5Iget_file_id(object);
  if (file >= 0 && H5Fget_vfd_handle(file, H5P_DEFAULT, (void **)&handle) < 0) handle = NULL;
  if (file >= 0) H5Fclose(file);
  return handle;
}

comp_status comp__h5_written(hid_t object) {
  const comp__h5_handle *handle = handle_of(object);
  if (!handle || handle->failed == 0) return COMP_OK;
  errno = handle->failed;
  return comp__error_errno("cannot write");
}

void comp__h5_doubt(hid_t object, int code) {
  comp__h5_handle *handle = handle_of(object);
  if (handle && handle->doubt == 0) handle->doubt = code ? code : EIO;
}

comp_status comp__h5_certain(hid_t object) {
  const comp__h5_handle *handle = handle_of(object);
  if (handle && handle->doubt == 0) return COMP_OK;
  errno = handle ? handle->doubt : ENOMEM;
  return comp__error_errno("cannot read");
}

/* The address of an object's header. */
static bool header_of(uint64_t *out, hid_t object) {
#if H5_VERSION_GE(1, 12, 0)
  H5O_info1_t info;
  bool good = H5Oget_info1(object, &info) >= 0;
#else
  H5O_info_t info;
  bool good = H5Oget_info(object, &info) >= 0;
#endif
  *out = good ? info.addr : 0;
  return good;
}

comp_status comp__h5_check_data(hid_t dataset) {
  const comp__h5_handle *handle = handle_of(dataset);
  uint64_t header;
  if (!handle) return comp__error(COMP_ERR_MEMORY, "out of memory");
  if (!handle->vet) return COMP_OK; /* a file of our own, or a copy of one that was looked through */
  if (!header_of(&header, dataset)) return comp__h5_error(COMP_ERR_FORMAT, "a dataset cannot be found");
  return comp__vet_data(handle->vet, header);
}

/* Whether HDF5 1.10 can copy attributes that are kept in a heap of their own: without a look at where they are, it
 * follows texts and references in them. 1: yes, 0: no, -1: they cannot be read. */
static int attributes_are_plain(hid_t root, const char *name, hsize_t count) {
  int plain = 1;
  for (hsize_t i = 0; i < count && plain == 1; i++) {
    hid_t attribute = H5Aopen_by_idx(root, name, H5_INDEX_NAME, H5_ITER_NATIVE, i, H5P_DEFAULT, H5P_DEFAULT);
    hid_t type = attribute >= 0 ? H5Aget_type(attribute) : -1;
    H5T_class_t class = type >= 0 ? H5Tget_class(type) : H5T_NO_CLASS;
    bool number = class == H5T_INTEGER || class == H5T_FLOAT || class == H5T_ENUM;
    if (type < 0) plain = -1;
    if (type >= 0 && !number && (class != H5T_STRING || H5Tis_variable_str(type) != 0)) plain = 0;
    comp__h5_close(&type);
    comp__h5_close(&attribute);
  }
  return plain;
}

/* Reads through the index of a dataset's chunks: a checksum that does not fit is found here, and not when it is copied.
 */
static bool can_find_chunks(hid_t root, const char *name) {
  hsize_t count;
  hid_t dataset = H5Dopen2(root, name, H5P_DEFAULT), list = dataset >= 0 ? H5Dget_create_plist(dataset) : -1;
  hid_t space = list >= 0 ? H5Dget_space(dataset) : -1;
  bool good = space >= 0 && (H5Pget_layout(list) != H5D_CHUNKED || H5Dget_num_chunks(dataset, space, &count) >= 0);
  comp__h5_close(&space);
  comp__h5_close(&list);
  comp__h5_close(&dataset);
  return good;
}

/* 1: the object cannot be copied, -1: it is damaged. Attributes of the root are not copied. */
static herr_t check_object(hid_t root, const char *name, const H5O_info_t *info, void *user) {
  (void)user;
  int plain = 1;
  if (info->meta_size.attr.heap_size > 0 && strcmp(name, ".") != 0)
    plain = attributes_are_plain(root, name, info->num_attrs);
  if (plain != 1) return plain == 0 ? 1 : -1;
  return info->type != H5O_TYPE_DATASET || can_find_chunks(root, name) ? 0 : -1;
}

comp_status comp__h5_check_copy(hid_t object) {
  const comp__h5_handle *handle = handle_of(object);
  if (!handle) return comp__error(COMP_ERR_MEMORY, "out of memory");
  comp_status status = handle->vet ? comp__vet_references(handle->vet) : COMP_OK;
  if (status != COMP_OK || !handle->vet || !handle->vet->sealed) return status;
  herr_t result = comp__h5_visit(object, check_object, NULL);
  if (result == 0) return COMP_OK;
  if (result > 0) return comp__vet_unusual("more than 8 attributes of one object, with text, in HDF5's newest layout");
  return comp__h5_error(COMP_ERR_FORMAT,
                        "the file is damaged: not all of its data or attributes can be found; copy it again, "
                        "or make it again");
}
