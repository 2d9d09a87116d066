/* progress.c: shows how far a task is, on stderr. On a terminal one line is drawn over and over; elsewhere (a log file,
 * a cluster job) a long task writes a line every ten seconds, and a short one nothing. */
#include "cli/progress.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/text.h"

static const double LINE_EVERY = 10;  /* seconds between plain lines */
static const double WORTH_A_LINE = 2; /* seconds from which a finished task leaves a line */
enum { BAR_MOST = 30, BAR_LEAST = 8, TEXT_MOST = 512 };

double cli_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- text ---- */

/* Text that grows in a buffer and is cut where the buffer ends. */
typedef struct line {
  char *text;
  size_t size, used;
} line;

__attribute__((format(printf, 2, 3))) static void line_add(line *l, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int n = vsnprintf(l->text + l->used, l->size - l->used, format, arguments);
  va_end(arguments);
  l->used += n < 0 ? 0 : (size_t)n;
  if (l->used >= l->size) l->used = l->size - 1;
}

static void add_amount(line *l, const comp_progress *report, const char *of) {
  char done[32], total[32];
  line_add(l, "%s", text_count(done, sizeof done, report->done));
  if (report->total) line_add(l, "%s%s", of, text_count(total, sizeof total, report->total));
  if (report->unit) line_add(l, " %s", report->unit);
}

static void add_rate(line *l, double rate) {
  char count[32];
  if (!(rate > 0)) return;
  if (rate >= 10)
    line_add(l, ", %s/s", text_count(count, sizeof count, (uint64_t)llround(fmin(rate, 1e18))));
  else
    line_add(l, ", %.2g/s", rate);
}

static void add_time_left(line *l, const comp_progress *report, double rate) {
  char left[32];
  if (!(rate > 0) || report->done >= report->total) return;
  line_add(l, ", %s left", text_duration(left, sizeof left, (double)(report->total - report->done) / rate));
}

static double part_done(const comp_progress *report) {
  return report->total ? fmin(1, (double)report->done / (double)report->total) : 0;
}

/* "45%  1,234/5,678 cells, 512/s, 8.7 s left, loss 0.31" */
static void add_state(line *l, const comp_progress *report, double rate) {
  if (report->total) line_add(l, "%3.0f%%  ", floor(100 * part_done(report)));
  add_amount(l, report, "/");
  add_rate(l, rate);
  add_time_left(l, report, rate);
  if (report->note) line_add(l, ", %s", report->note);
}

char *cli_progress_bar(char *buffer, size_t size, const comp_progress *report, double rate, int width) {
  char state[TEXT_MOST];
  line s = {state, sizeof state, 0}, l = {buffer, size, 0};
  add_state(&s, report, rate);
  line_add(&l, "%s  ", report->task);
  int room = width - (int)text_length(buffer) - (int)text_length(state) - (int)strlen("[] ");
  if (room > BAR_MOST) room = BAR_MOST;
  if (report->total && room >= BAR_LEAST) {
    line_add(&l, "[");
    int filled = (int)(part_done(report) * room);
    for (int i = 0; i < room; i++) line_add(&l, "%c", i < filled ? '#' : '.');
    line_add(&l, "] ");
  }
  line_add(&l, "%s", state);
  return text_cut(text_clean(buffer), (size_t)(width > 0 ? width : 0));
}

char *cli_progress_line(char *buffer, size_t size, const comp_progress *report, double rate) {
  line l = {buffer, size, 0};
  line_add(&l, "%s: ", report->task);
  if (report->total) line_add(&l, "%.0f%%, ", floor(100 * part_done(report)));
  add_amount(&l, report, " of ");
  add_time_left(&l, report, rate);
  if (report->note) line_add(&l, ", %s", report->note);
  return text_clean(buffer);
}

char *cli_progress_last(char *buffer, size_t size, const comp_progress *report, double elapsed) {
  char time[32];
  comp_progress whole = *report;
  whole.total = 0;
  line l = {buffer, size, 0};
  line_add(&l, "%s: ", report->task);
  add_amount(&l, &whole, "");
  line_add(&l, " in %s", text_duration(time, sizeof time, elapsed));
  if (report->note) line_add(&l, ", %s", report->note);
  return text_clean(buffer);
}

/* ---- stderr ---- */

void cli_progress_init(cli_progress *progress) {
  const char *term = getenv("TERM");
  memset(progress, 0, sizeof *progress);
  progress->terminal = isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
}

void cli_progress_clear(cli_progress *progress) {
  if (progress->bar_shown) fputs("\r\033[K", stderr);
  progress->bar_shown = false;
}

static void begin_task(cli_progress *progress, const comp_progress *report) {
  snprintf(progress->task, sizeof progress->task, "%s", report->task);
  progress->running = true;
  progress->started = progress->last_line = cli_now();
  progress->first = report->done;
}

static bool same_task(const cli_progress *progress, const comp_progress *report) {
  return progress->running && strncmp(progress->task, report->task, sizeof progress->task - 1) == 0;
}

static void finish_task(cli_progress *progress, const comp_progress *report, double elapsed) {
  char text[TEXT_MOST];
  cli_progress_clear(progress);
  if (elapsed > WORTH_A_LINE) fprintf(stderr, "%s\n", cli_progress_last(text, sizeof text, report, elapsed));
  progress->running = false;
}

static void draw_bar(cli_progress *progress, const comp_progress *report, double rate) {
  char text[TEXT_MOST];
  /* one column is left free: a full line would make some terminals go to the next one */
  cli_progress_bar(text, sizeof text, report, rate, text_columns(STDERR_FILENO, 80) - 1);
  fprintf(stderr, "\r%s\033[K", text);
  progress->bar_shown = true;
}

static void write_line(cli_progress *progress, const comp_progress *report, double rate, double now) {
  char text[TEXT_MOST];
  if (now - progress->last_line < LINE_EVERY) return;
  fprintf(stderr, "%s\n", cli_progress_line(text, sizeof text, report, rate));
  progress->last_line = now;
}

void cli_progress_show(cli_progress *progress, const comp_progress *report) {
  if (!same_task(progress, report)) begin_task(progress, report);
  double now = cli_now(), elapsed = now - progress->started;
  double rate = elapsed > 0 && report->done > progress->first ? (double)(report->done - progress->first) / elapsed : 0;
  if (report->finished)
    finish_task(progress, report, elapsed);
  else if (progress->terminal)
    draw_bar(progress, report, rate);
  else
    write_line(progress, report, rate, now);
}
