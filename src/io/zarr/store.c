/* store.c: what folders and zip files have in common as stores. */
#include "io/zarr/store.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/error.h"

comp_status comp__zarr_buffer_reserve(comp__zarr_buffer *buffer, size_t size) {
  comp_status status = comp__grow(&buffer->data, &buffer->capacity, 0, size > 0 ? size : 1, 1);
  if (status == COMP_OK) buffer->size = size;
  return status;
}

void comp__zarr_buffer_release(comp__zarr_buffer *buffer) {
  comp__free(buffer->data);
  *buffer = (comp__zarr_buffer){0};
}

bool comp__zarr_key_is_good(const char *key) {
  if (key[0] == '\0' || strlen(key) > 4000) return false;
  for (const char *part = key;; part++) {
    size_t length = strcspn(part, "/");
    if (length == 0 || (length == 1 && part[0] == '.') || (length == 2 && part[0] == '.' && part[1] == '.'))
      return false;
    part += length;
    if (*part == '\0') return true;
  }
}

bool comp__zarr_key_is_metadata(const char *key) {
  static const char *const names[] = {".zarray", ".zattrs", ".zgroup", ".zmetadata", "zarr.json"};
  const char *slash = strrchr(key, '/');
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(slash ? slash + 1 : key, names[i]) == 0) return true;
  return false;
}

static comp_status check_key(const char *key) {
  if (comp__zarr_key_is_good(key)) return COMP_OK;
  char shown[200];
  return comp__error(COMP_ERR_FORMAT, "'%s' is not a name that a part of a zarr store may have",
                     comp__utf8_show(shown, sizeof shown, key));
}

comp_status comp__zarr_store_open(comp__zarr_store **out, const char *path) {
  comp__zarr_store *store = NULL;
  struct stat info;
  *out = NULL;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return comp__error_errno("cannot open");
  comp_status status;
  if (fstat(fd, &info) != 0) {
    status = comp__error_errno("cannot open");
    goto done;
  }
  COMP__TRY(comp__calloc(&store, 1, sizeof *store));
  store->fd = fd;
  fd = -1;
  COMP__TRY(comp__strdup(&store->path, path));
  COMP__TRY(S_ISDIR(info.st_mode) ? comp__zarr_folder_open(store, store->fd) : comp__zarr_zip_open(store, store->fd));
  *out = store;
done:
  if (fd >= 0) close(fd);
  if (status != COMP_OK) comp__zarr_store_close(store);
  return status;
}

void comp__zarr_store_close(comp__zarr_store *store) {
  if (!store) return;
  if (store->ops) store->ops->close(store);
  close(store->fd);
  comp__free(store->path);
  comp__free(store);
}

comp_status comp__zarr_store_size(bool *found, uint64_t *size, const comp__zarr_store *store, const char *key) {
  *found = false;
  *size = 0;
  comp_status status = check_key(key);
  return status == COMP_OK ? store->ops->size(found, size, store, key) : status;
}

comp_status comp__zarr_store_get(bool *found, comp__zarr_buffer *out, const comp__zarr_store *store, const char *key,
                                 size_t most) {
  *found = false;
  comp_status status = check_key(key);
  return status == COMP_OK ? store->ops->get(found, out, store, key, 0, SIZE_MAX, most) : status;
}

comp_status comp__zarr_store_get_part(bool *found, comp__zarr_buffer *out, const comp__zarr_store *store,
                                      const char *key, uint64_t offset, size_t size) {
  *found = false;
  comp_status status = check_key(key);
  return status == COMP_OK ? store->ops->get(found, out, store, key, offset, size, size) : status;
}

comp_status comp__zarr_store_list(comp__strings *out, const comp__zarr_store *store, const char *key) {
  comp_status status = key[0] ? check_key(key) : COMP_OK;
  return status == COMP_OK ? store->ops->list(out, store, key) : status;
}

comp_status comp__zarr_store_count(size_t *out, const comp__zarr_store *store, const char *key, size_t enough) {
  *out = 0;
  comp_status status = key[0] ? check_key(key) : COMP_OK;
  return status == COMP_OK ? store->ops->count(out, store, key, enough) : status;
}
