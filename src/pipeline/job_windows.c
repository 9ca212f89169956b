/* The windows that a profiler recorded of a job's steps: each step of them analyzed. */
#include "pipeline/job_windows.h"

#include "base/core/arena.h"
#include "base/core/array.h"
#include "base/core/attributes.h"
#include "pipeline/analyzed_rank.h"
#include "pipeline/capture_run.h"
#include "pipeline/read_files.h"
#include "readers/open_trace.h"
#include "sections/step/ledger_table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const char records_folder[] = "/steps/";

/* A trace, and of which capture it is. */
struct window_trace {
    const char *path;
    const char *capture;
};

struct window_reading {
    struct job_windows *windows;
    struct results *results;
    const struct job *job;
    const struct attribution_options *plan;
    struct arena arena;
    struct window_trace *traces; /* [windows->traces_found] */
    size_t misplaced;            /* steps of windows that are of no attempt */
};

static void window_reading_clear(struct window_reading *reading)
{
    free(reading->traces);
    arena_clear(&reading->arena);
}

/* The folder of the capture that the attempt was recorded in; NULL where no record tells of it. */
static const char *capture_of(struct window_reading *reading, const struct job_attempt *attempt)
{
    const char *path = reading->job->sources[attempt->source].name;
    const char *end = NULL;

    if (attempt->step_count == 0 || attempt->steps[0].process_step == 0)
        return NULL;
    for (const char *at = strstr(path, records_folder); at; at = strstr(at + 1, records_folder))
        end = at;
    if (!end) /* "steps/rank0.steps", as given */
        return strstr(path, records_folder + 1) == path ? "." : NULL;
    return arena_copy_text(&reading->arena, path, (size_t)(end - path));
}

/* ---- which traces ---------------------------------------------------------------------------- */

static void job_windows_add_capture(struct window_reading *reading, const char *capture)
{
    struct job_windows *windows = reading->windows;
    struct capture_content content;

    for (size_t i = 0; reading->traces && i < windows->traces_found; i++)
        if (strcmp(reading->traces[i].capture, capture) == 0)
            return;
    list_all_traces(&content, &reading->arena, capture);
    for (int i = 0; i < content.trace_count; i++) {
        ARRAY_ADD(reading->traces, windows->traces_found,
                  (struct window_trace){content.traces[i], capture});
    }
}

/* ---- what they hold -------------------------------------------------------------------------- */

/* The attempt of the capture that the step is of: that of its time; where its trace tells none, the
 * only one. -1: none. */
static ptrdiff_t find_attempt(struct window_reading *reading, const char *capture, int64_t unix_ns)
{
    ptrdiff_t only = -1;
    size_t count = 0;

    for (size_t i = 0; i < reading->job->attempt_count; i++) {
        const struct job_attempt *attempt = &reading->job->attempts[i];
        const char *own = capture_of(reading, attempt);

        if (!own || strcmp(own, capture) != 0)
            continue;
        only = (ptrdiff_t)i;
        count++;
        if (unix_ns >= 0 && attempt->start_ns != JOB_NOT_KNOWN && attempt->start_ns <= unix_ns &&
            unix_ns <= attempt->end_ns)
            return (ptrdiff_t)i;
    }
    return count == 1 && unix_ns < 0 ? only : -1;
}

static void job_windows_add_step(struct window_reading *reading,
                                 const struct analyzed_rank *analyzed, uint32_t index,
                                 size_t attempt)
{
    struct job_windows *windows = reading->windows;
    const struct step_ledger *ledger = &analyzed->ledger.steps[index];
    const struct matrix_time *time = &analyzed->efficiency.steps[index].time;
    struct traced_step step = {.attempt = attempt,
                               .number = ledger->window.number,
                               .fixed_ns = {[WINDOW_MODEL] = time->model_ns,
                                            [WINDOW_RECOMPUTED] = time->recomputed_ns,
                                            [WINDOW_EXTRA] = time->extra_ns}};

    static_assert((int)KEPT_PARTS_MAX >= (int)ACCOUNT_COUNT, "a part for each account");
    static_assert((int)KEPT_FIXED_MAX >= (int)WINDOW_FLOPS_COUNT, "and for each kind of FLOPs");
    memcpy(step.part_ns, ledger->account_ns, sizeof ledger->account_ns);
    ARRAY_ADD(windows->steps, windows->count, step);
    for (int class = 0; class < KERNEL_CLASS_COUNT; class ++)
        windows->class_ns[class] += ledger->class_ns[class];
    windows->matrix_ns += ledger->account_ns[ACCOUNT_MATRIX];
    windows->uncosted_ns += time->uncosted_ns;
}

static void job_windows_add_steps(struct window_reading *reading,
                                  const struct analyzed_rank *analyzed, const char *capture)
{
    for (uint32_t i = 0; i < analyzed->ledger.step_count; i++) {
        const struct step_window *window = &analyzed->ledger.steps[i].window;
        ptrdiff_t attempt =
            find_attempt(reading, capture, trace_unix_ns(analyzed->trace, window->start_ns));

        if (attempt < 0)
            reading->misplaced++;
        else if (!window->is_cut)
            job_windows_add_step(reading, analyzed, i, (size_t)attempt);
    }
}

static void note_model(struct job_windows *windows, const struct analyzed_rank *analyzed)
{
    bool has_model = efficiency_has_model(&analyzed->efficiency);

    windows->is_cpu_only =
        analyzed->ledger.is_cpu_only && (windows->is_cpu_only || windows->traces_read == 0);
    windows->has_model = windows->has_model || has_model;
    if (!has_model && !windows->needs)
        windows->needs = efficiency_needs(&analyzed->efficiency);
}

static bool job_windows_read_trace(struct window_reading *reading, const struct window_trace *which,
                                   struct error *error)
{
    const struct read_options options = {.threads = default_thread_count()};
    SCOPED(trace) trace = {0};
    SCOPED(analyzed_rank) analyzed = {0}; /* goes before the trace does */

    if (!open_trace(&trace, which->path, &options, error) ||
        !analyze_rank(&analyzed, &trace, reading->plan, error))
        return false;
    if (analyzed.ledger.source != WINDOW_PROFILER_STEP)
        return error_set(error, ERROR_NO_DATA, "'%s' has no marks of steps", which->path);
    note_model(reading->windows, &analyzed);
    job_windows_add_steps(reading, &analyzed, which->capture);
    reading->windows->traces_read++;
    return true;
}

static void tell_problem(struct results *results, const char *text)
{
    results_add_problem(
        results,
        (struct finding){.what = results_text(results, text), .cost_ns = -1, .is_warning = true});
}

static void job_windows_read_traces(struct window_reading *reading)
{
    size_t found = reading->windows->traces_found;
    size_t wanted = found < WINDOW_TRACES_MAX ? found : WINDOW_TRACES_MAX;

    for (size_t i = 0; reading->traces && i < wanted; i++) {
        struct error error = {0};

        if (!job_windows_read_trace(reading, &reading->traces[i * found / wanted], &error))
            tell_problem(reading->results, error.message);
    }
    if (reading->misplaced > 0)
        tell_problem(reading->results,
                     results_format(reading->results,
                                    "%zu recorded steps are left out: when they ran, by their "
                                    "traces, is in none of the attempts",
                                    reading->misplaced));
}

void job_windows_read(struct job_windows *windows, struct results *results, const struct job *job,
                      const struct peak_settings *peaks)
{
    const struct attribution_options plan = {
        .ledger = {.first_step = INT64_MIN, .last_step = INT64_MAX, .device = -1}, .peaks = *peaks};
    struct window_reading reading = {
        .windows = windows, .results = results, .job = job, .plan = &plan};

    for (size_t i = 0; i < job->attempt_count; i++) {
        const char *capture = capture_of(&reading, &job->attempts[i]);

        if (!capture)
            continue;
        windows->is_of_records = true;
        job_windows_add_capture(&reading, capture);
    }
    job_windows_read_traces(&reading);
    window_reading_clear(&reading);
}

/* What takes longer where the host is slower: idle time that the launching thread causes. */
static uint32_t host_accounts(void)
{
    return accounts_of_group(ACCOUNT_GROUP_IDLE) &
           ~(1u << ACCOUNT_IDLE_QUEUE_GAP | 1u << ACCOUNT_IDLE_QUEUED_WAIT |
             1u << ACCOUNT_IDLE_GRAPH);
}

struct traced_steps job_windows_steps(const struct job_windows *windows)
{
    return (struct traced_steps){
        .steps = windows->steps,
        .count = windows->count,
        .part_count = ACCOUNT_COUNT,
        .fixed_count = WINDOW_FLOPS_COUNT,
        .data_part = ACCOUNT_IDLE_DATA,
        .host_parts = windows->is_cpu_only ? 0 : host_accounts(),
    };
}

void job_windows_clear(struct job_windows *windows)
{
    free(windows->steps);
    *windows = (struct job_windows){0};
}
