/* seeds.h: lists of seeds, such as "0-9" or "1,5,7". */
#ifndef CLI_SEEDS_H
#define CLI_SEEDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CLI_MOST_SEEDS = 1000 };

/* What is wrong with a list, as a format for cli_usage_error(): takes the list and CLI_MOST_SEEDS. */
#define CLI_SEEDS_WRONG "--seeds: '%s' is not a list of 1 to %d different seeds such as 0-4 or 1,5,9"

/* The seeds of a list in their order, all different: out[CLI_MOST_SEEDS]. False when it is not such a list. */
bool cli_seeds_parse(uint64_t *out, size_t *count, const char *list);

#endif
