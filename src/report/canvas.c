/* canvas.c: the sheet: files by their ending, text that is measured and broken, axes. Drawing itself is pen.h. */
#include "report/canvas.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "comp/file.h"
#include "core/alloc.h"
#include "core/error.h"
#include "core/module.h"
#include "core/strings.h"

/* COMP__FORMATS: none. */
static comp__format format_of(const char *path) {
  static const char *const endings[COMP__FORMATS] = {".svg", ".pdf", ".png"};
  size_t length = strlen(path);
  int k = 0;
  while (k < COMP__FORMATS && (length <= 4 || strcasecmp(path + length - 4, endings[k]) != 0)) k++;
  return (comp__format)k;
}

static comp_status get_pen(const comp__pen **out) {
  const void *table;
  comp_status status = comp__module_table(&table, COMP__MODULE_FIGURES, sizeof **out);
  *out = table;
  return status;
}

comp_status comp_figure_check(const char *path) {
  COMP__NEED(path);
  const comp__pen *pen;
  if (format_of(path) == COMP__FORMATS)
    return comp__error(COMP_ERR_ARGUMENT, "'%s': a figure's name must end in .svg, .pdf or .png", path);
  comp_status status = comp_file_check_writable(path);
  return status == COMP_OK ? get_pen(&pen) : status;
}

comp_status comp__canvas_init(comp__canvas *out, const comp__figure_options *options, double width_mm) {
  *out = (comp__canvas){
      .width = (options->width > 0 ? options->width : width_mm) * COMP__MM, .font = options->font, .dpi = options->dpi};
  comp_status status = get_pen(&out->pen);
  if (status == COMP_OK) out->sheet = out->pen->sheet_new(out->width);
  return status;
}

void comp__canvas_release(comp__canvas *canvas) {
  if (canvas->sheet) canvas->pen->sheet_free(canvas->sheet);
  *canvas = (comp__canvas){0};
}

/* What a file will hold. */
typedef struct bytes {
  unsigned char *data;
  size_t used, capacity;
  bool lost; /* some for which there was no memory: cairo does not report that it could not write all of a PDF */
} bytes;

static bool take(void *to, const unsigned char *data, size_t count) {
  bytes *b = to;
  b->lost = b->lost || comp__grow(&b->data, &b->capacity, b->used, b->used + count, 1) != COMP_OK;
  if (b->lost) return false;
  memcpy(b->data + b->used, data, count);
  b->used += count;
  return true;
}

/* cairo numbers surfaces through the life of the process: "surface41". Here they are numbered within the file, from 1,
 * so that a figure is the same bytes whatever was drawn before. A number never grows by that, and there are few. */
static void renumber_surfaces(bytes *b) {
  static const char word[] = "surface";
  enum { LENGTH = sizeof word - 1, MOST = 64 };
  unsigned long known[MOST];
  size_t n = 0, to = 0;
  for (size_t from = 0; from < b->used;) {
    char digits[16];
    size_t end = from + LENGTH, length = 0, k = 0;
    bool name =
        from > 0 && strchr("\"#", b->data[from - 1]) && end < b->used && memcmp(b->data + from, word, LENGTH) == 0;
    while (name && end < b->used && length < 15 && b->data[end] >= '0' && b->data[end] <= '9')
      digits[length++] = (char)b->data[end++];
    digits[length] = '\0';
    unsigned long number = strtoul(digits, NULL, 10);
    while (k < n && known[k] != number) k++;
    if (length == 0 || k == MOST) {
      b->data[to++] = b->data[from++];
      continue;
    }
    if (k == n) known[n++] = number;
    char text[40];
    size_t size = (size_t)snprintf(text, sizeof text, "%s%zu", word, k + 1);
    memcpy(b->data + to, text, size);
    to += size;
    from = end;
  }
  b->used = to;
}

comp_status comp__canvas_save(comp__canvas *canvas, const char *path) {
  bytes content = {0};
  const char *problem = NULL;
  comp__format format = format_of(path);
  double scale = canvas->dpi / 72, width = canvas->width, height = canvas->height;
  if (format == COMP__PNG && (width * scale > 32000 || height * scale > 32000))
    return comp__error(COMP_ERR_ARGUMENT, "the image would be larger than 32,000 pixels: take a lower dpi, or .svg");
  comp_status status = canvas->pen->save(canvas->sheet, format, width, height, scale, take, &content, &problem);
  if (status != COMP_OK) comp__error(status, "cannot draw the figure: %s", problem);
  if (status == COMP_OK && content.lost) status = comp__error(COMP_ERR_MEMORY, "out of memory: the figure");
  if (status == COMP_OK && format == COMP__SVG) renumber_surfaces(&content);
  if (status == COMP_OK) status = comp_file_write(path, content.data, content.used);
  comp__free(content.data);
  return status;
}

void comp__set_color(comp__canvas *canvas, comp__color color) {
  canvas->pen->color(canvas->sheet, color);
}

/* ---- Text ------------------------------------------------------------------------------------------------------ */

static void use_font(comp__canvas *canvas, double size, comp__weight weight) {
  canvas->pen->font(canvas->sheet, size, weight == COMP__BOLD);
}

/* cairo stops drawing for good at a byte that is not UTF-8, and control characters have no shape: both become '?'. */
static const char *clean(char buffer[2 * COMP__LINE_BYTES], const char *text) {
  snprintf(buffer, 2 * COMP__LINE_BYTES, "%s", text);
  size_t bad;
  while (!comp__utf8_valid(buffer, strlen(buffer), &bad)) buffer[bad] = '?';
  for (char *c = buffer; *c; c++)
    if ((unsigned char)*c < 32 || *c == 127) *c = ' ';
  return buffer;
}

double comp__text_width(comp__canvas *canvas, double size, comp__weight weight, const char *text) {
  char buffer[2 * COMP__LINE_BYTES];
  use_font(canvas, size, weight);
  return canvas->pen->text_width(canvas->sheet, clean(buffer, text));
}

void comp__text(comp__canvas *canvas, double x, double y, double size, comp__weight weight, double anchor,
                const char *text) {
  char buffer[2 * COMP__LINE_BYTES];
  double width = comp__text_width(canvas, size, weight, text);
  canvas->pen->text(canvas->sheet, x - anchor * width, y, clean(buffer, text));
}

void comp__text_up(comp__canvas *canvas, double x, double y, double size, const char *text) {
  canvas->pen->push(canvas->sheet);
  canvas->pen->translate(canvas->sheet, x, y);
  canvas->pen->turn_up(canvas->sheet);
  comp__text(canvas, 0, 0, size, COMP__PLAIN, 0.5, text);
  canvas->pen->pop(canvas->sheet);
}

void comp__text_halo(comp__canvas *canvas, double x, double y, double size, const char *text) {
  use_font(canvas, size, COMP__BOLD);
  canvas->pen->letters(canvas->sheet, x, y, text);
  comp__set_color(canvas, 0xFFFFFF);
  canvas->pen->line_width(canvas->sheet, 0.28 * size);
  canvas->pen->round_joins(canvas->sheet);
  canvas->pen->stroke_keep(canvas->sheet);
  comp__set_color(canvas, 0x111111);
  canvas->pen->fill(canvas->sheet);
}

/* The most bytes of a text that fit a width, whole characters, at least one. */
static size_t bytes_that_fit(comp__canvas *canvas, double size, comp__weight weight, const char *text, double width) {
  char part[COMP__LINE_BYTES];
  size_t length = strlen(text), fits = 0;
  for (size_t end = 0; end < length && end < sizeof part - 8;) {
    end++;
    while (end < length && ((unsigned char)text[end] & 0xC0u) == 0x80u) end++;
    memcpy(part, text, end);
    part[end] = '\0';
    if (fits && comp__text_width(canvas, size, weight, part) > width) break;
    fits = end;
  }
  return fits;
}

/* What is too long loses its middle: names of one family often differ at their end. */
static void cut_middle(char *line, comp__canvas *canvas, double size, comp__weight weight, const char *text,
                       double width) {
  double room = width - comp__text_width(canvas, size, weight, "\u2026");
  size_t head = bytes_that_fit(canvas, size, weight, text, 0.6 * room), tail = strlen(text);
  for (size_t start = tail; start-- > head;)
    if (((unsigned char)text[start] & 0xC0u) != 0x80u) {
      if (comp__text_width(canvas, size, weight, text + start) > 0.4 * room) break;
      tail = start;
    }
  snprintf(line, COMP__LINE_BYTES, "%.*s\u2026%s", (int)head, text, text + tail);
}

void comp__text_wrap(comp__lines *out, comp__canvas *canvas, double size, comp__weight weight, const char *text,
                     double width, size_t max_lines) {
  char whole[2 * COMP__LINE_BYTES];
  const char *rest = clean(whole, text);
  out->count = 0;
  out->width = 0;
  out->cut = false;
  while (*rest && out->count < max_lines) {
    char *line = out->text[out->count];
    size_t length = strlen(rest), fits = bytes_that_fit(canvas, size, weight, rest, width);
    if (fits < length && out->count + 1 == max_lines) {
      cut_middle(line, canvas, size, weight, rest, width);
      out->cut = true;
      rest += length;
    } else {
      if (fits < length)
        for (size_t k = fits; k > fits / 3; k--)
          if (strchr(" _-/|.,", rest[k - 1])) {
            fits = k;
            break;
          }
      snprintf(line, COMP__LINE_BYTES, "%.*s", (int)fits, rest);
      rest += fits;
      while (*rest == ' ') rest++;
    }
    out->width = fmax(out->width, comp__text_width(canvas, size, weight, line));
    out->count++;
  }
}

double comp__text_lines(comp__canvas *canvas, double x, double y, double size, comp__weight weight, double anchor,
                        const comp__lines *lines) {
  for (size_t i = 0; i < lines->count; i++, y += 1.2 * size)
    comp__text(canvas, x, y, size, weight, anchor, lines->text[i]);
  return y;
}

/* ---- Dense points ---------------------------------------------------------------------------------------------- */

void comp__raster_begin(comp__raster *out, const comp__canvas *canvas, double x, double y, double width,
                        double height) {
  double scale = canvas->dpi / 72;
  *out = (comp__raster){.canvas = {.pen = canvas->pen, .font = canvas->font, .dpi = canvas->dpi},
                        .x = floor(x * scale) / scale,
                        .y = floor(y * scale) / scale,
                        .scale = scale};
  out->canvas.sheet = canvas->pen->image_new((int)ceil(width * scale) + 2, (int)ceil(height * scale) + 2, scale);
}

void comp__raster_end(comp__raster *raster, comp__canvas *canvas) {
  canvas->pen->place(canvas->sheet, raster->canvas.sheet, raster->x, raster->y, raster->scale);
  comp__canvas_release(&raster->canvas);
}

/* ---- Axes ------------------------------------------------------------------------------------------------------ */

double comp__frame_x(const comp__frame *frame, double value) {
  return frame->x + frame->width * (value - frame->x_min) / (frame->x_max - frame->x_min);
}

double comp__frame_y(const comp__frame *frame, double value) {
  return frame->y + frame->height * (1 - (value - frame->y_min) / (frame->y_max - frame->y_min));
}

size_t comp__columns(double width, double gap, size_t panels) {
  size_t fit = (size_t)fmin(4, fmax(1, floor((width + gap) / (28 * COMP__MM + gap))));
  return panels < fit ? panels : fit;
}

void comp__range_pad(double *min, double *max, double share) {
  double span = *max - *min;
  if (!(span > 0)) span = fmax(1e-6, fabs(*max));
  *min -= share * span;
  *max += share * span;
}

size_t comp__ticks(double out[12], double min, double max, size_t wanted) {
  double rough = (max - min) / (double)wanted, power = pow(10, floor(log10(rough))), step = power;
  static const double steps[] = {1, 2, 2.5, 5, 10};
  for (int i = 0; i < 5; i++)
    if (steps[i] * power >= rough * 0.999) {
      step = steps[i] * power;
      break;
    }
  size_t n = 0;
  for (double k = ceil(min / step - 1e-9); k * step <= max + 1e-9 * step && n < 12; k++)
    out[n++] = k == 0 ? 0 : k * step;
  return n;
}

const char *comp__tick_text(char buffer[32], double value, double step) {
  if (fabs(value) >= 1e5 || (value != 0 && fabs(step) < 1e-4)) {
    snprintf(buffer, 32, "%.1e", value);
    return buffer;
  }
  int digits = 0;
  for (double s = step; digits < 6 && fabs(s - round(s)) > 1e-6 * fabs(s) + 1e-12; s *= 10) digits++;
  snprintf(buffer, 32, "%.*f", digits, value);
  if (buffer[0] == '-') { /* a real minus sign */
    char copy[32];
    snprintf(copy, sizeof copy, "%s", buffer + 1);
    snprintf(buffer, 32, "\u2212%.28s", copy);
  }
  return buffer;
}

void comp__frame_axes(comp__canvas *canvas, const comp__frame *frame, const char *sides) {
  const comp__pen *pen = canvas->pen;
  comp__sheet *sheet = canvas->sheet;
  double ticks[12], size = canvas->font * 0.86, bottom = frame->y + frame->height;
  char text[32];
  comp__set_color(canvas, 0x333333);
  pen->line_width(sheet, 0.5);
  if (strchr(sides, 'x')) {
    size_t n = comp__ticks(ticks, frame->x_min, frame->x_max, (size_t)fmax(2, frame->width / (5 * size)));
    for (size_t i = 0; i < n; i++) {
      double x = comp__frame_x(frame, ticks[i]);
      pen->move_to(sheet, x, bottom);
      pen->line_to(sheet, x, bottom + 2.5);
      pen->stroke(sheet);
      comp__text(canvas, x, bottom + 3.5 + size, size, COMP__PLAIN, 0.5,
                 comp__tick_text(text, ticks[i], n > 1 ? ticks[1] - ticks[0] : ticks[i]));
    }
  }
  if (strchr(sides, 'y')) {
    size_t n = comp__ticks(ticks, frame->y_min, frame->y_max, (size_t)fmax(2, frame->height / (3 * size)));
    for (size_t i = 0; i < n; i++) {
      double y = comp__frame_y(frame, ticks[i]);
      pen->move_to(sheet, frame->x - 2.5, y);
      pen->line_to(sheet, frame->x, y);
      pen->stroke(sheet);
      comp__text(canvas, frame->x - 4, y + 0.36 * size, size, COMP__PLAIN, 1,
                 comp__tick_text(text, ticks[i], n > 1 ? ticks[1] - ticks[0] : ticks[i]));
    }
  }
  pen->move_to(sheet, frame->x, frame->y);
  pen->line_to(sheet, frame->x, bottom);
  pen->line_to(sheet, frame->x + frame->width, bottom);
  pen->stroke(sheet);
}
