/* How many tokens a rank's steps looked up: from the shapes of the embedding's calls. */
#ifndef FLOPLEDGER_RANKS_STEP_TOKENS_H
#define FLOPLEDGER_RANKS_STEP_TOKENS_H

#include "cost/modules/model_description.h"
#include "ledger/step_ledger.h"
#include "trace/trace.h"

#include <stdint.h>

/* Fills tokens[ledger->step_count]: what `description` says (it may be NULL), else the indices that
 * aten::embedding looked up in the table that the step used most (the others are of positions and
 * the like); -1 where neither tells. */
void count_step_tokens(int64_t *tokens, const struct trace *trace, const struct ledger *ledger,
                       const struct model_description *description);

/* The shapes of a call, "[[50304, 768], [8, 1024], ...]": the number of indices, -1 where the text
 * is another; `table` is a key of the first shape. */
int64_t embedded_indices(const char *shapes, uint64_t *table);

#endif
