/* A trace with its ledger, its modules' costs and its efficiency: what every analysis reads. */
#include "pipeline/analyzed_rank.h"

#include "base/core/attributes.h"
#include "cost/efficiency/efficiency.h"
#include "ledger/step_window.h"
#include "sections/step/steps_replay.h"

#include <stdio.h>

/* Says which steps the trace has, where it has none of those asked for. Looks for the steps once
 * more, without the range: the first thing that somebody with a wrong range needs is the numbers
 * that there are. */
static bool no_such_step(const struct trace *trace, const struct ledger_options *options,
                         struct error *error)
{
    const char *path = trace_text(trace, trace->path);
    SCOPED(step_windows) windows = {0};

    if (options->step_pattern)
        find_steps_by_pattern(&windows, trace, options->step_pattern);
    else
        find_step_windows(&windows, trace, options->choice, options->device);
    if (windows.count > 0 && options->first_step == INT64_MIN && options->last_step == INT64_MAX)
        return error_set(error, ERROR_NO_DATA,
                         "nothing to report in '%s': no work of its steps has a length", path);
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
    /* Without marks the whole trace is a window, so that nothing timed is in it at all. */
    if (options->choice == WINDOW_CHOICE_AUTO || options->choice == WINDOW_CHOICE_WHOLE)
        return error_set(error, ERROR_NO_DATA,
                         "nothing to report in '%s': it holds no timed event%s", path,
                         options->device >= 0 ? " of that device" : "");
    return error_set(error, ERROR_NO_DATA,
                     "no step in '%s': it holds no mark of the kind asked for, try --window auto",
                     path);
}

/* "0, 2": the devices that worked, as far as `list` has room. snprintf tells what it would have
 * written, so that `length` may pass the end; nothing is written then. */
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

/* The peaks that the user gave, and those of the processor, as the recorder derived them. */
static struct peak_settings peaks_of(const struct attribution_options *plan,
                                     const struct described_processor *processor)
{
    struct peak_settings peaks = plan->peaks;

    peaks.how_derived = processor->how;
    peaks.derived[PEAK_FP32] = processor->fp32_flops_per_second;
    peaks.derived[PEAK_FP64] = processor->fp64_flops_per_second;
    peaks.derived[PEAK_BF16] = processor->bf16_flops_per_second;
    return peaks;
}

/* The order is that of what each needs: steps before costs, since only operators in the steps
 * are counted; costs before efficiency. The device is checked first, for otherwise a wrong
 * number would be told as "no step". */
bool analyze_rank(struct analyzed_rank *analyzed, const struct trace *trace,
                  const struct attribution_options *plan, struct error *error)
{
    struct error side_error = {0};
    struct peak_settings peaks;

    analyzed->trace = trace;
    if (!has_device(trace, plan->ledger.device, error))
        return false;
    attribute_steps(&analyzed->ledger, trace, &plan->ledger);
    if (analyzed->ledger.step_count == 0)
        return no_such_step(trace, &plan->ledger, error);
    if (plan->peaks.rates &&
        !check_rates_fit(plan->peaks.rates, trace, analyzed->ledger.device, error))
        return false;
    /* a damaged side file is told by `flopledger flops`; here only what it says is missing */
    if (!model_description_find(&analyzed->description, trace_text(trace, trace->path),
                                &side_error))
        model_description_clear(&analyzed->description);
    if (plan->architecture)
        analyzed->description.architecture = plan->architecture;
    measure_step_costs(&analyzed->costs, trace, &analyzed->ledger, &analyzed->description);
    peaks = peaks_of(plan, &analyzed->description.processor);
    measure_efficiency(&analyzed->efficiency, trace, &analyzed->ledger, &analyzed->costs, &peaks);
    measure_work_totals(&analyzed->work, &analyzed->efficiency);
    return true;
}

/* Built on demand and once: the graph of a long trace takes more memory than anything else
 * here, and most commands never ask for it. */
struct replay_model *analyzed_rank_replay(struct analyzed_rank *analyzed)
{
    if (!analyzed->has_replay)
        analyzed->has_replay = replay_steps(&analyzed->simulation, analyzed->trace,
                                            &analyzed->ledger, &analyzed->costs);
    return analyzed->has_replay ? &analyzed->simulation : NULL;
}

/* From the top down: each of these points into those that are cleared after it. */
void analyzed_rank_clear(struct analyzed_rank *analyzed)
{
    replay_model_clear(&analyzed->simulation);
    work_totals_clear(&analyzed->work);
    efficiency_clear(&analyzed->efficiency);
    module_costs_clear(&analyzed->costs);
    ledger_clear(&analyzed->ledger);
    model_description_clear(&analyzed->description);
    *analyzed = (struct analyzed_rank){0};
}
