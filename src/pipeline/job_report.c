/* What the logs and records of a training job tell, from its files to the sections of its page. */
#include "base/core/arena.h"
#include "base/core/array.h"
#include "base/core/attributes.h"
#include "base/core/error.h"
#include "base/core/invariant.h"
#include "base/io/input_stream.h"
#include "base/io/progress.h"
#include "base/text/format.h"
#include "cost/devices/find_device_peak.h"
#include "cost/efficiency/peak_choice.h"
#include "job/kept_parts.h"
#include "output/results/device_words.h"
#include "output/results/metrics.h"
#include "output/results/results.h"
#include "pipeline/analyzed_rank.h"
#include "pipeline/capture_run.h"
#include "pipeline/read_files.h"
#include "pipeline/recorded_job.h"
#include "pipeline/subcommands.h"
#include "readers/logs/read_log.h"
#include "readers/open_trace.h"
#include "sections/job/ettr_page.h"
#include "sections/job/job_inputs.h"
#include "sections/step/ledger_table.h"
#include "trace/job/job.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading --------------------------------------------------------------------------------- */

/* Reads the files of a training job: logs of any format. */

/* What is to be read, and how. */
struct job_input {
    char **paths; /* [count] */
    int count;
    const struct log_pattern *pattern; /* of --pattern; NULL: the formats that are known */
    bool shows_progress;
};

/* All that reading the files needs. */
struct job_files {
    struct job *job;
    struct results *results;
    struct log_carry carry;
    struct progress *progress;
    struct job_reading *reading;
};

/* Nothing was recognised: says what would help. The last words of a log that has no step often
 * name the error that ended the job before its first: they are more use than "not recognized". */
static bool refuse_unknown(const struct job *job, const struct log_outcome *outcome,
                           const struct log_pattern *pattern, struct error *error)
{
    const struct job_attempt *last =
        job->attempt_count ? &job->attempts[job->attempt_count - 1] : NULL;
    bool is_of_this = last && last->source == job->source_count - 1 && last->why;

    if (pattern)
        return error_set(error, ERROR_INPUT, "--pattern matches no line (of %lld)",
                         (long long)outcome->lines);
    return error_set(error, ERROR_INPUT,
                     "no line (of %lld) tells of a training step in a format that is known "
                     "%s%s%s(if it is a log of training, --pattern says how its lines read; "
                     "'flopledger ettr --help' lists the formats)",
                     (long long)outcome->lines, is_of_this ? "(its last words: " : "",
                     is_of_this ? last->why : "", is_of_this ? ") " : "");
}

/* Lines of the format, but no step: the source tells nothing that can be counted. A pattern of
 * the user's matches lines of any log; whether it found steps is the only test. */
static bool read_job_has_steps(const struct job *job)
{
    for (size_t i = 0; i < job->attempt_count; i++)
        if (job->attempts[i].source == job->source_count - 1 && job->attempts[i].step_count)
            return true;
    return false;
}

static void note_format_name(struct job_files *files, const char *name)
{
    struct job_reading *reading = files->reading;

    if (!reading->formats)
        reading->formats = name;
    else if (!strstr(reading->formats, name))
        reading->formats = results_format(files->results, "%s, %s", reading->formats, name);
}

/* What our own recorder kept. */
static bool read_records(struct job_files *files, const char *path, struct error *error)
{
    struct recorded_job read;

    if (!add_recorded_job(files->job, files->results, path, &read, error))
        return false;
    files->reading->bytes += read.bytes;
    files->reading->damaged_entries += read.damaged;
    files->reading->lines += read.entries;
    files->reading->step_lines += read.entries;
    note_format_name(files, "step-record");
    return true;
}

/* Whether the file is a record is asked first: it is binary, and read as a log it would only
 * be unknown. */
static bool read_job_read_file(struct job_files *files, const char *path, struct error *error)
{
    SCOPED(input_stream) input = {0};
    struct log_outcome outcome;

    if (is_recorded_job(path))
        return read_records(files, path, error);
    if (!input_stream_open(&input, path, true, error))
        return false;
    input.progress = files->progress;
    progress_title(files->progress, path);
    if (!read_log(files->job, &input, &files->carry, &outcome, error))
        return error_in(error, "'%s'", path);
    files->reading->bytes += input.text_bytes;
    files->reading->lines += outcome.lines;
    files->reading->step_lines += outcome.step_lines;
    files->reading->long_lines += outcome.long_lines;
    if (!outcome.format || (files->carry.pattern && !read_job_has_steps(files->job)))
        return refuse_unknown(files->job, &outcome, files->carry.pattern, error) ||
               error_in(error, "'%s'", path);
    note_format_name(files, outcome.format->name);
    files->reading->cut_count += outcome.is_broken;
    return true;
}

/* A file of which no line was of use, beside others that were, may still tell when the job died. */
static void read_job_note_failure(struct job_files *files, const struct error *error)
{
    if (files->reading->failed_count++ == 0)
        files->reading->first_error = *error;
    results_add_failure(files->results, error);
}

/* "train.log.2" is older than "train.log.1", and that than "train.log"; other names by their text:
 * one file may hold what is needed to read the next. Rotated logs have their number behind the
 * last dot, and a higher one is older: so they are sorted downwards, and the file without a
 * number last. Digits at the end of what both have in common belong to the number: of "log.12"
 * and "log.13" the common "1" is given back. */
static int compare_rotations(const void *first, const void *second)
{
    const char *a = *(const char *const *)first, *b = *(const char *const *)second;
    size_t length = 0;

    while (a[length] && a[length] == b[length])
        length++;
    while (length > 0 && a[length - 1] >= '0' && a[length - 1] <= '9')
        length--;
    if (length > 0 && a[length - 1] == '.' && b[length - 1] == '.') {
        char *end_a, *end_b;
        long number_a = strtol(a + length, &end_a, 10), number_b = strtol(b + length, &end_b, 10);

        if (end_a != a + length && end_b != b + length && !*end_a && !*end_b)
            return number_a > number_b ? -1 : number_a < number_b;
    }
    if (!a[length] != !b[length] && (a[length] == '.' || b[length] == '.'))
        return a[length] ? -1 : 1;
    return strcmp(a, b);
}

/* Fills a zeroed job with what the files tell; what cannot be read becomes a problem of the
 * results. False where no file could be used, or where they are of several jobs. In the order of
 * time, since what is carried over from one file to the next (a run's settings, an open attempt)
 * was written before. */
static bool read_job(struct job *job, struct results *results, const struct job_input *input,
                     struct job_reading *reading, struct error *error)
{
    struct job_files files = {
        .job = job, .results = results, .carry = {.pattern = input->pattern}, .reading = reading};
    size_t count = (size_t)input->count;
    char **ordered = require_memory(malloc(count * sizeof *ordered));

    *reading = (struct job_reading){0};
    files.progress = progress_new("reading", -1, input->shows_progress);
    memcpy(ordered, input->paths, count * sizeof *ordered);
    /* Rotated logs come in the order of a shell, in which the newest is the first. */
    qsort(ordered, count, sizeof *ordered, compare_rotations);
    for (size_t i = 0; i < count; i++) {
        if (read_job_read_file(&files, ordered[i], error))
            reading->used_count++;
        else
            read_job_note_failure(&files, error);
    }
    free(ordered);
    progress_free(files.progress);
    if (reading->used_count == 0) {
        *error = reading->first_error;
        return false;
    }
    return job_finish(job, error);
}

/* ---- windows of the job ---------------------------------------------------------------------- */

/* The windows that a profiler recorded of a job's steps: each step of them analyzed. */

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

/* The folder of the capture that the attempt was recorded in; NULL where no record tells of it.
 * From the last "/steps/" in the path of a record: folders above may have that name, too. Only
 * attempts whose record tells process steps were recorded with windows. */
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

/* Linear in the captures that a job has: one for each attempt. */
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
 * only one. -1: none. By time, as a capture may hold several attempts of one job. Without times
 * in the trace, the attempt is only known where there is just one. */
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

/* Steps of all traces become one list, as if one trace had them all: what kept steps are made
 * of is then extended from these to all steps. Kernel classes are summed once over all, as no
 * share of an attempt is made of them. */
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

/* A step that the end of the recording cut is left out: its parts would look smaller than they
 * are. */
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

/* CPU only where all traces are; a model where any trace has one. */
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

/* Of more than WINDOW_TRACES_MAX traces, evenly spaced ones are read, so that the whole time
 * of the job is covered and not its beginning only. */
static void job_windows_read_traces(struct window_reading *reading)
{
    size_t found = reading->windows->traces_found;
    size_t wanted = found < WINDOW_TRACES_MAX ? found : WINDOW_TRACES_MAX;

    for (size_t i = 0; reading->traces && i < wanted; i++) {
        struct error error = {0};

        if (!job_windows_read_trace(reading, &reading->traces[i * found / wanted], &error))
            results_add_failure(reading->results, &error);
    }
    if (reading->misplaced > 0)
        results_add_warning(
            reading->results,
            results_format(reading->results,
                           "%zu recorded steps are left out: when they ran, by their "
                           "traces, is in none of the attempts",
                           reading->misplaced));
}

/* Reads the traces beside the step records of the job's attempts. What cannot be read becomes a
 * problem of the results. `windows` must be zeroed. */
static void job_windows_read(struct job_windows *windows, struct results *results,
                             const struct job *job, const struct peak_settings *peaks)
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

/* What takes longer where the host is slower: idle time that the launching thread causes. All
 * idle accounts but those in which the host had already launched: there a slower host changes
 * nothing. */
static uint32_t host_accounts(void)
{
    return accounts_of_group(ACCOUNT_GROUP_IDLE) &
           ~(1u << ACCOUNT_IDLE_QUEUE_GAP | 1u << ACCOUNT_IDLE_QUEUED_WAIT |
             1u << ACCOUNT_IDLE_GRAPH);
}

/* For kept_parts_fill: points into `windows`. */
static struct traced_steps job_windows_steps(const struct job_windows *windows)
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

static void job_windows_clear(struct job_windows *windows)
{
    free(windows->steps);
    *windows = (struct job_windows){0};
}

/* ---- job report ------------------------------------------------------------------------------ */

/* The peak that --rates gives. */
static bool choose_measured_peak(struct ettr_page *page, const struct job_report *wanted,
                                 enum peak_type type, struct error *error)
{
    const struct measured_rates *rates = wanted->peaks.rates;

    page->peak_source = results_format(page->results, "%s, %s", peak_type_name(type), rates->how);
    return (!wanted->device_name ||
            measured_rates_check_device(rates, wanted->device_name, error)) &&
           measured_rates_peak(rates, type, &page->peak, error);
}

/* The peak that counts, and who says so. What the user gave goes first, then what was measured,
 * then the table by the device's name. Without any the page says what would tell it; it never
 * guesses a device. */
static bool choose_peak(struct ettr_page *page, const struct job_report *wanted,
                        struct error *error)
{
    enum peak_type type = wanted->peaks.has_precision ? wanted->peaks.precision : PEAK_BF16;
    const struct device_peak *device;
    struct device_match match;

    if (wanted->peaks.peak_of_all > 0.0 || wanted->peaks.peaks[type] > 0.0) {
        page->peak =
            wanted->peaks.peaks[type] > 0.0 ? wanted->peaks.peaks[type] : wanted->peaks.peak_of_all;
        page->peak_source = "the peak that --peak gives";
        return true;
    }
    if (wanted->peaks.rates)
        return choose_measured_peak(page, wanted, type, error);
    if (!wanted->device_name)
        return true;
    device = find_device_peak(wanted->device_name, NULL, &match);
    if (!device)
        return error_set(error, ERROR_USAGE,
                         "device '%s' is not known: %s ('flopledger device' lists all; --peak "
                         "gives the rate itself)",
                         wanted->device_name, match.how);
    if (device_peak_state(device, type) != PEAK_KNOWN)
        return error_set(error, ERROR_USAGE, "%s has no peak for %s: name another --dtype",
                         device->name, peak_type_name(type));
    page->peak = device->peaks[type];
    page->peak_source =
        results_format(page->results, "the %s peak of %s", peak_type_name(type), device->name);
    return true;
}

/* What no device there is can exceed, whatever the number format. A rate above this cannot be
 * true of one device, whichever it was: it bounds what a log may claim. */
static double highest_peak(void)
{
    size_t count;
    const struct device_peak *devices = all_device_peaks(&count);
    double highest = 0.0;

    for (size_t i = 0; i < count; i++)
        for (int type = 0; type < PEAK_TYPE_COUNT; type++)
            if (device_peak_state(&devices[i], (enum peak_type)type) == PEAK_KNOWN &&
                devices[i].peaks[type] > highest)
                highest = devices[i].peaks[type];
    return highest;
}

/* One sentence: what it comes to. In device-hours where attempts ran on different numbers of
 * devices: an hour on 64 counts 64 times. Where the log leaves time out that passed between its
 * lines, the share is not called ETTR, for its whole is not known. */
static const char *job_report_headline_of(const struct ettr_page *page)
{
    const struct job_accounts *accounts = page->accounts;
    double kept = accounts->are_devices_known
                      ? accounts->device_seconds[JOB_KEPT] / accounts->total_device_seconds
                      : (double)accounts->ns[JOB_KEPT] / (double)accounts->total_ns;

    if (accounts->total_ns <= 0)
        return NULL;
    if (job_accounts_lack_steps(accounts))
        return results_format(page->results,
                              "How long steps took is not in the log: it tells of %s beside them.",
                              format_short_time(accounts->total_ns).text);
    if (!accounts->is_complete)
        return results_format(page->results,
                              "Kept steps are %s of the %s that the log tells; what else passed is "
                              "not in it.",
                              format_fraction(kept).text,
                              format_short_time(accounts->total_ns).text);
    if (!accounts->are_devices_known)
        return results_format(page->results, "ETTR %s: of %s, that much went into kept steps.",
                              format_fraction(kept).text,
                              format_short_time(accounts->total_ns).text);
    return results_format(
        page->results, "ETTR %s: of %s device-hours, that much went into kept steps.",
        format_fraction(kept).text, format_number(accounts->total_device_seconds / 3600.0).text);
}

/* From the outcome to the details; a job of which only incidents are known has a diary only. */
static void fill_page(struct ettr_page *page, const char *name)
{
    struct rank_results *rank = results_add_rank(page->results, name, name, -1, NO_SPEAKERS);

    if (page->job->incident_count)
        rank_add_section(page->results, rank, describe_diary(page));
    if (page->job->attempt_count == 0)
        return;
    rank->headline = job_report_headline_of(page);
    rank_add_section(page->results, rank, describe_job(page));
    if (page->windows->is_of_records)
        rank_add_section(page->results, rank, describe_kept_steps(page));
    rank_add_section(page->results, rank, describe_attempts(page));
    rank_add_section(page->results, rank, describe_step_times(page));
    rank_add_section(page->results, rank, describe_rates(page));
    rank_add_section(page->results, rank, describe_failures(page));
}

/* One reason is told, the worst: whole files, then their ends, then single entries. */
bool check_job_reading(const struct job_reading *reading, struct error *error)
{
    if (reading->failed_count > 0)
        return error_set(error, ERROR_PARTIAL,
                         "%zu of %zu files could not be used: the report is of the others",
                         reading->failed_count, reading->failed_count + reading->used_count);
    if (reading->cut_count > 0)
        return error_set(error, ERROR_PARTIAL, "%zu packed %s early: the report is of the rest",
                         reading->cut_count, reading->cut_count == 1 ? "file ends" : "files end");
    if (reading->damaged_entries > 0)
        return error_set(error, ERROR_PARTIAL,
                         "%lld damaged entr%s left out of step records: the report is of the rest",
                         (long long)reading->damaged_entries,
                         reading->damaged_entries == 1 ? "y is" : "ies are");
    return true;
}

/* The peak is chosen before anything is read: a wrong option must not cost an hour of reading.
 * Rates are checked before they are used for shares; windows come last, as the kept steps that
 * they are extended to have to be known. */
bool make_job_report(struct results *results, struct job_reading *reading,
                     const struct job_report *wanted, struct error *error)
{
    SCOPED(job) job = {0};
    SCOPED(job_accounts) accounts = {0};
    SCOPED(job_windows) windows = {0};
    struct kept_parts kept = {0};
    struct job_rates rates;
    struct job_step_times times;
    struct job_failures failures;
    struct traced_steps traced;
    struct peak_settings peaks = wanted->peaks;
    struct ettr_page page = {.results = results,
                             .job = &job,
                             .accounts = &accounts,
                             .rates = &rates,
                             .times = &times,
                             .failures = &failures,
                             .reading = reading,
                             .windows = &windows,
                             .kept = &kept,
                             .flops_per_token = wanted->flops_per_token,
                             .top = wanted->top};

    peaks.device_name = wanted->device_name;
    if (!choose_peak(&page, wanted, error) ||
        !read_job(&job, results,
                  &(struct job_input){.paths = wanted->paths,
                                      .count = wanted->count,
                                      .pattern = wanted->pattern,
                                      .shows_progress = wanted->shows_progress},
                  reading, error))
        return false;
    /* A diary alone tells incidents and no step; a log with neither is most often cut before
     * its first step. */
    if (job.attempt_count == 0 && job.incident_count == 0)
        return error_set(error, ERROR_NO_DATA,
                         "'%s' is a log of %s, and tells of no step: give the whole log",
                         wanted->paths[0], reading->formats);
    job_accounts_fill(&accounts, &job, wanted->devices);
    /* A peak by measured rates is no bound: the device may do better than what was measured. */
    job_check_rates(&rates, &job,
                    &(struct job_rate_limits){.peak = peaks.rates ? 0 : page.peak,
                                              .highest_peak = highest_peak()});
    job_rates_fill(&rates, &job, &accounts);
    job_step_times_fill(&times, &job, &accounts);
    job_failures_fill(&failures, &job, &accounts);
    job_windows_read(&windows, results, &job, &peaks);
    traced = job_windows_steps(&windows);
    /* Without a step record there are no windows, and kept steps have nothing to be parted by. */
    if (windows.is_of_records)
        kept_parts_fill(&kept, &job, &accounts, &traced);
    fill_page(&page, wanted->count == 1 ? wanted->paths[0]
                                        : results_format(results, "%s and %d more",
                                                         wanted->paths[0], wanted->count - 1));
    return true;
}
