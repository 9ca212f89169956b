/* Which long calls are first uses. A launch is one where no kernel of that name was launched before
 * it: the driver loads kernels when they are first launched. Any other call is one where it takes
 * many times as long as calls of its name usually do, or has no like: what is paid at each call is
 * paid by the usual one, too. Copies and memsets are left out: they wait for their turn. Where
 * steps are marked, only the first one can hold first uses: what comes again in a later step is no
 * start. */
#include "base/core/invariant.h"
#include "sections/advice/advice_rule.h"
#include "sections/advice/host_calls.h"

#include <stdlib.h>
#include <string.h>

/* A first use loads code or builds a context: ten times the usual length is no noise. */
enum { TIMES_USUAL = 10 };

/* Calls of one name. */
struct like_calls {
    uint32_t name;
    uint32_t count;
    int64_t *durations_ns; /* [count], sorted when asked */
};

/* By host event: it launched the first kernel of that name. Device events are sorted by start, as
 * launches of one stream are; another stream may swap two launches of one name, of which the first
 * then is the longer one all the same. */
static bool *find_first_launches(const struct trace *trace)
{
    bool *is_first = require_memory(calloc((size_t)trace->host_count + 1, sizeof *is_first));
    bool *is_seen = require_memory(calloc(string_pool_count(&trace->strings) + 1, sizeof *is_seen));

    for (uint32_t i = 0; i < trace->device_count; i++) {
        const struct event *event = &trace->device[i];

        if (event->kind != EVENT_KERNEL || is_seen[event->name])
            continue;
        is_seen[event->name] = true;
        if (trace->launch[i] != NO_EVENT)
            is_first[trace->launch[i]] = true;
    }
    free(is_seen);
    return is_first;
}

static int compare_durations(const void *left, const void *right)
{
    const int64_t *a = left, *b = right;

    return (*a > *b) - (*a < *b);
}

/* The median duration of the runtime calls of that name; of two, the shorter one. The shorter of
 * two, so that one slow call out of two is still a first use; a single call has no like, and its
 * usual time is 0. */
static int64_t usual_duration(const struct trace *trace, uint32_t name)
{
    struct like_calls like = {.name = name};
    int64_t usual_ns;

    for (uint32_t i = 0; i < trace->host_count; i++)
        like.count += trace->host[i].name == name;
    like.durations_ns = require_memory(calloc((size_t)like.count + 1, sizeof(int64_t)));
    like.count = 0;
    for (uint32_t i = 0; i < trace->host_count; i++)
        if (trace->host[i].name == name)
            like.durations_ns[like.count++] = trace->host[i].duration_ns;
    qsort(like.durations_ns, like.count, sizeof(int64_t), compare_durations);
    usual_ns = like.durations_ns[(like.count - 1) / 2];
    free(like.durations_ns);
    return like.count == 1 ? 0 : usual_ns;
}

static bool is_launch(const char *name)
{
    return strstr(name, "Launch") != NULL;
}

/* Names whose usual duration is asked again and again: few, for the calls are long. */
struct usual_durations {
    struct {
        uint32_t name;
        int64_t usual_ns;
    } known[16];
    uint32_t count;
};

/* Each answer walks over all host events: it is kept, since one slow call often has others of
 * its name. */
static int64_t ask_usual(struct usual_durations *durations, const struct trace *trace,
                         uint32_t name)
{
    int64_t usual_ns;

    for (uint32_t i = 0; i < durations->count; i++)
        if (durations->known[i].name == name)
            return durations->known[i].usual_ns;
    usual_ns = usual_duration(trace, name);
    if (durations->count < sizeof durations->known / sizeof *durations->known) {
        durations->known[durations->count].name = name;
        durations->known[durations->count++].usual_ns = usual_ns;
    }
    return usual_ns;
}

static int compare_events(const void *left, const void *right)
{
    const uint32_t *a = left, *b = right;

    return (*a > *b) - (*a < *b);
}

/* Only calls of the first step, or of anywhere where there are no steps, for what is loaded is
 * loaded then. A launch is judged by its kernel, all other calls by the usual duration of
 * their name: one name covers all kernels' launches. Copies wait for data, which is another
 * rule. */
void find_first_uses(struct first_uses *uses, const struct trace *trace,
                     const struct ledger *ledger, const struct host_calls *calls, int64_t slow_ns)
{
    static const enum host_call_kind kinds[] = {CALLS_SLOW, CALLS_ALLOCATOR};
    struct usual_durations durations = {.count = 0};
    bool *is_first = NULL;

    if (ledger->is_cpu_only)
        return;
    uses->events = require_memory(
        calloc((size_t)calls->lists[CALLS_SLOW].count + calls->lists[CALLS_ALLOCATOR].count + 1,
               sizeof *uses->events));
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        const struct host_call_list *list = &calls->lists[kinds[k]];

        for (uint32_t i = 0; i < list->count; i++) {
            const struct event *event = &trace->host[list->events[i]];
            const char *name = trace_text(trace, event->name);

            if (event->duration_ns < slow_ns || strstr(name, "Memcpy") || strstr(name, "Memset") ||
                (ledger->source != WINDOW_WHOLE &&
                 event->start_ns >= ledger->steps[0].window.end_ns))
                continue;
            /* Found only once a slow launch is met: most traces have none. */
            if (is_launch(name) && !is_first)
                is_first = find_first_launches(trace);
            if (is_first && is_launch(name)
                    ? is_first[list->events[i]]
                    : event->duration_ns > TIMES_USUAL * ask_usual(&durations, trace, event->name))
                uses->events[uses->count++] = list->events[i];
        }
    }
    free(is_first);
    qsort(uses->events, uses->count, sizeof *uses->events, compare_events);
}

void first_uses_clear(struct first_uses *uses)
{
    free(uses->events);
    *uses = (struct first_uses){0};
}

bool is_first_use(const struct first_uses *uses, uint32_t event)
{
    return uses->count > 0 &&
           bsearch(&event, uses->events, uses->count, sizeof event, compare_events) != NULL;
}
