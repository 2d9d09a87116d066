/* store_folder.c: a folder as a store. Every path is resolved below the folder. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/error.h"
#include "io/zarr/store.h"

enum { FLAGS = O_RDONLY | O_CLOEXEC | O_NONBLOCK, DEEPEST = 32, MOST_TRIES = 100000 };

/* Where the kernel cannot resolve below a folder: part by part, and no symbolic link at all. */
static int open_parts(int root, const char *key) {
  char part[256];
  int folder = dup(root);
  while (folder >= 0) {
    size_t length = strcspn(key, "/");
    if (length >= sizeof part) {
      close(folder);
      errno = ENAMETOOLONG;
      return -1;
    }
    snprintf(part, sizeof part, "%.*s", (int)length, key);
    int next = openat(folder, part, FLAGS | O_NOFOLLOW | (key[length] ? O_DIRECTORY : 0));
    int code = errno;
    close(folder);
    errno = code;
    if (next < 0 || key[length] == '\0') return next;
    folder = next;
    key += length + 1;
  }
  return folder;
}

static int open_below(int root, const char *key) {
  struct open_how how = {.flags = FLAGS, .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
  long fd = -1;
  errno = EAGAIN; /* the kernel's answer when something was renamed anywhere meanwhile: it is to be asked again */
  for (int tries = 0; fd < 0 && errno == EAGAIN && tries < MOST_TRIES; tries++)
    fd = syscall(SYS_openat2, root, key, &how, sizeof how);
  if (fd < 0 && (errno == ENOSYS || errno == EPERM || errno == EINVAL)) return open_parts(root, key);
  return (int)fd;
}

/* Opens what the key names; *fd = -1: there is nothing. */
static comp_status open_key(int *fd, struct stat *info, const comp__zarr_store *store, const char *key) {
  *fd = open_below(store->fd, key);
  if (*fd < 0 && (errno == ENOENT || errno == ENOTDIR)) return COMP_OK;
  if (*fd < 0 && (errno == EXDEV || errno == ELOOP))
    return comp__error(COMP_ERR_FORMAT, "%s is a symbolic link that leads out of the store: it is not followed", key);
  if (*fd < 0) return comp__error_errno("cannot open %s", key);
  if (fstat(*fd, info) == 0) return COMP_OK;
  comp_status status = comp__error_errno("cannot open %s", key);
  close(*fd);
  *fd = -1;
  return status;
}

static comp_status open_value(int *fd, uint64_t *size, const comp__zarr_store *store, const char *key) {
  struct stat info;
  comp_status status = open_key(fd, &info, store, key);
  if (status != COMP_OK || *fd < 0) return status;
  *size = (uint64_t)info.st_size;
  if (S_ISREG(info.st_mode)) return COMP_OK;
  close(*fd);
  *fd = -1;
  return S_ISDIR(info.st_mode) ? COMP_OK : comp__error(COMP_ERR_FORMAT, "%s is not a regular file", key);
}

static comp_status folder_size(bool *found, uint64_t *size, const comp__zarr_store *store, const char *key) {
  int fd;
  comp_status status = open_value(&fd, size, store, key);
  *found = fd >= 0;
  if (fd >= 0) close(fd);
  return status;
}

static comp_status read_at(int fd, unsigned char *to, size_t size, uint64_t offset, const char *key) {
  while (size > 0) {
    ssize_t n = pread(fd, to, size, (off_t)offset);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return comp__error_errno("cannot read %s", key);
    if (n == 0) return comp__error(COMP_ERR_IO, "%s became shorter while it was read", key);
    to += n;
    offset += (uint64_t)n;
    size -= (size_t)n;
  }
  return COMP_OK;
}

static comp_status folder_get(bool *found, comp__zarr_buffer *out, const comp__zarr_store *store, const char *key,
                              uint64_t offset, size_t size, size_t most) {
  uint64_t stored = 0;
  int fd;
  comp_status status = open_value(&fd, &stored, store, key);
  *found = fd >= 0;
  if (status != COMP_OK || fd < 0) return status;
  if (size == SIZE_MAX) size = (size_t)stored;
  if (offset > stored || size > stored - offset)
    COMP__FAIL(COMP_ERR_FORMAT, "%s has %llu bytes, fewer than are needed: the store is damaged", key,
               (unsigned long long)stored);
  if (size > most) COMP__FAIL(COMP_ERR_FORMAT, "%s has %zu bytes, more than it can need (%zu)", key, size, most);
  COMP__TRY(comp__zarr_buffer_reserve(out, size));
  COMP__TRY(read_at(fd, out->data, size, offset, key));
done:
  close(fd);
  return status;
}

/* A symbolic link to a folder that it is in would lead round in circles. */
static comp_status check_no_circle(const comp__zarr_store *store, const char *key, const struct stat *folder) {
  char above[4096];
  struct stat info;
  if (fstat(store->fd, &info) != 0) return comp__error_errno("cannot open the folder");
  for (size_t end = 0;; end++) {
    if (info.st_ino == folder->st_ino && info.st_dev == folder->st_dev)
      return comp__error(COMP_ERR_FORMAT, "%s is a symbolic link to a folder that it is in: it is not followed", key);
    end += strcspn(key + end, "/");
    if (key[end] == '\0' || end >= sizeof above) return COMP_OK;
    memcpy(above, key, end);
    above[end] = '\0';
    int fd;
    comp_status status = open_key(&fd, &info, store, above);
    if (status != COMP_OK || fd < 0) return status;
    close(fd);
  }
}

/* A folder below the store; NULL: there is none. */
static comp_status open_list(DIR **out, const comp__zarr_store *store, const char *key) {
  struct stat info;
  int fd;
  *out = NULL;
  if (key[0] == '\0') {
    fd = openat(store->fd, ".", FLAGS | O_DIRECTORY);
    if (fd < 0) return comp__error_errno("cannot open the folder");
  } else {
    comp_status status = open_key(&fd, &info, store, key);
    if (status != COMP_OK || fd < 0) return status;
    if (S_ISDIR(info.st_mode)) status = check_no_circle(store, key, &info);
    if (!S_ISDIR(info.st_mode) || status != COMP_OK) {
      close(fd);
      return status;
    }
  }
  *out = fdopendir(fd);
  if (*out) return COMP_OK;
  comp_status status = comp__error_errno("cannot read the folder %s", key);
  close(fd);
  return status;
}

static int compare_names(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static comp_status sort(comp__strings *out, const comp__strings *names) {
  const char **list = NULL;
  comp_status status;
  COMP__TRY(comp__alloc(&list, names->count, sizeof *list));
  comp__strings_list(list, names);
  qsort(list, names->count, sizeof *list, compare_names);
  for (size_t i = 0; i < names->count; i++) COMP__TRY(comp__strings_append(out, list[i], strlen(list[i])));
done:
  comp__free(list);
  return status;
}

static comp_status folder_list(comp__strings *out, const comp__zarr_store *store, const char *key) {
  comp__strings names = {0};
  DIR *list;
  comp_status status = open_list(&list, store, key);
  if (status != COMP_OK || !list) return status;
  errno = 0;
  for (struct dirent *entry; (entry = readdir(list)); errno = 0)
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
      COMP__TRY(comp__strings_append(&names, entry->d_name, strlen(entry->d_name)));
  if (errno != 0) {
    status = comp__error_errno("cannot read the folder %s", key);
    goto done;
  }
  status = sort(out, &names);
done:
  closedir(list);
  comp__strings_release(&names);
  return status;
}

/* A call a level; the chunks of an array are at most as deep as it has dimensions. */
static comp_status count_below(size_t *out, const comp__zarr_store *store, const char *key, size_t enough, int depth) {
  char below[4096];
  DIR *list;
  comp_status status = open_list(&list, store, key);
  if (status != COMP_OK || !list) return status;
  for (struct dirent *entry; *out < enough && status == COMP_OK && (entry = readdir(list));) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    if (entry->d_type != DT_DIR)
      *out += !comp__zarr_key_is_metadata(entry->d_name);
    else if (depth < DEEPEST &&
             snprintf(below, sizeof below, "%s%s%s", key, key[0] ? "/" : "", entry->d_name) < (int)sizeof below)
      status = count_below(out, store, below, enough, depth + 1);
  }
  closedir(list);
  return status;
}

static comp_status folder_count(size_t *out, const comp__zarr_store *store, const char *key, size_t enough) {
  return count_below(out, store, key, enough, 0);
}

static void folder_close(comp__zarr_store *store) {
  (void)store;
}

comp_status comp__zarr_folder_open(comp__zarr_store *store, int fd) {
  static const comp__zarr_store_ops ops = {folder_get, folder_size, folder_list, folder_count, folder_close};
  store->ops = &ops;
  store->fd = fd;
  return COMP_OK;
}
