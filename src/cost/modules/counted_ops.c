/* Chooses the ops that count, so that no FLOP is counted twice; and finds the steps of inference
 * servers by the names of their ranges. */
#include "cost/modules/counted_ops.h"

#include "base/core/array.h"
#include "base/core/hash_map.h"
#include "base/core/large_array.h"
#include "base/text/prefix.h"
#include "cost/modules/host_context.h"
#include "ledger/kernel_class.h"
#include "trace/name_answers.h"
#include "trace/optimizer_time.h"
#include "trace/trace.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The experts of one device, where all layers with experts have the same. */
static bool find_experts(struct expert_sizes *sizes, const struct architecture *architecture)
{
    const struct layer_kind *found = NULL;

    for (int i = 0; architecture && i < architecture->kind_count; i++) {
        const struct layer_kind *kind = &architecture->kinds[i];

        if (kind->experts == 0)
            continue;
        if (found && (found->experts != kind->experts ||
                      found->experts_per_token != kind->experts_per_token ||
                      found->expert_matrix != kind->expert_matrix))
            return false;
        found = kind;
    }
    if (!found || !architecture->storage.is_known)
        return false;
    *sizes = (struct expert_sizes){
        .hidden = architecture->hidden_size,
        .experts = found->experts,
        .chosen = found->experts_per_token,
        .weights = found->expert_matrix,
        .bytes = (double)found->expert_matrix * architecture->storage.parts[STORED_EXPERTS].bytes +
                 (double)found->expert_other * architecture->storage.plain_bytes,
    };
    return true;
}

/* Where no layer has a window there is nothing to tell apart, and no windows are returned. */
static struct attention_windows windows_of_layers(const struct architecture *architecture)
{
    struct attention_windows windows = {0};
    bool has_window = false;

    for (int i = 0; architecture && i < architecture->kind_count && i < WINDOW_KINDS_MAX; i++) {
        const struct layer_kind *kind = &architecture->kinds[i];

        if (kind->heads == 0)
            continue;
        windows.layers[windows.count] = kind->count;
        windows.windows[windows.count++] = kind->window;
        has_window = has_window || kind->window > 0;
    }
    return has_window ? windows : (struct attention_windows){0};
}

static bool has_sums(struct serving_range *range, const struct trace *trace, uint32_t event)
{
    return trace->host[event].kind == EVENT_ANNOTATION &&
           serving_range_parse(range, trace_text(trace, trace->host[event].name)) &&
           range->has_sums;
}

/* Memory per host event only for traces of servers, which are few. Step 0 is "none", so a
 * zeroed array is right. */
static void add_serving_step(struct op_surroundings *around, const struct trace *trace,
                             uint32_t event, const struct serving_range *range)
{
    if (!around->step_of) {
        around->step_of = large_array_new(trace->host_count * sizeof *around->step_of);
        around->step_count = 1;
    }
    ARRAY_RESERVE(around->steps, around->step_capacity, around->step_count + 1);
    around->steps[around->step_count] = *range;
    around->step_of[event] = around->step_count++;
}

void find_op_surroundings(struct op_surroundings *around, const struct trace *trace,
                          const uint32_t *parents, const struct architecture *architecture)
{
    struct serving_range range;

    /* a device of several has a share of each expert, or some of them: which is not known */
    around->has_experts =
        trace->facts.world_size <= 1 && find_experts(&around->experts, architecture);
    around->windows = windows_of_layers(architecture);
    for (uint32_t i = 0; i < trace->host_count; i++) {
        if (has_sums(&range, trace, i))
            add_serving_step(around, trace, i, &range);
        else if (around->step_of && parents[i] != NO_EVENT)
            around->step_of[i] = around->step_of[parents[i]];
    }
}

/* The number of the step that the op is in, or NO_SERVING_STEP. */
static uint32_t serving_step_of(const struct op_surroundings *around, uint32_t op)
{
    return around->step_of ? around->step_of[op] : NO_SERVING_STEP;
}

/* In the step of that number. */
static struct call_surroundings surroundings_in(const struct op_surroundings *around, uint32_t step)
{
    return (struct call_surroundings){
        .step = step == NO_SERVING_STEP ? NULL : &around->steps[step],
        .experts = around->has_experts ? &around->experts : NULL,
        .windows = around->windows.count ? &around->windows : NULL,
    };
}

void op_surroundings_clear(struct op_surroundings *around)
{
    free(around->steps);
    large_array_free(around->step_of);
    *around = (struct op_surroundings){0};
}

/* ---- results that are known ------------------------------------------------------------------ */

/* Follows convolutions to the ops that are given something of the size of their results. */

/* The shape of a result is that of an argument of another op. */
struct known_result {
    uint32_t shapes;   /* in the trace's strings; 0: the result is not known */
    uint32_t argument; /* which of them */
};

struct known_results {
    const struct trace *trace;
    const uint32_t *parents;
    struct hash_map nodes; /* sequence number -> shapes that an autograd node of a convolution was
                              given, or 0 where two nodes of the number disagree */
    struct name_answers convolutions;
};

enum { WEIGHT_ARGUMENT = 2 }; /* cudnn_convolution_backward(input, grad_output, weight, ...) */

/* "CudnnConvolutionBackward", "ConvolutionBackward0" */
static bool is_convolution_node(const char *name)
{
    return strstr(name, "ConvolutionBackward") && !strstr(name, "::");
}

static bool is_about_convolutions(const char *name)
{
    return strstr(name, "conv") != NULL;
}

static bool is_weight_gradient(const char *name)
{
    return strstr(name, "convolution_backward_weight") != NULL;
}

/* Two nodes of one number (several threads count for themselves) that disagree say nothing. */
static void known_result_add_node(struct known_results *results, const struct event *event)
{
    uint32_t shapes = results->trace->details[event->detail].input_shapes;
    uint64_t key = (uint64_t)event->sequence_number;

    if (shapes && hash_map_add(&results->nodes, key, shapes) != shapes)
        hash_map_set(&results->nodes, key, 0);
}

/* `results` must be zeroed; trace and contexts must outlive it. */
static void find_known_results(struct known_results *results, const struct trace *trace,
                               const struct host_contexts *contexts)
{
    results->trace = trace;
    results->parents = contexts->parents;
    results->convolutions.ask = is_about_convolutions;
    if (!any_text_is(trace, is_convolution_node))
        return;
    for (uint32_t i = 0; i < trace->host_count; i++) {
        const struct event *event = &trace->host[i];

        if (event->kind == EVENT_OPERATOR && event->sequence_number != NO_ID &&
            contexts->phases[i] == PHASE_BACKWARD &&
            is_convolution_node(trace_text(trace, event->name)))
            known_result_add_node(results, event);
    }
}

/* Of a convolution whose values (stride, padding, ...) the trace does not have: the gradient that
 * its autograd node is given is as large as its result. Of a gradient of a convolution's weight: as
 * large as the weight, an argument of the op around it. */
static struct known_result known_result_of(struct known_results *results, uint32_t op)
{
    const struct trace *trace = results->trace;
    const struct event *event = &trace->host[op];
    const char *name = trace_text(trace, event->name);
    uint32_t parent = results->parents[op];
    struct known_result result = {0};

    if (trace->details[event->detail].concrete_inputs ||
        !name_answer(&results->convolutions, trace, event->name))
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

static void known_results_clear(struct known_results *results)
{
    hash_map_clear(&results->nodes);
    free(results->convolutions.answers);
}

/* ---- counted ops ----------------------------------------------------------------------------- */

static bool has_any_prefix(const char *name, const char *const *prefixes)
{
    for (; *prefixes; prefixes++)
        if (has_prefix(name, *prefixes))
            return true;
    return false;
}

bool is_communication_op(const char *name)
{
    static const char *const prefixes[] = {
        "c10d::", "_c10d_functional::", "c10d_functional::",        "nccl:",  "gloo:",
        "mpi:",   "record_param_comms", "DistributedDataParallel.", "FSDP::", "torch.distributed.",
        NULL};

    return has_any_prefix(name, prefixes);
}

/* Ranges that only call others: their missing formula is no gap. */
static bool is_framework_range(const char *name)
{
    static const char *const prefixes[] = {"nn:",
                                           "autograd::",
                                           "torch::autograd::",
                                           "Optimizer.",
                                           "ProfilerStep",
                                           "enumerate(DataLoader)",
                                           "TorchDynamo Cache Lookup",
                                           "Torch-Compiled Region",
                                           "Pregraph bytecode",
                                           "AOTDispatcher Runtime Wrapper",
                                           "PyTorch Profiler",
                                           NULL};

    return has_any_prefix(name, prefixes) || strcmp(name, "CompiledFunction") == 0 ||
           is_autograd_node(name);
}

bool is_compiled_code(const char *name)
{
    return has_prefix(name, "## Call CompiledFxGraph");
}

/* What a name says of an op that no formula knows: bits of counted_ops.name_kinds. */
enum {
    NAME_WRAPS = 1, /* the framework's own range, or communication: only calls others */
    NAME_PLAIN = 2, /* no namespace and no compiled code: a Python autograd function; or a function
                       that SGLang's profiler marks */
};

static uint8_t name_kind(const char *name)
{
    if (is_framework_range(name) || is_communication_op(name))
        return NAME_WRAPS;
    if (has_prefix(name, "sglang_profiler::"))
        return NAME_PLAIN;
    return !strstr(name, "::") && !is_compiled_code(name) ? NAME_PLAIN : 0;
}

static void add_cost(struct counted_ops *ops, const char *name, struct op_cost cost)
{
    ARRAY_ROOM(ops->name_kinds, ops->cost_count);
    ARRAY_ROOM(ops->costs, ops->cost_count);
    ops->costs[ops->cost_count] = cost;
    ops->name_kinds[ops->cost_count++] = name_kind(name);
}

void counted_ops_set(struct counted_ops *ops, uint32_t event, struct op_cost cost)
{
    ops->cost_of[event] = ops->cost_count;
    add_cost(ops, "", cost);
    ops->states[event] = OP_COUNTED;
}

static const char *detail_text(const struct trace *trace, uint32_t string)
{
    return string ? trace_text(trace, string) : NULL;
}

/* The recorder's own count of an op that no formula knows. A formula of our own goes before the
 * recorder's number, as its convention is known; a recorder's number before nothing. */
static void use_recorded_cost(struct op_cost *cost, const struct trace *trace,
                              const struct event_detail *detail)
{
    const char *work = trace_text(trace, detail->work);

    if (detail->code || detail->flops < 0 || cost->kind != COST_NOT_COUNTED)
        return;
    *cost = (struct op_cost){.kind = COST_POINTWISE,
                             .flops = detail->flops,
                             .model_flops = detail->flops,
                             .masked_flops = detail->flops,
                             .bytes = detail->bytes};
    if (detail->flops == 0)
        cost->kind = detail->bytes > 0 ? COST_MOVEMENT : COST_FREE;
    else if (*work && kernel_class_is_matrix(kernel_class_of_key(work)))
        cost->kind = COST_MATRIX;
    cost->macs = cost->kind == COST_MATRIX ? detail->flops / 2 : 0;
}

/* What inductor expected of a kernel when it wrote it. With dynamic shapes that was for the sizes
 * of that day: it counts only where it moves just what this call's arguments hold, or where the
 * call is given no size but how often to run. */
static void use_expected_cost(struct op_cost *cost, const struct op_call *call,
                              const struct op_call_text *text, const struct event_detail *detail)
{
    int64_t held = bytes_of_arguments(call);
    bool is_open = cost->kind == COST_NOT_COUNTED || cost->kind == COST_MOVEMENT;

    if (!detail->code || !text->shapes || detail->bytes < 0 || !is_open)
        return;
    if (detail->flops > 0 && detail->bytes == held)
        (void)matrix_cost(cost, detail->flops / 2, held);
    else if (cost->kind == COST_MOVEMENT && cost->bytes < 0 && detail->bytes <= held &&
             generated_kernel_is_fixed(call, text->name))
        cost->bytes = detail->bytes;
}

/* While the cost of each op is looked up. */
struct cost_search {
    const struct trace *trace;
    const struct user_formulas *user;
    struct known_results results;
    const struct op_surroundings *around;
    uint32_t *plain;         /* by name: 1 + the cost of ops of which nothing else is known; or 0 */
    struct hash_map known;   /* name and details -> cost */
    struct hash_map in_step; /* such a cost and the number of a step -> cost */
    struct op_call call;
};

static void cost_search_clear(struct cost_search *search)
{
    op_call_clear(&search->call);
    hash_map_clear(&search->in_step);
    hash_map_clear(&search->known);
    free(search->plain);
    known_results_clear(&search->results);
}

/* The user's formulas go before ours; what the recorder wrote of an op counts only where
 * neither knows it, as it does not tell how it was counted. */
static void compute_cost(struct counted_ops *ops, struct cost_search *search, uint32_t op,
                         uint32_t step)
{
    const struct trace *trace = search->trace;
    const struct event_detail *detail = &trace->details[trace->host[op].detail];
    struct known_result result = known_result_of(&search->results, op);
    struct op_call_text text = {.name = trace_text(trace, trace->host[op].name),
                                .shapes = detail_text(trace, detail->input_shapes),
                                .types = detail_text(trace, detail->input_types),
                                .values = detail_text(trace, detail->concrete_inputs),
                                .result = detail_text(trace, result.shapes),
                                .result_argument = result.argument,
                                .around = surroundings_in(search->around, step)};
    struct op_cost cost = count_flops_of_text(&search->call, &text, search->user);

    use_recorded_cost(&cost, trace, detail);
    use_expected_cost(&cost, &search->call, &text, detail);
    add_cost(ops, text.name, cost);
}

/* Computed once for each name and details, the shape of the result where the details do not tell
 * it, and the step of a server where that tells what they do not. */
static uint32_t look_up_cost(struct counted_ops *ops, struct cost_search *search, uint32_t op)
{
    const struct event *event = &search->trace->host[op];
    uint32_t step = serving_step_of(search->around, op);
    uint32_t cost = ops->cost_count;
    bool is_plain = event->detail == 0 && step == NO_SERVING_STEP;

    if (is_plain && search->plain[event->name])
        return search->plain[event->name] - 1;
    if (known_result_of(&search->results, op).shapes == 0)
        cost = hash_map_add(&search->known, pair_key(event->name, event->detail), cost);
    if (cost == ops->cost_count)
        compute_cost(ops, search, op, NO_SERVING_STEP);
    if (is_plain && !name_answer(&search->results.convolutions, search->trace, event->name))
        search->plain[event->name] = cost + 1;
    if (step == NO_SERVING_STEP || ops->costs[cost].why != why_no_lengths)
        return cost;
    cost = hash_map_add(&search->in_step, pair_key(cost, step), ops->cost_count);
    if (cost == ops->cost_count)
        compute_cost(ops, search, op, step);
    return cost;
}

/* Ranges of compiled code have a cost of their own, as their kernels may be all there is. What lies
 * in a range that compiles has none: torch.compile calls each operator there with tensors that hold
 * no numbers, and what is tuned runs for its time alone. */
static void look_up_costs(struct counted_ops *ops, struct cost_search *search)
{
    const struct trace *trace = search->trace;
    struct name_answers compiles = {.ask = is_compilation};
    const struct event *compiling = NULL; /* the last range that does, on the thread of the event */

    for (uint32_t i = 0; i < trace->host_count; i++) {
        const struct event *event = &trace->host[i];

        ops->cost_of[i] = NO_EVENT;
        if (event->kind != EVENT_OPERATOR && event->kind != EVENT_ANNOTATION)
            continue;
        if (compiling && event->track == compiling->track &&
            event->start_ns < event_end_ns(compiling))
            continue;
        if (name_answer(&compiles, trace, event->name))
            compiling = event;
        else if (event->kind == EVENT_OPERATOR || is_compiled_code(trace_text(trace, event->name)))
            ops->cost_of[i] = look_up_cost(ops, search, i);
    }
    free(compiles.answers);
}

static enum cost_kind counted_ops_kind_of(const struct counted_ops *ops, uint32_t i)
{
    return ops->cost_of[i] == NO_EVENT ? COST_FREE : ops->costs[ops->cost_of[i]].kind;
}

/* The highest kind below each event; bottom-up, for children stand behind their parents. COST_*
 * are ordered by how much they compute: matmul above pointwise above movement above nothing. */
static uint8_t *find_highest_below(const struct counted_ops *ops, const struct trace *trace,
                                   const uint32_t *parents)
{
    size_t count = trace->host_count ? trace->host_count : 1;
    uint8_t *below = large_array_new(count);

    for (uint32_t i = trace->host_count; i-- > 0;) {
        uint8_t kind = (uint8_t)counted_ops_kind_of(ops, i);

        if (kind < below[i])
            kind = below[i];
        if (parents[i] != NO_EVENT && below[parents[i]] < kind)
            below[parents[i]] = kind;
    }
    return below;
}

/* An event without a count that only calls others, which are counted. */
static bool is_wrapper(const struct counted_ops *ops, uint32_t cost, enum cost_kind below)
{
    if (ops->name_kinds[cost] & NAME_WRAPS)
        return true;
    if (ops->costs[cost].why != why_no_formula)
        return below >= (ops->costs[cost].is_own_work ? COST_MATRIX : COST_MOVEMENT);
    return below >= COST_POINTWISE && (ops->name_kinds[cost] & NAME_PLAIN);
}

/* An op counts where nothing below it is of its kind or higher: aten::linear with an
 * aten::addmm in it leaves the count to that, and without one counts itself. So no FLOP is
 * counted twice, and none is lost where a trace leaves inner ops out. */
static enum op_state counted_ops_state_of(const struct counted_ops *ops, uint32_t i,
                                          enum cost_kind below)
{
    enum cost_kind kind = counted_ops_kind_of(ops, i);

    if (ops->cost_of[i] == NO_EVENT)
        return OP_NO_OP;
    if (kind == COST_NOT_COUNTED)
        return is_wrapper(ops, ops->cost_of[i], below) ? OP_NO_OP : OP_NOT_COUNTED;
    return kind >= COST_MOVEMENT && below < kind ? OP_COUNTED : OP_NO_OP;
}

/* Top-down: what lies in a counted op is inside it, whatever it is. */
static void choose_ops(struct counted_ops *ops, const struct trace *trace, const uint32_t *parents)
{
    uint8_t *below = find_highest_below(ops, trace, parents);

    for (uint32_t i = 0; i < trace->host_count; i++) {
        enum op_state above = parents[i] == NO_EVENT ? OP_NO_OP : ops->states[parents[i]];

        if (above == OP_COUNTED || above == OP_INSIDE)
            ops->states[i] = OP_INSIDE;
        else
            ops->states[i] = (uint8_t)counted_ops_state_of(ops, i, below[i]);
    }
    large_array_free(below);
}

/* What each autograd node recomputes last: the op, or what is inside it. */
static uint32_t *find_last_recomputed(const struct counted_ops *ops, const struct trace *trace,
                                      const struct host_contexts *contexts)
{
    uint32_t *last = large_array_new((trace->host_count + (size_t)1) * sizeof *last);

    for (uint32_t i = 0; i < trace->host_count; i++) {
        uint32_t node = contexts->backward_node[i];

        last[i] = NO_EVENT;
        if (contexts->phases[i] == PHASE_RECOMPUTE && node != NO_EVENT &&
            trace->host[i].kind == EVENT_OPERATOR && ops->states[i] != OP_INSIDE &&
            !is_module_mark(trace, &trace->host[i]))
            last[node] = i;
    }
    return last;
}

static const char dispatch_mode[] = "PythonDispatchMode";

static bool is_dispatch_mode(const struct trace *trace, uint32_t event)
{
    return strcmp(trace_text(trace, trace->host[event].name), dispatch_mode) == 0;
}

/* Inside of it nothing ran but the saving of its inputs. Events inside follow the op directly,
 * so the walk ends at the first that is not inside. */
static bool has_only_saved_inputs(const struct trace *trace, const uint32_t *parents, uint32_t op)
{
    for (uint32_t i = op + 1; i < trace->host_count; i++) {
        uint32_t above = parents[i];

        while (above != NO_EVENT && above > op)
            above = parents[above];
        if (above != op)
            return true;
        if (trace->host[i].kind == EVENT_OPERATOR && !is_dispatch_mode(trace, i) &&
            !strstr(trace_text(trace, trace->host[i].name), "detach"))
            return false;
    }
    return true;
}

/* What launched work of a device, itself or inside it: that was carried out. large_array_free()
 * it. From the end, as children stand behind parents: a launch marks all around it. */
static bool *find_launching(const struct trace *trace, const uint32_t *parents)
{
    bool *launches = large_array_new((trace->host_count + (size_t)1) * sizeof *launches);

    for (uint32_t i = 0; i < trace->device_count; i++) {
        uint32_t op = trace_operator_of(trace, i);

        if (op != NO_EVENT)
            launches[op] = true;
    }
    for (uint32_t i = trace->host_count; i-- > 0;)
        if (launches[i] && parents[i] != NO_EVENT)
            launches[parents[i]] = true;
    return launches;
}

static bool *counted_ops_find_parents(const struct trace *trace, const uint32_t *parents)
{
    bool *has_children = large_array_new((trace->host_count + (size_t)1) * sizeof *has_children);

    for (uint32_t i = 0; i < trace->host_count; i++)
        if (parents[i] != NO_EVENT)
            has_children[parents[i]] = true;
    return has_children;
}

/* Selective checkpointing keeps the results of some ops: in the recomputation its dispatch mode
 * answers for such an op, and does not call it. The profiler has recorded the op, and in it the
 * mode with nothing inside; where an op is carried out, it stands in the mode once more. */
static void leave_out_cached(struct counted_ops *ops, const struct trace *trace,
                             const struct host_contexts *contexts, const bool *launches)
{
    bool *has_children;

    if (string_pool_find(&trace->strings, dispatch_mode, strlen(dispatch_mode)) == UINT32_MAX)
        return;
    has_children = counted_ops_find_parents(trace, contexts->parents);
    for (uint32_t i = 0; i < trace->host_count; i++) {
        uint32_t op = contexts->parents[i];

        if (op != NO_EVENT && !has_children[i] && ops->states[op] == OP_COUNTED && !launches[op] &&
            contexts->backward_node[op] != NO_EVENT && is_dispatch_mode(trace, i))
            ops->states[op] = OP_NO_OP;
    }
    large_array_free(has_children);
}

/* Checkpointing without reentry recomputes until the last tensor that is needed has been saved, and
 * breaks off inside that op, before its work. The profiler has recorded the op all the same.
 * Reentrant checkpointing (CheckpointFunctionBackward) never breaks off. */
static void mark_doubtful(struct counted_ops *ops, const struct trace *trace,
                          const struct host_contexts *contexts, const bool *launches)
{
    uint32_t *last;

    if (!memchr(contexts->phases, PHASE_RECOMPUTE, trace->host_count))
        return;
    last = find_last_recomputed(ops, trace, contexts);
    for (uint32_t node = 0; node < trace->host_count; node++) {
        uint32_t op = last[node];
        uint32_t caller = op == NO_EVENT ? NO_EVENT : contexts->parents[op];

        if (caller != NO_EVENT && is_dispatch_mode(trace, caller))
            continue; /* the mode called it once its inputs had been saved */
        if (op == NO_EVENT || ops->states[op] != OP_COUNTED || launches[op] ||
            strstr(trace_text(trace, trace->host[node].name), "CheckpointFunctionBackward"))
            continue;
        if (has_only_saved_inputs(trace, contexts->parents, op))
            ops->states[op] = OP_DOUBTFUL;
    }
    large_array_free(last);
}

/* In this order: costs of all, then which of them count, then what recomputation did not carry
 * out. */
void count_ops(struct counted_ops *ops, const struct trace *trace,
               const struct host_contexts *contexts, const struct counting_options *options)
{
    size_t count = trace->host_count ? trace->host_count : 1;
    struct cost_search search = {.trace = trace, .user = options->user, .around = options->around};
    bool *launches;

    ops->cost_of = large_array_new(count * sizeof *ops->cost_of);
    ops->states = large_array_new(count);
    search.plain = require_memory(calloc(string_pool_count(&trace->strings), sizeof *search.plain));
    find_known_results(&search.results, trace, contexts);
    look_up_costs(ops, &search);
    cost_search_clear(&search);
    choose_ops(ops, trace, contexts->parents);
    launches = find_launching(trace, contexts->parents);
    leave_out_cached(ops, trace, contexts, launches);
    mark_doubtful(ops, trace, contexts, launches);
    large_array_free(launches);
}

void counted_ops_clear(struct counted_ops *ops)
{
    free(ops->costs);
    free(ops->name_kinds);
    large_array_free(ops->cost_of);
    large_array_free(ops->states);
    *ops = (struct counted_ops){0};
}
