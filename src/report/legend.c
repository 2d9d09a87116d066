/* legend.c: legends: one column beside a picture, or several below it. */
#include "report/legend.h"

#include <math.h>
#include <stdio.h>

/* Measures in units of the text's size. */
#define SWATCH  0.8
#define GAP     0.5
#define LEADING 1.55

/* The largest width of a name before it is broken, in points: a third of a page. */
#define WIDEST (46 * COMP__MM)

static double number_width(comp__canvas *canvas, const comp__legend *legend) {
  char text[32];
  if (!legend->numbered) return 0;
  snprintf(text, sizeof text, "%zu ", legend->count);
  return comp__text_width(canvas, canvas->font, COMP__PLAIN, text);
}

static double widest_name(comp__canvas *canvas, const comp__legend *legend, double limit) {
  double width = 0;
  for (size_t i = 0; i < legend->count && width < limit; i++)
    width = fmax(width, comp__text_width(canvas, canvas->font, COMP__PLAIN, legend->names[i]));
  return fmin(width, limit);
}

/* Of the spot of colour before a name, in points. */
static double swatch_width(const comp__canvas *canvas, const comp__legend *legend) {
  return legend->colors ? (SWATCH + GAP) * canvas->font : 0;
}

/* A column's width without the space after it. */
static double entry_width(comp__canvas *canvas, const comp__legend *legend) {
  return swatch_width(canvas, legend) + number_width(canvas, legend) + widest_name(canvas, legend, WIDEST);
}

bool comp__legend_beside(comp__canvas *canvas, const comp__legend *legend, double height) {
  return (double)(legend->count + 1) * LEADING * canvas->font <= height &&
         widest_name(canvas, legend, WIDEST) < 34 * COMP__MM;
}

double comp__legend_width(comp__canvas *canvas, const comp__legend *legend) {
  return fmax(entry_width(canvas, legend), comp__text_width(canvas, canvas->font, COMP__BOLD, legend->title));
}

double comp__legend_draw(comp__canvas *canvas, const comp__legend *legend, double x, double y, double width) {
  double size = canvas->font, numbers = number_width(canvas, legend), space = 1.5 * size;
  double swatch = swatch_width(canvas, legend);
  double entry = fmin(entry_width(canvas, legend), width), half = (width - space) / 2;
  if (legend->count > 12 && entry > half && half > 28 * COMP__MM) entry = half; /* a long list wants two columns */
  size_t columns = (size_t)fmin(floor((width + space) / (entry + space)), (double)legend->count);
  if (columns < 1) columns = 1;
  /* Names that are broken into lines take what room there is. */
  double whole = (width + space) / (double)columns - space - swatch - numbers;
  entry = fmax(entry, swatch + numbers + widest_name(canvas, legend, whole));
  size_t rows = (legend->count + columns - 1) / columns;
  double text_width = entry - swatch - numbers;
  comp__lines lines;
  comp__set_color(canvas, 0x111111);
  comp__text_wrap(&lines, canvas, size, COMP__BOLD, legend->title, width, 2);
  double top = comp__text_lines(canvas, x, y + size, size, COMP__BOLD, 0, &lines) + 0.25 * size, bottom = top;
  for (size_t column = 0; column * rows < legend->count; column++) {
    double left = x + (double)column * (entry + space), at = top;
    for (size_t i = column * rows; i < legend->count && i < (column + 1) * rows; i++) {
      if (legend->colors) {
        comp__set_color(canvas, legend->colors[i]);
        const double half_swatch = SWATCH * size / 2, middle = at - 0.36 * size;
        if (i + legend->squares >= legend->count)
          canvas->pen->rectangle(canvas->sheet, left, middle - half_swatch, 2 * half_swatch, 2 * half_swatch);
        else
          canvas->pen->circle(canvas->sheet, left + half_swatch, middle, half_swatch);
        canvas->pen->fill(canvas->sheet);
      }
      comp__set_color(canvas, 0x111111);
      if (legend->numbered) {
        char number[32];
        snprintf(number, sizeof number, "%zu", i + 1);
        comp__text(canvas, left + swatch + numbers - 0.35 * size, at, size, COMP__PLAIN, 1, number);
      }
      comp__text_wrap(&lines, canvas, size, COMP__PLAIN, legend->names[i], text_width + 0.1, COMP__LINES);
      at = comp__text_lines(canvas, left + swatch + numbers, at, size, COMP__PLAIN, 0, &lines) + (LEADING - 1.2) * size;
    }
    bottom = fmax(bottom, at);
  }
  return bottom - LEADING * size + 0.4 * size - y;
}

double comp__colorbar_draw(comp__canvas *canvas, const char *title, double min, double max, double x, double y,
                           double height) {
  double size = canvas->font, ticks[12];
  comp__lines lines;
  comp__text_wrap(&lines, canvas, size, COMP__BOLD, title, 30 * COMP__MM, 3);
  comp__set_color(canvas, 0x111111);
  double top = comp__text_lines(canvas, x, y + size, size, COMP__BOLD, 0, &lines),
         bar = fmin(height - (top - y), 35 * COMP__MM);
  comp__color shades[33];
  for (int k = 0; k <= 32; k++) shades[k] = comp__viridis(k / 32.0);
  canvas->pen->rectangle(canvas->sheet, x, top, 3 * COMP__MM, bar);
  canvas->pen->fill_shades(canvas->sheet, shades, 33, top + bar, top);
  size_t n = max > min ? comp__ticks(ticks, min, max, 4) : 0;
  comp__set_color(canvas, 0x333333);
  for (size_t i = 0; i < n; i++) {
    char text[32];
    double at = top + bar * (1 - (ticks[i] - min) / (max - min));
    comp__text(canvas, x + 3 * COMP__MM + 3, at + 0.36 * size, size, COMP__PLAIN, 0,
               comp__tick_text(text, ticks[i], n > 1 ? ticks[1] - ticks[0] : ticks[i]));
  }
  return fmax(lines.width, 14 * COMP__MM);
}
