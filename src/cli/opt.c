/* opt.c: reads a command line into a struct by its option tables. It neither prints nor exits: what is wrong goes into
 * a message. */
#include "cli/opt.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/text.h"
#include "comp/suggest.h"

/* Where the parsing stands. */
typedef struct parser {
  opt_set *sets;
  size_t n_sets;
  opt_set *positionals;
  int argc;
  char *const *argv;
  int next;            /* the argument to read next */
  size_t n_positional; /* the positional row to fill next */
  char *message;
  size_t message_size;
} parser;

/* One row of one set, being filled. */
typedef struct target {
  opt_set *set;
  size_t row;
  const opt_spec *spec;
} target;

__attribute__((format(printf, 2, 3))) static opt_outcome wrong(parser *p, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(p->message, p->message_size, format, arguments);
  va_end(arguments);
  return OPT_WRONG;
}

const char *const *opt_choices(const opt_spec *spec) {
  return spec->choices_from ? spec->choices_from() : spec->choices;
}

bool opt_takes_value(const opt_spec *spec) {
  return spec->kind != OPT_FLAG && spec->kind != OPT_HELP;
}

/* ---- values ---- */

/* "--name", or the plain name of a positional argument. */
static const char *label(const parser *p, const target *t, char *buffer, size_t size) {
  snprintf(buffer, size, "%s%s", t->set == p->positionals ? "" : "--", t->spec->name);
  return buffer;
}

static opt_outcome wrong_value(parser *p, const target *t, const char *text, const char *what) {
  char name[64];
  return wrong(p, "%s: '%s' is not %s", label(p, t, name, sizeof name), text, what);
}

static opt_outcome out_of_range(parser *p, const target *t, const char *text, double min, double max) {
  char name[64], low[32], high[32];
  label(p, t, name, sizeof name);
  comp_format_real(low, sizeof low, min, false);
  comp_format_real(high, sizeof high, max, false);
  if (isinf(max)) return wrong(p, "%s: %s is out of range: %s or more", name, text, low);
  return wrong(p, "%s: %s is out of range: %s to %s", name, text, low, high);
}

static bool has_range(const opt_spec *spec) {
  return spec->min != 0 || spec->max != 0;
}

static bool in_range(const opt_spec *spec, double value) {
  return !has_range(spec) || (value >= spec->min && value <= spec->max);
}

static bool starts_number(const char *text) {
  return isdigit((unsigned char)*text) || *text == '-' || *text == '+' || *text == '.';
}

static opt_outcome store_int(parser *p, const target *t, const char *text, void *field) {
  assert(t->spec->size == 4 || t->spec->size == 8);
  char *end;
  errno = 0;
  long long value = strtoll(text, &end, 10);
  if (!starts_number(text) || end == text || *end) return wrong_value(p, t, text, "a whole number");
  const long long lowest = t->spec->size == 4 ? INT32_MIN : INT64_MIN;
  const long long highest = t->spec->size == 4 ? INT32_MAX : INT64_MAX;
  if (errno == ERANGE || value < lowest || value > highest || !in_range(t->spec, (double)value)) {
    bool ranged = has_range(t->spec);
    return out_of_range(p, t, text, ranged ? t->spec->min : (double)lowest, ranged ? t->spec->max : (double)highest);
  }
  if (t->spec->size == 4)
    *(int32_t *)field = (int32_t)value;
  else
    *(int64_t *)field = value;
  return OPT_PARSED;
}

static opt_outcome store_real(parser *p, const target *t, const char *text, void *field) {
  const bool is_float = t->spec->size == sizeof(float);
  const double most = is_float ? FLT_MAX : DBL_MAX;
  char *end;
  double value = strtod(text, &end);
  /* strtod also reads hexadecimal, "inf" and "nan": nobody means those here */
  if (!starts_number(text) || end == text || *end || strpbrk(text, "xXnN")) return wrong_value(p, t, text, "a number");
  if (!(fabs(value) <= most) || !in_range(t->spec, value)) {
    bool ranged = has_range(t->spec);
    return out_of_range(p, t, text, ranged ? t->spec->min : -most, ranged ? t->spec->max : most);
  }
  if (is_float)
    *(float *)field = (float)value;
  else
    *(double *)field = value;
  return OPT_PARSED;
}

static opt_outcome store_size(parser *p, const target *t, const char *text, void *field) {
  assert(t->spec->size == sizeof(uint64_t));
  static const char what[] = "a size such as 500M or 2G";
  static const char suffixes[] = "KMGT";
  if (!isdigit((unsigned char)*text) || strpbrk(text, "xX")) return wrong_value(p, t, text, what);
  char *end;
  double value = strtod(text, &end);
  const char *suffix = *end ? strchr(suffixes, toupper((unsigned char)*end)) : NULL;
  if (*end && (!suffix || end[1])) return wrong_value(p, t, text, what);
  if (suffix) value *= exp2(10.0 * (double)(suffix - suffixes + 1));
  const double most = 0x1p62;
  if (!(value <= most) || !in_range(t->spec, value)) {
    bool ranged = has_range(t->spec);
    return out_of_range(p, t, text, ranged ? t->spec->min : 0, ranged ? t->spec->max : most);
  }
  *(uint64_t *)field = (uint64_t)value;
  return OPT_PARSED;
}

static opt_outcome check_choice(parser *p, const target *t, const char *text) {
  char name[64], list[512] = "";
  comp_suggest search = {.word = text};
  size_t used = 0;
  for (const char *const *c = opt_choices(t->spec); *c; c++) {
    if (strcmp(*c, text) == 0) return OPT_PARSED;
    comp_suggest_offer(&search, *c);
    int n = snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", *c);
    used = used + (size_t)n < sizeof list ? used + (size_t)n : sizeof list - 1;
  }
  label(p, t, name, sizeof name);
  if (search.best) return wrong(p, "%s: '%s' is unknown%s", name, text, comp_suggest_hint(&search).text);
  return wrong(p, "%s: '%s' is not one of %s", name, text, list);
}

static opt_outcome check_string(parser *p, const target *t, const char *text) {
  char name[64];
  if (t->spec->kind == OPT_CHOICE) return check_choice(p, t, text);
  if (t->spec->kind == OPT_FILE && !*text) return wrong(p, "%s: the name is empty", label(p, t, name, sizeof name));
  return OPT_PARSED;
}

static opt_outcome append(parser *p, const target *t, const char *text, opt_list *list) {
  assert(t->spec->size == sizeof *list);
  /* what the command line gives replaces a default list, which is not ours to free */
  if (!t->set->given[t->row]) *list = (opt_list){NULL, 0};
  const char **items = realloc(list->items, (list->count + 1) * sizeof *items);
  if (!items) return wrong(p, "out of memory");
  items[list->count++] = text;
  list->items = items;
  return OPT_PARSED;
}

/* The handle of an expanded row. */
static comp_options **handle_of(const opt_set *set, const opt_spec *spec) {
  return (comp_options **)(void *)((char *)set->values + spec->offset);
}

/* The library says what is wrong, and with which option. */
static opt_outcome store_option(parser *p, const target *t, const char *text) {
  comp_options *options = *handle_of(t->set, t->spec);
  if (t->spec->kind == OPT_FLAG) text = "true";
  comp_status status =
      t->spec->repeat ? comp_options_add(options, t->spec->name, text) : comp_options_set(options, t->spec->name, text);
  return status == COMP_OK ? OPT_PARSED : wrong(p, "--%s", comp_error_message());
}

static opt_outcome store_value(parser *p, const target *t, const char *text) {
  if (t->spec->option) return store_option(p, t, text);
  void *field = (char *)t->set->values + t->spec->offset;
  switch (t->spec->kind) {
  case OPT_FLAG:
    *(bool *)field = true;
    return OPT_PARSED;
  case OPT_HELP:
    return OPT_ASKED_HELP;
  case OPT_INT:
    return store_int(p, t, text, field);
  case OPT_REAL:
    return store_real(p, t, text, field);
  case OPT_SIZE:
    return store_size(p, t, text, field);
  case OPT_STRING:
  case OPT_FILE:
  case OPT_CHOICE:
    break;
  }
  opt_outcome outcome = check_string(p, t, text);
  if (outcome != OPT_PARSED) return outcome;
  if (t->spec->repeat) return append(p, t, text, field);
  *(const char **)field = text;
  return OPT_PARSED;
}

static opt_outcome store(parser *p, const target *t, const char *text) {
  char name[64];
  if (t->set->given[t->row] && !t->spec->repeat) return wrong(p, "%s is given twice", label(p, t, name, sizeof name));
  opt_outcome outcome = store_value(p, t, text);
  if (outcome == OPT_PARSED) t->set->given[t->row] = true;
  return outcome;
}

/* ---- names ---- */

static bool find_name(const parser *p, target *out, const char *name, size_t length) {
  for (size_t s = 0; s < p->n_sets; s++)
    for (const opt_spec *spec = p->sets[s].specs; spec->name; spec++)
      if (strlen(spec->name) == length && strncmp(spec->name, name, length) == 0) {
        *out = (target){&p->sets[s], (size_t)(spec - p->sets[s].specs), spec};
        return true;
      }
  return false;
}

static bool find_letter(const parser *p, target *out, char letter) {
  for (size_t s = 0; s < p->n_sets; s++)
    for (const opt_spec *spec = p->sets[s].specs; spec->name; spec++)
      if (spec->letter == letter) {
        *out = (target){&p->sets[s], (size_t)(spec - p->sets[s].specs), spec};
        return true;
      }
  return false;
}

/* `typed` is what to show, `name` what to look for among the long names. */
static opt_outcome unknown(parser *p, const char *typed, const char *name) {
  comp_suggest search = {.word = name};
  for (size_t s = 0; s < p->n_sets; s++)
    for (const opt_spec *spec = p->sets[s].specs; spec->name; spec++) comp_suggest_offer(&search, spec->name);
  if (search.best) return wrong(p, "unknown option '%s'; did you mean '--%s'?", typed, search.best);
  return wrong(p, "unknown option '%s'", typed);
}

/* ---- arguments ---- */

/* A dash and a letter: the next option rather than a value. */
static bool looks_like_option(const char *text) {
  return text[0] == '-' && text[1] && !isdigit((unsigned char)text[1]) && text[1] != '.';
}

/* Takes the next argument as the value. */
static opt_outcome store_next(parser *p, const target *t) {
  const char *metavar = t->spec->metavar ? t->spec->metavar : "VALUE";
  if (p->next >= p->argc || looks_like_option(p->argv[p->next]))
    return wrong(p, "--%s needs a value: --%s %s", t->spec->name, t->spec->name, metavar);
  return store(p, t, p->argv[p->next++]);
}

static opt_outcome parse_long(parser *p, const char *argument) {
  const char *name = argument + 2;
  size_t length = strcspn(name, "=");
  const char *value = name[length] ? name + length + 1 : NULL;
  target t;
  if (!find_name(p, &t, name, length)) {
    char typed[128], bare[128];
    snprintf(typed, sizeof typed, "--%.*s", (int)length, name);
    snprintf(bare, sizeof bare, "%.*s", (int)length, name);
    return unknown(p, typed, bare);
  }
  if (!opt_takes_value(t.spec)) return value ? wrong(p, "--%s takes no value", t.spec->name) : store(p, &t, "");
  return value ? store(p, &t, value) : store_next(p, &t);
}

/* One letter, or several flags of which the last may take a value. */
static opt_outcome parse_letters(parser *p, const char *argument) {
  opt_outcome outcome = OPT_PARSED;
  for (const char *c = argument + 1; *c && outcome == OPT_PARSED; c++) {
    target t;
    if (!find_letter(p, &t, *c)) return unknown(p, argument, argument + 1);
    if (opt_takes_value(t.spec)) return c[1] ? store(p, &t, c + 1) : store_next(p, &t);
    outcome = store(p, &t, "");
  }
  return outcome;
}

static opt_outcome parse_positional(parser *p, const char *argument) {
  const opt_spec *spec = &p->positionals->specs[p->n_positional];
  if (!spec->name) return wrong(p, "unexpected argument '%s'", argument);
  target t = {p->positionals, p->n_positional, spec};
  if (!spec->repeat) p->n_positional++;
  return store(p, &t, argument);
}

static opt_outcome parse_arguments(parser *p) {
  opt_outcome outcome = OPT_PARSED;
  bool options = true;
  while (outcome == OPT_PARSED && p->next < p->argc) {
    const char *argument = p->argv[p->next++];
    if (options && strcmp(argument, "--") == 0)
      options = false;
    else if (options && strncmp(argument, "--", 2) == 0)
      outcome = parse_long(p, argument);
    else if (options && argument[0] == '-' && argument[1])
      outcome = parse_letters(p, argument);
    else
      outcome = parse_positional(p, argument);
  }
  return outcome;
}

static opt_outcome check_required(parser *p) {
  for (size_t s = 0; s < p->n_sets; s++)
    for (size_t i = 0; p->sets[s].specs[i].name; i++) {
      const opt_spec *spec = &p->sets[s].specs[i];
      if (!spec->required || p->sets[s].given[i]) continue;
      return wrong(p, "--%s %s is required", spec->name, spec->metavar ? spec->metavar : "VALUE");
    }
  for (size_t i = 0; p->positionals->specs[i].name; i++)
    if (p->positionals->specs[i].required && !p->positionals->given[i])
      return wrong(p, "%s is required", p->positionals->specs[i].name);
  return OPT_PARSED;
}

/* Whoever adds --help to a line that was refused wants the help, not the same refusal. */
static bool help_follows(const parser *p) {
  for (int i = p->next; i < p->argc && strcmp(p->argv[i], "--") != 0; i++)
    if (strcmp(p->argv[i], "--help") == 0 || strcmp(p->argv[i], "-h") == 0) return true;
  return false;
}

static opt_outcome start_set(parser *p, opt_set *set) {
  memset(set->given, 0, sizeof set->given);
  for (size_t i = 0; set->specs[i].name; i++) {
    const opt_spec *spec = &set->specs[i];
    assert(i + 1 < OPT_MAX);
    if (!spec->option || *handle_of(set, spec)) continue;
    if (comp_options_new(handle_of(set, spec), spec->rows) != COMP_OK) return wrong(p, "%s", comp_error_message());
  }
  return OPT_PARSED;
}

opt_outcome opt_parse(opt_set *sets, size_t n_sets, opt_set *positionals, int argc, char *const *argv, char *message,
                      size_t message_size) {
  parser p = {sets, n_sets, positionals, argc, argv, 0, 0, message, message_size};
  opt_outcome outcome = start_set(&p, positionals);
  for (size_t s = 0; s < n_sets && outcome == OPT_PARSED; s++) outcome = start_set(&p, &sets[s]);
  if (outcome == OPT_PARSED) outcome = parse_arguments(&p);
  if (outcome == OPT_PARSED) outcome = check_required(&p);
  if (outcome == OPT_WRONG && help_follows(&p)) return OPT_ASKED_HELP;
  return outcome;
}

void opt_release(opt_set *set) {
  for (size_t i = 0; set->specs[i].name; i++) {
    if (set->specs[i].option) {
      comp_options_free(*handle_of(set, &set->specs[i]));
      *handle_of(set, &set->specs[i]) = NULL;
      continue;
    }
    if (!set->specs[i].repeat || !set->given[i]) continue;
    opt_list *list = (opt_list *)(void *)((char *)set->values + set->specs[i].offset);
    free(list->items);
    *list = (opt_list){NULL, 0};
  }
}

const char *opt_file(const opt_spec *spec, const void *values, size_t i) {
  const void *field = (const char *)values + spec->offset;
  if (spec->option) return i == 0 ? comp_options_get(*(comp_options *const *)field, spec->name, NULL, 0) : NULL;
  const opt_list *list = field;
  if (spec->repeat) return i < list->count ? list->items[i] : NULL;
  return i == 0 ? *(const char *const *)field : NULL;
}

/* ---- rows of the library ---- */

/* Whether a name is in a list with spaces between. */
static bool is_listed(const char *list, const char *name) {
  size_t length = strlen(name);
  for (; list && *list; list += strcspn(list, " "), list += *list == ' ')
    if (strcspn(list, " ") == length && strncmp(list, name, length) == 0) return true;
  return false;
}

static bool has_name(const opt_spec *table, const char *name) {
  for (; table->name || table->rows; table++)
    if (table->name && strcmp(table->name, name) == 0) return true;
  return false;
}

static opt_kind kind_of(comp_option_type type) {
  switch (type) {
  case COMP_OPTION_BOOL:
    return OPT_FLAG;
  case COMP_OPTION_INT:
    return OPT_INT;
  case COMP_OPTION_REAL:
    return OPT_REAL;
  case COMP_OPTION_BYTES:
    return OPT_SIZE;
  case COMP_OPTION_CHOICE:
    return OPT_CHOICE;
  case COMP_OPTION_FILE:
    return OPT_FILE;
  case COMP_OPTION_TEXT:
  case COMP_OPTION_TEXTS:
  case COMP_OPTION_NAMES:
  case COMP_OPTION_INTS:
  case COMP_OPTION_REALS:
    break;
  }
  return OPT_STRING;
}

void opt_out_of_memory(void) {
  fputs("comp: out of memory\n", stderr);
  _exit(1);
}

/* The choices as a list that ends with NULL; it should be freed via free(). */
static const char **copy_choices(const comp_option *option) {
  size_t n = 0;
  while (comp_option_choice(option, n)) n++;
  const char **list = calloc(n + 1, sizeof *list);
  for (size_t i = 0; list && i < n; i++) list[i] = comp_option_choice(option, i);
  return list;
}

/* The help of an option, and behind it what its choices are; NULL: out of memory. What the option itself does not own
 * should be freed via free(). */
static const char *full_help(const comp_option *option) {
  const char *help = comp_option_help(option), *name, *words, *between = ": ";
  size_t size = 0;
  for (size_t i = 0; (name = comp_option_choice(option, i)); i++)
    if ((words = comp_option_choice_help(option, i))) size += strlen(name) + strlen(words) + 3;
  if (size == 0) return help;
  char *text = malloc(strlen(help) + size + 1), *end = text;
  if (!text) return NULL;
  end += sprintf(end, "%s", help);
  for (size_t i = 0; (name = comp_option_choice(option, i)); i++) {
    if (!(words = comp_option_choice_help(option, i))) continue;
    end += sprintf(end, "%s%s %s", between, name, words);
    between = ", ";
  }
  return text;
}

static opt_spec expanded_row(const opt_spec *include, const comp_option *option) {
  const comp_option_type type = comp_option_get_type(option);
  return (opt_spec){.name = comp_option_name(option),
                    .letter = comp_option_letter(option),
                    .kind = kind_of(type),
                    .repeat = type == COMP_OPTION_TEXTS,
                    .required = comp_option_required(option),
                    .offset = include->offset,
                    .size = include->size,
                    .metavar = comp_option_metavar(option),
                    .group = include->group ? include->group : comp_option_group(option),
                    .help = full_help(option),
                    .choices = type == COMP_OPTION_CHOICE ? copy_choices(option) : NULL,
                    .unset = include->unset,
                    .rows = include->rows,
                    .option = option};
}

/* Puts the rows of a kind at the end of the expanded table. */
static bool expand_kind(opt_spec *out, size_t *count, const opt_spec *table, const opt_spec *include) {
  comp_options *options;
  const comp_option *option;
  bool whole = true;
  if (comp_options_new(&options, include->rows) != COMP_OK) return false;
  for (size_t i = 0; whole && (option = comp_options_at(options, i)); i++) {
    const char *name = comp_option_name(option);
    if ((include->only && !is_listed(include->only, name)) || is_listed(include->without, name)) continue;
    if (has_name(table, name) || comp_option_library_only(option)) continue;
    assert(*count + 1 < OPT_MAX);
    const opt_spec *row = &out[*count];
    out[(*count)++] = expanded_row(include, option);
    whole = row->help && (row->choices || comp_option_get_type(option) != COMP_OPTION_CHOICE);
  }
  comp_options_free(options);
  return whole;
}

static bool same_group(const opt_spec *a, const opt_spec *b) {
  return strcmp(a->group ? a->group : "Options", b->group ? b->group : "Options") == 0;
}

/* Rows of a group stand together, groups in the order of their first rows. */
static void gather_groups(opt_spec *rows, size_t count) {
  for (size_t i = 0; i + 1 < count; i++) {
    size_t next = i + 1;
    while (next < count && !same_group(&rows[i], &rows[next])) next++;
    if (next == count) continue;
    opt_spec row = rows[next];
    memmove(&rows[i + 2], &rows[i + 1], (next - i - 1) * sizeof *rows);
    rows[i + 1] = row;
  }
}

opt_spec *opt_expand(const opt_spec *table) {
  size_t count = 0;
  opt_spec *out = calloc(OPT_MAX, sizeof *out);
  for (const opt_spec *spec = table; out && (spec->name || spec->rows); spec++) {
    if (spec->name) {
      out[count++] = *spec;
    } else if (!expand_kind(out, &count, table, spec)) {
      opt_expand_free(out);
      return NULL;
    }
  }
  if (out) gather_groups(out, count);
  return out;
}

void opt_expand_free(opt_spec *table) {
  for (opt_spec *spec = table; spec && spec->name; spec++)
    if (spec->option) {
      free((void *)spec->choices);
      if (spec->help != comp_option_help(spec->option)) free((void *)spec->help);
    }
  free(table);
}

/* ---- words for help ---- */

char *opt_usage(char *buffer, size_t size, const opt_spec *spec) {
  char letter[8] = "    ";
  if (spec->letter) snprintf(letter, sizeof letter, "-%c, ", spec->letter);
  const char *metavar = !opt_takes_value(spec) ? "" : spec->metavar ? spec->metavar : "VALUE";
  snprintf(buffer, size, "%s--%s%s%s", letter, spec->name, *metavar ? " " : "", metavar);
  return buffer;
}

static void int_default(char *buffer, size_t size, const opt_spec *spec, const void *field) {
  long long value = spec->size == 4 ? *(const int32_t *)field : *(const int64_t *)field;
  if (value != OPT_UNSET_INT) snprintf(buffer, size, "%lld", value);
}

static void real_default(char *buffer, size_t size, const opt_spec *spec, const void *field) {
  const bool is_float = spec->size == sizeof(float);
  double value = is_float ? (double)*(const float *)field : *(const double *)field;
  if (!isnan(value)) comp_format_real(buffer, size, value, is_float);
}

static void size_default(char *buffer, size_t size, const void *field) {
  uint64_t value = *(const uint64_t *)field;
  const char *suffix = "";
  for (const char *s = "KMGT"; *s && value && value % 1024 == 0; s++) {
    value /= 1024;
    suffix = s;
  }
  snprintf(buffer, size, "%llu%.1s", (unsigned long long)value, suffix);
}

static void list_default(char *buffer, size_t size, const opt_list *list) {
  size_t used = 0;
  for (size_t i = 0; i < list->count && used < size; i++)
    used += (size_t)snprintf(buffer + used, size - used, "%s%s", i ? ", " : "", list->items[i]);
}

/* The library's default, and what it says in words. */
static void option_default(char *buffer, size_t size, const opt_spec *spec) {
  comp_options *fresh;
  char text[128];
  const char *words = spec->unset ? spec->unset : comp_option_unset(spec->option), *value = NULL;
  if (comp_options_new(&fresh, spec->rows) != COMP_OK) opt_out_of_memory();
  if (!words) words = comp_option_varies(spec->option), value = comp_options_get(fresh, spec->name, text, sizeof text);
  snprintf(buffer, size, "%s%s%s", value ? value : "", value && words ? "; " : "", words ? words : "");
  comp_options_free(fresh);
}

char *opt_default(char *buffer, size_t size, const opt_spec *spec, const void *defaults) {
  buffer[0] = '\0';
  if (opt_takes_value(spec) && spec->option) option_default(buffer, size, spec);
  if (!opt_takes_value(spec) || !defaults || spec->option) return buffer;
  const void *field = (const char *)defaults + spec->offset;
  if (spec->repeat) {
    list_default(buffer, size, field);
  } else if (spec->kind == OPT_INT) {
    int_default(buffer, size, spec, field);
  } else if (spec->kind == OPT_REAL) {
    real_default(buffer, size, spec, field);
  } else if (spec->kind == OPT_SIZE) {
    size_default(buffer, size, field);
  } else if (*(const char *const *)field) {
    snprintf(buffer, size, "%s", *(const char *const *)field);
  }
  if (!buffer[0] && spec->unset) snprintf(buffer, size, "%s", spec->unset);
  return buffer;
}
