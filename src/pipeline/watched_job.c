/* A running job and its machine, looked at again and again. */
#include "pipeline/watched_job.h"

#include "base/core/attributes.h"
#include "base/text/owned_text.h"
#include "live/training.h"
#include "pipeline/analyzed_rank.h"
#include "pipeline/capture_run.h"
#include "pipeline/running_capture.h"
#include "readers/open_trace.h"

#include <stdlib.h>
#include <string.h>

static const char needs_window[] =
    "needs a recorded window (steps 4 to 8 are the first one; 'flopledger trace' asks for another)";
static const char needs_peak[] =
    "needs the FLOPs of the recorded steps and the device's peak: 'flopledger report' of the "
    "capture says what is missing; --peak gives the peak";

bool watched_job_open(struct watched_job *job, const char *given, const char *root,
                      struct error *error)
{
    struct error not_found = {0};

    job->capture = find_running_capture(&job->arena, given, &not_found);
    if (!job->capture && given)
        return error_set(error, not_found.class, "%s", not_found.message);
    job->mfu_needs = needs_window;
    live_machine_start(&job->machine, root);
    return true;
}

/* Of one step of the trace: what the model's FLOPs take at the peak. 0: not known. */
static int64_t ideal_step_of(const char *path, const struct peak_settings *peaks)
{
    const struct attribution_options plan = {
        .ledger = {.first_step = INT64_MIN, .last_step = INT64_MAX, .device = -1}, .peaks = *peaks};
    const struct read_options options = {.threads = 1};
    SCOPED(trace) trace = {0};
    SCOPED(analyzed_rank) analyzed = {0}; /* goes before the trace does */
    struct error ignored = {0};
    int64_t ideal_ns = 0;

    if (!open_trace(&trace, path, &options, &ignored))
        return 0;
    if (analyze_rank(&analyzed, &trace, &plan, &ignored) && analyzed.ledger.step_count > 0)
        ideal_ns = analyzed.efficiency.total.time.model_ns / (int64_t)analyzed.ledger.step_count;
    return ideal_ns;
}

/* The newest trace of the first rank counts for all. */
static void count_model_work(struct watched_job *job)
{
    SCOPED(arena) arena = {0};
    struct capture_content content;

    list_capture(&content, &arena, job->capture);
    if (content.trace_count == 0 || (job->trace && strcmp(job->trace, content.traces[0]) == 0))
        return;
    free(job->trace);
    job->trace = text_copy(content.traces[0]);
    job->ideal_step_ns = ideal_step_of(content.traces[0], &job->peaks);
    job->mfu_needs = job->ideal_step_ns > 0 ? NULL : needs_peak;
}

void watched_job_look(struct watched_job *job, struct live_samples *samples)
{
    if (job->capture) {
        job_records_update(&job->records, job->capture);
        count_model_work(job);
        sample_training(samples, &job->records, job->ideal_step_ns);
    }
    live_machine_sample(&job->machine, samples);
    if (!job->capture)
        live_note(samples, "no step record below 'captures': only the machine is shown (name a "
                           "capture, or start the program by 'flopledger run')");
}

void watched_job_clear(struct watched_job *job)
{
    live_machine_clear(&job->machine);
    job_records_clear(&job->records);
    free(job->trace);
    arena_clear(&job->arena);
    *job = (struct watched_job){0};
}
