/* Tells the profiler's own work from the program's. */
#include "sections/advice/recording_end.h"

#include "base/text/prefix.h"
#include "trace/name_answers.h"

#include <string.h>

static bool is_name_of_profiler(const char *name)
{
    return has_prefix(name, "ProfilerStep") || has_prefix(name, "PyTorch Profiler");
}

static bool is_name_of_synchronize(const char *name)
{
    return strstr(name, "DeviceSynchronize") != NULL;
}

/* When the last of what the program did ended. The profiler synchronises once more, behind the
 * mark. */
static int64_t program_end_ns(const struct trace *trace, const struct step_window *last)
{
    struct name_answers profilers = {.ask = is_name_of_profiler};
    struct name_answers synchronize = {.ask = is_name_of_synchronize};
    int64_t end_ns = last->start_ns;

    for (uint32_t i = 0; i < trace->host_count; i++) {
        const struct event *event = &trace->host[i];

        if (event->kind == EVENT_OVERHEAD || name_answer(&profilers, trace, event->name))
            continue;
        if (event->start_ns >= last->mark_end_ns && name_answer(&synchronize, trace, event->name))
            continue;
        if (event_end_ns(event) > end_ns)
            end_ns = event_end_ns(event);
    }
    /* Work of the device that still runs is the program's own, however late it ends. */
    for (uint32_t i = 0; i < trace->device_count; i++) {
        if (event_end_ns(&trace->device[i]) > end_ns)
            end_ns = event_end_ns(&trace->device[i]);
    }
    free(profilers.answers);
    free(synchronize.answers);
    return end_ns;
}

/* The profiler stops within the last marked step. What follows the program's last event,
 * beyond the tail that other steps have, is the recording's. Needs other steps to know that
 * tail, and a window that ends with its mark. */
void find_recording_end(const struct advice_case *advice, int64_t range_ns[2])
{
    const struct ledger *ledger = advice->ledger;
    const struct step_window *last = &ledger->steps[ledger->step_count - 1].window;
    int64_t usual_ns = 0;

    range_ns[0] = range_ns[1] = last->end_ns;
    if (ledger->is_cpu_only || ledger->source != WINDOW_PROFILER_STEP || last->is_cut ||
        ledger->step_count < ADVICE_STEPS_MIN || last->end_ns != last->mark_end_ns)
        return;
    for (uint32_t i = 0; i + 1 < ledger->step_count; i++)
        if (ledger->steps[i].tail_ns > usual_ns)
            usual_ns = ledger->steps[i].tail_ns;
    range_ns[0] = program_end_ns(advice->trace, last);
    range_ns[0] = range_ns[0] < last->end_ns - usual_ns ? range_ns[0] + usual_ns : last->end_ns;
}

int64_t recording_end_ns(const struct advice_case *advice, uint32_t step)
{
    return step + 1 == advice->ledger->step_count
               ? advice->recording_end_ns[1] - advice->recording_end_ns[0]
               : 0;
}

bool is_module_loading(const char *name)
{
    return strstr(name, "oading") || strstr(name, "Driver Compiler");
}

bool is_profilers_work(const char *name)
{
    return !is_module_loading(name) && !strstr(name, "Command Buffer Full");
}

/* Half of the call is enough: overhead events are shorter than the call that they hold up. */
bool is_held_by_profiler(const struct advice_case *advice, const struct event *call)
{
    const struct host_call_list *list = &advice->calls.lists[CALLS_OVERHEAD];
    const struct trace *trace = advice->trace;

    for (uint32_t i = 0; i < list->count; i++) {
        const struct event *work = &trace->host[list->events[i]];
        int64_t start_ns = work->start_ns > call->start_ns ? work->start_ns : call->start_ns;
        int64_t end_ns =
            event_end_ns(work) < event_end_ns(call) ? event_end_ns(work) : event_end_ns(call);

        if (trace->tracks[work->track].process == trace->tracks[call->track].process &&
            is_profilers_work(trace_text(trace, work->name)) &&
            2 * (end_ns - start_ns) > call->duration_ns)
            return true;
    }
    return false;
}
