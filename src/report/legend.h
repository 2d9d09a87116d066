/* legend.h: what the colours of a figure mean. */
#ifndef COMP_REPORT_LEGEND_H
#define COMP_REPORT_LEGEND_H

#include "report/canvas.h"

typedef struct comp__legend {
  const char *title;
  const char *const *names;
  const comp__color *colors; /* NULL: a key of numbers alone */
  size_t count;
  bool numbered;  /* each name has a number before it */
  size_t squares; /* so many of the last have a square in place of a dot */
} comp__legend;

/* Whether it is best put beside a picture of that height (else below, over the whole width). */
bool comp__legend_beside(comp__canvas *canvas, const comp__legend *legend, double height);

/* The width that it takes beside a picture. */
double comp__legend_width(comp__canvas *canvas, const comp__legend *legend);

/* Draws it in as many columns as fit the width, names broken into lines as needed; gives its height. */
double comp__legend_draw(comp__canvas *canvas, const comp__legend *legend, double x, double y, double width);

/* A scale of colours for numbers, upright; gives its width. */
double comp__colorbar_draw(comp__canvas *canvas, const char *title, double min, double max, double x, double y,
                           double height);

#endif
