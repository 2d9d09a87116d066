/* options.h: how data is prepared (kinds "prep" and "tabular"), and compared (kind "de"). */
#ifndef COMP_PREP_OPTIONS_H
#define COMP_PREP_OPTIONS_H

#include "comp/prep.h"
#include "core/options.h"

typedef struct comp__filter_options {
  const char *const *keep; /* samples: "COLUMN=VALUE[,VALUE...]", as the column prints; each of them must hold */
  size_t n_keep;
  const char *const *drop_genes; /* genes whose name matches one of these extended regular expressions are dropped */
  size_t n_drop_genes;
  bool drop_empty_genes;  /* genes that are 0 in all samples kept */
  double min_gene_counts; /* of a gene over all samples kept; 0: any */
  size_t min_gene_cells;  /* samples in which a gene is not 0; 0: any */
  double min_cell_counts; /* of a sample, over the genes that the expressions leave; 0: any */
  size_t min_cell_genes;  /* genes that are not 0 in a sample; 0: any */
} comp__filter_options;

typedef enum comp_hvg_flavor {
  COMP_HVG_NONE,
  COMP_HVG_SEURAT,   /* scanpy's flavor "seurat", on log data: normalised dispersion within bins of the mean */
  COMP_HVG_VST,      /* Seurat v3, on counts: variance of standardised counts, expected variance by loess */
  COMP_HVG_VARIANCE, /* the variance; with a batch column the union of each batch's best */
  COMP_HVG_AUTO      /* genes seen in enough samples: vst in each condition, and those that differ between conditions */
} comp_hvg_flavor;

typedef struct comp__hvg_options {
  comp_hvg_flavor flavor;
  size_t n;              /* how many genes; COMP_HVG_VARIANCE: from each batch */
  const char *batch;     /* obs column: choose in each batch and merge; NULL: all samples together */
  const char *condition; /* COMP_HVG_AUTO: obs column whose values are compared; NULL: none are */
  const char *label;     /* COMP_HVG_AUTO: obs column within whose values they are compared, too; NULL: none */
  size_t bins;           /* COMP_HVG_SEURAT: bins of the mean */
  double span;           /* COMP_HVG_VST: share of the genes in a loess neighbourhood */
  bool force;            /* also on data that does not look suitable for the flavor */
} comp__hvg_options;

typedef struct comp__prep_options {
  comp__filter_options filter;
  const char *condition, *label; /* obs columns; NULL: none */
  bool to_counts;                /* undo logarithms and factors of samples first */
  bool normalize;
  double target_sum; /* 0: the median of the totals */
  bool log1p;
  comp__hvg_options hvg;
  bool keep_all_genes; /* mark the variable genes, but leave the others in */
  bool keep_counts;    /* keep the counts of the genes that are left in layers/counts */
  bool keep_raw;       /* keep all genes in raw when variable ones are chosen */
  bool force;          /* do what the options say, whatever the data looks like */
} comp__prep_options;

typedef enum comp_missing {
  COMP_MISSING_REFUSE, /* a missing value is an error that names its row and column */
  COMP_MISSING_DROP    /* rows with a missing value, in obs columns too, are left out */
} comp_missing;

typedef struct comp__tabular_options {
  const char *const *obs; /* columns that go to obs and are no features: condition, label */
  size_t n_obs;
  const char *const *drop; /* columns that are left out altogether; what they lack does not count as missing */
  size_t n_drop;
  const char *const *drop_features; /* features that are left out after encoding, such as "country_Vietnam" */
  size_t n_drop_features;
  const char *const *merge; /* "COLUMN=V1,V2:NEW": values V1 and V2 become NEW, before anything else */
  size_t n_merge;
  const char *names;    /* column with the names of the rows; NULL: their numbers */
  comp_missing missing; /* what to do about missing values */
  bool raw;             /* do not standardise */
} comp__tabular_options;

typedef struct comp__de_options {
  const char *groupby;   /* obs column */
  const char *target;    /* its value whose genes are sought */
  const char *reference; /* its value to compare with; NULL: all others */
  const char *label;     /* obs column: compare within each of its values; NULL: all samples together */
  size_t min_samples;    /* labels with fewer samples on either side are left out, with a warning */
  bool tie_correct;      /* the variance of ranks with ties; scanpy's default is that without */
  bool silent;           /* no warning of labels that are left out: the caller says it */
} comp__de_options;

extern const comp__options_kind comp__prep_kind, comp__tabular_kind, comp__de_kind;
comp__prep_options comp__prep_defaults(void);
comp__filter_options comp__filter_defaults(void);
comp__hvg_options comp__hvg_defaults(void);
comp__tabular_options comp__tabular_defaults(void);
comp__de_options comp__de_defaults(void);

/* Whether the filters and the choice of genes can be made: each is a part of the kind "prep". */
comp_status comp__filter_check(const comp__filter_options *options);
comp_status comp__hvg_check(const comp__hvg_options *options);

/* Whether the lists of a table's options can be used. */
comp_status comp__tabular_check(const comp__tabular_options *options);

/* Reads "seurat", "vst:3000", "variance:N", "none" into flavor and n; the rest of `out` is left as it is. */
comp_status comp__hvg_parse(comp__hvg_options *out, const char *text);

/* "none", "seurat", "vst", "variance", "auto". */
const char *comp__hvg_flavor_name(comp_hvg_flavor flavor);

/* Which samples `keep` leaves, [samples]. */
comp_status comp__filter_kept(bool *out, const comp_dataset *dataset, const comp__filter_options *options);

/* COMP_HVG_AUTO's second part, on log data: adds the genes that differ between conditions to those marked in var. */
comp_status comp__hvg_differ(comp_context *context, comp_dataset *dataset, const comp__hvg_options *options);

/* comp_hvg_subset(); with `raw`, all genes stay in the raw part of the data set. */
comp_status comp__hvg_subset(comp_dataset **dataset, comp_context *context, bool raw);

/* The rule for a layer of the user's whose name comp is about to write: it is kept as NAME_input, with a warning.
 * Nothing happens when there is none, or when it equals `same` (may be NULL). */
enum { COMP_LAYER_ASIDE_SIZE = 320 };
comp_status comp__set_layer_aside(comp_context *context, comp_dataset *dataset, const char *name,
                                  const comp_matrix *same);

/* As the public functions, with plain options. */
comp_status comp__filter(comp_dataset **dataset, comp_context *context, const comp__filter_options *options);
comp_status comp__hvg_run(comp_context *context, comp_dataset *dataset, const comp__hvg_options *options);
comp_status comp__prep(comp_dataset **dataset, comp_context *context, const comp__prep_options *options);
comp_status comp__tabular_encode(comp_dataset **out, comp_context *context, const comp_table *table,
                                 const comp__tabular_options *options);
comp_status comp__de_run(comp_de **out, comp_context *context, const comp_dataset *dataset,
                         const comp__de_options *options);

#endif
