/*
 * rules.h: what a rule is. A rule looks at the evidence and gives at most one finding, under its id (the last row,
 * which takes over a diagnosis, gives many). rules.c is the table; a new rule is one row and one function.
 */
#ifndef COMP_VERDICT_RULES_H
#define COMP_VERDICT_RULES_H

#include "verdict/evidence.h"
#include "verdict/finding.h"

typedef struct comp__rule comp__rule;

/* A verdict in the making. After a failure nothing more is added. */
typedef struct comp__judge {
  const comp__evidence *evidence;
  const comp__rule *rule; /* the current one */
  comp__findings *out;
  comp_status status;
} comp__judge;

struct comp__rule {
  const char *id;
  const char *question;
  double caution, problem; /* the limits of the number that decides; NaN: there is none */
  void (*judge)(comp__judge *judge);
};

/* The table, and its length; the row with this id. */
size_t comp__rules_count(void);
const comp__rule *comp__rule_at(size_t index);
const comp__rule *comp__rule_of(const char *id);

/* Applies all rules. */
comp_status comp__judge_evidence(comp__findings *out, const comp__evidence *evidence);

/* The level of a number where large values are bad: up to `caution` it is ok, above `problem` a problem. */
comp_finding_level comp__level_above(double value, double caution, double problem);

/* Whether a result that is good as it stands is too uncertain to be called so: there are fewer than 100 samples, or the
 * 95 % interval of its number reaches above a limit (`high` NaN: not known). */
bool comp__is_uncertain(const comp__judge *judge, double high, double limit);

/* The level of the finding with this id, of a rule that comes before; ok when there is none. */
comp_finding_level comp__level_of(const comp__judge *judge, const char *id);

/* Conditions that hold labels in other shares cannot be mixed in those of the whole without mixing labels: then what
 * counts is how they are mixed within labels. *gap: the largest difference of a label's share; NaN: not known. */
bool comp__is_within_labels(const comp__judge *judge, double *gap);

/* Whether a model was careful with samples that other conditions may lack, though labels show that nothing is missing:
 * it takes part of a population for such samples, and leaves it unmixed. */
bool comp__could_align_all(const comp__evidence *evidence);

/* Adds a finding of the current rule. `advice` "": nothing is to be done. */
void comp__find(comp__judge *judge, comp_finding_level level, const char *advice, const char *format, ...)
    COMP_PRINTF(4, 5);

/* Where there is an audit: true, and its first finding with this id, if there is one, becomes that of the current rule.
 * An audit has judged already what it measured, with more attackers and on samples that the model has not seen. */
bool comp__find_audited(comp__judge *judge, const char *id);

/* Adds a number (NaN: left out) or a label to the last finding. */
void comp__find_number(comp__judge *judge, const char *name, double value);
void comp__find_label(comp__judge *judge, const char *name);

/* A list in a sentence: "a, b, c and 4 more". Zero-initialise to start. */
typedef struct comp__listing {
  char text[4096];
  size_t count;
} comp__listing;

void comp__listing_add(comp__listing *listing, const char *format, ...) COMP_PRINTF(2, 3);

/* The text; nothing may be added afterwards. */
const char *comp__listing_text(comp__listing *listing);

/* The functions of the table, by question. */
void comp__rule_mixing(comp__judge *j);            /* rules_embedding.c */
void comp__rule_composition(comp__judge *j);       /* rules_embedding.c */
void comp__rule_labels_lost(comp__judge *j);       /* rules_embedding.c */
void comp__rule_silhouette(comp__judge *j);        /* rules_embedding.c */
void comp__rule_hidden(comp__judge *j);            /* rules_hidden.c */
void comp__rule_hidden_draws(comp__judge *j);      /* rules_hidden.c */
void comp__rule_reveals_more(comp__judge *j);      /* rules_hidden.c */
void comp__rule_hidden_from_some(comp__judge *j);  /* rules_hidden.c */
void comp__rule_below_chance(comp__judge *j);      /* rules_hidden.c */
void comp__rule_target(comp__judge *j);            /* rules_hidden.c */
void comp__rule_fairness(comp__judge *j);          /* rules_hidden.c */
void comp__rule_gaps(comp__judge *j);              /* rules_hidden.c */
void comp__rule_target_differs(comp__judge *j);    /* rules_hidden.c */
void comp__rule_predictions(comp__judge *j);       /* rules_predictions.c */
void comp__rule_predictions_low(comp__judge *j);   /* rules_predictions.c */
void comp__rule_predictions_worse(comp__judge *j); /* rules_predictions.c */
void comp__rule_predictions_shift(comp__judge *j); /* rules_predictions.c */
void comp__rule_predictions_some(comp__judge *j);  /* rules_predictions.c */
void comp__rule_confounded(comp__judge *j);        /* rules_data.c */
void comp__rule_few_samples(comp__judge *j);       /* rules_data.c */
void comp__rule_sampled(comp__judge *j);           /* rules_data.c */
void comp__rule_small_groups(comp__judge *j);      /* rules_data.c */
void comp__rule_one_condition(comp__judge *j);     /* rules_data.c */
void comp__rule_unequal(comp__judge *j);           /* rules_data.c */
void comp__rule_missing(comp__judge *j);           /* rules_data.c */
void comp__rule_unnamed(comp__judge *j);           /* rules_data.c */
void comp__rule_training(comp__judge *j);          /* rules_data.c */
void comp__rule_checks(comp__judge *j);            /* rules_data.c */

#endif
