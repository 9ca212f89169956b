/* Walks each thread with the stack of open events, and notes it where it is asked for. */
#include "advice/call_site.h"

#include "base/display_text.h"
#include "base/invariant.h"
#include "base/prefix.h"
#include "modules/module_tree.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_COLUMNS = 56 };

/* The events open at a moment, outermost first. */
struct open_events {
    uint32_t *events;
    size_t depth;
    size_t capacity;
};

static void push(struct open_events *open, uint32_t event)
{
    if (open->depth == open->capacity) {
        open->capacity = open->capacity ? 2 * open->capacity : 64;
        open->events = require_memory(realloc(open->events, open->capacity * sizeof *open->events));
    }
    open->events[open->depth++] = event;
}

static void close_before(struct open_events *open, const struct trace *trace, int64_t time_ns)
{
    while (open->depth && event_end_ns(&trace->host[open->events[open->depth - 1]]) <= time_ns)
        open->depth--;
}

/* Frames of the framework tell nothing of the program. */
static bool is_own_frame(const char *name)
{
    return !has_prefix(name, "<") && !has_prefix(name, "torch/") &&
           !has_prefix(name, "nn.Module: ") && !strstr(name, "site-packages/torch/") &&
           !has_prefix(name, "contextlib.py") && !has_prefix(name, "threading.py");
}

/* The first own frame of a recorded call stack: "a.py(3): f;torch/...". */
static const char *frame_of_stack(const char *stack, struct results *results)
{
    while (*stack) {
        size_t length = strcspn(stack, ";");
        const char *frame =
            results_format(results, "%.*s", (int)(length < 200 ? length : 200), stack);

        if (length && is_own_frame(frame))
            return frame;
        stack += length;
        stack += *stack == ';';
    }
    return NULL;
}

static bool is_module(const struct trace *trace, const struct event *event)
{
    return is_module_mark(trace, event) ||
           (event->kind == EVENT_PYTHON_FUNCTION &&
            has_prefix(trace_text(trace, event->name), "nn.Module: "));
}

/* "nn:decoder.0" and "nn.Module: Linear_3" without what comes before the name. */
static const char *module_name(const char *mark)
{
    return has_prefix(mark, "nn.Module: ") ? mark + strlen("nn.Module: ") : mark + strlen("nn:");
}

static void note_operation(struct call_site *site, const struct event *event, const char *name,
                           bool *is_aten)
{
    if (event->kind != EVENT_OPERATOR && event->kind != EVENT_ANNOTATION)
        return;
    if (has_prefix(name, "ProfilerStep") || *is_aten)
        return;
    site->operation = name;
    *is_aten = has_prefix(name, "aten::");
}

static void note_site(struct call_site *site, const struct open_events *open,
                      const struct trace *trace, struct results *results)
{
    bool is_aten = false;
    uint32_t stack = 0;

    for (size_t i = 0; i < open->depth; i++) {
        const struct event *event = &trace->host[open->events[i]];
        const char *name = trace_text(trace, event->name);

        if (trace->details[event->detail].call_stack)
            stack = trace->details[event->detail].call_stack;
        if (is_module(trace, event))
            site->module = module_name(name);
        else if (event->kind == EVENT_PYTHON_FUNCTION && is_own_frame(name))
            site->frame = name;
        else
            note_operation(site, event, name, &is_aten);
    }
    if (!site->frame && stack)
        site->frame = frame_of_stack(trace_text(trace, stack), results);
}

void find_call_sites(struct call_site *sites, const uint32_t *events, uint32_t count,
                     const struct trace *trace, struct results *results)
{
    struct open_events open = {0};

    for (uint32_t at = 0; at < count;) {
        const struct track *track = &trace->tracks[trace->host[events[at]].track];
        uint32_t end = track->first_event + track->event_count;

        open.depth = 0;
        for (uint32_t i = track->first_event; i < end && at < count && events[at] < end; i++) {
            close_before(&open, trace, trace->host[i].start_ns);
            if (i == events[at]) {
                sites[at] = (struct call_site){.event = i};
                note_site(&sites[at++], &open, trace, results);
            }
            push(&open, i);
        }
    }
    free(open.events);
}

const char *brief_name(const char *name, struct results *results)
{
    return shorten_name(results->arena, name, NAME_COLUMNS, false);
}

const char *call_site_text(const struct call_site *site, const struct trace *trace,
                           struct results *results)
{
    const char *call = trace_text(trace, trace->host[site->event].name);
    const char *text = brief_name(site->operation ? site->operation : call, results);

    if (site->frame)
        text = results_format(results, "%s in %s", text, brief_name(site->frame, results));
    if (site->module && *site->module)
        text = results_format(results, "%s, module %s", text, brief_name(site->module, results));
    return text;
}
