/* likelihood.c: the table of likelihoods, made from likelihoods.def. */
#include "model/likelihood.h"

#include <assert.h>

#define LIKELIHOOD(KIND, name) &comp__likelihood_##name,
static const comp__likelihood *const likelihoods[] = {
#include "model/likelihoods.def"
};
#undef LIKELIHOOD
enum { LIKELIHOODS = sizeof likelihoods / sizeof *likelihoods };

const comp__likelihood *comp__likelihood_find(comp_likelihood kind) {
  assert((size_t)kind < LIKELIHOODS);
  return likelihoods[kind];
}

const char *comp__likelihood_name(size_t index) {
  return index < LIKELIHOODS ? likelihoods[index]->name : NULL;
}

const char *comp__likelihood_help(size_t index) {
  return index < LIKELIHOODS ? likelihoods[index]->help : NULL;
}
