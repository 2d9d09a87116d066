/* file.c: complete files or none. */
#include "core/file.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"

/* The folder part of a path; "." when it has none. */
static comp_status folder_of(char **out, const char *path) {
  const char *slash = strrchr(path, '/');
  if (!slash) return comp__strdup(out, ".");
  comp_status status = comp__strdup(out, path);
  if (status == COMP_OK) (*out)[slash == path ? 1 : slash - path] = '\0';
  return status;
}

/* An existing path without its symbolic links, so that a link survives being written through; a new one as it is. */
static comp_status resolve(char **out, const char *path) {
  char *real = realpath(path, NULL);
  if (!real && errno != ENOENT) return comp__error_errno("cannot write '%s'", path);
  comp_status status = comp__strdup(out, real ? real : path);
  free(real);
  return status;
}

/* A pipe or a device: written directly, as there is nothing to replace. */
static bool is_special(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

static comp_status refuse(const char *path, int code) {
  errno = code;
  return comp__error_errno("cannot write '%s'", path);
}

comp_status comp_file_check_writable(const char *path) {
  COMP__NEED(path);
  size_t length = strlen(path);
  struct stat info;
  if (length == 0) return comp__error(COMP_ERR_ARGUMENT, "the name of an output file is empty");
  bool exists = stat(path, &info) == 0;
  if (!exists && errno != ENOENT) return refuse(path, errno);
  if (!exists && lstat(path, &info) == 0)
    return comp__error(COMP_ERR_IO, "cannot write '%s': it is a symbolic link to a file that does not exist", path);
  if (path[length - 1] == '/' || (exists && S_ISDIR(info.st_mode))) return refuse(path, EISDIR);
  /* Renaming needs no right to the file itself; a write-protected file is still protected. */
  if (exists && access(path, W_OK) != 0) return refuse(path, errno);
  if (is_special(path)) return COMP_OK;
  char *folder = NULL;
  comp_status status = folder_of(&folder, path);
  if (status == COMP_OK && access(folder, W_OK | X_OK) != 0) status = refuse(path, errno);
  comp__free(folder);
  return status;
}

/* ---- Temporary files ---- */

/* "NAME.tmp-comp-" and six characters of mkstemp(). While a process writes such a file it holds a lock on it, which
 * ends with the process, however it ends. */
static const char MARK[] = ".tmp-comp-";
enum { RANDOM = 6 };

/* Whether a name is one of ours: of the output file `base`, or of any when that is NULL. */
static bool is_temporary(const char *name, const char *base) {
  size_t length = strlen(name), tail = sizeof MARK - 1 + RANDOM;
  if (length <= tail || strncmp(name + length - tail, MARK, sizeof MARK - 1) != 0) return false;
  for (const char *c = name + length - RANDOM; *c; c++)
    if (!isalnum((unsigned char)*c)) return false;
  return !base || (strlen(base) == length - tail && strncmp(name, base, length - tail) == 0);
}

/* Removes a temporary file, unless a process holds its lock or that cannot be found out. */
static void remove_ended(int folder, const char *name) {
  struct stat info;
  int flags = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, fd = openat(folder, name, O_RDWR | flags);
  if (fd < 0) fd = openat(folder, name, O_RDONLY | flags); /* it had got the permissions of a protected file */
  if (fd < 0) return;
  if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && flock(fd, LOCK_EX | LOCK_NB) == 0) unlinkat(folder, name, 0);
  close(fd);
}

void comp__remove_folder(int parent, const char *name) {
  int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  DIR *list = fd < 0 ? NULL : fdopendir(fd);
  if (!list && fd >= 0) close(fd);
  if (!list) return;
  for (struct dirent *entry; (entry = readdir(list));) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    if (unlinkat(dirfd(list), entry->d_name, 0) != 0) comp__remove_folder(dirfd(list), entry->d_name);
  }
  closedir(list);
  unlinkat(parent, name, AT_REMOVEDIR);
}

/* The same as remove_ended() for a temporary folder. */
static void remove_ended_folder(int folder, const char *name) {
  int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return;
  if (flock(fd, LOCK_EX | LOCK_NB) == 0) comp__remove_folder(folder, name);
  close(fd);
}

static void sweep(const char *folder, const char *base) {
  DIR *list = opendir(folder);
  if (!list) return;
  for (struct dirent *entry; (entry = readdir(list));) {
    if (!is_temporary(entry->d_name, base)) continue;
    remove_ended(dirfd(list), entry->d_name);
    remove_ended_folder(dirfd(list), entry->d_name);
  }
  closedir(list);
}

void comp__output_sweep(const char *folder) {
  sweep(folder, NULL);
}

void comp__output_sweep_of(const char *path) {
  const char *slash = strrchr(path, '/');
  char *folder = NULL;
  if (folder_of(&folder, path) == COMP_OK) sweep(folder, slash ? slash + 1 : path);
  comp__free(folder);
}

/* A new file under our lock; -1: none. Between its creation and its lock somebody may sweep it away: then another. */
static int create_locked(char *path) {
  struct stat info;
  for (int attempt = 0; attempt < 100; attempt++) {
    memset(path + strlen(path) - RANDOM, 'X', RANDOM);
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0) return -1;
    bool locked = flock(fd, LOCK_EX | LOCK_NB) == 0;
    /* A file system without locks: nobody can lock it to remove it either. */
    if (!locked && errno != EWOULDBLOCK) return fd;
    if (locked && fstat(fd, &info) == 0 && info.st_nlink > 0) return fd;
    if (locked) unlink(path); /* ours still, when only the look at it failed */
    close(fd);
    errno = EAGAIN;
  }
  return -1;
}

/* A temporary file or folder beside `path`, made by create() under our lock. */
static comp_status make_temporary(char **out, int *lock, const char *path, int (*create)(char *)) {
  size_t size = strlen(path) + sizeof MARK + RANDOM;
  comp_status status = comp__alloc(out, size, 1);
  if (status != COMP_OK) return status;
  snprintf(*out, size, "%s%sXXXXXX", path, MARK);
  *lock = create(*out);
  if (*lock >= 0) return COMP_OK;
  status = comp__error_errno("cannot write '%s'", path);
  comp__free(*out);
  *out = NULL;
  return status;
}

comp_status comp__output_begin(comp__output *output, const char *path) {
  *output = (comp__output){NULL, NULL, -1};
  comp_status status;
  COMP__TRY(comp_file_check_writable(path));
  if (is_special(path)) COMP__FAIL(COMP_ERR_IO, "cannot write '%s': it is not a regular file", path);
  COMP__TRY(resolve(&output->path, path));
  comp__output_sweep_of(output->path);
  COMP__TRY(make_temporary(&output->temporary, &output->lock, output->path, create_locked));
done:
  if (status != COMP_OK) comp__output_abort(output);
  return status;
}

/* The permissions of the file that is replaced, or what a new file gets here. */
static comp_status final_mode(mode_t *out, const char *path) {
  struct stat info;
  bool exists = stat(path, &info) == 0;
  if (!exists && errno != ENOENT) return comp__error_errno("cannot write '%s'", path);
  mode_t mask = umask(0);
  umask(mask);
  *out = exists ? info.st_mode & 07777 : 0666 & ~mask;
  return COMP_OK;
}

static comp_status sync_path(const char *path) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return comp__error_errno("cannot open '%s'", path);
  int failed = fsync(fd);
  int code = errno;
  close(fd);
  errno = code;
  if (failed && code != EINVAL) return comp__error_errno("cannot write '%s'", path);
  return COMP_OK;
}

/* After a rename. The file is complete either way: a folder that cannot be synced is no failure. */
static void sync_folder(const char *path) {
  int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  (void)fsync(fd);
  close(fd);
}

/* All that can fail comes before the rename: after it the new file is there, and no error would be true. */
comp_status comp__output_commit(comp__output *output) {
  char *folder = NULL;
  mode_t mode = 0;
  comp_status status;
  COMP__TRY(folder_of(&folder, output->path));
  COMP__TRY(sync_path(output->temporary));
  COMP__TRY(final_mode(&mode, output->path));
  if (chmod(output->temporary, mode) != 0 || rename(output->temporary, output->path) != 0) {
    status = comp__error_errno("cannot write '%s'", output->path);
    goto done;
  }
  comp__free(output->temporary);
  output->temporary = NULL;
  sync_folder(folder);
done:
  comp__free(folder);
  comp__output_abort(output);
  return status;
}

void comp__output_abort(comp__output *output) {
  if (output->temporary) unlink(output->temporary);
  if (output->path && output->lock >= 0) close(output->lock);
  comp__free(output->temporary);
  comp__free(output->path);
  *output = (comp__output){NULL, NULL, -1};
}

/* ---- Folders ---- */

/* A new folder under our lock; -1: none. As create_locked(). */
static int create_locked_folder(char *path) {
  struct stat info, there;
  for (int attempt = 0; attempt < 100; attempt++) {
    memset(path + strlen(path) - RANDOM, 'X', RANDOM);
    if (!mkdtemp(path)) return -1;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) continue;
    bool locked = flock(fd, LOCK_EX | LOCK_NB) == 0;
    if (!locked && errno != EWOULDBLOCK) return fd;
    if (locked && fstat(fd, &info) == 0 && stat(path, &there) == 0 && info.st_ino == there.st_ino) return fd;
    close(fd);
    errno = EAGAIN;
  }
  return -1;
}

static comp_status check_free(const char *path) {
  struct stat info;
  if (lstat(path, &info) != 0 && errno == ENOENT) return COMP_OK;
  return comp__error(COMP_ERR_IO, "cannot write '%s': it exists already; remove it first, or choose another name",
                     path);
}

static comp_status make_temporary_folder(comp__folder_output *output) {
  comp__output_sweep_of(output->path);
  return make_temporary(&output->temporary, &output->lock, output->path, create_locked_folder);
}

/* A copy of a path without slashes at its end. */
static comp_status trim(char **out, const char *path) {
  comp_status status = comp__strdup(out, path);
  if (status != COMP_OK) return status;
  for (size_t length = strlen(path); length > 1 && path[length - 1] == '/'; length--) (*out)[length - 1] = '\0';
  return COMP_OK;
}

/* The name of a new folder that can be made. */
static comp_status check_new(char **name, const char *path) {
  comp_status status = trim(name, path);
  if (status == COMP_OK) status = check_free(*name);
  return status == COMP_OK ? comp_file_check_writable(*name) : status;
}

comp_status comp__folder_check_new(const char *path) {
  char *name = NULL;
  comp_status status = check_new(&name, path);
  comp__free(name);
  return status;
}

bool comp__file_is_inside(const char *path, const char *folder) {
  char *name = NULL, *parent = NULL;
  bool inside = false;
  if (trim(&name, path) == COMP_OK && folder_of(&parent, name) == COMP_OK) {
    char *below = realpath(parent, NULL), *above = realpath(folder, NULL);
    size_t length = above ? strlen(above) : 0;
    inside = below && above && strncmp(below, above, length) == 0 && (below[length] == '/' || below[length] == '\0');
    free(below);
    free(above);
  }
  comp__free(name);
  comp__free(parent);
  return inside;
}

comp_status comp__folder_output_begin(comp__folder_output *output, const char *path) {
  *output = (comp__folder_output){NULL, NULL, -1};
  comp_status status;
  COMP__TRY(check_new(&output->path, path));
  COMP__TRY(make_temporary_folder(output));
done:
  if (status != COMP_OK) comp__folder_output_abort(output);
  return status;
}

comp_status comp__folder_check_replaceable(const char *path) {
  char *real = realpath(path, NULL), *folder = NULL;
  struct stat info;
  comp_status status = COMP_OK;
  if (!real || stat(real, &info) != 0) {
    status = comp__error_errno("cannot write '%s'", path);
    goto done;
  }
  if (!S_ISDIR(info.st_mode)) {
    status = refuse(path, ENOTDIR);
    goto done;
  }
  COMP__TRY(folder_of(&folder, real));
  if (access(real, R_OK | W_OK | X_OK) != 0 || access(folder, W_OK | X_OK) != 0) status = refuse(path, errno);
done:
  free(real);
  comp__free(folder);
  return status;
}

comp_status comp__folder_output_begin_over(comp__folder_output *output, const char *path) {
  *output = (comp__folder_output){NULL, NULL, -1};
  comp_status status;
  COMP__TRY(comp__folder_check_replaceable(path));
  COMP__TRY(resolve(&output->path, path));
  COMP__TRY(make_temporary_folder(output));
done:
  if (status != COMP_OK) comp__folder_output_abort(output);
  return status;
}

comp_status comp__folder_output_begin_scratch(comp__folder_output *output, const char *path) {
  *output = (comp__folder_output){NULL, NULL, -1};
  comp_status status = resolve(&output->path, path);
  if (status == COMP_OK) status = make_temporary_folder(output);
  if (status != COMP_OK) comp__folder_output_abort(output);
  return status;
}

comp_status comp__folder_output_exchange(comp__folder_output *output) {
  char *folder = NULL;
  mode_t mode = 0;
  comp_status status;
  COMP__TRY(folder_of(&folder, output->path));
  COMP__TRY(final_mode(&mode, output->path));
  if (syncfs(output->lock) != 0 || chmod(output->temporary, mode) != 0) {
    status = comp__error_errno("cannot write '%s'", output->path);
    goto done;
  }
  if (renameat2(AT_FDCWD, output->temporary, AT_FDCWD, output->path, RENAME_EXCHANGE) != 0) {
    bool able = errno != ENOSYS && errno != EINVAL;
    status = able ? comp__error_errno("cannot write '%s'", output->path)
                  : comp__error(COMP_ERR_IO,
                                "cannot change '%s' in place: its file system cannot exchange two folders in one step; "
                                "name another output",
                                output->path);
    goto done;
  }
  sync_folder(folder); /* before the old one goes: comp__folder_output_abort() removes it */
done:
  comp__free(folder);
  comp__folder_output_abort(output);
  return status;
}

comp_status comp__folder_output_commit(comp__folder_output *output) {
  char *folder = NULL;
  mode_t mask = umask(0);
  comp_status status;
  umask(mask);
  COMP__TRY(folder_of(&folder, output->path));
  COMP__TRY(check_free(output->path));
  if (syncfs(output->lock) != 0 || chmod(output->temporary, 0777 & ~mask) != 0 ||
      rename(output->temporary, output->path) != 0) {
    status = comp__error_errno("cannot write '%s'", output->path);
    goto done;
  }
  comp__free(output->temporary);
  output->temporary = NULL;
  sync_folder(folder);
done:
  comp__free(folder);
  comp__folder_output_abort(output);
  return status;
}

void comp__folder_output_abort(comp__folder_output *output) {
  if (output->temporary) comp__remove_folder(AT_FDCWD, output->temporary);
  if (output->path && output->lock >= 0) close(output->lock);
  comp__free(output->temporary);
  comp__free(output->path);
  *output = (comp__folder_output){NULL, NULL, -1};
}

/* ---- Changes in place ---- */

/* A lock for one process. HDF5 and others lock files by flock() while they read them, and nobody must wait for a
 * reader: so a file is locked the other way. That way there is none for folders. False: errno says why not. */
static bool lock_for_one(int fd, bool folder, bool wait) {
  struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  if (folder) return flock(fd, wait ? LOCK_EX : LOCK_EX | LOCK_NB) == 0;
  return fcntl(fd, wait ? F_OFD_SETLKW : F_OFD_SETLK, &whole) == 0;
}

/* True: the path still leads to what is open. */
static bool is_at(int fd, const char *path) {
  struct stat held, there;
  return fstat(fd, &held) == 0 && stat(path, &there) == 0 && held.st_ino == there.st_ino && held.st_dev == there.st_dev;
}

comp_status comp__file_hold(int *out, comp_context *context, const char *path) {
  bool said = false;
  *out = -1;
  for (int attempt = 0; attempt < 1000; attempt++) { /* each: another process has put a new one in its place */
    int fd = open(path, O_RDWR | O_CLOEXEC);
    const bool folder = fd < 0 && errno == EISDIR;
    if (folder) fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && (errno == EACCES || errno == EPERM || errno == EROFS || errno == ETXTBSY)) return COMP_OK;
    if (fd < 0) return comp__error_errno("cannot open '%s'", path);
    bool locked = lock_for_one(fd, folder, false);
    if (!locked && (errno == EAGAIN || errno == EACCES)) {
      if (!said) comp__info(context, "%s is being changed by another process: waiting for its end", path);
      said = true;
      locked = lock_for_one(fd, folder, true);
    }
    const int code = errno;
    if (locked && is_at(fd, path)) {
      *out = fd;
      return COMP_OK;
    }
    close(fd);
    if (!locked && code == EINTR) return comp__error(COMP_ERR_INTERRUPTED, "interrupted while waiting for '%s'", path);
    if (!locked) return COMP_OK;
  }
  return comp__error(COMP_ERR_IO, "cannot change '%s' in place: others replace it again and again; name another output",
                     path);
}

/* A signal ends a call that waits, for the reader of a pipe say. A call on a regular file does not wait. */
static comp_status write_error(const char *name) {
  if (errno == EINTR) return comp__error(COMP_ERR_INTERRUPTED, "interrupted while writing '%s'", name);
  return comp__error_errno("cannot write '%s'", name);
}

/* `name` is the path to speak of. */
static comp_status write_all(const char *path, const char *name, const char *data, size_t size) {
  int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
  if (fd < 0) return write_error(name);
  comp_status status = COMP_OK;
  while (size > 0) {
    ssize_t n = write(fd, data, size);
    if (n < 0) {
      status = write_error(name);
      break;
    }
    data += n;
    size -= (size_t)n;
  }
  if (close(fd) != 0 && status == COMP_OK) status = comp__error_errno("cannot write '%s'", name);
  return status;
}

comp_status comp_file_write(const char *path, const void *data, size_t size) {
  COMP__NEED(path, data || !size);
  comp__output output = {0};
  comp_status status;
  if (is_special(path)) return write_all(path, path, data, size);
  COMP__TRY(comp__output_begin(&output, path));
  COMP__TRY(write_all(output.temporary, path, data, size));
  COMP__TRY(comp__output_commit(&output));
done:
  comp__output_abort(&output);
  return status;
}

static bool same_inode(const char *a, const char *b) {
  struct stat x, y;
  return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static const char *last_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/* Whether a file of this name would be made in the same folder under both. Without memory of its own: an answer is
 * always possible. */
static bool same_folder(const char *a, const char *b) {
  char x[PATH_MAX], y[PATH_MAX];
  snprintf(x, sizeof x, "%.*s.", (int)(last_name(a) - a), a);
  snprintf(y, sizeof y, "%.*s.", (int)(last_name(b) - b), b);
  return same_inode(x, y);
}

bool comp_file_same(const char *a, const char *b) {
  if (strcmp(a, b) == 0 || same_inode(a, b)) return true;
  return access(a, F_OK) != 0 && access(b, F_OK) != 0 && strcmp(last_name(a), last_name(b)) == 0 && same_folder(a, b);
}
