/* What the ledger's steps trained on, as capture.json says. */
#ifndef FLOPLEDGER_SECTIONS_MODEL_TRAINED_BATCH_H
#define FLOPLEDGER_SECTIONS_MODEL_TRAINED_BATCH_H

#include "cost/flops/op_call.h"
#include "sections/analysis.h"

#include <stdbool.h>
#include <stdint.h>

/* On this rank, all steps summed; -1: of one of them at least it is not known. */
struct trained_batch {
    int64_t samples;
    int64_t tokens;
};

struct trained_batch trained_batch_of(const struct analysis_input *input);

/* What the launching thread of the mean step waited for a core; 0 where that is not recorded, too.
 */
double mean_core_wait_ns(const struct analysis_input *input);

/* The batch of one step of the ledger. */
struct trained_batch trained_batch_of_step(const struct analysis_input *input, uint32_t index);

/* Of a call of aten::embedding whose shapes are known; false for all else. The owner clears it. */
bool embedding_call_parse(struct op_call *call, const struct trace *trace, uint32_t host_event);

/* Token ids that are looked up in the model's table of words in a mean step, of this rank; 0: none
 * was recorded with its shapes, as in a stage of a pipeline without a table. */
double looked_up_tokens_of(const struct analysis_input *input);

/* What would tell where tokens, or samples, are not known. */
const char *tokens_need(const struct analysis_input *input);
const char *samples_need(const struct analysis_input *input);

#endif
