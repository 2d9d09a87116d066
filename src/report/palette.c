/* palette.c: colours for categories (Okabe-Ito, then a greedy search in OKLab) and for numbers (viridis). */
#include "report/palette.h"

#include <float.h>
#include <math.h>

#include "core/alloc.h"
#include "core/error.h"

static const comp__color okabe_ito[] = {0x0072B2, 0xE69F00, 0x009E73, 0xCC79A7, 0xD55E00, 0x56B4E9, 0xF0E442, 0x000000};
enum { FIXED = sizeof okabe_ito / sizeof *okabe_ito };

/* Lightness, hue and chroma of the candidates, and the contrast that they have on dark ground at least. */
enum { LIGHTS = 6, HUES = 30, CHROMAS = 3, CANDIDATES = LIGHTS * HUES * CHROMAS, EYES = 3 };
#define LEAST_CONTRAST 3

/* How red-blind and green-blind eyes see linear RGB (Machado, Oliveira and Fernandes 2009, severity 1). */
static const double eyes[EYES][9] = {
    {1, 0, 0, 0, 1, 0, 0, 0, 1},
    {0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998},
    {0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.011820, 0.042940, 0.968881},
};

static double to_linear(double v) {
  return v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4);
}

static double to_srgb(double v) {
  return v <= 0.0031308 ? 12.92 * v : 1.055 * pow(v, 1 / 2.4) - 0.055;
}

static double luminance(comp__color color) {
  static const double weights[] = {0.2126, 0.7152, 0.0722};
  double sum = 0;
  for (int i = 0; i < 3; i++) sum += weights[i] * to_linear((double)(color >> (16 - 8 * i) & 255u) / 255.0);
  return sum;
}

double comp__contrast(comp__color a, comp__color b) {
  double x = luminance(a) + 0.05, y = luminance(b) + 0.05;
  return x > y ? x / y : y / x;
}

/* Ottosson's OKLab: distances in it are near to what eyes see. */
static void lab_of_linear(double lab[3], const double rgb[3]) {
  double l = cbrt(0.4122214708 * rgb[0] + 0.5363325363 * rgb[1] + 0.0514459929 * rgb[2]);
  double m = cbrt(0.2119034982 * rgb[0] + 0.6806995451 * rgb[1] + 0.1073969566 * rgb[2]);
  double s = cbrt(0.0883024619 * rgb[0] + 0.2817188376 * rgb[1] + 0.6299787005 * rgb[2]);
  lab[0] = 0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s;
  lab[1] = 1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s;
  lab[2] = 0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s;
}

static void linear_of_lab(double rgb[3], const double lab[3]) {
  double l = pow(lab[0] + 0.3963377774 * lab[1] + 0.2158037573 * lab[2], 3);
  double m = pow(lab[0] - 0.1055613458 * lab[1] - 0.0638541728 * lab[2], 3);
  double s = pow(lab[0] - 0.0894841775 * lab[1] - 1.2914855480 * lab[2], 3);
  rgb[0] = 4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s;
  rgb[1] = -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s;
  rgb[2] = -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s;
}

/* A colour as each kind of eye sees it, in OKLab. */
typedef struct seen {
  double lab[EYES][3];
} seen;

static seen see(comp__color color) {
  seen out;
  double rgb[3];
  for (int i = 0; i < 3; i++) rgb[i] = to_linear((double)(color >> (16 - 8 * i) & 255u) / 255.0);
  for (int e = 0; e < EYES; e++) {
    double by_eye[3];
    for (int i = 0; i < 3; i++)
      by_eye[i] = fmax(0, eyes[e][3 * i] * rgb[0] + eyes[e][3 * i + 1] * rgb[1] + eyes[e][3 * i + 2] * rgb[2]);
    lab_of_linear(out.lab[e], by_eye);
  }
  return out;
}

/* The distance for the eye that finds the two hardest to tell apart; normal eyes count for more. */
static double distance(const seen *a, const seen *b) {
  double least = DBL_MAX;
  for (int e = 0; e < EYES; e++) {
    double sum = 0;
    for (int i = 0; i < 3; i++) sum += pow(a->lab[e][i] - b->lab[e][i], 2);
    least = fmin(least, sqrt(sum) * (e == 0 ? 0.6 : 1));
  }
  return least;
}

/* False when no screen shows that colour, or it cannot be seen on the ground. */
static int candidate(comp__color *out, size_t index, comp__ground ground) {
  static const double lights[][LIGHTS] = {{0.36, 0.46, 0.56, 0.66, 0.75, 0.84}, {0.54, 0.62, 0.7, 0.78, 0.86, 0.93}};
  static const double chromas[CHROMAS] = {0.05, 0.11, 0.17};
  double hue = 2 * M_PI * (double)(index % HUES) / HUES, chroma = chromas[index / HUES % CHROMAS];
  double lab[3] = {lights[ground][index / HUES / CHROMAS], chroma * cos(hue), chroma * sin(hue)}, rgb[3];
  linear_of_lab(rgb, lab);
  *out = 0;
  for (int i = 0; i < 3; i++) {
    if (rgb[i] < 0 || rgb[i] > 1) return 0;
    *out = *out << 8 | (comp__color)lround(255 * to_srgb(rgb[i]));
  }
  return ground == COMP__ON_LIGHT || comp__contrast(*out, COMP__DARK) >= LEAST_CONTRAST;
}

static void extend(comp__color *out, size_t n, comp__ground ground) {
  comp__color colors[CANDIDATES];
  seen looks[CANDIDATES];
  double nearest[CANDIDATES];
  size_t count = 0;
  for (size_t i = 0; i < CANDIDATES; i++)
    if (candidate(&colors[count], i, ground)) {
      looks[count] = see(colors[count]);
      nearest[count] = DBL_MAX;
      count++;
    }
  seen back = see(ground == COMP__ON_DARK ? COMP__DARK : 0xFFFFFF), last = see(out[0]);
  for (size_t i = 0; i < count; i++) nearest[i] = distance(&looks[i], &back);
  for (size_t k = 0; k < n; k++) {
    if (k >= FIXED) {
      size_t best = 0;
      for (size_t i = 1; i < count; i++)
        if (nearest[i] > nearest[best]) best = i;
      /* More categories than colours that differ: they repeat. */
      out[k] = nearest[best] > 0 ? colors[best] : out[k % 64];
    }
    last = see(out[k]);
    for (size_t i = 0; i < count; i++) nearest[i] = fmin(nearest[i], distance(&looks[i], &last));
  }
}

comp_status comp__palette(comp__color **out, size_t n, comp__ground ground) {
  comp__color *colors;
  comp_status status = comp__alloc(&colors, n > FIXED ? n : FIXED, sizeof *colors);
  if (status != COMP_OK) return status;
  for (size_t i = 0; i < FIXED; i++) colors[i] = okabe_ito[i];
  if (ground == COMP__ON_DARK) colors[FIXED - 1] = 0xF2F2F2; /* nobody sees black */
  if (n > FIXED) extend(colors, n, ground);
  *out = colors;
  return COMP_OK;
}

comp__color comp__viridis(double t) {
  /* A polynomial through matplotlib's table, within 1 % of it. */
  static const double c[7][3] = {
      {0.2777273272234177, 0.005407344544966578, 0.3340998053353061},
      {0.1050930431085774, 1.404613529898575, 1.384590162594685},
      {-0.3308618287255563, 0.214847559468213, 0.09509516302823659},
      {-4.634230498983486, -5.799100973351585, -19.33244095627987},
      {6.228269936347081, 14.17993336680509, 56.69055260068105},
      {4.776384997670288, -13.74514537774601, -65.35303263337234},
      {-5.435455855934631, 4.645852612178535, 26.3124352495832},
  };
  t = fmin(1, fmax(0, t));
  comp__color color = 0;
  for (int i = 0; i < 3; i++) {
    double value = 0;
    for (int k = 6; k >= 0; k--) value = value * t + c[k][i];
    color = color << 8 | (comp__color)lround(255 * fmin(1, fmax(0, value)));
  }
  return color;
}
