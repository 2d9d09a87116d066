/* file.c: complete files or none. */
#include "core/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/alloc.h"
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
  size_t length = strlen(path);
  struct stat info;
  if (length == 0) return comp__error(COMP_ERR_ARGUMENT, "the name of an output file is empty");
  bool exists = stat(path, &info) == 0;
  if (!exists && errno != ENOENT) return refuse(path, errno);
  if (!exists && lstat(path, &info) == 0)
    return comp__error(COMP_ERR_IO, "cannot write '%s': it is a symbolic link to a file that does not exist", path);
  if (path[length - 1] == '/' || (exists && S_ISDIR(info.st_mode))) return refuse(path, EISDIR);
  /* Renaming needs no right to the file itself; a write-protected file is protected all the same. */
  if (exists && access(path, W_OK) != 0) return refuse(path, errno);
  if (is_special(path)) return COMP_OK;
  char *folder = NULL;
  comp_status status = folder_of(&folder, path);
  if (status == COMP_OK && access(folder, W_OK | X_OK) != 0) status = refuse(path, errno);
  comp__free(folder);
  return status;
}

static comp_status create_temporary(comp__output *output) {
  size_t size = strlen(output->path) + 16;
  comp_status status = comp__alloc(&output->temporary, size, 1);
  if (status != COMP_OK) return status;
  snprintf(output->temporary, size, "%s.tmp-XXXXXX", output->path);
  int fd = mkstemp(output->temporary);
  if (fd < 0) {
    status = comp__error_errno("cannot write '%s'", output->path);
    comp__free(output->temporary);
    output->temporary = NULL;
    return status;
  }
  close(fd);
  return COMP_OK;
}

comp_status comp__output_begin(comp__output *output, const char *path) {
  *output = (comp__output){NULL, NULL};
  comp_status status;
  COMP__TRY(comp_file_check_writable(path));
  if (is_special(path)) COMP__FAIL(COMP_ERR_IO, "cannot write '%s': it is not a regular file", path);
  COMP__TRY(resolve(&output->path, path));
  COMP__TRY(create_temporary(output));
done:
  if (status != COMP_OK) comp__output_abort(output);
  return status;
}

/* The permissions of the file that is replaced, or what a new file gets here. */
static mode_t final_mode(const char *path) {
  struct stat info;
  if (stat(path, &info) == 0) return info.st_mode & 07777;
  mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

static comp_status sync_path(const char *path, int flags) {
  int fd = open(path, flags | O_CLOEXEC);
  if (fd < 0) return comp__error_errno("cannot open '%s'", path);
  int failed = fsync(fd);
  int code = errno;
  close(fd);
  errno = code;
  if (failed && code != EINVAL) return comp__error_errno("cannot write '%s'", path);
  return COMP_OK;
}

comp_status comp__output_commit(comp__output *output) {
  char *folder = NULL;
  comp_status status = sync_path(output->temporary, O_RDONLY);
  if (status != COMP_OK) goto done;
  if (chmod(output->temporary, final_mode(output->path)) != 0 || rename(output->temporary, output->path) != 0) {
    status = comp__error_errno("cannot write '%s'", output->path);
    goto done;
  }
  comp__free(output->temporary);
  output->temporary = NULL;
  COMP__TRY(folder_of(&folder, output->path));
  sync_path(folder,
            O_RDONLY | O_DIRECTORY); /* the file is complete either way: a folder that cannot be synced is no failure */
done:
  comp__free(folder);
  comp__output_abort(output);
  return status;
}

void comp__output_abort(comp__output *output) {
  if (output->temporary) unlink(output->temporary);
  comp__free(output->temporary);
  comp__free(output->path);
  *output = (comp__output){NULL, NULL};
}

/* `name` is the path to speak of. */
static comp_status write_all(const char *path, const char *name, const char *data, size_t size) {
  int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
  if (fd < 0) return comp__error_errno("cannot write '%s'", name);
  comp_status status = COMP_OK;
  while (size > 0) {
    ssize_t n = write(fd, data, size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      status = comp__error_errno("cannot write '%s'", name);
      break;
    }
    data += n;
    size -= (size_t)n;
  }
  if (close(fd) != 0 && status == COMP_OK) status = comp__error_errno("cannot write '%s'", name);
  return status;
}

comp_status comp_file_write(const char *path, const void *data, size_t size) {
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

bool comp_file_same(const char *a, const char *b) {
  struct stat x, y;
  if (strcmp(a, b) == 0) return true;
  return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}
