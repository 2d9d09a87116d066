/* palette.h: colours that people with any kind of colour vision can tell apart. */
#ifndef COMP_REPORT_PALETTE_H
#define COMP_REPORT_PALETTE_H

#include <stddef.h>
#include <stdint.h>

#include "comp/status.h"

/* A colour as 0xRRGGBB. */
typedef uint32_t comp__color;

#define COMP__COLOR_MISSING 0xBDBDBDu

/* Colours for n categories: up to 8 those of Okabe and Ito; beyond, each further one is as far as can be from all
 * before it, for normal, red-blind and green-blind eyes alike. The first n of a longer palette are those of a shorter
 * one. It should be freed via comp__free(). */
comp_status comp__palette(comp__color **out, size_t n);

/* A colour of the scale "viridis", t in 0 .. 1. */
comp__color comp__viridis(double t);

#endif
