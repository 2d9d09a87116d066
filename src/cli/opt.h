/*
 * opt.h: options by table. One row an option drives parsing, --help, the man page and completion.
 *
 * A command has a struct of its own for its options, a `static const` instance of it with the defaults, and a table
 * whose rows point into it:
 *
 *     typedef struct bench_options { double seconds; const char *json; } bench_options;
 *     static const bench_options defaults = {.seconds = 1};
 *     static const opt_spec options[] = {
 *         {"seconds", .kind = OPT_REAL, OPT_FIELD(bench_options, seconds), .metavar = "S", .help = "...", .min = 0.01,
 * .max = 60},
 *         {"json", .kind = OPT_FILE, OPT_FIELD(bench_options, json), .metavar = "FILE", .help = "..."},
 *         {0},
 *     };
 *
 * Options of the library are not described here: a row with `rows` stands for those of one kind (comp/options.h), whose
 * field is a handle that the parser makes and fills:
 *
 *     {.rows = "umap", OPT_FIELD(umap_options, umap)},
 *     {.rows = "read", .only = "metadata layer", OPT_FIELD(umap_options, read)},
 *
 * opt_expand() puts the rows of the kind in its place. A name that the table has itself is left out, and so are options
 * that are for programs alone (comp_option_library_only()).
 *
 * Accepted: --name value, --name=value, -n value, -nvalue, flags together (-qv), and -- before arguments that start
 * with '-'. A value may be a negative number; any other value that starts with '-' is written --name=-value. Names
 * cannot be shortened.
 */
#ifndef CLI_OPT_H
#define CLI_OPT_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "comp/options.h"

/* What a value is, and with it the type of the field. */
typedef enum opt_kind {
  OPT_FLAG,   /* bool */
  OPT_INT,    /* 4 or 8 bytes, signed; an unsigned field is fine with a min of 0 */
  OPT_REAL,   /* float or double; always finite */
  OPT_SIZE,   /* uint64_t or size_t; 500M, 2G: powers of 1024 */
  OPT_STRING, /* const char *, as all below: owned by argv */
  OPT_FILE,   /* a string that is not empty; completed with file names */
  OPT_CHOICE, /* one of `choices` */
  OPT_HELP    /* no field: ends the parsing with OPT_ASKED_HELP */
} opt_kind;

/* The field of a row with `repeat`. */
typedef struct opt_list {
  const char **items;
  size_t count;
} opt_list;

/* A default that is not known before the run: the row's `unset` says in words what it will be. Strings use NULL. */
#define OPT_UNSET_INT  INT32_MIN
#define OPT_UNSET_REAL NAN

typedef struct opt_spec {
  const char *name; /* without dashes; of a positional argument, as help shows it: "FILE". NULL ends the table */
  char letter;      /* 0: none */
  opt_kind kind;
  bool repeat;   /* may be given several times: the field is an opt_list, of strings. Of positionals only the last */
  bool required; /* must be given */
  size_t offset, size;
  const char *metavar; /* what stands for the value in help; NULL for flags and positionals */
  const char *group;   /* heading in help; NULL: "Options". Rows of a group stand together */
  const char *help;
  const char *const *choices;               /* ends with NULL */
  const char *const *(*choices_from)(void); /* the same from a function, where a table elsewhere knows them */
  double min, max;                          /* of a number, both allowed; 0, 0: any; INFINITY as max: no upper limit */
  const char *unset;                        /* in words, what happens when the option is not given */
  const char *rows;                         /* in place of a name: a kind of options of the library */
  const char *only, *without; /* with it: the names to take, or to leave; spaces between. NULL: all, none */
  const comp_option *option;  /* in an expanded table: the library's row */
} opt_spec;

#define OPT_FIELD(type, member) .offset = offsetof(type, member), .size = sizeof(((type *)0)->member)

enum { OPT_MAX = 96 }; /* rows in one table, with the end */

/* A table, the struct that its rows point into, and which rows have been given. */
typedef struct opt_set {
  const opt_spec *specs;
  void *values;
  bool given[OPT_MAX];
} opt_set;

typedef enum opt_outcome { OPT_PARSED, OPT_ASKED_HELP, OPT_WRONG } opt_outcome;

/* Ends the program. Where options cannot be listed, each would be unknown, and help would be half of what it is. */
_Noreturn void opt_out_of_memory(void);

/* A copy of a table in which the rows of kinds of options are put in. `group` and `unset` of the row that stands for
 * them replace theirs. It should be freed via opt_expand_free(). NULL: out of memory. */
opt_spec *opt_expand(const opt_spec *table);
void opt_expand_free(opt_spec *table);

/* The file that a row of kind OPT_FILE names, or item i of several; NULL past the last. */
const char *opt_file(const opt_spec *spec, const void *values, size_t i);

/* Parses argv[0 .. argc - 1] (no program or command name) into the values, which hold the defaults. `sets` are n_sets
 * tables of options, `positionals` one of arguments. When OPT_WRONG is returned, `message` says what is wrong, in one
 * line. Lists should be released via opt_release(), whatever was returned. */
opt_outcome opt_parse(opt_set *sets, size_t n_sets, opt_set *positionals, int argc, char *const *argv, char *message,
                      size_t message_size);

/* Frees the lists and the library's options of a set. */
void opt_release(opt_set *set);

/* The choices of a row, ending with NULL. */
const char *const *opt_choices(const opt_spec *spec);

/* Whether the option is followed by a value. */
bool opt_takes_value(const opt_spec *spec);

/* How an option looks in a list, such as "-q, --quiet" or "    --json FILE". Returns `buffer`. */
char *opt_usage(char *buffer, size_t size, const opt_spec *spec);

/* The default of a row as text, from the library or from the defaults of the command; "" when there is nothing to say.
 * Returns `buffer`. */
char *opt_default(char *buffer, size_t size, const opt_spec *spec, const void *defaults);

#endif
