/* What the ledger's steps trained on. */
#include "analyses/trained_batch.h"

#include "analyses/tally.h"

#include <stddef.h>

struct trained_batch trained_batch_of(const struct analysis_input *input)
{
    const struct ledger *ledger = input->ledger;
    struct trained_batch batch = {0, 0};

    for (uint32_t i = 0; i < ledger->step_count; i++) {
        const struct described_step *step =
            ledger->source == WINDOW_PROFILER_STEP
                ? describe_step(input->description, ledger->steps[i].window.number)
                : NULL;

        batch.samples = !step || step->samples < 0 || batch.samples < 0
                            ? -1
                            : saturated_sum(batch.samples, step->samples);
        batch.tokens = !step || step->tokens < 0 || batch.tokens < 0
                           ? -1
                           : saturated_sum(batch.tokens, step->tokens);
    }
    return batch;
}
