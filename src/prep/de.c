/*
 * de.c: Wilcoxon rank-sum tests of every gene, as scanpy's rank_genes_groups(method = "wilcoxon").
 *
 * Gene after gene, only values other than 0 are sorted: all zeros of a gene are one block of ties, whose rank follows
 * from their number.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/dataset.h"
#include "core/error.h"
#include "core/matrix.h"
#include "core/table.h"
#include "core/threads.h"
#include "prep/hvg.h"
#include "prep/options.h"

enum { GENE_CHUNK = 16 };

struct comp_de {
  size_t genes, n_labels;
  char **labels;
  size_t *n_target, *n_reference;
  double *scores, *pvals, *pvals_adj, *folds; /* [n_labels x genes] each */
  size_t *order;                              /* [n_labels x genes] */
};

void comp_de_free(comp_de *de) {
  if (!de) return;
  for (size_t l = 0; de->labels && l < de->n_labels; l++) comp__free(de->labels[l]);
  comp__free(de->labels);
  comp__free(de->n_target);
  comp__free(de->n_reference);
  comp__free(de->scores);
  comp__free(de->pvals);
  comp__free(de->pvals_adj);
  comp__free(de->folds);
  comp__free(de->order);
  comp__free(de);
}

static comp_status require_level(int32_t *out, const comp_groups *groups, const char *value, const char *column) {
  for (size_t l = 0; l < groups->n_levels; l++)
    if (strcmp(groups->levels[l], value) == 0) {
      *out = (int32_t)l;
      return COMP_OK;
    }
  return comp__error(COMP_ERR_DATA, "no sample has '%s' in column '%s'%s", value, column,
                     comp__groups_hint(groups, value).text);
}

enum { NOWHERE = -1 };

/* side[row]: 1 in the target, 0 in the reference, NOWHERE when it takes no part. */
static comp_status find_sides(int32_t *side, const comp_dataset *d, const comp__de_options *o) {
  comp_status status;
  comp_groups groups = {0};
  size_t c;
  int32_t target = NOWHERE, reference = NOWHERE;
  COMP__TRY(comp_table_require(&c, d->obs, o->groupby));
  COMP__TRY(comp_table_groups(&groups, d->obs, c));
  COMP__TRY(require_level(&target, &groups, o->target, o->groupby));
  if (o->reference) COMP__TRY(require_level(&reference, &groups, o->reference, o->groupby));
  for (size_t i = 0; i < d->samples; i++) {
    int32_t code = groups.codes[i];
    side[i] = code == target ? 1 : code >= 0 && (!o->reference || code == reference) ? 0 : NOWHERE;
  }
done:
  comp_groups_release(&groups);
  return status;
}

/* The labels of all samples; one without a name when there is no column. */
static comp_status find_labels(comp_groups *out, const comp_dataset *d, const char *column) {
  comp_status status;
  size_t c;
  if (column) {
    COMP__TRY(comp_table_require(&c, d->obs, column));
    return comp_table_groups(out, d->obs, c);
  }
  *out = (comp_groups){.rows = d->samples, .n_levels = 1};
  COMP__TRY(comp__calloc(&out->codes, d->samples, sizeof *out->codes));
  COMP__TRY(comp__calloc(&out->levels, 1, sizeof *out->levels));
  COMP__TRY(comp__strdup(&out->levels[0], ""));
done:
  return status;
}

/* Counts both sides of every label and gives numbers to those that have enough; `number` [levels] is NOWHERE for the
 * others. */
static comp_status choose_labels(comp_de *de, int32_t *number, comp_context *context, const comp_groups *labels,
                                 const int32_t *side, const comp__de_options *o) {
  comp_status status;
  size_t *counts = NULL;
  COMP__TRY(comp__calloc(&counts, labels->n_levels, 2 * sizeof *counts));
  for (size_t i = 0; i < labels->rows; i++)
    if (labels->codes[i] >= 0 && side[i] >= 0) counts[2 * labels->codes[i] + side[i]]++;
  COMP__TRY(comp__calloc(&de->labels, labels->n_levels, sizeof *de->labels));
  COMP__TRY(comp__calloc(&de->n_target, labels->n_levels, sizeof *de->n_target));
  COMP__TRY(comp__calloc(&de->n_reference, labels->n_levels, sizeof *de->n_reference));
  for (size_t l = 0; l < labels->n_levels; l++) {
    size_t reference = counts[2 * l], target = counts[2 * l + 1], at = de->n_labels;
    number[l] = NOWHERE;
    if (target < o->min_samples || reference < o->min_samples) {
      if (o->label && !o->silent)
        comp__warn(context, "label '%s' is left out: %zu samples of the target, %zu of the reference",
                   labels->levels[l], target, reference);
      continue;
    }
    COMP__TRY(comp__strdup(&de->labels[at], labels->levels[l]));
    de->n_target[at] = target;
    de->n_reference[at] = reference;
    number[l] = (int32_t)de->n_labels++;
  }
  if (de->n_labels == 0)
    COMP__FAIL(COMP_ERR_DATA, "%s %zu samples of '%s' and as many to compare with",
               o->label ? "no label has"
                        : "there "
                          "are not",
               o->min_samples, o->target);
done:
  comp__free(counts);
  return status;
}

/* A value other than 0 and its side, in an order that integers have: a float's bits, those of negative ones turned
 * around, with the side as the lowest bit. */
typedef uint64_t entry;

static entry make_entry(float value, unsigned target) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  bits = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
  return (entry)bits << 1 | target;
}

static const entry ZERO = (entry)0x80000000u << 1;

static int compare_entries(const void *a, const void *b) {
  entry x = *(const entry *)a, y = *(const entry *)b;
  return (x > y) - (x < y);
}

enum { DIGIT_BITS = 11, DIGITS = 3, DIGIT_VALUES = 1 << DIGIT_BITS, FEW = 600 };

static size_t digit(entry e, int d) {
  return (size_t)(e >> (1 + d * DIGIT_BITS)) % DIGIT_VALUES;
}

/* Sorts by value, digit by digit from the lowest; `room` is as long as `e`. An even number of moves would end in place:
 * there are three, so the last result is copied back. */
static void sort_entries(entry *e, entry *room, size_t n) {
  if (n < FEW) {
    qsort(e, n, sizeof *e, compare_entries);
    return;
  }
  size_t places[DIGITS][DIGIT_VALUES] = {{0}};
  for (size_t i = 0; i < n; i++)
    for (int d = 0; d < DIGITS; d++) places[d][digit(e[i], d)]++;
  entry *from = e, *to = room;
  for (int d = 0; d < DIGITS; d++) {
    size_t at = 0;
    for (size_t v = 0; v < DIGIT_VALUES; v++) {
      size_t count = places[d][v];
      places[d][v] = at;
      at += count;
    }
    for (size_t i = 0; i < n; i++) to[places[d][digit(from[i], d)]++] = from[i];
    entry *swap = from;
    from = to;
    to = swap;
  }
  memcpy(e, from, n * sizeof *e);
}

/* What every thread shares, and the room of each. */
typedef struct work {
  comp_de *de;
  const comp_matrix *genes_first; /* X transposed */
  const int32_t *code;            /* [samples]: 2 x label + side, or NOWHERE */
  bool tie_correct;
  size_t *start;  /* [labels + 1]: where each label's entries begin in a thread's room */
  entry *entries; /* [threads x 2 x start[labels]]: entries, and room to sort them */
  size_t *fill;   /* [threads x labels] */
  double *sums;   /* [threads x labels x 2] */
} work;

/* Ranks as they accumulate over blocks of equal values. */
typedef struct ranking {
  double below;    /* values ranked so far */
  double rank_sum; /* of the target */
  double ties;     /* sum of t^3 - t */
} ranking;

static void add_block(ranking *r, double count, double in_target) {
  r->rank_sum += in_target * (r->below + (count + 1.0) / 2.0);
  r->ties += count * count * count - count;
  r->below += count;
}

/* z of one gene in one label. `e` are its n entries, sorted. */
static double score(const entry *e, size_t n, double n_target, double n_reference, bool tie_correct) {
  ranking r = {0.0, 0.0, 0.0};
  double total = n_target + n_reference, in_target = 0.0;
  for (size_t i = 0; i < n; i++) in_target += (double)(e[i] & 1);
  double zeros = total - (double)n, zeros_in_target = n_target - in_target;
  bool placed = zeros == 0.0;
  for (size_t i = 0; i < n;) {
    size_t first = i;
    double targets = 0.0;
    if (!placed && e[i] > ZERO) {
      add_block(&r, zeros, zeros_in_target);
      placed = true;
    }
    for (; i < n && e[i] >> 1 == e[first] >> 1; i++) targets += (double)(e[i] & 1);
    add_block(&r, (double)(i - first), targets);
  }
  if (!placed) add_block(&r, zeros, zeros_in_target);
  double variance = n_target * n_reference * (total + 1.0) / 12.0;
  if (tie_correct) variance *= total > 1.0 ? 1.0 - r.ties / (total * total * total - total) : 0.0;
  double z = (r.rank_sum - n_target * (total + 1.0) / 2.0) / sqrt(variance);
  return isfinite(z) ? z : 0.0; /* all values equal: no difference */
}

/* scanpy's formula; where it has no meaning (the mean of centred data may be anything), the difference of the logs. */
static double log2_fold(double target, double reference) {
  double fold = log2((expm1(target) + 1e-9) / (expm1(reference) + 1e-9));
  return isfinite(fold) ? fold : (target - reference) / M_LN2;
}

/* Puts a gene's values into the room of their labels. */
static void scatter_gene(const work *w, size_t gene, entry *entries, size_t *fill, double *sums) {
  const comp_matrix *m = w->genes_first;
  bool sparse = m->kind == COMP_CSR;
  size_t first = sparse ? (size_t)m->indptr[gene] : gene * m->cols;
  size_t last = sparse ? (size_t)m->indptr[gene + 1] : first + m->cols;
  memset(fill, 0, w->de->n_labels * sizeof *fill);
  memset(sums, 0, w->de->n_labels * 2 * sizeof *sums);
  for (size_t k = first; k < last; k++) {
    int32_t code = w->code[sparse ? (size_t)m->indices[k] : k - first];
    if (code < 0 || m->values[k] == 0.0f) continue;
    size_t label = (size_t)code / 2;
    entries[w->start[label] + fill[label]++] = make_entry(m->values[k], (unsigned)code & 1);
    sums[code] += m->values[k];
  }
}

static void test_genes(void *arg, size_t begin, size_t end, int thread) {
  const work *w = arg;
  comp_de *de = w->de;
  size_t labels = de->n_labels;
  entry *entries = w->entries + 2 * (size_t)thread * w->start[labels], *room = entries + w->start[labels];
  size_t *fill = w->fill + (size_t)thread * labels;
  double *sums = w->sums + (size_t)thread * labels * 2;
  for (size_t gene = begin; gene < end; gene++) {
    scatter_gene(w, gene, entries, fill, sums);
    for (size_t l = 0; l < labels; l++) {
      entry *e = entries + w->start[l];
      double n_target = (double)de->n_target[l], n_reference = (double)de->n_reference[l];
      sort_entries(e, room, fill[l]);
      double z = score(e, fill[l], n_target, n_reference, w->tie_correct);
      de->scores[l * de->genes + gene] = z;
      de->pvals[l * de->genes + gene] = erfc(fabs(z) * M_SQRT1_2);
      de->folds[l * de->genes + gene] = log2_fold(sums[2 * l + 1] / n_target, sums[2 * l] / n_reference);
    }
  }
}

static comp_status test_all(comp_de *de, comp_context *context, const comp_dataset *d, const int32_t *code,
                            bool tie_correct) {
  comp_status status;
  comp_matrix *genes_first = NULL;
  work w = {.de = de, .code = code, .tie_correct = tie_correct};
  size_t threads = (size_t)comp_context_thread_count(context), room;
  COMP__TRY(comp__calloc(&w.start, de->n_labels + 1, sizeof *w.start));
  for (size_t l = 0; l < de->n_labels; l++) w.start[l + 1] = w.start[l] + de->n_target[l] + de->n_reference[l];
  if (!comp__size_mul(&room, threads, w.start[de->n_labels])) room = SIZE_MAX;
  COMP__TRY(comp__alloc(&w.entries, room, 2 * sizeof *w.entries));
  COMP__TRY(comp__alloc(&w.fill, threads * de->n_labels, sizeof *w.fill));
  COMP__TRY(comp__alloc(&w.sums, threads * de->n_labels, 2 * sizeof *w.sums));
  COMP__TRY(comp_matrix_transpose(&genes_first, context, d->x));
  w.genes_first = genes_first;
  comp__parallel_for(context, de->genes, GENE_CHUNK, test_genes, &w);
done:
  comp_matrix_free(genes_first);
  comp__free(w.start);
  comp__free(w.entries);
  comp__free(w.fill);
  comp__free(w.sums);
  return status;
}

/* Benjamini-Hochberg, from the largest p down. */
static comp_status adjust(double *adjusted, const double *p, size_t n) {
  size_t *order;
  comp_status status = comp__alloc(&order, n, sizeof *order);
  if (status != COMP_OK) return status;
  COMP__TRY(comp__order_descending(order, p, n));
  double least = 1.0;
  for (size_t k = 0; k < n; k++) {
    least = fmin(least, p[order[k]] * (double)n / (double)(n - k));
    adjusted[order[k]] = least;
  }
done:
  comp__free(order);
  return status;
}

static comp_status allocate(comp_de *de, size_t genes) {
  comp_status status;
  size_t n;
  de->genes = genes;
  if (!comp__size_mul(&n, genes, de->n_labels)) n = SIZE_MAX;
  COMP__TRY(comp__calloc(&de->scores, n, sizeof *de->scores));
  COMP__TRY(comp__calloc(&de->pvals, n, sizeof *de->pvals));
  COMP__TRY(comp__calloc(&de->pvals_adj, n, sizeof *de->pvals_adj));
  COMP__TRY(comp__calloc(&de->folds, n, sizeof *de->folds));
  COMP__TRY(comp__calloc(&de->order, n, sizeof *de->order));
done:
  return status;
}

/* Fold changes undo a log: without one they are nonsense, though scores are not. */
static comp_status check_data(comp_context *context, const comp_dataset *d) {
  comp_data_look look;
  comp_status status = comp_data_look_at(&look, context, d->x);
  bool logged = look.kind == COMP_DATA_LOG || look.negatives > 0 || look.binary;
  if (status == COMP_OK && !logged)
    comp__warn(context, "X does not look logged (%s): scores depend on library sizes, and fold changes mean nothing",
               look.reason);
  return status;
}

comp_status comp__de_run(comp_de **out, comp_context *context, const comp_dataset *dataset,
                         const comp__de_options *options) {
  *out = NULL;
  comp_status status;
  comp_de *de = NULL;
  comp_groups labels = {0};
  int32_t *code = NULL, *number = NULL;
  COMP__TRY(comp__options_check(&comp__de_kind, options));
  COMP__TRY(check_data(context, dataset));
  COMP__TRY(comp__calloc(&de, 1, sizeof *de));
  COMP__TRY(comp__alloc(&code, dataset->samples, sizeof *code));
  COMP__TRY(find_sides(code, dataset, options));
  COMP__TRY(find_labels(&labels, dataset, options->label));
  COMP__TRY(comp__alloc(&number, labels.n_levels, sizeof *number));
  COMP__TRY(choose_labels(de, number, context, &labels, code, options));
  for (size_t i = 0; i < dataset->samples; i++) {
    int32_t label = labels.codes[i] >= 0 ? number[labels.codes[i]] : NOWHERE;
    code[i] = code[i] >= 0 && label >= 0 ? 2 * label + code[i] : NOWHERE;
  }
  COMP__TRY(allocate(de, dataset->features));
  COMP__TRY(test_all(de, context, dataset, code, options->tie_correct));
  for (size_t l = 0; l < de->n_labels; l++) {
    COMP__TRY(adjust(de->pvals_adj + l * de->genes, de->pvals + l * de->genes, de->genes));
    COMP__TRY(comp__order_descending(de->order + l * de->genes, de->scores + l * de->genes, de->genes));
  }
  *out = de;
done:
  comp__free(code);
  comp__free(number);
  comp_groups_release(&labels);
  if (status != COMP_OK) comp_de_free(de);
  return status;
}

size_t comp_de_label_count(const comp_de *de) {
  return de->n_labels;
}
const char *comp_de_label_name(const comp_de *de, size_t label) {
  return de->labels[label];
}
size_t comp_de_gene_count(const comp_de *de) {
  return de->genes;
}
size_t comp_de_target_count(const comp_de *de, size_t label) {
  return de->n_target[label];
}
size_t comp_de_reference_count(const comp_de *de, size_t label) {
  return de->n_reference[label];
}
const double *comp_de_scores(const comp_de *de, size_t label) {
  return de->scores + label * de->genes;
}
const double *comp_de_pvals(const comp_de *de, size_t label) {
  return de->pvals + label * de->genes;
}
const double *comp_de_pvals_adj(const comp_de *de, size_t label) {
  return de->pvals_adj + label * de->genes;
}
const double *comp_de_log2_folds(const comp_de *de, size_t label) {
  return de->folds + label * de->genes;
}
const size_t *comp_de_order(const comp_de *de, size_t label) {
  return de->order + label * de->genes;
}

/* The values of the best n genes of each label, one label after the other. */
static void gather_top(double *to, const comp_de *de, const double *from, size_t n) {
  for (size_t l = 0; l < de->n_labels; l++)
    for (size_t k = 0; k < n; k++) to[l * n + k] = from[l * de->genes + de->order[l * de->genes + k]];
}

comp_status comp_de_table(comp_table **out, const comp_de *de, const comp_dataset *dataset, size_t n) {
  COMP__NEED_OUT(out, de, dataset);
  *out = NULL;
  if (dataset->features != de->genes)
    return comp__error(COMP_ERR_ARGUMENT, "the data set has %zu genes, not the %zu that were tested", dataset->features,
                       de->genes);
  if (n == 0 || n > de->genes) n = de->genes;
  comp_status status;
  comp_table *table = NULL;
  const char **names = NULL;
  double *values = NULL;
  int32_t *codes = NULL;
  size_t rows = de->n_labels * n;
  const struct {
    const char *name;
    const double *from;
  } columns[] = {
      {"scores", de->scores}, {"logfoldchanges", de->folds}, {"pvals", de->pvals}, {"pvals_adj", de->pvals_adj}};
  COMP__TRY(comp_table_new(&table, rows));
  COMP__TRY(comp__alloc(&names, rows, sizeof *names));
  COMP__TRY(comp__alloc(&values, rows, sizeof *values));
  COMP__TRY(comp__alloc(&codes, rows, sizeof *codes));
  for (size_t r = 0; r < rows; r++) {
    codes[r] = (int32_t)(r / n);
    names[r] = comp_dataset_var_name(dataset, de->order[r / n * de->genes + r % n]);
  }
  COMP__TRY(comp_table_add_categorical(table, "label", codes, (const char *const *)de->labels, de->n_labels));
  COMP__TRY(comp_table_add_strings(table, "names", names));
  for (size_t c = 0; c < sizeof columns / sizeof columns[0]; c++) {
    gather_top(values, de, columns[c].from, n);
    COMP__TRY(comp_table_add_numbers(table, columns[c].name, values, false));
  }
  *out = table;
done:
  comp__free(codes);
  comp__free(values);
  comp__free(names);
  if (status != COMP_OK) comp_table_free(table);
  return status;
}

comp_status comp_de_run(comp_de **out, comp_context *context, const comp_dataset *dataset,
                        const comp_options *options) {
  COMP__NEED_OUT(out, context, dataset);
  comp__de_options plain;
  *out = NULL;
  comp_status status = comp__options_resolve(&plain, &comp__de_kind, options);
  return status == COMP_OK ? comp__de_run(out, context, dataset, &plain) : status;
}
