/* Samples and tokens of a pass, as the recorder or the model's embedding tells them. */
#include "cost/architectures/read_architecture.h"
#include "cost/plan/scaled_shapes.h"
#include "sections/model/scaled_parts.h"
#include "sections/model/trained_batch.h"
#include "trace/recorder_words.h"

#include <math.h>
#include <string.h>

/* By capture.json: 0 samples where it does not say. */
static struct pass_size described_pass(const struct analysis_input *input)
{
    const struct ledger *ledger = input->ledger;
    const struct described_step *step =
        describe_ledger_step(input->description, ledger, &ledger->steps[0]);
    struct pass_size pass = {0, 0};

    if (!step || step->micro_batches <= 0 || step->samples <= 0)
        return pass;
    pass.samples = step->samples / step->micro_batches;
    if (step->tokens > 0)
        pass.sequence = step->tokens / step->samples;
    return pass;
}

/* By the largest matrix of token ids that an embedding looks up. Embeddings look up all tokens of a
 * pass; others look up positions or types of as many or fewer. Only tables of the model's width are
 * of tokens: relative positions (T5) are looked up for each pair of tokens, in a table as wide as
 * there are heads. */
static struct pass_size embedded_pass(const struct analysis_input *input)
{
    const struct trace *trace = input->trace;
    struct pass_size pass = {0, 0};
    struct op_call call = {.name = NULL};
    int64_t width = 0;

    for (uint32_t i = 0; i < trace->host_count; i++) {
        if (!embedding_call_parse(&call, trace, i) || rank_of(&call, 0) != 2 ||
            rank_of(&call, 1) != 2 || size_of(&call, 0, 1) < width)
            continue;
        if (size_of(&call, 0, 1) > width || elements_of(&call, 1) > pass.samples * pass.sequence)
            pass = (struct pass_size){size_of(&call, 1, 0), size_of(&call, 1, 1)};
        width = size_of(&call, 0, 1);
    }
    op_call_clear(&call);
    return pass;
}

/* Of a model whose config is given or was recorded. */
static bool has_positions(const struct analysis_input *input, const struct scaled_request *request,
                          struct error *error)
{
    const struct architecture *model = request->model       ? request->model
                                       : input->description ? input->description->architecture
                                                            : NULL;

    return !model || architecture_check_tokens(model, "--seq", request->sequence, error);
}

/* A factor must give a whole number of samples; the message names the nearest that does. */
bool find_pass_change(struct pass_change *change, const struct analysis_input *input,
                      const struct scaled_request *request, struct error *error)
{
    struct pass_size pass = described_pass(input);
    double samples;

    if (pass.samples <= 0)
        pass = embedded_pass(input);
    *change = (struct pass_change){pass, pass};
    if (request->batch_factor <= 0.0 && request->batch == 0 && request->sequence == 0)
        return true;
    if (pass.samples <= 0)
        return error_set(error, ERROR_NO_DATA,
                         "the recording does not tell the samples of a pass, which --batch or "
                         "--seq shall change: %s",
                         recorder_words_for(input->trace)->batch);
    if (request->sequence > 0 && pass.sequence <= 0)
        return error_set(error, ERROR_USAGE,
                         "--seq is %lld, but the inputs of the recorded model are no tokens: leave "
                         "it out",
                         (long long)request->sequence);
    if (!has_positions(input, request, error))
        return false;
    samples = request->batch > 0          ? (double)request->batch
              : request->batch_factor > 0 ? request->batch_factor * (double)pass.samples
                                          : (double)pass.samples;
    /* A factor such as 1.1 is seldom exact in binary: within 1e-9 of a whole number is whole. */
    if (samples < 1.0 || fabs(samples - round(samples)) > 1e-9)
        return error_set(error, ERROR_USAGE,
                         "--batch %gx makes %g of the %lld samples of a pass; the nearest that "
                         "fits is %gx",
                         request->batch_factor, samples, (long long)pass.samples,
                         fmax(round(samples), 1.0) / (double)pass.samples);
    change->to.samples = llround(samples);
    if (request->sequence > 0)
        change->to.sequence = request->sequence;
    return true;
}

/* Scaling finds the batch among sizes by its number. If a weight has a size that would be
 * scaled, sizes alone cannot tell activations from weights. */
bool pass_is_ambiguous(const struct analysis_input *input, const struct pass_change *change)
{
    static const struct {
        const char *op;
        uint32_t weight;
    } weighted[] = {{"aten::linear", 1}, {"aten::addmm", 2}, {"aten::convolution", 1}};
    const struct trace *trace = input->trace;
    struct op_call call = {.name = NULL};
    bool is_ambiguous = change->from.samples == 1 && change->to.samples != 1;

    for (uint32_t i = 0; i < trace->host_count && !is_ambiguous; i++) {
        const struct event_detail *detail = &trace->details[trace->host[i].detail];
        struct op_call_text text = {.name = trace_text(trace, trace->host[i].name)};

        if (trace->host[i].kind != EVENT_OPERATOR || !detail->input_shapes)
            continue;
        text.shapes = trace_text(trace, detail->input_shapes);
        for (size_t k = 0; k < sizeof weighted / sizeof weighted[0]; k++) {
            int64_t sizes[SCALED_DIMS_MAX];
            int rank;

            if (strcmp(text.name, weighted[k].op) != 0 || !op_call_parse(&call, &text))
                continue;
            rank = rank_of(&call, weighted[k].weight);
            for (int d = 0; d < rank && d < SCALED_DIMS_MAX; d++)
                sizes[d] = size_of(&call, weighted[k].weight, d);
            is_ambiguous = rank > 0 && rank <= SCALED_DIMS_MAX && scale_sizes(sizes, rank, change);
        }
    }
    op_call_clear(&call);
    return is_ambiguous;
}

/* A step may be several passes (gradient accumulation): it grows by the factor of one pass. */
double pass_samples_of_step(const struct analysis_input *input, const struct pass_change *change)
{
    struct trained_batch trained = trained_batch_of(input);
    double of_step = trained.samples > 0
                         ? (double)trained.samples / (double)input->ledger->step_count
                         : (double)change->from.samples;

    return change->from.samples > 0
               ? of_step * (double)change->to.samples / (double)change->from.samples
               : 0.0;
}
