/* line.c: the command line that does the same as a step of a run. It is made from the options that the step gets. */
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "pipeline/job.h"
#include "text/stream.h"

/* As a shell takes it. */
static void put_word(FILE *out, const char *word) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,+%@";
  if (*word && strspn(word, plain) == strlen(word)) {
    fprintf(out, " %s", word);
    return;
  }
  fputs(" '", out);
  for (; *word; word++) fputs(*word == '\'' ? "'\\''" : (char[]){*word, '\0'}, out);
  fputc('\'', out);
}

static bool open_words(comp__words *w) {
  if (!w->shown && !w->lost) w->shown = comp__text_stream(&w->shown_text, &w->shown_size);
  if (!w->key && !w->lost) w->key = comp__text_stream(&w->key_text, &w->key_size);
  w->lost = !w->shown || !w->key; /* for good: a word would be missing */
  return !w->lost;
}

void comp__words_start(comp__words *w, const char *command) {
  if (!open_words(w)) return;
  fprintf(w->shown, "comp %s", command);
  fputs(command, w->key);
}

void comp__words_show(comp__words *w, const char *option, const char *value) {
  if (!open_words(w)) return;
  put_word(w->shown, option);
  if (value) put_word(w->shown, value);
}

void comp__words_add(comp__words *w, const char *option, const char *value) {
  comp__words_show(w, option, value);
  if (!w->key) return;
  put_word(w->key, option);
  if (value) put_word(w->key, value);
}

/* "--condition", "-k". */
static const char *dashed(char *buffer, size_t size, const char *name) {
  snprintf(buffer, size, "%s%s", name[1] ? "--" : "-", name);
  return buffer;
}

static void show_item(comp__words *w, const comp_options *options, const char *name, size_t i) {
  char word[80];
  size_t count;
  const char *const *items = comp_options_get_list(&count, options, name);
  if (i < count) comp__words_show(w, dashed(word, sizeof word, name), items[i]);
}

/* The items of a list, each with those of other lists that belong to it. */
static void show_list(comp__words *w, const comp_options *options, const comp_option *list) {
  const comp_option *other;
  size_t count;
  comp_options_get_list(&count, options, list->name);
  for (size_t i = 0; i < count && !list->beside; i++) {
    show_item(w, options, list->name, i);
    for (size_t k = 0; (other = comp_options_at(options, k)); k++)
      if (other->beside && strcmp(other->beside, list->name) == 0) show_item(w, options, other->name, i);
  }
}

/* One option that is set, as it is given on a command line. */
static comp_status show_option(comp__words *w, const comp_options *options, const comp_option *option) {
  char name[80], value[4096];
  if (option->type == COMP_OPTION_TEXTS) {
    show_list(w, options, option);
    return COMP_OK;
  }
  dashed(name, sizeof name, option->name);
  const char *text = comp_options_get(options, option->name, value, sizeof value);
  if (!text) return COMP_ERR_ARGUMENT; /* names that are longer than any line: the message says so */
  if (option->type != COMP_OPTION_BOOL)
    comp__words_show(w, name, text);
  else if (strcmp(text, "true") == 0)
    comp__words_show(w, name, NULL);
  return COMP_OK;
}

comp_status comp__words_add_options(comp__words *w, const comp_options *options) {
  const comp_option *option;
  char *text;
  comp_status status = COMP_OK;
  for (size_t i = 0; status == COMP_OK && (option = comp_options_at(options, i)); i++)
    if (comp_options_given(options, option->name)) status = show_option(w, options, option);
  if (status == COMP_OK) status = comp_options_to_json(&text, options);
  if (status != COMP_OK) return status;
  if (open_words(w)) fprintf(w->key, " %s %s", comp_options_kind(options), text);
  comp_free(text);
  return COMP_OK;
}

comp_status comp__words_end(comp__words *w) {
  bool good = open_words(w);
  if (w->shown) good = fclose(w->shown) == 0 && good;
  if (w->key) good = fclose(w->key) == 0 && good;
  w->shown = w->key = NULL;
  return good ? COMP_OK : comp__error(COMP_ERR_MEMORY, "out of memory");
}

void comp__words_release(comp__words *w) {
  if (w->shown) fclose(w->shown);
  if (w->key) fclose(w->key);
  free(w->shown_text);
  free(w->key_text);
  *w = (comp__words){0};
}
