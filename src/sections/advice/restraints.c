/* Each restraint of restraint_list.def, as a question to the trace. */
#include "sections/advice/restraints.h"

#include "base/core/search.h"
#include "sections/advice/optimizer_options.h"

#include <string.h>

bool forbids_late_rank(const struct advice_case *advice, const struct restraint_subject *subject)
{
    (void)subject;
    return advice->trace->facts.world_size == 1;
}

bool forbids_lone_rank(const struct advice_case *advice, const struct restraint_subject *subject)
{
    (void)subject;
    return advice->has_other_ranks;
}

/* Compute capability 8.0 (Ampere) is the first with TF32. */
bool forbids_tf32(const struct advice_case *advice, const struct restraint_subject *subject)
{
    enum { AMPERE = 8 };

    (void)subject;
    for (uint32_t i = 0; i < advice->trace->device_list_count; i++) {
        const struct device *device = &advice->trace->devices[i];

        if (device->number == advice->ledger->device && !advice->efficiency->peaks.is_rocm)
            return device->compute_major > 0 && device->compute_major < AMPERE;
    }
    return false;
}

bool forbids_halved_bytes(const struct advice_case *advice, const struct restraint_subject *subject)
{
    (void)advice;
    return 2 * subject->wide_ns <= subject->all_ns;
}

static bool names_python(const struct trace *trace, uint32_t name)
{
    return strstr(trace_text(trace, name), "python") != NULL;
}

/* By names that only PyTorch's own kernels and those of its compiler have: a program in
 * another language has none. */
static bool has_torch_kernel(const struct trace *trace)
{
    for (uint32_t i = 0; i < trace->device_count; i++) {
        const char *name = trace_text(trace, trace->device[i].name);

        if (strstr(name, "at::") || strncmp(name, "triton_", strlen("triton_")) == 0)
            return true;
    }
    return false;
}

/* Only a profile of Nsight Systems may be of a program without Python; one name of a thread,
 * or a kernel of PyTorch, shows that this is not. */
bool forbids_python(const struct advice_case *advice, const struct restraint_subject *subject)
{
    const struct trace *trace = advice->trace;

    (void)subject;
    if (strcmp(trace->read.format, "nsight-systems") != 0 || advice->calls.operators > 0 ||
        advice->calls.python_frames > 0)
        return false;
    for (uint32_t i = 0; i < trace->track_count; i++)
        if (names_python(trace, trace->tracks[i].process_name) ||
            names_python(trace, trace->tracks[i].thread_name))
            return false;
    return !has_torch_kernel(trace);
}

/* While a graph is captured the device gets nothing, and launches cost what they cost: that is
 * the capture's finding. */
bool forbids_launch_bound(const struct advice_case *advice, const struct restraint_subject *subject)
{
    int64_t capture_ns = 0, idle_ns = 0;

    (void)subject;
    for (uint32_t i = 0; i < advice->ledger->step_count; i++) {
        const int64_t *account_ns = advice->ledger->steps[i].account_ns;

        capture_ns += account_ns[ACCOUNT_IDLE_CAPTURE];
        for (unsigned account = 0; account < ACCOUNT_COUNT; account++)
            idle_ns += ACCOUNT_BITS_IDLE >> account & 1 ? account_ns[account] : 0;
    }
    return 2 * capture_ns > idle_ns;
}

/* The first event of the thread that starts at `time_ns` or later. */
static uint32_t first_event_from(const struct trace *trace, const struct track *track,
                                 int64_t time_ns)
{
    return LOWER_BOUND(i, track->first_event, track->first_event + track->event_count,
                       trace->host[i].start_ns < time_ns);
}

/* Recorders that know no operators still record launches. */
static bool is_model_work(const struct advice_case *advice, const struct event *event)
{
    return event->kind == EVENT_OPERATOR ||
           (advice->calls.operators == 0 && event->kind == EVENT_RUNTIME_CALL &&
            strstr(trace_text(advice->trace, event->name), "Launch"));
}

/* On any thread: the backward runs on one of its own. Per thread by binary search, then within
 * the range only. */
bool forbids_logging(const struct advice_case *advice, const struct restraint_subject *subject)
{
    const struct trace *trace = advice->trace;
    const struct event *range = &trace->host[subject->range];

    for (uint32_t i = 0; i < trace->track_count; i++) {
        const struct track *track = &trace->tracks[i];
        uint32_t end = track->first_event + track->event_count;

        if (track->is_device)
            continue;
        for (uint32_t at = first_event_from(trace, track, range->start_ns);
             at < end && trace->host[at].start_ns < event_end_ns(range); at++)
            if (is_model_work(advice, &trace->host[at]))
                return true;
    }
    return false;
}

bool forbids_fused(const struct advice_case *advice, const struct restraint_subject *subject)
{
    (void)advice;
    return subject->options->name && !subject->options->has_fused && !subject->options->has_foreach;
}

bool forbids_peak_ratio(const struct advice_case *advice, const struct restraint_subject *subject)
{
    (void)advice;
    return subject->all_ns > 0 && subject->known_ns == 0;
}
