/* Matches the operators in a range of compiled code with the calls that its code makes.
 *
 * The code runs straight on, so its calls come in their order, each as often as it stands there.
 * Between them other operators run (what allocates, what checks), whose names the code does not
 * call; where one of a called name is too many or missing, nothing in the range is known. */
#include "cost/modules/compiled_calls.h"

#include "base/core/array.h"
#include "base/core/hash_map.h"
#include "base/text/prefix.h"
#include "cost/modules/compiled_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Modules lie in each other no deeper, and a name is no longer. */
enum { DEPTH_MAX = 256, NAME_BYTES_MAX = 1024 };

/* What lies around the kernels of one launch of a graph, on the thread of copies. */
struct launch_copies {
    uint32_t first, end; /* of trace->host */
};

struct call_search {
    struct compiled_calls *calls;
    struct host_contexts *contexts;
    const struct trace *trace;
    const struct compiled_model *model;
    const struct compiled_code *code;
    struct hash_map is_called; /* (graph, name of an event) -> 1 or 0 */
    struct hash_map copies_of; /* event that launches a graph -> of `copies` */
    struct launch_copies *copies;
    size_t copies_count;
};

/* Templates in C++ go by no name of their own. */
static bool is_name_of_call(const struct compiled_call *call, const char *name)
{
    return strcmp(call->op, name) == 0 || (strcmp(name, "kernel") == 0 && !strstr(call->op, "::"));
}

/* The key in the range's name is the hash under which Inductor caches the graph; compiled.json
 * has the same. */
static const struct compiled_graph *graph_of_range(const struct call_search *search,
                                                   const char *name)
{
    static const char before[] = "## Call CompiledFxGraph ";
    static const char after[] = " ##";
    size_t length = strlen(name);

    if (length < sizeof before + sizeof after || !has_prefix(name, before) ||
        strcmp(name + length - (sizeof after - 1), after) != 0)
        return NULL;
    return compiled_code_find(search->code, name + sizeof before - 1,
                              length - (sizeof before - 1) - (sizeof after - 1));
}

/* Asked for every operator in every range: the answer is kept by graph and name. */
static bool is_compiled_call(struct call_search *search, const struct compiled_graph *graph,
                             uint32_t name)
{
    uint64_t key = pair_key((uint32_t)(graph - search->code->graphs), name);
    uint32_t known = hash_map_find(&search->is_called, key);
    const char *text = compiled_kernel_name(trace_text(search->trace, name));

    if (known != NO_VALUE)
        return known != 0;
    known = 0;
    for (uint32_t i = 0; i < graph->count && !known; i++)
        known = is_name_of_call(&graph->calls[i], text);
    hash_map_set(&search->is_called, key, known);
    return known != 0;
}

/* What is matched of one range. */
struct range_match {
    uint32_t range;
    uint32_t next; /* call of the graph */
    bool fits;
};

/* One call out of order makes the whole range unknown: to go on would give calls to wrong modules.
 */
static void match_operator(struct call_search *search, struct range_match *match, uint32_t event)
{
    struct compiled_calls *calls = search->calls;
    const struct compiled_range *range = &calls->ranges[match->range];
    const struct event *host = search->trace->host;
    const struct compiled_call *call = NULL;

    if (match->fits && range->graph && is_compiled_call(search, range->graph, host[event].name)) {
        match->fits =
            match->next < range->graph->count &&
            is_name_of_call(&range->graph->calls[match->next],
                            compiled_kernel_name(trace_text(search->trace, host[event].name)));
        call = match->fits ? &range->graph->calls[match->next++] : NULL;
    }
    ARRAY_ADD(calls->events, calls->event_count,
              (struct compiled_event){.event = event,
                                      .range = match->range,
                                      .base = module_of_host(search->contexts, range->event),
                                      .call = call});
}

/* The operators that a graph's capture had, copied for the launch of it in the range (mode
 * "reduce-overhead"). */
static void match_copies(struct call_search *search, struct range_match *match, uint32_t launch)
{
    uint32_t copies = hash_map_find(&search->copies_of, launch);
    const struct event *host = search->trace->host;
    int64_t inside_until_ns = INT64_MIN;

    if (copies == NO_VALUE || !search->copies)
        return;
    for (uint32_t i = search->copies[copies].first; i < search->copies[copies].end; i++) {
        if (host[i].kind != EVENT_OPERATOR || host[i].start_ns < inside_until_ns)
            continue;
        inside_until_ns = event_end_ns(&host[i]);
        match_operator(search, match, i);
    }
}

/* Collects the operators right in the range, with their calls; says whether all fit. Only the
 * outermost operators in the range are calls of its code; what lies in them is their own. */
static bool match_calls(struct call_search *search, uint32_t range_index)
{
    const struct compiled_range *range = &search->calls->ranges[range_index];
    const struct compiled_graph *graph = range->graph;
    const struct event *host = search->trace->host;
    const struct track *track = &search->trace->tracks[host[range->event].track];
    int64_t end_ns = event_end_ns(&host[range->event]);
    int64_t inside_until_ns = INT64_MIN;
    struct range_match match = {.range = range_index, .fits = graph && graph->count > 0};

    for (uint32_t i = range->event + 1;
         i < track->first_event + track->event_count && host[i].start_ns < end_ns; i++) {
        if (host[i].start_ns < inside_until_ns)
            continue;
        if (host[i].kind == EVENT_RUNTIME_CALL)
            match_copies(search, &match, i);
        if (host[i].kind != EVENT_OPERATOR)
            continue;
        inside_until_ns = event_end_ns(&host[i]);
        match_operator(search, &match, i);
    }
    return match.fits && graph && match.next == graph->count;
}

/* A limit of depth, so that a tree that was damaged into a circle ends. */
static bool lies_in(const struct module_tree *tree, uint32_t module, uint32_t around)
{
    for (int depth = 0; module != NO_MODULE && depth < DEPTH_MAX; depth++) {
        if (module == around)
            return true;
        module = tree->modules[module].parent;
    }
    return false;
}

/* A module goes by the first place that holds it; this is another one. */
static uint32_t module_of_alias(const struct compiled_model *model, const char *name)
{
    const struct described_module *module = describe_module(model->description, name);

    return module ? module_tree_find(model->tree, module->name) : NO_MODULE;
}

/* NO_MODULE where there is none. Names in a compiled region are relative to the module that was
 * compiled; a module must lie in it, else it is another of the same name. */
static uint32_t module_seen_from(const struct compiled_model *model, uint32_t base,
                                 const char *path)
{
    const struct module_tree *tree = model->tree;
    bool is_root = tree->modules[base].parent == NO_MODULE;
    char name[NAME_BYTES_MAX] = "";
    uint32_t module = NO_MODULE;

    if (*path == '\0')
        return base;
    if ((size_t)snprintf(name, sizeof name, "%s.%s", tree->modules[base].name, path) < sizeof name)
        module = module_tree_find(tree, name);
    if (module == NO_MODULE && is_root)
        module = module_tree_find(tree, path); /* names do not begin with the model's */
    if (module != NO_MODULE && !lies_in(tree, module, base))
        module = NO_MODULE;
    if (module == NO_MODULE)
        module = module_of_alias(model, name);
    if (module == NO_MODULE && is_root)
        module = module_of_alias(model, path);
    return module;
}

/* The outermost module of a model whose class this is. */
static uint32_t model_of_class(const struct compiled_model *model, const char *class_name)
{
    for (uint32_t i = 0; model->description && i < model->description->count; i++) {
        const struct described_module *module = &model->description->modules[i];

        if (strcmp(module->name, module->root) == 0 && strcmp(module->class_name, class_name) == 0)
            return module_tree_find(model->tree, module->name);
    }
    return NO_MODULE;
}

/* From the region's own module where it is known, else from the model whose class the code
 * names; else the region's module stands for all. */
uint32_t compiled_module_at(const struct compiled_model *model, uint32_t base,
                            const struct compiled_place *place)
{
    bool is_own = base != NO_MODULE && *place->module;
    uint32_t from = is_own ? base : *place->root ? model_of_class(model, place->root) : NO_MODULE;
    uint32_t module = from == NO_MODULE
                          ? NO_MODULE
                          : module_seen_from(model, from, is_own ? place->module : place->inner);

    return module != NO_MODULE ? module : base;
}

/* The end of the events that lie in `event`, which is the first of them. */
static uint32_t end_of_inside(const struct trace *trace, uint32_t event)
{
    const struct track *track = &trace->tracks[trace->host[event].track];
    int64_t end_ns = event_end_ns(&trace->host[event]);
    uint32_t i = event + 1;

    while (i < track->first_event + track->event_count && trace->host[i].start_ns < end_ns)
        i++;
    return i;
}

static void move_to_module(struct call_search *search, uint32_t event, uint32_t module)
{
    uint32_t end = end_of_inside(search->trace, event);

    if (!search->contexts->modules)
        return;
    for (uint32_t i = event; i < end; i++)
        search->contexts->modules[i] = module;
}

/* All or nothing: if the calls of a range do not match those of the graph, one by one, none of
 * them is believed, as names repeat and any of them may be another's. */
static void add_compiled_range(struct call_search *search, uint32_t event)
{
    struct compiled_calls *calls = search->calls;
    const char *name = trace_text(search->trace, search->trace->host[event].name);
    uint32_t range = (uint32_t)calls->range_count;
    size_t first = calls->event_count;

    ARRAY_ADD(calls->ranges, calls->range_count,
              (struct compiled_range){
                  .event = event, .is_range = true, .graph = graph_of_range(search, name)});
    calls->ranges[range].is_known = match_calls(search, range);
    for (size_t i = first; i < calls->event_count; i++) {
        struct compiled_event *found = &calls->events[i];

        if (!calls->ranges[range].is_known)
            found->call = NULL;
        else if (found->call)
            move_to_module(search, found->event,
                           compiled_module_at(search->model, found->base, &found->call->place));
    }
}

/* Only what runs in a backward may be recomputation; which of it is, the code says, as its
 * nodes remember whether they came from the forward graph. */
void set_compiled_phases(const struct compiled_calls *calls, struct host_contexts *contexts,
                         const struct trace *trace, bool *is_undecided)
{
    for (size_t i = 0; i < calls->event_count; i++) {
        const struct compiled_event *found = &calls->events[i];

        uint8_t phase = contexts->phases[found->event];
        uint32_t end = end_of_inside(trace, found->event);

        if (!found->call || found->call->phase == COMPILED_PHASE_UNKNOWN ||
            (phase != PHASE_BACKWARD && phase != PHASE_RECOMPUTE))
            continue;
        for (uint32_t k = found->event; k < end; k++) {
            contexts->phases[k] =
                found->call->phase == COMPILED_AGAIN ? PHASE_RECOMPUTE : PHASE_BACKWARD;
            if (is_undecided)
                is_undecided[k] = false;
        }
    }
}

/* Copies of one launch stand together: from the outermost around its first kernel to the last. */
static void find_launch_copies(struct call_search *search)
{
    const struct trace *trace = search->trace;

    for (uint32_t i = 0; i < trace->device_count; i++) {
        uint32_t host = trace_origin_of(trace, i);
        uint32_t at;

        if (host == NO_EVENT || trace->launch[i] == NO_EVENT ||
            !trace->tracks[trace->host[host].track].is_captured)
            continue;
        for (uint32_t around = search->contexts->parents[host];
             around != NO_EVENT && trace->host[around].track == trace->host[host].track;
             around = search->contexts->parents[host])
            host = around;
        at = hash_map_add(&search->copies_of, trace->launch[i], (uint32_t)search->copies_count);
        if (at == search->copies_count)
            ARRAY_ADD(search->copies, search->copies_count, (struct launch_copies){host, host});
        if (host < search->copies[at].first)
            search->copies[at].first = host;
        if (search->copies[at].end <= host)
            search->copies[at].end = end_of_inside(trace, host);
    }
}

/* Ranges are few beside events, and each looks at its own events only: O(events). */
void find_compiled_calls(struct compiled_calls *calls, struct host_contexts *contexts,
                         const struct trace *trace, const struct compiled_model *model)
{
    static const struct compiled_code nothing;
    struct call_search search = {
        .calls = calls,
        .contexts = contexts,
        .trace = trace,
        .model = model,
        .code = model->description ? &model->description->compiled : &nothing,
    };

    if (search.code->count > 0)
        find_launch_copies(&search);
    for (uint32_t i = 0; i < trace->host_count && search.code->count > 0; i++)
        if (trace->host[i].kind == EVENT_ANNOTATION &&
            is_compiled_code(trace_text(trace, trace->host[i].name)))
            add_compiled_range(&search, i);
    hash_map_clear(&search.is_called);
    hash_map_clear(&search.copies_of);
    free(search.copies);
}

/* A call into a library that the trace has without sizes: kernel_information.json has them. */
static void count_library_call(const struct compiled_event *found, struct counted_ops *ops,
                               struct op_call *lent)
{
    const struct compiled_call *call = found->call;
    struct op_call_text text = {.shapes = call ? call->input_shapes : NULL};
    struct op_cost cost;

    if (!text.shapes || !call->input_types || ops->states[found->event] != OP_NOT_COUNTED)
        return;
    text.name = call->op;
    text.types = call->input_types;
    cost = count_flops_of_text(lent, &text, NULL);
    if (cost.kind != COST_NOT_COUNTED)
        counted_ops_set(ops, found->event, cost);
}

/* Costs of kernels that the code names itself come from its own count (flops of the nodes
 * fused in them), bytes from their arguments. A range whose calls are all known is no gap any
 * more. */
void count_compiled_calls(const struct compiled_calls *calls, struct counted_ops *ops)
{
    struct op_call lent = {0};

    for (size_t i = 0; i < calls->event_count; i++) {
        const struct compiled_call *call = calls->events[i].sized;
        uint32_t event = calls->events[i].event;
        int64_t bytes = ops->states[event] == OP_COUNTED ? ops->costs[ops->cost_of[event]].bytes
                                                         : -1; /* Triton's, by its arguments */
        struct op_cost cost = {0};

        count_library_call(&calls->events[i], ops, &lent);
        if (!call || strstr(call->op, "::") || call->flops < 0)
            continue;
        if (bytes < 0)
            bytes = call->bytes;
        if (call->flops > 0)
            (void)matrix_cost(&cost, call->flops / 2, bytes);
        else
            (void)plain_cost(&cost, COST_MOVEMENT, 0, bytes);
        counted_ops_set(ops, event, cost);
    }
    for (size_t i = 0; i < calls->range_count; i++)
        if (calls->ranges[i].is_known && calls->ranges[i].is_range &&
            ops->states[calls->ranges[i].event] == OP_NOT_COUNTED)
            ops->states[calls->ranges[i].event] = OP_NO_OP;
    op_call_clear(&lent);
}

void compiled_calls_clear(struct compiled_calls *calls)
{
    free(calls->ranges);
    free(calls->events);
    arena_clear(&calls->arena);
    *calls = (struct compiled_calls){0};
}
