/*
 * comm_threads.h: a communicator whose ranks are threads of one process: what runs over ranks can be tested without
 * MPI, and under the sanitizers.
 */
#ifndef TESTS_DIST_COMM_THREADS_H
#define TESTS_DIST_COMM_THREADS_H

#include "dist/comm.h"

/* Runs fn once a rank, on threads, each with a communicator; returns when all are done. */
typedef void (*ranks_fn)(void *arg, comp__comm *comm);
void run_ranks(size_t ranks, ranks_fn fn, void *arg);

#endif
