/*
 * classifiers.h: what classifiers predict from an embedding: the condition, which should be hidden, and other columns,
 * which should be kept. From the lists "predict" and "fairness" of comp score --json (docs/formats.md).
 */
#ifndef COMP_REPORT_CLASSIFIERS_H
#define COMP_REPORT_CLASSIFIERS_H

#include "report/gather.h"

/* The page's section: an object of "predict", "fairness" and what can be guessed without an embedding; null when no
 * classifier was tried. The caller owns it. */
comp_status comp__gather_classifiers(json_t **out, const comp__subject *subject);

#endif
