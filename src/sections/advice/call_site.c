/* Climbs from an event to those that hold it, and notes who they are. */
#include "sections/advice/call_site.h"

#include "base/text/display_text.h"
#include "base/text/prefix.h"
#include "cost/modules/module_tree.h"
#include "ledger/step_finder.h"

#include <stdbool.h>
#include <string.h>

enum { NAME_COLUMNS = 56, FRAME_LENGTH_MAX = 200 };

/* Frames of the framework tell nothing of the program. */
static bool is_own_frame(const char *name)
{
    return !has_prefix(name, "<") && !has_prefix(name, "torch/") &&
           !has_prefix(name, "nn.Module: ") && !strstr(name, "site-packages/torch/") &&
           !has_prefix(name, "contextlib.py") && !has_prefix(name, "threading.py");
}

/* The first own frame of a recorded call stack: "a.py(3): f;torch/...". Stacks begin with the
 * innermost frame. */
static const char *frame_of_stack(const char *stack, struct results *results)
{
    while (*stack) {
        size_t length = strcspn(stack, ";");
        int shown = (int)(length < FRAME_LENGTH_MAX ? length : FRAME_LENGTH_MAX);
        const char *frame = results_format(results, "%.*s", shown, stack);

        if (length && is_own_frame(frame))
            return frame;
        stack += length;
        stack += *stack == ';';
    }
    return NULL;
}

/* The outermost aten operator says best what was called: inner ones are how torch does it. */
static void note_operation(struct call_site *site, const struct event *event, const char *name)
{
    if (event->kind != EVENT_OPERATOR && event->kind != EVENT_ANNOTATION)
        return;
    if (has_prefix(name, "ProfilerStep"))
        return;
    if (!site->operation || has_prefix(name, "aten::"))
        site->operation = name;
}

/* The range that told the step: "iteration 7" is no place, and each step has another. */
static bool is_step(const struct ledger *ledger, const struct event *event)
{
    struct step_finder finder = {.ledger = ledger};
    uint32_t step = step_finder_of_host(&finder, event->start_ns);
    const struct step_window *window;

    if (step == NO_STEP)
        return false;
    window = &ledger->steps[step].window;
    return window->track == event->track && window->mark_start_ns == event->start_ns &&
           window->mark_end_ns == event_end_ns(event);
}

/* Called from the event outward, so the first frame and the first module that are met are the
 * innermost ones: those are what a reader looks for in the source. Marks of modules and steps
 * stand around every event and tell nothing of the place. */
static void note_event(struct call_site *site, const struct advice_case *advice,
                       const struct event *event)
{
    const struct trace *trace = advice->trace;
    const char *name = trace_text(trace, event->name);

    if (is_module_mark(trace, event) || is_step(advice->ledger, event))
        return;
    if (event->kind != EVENT_PYTHON_FUNCTION)
        note_operation(site, event, name);
    else if (!site->module && has_prefix(name, "nn.Module: "))
        site->module = name + strlen("nn.Module: ");
    else if (!site->frame && is_own_frame(name))
        site->frame = name;
}

/* Climbing by parents costs the depth of the nesting. The recorded stack is asked only where
 * no Python frame was recorded, as frames are exact and the stack is that of the operator. */
struct call_site find_call_site(const struct advice_case *advice, uint32_t event)
{
    const struct host_contexts *contexts = &advice->costs->contexts;
    const struct trace *trace = advice->trace;
    uint32_t module = module_of_host(contexts, event);
    struct call_site site = {.event = event};
    uint32_t stack = 0;

    if (module != NO_MODULE)
        site.module = advice->costs->tree.modules[module].name;
    for (uint32_t at = event; at != NO_EVENT; at = contexts->parents[at]) {
        const struct event *around = &trace->host[at];

        note_event(&site, advice, around);
        if (!stack)
            stack = trace->details[around->detail].call_stack;
    }
    if (!site.frame && stack)
        site.frame = frame_of_stack(trace_text(trace, stack), advice->results);
    return site;
}

const char *brief_name(const char *name, struct results *results)
{
    return shorten_name(results->arena, display_text(results->arena, name, true), NAME_COLUMNS,
                        false);
}

/* From what was done to where: an operator is known by its name to more readers than the
 * runtime call below it. A frame that is the call itself is not told twice. */
const char *call_site_text(const struct advice_case *advice, const struct call_site *site)
{
    const char *call = trace_text(advice->trace, advice->trace->host[site->event].name);
    const char *text = brief_name(site->operation ? site->operation : call, advice->results);

    if (site->frame && (site->operation || site->frame != call))
        text = results_format(advice->results, "%s in %s", text,
                              brief_name(site->frame, advice->results));
    if (site->module && *site->module)
        text = results_format(advice->results, "%s, module %s", text,
                              brief_name(site->module, advice->results));
    return text;
}

/* Scalars have the shape [], and say nothing of sizes. */
const char *brief_shapes(const char *shapes, struct results *results)
{
    size_t length = strlen(shapes);
    char *kept = results_allocate(results, length + 1);
    size_t at = 0;

    for (size_t i = 0; i < length; i++) {
        if (has_prefix(shapes + i, ", []"))
            i += strlen(", []") - 1;
        else if (has_prefix(shapes + i, "[], "))
            i += strlen("[], ") - 1;
        else
            kept[at++] = shapes[i];
    }
    kept[at] = '\0';
    return brief_name(kept, results);
}
