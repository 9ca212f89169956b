/* What the ledger's steps trained on. */
#include "sections/model/trained_batch.h"

#include "ledger/step_finder.h"
#include "sections/tally.h"
#include "trace/recorder_words.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* capture.json is there. */
static bool is_described(const struct analysis_input *input)
{
    return input->description && input->description->step_count > 0;
}

const char *tokens_need(const struct analysis_input *input)
{
    return is_described(input) ? "needs inputs that are token ids: the model's are not"
                               : recorder_words_for(input->trace)->batch;
}

const char *samples_need(const struct analysis_input *input)
{
    return is_described(input) ? "needs calls of the model in training with tensors as inputs"
                               : recorder_words_for(input->trace)->batch;
}

struct trained_batch trained_batch_of_step(const struct analysis_input *input, uint32_t index)
{
    const struct described_step *step =
        describe_ledger_step(input->description, input->ledger, &input->ledger->steps[index]);

    return step ? (struct trained_batch){step->samples, step->tokens}
                : (struct trained_batch){-1, -1};
}

bool embedding_call_parse(struct op_call *call, const struct trace *trace, uint32_t host_event)
{
    const struct event *event = &trace->host[host_event];
    const struct event_detail *detail = &trace->details[event->detail];
    struct op_call_text text = {.name = "aten::embedding"};

    if (event->kind != EVENT_OPERATOR || !detail->input_shapes ||
        strcmp(trace_text(trace, event->name), text.name) != 0)
        return false;
    text.shapes = trace_text(trace, detail->input_shapes);
    return op_call_parse(call, &text);
}

/* Tables of words are as wide as the model, and more ids are looked up in them than in one of
 * positions. */
double looked_up_tokens_of(const struct analysis_input *input)
{
    const struct trace *trace = input->trace;
    struct step_finder finder = {.ledger = input->ledger};
    struct op_call call = {.name = NULL};
    int64_t size[2] = {0, 0}; /* of the table */
    int64_t ids = 0;          /* of its largest call */
    double tokens = 0.0;

    for (uint32_t i = 0; i < trace->host_count; i++) {
        if (!embedding_call_parse(&call, trace, i) || rank_of(&call, 0) != 2 ||
            rank_of(&call, 1) != 2 || size_of(&call, 0, 1) < size[1] ||
            step_finder_of_host(&finder, trace->host[i].start_ns) == NO_STEP)
            continue;
        if (size_of(&call, 0, 1) > size[1] || elements_of(&call, 1) > ids) {
            tokens =
                size_of(&call, 0, 0) == size[0] && size_of(&call, 0, 1) == size[1] ? tokens : 0.0;
            size[0] = size_of(&call, 0, 0);
            size[1] = size_of(&call, 0, 1);
            ids = elements_of(&call, 1);
        }
        if (size_of(&call, 0, 0) == size[0])
            tokens += (double)elements_of(&call, 1);
    }
    op_call_clear(&call);
    return tokens / (double)input->ledger->step_count;
}

/* -1 where one of the two is not known. */
static int64_t sum_of_known(int64_t a, int64_t b)
{
    return a < 0 || b < 0 ? -1 : saturated_sum(a, b);
}

/* One step that does not tell makes the sum unknown. */
struct trained_batch trained_batch_of(const struct analysis_input *input)
{
    struct trained_batch batch = {0, 0};

    for (uint32_t i = 0; i < input->ledger->step_count; i++) {
        struct trained_batch step = trained_batch_of_step(input, i);

        batch.samples = sum_of_known(batch.samples, step.samples);
        batch.tokens = sum_of_known(batch.tokens, step.tokens);
    }
    return batch;
}

double mean_core_wait_ns(const struct analysis_input *input)
{
    const struct ledger *ledger = input->ledger;
    double waited = 0.0;

    for (uint32_t i = 0; i < ledger->step_count; i++) {
        const struct described_step *step =
            describe_ledger_step(input->description, ledger, &ledger->steps[i]);

        if (step && step->processor.thread_waited_ns > 0)
            waited += (double)step->processor.thread_waited_ns;
    }
    return waited / (double)ledger->step_count;
}
