/* copy.c: the folder of a store, copied with all that is in it, or linked to where nothing of it will be changed. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/error.h"
#include "io/zarr/update.h"

/* Folders in folders; and bytes that are copied at once. */
enum { DEEPEST = 64, BLOCK = 1 << 20 };

typedef struct copying {
  bool links;
  char *block; /* of BLOCK bytes; NULL until it is needed */
} copying;

static comp_status copy_blocks(copying *c, int from, int to, const char *name) {
  comp_status status = c->block ? COMP_OK : comp__alloc(&c->block, BLOCK, 1);
  while (status == COMP_OK) {
    ssize_t n = read(from, c->block, BLOCK);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return comp__error_errno("cannot read %s", name);
    if (n == 0) return COMP_OK;
    for (ssize_t done = 0, wrote; done < n; done += wrote) {
      wrote = write(to, c->block + done, (size_t)(n - done));
      if (wrote < 0 && errno == EINTR) wrote = 0;
      if (wrote < 0) return comp__error_errno("cannot write %s", name);
    }
  }
  return status;
}

static comp_status copy_bytes(copying *c, int from_folder, int to_folder, const char *name, mode_t mode) {
  comp_status status = COMP_OK;
  int from = openat(from_folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW), to = -1;
  if (from < 0) return comp__error_errno("cannot open %s", name);
  to = openat(to_folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (to < 0) {
    status = comp__error_errno("cannot write %s", name);
    goto done;
  }
  COMP__TRY(copy_blocks(c, from, to, name));
  if (fchmod(to, mode & 0777) != 0) status = comp__error_errno("cannot write %s", name);
done:
  close(from);
  if (to >= 0 && close(to) != 0 && status == COMP_OK) status = comp__error_errno("cannot write %s", name);
  return status;
}

static comp_status copy_link(int from_folder, int to_folder, const char *name) {
  char target[PATH_MAX];
  ssize_t n = readlinkat(from_folder, name, target, sizeof target - 1);
  if (n >= 0) target[n] = '\0';
  if (n < 0 || symlinkat(target, to_folder, name) != 0) return comp__error_errno("cannot copy the link %s", name);
  return COMP_OK;
}

static comp_status copy_folder(copying *c, int from, int to, const char *name, int depth);

static comp_status copy_entry(copying *c, int from, int to, const char *name, int depth) {
  struct stat info;
  if (fstatat(from, name, &info, AT_SYMLINK_NOFOLLOW) != 0) return comp__error_errno("cannot open %s", name);
  if (S_ISLNK(info.st_mode)) return copy_link(from, to, name);
  if (S_ISREG(info.st_mode)) {
    /* A link may be refused where a copy is not: a file of another user, or one that has too many links. */
    if (c->links && linkat(from, name, to, name, 0) == 0) return COMP_OK;
    return copy_bytes(c, from, to, name, info.st_mode);
  }
  if (!S_ISDIR(info.st_mode)) return comp__error(COMP_ERR_FORMAT, "%s is neither a file nor a folder", name);
  if (!(info.st_mode & S_IWUSR)) return comp__error(COMP_ERR_IO, "the folder %s is protected from writing", name);
  comp_status status = COMP_OK;
  int below = openat(from, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), made = -1;
  if (below < 0) return comp__error_errno("cannot open %s", name);
  if (mkdirat(to, name, 0700) != 0 || (made = openat(to, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0) {
    status = comp__error_errno("cannot write %s", name);
    goto done;
  }
  COMP__TRY(copy_folder(c, below, made, name, depth + 1));
  if (fchmod(made, info.st_mode & 07777) != 0) status = comp__error_errno("cannot write %s", name);
done:
  close(below);
  if (made >= 0) close(made);
  return status;
}

static comp_status copy_folder(copying *c, int from, int to, const char *name, int depth) {
  comp_status status = COMP_OK;
  if (depth > DEEPEST) return comp__error(COMP_ERR_FORMAT, "%s: too many folders in folders", name);
  int fd = openat(from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* closedir() closes it */
  DIR *list = fd < 0 ? NULL : fdopendir(fd);
  if (!list) {
    status = comp__error_errno("cannot read the folder %s", name);
    if (fd >= 0) close(fd);
    return status;
  }
  errno = 0;
  for (struct dirent *entry; status == COMP_OK && (entry = readdir(list)); errno = 0)
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
      status = copy_entry(c, from, to, entry->d_name, depth);
  if (status == COMP_OK && errno != 0) status = comp__error_errno("cannot read the folder %s", name);
  closedir(list);
  return status == COMP_OK || depth == 0 ? status : comp__error_context(status, "%s", name);
}

comp_status comp__zarr_copy_folder(const char *from_path, const char *to_path, bool links) {
  copying c = {links, NULL};
  comp_status status;
  int from = open(from_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), to = -1;
  if (from < 0) return comp__error_errno("cannot open %s", from_path);
  to = open(to_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  status = to < 0 ? comp__error_errno("cannot open %s", to_path) : copy_folder(&c, from, to, from_path, 0);
  close(from);
  if (to >= 0) close(to);
  comp__free(c.block);
  return status;
}
