/* seeds.h: lists of seeds, such as "0-9" or "1,5,7". */
#ifndef CLI_SEEDS_H
#define CLI_SEEDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CLI_MAX_SEEDS = 1000 };

/* *out gets the seeds in the order of the text, and should be freed via free(). False: `message` says what is wrong. */
bool cli_seeds_parse(uint64_t **out, size_t *count, const char *text, char *message, size_t size);

#endif
