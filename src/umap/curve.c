/* curve.c: least squares for the curve of similarity, by Levenberg and Marquardt's method in two variables. */
#include <math.h>

#include "comp/umap.h"
#include "core/error.h"

enum { POINTS = 300, ROUNDS = 1000 };

static double target(double x, double min_dist, double spread) {
  return x < min_dist ? 1.0 : exp(-(x - min_dist) / spread);
}

/* The sum of squares, and with it the normal equations: g = J^T r, h = J^T J (00, 01, 11). */
static double squares(double *g, double *h, double a, double b, double min_dist, double spread) {
  double sum = 0.0;
  g[0] = g[1] = h[0] = h[1] = h[2] = 0.0;
  for (int i = 0; i < POINTS; i++) {
    double x = 3.0 * spread * (double)i / (POINTS - 1), power = x > 0.0 ? pow(x, 2.0 * b) : 0.0;
    double value = 1.0 / (1.0 + a * power), r = value - target(x, min_dist, spread);
    double by_a = -power * value * value, by_b = x > 0.0 ? -2.0 * a * power * log(x) * value * value : 0.0;
    sum += r * r;
    g[0] += by_a * r;
    g[1] += by_b * r;
    h[0] += by_a * by_a;
    h[1] += by_a * by_b;
    h[2] += by_b * by_b;
  }
  return sum;
}

comp_status comp_umap_curve(double *a, double *b, double min_dist, double spread) {
  COMP__NEED(a, b);
  double p[2] = {1.0, 1.0}, g[2], h[3], damping = 1e-3;
  double best = squares(g, h, p[0], p[1], min_dist, spread);
  for (int round = 0; round < ROUNDS; round++) {
    double h00 = h[0] * (1.0 + damping), h11 = h[2] * (1.0 + damping), det = h00 * h11 - h[1] * h[1];
    if (!(det > 0.0)) break;
    double step[2] = {(h[1] * g[1] - h11 * g[0]) / det, (h[1] * g[0] - h00 * g[1]) / det};
    double next[2] = {p[0] + step[0], p[1] + step[1]}, next_g[2], next_h[3];
    double sum = squares(next_g, next_h, next[0], next[1], min_dist, spread);
    if (!(sum <= best) || !(next[0] > 0.0) || !(next[1] > 0.0)) {
      damping *= 4.0;
      if (damping > 1e20) break;
      continue;
    }
    bool settled = fabs(step[0]) <= 1e-12 * p[0] && fabs(step[1]) <= 1e-12 * p[1];
    for (int i = 0; i < 2; i++) {
      p[i] = next[i];
      g[i] = next_g[i];
    }
    for (int i = 0; i < 3; i++) h[i] = next_h[i];
    best = sum;
    damping = fmax(damping * 0.25, 1e-12);
    if (settled) break;
  }
  *a = p[0];
  *b = p[1];
  if (!isfinite(p[0]) || !isfinite(p[1]) || !(p[0] > 0.0) || !(p[1] > 0.0))
    return comp__error(COMP_ERR_NUMERIC, "no curve fits min_dist %g and spread %g; give a and b", min_dist, spread);
  return COMP_OK;
}
