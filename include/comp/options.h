/*
 * options.h: options of every kind, set by name.
 *
 *     comp_options *options;
 *     comp_options_new(&options, "umap");
 *     comp_options_set(options, "min-dist", "0.3");
 *     comp_options_set_int(options, "seed", 7);
 *     comp_status status = comp_umap_run(&layout, NULL, context, points, options);
 *     comp_options_free(options);
 *
 * Each kind ("train", "umap", ...) is one table in the library: name, type, default, range, choices, group and help of
 * every option. The program's command line, its help and man pages, the records in files and the bindings to other
 * languages all come from these tables. A function that takes options accepts NULL for the defaults.
 *
 * A bad value is refused when it is set: the message names the option, the value and what is allowed. Rules that
 * concern several options are checked by comp_options_check() and by the function that takes the options.
 */
#ifndef COMP_OPTIONS_H
#define COMP_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "comp/status.h"

typedef struct comp_options comp_options;

/* ---- A set of options ------------------------------------------------------------------------------------------ */

/* Options of a kind, all unset. An unknown kind is an error that suggests the nearest. It should be freed via
 * comp_options_free(). */
COMP_API comp_status comp_options_new(comp_options **out, const char *kind);

/* A copy with the same values. It should be freed via comp_options_free(). */
COMP_API comp_status comp_options_copy(comp_options **out, const comp_options *options);

/* NULL is allowed. */
COMP_API void comp_options_free(comp_options *options);

/* The name of the kind. */
COMP_API const char *comp_options_kind(const comp_options *options);

/* ---- Setting --------------------------------------------------------------------------------------------------- */

/* Sets an option from text, as on the command line: "12", "0.5", "true", "cosine", "512,512". NULL: unset again. A list
 * of texts becomes one of a single item, a list of names is split at commas. */
COMP_API comp_status comp_options_set(comp_options *options, const char *name, const char *text);

/* Adds an item to a list of texts or names. */
COMP_API comp_status comp_options_add(comp_options *options, const char *name, const char *text);

/* The same from values. An int may be given to an option of type real. */
COMP_API comp_status comp_options_set_int(comp_options *options, const char *name, int64_t value);
COMP_API comp_status comp_options_set_real(comp_options *options, const char *name, double value);
COMP_API comp_status comp_options_set_bool(comp_options *options, const char *name, bool value);
COMP_API comp_status comp_options_set_list(comp_options *options, const char *name, const char *const *items,
                                           size_t count);

/* Sets every option that is set in `from`, which is of the same kind. */
COMP_API comp_status comp_options_merge(comp_options *options, const comp_options *from);

/* ---- Reading --------------------------------------------------------------------------------------------------- */

/* Whether the option was set. */
COMP_API bool comp_options_given(const comp_options *options, const char *name);

/* The value as text: as it was set, else its default. NULL when there is neither, for an unknown name, and when
 * `buffer` is too small for it (then comp_error_message() says how many bytes it needs; 64 are enough for one number).
 * The text is in `buffer` or is owned by the options, which then must not change while it is used. */
COMP_API const char *comp_options_get(const comp_options *options, const char *name, char *buffer, size_t size);

/* The same as a value. A name that is unknown or of another type, and an option without a value, are errors. */
COMP_API comp_status comp_options_get_int(int64_t *out, const comp_options *options, const char *name);
COMP_API comp_status comp_options_get_real(double *out, const comp_options *options, const char *name);
COMP_API comp_status comp_options_get_bool(bool *out, const comp_options *options, const char *name);

/* The items of a list of texts or names, owned by the options; NULL and a count of 0 when there are none. */
COMP_API const char *const *comp_options_get_list(size_t *count, const comp_options *options, const char *name);

/* Checks the rules that concern several options; the message names the option. What depends on data is checked by the
 * function that takes the options. */
COMP_API comp_status comp_options_check(const comp_options *options);

/* One JSON object with every option, its names in alphabetical order: the value, or null where there is none. The text
 * is canonical: options with the same values give the same text. It should be freed via comp_free(). */
COMP_API comp_status comp_options_to_json(char **out, const comp_options *options);

/* Sets the options that an object names; null unsets one. A value that is the default stays unset. */
COMP_API comp_status comp_options_from_json(comp_options *options, const char *json);

/* A number in the shortest form that reads back the same, as in options and documents: as a float, or as a double.
 * Returns `buffer`. */
COMP_API char *comp_format_real(char *buffer, size_t size, double value, bool is_float);

/* ---- Descriptions ---------------------------------------------------------------------------------------------- */

typedef enum comp_option_type {
  COMP_OPTION_BOOL,
  COMP_OPTION_INT,
  COMP_OPTION_REAL,
  COMP_OPTION_BYTES,  /* a size: 500M, 2G (powers of 1024) */
  COMP_OPTION_CHOICE, /* one of some names */
  COMP_OPTION_TEXT,
  COMP_OPTION_FILE,  /* the name of a file or folder */
  COMP_OPTION_TEXTS, /* a list of texts, each given by itself */
  COMP_OPTION_NAMES, /* a list of texts, with commas between when it is given as one text: a,b */
  COMP_OPTION_INTS,  /* numbers with commas between: 512,512 */
  COMP_OPTION_REALS
} comp_option_type;

/* "bool", "int", "real", "bytes", "choice", "text", "file", "texts", "names", "ints", "reals"; NULL: there is no such
 * value. Parsing an unknown name is an error. */
COMP_API const char *comp_option_type_name(comp_option_type type);
COMP_API comp_status comp_option_type_parse(comp_option_type *out, const char *name);

/* One option of a kind: a row of its table, which lives as long as the program. */
typedef struct comp_option comp_option;

/* The kinds; NULL past the last. */
COMP_API const char *comp_options_kind_at(size_t index);

/* What a kind of options is for, in one line. */
COMP_API const char *comp_options_summary(const comp_options *options);

/* The options of a kind, in the order in which help lists them; NULL past the last. */
COMP_API const comp_option *comp_options_at(const comp_options *options, size_t index);

/* The option of that name; NULL when there is none. */
COMP_API const comp_option *comp_options_find(const comp_options *options, const char *name);

COMP_API const char *comp_option_name(const comp_option *option);
COMP_API char comp_option_letter(const comp_option *option); /* short form on the command line; 0: none */
COMP_API comp_option_type comp_option_get_type(const comp_option *option);
COMP_API const char *comp_option_metavar(const comp_option *option); /* stands for the value in help; NULL: bool */
COMP_API const char *comp_option_group(const comp_option *option);   /* heading in help; NULL: none */
COMP_API const char *comp_option_help(const comp_option *option);
COMP_API bool comp_option_required(const comp_option *option);

/* In words: what happens when the option is not set; NULL: the default says it. And what else decides on the default,
 * such as a preset; NULL: nothing. */
COMP_API const char *comp_option_unset(const comp_option *option);
COMP_API const char *comp_option_varies(const comp_option *option);

/* The smallest and largest value of a number, both allowed; infinite where there is no limit. */
COMP_API double comp_option_min(const comp_option *option);
COMP_API double comp_option_max(const comp_option *option);

/* The names to choose from; NULL past the last. */
COMP_API const char *comp_option_choice(const comp_option *option, size_t index);

/* What a choice is or is for, in a few words that follow its name; NULL: the name, or the help of the option, says it.
 */
COMP_API const char *comp_option_choice_help(const comp_option *option, size_t index);

/* Why the program's commands do not have this option: it is for programs that use the library, such as what a command
 * decides on by itself. NULL: a command has it. */
COMP_API const char *comp_option_library_only(const comp_option *option);

/* All kinds and their options as one JSON document (docs/formats.md). It should be freed via comp_free(). */
COMP_API comp_status comp_options_describe(char **out);

#endif
