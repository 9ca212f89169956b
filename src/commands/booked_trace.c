/* A trace with its ledger, its modules' costs and its efficiency: what every analysis reads. */
#include "commands/booked_trace.h"

#include "analyses/steps_study.h"
#include "base/attributes.h"
#include "efficiency/step_costs.h"
#include "ledger/step_window.h"

#include <stdio.h>

/* Says which steps the trace has, where it has none of those asked for. */
static bool no_such_step(const struct trace *trace, const struct ledger_options *options,
                         struct error *error)
{
    const char *path = trace_text(trace, trace->path);
    SCOPED(step_windows) windows = {0};

    if (options->step_pattern)
        find_steps_by_pattern(&windows, trace, options->step_pattern);
    else
        find_step_windows(&windows, trace, options->choice, options->device);
    if (windows.count > 0)
        return error_set(error, ERROR_NO_DATA,
                         "none of the steps asked for is in '%s': it has %u, numbered %lld to %lld",
                         path, windows.count, (long long)windows.windows[0].number,
                         (long long)windows.windows[windows.count - 1].number);
    if (options->step_pattern)
        return error_set(error, ERROR_NO_DATA,
                         "no step in '%s': no range has a name that --step-range matches, "
                         "'flopledger nsys-stats' and 'inspect' show what is there",
                         path);
    if (options->choice == WINDOW_CHOICE_AUTO || options->choice == WINDOW_CHOICE_WHOLE)
        return error_set(error, ERROR_NO_DATA,
                         "nothing to report in '%s': it holds no timed event%s", path,
                         options->device >= 0 ? " of that device" : "");
    return error_set(error, ERROR_NO_DATA,
                     "no step in '%s': it holds no mark of the kind asked for, try --window auto",
                     path);
}

/* "0, 2": the devices that worked, as far as `list` has room. */
static void list_devices_at_work(char *list, size_t size, const struct trace *trace)
{
    size_t length = 0;

    (void)snprintf(list, size, "none");
    for (uint32_t i = 0; i < trace->device_list_count; i++) {
        const struct device *device = &trace->devices[i];

        if (device->event_count > 0 && length < size)
            length += (size_t)snprintf(list + length, size - length, "%s%d", length > 0 ? ", " : "",
                                       device->number);
    }
}

/* True where the user named no device, or one that worked. */
static bool has_device(const struct trace *trace, int32_t number, struct error *error)
{
    char list[256];

    for (uint32_t i = 0; i < trace->device_list_count; i++) {
        if (trace->devices[i].number == number && trace->devices[i].event_count > 0)
            return true;
    }
    if (number < 0)
        return true;
    list_devices_at_work(list, sizeof list, trace);
    return error_set(error, ERROR_NO_DATA, "no work of device %d in '%s': devices that worked: %s",
                     number, trace_text(trace, trace->path), list);
}

bool book_trace(struct booked_trace *booked, const struct trace *trace,
                const struct booking_plan *plan, struct error *error)
{
    struct error side_error = {0};

    booked->trace = trace;
    if (!has_device(trace, plan->ledger.device, error))
        return false;
    book_ledger(&booked->ledger, trace, &plan->ledger);
    if (booked->ledger.step_count == 0)
        return no_such_step(trace, &plan->ledger, error);
    /* a damaged side file is told by `flopledger flops`; here only what it says is missing */
    if (!model_description_find(&booked->description, trace_text(trace, trace->path), &side_error))
        model_description_clear(&booked->description);
    measure_step_costs(&booked->costs, trace, &booked->ledger, &booked->description);
    measure_efficiency(&booked->efficiency, trace, &booked->ledger, &booked->costs, &plan->peaks);
    measure_work_totals(&booked->work, &booked->efficiency);
    return true;
}

struct replay_study *booked_trace_study(struct booked_trace *booked)
{
    if (!booked->has_study)
        booked->has_study =
            study_steps(&booked->study, booked->trace, &booked->ledger, &booked->costs);
    return booked->has_study ? &booked->study : NULL;
}

void booked_trace_clear(struct booked_trace *booked)
{
    replay_study_clear(&booked->study);
    work_totals_clear(&booked->work);
    efficiency_clear(&booked->efficiency);
    module_costs_clear(&booked->costs);
    ledger_clear(&booked->ledger);
    model_description_clear(&booked->description);
    *booked = (struct booked_trace){0};
}
