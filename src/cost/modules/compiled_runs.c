/* Calls of compiled code that no range tells: AOTInductor's, by their order, and kernels that carry
 * the program's lines with them. */
#include "base/core/array.h"
#include "base/core/hash_map.h"
#include "base/core/string_pool.h"
#include "base/json/json_tree.h"
#include "cost/flops/count_flops.h"
#include "cost/modules/compiled_calls.h"
#include "cost/modules/compiled_words.h"

#include <stdlib.h>
#include <string.h>

struct run_search {
    struct compiled_calls *calls;
    const struct trace *trace;
    const struct compiled_graph *code;
    struct string_pool names; /* of the calls */
    struct hash_map name_of;  /* name of an event -> of a call, or NO_NAME */
    uint32_t *sequence;       /* calls whose names the trace has, in their order */
    uint32_t *sequence_names;
    uint32_t length;
    uint32_t next; /* in the sequence, of the run that is open; NO_RUN */
};

#define NO_NAME (UINT32_MAX - 1)
#define NO_RUN  UINT32_MAX

static uint32_t called_name_of(struct run_search *search, uint32_t name)
{
    uint32_t known = hash_map_find(&search->name_of, name);
    const char *text;

    if (known != NO_VALUE)
        return known;
    text = compiled_kernel_name(trace_text(search->trace, name));
    known = string_pool_find(&search->names, text, strlen(text));
    if (known == UINT32_MAX)
        known = NO_NAME;
    hash_map_set(&search->name_of, name, known);
    return known;
}

/* A call that the profiler has no name for (a library's, on some devices) is not waited for. */
static void find_sequence(struct run_search *search)
{
    const struct compiled_graph *code = search->code;
    const struct trace *trace = search->trace;
    uint32_t *names = require_memory(calloc(code->count + (size_t)1, sizeof *names));
    bool *has_events;

    for (uint32_t i = 0; i < code->count; i++)
        names[i] = string_pool_add(&search->names, code->calls[i].op, strlen(code->calls[i].op));
    has_events = require_memory(calloc(search->names.count + (size_t)1, sizeof *has_events));
    for (uint32_t i = 0; i < trace->host_count; i++)
        if (trace->host[i].kind == EVENT_OPERATOR &&
            called_name_of(search, trace->host[i].name) != NO_NAME)
            has_events[called_name_of(search, trace->host[i].name)] = true;
    search->sequence = require_memory(calloc(code->count + (size_t)1, sizeof *search->sequence));
    for (uint32_t i = 0; i < code->count; i++) {
        if (!has_events[names[i]])
            continue;
        names[search->length] = names[i];
        search->sequence[search->length++] = i;
    }
    search->sequence_names = names;
    free(has_events);
}

/* Of a run that did not come to its end nothing is believed. */
static void close_run(struct run_search *search)
{
    struct compiled_calls *calls = search->calls;
    size_t run = calls->range_count - 1;

    if (search->next == NO_RUN)
        return;
    calls->ranges[run].is_known = search->next == search->length;
    for (size_t i = calls->event_count; i-- > 0 && !calls->ranges[run].is_known;) {
        if (calls->events[i].range != run)
            break;
        calls->events[i].call = NULL;
    }
    search->next = NO_RUN;
}

/* A call out of order ends the run; it may be the first one of the next. */
static void add_to_run(struct run_search *search, uint32_t event, uint32_t name,
                       const struct host_contexts *contexts)
{
    struct compiled_calls *calls = search->calls;
    bool is_next = search->next < search->length && search->sequence_names[search->next] == name;
    const struct compiled_call *call = NULL;

    if (!is_next) {
        close_run(search);
        search->next = search->sequence_names[0] == name ? 0 : NO_RUN;
        ARRAY_ADD(calls->ranges, calls->range_count,
                  (struct compiled_range){.event = event, .graph = search->code});
    }
    if (search->next != NO_RUN)
        call = &search->code->calls[search->sequence[search->next++]];
    ARRAY_ADD(calls->events, calls->event_count,
              (struct compiled_event){.event = event,
                                      .range = (uint32_t)calls->range_count - 1,
                                      .base = module_of_host(contexts, event),
                                      .call = call});
    if (search->next == search->length)
        close_run(search);
}

/* Looks at what lies in no range of compiled code: that is told by its key. */
static void find_runs_on(struct run_search *search, const struct track *track,
                         const struct host_contexts *contexts)
{
    const struct event *host = search->trace->host;
    int64_t inside_until_ns = INT64_MIN;

    search->next = NO_RUN;
    for (uint32_t i = track->first_event; i < track->first_event + track->event_count; i++) {
        bool is_range = host[i].kind == EVENT_ANNOTATION &&
                        is_compiled_code(trace_text(search->trace, host[i].name));
        uint32_t name = NO_NAME;

        if (host[i].start_ns < inside_until_ns)
            continue;
        if (host[i].kind == EVENT_OPERATOR)
            name = called_name_of(search, host[i].name);
        if (is_range || name != NO_NAME)
            inside_until_ns = event_end_ns(&host[i]);
        if (name != NO_NAME)
            add_to_run(search, i, name, contexts);
    }
    close_run(search);
}

static void find_unranged_runs(struct compiled_calls *calls, const struct trace *trace,
                               const struct host_contexts *contexts,
                               const struct compiled_graph *code)
{
    struct run_search search = {.calls = calls, .trace = trace, .code = code};

    find_sequence(&search);
    for (uint32_t i = 0; i < trace->track_count && search.length > 0; i++)
        find_runs_on(&search, &trace->tracks[i], contexts);
    free(search.sequence);
    free(search.sequence_names);
    string_pool_clear(&search.names);
    hash_map_clear(&search.name_of);
}

/* ---- kernels with lines --------------------------------------------------------------------- */

/* What inductor put into a name, "add_mul" of "triton_poi_fused_add_mul_0"; an operator by itself.
 * Names of operators have such bars, too: it is not split. */
static const char *operators_in_name(struct arena *arena, const char *name)
{
    static const char fused[] = "_fused_";
    const char *start = strstr(name, fused);

    if (!start)
        return arena_copy_text(arena, name, strlen(name));
    start += sizeof fused - 1;
    return arena_copy_text(arena, start, length_without_number(start));
}

static const struct compiled_call *call_with_lines(struct compiled_calls *calls, const char *name,
                                                   const char *stack)
{
    SCOPED(arena) scratch = {0};
    struct error ignored = {0};
    const struct json_node *root = json_tree_parse(&scratch, stack, strlen(stack), &ignored);
    struct compiled_call *call = arena_allocate(&calls->arena, sizeof *call);

    *call = (struct compiled_call){
        .op = arena_copy_text(&calls->arena, name, strlen(name)),
        .place = {"", "", ""},
        .aten = operators_in_name(&calls->arena, name),
        .lines = compiled_line_words(&calls->arena, root ? root->first : NULL),
        .flops = -1,
        .bytes = -1};
    return call;
}

/* While kernels with lines are looked at. */
struct stack_search {
    struct hash_map event_of; /* event of the host -> of compiled_calls */
    struct hash_map call_of;  /* name and stack -> of `known` */
    const struct compiled_call **known;
    size_t known_count;
};

static const struct compiled_call *known_call_with_lines(struct stack_search *search,
                                                         struct compiled_calls *calls,
                                                         const struct trace *trace, uint32_t name,
                                                         uint32_t lines)
{
    uint32_t at =
        hash_map_add(&search->call_of, pair_key(name, lines), (uint32_t)search->known_count);

    if (at == search->known_count)
        ARRAY_ADD(search->known, search->known_count,
                  call_with_lines(calls, trace_text(trace, name), trace_text(trace, lines)));
    return search->known[at];
}

/* Kernels of one operator carry the same lines. */
static void add_lines_of_kernel(struct stack_search *search, struct compiled_calls *calls,
                                const struct trace *trace, const struct host_contexts *contexts,
                                uint32_t kernel)
{
    uint32_t lines = trace->details[trace->device[kernel].detail].lines;
    uint32_t op = trace_operator_of(trace, kernel);
    uint32_t found = NO_VALUE;
    struct compiled_event *event;

    for (uint32_t host = op; host != NO_EVENT && found == NO_VALUE; host = contexts->parents[host])
        found = hash_map_find(&search->event_of, host);
    if (op == NO_EVENT)
        return;
    if (found == NO_VALUE) {
        found = (uint32_t)calls->event_count;
        hash_map_set(&search->event_of, op, found);
        ARRAY_ADD(calls->events, calls->event_count,
                  (struct compiled_event){
                      .event = op, .range = NO_VALUE, .base = module_of_host(contexts, op)});
    }
    event = &calls->events[found];
    if (!event->call)
        event->call =
            known_call_with_lines(search, calls, trace, trace->host[event->event].name, lines);
}

static void find_compiled_stacks(struct compiled_calls *calls, const struct trace *trace,
                                 const struct host_contexts *contexts)
{
    struct stack_search search = {0};
    bool has_lines = false;

    for (uint32_t i = 0; i < trace->detail_count && !has_lines; i++)
        has_lines = trace->details[i].lines != 0;
    if (!has_lines)
        return;
    for (size_t i = 0; i < calls->event_count; i++)
        hash_map_set(&search.event_of, calls->events[i].event, (uint32_t)i);
    for (uint32_t i = 0; i < trace->device_count; i++)
        if (trace->device[i].kind == EVENT_KERNEL && trace->details[trace->device[i].detail].lines)
            add_lines_of_kernel(&search, calls, trace, contexts, i);
    free(search.known);
    hash_map_clear(&search.event_of);
    hash_map_clear(&search.call_of);
}

void find_compiled_runs(struct compiled_calls *calls, const struct trace *trace,
                        const struct host_contexts *contexts, const struct compiled_model *model)
{
    if (model->description && model->description->compiled.unranged.count > 0)
        find_unranged_runs(calls, trace, contexts, &model->description->compiled.unranged);
    find_compiled_stacks(calls, trace, contexts);
}
