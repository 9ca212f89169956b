/* `flopledger memory` of recorded runs. */
#include "commands/memory_of_capture.h"

#include "analyses/memory_sections.h"
#include "analyses/ranks_overview.h"
#include "base/invariant.h"
#include "commands/input_files.h"
#include "commands/read_files.h"
#include "ledger/step_window.h"
#include "memory/memory_batch.h"
#include "memory/memory_run.h"

#include <stdlib.h>

/* Ranks that ZeRO is thought over where the run has one. */
enum { RANKS_IF_ONE = 8 };

/* The steps of the trace; free() them. */
static struct memory_step *find_steps(const struct trace *trace, uint32_t *count)
{
    SCOPED(step_windows) found = {0};
    struct memory_step *steps;

    find_step_windows(&found, trace, WINDOW_CHOICE_STEPS, -1);
    steps = require_memory(calloc(found.count + (size_t)1, sizeof *steps));
    for (uint32_t i = 0; i < found.count; i++)
        steps[i] = (struct memory_step){.number = found.windows[i].number,
                                        .start_ns = found.windows[i].start_ns,
                                        .end_ns = found.windows[i].end_ns};
    *count = found.count;
    return steps;
}

/* What stands beside a trace. */
struct beside_trace {
    struct memory_side_file side;
    struct model_description description;
    struct memory_batch batch;
};

static void beside_trace_clear(struct beside_trace *beside)
{
    memory_side_file_clear(&beside->side);
    model_description_clear(&beside->description);
}

static struct section *describe_fit(struct results *results, const struct memory_view *view,
                                    const struct memory_settings *settings,
                                    const struct memory_batch *batch)
{
    int64_t ranks = batch->data_size > 1 ? batch->data_size : RANKS_IF_ONE;
    struct memory_fit_view fit = {
        .memory = *view,
        .budget_bytes = settings->fit_bytes,
        .samples = settings->batch > 0 ? settings->batch : batch->samples,
        .length = batch->length,
        .options = {.ranks = settings->ranks > 0 ? settings->ranks : ranks,
                    .is_float32 = batch->is_float32},
    };

    return describe_memory_fit(results, &fit);
}

static void describe_rank(struct results *results, const struct trace *trace,
                          const struct memory_settings *settings, const struct beside_trace *beside)
{
    uint32_t step_count;
    struct memory_step *steps = find_steps(trace, &step_count);
    SCOPED(memory_run) run = {0};
    struct memory_view view = {
        .run = &run,
        .top = settings->top == 0 ? UINT32_MAX : (uint32_t)settings->top,
        .depth = settings->depth < 0 ? UINT32_MAX : (uint32_t)settings->depth,
    };
    struct rank_results *rank =
        results_add_rank(results, rank_label(results, trace),
                         results_text(results, trace_text(trace, trace->path)), trace->facts.rank);

    memory_run_build(&run, trace, &beside->side, &beside->description, steps, step_count);
    view.device = settings->device < 0 ? memory_main_device(&run) : (int32_t)settings->device;
    describe_memory(results, rank, &view);
    if (settings->fit_bytes > 0)
        rank_add_section(results, rank, describe_fit(results, &view, settings, &beside->batch));
    free(steps);
}

static bool analyse(struct results *results, const struct trace *trace, const void *context,
                    struct error *error)
{
    const char *path = trace_text(trace, trace->path);
    SCOPED(beside_trace) beside = {
        .description = {.world_size = -1, .data_size = -1, .tensor_size = -1},
        .batch = memory_batch_none()};

    if (trace->memory.count == 0)
        return error_set(error, ERROR_NO_DATA,
                         "no memory to tell of in '%s': it has no [memory] events (record with "
                         "'flopledger run --memory', or torch.profiler's profile_memory=True)",
                         path);
    if (!model_description_find(&beside.description, path, error) ||
        !memory_side_file_find(&beside.side, path, error) ||
        !memory_batch_find(&beside.batch, path, error))
        return false;
    describe_rank(results, trace, context, &beside);
    return true;
}

static bool print_files(const struct input_files *files, const struct memory_settings *settings,
                        struct error *error)
{
    struct file_reading reading = {
        .threads = settings->threads > 0 ? (unsigned)settings->threads : default_thread_count(),
        .shows_progress = settings->shows_progress,
        .keeps_memory = true,
        .use = analyse,
        .context = settings,
    };
    struct files_read outcome = {0};
    SCOPED(results) results = {0};

    results_init(&results);
    read_files(&outcome, &results, files, &reading);
    if (outcome.used_count == 0) {
        *error = outcome.first_error;
        return false;
    }
    note_passed_over(&results, files);
    if (!print_page(&results, &settings->page, error))
        return false;
    return judge_files_read(&outcome, error);
}

bool print_memory_of_captures(char **paths, int count, const struct memory_settings *settings,
                              struct error *error)
{
    SCOPED(input_files) files = {0};

    return find_input_files(&files, paths, count, error) && print_files(&files, settings, error);
}
