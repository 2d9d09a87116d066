/*
 * classify_dump.c: what the library measures with a classifier, as text, for tests/oracle/test_classify.py.
 *
 *     classify_dump FILE CLASSIFIER holdout COLUMN            accuracy of a column on a held-out 30 %
 *     classify_dump FILE CLASSIFIER cross COLUMN [PERMUTATIONS]
 *     classify_dump FILE CLASSIFIER fairness TARGET GROUP
 *     classify_dump FILE CLASSIFIER transfer CONDITION TRAIN TEST LABEL
 *
 * The embedding is X of FILE. The environment variable THREADS holds the number of threads.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "classify/options.h"
#include "comp/comp.h"
#include "core/context.h"
#include "io/options.h"

static void stop(void) {
  printf("error: %s\n", comp_error_message());
  exit(1);
}

#define MUST(call)                                                                                                     \
  do {                                                                                                                 \
    if ((call) != COMP_OK) stop();                                                                                     \
  } while (0)

static comp_groups groups_of(const comp_dataset *dataset, const char *name) {
  size_t column;
  comp_groups groups;
  MUST(comp_table_require(&column, comp_dataset_obs(dataset), name));
  MUST(comp_table_groups(&groups, comp_dataset_obs(dataset), column));
  return groups;
}

static int32_t level_of(const comp_groups *groups, const char *name) {
  for (size_t i = 0; i < groups->n_levels; i++)
    if (strcmp(groups->levels[i], name) == 0) return (int32_t)i;
  printf("error: no level %s\n", name);
  exit(1);
}

static void print_accuracy(const comp_accuracy *a, const comp_groups *levels) {
  printf("accuracy %.17g\nbalanced %.17g\nmajority %.17g\ntrain %zu\ntest %zu\nunseen %zu\n", a->accuracy,
         a->balanced_accuracy, a->majority, a->n_train, a->n_test, a->unseen);
  for (size_t i = 0; i < a->n_levels; i++)
    printf("level %s %zu %zu %.17g %.17g\n", levels->levels[i], a->train_counts[i], a->test_counts[i], a->found[i],
           a->correct[i]);
}

static void fairness(comp_context *context, const comp_dataset *dataset, const char *target, const char *group,
                     const comp__classify_options *options) {
  comp_groups targets = groups_of(dataset, target), groups = groups_of(dataset, group);
  comp_fairness_result f;
  MUST(comp__fairness(&f, context, comp_dataset_x(dataset), targets.codes, targets.n_levels, groups.codes,
                      groups.n_levels, options));
  print_accuracy(&f.target, &targets);
  printf("parity_gap %.17g\nodds_gap %.17g\naccuracy_gap %.17g\n", f.parity_gap, f.odds_gap, f.accuracy_gap);
  for (size_t g = 0; g < f.n_groups; g++) {
    printf("group %s %zu %.17g", groups.levels[g], f.groups[g].n_test, f.groups[g].accuracy);
    for (size_t i = 0; i < targets.n_levels; i++)
      printf(" %.17g %.17g %.17g", f.groups[g].selected[i], f.groups[g].true_positives[i],
             f.groups[g].false_positives[i]);
    puts("");
  }
  comp_fairness_release(&f);
  comp_groups_release(&groups);
  comp_groups_release(&targets);
}

static void cross(comp_context *context, const comp_dataset *dataset, const char *column, comp_classifier_kind kind,
                  size_t permutations) {
  comp_groups groups = groups_of(dataset, column);
  comp__classify_options options = comp__classify_defaults();
  comp_predictability_result r;
  const char *name = comp_classifier_kind_name(kind);
  options.classifiers = &name;
  options.n_classifiers = 1;
  options.permutations = permutations;
  options.seed = 1;
  MUST(comp__predictability(&r, context, comp_dataset_x(dataset), groups.codes, groups.n_levels, &options));
  printf("accuracy %.17g\ndeviation %.17g\nbalanced %.17g\nmajority %.17g\np %.17g\npermuted %.17g\n",
         r.scores[0].accuracy, r.scores[0].deviation, r.scores[0].balanced_accuracy, r.majority, r.scores[0].p_value,
         r.scores[0].permuted_accuracy);
  comp_predictability_release(&r);
  comp_groups_release(&groups);
}

static void transfer(comp_context *context, const comp_dataset *dataset, char **names,
                     const comp__classify_options *options) {
  comp_groups conditions = groups_of(dataset, names[0]), labels = groups_of(dataset, names[3]);
  comp_accuracy a;
  MUST(comp__transfer(&a, context, comp_dataset_x(dataset), conditions.codes, level_of(&conditions, names[1]),
                      level_of(&conditions, names[2]), labels.codes, labels.n_levels, options));
  print_accuracy(&a, &labels);
  comp_accuracy_release(&a);
  comp_groups_release(&labels);
  comp_groups_release(&conditions);
}

int main(int argc, char **argv) {
  if (argc < 5) return 2;
  const char *threads = getenv("THREADS"), *what = argv[3];
  comp__context_options context_options = comp__context_defaults();
  context_options.threads = threads ? atoi(threads) : 2;
  comp_context *context;
  comp_dataset *dataset;
  comp__classify_options options = comp__classify_defaults();
  comp__read_options read = {0};
  options.seed = 1;
  MUST(comp__context_new(&context, &context_options));
  MUST(comp__dataset_read(&dataset, context, argv[1], &read));
  MUST(comp_classifier_kind_parse(&options.classifier, argv[2]));
  if (strcmp(what, "holdout") == 0) {
    comp_groups groups = groups_of(dataset, argv[4]);
    comp_accuracy a;
    MUST(comp__holdout(&a, context, comp_dataset_x(dataset), groups.codes, groups.n_levels, &options));
    print_accuracy(&a, &groups);
    comp_accuracy_release(&a);
    comp_groups_release(&groups);
  } else if (strcmp(what, "cross") == 0) {
    cross(context, dataset, argv[4], options.classifier, argc > 5 ? (size_t)atoi(argv[5]) : 0);
  } else if (strcmp(what, "fairness") == 0 && argc > 5) {
    fairness(context, dataset, argv[4], argv[5], &options);
  } else if (strcmp(what, "transfer") == 0 && argc > 7) {
    transfer(context, dataset, argv + 4, &options);
  } else {
    return 2;
  }
  comp_dataset_free(dataset);
  comp_context_free(context);
  return 0;
}
