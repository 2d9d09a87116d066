/* palette.h: colours that people with any kind of colour vision can tell apart. */
#ifndef COMP_REPORT_PALETTE_H
#define COMP_REPORT_PALETTE_H

#include <stddef.h>
#include <stdint.h>

#include "comp/status.h"

/* A colour as 0xRRGGBB. */
typedef uint32_t comp__color;

#define COMP__COLOR_MISSING 0xBDBDBDu

/* What points are drawn on: paper, and the dark theme of the page (--plot in web/src/style.css). */
typedef enum comp__ground { COMP__ON_LIGHT, COMP__ON_DARK } comp__ground;
#define COMP__DARK 0x14181Du

/* Colours for n categories: up to 8 those of Okabe and Ito (white for black on dark ground); beyond, each further one
 * is as far as can be from all before it, for normal, red-blind and green-blind eyes alike. On dark ground all have a
 * contrast of 3:1 or more. The first n of a longer palette are those of a shorter one. It should be freed via
 * comp__free(). */
comp_status comp__palette(comp__color **out, size_t n, comp__ground ground);

/* The contrast of two colours as WCAG 2 has it: 1 to 21. */
double comp__contrast(comp__color a, comp__color b);

/* A colour of the scale "viridis", t in 0 .. 1. */
comp__color comp__viridis(double t);

#endif
