/*
 * module.c: the table of modules, where they are looked for, and how they are loaded.
 *
 * The folders are found from the file that contains this code: libcomp.so, or a program with the static library. So an
 * installed tree can be moved, and a build tree works without installing.
 */
#include "core/module.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/config.h"
#include "core/error.h"

typedef struct row {
  const char *name; /* NAME.so, package libcomp-NAME, build option -DNAME */
  const char *purpose;
  const char *needs; /* to build it: Debian's package */
} row;

/* By comp__module_id. */
static const row rows[COMP__MODULES] = {
    {"figures", "draws figures with cairo", "libcairo2-dev"},
    {"boosted", "trains boosted trees with XGBoost", "libxgboost-dev"},
    {"leiden", "computes Leiden clusters with igraph", "libigraph-dev"},
    {"mpi", "joins several processes with MPI", "libopenmpi-dev"},
};

/* What is loaded is the same for the whole process. */
static struct {
  pthread_mutex_t lock;
  const comp__module *modules[COMP__MODULES];
} loaded = {.lock = PTHREAD_MUTEX_INITIALIZER};

enum { PATH_BYTES = 4096, FOLDERS = 4 };

/* The folders to look in. */
typedef struct search {
  char folders[FOLDERS][PATH_BYTES];
  size_t count;
  bool given;  /* by COMP_MODULES */
  uid_t owner; /* of the file that contains this code */
} search;

/* The last call says that there is no such file: any other failure does not tell whether there is one. */
static bool is_absent(void) {
  return errno == ENOENT || errno == ENOTDIR;
}

/* The file that contains this code; "" where it is not known, as when it was replaced meanwhile. */
static comp_status find_own_file(char path[PATH_BYTES]) {
  Dl_info info;
  struct link_map *map = NULL;
  *path = '\0';
  if (!dladdr1((const void *)(uintptr_t)find_own_file, &info, (void **)&map, RTLD_DL_LINKMAP) || !map) return COMP_OK;
  const char *name = map->l_name[0] ? map->l_name : "/proc/self/exe";
  if (realpath(name, path)) return COMP_OK;
  *path = '\0';
  return is_absent() ? COMP_OK : comp__error_errno("cannot find out where comp is installed, from '%s'", name);
}

static void add_folder(search *s, const char *first, const char *second) {
  char *folder = s->folders[s->count];
  int length = snprintf(folder, PATH_BYTES, "%s%s", first, second);
  if (length < 0 || length >= PATH_BYTES) return;
  for (size_t i = 0; i < s->count; i++)
    if (strcmp(s->folders[i], folder) == 0) return;
  s->count++;
}

static comp_status find_folders(search *s) {
  char own[PATH_BYTES];
  struct stat file;
  const char *given = secure_getenv("COMP_MODULES");
  *s = (search){.given = given && *given, .owner = geteuid()};
  if (s->given) {
    add_folder(s, given, "");
    return COMP_OK;
  }
  comp_status status = find_own_file(own);
  if (status != COMP_OK) return status;
  if (*own && stat(own, &file) == 0) {
    s->owner = file.st_uid;
    *strrchr(own, '/') = '\0';
    add_folder(s, own, "/comp");                   /* beside the installed shared library */
    add_folder(s, own, "/" COMP_MODULES_FROM_BIN); /* from the installed program */
    add_folder(s, own, "/src/modules");            /* in a build tree */
  } else if (*own && !is_absent()) {
    return comp__error_errno("cannot look at '%s'", own);
  }
  add_folder(s, COMP_MODULES_DIR, "");
  return COMP_OK;
}

/* Whether a file's owner is one whose code runs here anyway: a program in a folder that all may write to, such as /tmp,
 * must not load what somebody else has put beside it. */
static bool is_trusted(const search *s, const struct stat *file) {
  return s->given || file->st_uid == 0 || file->st_uid == geteuid() || file->st_uid == s->owner;
}

/* The module's file in the first folder that has it; "" where none has. */
static comp_status find_file(char path[PATH_BYTES], const search *s, const char *name) {
  for (size_t i = 0; i < s->count; i++) {
    struct stat file;
    int length = snprintf(path, PATH_BYTES, "%s/%s.so", s->folders[i], name);
    if (length < 0 || length >= PATH_BYTES) continue;
    if (stat(path, &file) == 0) {
      if (is_trusted(s, &file)) return COMP_OK;
    } else if (!is_absent() && errno != EACCES) { /* a folder of others is not one of ours */
      return comp__error_errno("cannot look at '%s'", path);
    }
  }
  *path = '\0';
  return COMP_OK;
}

static comp_status is_missing(const row *module, const search *s) {
  char list[1024] = "";
  for (size_t i = 0; i < s->count; i++) {
    size_t used = strlen(list);
    snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", s->folders[i]);
  }
  return comp__error(COMP_ERR_UNAVAILABLE,
                     "the module '%s', which %s, is not installed. Install the package libcomp-%s, or build comp with "
                     "meson -D%s=enabled (Debian: %s). Looked for %s.so in: %s%s",
                     module->name, module->purpose, module->name, module->name, module->needs, module->name, list,
                     s->given ? " (from the environment variable COMP_MODULES)" : "");
}

/* A module that was built from other sources than this library. */
static comp_status does_not_fit(const row *module, const char *version) {
  return comp__error(COMP_ERR_UNAVAILABLE,
                     "the module '%s' is of %s and does not fit this comp %s. Install the package libcomp-%s of the "
                     "same version as comp",
                     module->name, version, COMP_VERSION, module->name);
}

/* Whether a loader's message says that the file, or a library that it needs, is not there or does not fit: an answer.
 * Any other failure (no memory, no file descriptor, a disk that fails) leaves it open whether the module is there. */
static bool is_answer(const char *message) {
  static const char *const words[] = {"No such file",        "ELF",
                                      "undefined symbol",    "not found",
                                      "static TLS",          "file too short",
                                      "not defined in file", "wrong architecture"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strstr(message, words[i])) return true;
  return false;
}

/* Why dlopen() did not load a module's file. */
static comp_status cannot_load(const row *module, const char *path) {
  const char *message = dlerror();
  if (!message) message = "no reason is given";
  if (is_answer(message))
    return comp__error(COMP_ERR_UNAVAILABLE,
                       "the module '%s' cannot be loaded: %s. Install the package libcomp-%s and what it depends on",
                       module->name, message, module->name);
  return comp__error(strstr(message, "memory") ? COMP_ERR_MEMORY : COMP_ERR_IO,
                     "the module '%s' is in %s and could not be loaded: %s", module->name, path, message);
}

static comp_status load(const comp__module **out, const row *module) {
  search s;
  char path[PATH_BYTES], version[64] = "another program";
  comp_status status = find_folders(&s);
  if (status == COMP_OK) status = find_file(path, &s, module->name);
  if (status != COMP_OK) return comp__error_context(status, "the module '%s'", module->name);
  if (!*path) return is_missing(module, &s);
  void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!object) return cannot_load(module, path);
  const comp__module *found = dlsym(object, COMP__MODULE_NAME);
  if (found && strcmp(found->version, COMP_VERSION) == 0) {
    *out = found;
    return COMP_OK;
  }
  if (found) snprintf(version, sizeof version, "comp %s", found->version);
  dlclose(object);
  return comp__error_context(does_not_fit(module, version), "%s", path);
}

static comp_status get(const comp__module **out, size_t id) {
  comp_status status = COMP_OK;
  pthread_mutex_lock(&loaded.lock);
  if (!loaded.modules[id]) status = load(&loaded.modules[id], &rows[id]);
  *out = loaded.modules[id];
  pthread_mutex_unlock(&loaded.lock);
  return status;
}

comp_status comp__module_table(const void **out, comp__module_id id, size_t table_size) {
  const comp__module *module;
  comp_status status = get(&module, id);
  *out = NULL;
  if (status != COMP_OK) return status;
  if (module->table_size != table_size) return does_not_fit(&rows[id], "another state of the sources");
  *out = module->table;
  return COMP_OK;
}

const char *comp_module_name(size_t module) {
  return module < COMP__MODULES ? rows[module].name : NULL;
}

comp_status comp_module_load(const char **out, const char *name) {
  COMP__NEED_OUT(out, name);
  *out = NULL;
  for (size_t i = 0; i < COMP__MODULES; i++) {
    const comp__module *module;
    if (strcmp(rows[i].name, name) != 0) continue;
    comp_status status = get(&module, i);
    if (status == COMP_OK) *out = module->library;
    return status;
  }
  return comp__error(COMP_ERR_ARGUMENT, "there is no module '%s'", name);
}
