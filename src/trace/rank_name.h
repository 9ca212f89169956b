/* The rank that a name tells: of a file, a folder, a process. */
#ifndef FLOPLEDGER_TRACE_RANK_NAME_H
#define FLOPLEDGER_TRACE_RANK_NAME_H

#include <stdint.h>

/* The number behind the first `word` in the name from `start` to `end`, in letters of any size; of
 * an axis also as "tp_rank_3". `after`, where not NULL, is set to where to go on from. -1: none. */
int32_t number_behind_word(const char *start, const char *end, const char *word,
                           const char **after);

/* The rank in one name, behind `word` ("rank", "worker"): neither that within a node nor that of a
 * node, and that along an axis only where the name has no other. -1: none. */
int32_t rank_in_name(const char *start, const char *end, const char *word);

#endif
