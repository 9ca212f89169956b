/* Follows convolutions to the ops that are given something of the size of their results. */
#include "cost/modules/known_result.h"

#include <stdbool.h>
#include <string.h>

enum { WEIGHT_ARGUMENT = 2 }; /* cudnn_convolution_backward(input, grad_output, weight, ...) */

/* "CudnnConvolutionBackward", "ConvolutionBackward0" */
static bool is_convolution_node(const char *name)
{
    return strstr(name, "ConvolutionBackward") && !strstr(name, "::");
}

static bool is_weight_gradient(const char *name)
{
    return strstr(name, "convolution_backward_weight") != NULL;
}

static void known_result_add_node(struct known_results *results, const struct event *event)
{
    uint32_t shapes = results->trace->details[event->detail].input_shapes;
    uint64_t key = (uint64_t)event->sequence_number;

    if (shapes && hash_map_add(&results->nodes, key, shapes) != shapes)
        hash_map_set(&results->nodes, key, 0);
}

void find_known_results(struct known_results *results, const struct trace *trace,
                        const struct host_contexts *contexts)
{
    results->trace = trace;
    results->parents = contexts->parents;
    for (uint32_t i = 0; i < trace->host_count; i++) {
        const struct event *event = &trace->host[i];

        if (event->kind == EVENT_OPERATOR && event->sequence_number != NO_ID &&
            contexts->phases[i] == PHASE_BACKWARD &&
            is_convolution_node(trace_text(trace, event->name)))
            known_result_add_node(results, event);
    }
}

struct known_result known_result_of(const struct known_results *results, uint32_t op)
{
    const struct trace *trace = results->trace;
    const struct event *event = &trace->host[op];
    const char *name = trace_text(trace, event->name);
    uint32_t parent = results->parents[op];
    struct known_result result = {0};

    if (trace->details[event->detail].concrete_inputs || !strstr(name, "conv"))
        return result;
    if (is_weight_gradient(name)) {
        if (parent != NO_EVENT)
            result.shapes = trace->details[trace->host[parent].detail].input_shapes;
        result.argument = WEIGHT_ARGUMENT;
    } else if (event->sequence_number != NO_ID) {
        uint32_t shapes = hash_map_find(&results->nodes, (uint64_t)event->sequence_number);

        result.shapes = shapes == NO_VALUE ? 0 : shapes;
    }
    return result;
}

void known_results_clear(struct known_results *results)
{
    hash_map_clear(&results->nodes);
}
