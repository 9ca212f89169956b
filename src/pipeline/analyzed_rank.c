/* A trace with its ledger, its modules' costs and its efficiency: what every analysis reads. */
#include "pipeline/analyzed_rank.h"

#include "base/core/attributes.h"
#include "base/text/prefix.h"
#include "cost/efficiency/efficiency.h"
#include "ledger/step_window.h"
#include "sections/step/steps_replay.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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
    if (trace->read.is_truncated && options->device < 0)
        return error_set(error, ERROR_INPUT, "'%s': %s, and nothing before was timed", path,
                         trace->read.truncation);
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

/* False of a trace of torch.autograd.profiler with device work: what it calls kernels are times
 * between two events around an operator, and so are the operators within it. */
static bool has_kernels_of_its_own(const struct trace *trace, struct error *error)
{
    for (uint32_t i = 0; i < trace->read.category_count; i++)
        if (strncmp(trace_text(trace, trace->read.categories[i].category), "cpu_to_", 7) == 0)
            return error_set(error, ERROR_NO_DATA,
                             "'%s' is of torch.autograd.profiler, which tells no kernels: it times "
                             "a device by events around each operator; record with "
                             "torch.profiler.profile and its export_chrome_trace",
                             trace_text(trace, trace->path));
    return true;
}

/* Kernels and copies have no category there, and are those of processes that are called so. NULL:
 * nobody's that is known. */
static const char *writer_that_is_not_read(const struct trace *trace)
{
    static const char of_rocprof[] = "rocprof, which came before rocprofv3 and is not read: record "
                                     "with rocprofv3 --kernel-trace --memory-copy-trace "
                                     "--hip-trace";
    static const char of_xla[] = "the profiler of XLA, whose JSON is not read: name the "
                                 "HOST.xplane.pb beside it, which jax.profiler.trace writes, too";
    static const char *const writers[][2] = {
        {"CPU HIP API", of_rocprof}, {"CPU HSA API", of_rocprof}, {"COPY", of_rocprof},
        {"/device:GPU:", of_xla},    {"/device:TPU:", of_xla},    {"/host:CPU", of_xla},
    };

    for (uint32_t i = 0; i < trace->track_count; i++)
        for (size_t k = 0; k < sizeof writers / sizeof *writers; k++) {
            const char *process = trace_text(trace, trace->tracks[i].process_name);

            if (writers[k][0][0] == '/' ? has_prefix(process, writers[k][0])
                                        : strcmp(process, writers[k][0]) == 0)
                return writers[k][1];
        }
    return NULL;
}

/* False where not one event is of a kind that a profiler of training records: any program may
 * write Chrome's events (a browser, a compiler), and none of them is a gap between operators. */
static bool is_of_training(const struct trace *trace, struct error *error)
{
    const char *writer;

    if (trace->device_count > 0 || trace->host_count == 0)
        return true;
    for (uint32_t i = 0; i < trace->host_count; i++)
        if (trace->host[i].kind != EVENT_HOST_OTHER && trace->host[i].kind != EVENT_OVERHEAD)
            return true;
    writer = writer_that_is_not_read(trace);
    if (writer)
        return error_set(error, ERROR_NO_DATA, "'%s' is of %s", trace_text(trace, trace->path),
                         writer);
    return error_set(error, ERROR_NO_DATA,
                     "nothing to report in '%s': no operator, kernel, runtime call or range among "
                     "its %" PRIu32 " events; is it a profile of training? 'flopledger inspect' "
                     "shows what it holds",
                     trace_text(trace, trace->path), trace->host_count);
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

/* What is booked and what the modules cost need the steps both, and not each other. */
static void measure_costs_aside(void *argument)
{
    struct analyzed_rank *analyzed = argument;

    measure_step_costs(&analyzed->costs, analyzed->trace, &analyzed->ledger,
                       &analyzed->description);
}

/* Each takes about half of the time. The costs read the windows of the steps alone, which do not
 * change any more; what is booked to a step stands beside them. */
static bool attribute_side_by_side(struct analyzed_rank *analyzed,
                                   const struct attribution_options *plan, struct error *error)
{
    const struct trace *trace = analyzed->trace;
    struct step_windows windows = {0};
    struct side_work costs;

    find_ledger_steps(&analyzed->ledger, &windows, trace, &plan->ledger);
    if (analyzed->ledger.step_count == 0) {
        step_windows_clear(&windows);
        return no_such_step(trace, &plan->ledger, error);
    }
    side_work_begin(&costs, plan->threads, measure_costs_aside, analyzed);
    attribute_steps(&analyzed->ledger, &windows, trace, &plan->ledger);
    side_work_end(&costs);
    step_windows_clear(&windows);
    return true;
}

/* A damaged side file is told by `flopledger flops`; here only what it says is missing. */
static void find_description(struct analyzed_rank *analyzed,
                             const struct architecture *architecture)
{
    struct error side_error = {0};

    if (!model_description_find(&analyzed->description,
                                trace_text(analyzed->trace, analyzed->trace->path), &side_error))
        model_description_clear(&analyzed->description);
    if (architecture)
        analyzed->description.architecture = architecture;
}

/* The order is that of what each needs: steps before costs, since only operators in the steps
 * are counted; costs before efficiency. The device is checked first, for otherwise a wrong
 * number would be told as "no step". */
bool analyze_rank(struct analyzed_rank *analyzed, const struct trace *trace,
                  const struct attribution_options *plan, struct error *error)
{
    struct peak_settings peaks;

    analyzed->trace = trace;
    if (!has_kernels_of_its_own(trace, error) || !is_of_training(trace, error) ||
        !has_device(trace, plan->ledger.device, error))
        return false;
    find_description(analyzed, plan->architecture);
    if (!attribute_side_by_side(analyzed, plan, error))
        return false;
    if (plan->peaks.rates &&
        !check_rates_fit(plan->peaks.rates, trace, analyzed->ledger.device, error))
        return false;
    if (plan->begins_replay && plan->threads > 1)
        (void)analyzed_rank_begin_replay(analyzed, plan->threads);
    peaks = peaks_of(plan, &analyzed->description.processor);
    measure_efficiency(&analyzed->efficiency, trace, &analyzed->ledger, &analyzed->costs, &peaks);
    measure_work_totals(&analyzed->work, &analyzed->efficiency);
    return true;
}

/* It only reads what is analyzed, as the sections do that are made meanwhile. */
static void replay_aside(void *argument)
{
    struct analyzed_rank *analyzed = argument;

    replay_steps(&analyzed->simulation, analyzed->trace, &analyzed->ledger, &analyzed->costs);
}

/* Built on demand and once: the graph of a long trace takes more memory than anything else
 * here, and most commands never ask for it. */
struct replay_model *analyzed_rank_begin_replay(struct analyzed_rank *analyzed, unsigned threads)
{
    if (!analyzed->has_replay && can_replay_steps(&analyzed->ledger)) {
        analyzed->has_replay = true;
        side_work_begin(&analyzed->replaying, threads, replay_aside, analyzed);
    }
    return analyzed->has_replay ? &analyzed->simulation : NULL;
}

struct replay_model *analyzed_rank_replay(struct analyzed_rank *analyzed)
{
    struct replay_model *simulation = analyzed_rank_begin_replay(analyzed, 1);

    side_work_end(&analyzed->replaying);
    return simulation;
}

/* From the top down: each of these points into those that are cleared after it. */
void analyzed_rank_clear(struct analyzed_rank *analyzed)
{
    side_work_end(&analyzed->replaying);
    replay_model_clear(&analyzed->simulation);
    work_totals_clear(&analyzed->work);
    efficiency_clear(&analyzed->efficiency);
    module_costs_clear(&analyzed->costs);
    ledger_clear(&analyzed->ledger);
    model_description_clear(&analyzed->description);
    *analyzed = (struct analyzed_rank){0};
}
