/* Nests host events by their times, and follows autograd from each backward node to the forward op
 * that made it. */
#include "cost/modules/host_context.h"

#include "base/core/array.h"
#include "base/core/invariant.h"
#include "base/core/large_array.h"
#include "base/core/large_sort.h"
#include "base/core/search.h"
#include "base/text/prefix.h"
#include "trace/name_answers.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* At least one, so that NULL means that memory ended. */
static void nest_thread(uint32_t *parents, const struct trace *trace, const struct track *track)
{
    uint32_t top = NO_EVENT; /* the latest event that may still be open */

    for (uint32_t i = track->first_event; i < track->first_event + track->event_count; i++) {
        int64_t start_ns = trace->host[i].start_ns;
        int64_t end_ns = event_end_ns(&trace->host[i]);

        while (
            top != NO_EVENT && event_end_ns(&trace->host[top]) <= start_ns &&
            !(event_end_ns(&trace->host[top]) == end_ns && trace->host[top].start_ns == start_ns))
            top = parents[top];
        while (top != NO_EVENT && event_end_ns(&trace->host[top]) < end_ns)
            top = parents[top];
        parents[i] = top;
        top = i;
    }
}

/* Copies of captured events lie in the call that launched their graph. A captured event has no
 * time of its own in a replay; it lies where the graph was launched. */
static void nest_copies(uint32_t *parents, const struct graph_replays *graphs)
{
    for (size_t c = 0; graphs && c < graphs->copy_count; c++) {
        const struct graph_copy *copy = &graphs->copies[c];

        for (uint32_t i = copy->first; i < copy->first + copy->count; i++)
            if (parents[i] == NO_EVENT)
                parents[i] = copy->call;
    }
}

/* Per thread, as events of one thread nest and those of two do not: O(events), each pushed and
 * popped once. */
uint32_t *find_host_parents(const struct trace *trace)
{
    uint32_t *parents = large_array_new(trace->host_count * sizeof *parents);

    for (uint32_t i = 0; i < trace->track_count; i++)
        if (!trace->tracks[i].is_device)
            nest_thread(parents, trace, &trace->tracks[i]);
    nest_copies(parents, trace->graphs);
    return parents;
}

/* Negative where children overlap by clock rounding; 0 is nearer to the truth. */
int64_t *measure_own_times(const struct trace *trace, const uint32_t *parents)
{
    int64_t *own_ns = large_array_new(trace->host_count * sizeof *own_ns);

    uint32_t recorded = trace_recorded_host_count(trace); /* copies took no time of a host */

    for (uint32_t i = 0; i < recorded; i++) {
        own_ns[i] += trace->host[i].duration_ns;
        if (parents[i] != NO_EVENT)
            own_ns[parents[i]] -= trace->host[i].duration_ns;
    }
    for (uint32_t i = 0; i < recorded; i++)
        if (own_ns[i] < 0)
            own_ns[i] = 0;
    return own_ns;
}

static const char backward_prefix[] = "autograd::engine::evaluate_function";
static const char optimizer_prefix[] = "Optimizer.";

/* So many recomputed ops of one number are looked at. */
enum { RECOMPUTED_MAX = 256 };

/* Names that change the context. */
enum name_role { ROLE_NONE, ROLE_MODULE, ROLE_BACKWARD, ROLE_OPTIMIZER, ROLE_FORWARD_ONLY };

/* Ops that programs call and no backward formula does: with an autograd number of their own inside
 * a backward node, they are computed again for it (activation checkpointing). */
static const char *const forward_only_ops[] = {"aten::linear",
                                               "aten::matmul",
                                               "aten::conv1d",
                                               "aten::conv2d",
                                               "aten::conv3d",
                                               "aten::einsum",
                                               "aten::scaled_dot_product_attention"};

/* An op of the forward that may have made an autograd node. */
struct forward_op {
    int64_t sequence_number;
    int64_t start_ns;
    uint32_t event;
};

struct context_search {
    struct host_contexts *contexts;
    const struct trace *trace;
    const struct module_tree *tree;
    uint8_t *roles;              /* by name */
    uint32_t words[PHASE_COUNT]; /* keys of phases as the recorder tells them, in trace->strings */
    struct forward_op *ops;      /* sorted by sequence number, then start */
    size_t op_count;
};

const char *training_phase_key(enum training_phase phase)
{
    static const char *const keys[PHASE_COUNT] = {"forward", "backward", "recompute", "optimizer"};

    return keys[phase];
}

static bool is_range_around_node(const char *name)
{
    return has_prefix(name, backward_prefix);
}

/* Asked once per name: a trace has some thousand names and millions of events. */
static void find_roles(struct context_search *search)
{
    const struct trace *trace = search->trace;
    size_t count = string_pool_count(&trace->strings);
    /* traces of PyTorch before 1.10 have the nodes and no evaluate_function around them */
    bool has_ranges = any_text_is(trace, is_range_around_node);

    search->roles = require_memory(calloc(count + 1, 1));
    for (size_t i = 0; i < count; i++) {
        const char *name = trace_text(trace, (uint32_t)i);

        if (search->tree->by_event_name[i] != NO_MODULE)
            search->roles[i] = ROLE_MODULE;
        else if (is_range_around_node(name) || (!has_ranges && is_autograd_node(name)))
            search->roles[i] = ROLE_BACKWARD;
        else if (has_prefix(name, optimizer_prefix))
            search->roles[i] = ROLE_OPTIMIZER;
        for (size_t k = 0; k < sizeof forward_only_ops / sizeof *forward_only_ops; k++)
            if (strcmp(name, forward_only_ops[k]) == 0)
                search->roles[i] = ROLE_FORWARD_ONLY;
    }
}

static enum name_role role_of(const struct context_search *search, uint32_t i)
{
    const struct event *event = &search->trace->host[i];

    if (event->kind == EVENT_PYTHON_FUNCTION) /* nn.Module: Linear_0 */
        return search->roles[event->name] == ROLE_MODULE ? ROLE_MODULE : ROLE_NONE;
    if (event->kind != EVENT_OPERATOR && event->kind != EVENT_ANNOTATION)
        return ROLE_NONE;
    return search->roles[event->name];
}

/* PHASE_COUNT where the recorder does not tell it. */
static uint8_t recorded_phase(const struct context_search *search, uint32_t i)
{
    uint32_t detail = search->trace->host[i].detail;
    uint32_t word = detail ? search->trace->details[detail].phase : 0;
    uint8_t phase = word ? 0 : PHASE_COUNT;

    while (phase < PHASE_COUNT && search->words[phase] != word)
        phase++;
    return phase;
}

/* In a closure that Optimizer.step was given; zero_grad is the optimizer's wherever it is called.
 */
static bool is_in_closure(const struct context_search *search, uint32_t i)
{
    const struct event *event = &search->trace->host[i];
    uint32_t around = search->contexts->parents[i];

    if (role_of(search, i) == ROLE_OPTIMIZER ||
        is_optimizer_time(&search->contexts->optimizer, event->track, event->start_ns))
        return false;
    while (around != NO_EVENT && role_of(search, around) != ROLE_OPTIMIZER)
        around = search->contexts->parents[around];
    return around != NO_EVENT &&
           has_prefix(trace_text(search->trace, search->trace->host[around].name),
                      "Optimizer.step");
}

/* Phase and innermost node from the event's own name and its parent's context. Phases by where
 * an event lies: a module's mark in a backward is a recomputation (checkpointing calls the
 * module again), in an optimizer the closure's forward. */
static void set_phase(struct context_search *search, uint32_t i)
{
    struct host_contexts *contexts = search->contexts;
    uint32_t parent = contexts->parents[i];
    uint8_t phase = parent == NO_EVENT ? PHASE_FORWARD : contexts->phases[parent];

    contexts->backward_node[i] = parent == NO_EVENT ? NO_EVENT : contexts->backward_node[parent];
    switch (role_of(search, i)) {
    case ROLE_NONE:
        break;
    case ROLE_MODULE:
        if (phase == PHASE_BACKWARD)
            phase = PHASE_RECOMPUTE;
        else if (phase == PHASE_OPTIMIZER) /* a closure */
            phase = PHASE_FORWARD;
        break;
    case ROLE_BACKWARD:
        phase = PHASE_BACKWARD;
        contexts->backward_node[i] = i;
        break;
    case ROLE_OPTIMIZER:
        phase = PHASE_OPTIMIZER;
        break;
    case ROLE_FORWARD_ONLY:
        if (phase == PHASE_BACKWARD && search->trace->host[i].sequence_number != NO_ID)
            phase = PHASE_RECOMPUTE;
        break;
    }
    if (phase == PHASE_OPTIMIZER && is_in_closure(search, i))
        phase = PHASE_FORWARD;
    if (recorded_phase(search, i) != PHASE_COUNT)
        phase = recorded_phase(search, i);
    contexts->phases[i] = phase;
}

static void add_forward_op(struct context_search *search, uint32_t i)
{
    LARGE_ARRAY_ADD(search->ops, search->op_count,
                    (struct forward_op){.sequence_number = search->trace->host[i].sequence_number,
                                        .start_ns = search->trace->host[i].start_ns,
                                        .event = i});
}

/* By number and then by start: one number may be that of several nested operators, the
 * outermost of which comes first. */
static int compare_forward_ops(const void *a, const void *b, void *unused)
{
    const struct forward_op *left = a;
    const struct forward_op *right = b;

    (void)unused;
    if (left->sequence_number != right->sequence_number)
        return left->sequence_number < right->sequence_number ? -1 : 1;
    if (left->start_ns != right->start_ns)
        return left->start_ns < right->start_ns ? -1 : 1;
    return left->event < right->event ? -1 : left->event > right->event;
}

/* Number of ops that sort before (sequence number, start). */
static size_t ops_before(const struct context_search *search, int64_t sequence_number,
                         int64_t start_ns)
{
    const struct forward_op *ops = search->ops;

    return LOWER_BOUND(i, 0, search->op_count,
                       ops[i].sequence_number != sequence_number
                           ? ops[i].sequence_number < sequence_number
                           : ops[i].start_ns < start_ns);
}

/* A recomputed op made the node only if the recomputation lies in a node around it: the backward of
 * what was recomputed runs inside that of the checkpoint (reentrant checkpointing). */
static bool is_recomputed_around(const struct host_contexts *contexts, uint32_t op, uint32_t node)
{
    uint32_t recomputing = contexts->backward_node[op];
    uint32_t parent = contexts->parents[node];

    for (uint32_t around = parent == NO_EVENT ? NO_EVENT : contexts->backward_node[parent];
         around != NO_EVENT;) {
        if (around == recomputing)
            return true;
        parent = contexts->parents[around];
        around = parent == NO_EVENT ? NO_EVENT : contexts->backward_node[parent];
    }
    return false;
}

/* The module of the op that made the node: the last one before it with its sequence number, for
 * each op takes the next number when it begins, and the one that makes the node uses it up. */
static uint32_t module_of_node(const struct context_search *search, uint32_t node)
{
    const struct event *event = &search->trace->host[node];
    const struct host_contexts *contexts = search->contexts;
    uint32_t recomputed = 0;

    if (event->sequence_number == NO_ID)
        return NO_MODULE;
    for (size_t i = ops_before(search, event->sequence_number, event->start_ns); i-- > 0;) {
        const struct forward_op *op = &search->ops[i];

        if (op->sequence_number != event->sequence_number)
            break;
        if (contexts->phases[op->event] == PHASE_RECOMPUTE) {
            if (is_recomputed_around(contexts, op->event, node))
                return contexts->modules[op->event];
        } else {
            return contexts->modules[op->event];
        }
        if (++recomputed == RECOMPUTED_MAX)
            break;
    }
    return NO_MODULE;
}

/* Modules by marks alone; what lies in a backward node and in no mark inside it has none yet. */
static void set_marked_modules(struct context_search *search)
{
    struct host_contexts *contexts = search->contexts;

    for (uint32_t i = 0; i < search->trace->host_count; i++) {
        const struct event *event = &search->trace->host[i];
        uint32_t parent = contexts->parents[i];
        enum name_role role = role_of(search, i);

        set_phase(search, i);
        if (!contexts->modules)
            continue;
        if (role == ROLE_MODULE)
            contexts->modules[i] = search->tree->by_event_name[event->name];
        else if (role == ROLE_BACKWARD || parent == NO_EVENT)
            contexts->modules[i] = NO_MODULE;
        else
            contexts->modules[i] = contexts->modules[parent];
        if (event->kind == EVENT_OPERATOR && event->sequence_number != NO_ID &&
            (contexts->phases[i] == PHASE_FORWARD || contexts->phases[i] == PHASE_RECOMPUTE))
            add_forward_op(search, i);
    }
}

/* A node has the module of the op that made it, and all in it that of the node: that is how
 * gradients get a module, since no mark lies around them. Where the recorder tells the phase, one
 * does. */
static void set_backward_modules(struct context_search *search)
{
    struct host_contexts *contexts = search->contexts;

    for (uint32_t i = 0; i < search->trace->host_count; i++) {
        if (contexts->phases[i] != PHASE_BACKWARD || recorded_phase(search, i) != PHASE_COUNT)
            continue;
        if (contexts->backward_node[i] == i)
            contexts->modules[i] = module_of_node(search, i);
        else if (contexts->parents[i] != NO_EVENT)
            contexts->modules[i] = contexts->modules[contexts->parents[i]];
    }
}

/* Two passes, as a backward node needs the ops of the forward sorted by number. O(n log n) for
 * the sort, else O(n). */
void find_host_contexts(struct host_contexts *contexts, const struct trace *trace,
                        const struct module_tree *tree, uint32_t *parents)
{
    struct context_search search = {.contexts = contexts, .trace = trace, .tree = tree};
    size_t count = trace->host_count ? trace->host_count : 1;

    contexts->parents = parents;
    contexts->modules = tree->count > 0 ? large_array_new(count * sizeof *contexts->modules) : NULL;
    contexts->backward_node = large_array_new(count * sizeof *contexts->backward_node);
    contexts->phases = large_array_new(count);
    find_roles(&search);
    for (int i = 0; i < PHASE_COUNT; i++) {
        const char *key = training_phase_key((enum training_phase)i);

        search.words[i] = string_pool_find(&trace->strings, key, strlen(key));
    }
    for (uint32_t i = 0; i < trace->detail_count; i++)
        contexts->has_recorded_phases |= trace->details[i].phase != 0;
    find_optimizer_time(&contexts->optimizer, trace);
    set_marked_modules(&search);
    if (contexts->modules) {
        sort_large(search.ops, search.op_count,
                   &(struct large_order){.element_bytes = sizeof *search.ops,
                                         .compare = compare_forward_ops});
        set_backward_modules(&search);
    }
    large_array_free(search.ops);
    free(search.roles);
}

void host_contexts_keep_nodes(struct host_contexts *contexts, const struct trace *trace,
                              const struct module_tree *tree)
{
    if (tree->count > 0)
        contexts->is_node = large_array_new(trace->host_count + (size_t)1);
    for (uint32_t i = 0; i < trace->host_count && contexts->is_node; i++)
        contexts->is_node[i] = contexts->backward_node[i] == i;
    large_array_free(contexts->backward_node);
    contexts->backward_node = NULL;
}

/* Operators alone: ranges and calls of the runtime inside a recomputation follow from the
 * operator around. */
uint8_t *find_recomputed(const struct host_contexts *contexts, const struct trace *trace)
{
    uint8_t *is_recomputed = large_array_new(trace->host_count + (size_t)1);

    for (uint32_t i = 0; i < trace->host_count; i++)
        is_recomputed[i] =
            trace->host[i].kind == EVENT_OPERATOR && contexts->phases[i] == PHASE_RECOMPUTE;
    return is_recomputed;
}

/* The operator's own module first: the launch's place may be a thread without marks
 * (autograd's). */
struct device_context find_device_context(const struct host_contexts *contexts,
                                          const struct trace *trace, uint32_t index)
{
    uint32_t op = trace_operator_of(trace, index);
    uint32_t host = op != NO_EVENT && module_of_host(contexts, op) != NO_MODULE
                        ? op
                        : trace_origin_of(trace, index);

    if (host == NO_EVENT)
        return (struct device_context){.module = NO_MODULE};
    return (struct device_context){module_of_host(contexts, host),
                                   (enum training_phase)contexts->phases[host], true};
}

void host_contexts_clear(struct host_contexts *contexts)
{
    large_array_free(contexts->parents);
    large_array_free(contexts->modules);
    large_array_free(contexts->phases);
    large_array_free(contexts->backward_node);
    large_array_free(contexts->is_node);
    optimizer_time_clear(&contexts->optimizer);
    *contexts = (struct host_contexts){0};
}
