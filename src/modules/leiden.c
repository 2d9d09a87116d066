/*
 * leiden.c: the module `leiden`, the only caller of igraph.
 *
 * igraph has a random number generator and an error handler for the whole program: both are ours during a call, and
 * what they were afterwards. Its default handler would end the program.
 */
#include "cluster/leiden.h"

#include <igraph/igraph.h>

#include "core/module.h"

enum { ITERATIONS = 2 }; /* as python-igraph and scib-metrics do */

typedef struct problem {
  igraph_t graph;
  igraph_vector_int_t ends;
  igraph_vector_t weights, strengths;
  igraph_vector_int_t membership;
  bool has_graph;
} problem;

/* Each step's igraph error; 0 when all went well. */
static igraph_error_t build(problem *p, const comp__weighted_graph *graph) {
  igraph_error_t failed = igraph_vector_int_resize(&p->ends, (igraph_integer_t)(2 * graph->n_edges));
  if (!failed) failed = igraph_vector_resize(&p->weights, (igraph_integer_t)graph->n_edges);
  if (failed) return failed;
  for (size_t e = 0; e < graph->n_edges; e++) {
    VECTOR(p->ends)[2 * e] = graph->edges[e].a;
    VECTOR(p->ends)[2 * e + 1] = graph->edges[e].b;
    VECTOR(p->weights)[e] = graph->edges[e].weight;
  }
  failed = igraph_create(&p->graph, &p->ends, (igraph_integer_t)graph->nodes, IGRAPH_UNDIRECTED);
  p->has_graph = !failed;
  if (!failed) failed = igraph_strength(&p->graph, &p->strengths, igraph_vss_all(), IGRAPH_ALL, true, &p->weights);
  return failed;
}

static igraph_error_t solve(problem *p, igraph_integer_t *clusters, double resolution) {
  double total = igraph_vector_sum(&p->weights);
  if (!(total > 0.0)) return IGRAPH_EINVAL;
  return igraph_community_leiden(&p->graph, &p->weights, &p->strengths, resolution / (2.0 * total), 0.01, false,
                                 ITERATIONS, &p->membership, clusters, NULL);
}

static comp_status cluster(int32_t *membership, size_t *clusters, const comp__weighted_graph *graph, double resolution,
                           uint64_t seed, const char **problem_text) {
  problem p = {.has_graph = false};
  igraph_rng_t rng, *usual = igraph_rng_default();
  igraph_integer_t found = 0;
  igraph_error_handler_t *handler = igraph_set_error_handler(igraph_error_handler_ignore);
  igraph_error_t failed = igraph_rng_init(&rng, &igraph_rngtype_mt19937);
  if (!failed) {
    igraph_rng_seed(&rng, (igraph_uint_t)seed);
    igraph_rng_set_default(&rng);
    if (!failed) failed = igraph_vector_int_init(&p.ends, 0);
    if (!failed) failed = igraph_vector_init(&p.weights, 0);
    if (!failed) failed = igraph_vector_init(&p.strengths, 0);
    if (!failed) failed = igraph_vector_int_init(&p.membership, 0);
    if (!failed) failed = build(&p, graph);
    if (!failed) failed = solve(&p, &found, resolution);
    for (size_t i = 0; !failed && i < graph->nodes; i++) membership[i] = (int32_t)VECTOR(p.membership)[i];
    if (p.has_graph) igraph_destroy(&p.graph);
    igraph_vector_int_destroy(&p.membership);
    igraph_vector_destroy(&p.strengths);
    igraph_vector_destroy(&p.weights);
    igraph_vector_int_destroy(&p.ends);
    igraph_rng_set_default(usual);
    igraph_rng_destroy(&rng);
  }
  igraph_set_error_handler(handler);
  *clusters = (size_t)found;
  if (!failed) return COMP_OK;
  *problem_text = igraph_strerror(failed);
  return failed == IGRAPH_ENOMEM ? COMP_ERR_MEMORY : COMP_ERR_NUMERIC;
}

static const comp__leiden_table table = {cluster};
COMP__MODULE_EXPORT(table, "igraph " COMP_LIBRARY_VERSION);
