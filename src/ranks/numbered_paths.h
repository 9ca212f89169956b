/* Ranks of files whose names have a number and no word for it: profile_0.json, profile_1.json. */
#ifndef FLOPLEDGER_RANKS_NUMBERED_PATHS_H
#define FLOPLEDGER_RANKS_NUMBERED_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where the paths are alike but for numbers, and exactly one of these numbers is 0 to count - 1,
 * each once: fills ranks[count] with it. A number behind a word for something else (step, epoch and
 * the like) is none. False, and nothing is filled, where there is no such number, or there are
 * several. */
bool ranks_in_numbered_paths(int64_t *ranks, const char *const *paths, size_t count);

#endif
