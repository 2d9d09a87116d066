/* genes.c: what the page shows of genes: values of each sample for colours, and means by label and condition. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "report/gather.h"
#include "report/pack.h"

enum { AT_ONCE = 64, MAX_EFFECT_GENES = 5000 };

/* ---- Order ----------------------------------------------------------------------------------------------------- */

typedef struct ranked {
  double variance;
  size_t gene;
} ranked;

static int by_variance(const void *a, const void *b) {
  const ranked *x = a, *y = b;
  if (x->variance != y->variance) return x->variance < y->variance ? 1 : -1;
  return x->gene < y->gene ? -1 : x->gene > y->gene;
}

static comp_status variances(ranked *out, const comp_matrix *x) {
  size_t rows = comp_matrix_rows(x), cols = comp_matrix_cols(x);
  double *sums;
  comp_status status = comp__calloc(&sums, 2 * cols, sizeof *sums);
  if (status != COMP_OK) return status;
  const float *v = comp_matrix_const_values(x);
  const int32_t *indices = comp_matrix_const_indices(x);
  for (size_t k = 0; k < comp_matrix_nnz(x); k++) {
    size_t j = indices ? (size_t)indices[k] : k % cols;
    sums[2 * j] += (double)v[k];
    sums[2 * j + 1] += (double)v[k] * (double)v[k];
  }
  double n = rows ? (double)rows : 1;
  for (size_t j = 0; j < cols; j++) out[j] = (ranked){sums[2 * j + 1] / n - (sums[2 * j] / n) * (sums[2 * j] / n), j};
  comp__free(sums);
  return COMP_OK;
}

/* All genes, the most interesting first: the top DE genes of each label in turn, then by variance. */
static comp_status order_genes(size_t **out, const comp__subject *s) {
  size_t genes = comp_dataset_feature_count(s->dataset), n = 0;
  size_t *order = NULL;
  bool *taken = NULL;
  ranked *list = NULL;
  comp_status status;
  COMP__TRY(comp__alloc(&order, genes, sizeof *order));
  COMP__TRY(comp__calloc(&taken, genes, sizeof *taken));
  COMP__TRY(comp__alloc(&list, genes, sizeof *list));
  for (size_t k = 0; k < s->options->n_de; k++)
    for (size_t e = 0; e < s->n_effects; e++)
      for (size_t l = 0; l < s->effects[e].n_labels; l++) {
        const comp__effect *effect = &s->effects[e].labels[l];
        if (k >= effect->n_de || taken[effect->de[k]]) continue;
        taken[effect->de[k]] = true;
        order[n++] = effect->de[k];
      }
  COMP__TRY(variances(list, comp_dataset_x(s->dataset)));
  qsort(list, genes, sizeof *list, by_variance);
  for (size_t k = 0; k < genes; k++)
    if (!taken[list[k].gene]) order[n++] = list[k].gene;
  *out = order;
  order = NULL;
done:
  comp__free(order);
  comp__free(taken);
  comp__free(list);
  return status;
}

/* ---- Values of each sample ------------------------------------------------------------------------------------- */

/* One gene's values as bytes over its range. */
typedef struct packing {
  const comp__subject *subject;
  const comp_matrix *columns; /* sparse: the transpose; NULL: dense */
  const int32_t *place;       /* [samples]: where a sample is on the map, or -1 */
  const size_t *order;
  size_t first;
  double min[AT_ONCE], max[AT_ONCE];
  char *text[AT_ONCE];
} packing;

static void read_gene(float *out, const packing *p, size_t gene) {
  const comp__subject *s = p->subject;
  if (!p->columns) {
    const comp_matrix *x = comp_dataset_x(s->dataset);
    const float *v = comp_matrix_const_values(x);
    for (size_t i = 0; i < s->n_rows; i++) out[i] = v[s->rows[i] * comp_matrix_cols(x) + gene];
    return;
  }
  const int64_t *indptr = comp_matrix_const_indptr(p->columns);
  const int32_t *indices = comp_matrix_const_indices(p->columns);
  const float *v = comp_matrix_const_values(p->columns);
  memset(out, 0, s->n_rows * sizeof *out);
  for (int64_t k = indptr[gene]; k < indptr[gene + 1]; k++)
    if (p->place[indices[k]] >= 0) out[p->place[indices[k]]] = v[k];
}

/* Comparisons, not fmin() and fmax(): gcc 12 for arm64 ends with an internal error on a loop with both. */
static void find_range(float *min, float *max, const float *values, size_t n) {
  *min = *max = n ? values[0] : 0.0f;
  for (size_t i = 1; i < n; i++) {
    if (values[i] < *min) *min = values[i];
    if (values[i] > *max) *max = values[i];
  }
}

static comp_status pack_genes(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  packing *p = arg;
  size_t n = p->subject->n_rows;
  float *values = NULL;
  uint8_t *bytes = NULL;
  comp_status status;
  COMP__TRY(comp__alloc(&values, n, sizeof *values));
  COMP__TRY(comp__alloc(&bytes, n, 1));
  for (size_t k = begin; k < end; k++) {
    read_gene(values, p, p->order[p->first + k]);
    float least, most;
    find_range(&least, &most, values, n);
    const double min = (double)least, max = (double)most;
    double scale = max > min ? 255 / (max - min) : 0;
    for (size_t i = 0; i < n; i++) bytes[i] = (uint8_t)lround(((double)values[i] - min) * scale);
    p->min[k] = min;
    p->max[k] = max;
    COMP__TRY(comp__pack(&p->text[k], bytes, n));
  }
done:
  comp__free(values);
  comp__free(bytes);
  return status;
}

/* Lists of the JSON object, and the text that the blocks go to. */
typedef struct shelf {
  json_t *names, *ends, *mins, *maxs;
  char *text;
  size_t used, capacity;
} shelf;

static comp_status shelve(shelf *out, const packing *p, size_t k) {
  size_t length = strlen(p->text[k]);
  comp_status status = comp__grow(&out->text, &out->capacity, out->used, out->used + length + 1, 1);
  if (status != COMP_OK) return status;
  memcpy(out->text + out->used, p->text[k], length + 1);
  out->used += length;
  COMP__TRY(
      comp__append(out->names, comp__json_text(comp_dataset_var_name(p->subject->dataset, p->order[p->first + k]))));
  COMP__TRY(comp__append(out->ends, json_integer((json_int_t)out->used)));
  COMP__TRY(comp__append(out->mins, json_real(p->min[k])));
  COMP__TRY(comp__append(out->maxs, json_real(p->max[k])));
done:
  return status;
}

static comp_status fill_shelf(shelf *out, packing *p, size_t genes) {
  const comp__subject *s = p->subject;
  comp_status status = COMP_OK;
  bool full = s->options->max_gene_bytes == 0;
  for (p->first = 0; p->first < genes && !full && status == COMP_OK; p->first += AT_ONCE) {
    size_t n = genes - p->first < AT_ONCE ? genes - p->first : AT_ONCE;
    status = comp__check_interrupt(s->context);
    if (status == COMP_OK) status = comp__parallel_try(s->context, n, 4, pack_genes, p);
    for (size_t k = 0; k < n; k++) {
      if (status == COMP_OK && p->text[k] && !full) {
        full = out->used + strlen(p->text[k]) > s->options->max_gene_bytes;
        if (!full) status = shelve(out, p, k);
      }
      comp__free(p->text[k]);
      p->text[k] = NULL;
    }
  }
  return status;
}

comp_status comp__gather_genes(json_t **out, char **blocks, const comp__subject *s) {
  const comp_matrix *x = comp_dataset_x(s->dataset);
  comp_matrix *columns = NULL;
  size_t *order = NULL, samples = comp_dataset_sample_count(s->dataset), genes = comp_dataset_feature_count(s->dataset);
  int32_t *place = NULL;
  shelf on = {json_array(), json_array(), json_array(), json_array(), NULL, 0, 0};
  packing p = {.subject = s};
  comp_status status;
  COMP__TRY(comp__grow(&on.text, &on.capacity, 0, 1, 1));
  on.text[0] = '\0';
  COMP__TRY(order_genes(&order, s));
  if (comp_matrix_get_kind(x) == COMP_CSR) {
    COMP__TRY(comp_matrix_transpose(&columns, s->context, x));
    COMP__TRY(comp__alloc(&place, samples, sizeof *place));
    for (size_t i = 0; i < samples; i++) place[i] = -1;
    for (size_t i = 0; i < s->n_rows; i++) place[s->rows[i]] = (int32_t)i;
  }
  p.columns = columns;
  p.place = place;
  p.order = order;
  COMP__TRY(fill_shelf(&on, &p, genes));
  if (json_array_size(on.names) < genes)
    comp__info(s->context, "%zu of %zu genes are on the page: the top DE genes and the most variable ones",
               json_array_size(on.names), genes);
  *out = json_pack("{s:O, s:O, s:O, s:O, s:I}", "names", on.names, "ends", on.ends, "mins", on.mins, "maxs", on.maxs,
                   "total", (json_int_t)genes);
  if (!*out) COMP__FAIL(COMP_ERR_MEMORY, "out of memory");
  *blocks = on.text;
  on.text = NULL;
done:
  json_decref(on.names);
  json_decref(on.ends);
  json_decref(on.mins);
  json_decref(on.maxs);
  comp__free(on.text);
  comp__free(order);
  comp__free(place);
  comp_matrix_free(columns);
  return status;
}

/* ---- Means by label and condition ------------------------------------------------------------------------------ */

/* Source, target and predicted means of the chosen genes, 16 bits over one range. */
static comp_status put_means(json_t *object, const comp__effect *e, const size_t *genes, size_t n) {
  uint16_t *values = NULL;
  char *text = NULL;
  const double *arrays[] = {e->source, e->target, e->predicted};
  double min = INFINITY, max = -INFINITY;
  comp_status status;
  COMP__TRY(comp__alloc(&values, 3 * n, sizeof *values));
  for (int pass = 0; pass < 2; pass++)
    for (size_t a = 0; a < 3; a++)
      for (size_t k = 0; k < n; k++) {
        double value = arrays[a][genes[k]];
        if (pass == 0) {
          min = fmin(min, value);
          max = fmax(max, value);
        } else {
          values[a * n + k] = (uint16_t)lround(65535 * (max > min ? (value - min) / (max - min) : 0));
        }
      }
  COMP__TRY(comp__pack(&text, values, 3 * n * sizeof *values));
  COMP__TRY(comp__put(object, "min", comp__json_number(min)));
  COMP__TRY(comp__put(object, "max", comp__json_number(max)));
  COMP__TRY(comp__put(object, "means", json_string_nocheck(text)));
done:
  comp__free(values);
  comp__free(text);
  return status;
}

/* Three digits, in few bits: what is packed gets smaller. */
static float rounded(double value) {
  if (!(fabs(value) > 0)) return 0;
  int power;
  double part = frexp(value, &power);
  return (float)ldexp(round(part * 2048) / 2048, power);
}

/* The z and the adjusted p of the chosen genes; a p below LEAST_P is that. Without a test all are 0 and 1. */
#define LEAST_P 1e-37
static comp_status put_tests(json_t *object, const comp__effect *e, const size_t *genes, size_t n) {
  float *values = NULL;
  char *text = NULL;
  comp_status status;
  COMP__TRY(comp__alloc(&values, 2 * n, sizeof *values));
  for (size_t k = 0; k < n; k++) {
    values[k] = e->z ? rounded(e->z[genes[k]]) : 0;
    values[n + k] = e->p ? rounded(fmax(LEAST_P, e->p[genes[k]])) : 1;
  }
  COMP__TRY(comp__pack(&text, values, 2 * n * sizeof *values));
  COMP__TRY(comp__put(object, "tests", json_string_nocheck(text)));
done:
  comp__free(values);
  comp__free(text);
  return status;
}

static comp_status put_label(json_t *list, const comp__effect *e, const size_t *genes, const int32_t *place, size_t n) {
  json_t *de = json_array(),
         *object = json_pack("{s:I, s:I}", "n_source", (json_int_t)e->n_source, "n_target", (json_int_t)e->n_target);
  comp_status status = COMP_OK;
  const struct {
    const char *key;
    double value;
  } numbers[] = {
      {"r_all", e->r_all},     {"r_de", e->r_de},     {"r_change", e->r_change}, {"r_change_de", e->r_change_de},
      {"mse_all", e->mse_all}, {"mse_de", e->mse_de}, {"mse_none", e->mse_none}};
  for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
    COMP__TRY(comp__put(object, numbers[k].key, comp__json_number(numbers[k].value)));
  for (size_t k = 0; k < e->n_de; k++)
    if (place[e->de[k]] >= 0) COMP__TRY(comp__append(de, json_integer(place[e->de[k]])));
  COMP__TRY(comp__put(object, "label", comp__json_text(e->label)));
  COMP__TRY(comp__put(object, "de", json_incref(de)));
  COMP__TRY(put_means(object, e, genes, n));
  COMP__TRY(put_tests(object, e, genes, n));
  COMP__TRY(comp__append(list, json_incref(object)));
done:
  json_decref(de);
  json_decref(object);
  return status;
}

static comp_status put_effects(json_t *list, const comp__effects *effects, const size_t *genes, const int32_t *place,
                               size_t n) {
  json_t *labels = json_array(), *object = json_object();
  comp_status status = COMP_OK;
  for (size_t l = 0; l < effects->n_labels; l++) COMP__TRY(put_label(labels, &effects->labels[l], genes, place, n));
  COMP__TRY(comp__put(object, "source", comp__json_text(effects->source)));
  COMP__TRY(comp__put(object, "target", comp__json_text(effects->target)));
  COMP__TRY(comp__put(object, "labels", json_incref(labels)));
  COMP__TRY(comp__append(list, json_incref(object)));
done:
  json_decref(labels);
  json_decref(object);
  return status;
}

comp_status comp__gather_effects(json_t **out, const comp__subject *s) {
  json_t *list = json_array(), *names = json_array();
  size_t *order = NULL, genes = comp_dataset_feature_count(s->dataset),
         n = genes < MAX_EFFECT_GENES ? genes : MAX_EFFECT_GENES;
  int32_t *place = NULL;
  comp_status status = COMP_OK;
  if (s->n_effects > 0) {
    COMP__TRY(order_genes(&order, s));
    COMP__TRY(comp__alloc(&place, genes, sizeof *place));
    for (size_t j = 0; j < genes; j++) place[j] = -1;
    for (size_t k = 0; k < n; k++) {
      place[order[k]] = (int32_t)k;
      COMP__TRY(comp__append(names, comp__json_text(comp_dataset_var_name(s->dataset, order[k]))));
    }
  }
  for (size_t e = 0; e < s->n_effects; e++) COMP__TRY(put_effects(list, &s->effects[e], order, place, n));
  *out = json_pack("{s:O, s:O, s:I, s:I}", "genes", names, "changes", list, "total", (json_int_t)genes, "alone",
                   (json_int_t)s->n_alone);
  if (!*out) COMP__FAIL(COMP_ERR_MEMORY, "out of memory");
done:
  json_decref(list);
  json_decref(names);
  comp__free(order);
  comp__free(place);
  return status;
}
