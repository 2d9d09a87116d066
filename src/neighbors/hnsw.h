/* hnsw.h: the only door to hnswlib, without its exceptions. */
#ifndef COMP_NEIGHBORS_HNSW_H
#define COMP_NEIGHBORS_HNSW_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct comp__hnsw comp__hnsw;

/* Why a call failed; 0 is success. */
enum { COMP__HNSW_MEMORY = 1, COMP__HNSW_OTHER = 2 };

/* The squared distance of two points of `dims` values. */
typedef float (*comp__hnsw_distance)(const float *a, const float *b, size_t dims);

/* An empty index with room for n points. `links` a point, `effort` candidates while building. It should be freed via
 * comp__hnsw_free(). */
int comp__hnsw_new(comp__hnsw **out, comp__hnsw_distance distance, size_t dims, size_t n, size_t links, size_t effort);
void comp__hnsw_free(comp__hnsw *index);

/* Adds a point, which is copied. One thread at a time: the graph depends on the order. */
int comp__hnsw_add(comp__hnsw *index, const float *point, int32_t label);

/* How many candidates a search looks at, at least k. */
void comp__hnsw_set_effort(comp__hnsw *index, size_t effort);

/* Up to k near points, in any order: labels [k] and how many, *found. Any number of threads at a time. */
int comp__hnsw_search(const comp__hnsw *index, int32_t *labels, size_t *found, const float *point, size_t k);

#ifdef __cplusplus
}
#endif

#endif
