/* `flopledger memory` of recorded runs. */
#include "pipeline/memory_of_capture.h"

#include "output/results/metrics.h"
#include "pipeline/recorded_memory.h"
#include "pipeline/session.h"
#include "sections/memory/memory_sections.h"
#include "sections/ranks/ranks_overview.h"
#include "sections/timeline/timeline_memory.h"

/* Ranks that ZeRO is thought over where the run has one. */
enum { RANKS_IF_ONE = 8 };

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

static bool memory_of_capture_describe_rank(struct results *results, const struct trace *trace,
                                            const void *context, struct error *error)
{
    const struct memory_settings *settings = context;
    SCOPED(recorded_memory) memory = {.run = {.trace = NULL}};
    struct memory_view view = {
        .run = &memory.run,
        .top = settings->top == 0 ? UINT32_MAX : (uint32_t)settings->top,
        .depth = settings->depth < 0 ? UINT32_MAX : (uint32_t)settings->depth,
    };
    struct rank_results *rank;

    if (!recorded_memory_read(&memory, trace, error) ||
        !recorded_memory_device(&memory, settings->device, &view.device, error))
        return false;
    rank =
        results_add_rank(results, rank_label(results, trace),
                         results_text(results, trace_text(trace, trace->path)), trace->facts.rank);
    describe_memory(results, rank, &view);
    if (page_has_timeline(&settings->page))
        rank->timeline = make_memory_timeline(results, &view);
    if (settings->fit_bytes > 0)
        rank_add_section(results, rank, describe_fit(results, &view, settings, &memory.batch));
    return true;
}

bool print_memory_of_captures(char **paths, int count, const struct memory_settings *settings,
                              struct error *error)
{
    SCOPED(session) session = {0};
    struct file_reading reading = {
        .threads = session_threads(&session, settings->threads),
        .shows_progress = settings->shows_progress,
        .keeps_memory = true,
        .use = memory_of_capture_describe_rank,
        .context = settings,
    };

    return session_open(&session, paths, count, error) &&
           session_for_each_rank(&session, &reading, error) &&
           print_session(&session, settings->rank, &settings->page, error);
}
