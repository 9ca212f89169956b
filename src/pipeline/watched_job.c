/* A running job and its machine, looked at again and again. */
#include "pipeline/watched_job.h"

#include "base/core/attributes.h"
#include "base/io/whole_file.h"
#include "base/json/json_tree.h"
#include "base/text/owned_text.h"
#include "live/training.h"
#include "pipeline/analyzed_rank.h"
#include "pipeline/capture_run.h"
#include "pipeline/running_capture.h"
#include "readers/open_trace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char needs_window[] =
    "needs a recorded window (steps 4 to 8 are the first one; 'flopledger trace' asks for another)";
static const char needs_peak[] =
    "needs the FLOPs of the recorded steps and the device's peak: 'flopledger report' of the "
    "capture says what is missing; --peak gives the peak";

/* No capture is no error if none was named: the machine itself can be watched. */
bool watched_job_open(struct watched_job *job, const char *given, const char *root,
                      struct error *error)
{
    struct error not_found = {0};

    job->capture = find_running_capture(&job->arena, given, &not_found);
    if (!job->capture && given)
        return error_set(error, not_found.class, "%s", not_found.message);
    job->mfu_needs = needs_window;
    live_machine_start(&job->machine, root);
    if (job->ras)
        job->ras_watch = ras_watch_start(job->ras, error);
    return !job->ras || job->ras_watch;
}

/* Of one step of the trace: what the model's FLOPs take at the peak. 0: not known. Of the newest
 * window, in one thread: the job that is watched needs the cores. */
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

/* The newest trace of the first rank counts for all. Analyzed only if the trace is a new one;
 * the look comes once a second. */
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

/* ---- windows that rules asked for ----------------------------------------------------------- */

static const struct live_family triggered_windows = {
    "flopledger_triggered_windows", "Windows that a rule of --on has asked for.", LIVE_COUNTER};
static const struct live_family last_trigger = {
    "flopledger_last_trigger_step",
    "The step behind which a rule of --on last asked for a window, and why.", LIVE_GAUGE};

/* By the text of the rule: a rule that was removed and given again goes on where it was. */
static void count_trigger(struct watched_job *job, const struct json_node *asked)
{
    const char *why = json_text_of(asked, "why", "");
    const char *text = json_text_of(asked, "rule", "");
    struct watched_rule rule = {arena_copy_text(&job->arena, text, strlen(text)), 0};
    size_t at = 0;

    while (at < job->rule_count && strcmp(job->rules[at].text, text) != 0)
        at++;
    if (at == job->rule_count)
        ARENA_LIST_ADD(&job->arena, job->rules, job->rule_count, rule);
    job->rules[at].window_count++;
    job->newest_why = arena_copy_text(&job->arena, why, strlen(why));
    job->newest_step = json_integer_of(asked, "step", 0);
}

/* Those that have come since: each is a file that appears whole, with the next number. Numbers
 * go up by one and each file appears whole, so that the first number that is missing is the end.
 * A file that is no JSON counts as a window all the same: it must not be read again at each
 * look. */
static void look_at_triggers(struct watched_job *job)
{
    for (;;) {
        char *path =
            text_format("%s/triggers/%" PRId64 ".json", job->capture, job->window_count + 1);
        struct error ignored;
        bool is_missing;
        size_t length;
        char *content = read_whole_file(path, &length, &is_missing, &ignored);
        const struct json_node *asked =
            content ? json_tree_parse(&job->arena, content, length, &ignored) : NULL;

        free(path);
        if (content) {
            job->window_count++;
            if (asked)
                count_trigger(job, asked);
        }
        free(content);
        if (!content)
            return;
    }
}

static void sample_triggers(struct live_samples *samples, const struct watched_job *job)
{
    for (size_t i = 0; i < job->rule_count; i++)
        live_add(samples, &triggered_windows, (double)job->rules[i].window_count,
                 (struct live_label){"rule", job->rules[i].text}, (struct live_label){0});
    if (job->newest_why)
        live_add(samples, &last_trigger, (double)job->newest_step,
                 (struct live_label){"why", job->newest_why}, (struct live_label){0});
}

/* Each source adds what it knows; none needs another. */
void watched_job_look(struct watched_job *job, struct live_samples *samples)
{
    if (job->capture) {
        job_records_update(&job->records, job->capture);
        count_model_work(job);
        sample_training(samples, &job->records, job->ideal_step_ns);
        look_at_triggers(job);
        sample_triggers(samples, job);
    }
    if (job->ras_watch)
        ras_watch_sample(job->ras_watch, samples);
    live_machine_sample(&job->machine, samples);
    if (!job->capture)
        live_note(samples, "no step record below 'captures': only the machine is shown (name a "
                           "capture, or start the program by 'flopledger run')");
}

void watched_job_clear(struct watched_job *job)
{
    ras_watch_stop(job->ras_watch);
    live_machine_clear(&job->machine);
    job_records_clear(&job->records);
    free(job->trace);
    arena_clear(&job->arena);
    *job = (struct watched_job){0};
}
