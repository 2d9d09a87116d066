/*
 * options.h: the inner side of comp/options.h: tables of options, and plain structs that are filled from them.
 *
 * Each kind of options is a plain C struct, which the library works with, and a table whose rows point into it:
 *
 *     typedef struct comp__pca_options { size_t components; bool scale; ... } comp__pca_options;
 *
 *     static const comp_option rows[] = {
 *         {"components", .type = COMP_OPTION_INT, COMP__FIELD(comp__pca_options, components), .value = "50", ...},
 *         {0},
 *     };
 *     const comp__options_kind comp__pca_kind = {"pca", "principal components", sizeof(comp__pca_options), rows};
 *
 * A public function gets a handle, which comp__options_resolve() turns into the struct. Code inside the library starts
 * from comp__options_defaults() and sets fields. src/options/kinds.c lists the kinds.
 */
#ifndef COMP_CORE_OPTIONS_H
#define COMP_CORE_OPTIONS_H

#include <jansson.h>
#include <math.h>

#include "comp/options.h"
#include "core/error.h"

/* The type decides on the field: BOOL bool, or an enum of two; INT 4 or 8 bytes; REAL float or double; BYTES size_t;
 * CHOICE an enum (the index of the name), a const char * or an array of char; TEXT and FILE const char *, or one char;
 * TEXTS a pair `const char *const *items; size_t count`; INTS an array of size_t and a count; REALS an array of double,
 * where the last number given stands for the rest. */
struct comp_option {
  const char *name; /* as on the command line: "min-dist". NULL ends the table */
  char letter;
  comp_option_type type;
  bool required;
  bool invert;   /* BOOL: setting it clears the field */
  bool internal; /* a field that cannot be set or seen: only its default or its record counts */
  size_t offset, size;
  size_t count; /* TEXTS, INTS: offset of the count */
  const char *metavar;
  const char *group;
  const char *help;
  const char *value;                        /* default, as text; NULL: none, or that of kind->base */
  const char *varies;                       /* see comp_option_varies() */
  const char *unset;                        /* see comp_option_unset() */
  double min, max;                          /* 0, 0: any; INFINITY as max: no upper limit */
  double absent;                            /* number: what the field holds while the option is unset */
  const char *const *choices;               /* ends with NULL */
  const char *(*choice_at)(size_t index);   /* the same from a function: NULL past the last */
  const char *(*choice_help)(size_t index); /* see comp_option_choice_help(); may be NULL */
  /* TEXT that stands for several fields: sets them. NULL: the text is the value. A message tells what is wrong with it,
   * without the name of the option. */
  comp_status (*store)(void *values, const char *text);
  const char *library_only; /* see comp_option_library_only() */
  const char *beside;       /* TEXTS: another list, whose items this one's belong to, one by one; NULL: none */
  const char *record;       /* where a record has it: "scale", "training/rate"; NULL: nowhere */
  bool record_later;        /* records of earlier versions lack it */
  /* In place of a name: rows of another kind, whose struct is at `offset`, but those that are for the library only.
   * `group` and `unset` replace theirs. */
  const struct comp__options_kind *rows;
  const char *only, *without; /* with it: the names to take, or to leave; spaces between. NULL: all, none */
  /* Of a row that was taken in: its kind, and where the struct of that kind is. NULL, 0: the table's own. */
  const struct comp__options_kind *source;
  size_t base;
};

#define COMP__FIELD(type, member)          .offset = offsetof(type, member), .size = sizeof(((type *)0)->member)
#define COMP__LIST(type, member, n_member) COMP__FIELD(type, member), .count = offsetof(type, n_member)

typedef struct comp__options_kind {
  const char *name;
  const char *summary;
  size_t size; /* of the struct */
  const comp_option *rows;
  /* Fills the struct with defaults that other options decide on (a preset); then rows without a value of their own keep
   * what it put there. NULL: all defaults are in the table. */
  comp_status (*base)(void *out, const comp_options *options);
  /* After the values are set: what follows from them, and options that have no effect. May be NULL. */
  comp_status (*finish)(void *out, const comp_options *options);
  /* Rules that concern several fields, or fields that are not in the table. May be NULL. */
  comp_status (*check)(const void *values);
  /* Fills `rows` with those of other kinds, once. NULL: the table is complete. */
  void (*complete)(void);
} comp__options_kind;

/* Options of a kind, all unset. It should be freed via comp_options_free(). */
comp_status comp__options_new(comp_options **out, const comp__options_kind *kind);

/* Fills the struct of a kind from options of that kind (another one is an error), or from the defaults when NULL, and
 * checks it. Texts and lists in it are owned by `options`. */
comp_status comp__options_resolve(void *out, const comp__options_kind *kind, const comp_options *options);

/* The defaults of a kind without `base`. */
void comp__options_defaults(void *out, const comp__options_kind *kind);

/* Ranges of all fields, then kind->check. The message names the option. */
comp_status comp__options_check(const comp__options_kind *kind, const void *values);

/* Copies a table to out [most] with the rows of other kinds in their places. */
void comp__options_include(comp_option *out, size_t most, const comp_option *table);

/* The options that were taken in from a kind, as options of that kind. It should be freed via comp_options_free(). */
comp_status comp__options_part(comp_options **out, const comp_options *options, const comp__options_kind *kind);

/* The row of that name, an error that suggests the nearest when there is none. */
comp_status comp__options_row(const comp_option **out, const comp__options_kind *kind, const char *name);

/* Puts the fields of all rows with a record into an object; reads them from one. A record that lacks one, or holds a
 * value that is out of range, is COMP_ERR_FORMAT. Texts are not read. */
comp_status comp__options_to_record(json_t *root, const comp__options_kind *kind, const void *values);
comp_status comp__options_from_record(void *out, const comp__options_kind *kind, const json_t *root);

/* Reads a value into the field of its row; the message names the option, the value and what is allowed. */
comp_status comp__option_parse(const comp_option *row, void *values, const char *text);

/* The value of a field as text: in `buffer`, or owned by the struct; NULL when it is unset. */
const char *comp__option_format(const comp_option *row, const void *values, char *buffer, size_t size);

/* The value of a field as the option has it; null when it is unset. NULL: out of memory, or a text is not UTF-8. */
json_t *comp__option_json(const comp_option *row, const void *values);

/* Whether the option is a list of texts. */
bool comp__option_is_list(const comp_option *row);

/* Whether the field of a number is in its range, or unset. */
comp_status comp__option_check(const comp_option *row, const void *values);

/* Fills the struct without checking it, as comp__options_resolve(). */
comp_status comp__options_fill(void *out, const comp__options_kind *kind, const comp_options *options);

/* The names of a public enum: a list that ends with NULL. comp__name_at() gives NULL past the last; an unknown name is
 * an error whose message starts with `what` and suggests the nearest, or lists them. */
const char *comp__name_at(const char *const *names, size_t index);
comp_status comp__name_find(size_t *out, const char *const *names, const char *what, const char *name);

/* Defines TYPE_name() and TYPE_parse() of a public enum whose values count from 0. */
#define COMP__ENUM_NAMES(type, names, what)                                                                            \
  const char *type##_name(type value) {                                                                                \
    return comp__name_at(names, (size_t)value);                                                                        \
  }                                                                                                                    \
  comp_status type##_parse(type *out, const char *name) {                                                              \
    COMP__NEED(out, name);                                                                                             \
    size_t index;                                                                                                      \
    comp_status status = comp__name_find(&index, names, what, name);                                                   \
    if (status == COMP_OK) *out = (type)index;                                                                         \
    return status;                                                                                                     \
  }

/* The text that an option was set to; NULL when it was not, or is a list. */
const char *comp__options_text(const comp_options *options, const char *name);

/* One kind as an object: name, summary and options. NULL: out of memory. */
json_t *comp__options_describe(const comp__options_kind *kind);

#endif
