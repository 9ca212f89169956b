/* `flopledger ettr LOG...`: of all time of all devices of a training job, what was of use. */
#include "base/attributes.h"
#include "base/format.h"
#include "commands/command.h"
#include "commands/ettr_page.h"
#include "commands/exported_results.h"
#include "commands/job_windows.h"
#include "commands/page_options.h"
#include "commands/peak_options.h"
#include "commands/read_job.h"
#include "devices/find_device_peak.h"
#include "exports/export_format.h"
#include "job/job.h"
#include "job/kept_parts.h"
#include "logs/log_pattern.h"
#include "reports/write_report.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct ettr_settings {
    struct page_settings page;
    struct peak_settings peaks;
    const char *device_name;
    const char *pattern;
    int64_t devices;
    int64_t top;
    double flops_per_token;
    int export;                           /* index in export_names; -1: none */
    const struct export_format *exporter; /* that format */
    bool shows_progress;
};

#define FIELD(name) .offset = offsetof(struct ettr_settings, name)

static const char flops_accepted[] = "a number of FLOPs (5.1e10)";

static bool parse_flops(const char *text, void *field)
{
    char *end;
    double flops = strtod(text, &end);

    if (end == text || *end != '\0' || !isfinite(flops) || flops <= 0.0)
        return false;
    *(double *)field = flops;
    return true;
}

/* Of all_exports(), those that a job has something for. */
static const char *const export_names[] = {"csv", "sqlite", "jsonl", "prometheus", NULL};

static const struct option ettr_options[] = {
    {.name = "pattern",
     .kind = OPTION_TEXT,
     .metavar = "REGEX",
     FIELD(pattern),
     .help = "how a line that tells of a step reads, for logs of your own: an extended regular "
             "expression with groups (?P<step>[0-9]+) and, where there are, last_step, time, "
             "seconds, ms, loss, tflops, mfu, tokens, skipped, checkpoint, restore"},
    {.name = "devices",
     .kind = OPTION_INTEGER,
     .metavar = "N",
     FIELD(devices),
     .minimum = 1,
     .maximum = 10000000,
     .help = "devices of the job, where its log does not say"},
    {.name = "device",
     .letter = 'd',
     .kind = OPTION_TEXT,
     .metavar = "NAME",
     FIELD(device_name),
     .help = "what the devices are (\"H100 SXM\"): their peak is what MFU is of, and what no rate "
             "may exceed"},
    {.name = "dtype",
     .kind = OPTION_PARSED,
     .metavar = "DTYPE",
     FIELD(peaks),
     .parse = parse_precision,
     .accepts = precision_accepted,
     .help = "the number format whose peak counts (default: bf16)"},
    {.name = "peak",
     .kind = OPTION_PARSED,
     .metavar = "TFLOPS",
     FIELD(peaks),
     .parse = parse_peak,
     .accepts = peak_accepted,
     .help = "the peak itself, in TFLOP/s"},
    {.name = "flops-per-token",
     .kind = OPTION_PARSED,
     .metavar = "FLOPS",
     FIELD(flops_per_token),
     .parse = parse_flops,
     .accepts = flops_accepted,
     .help = "FLOPs that a token costs, for logs that tell tokens a second and no TFLOP/s "
             "('flopledger flops --model' counts them)"},
    {.name = "top",
     .letter = 'n',
     .kind = OPTION_INTEGER,
     .metavar = "N",
     FIELD(top),
     .minimum = 0,
     .maximum = INT32_MAX,
     .help = "attempts to print; 0 for all (default: 50)"},
    PAGE_OPTIONS(struct ettr_settings),
    {.name = "export",
     .kind = OPTION_CHOICE,
     .metavar = "FORMAT",
     .choices = export_names,
     FIELD(export),
     .help = "write all numbers for another program: csv or sqlite (tables), jsonl (a line a row) "
             "or prometheus; to --output"},
    {.name = "no-progress",
     .kind = OPTION_NEGATED,
     FIELD(shows_progress),
     .help = "no progress bar (there is one on a terminal, for work over a second)"},
    MEMORY_LIMIT_OPTION,
    {0},
};

/* The peak that counts, and who says so. */
static bool choose_peak(struct ettr_page *page, const struct ettr_settings *settings,
                        struct error *error)
{
    enum peak_type type = settings->peaks.has_precision ? settings->peaks.precision : PEAK_BF16;
    const struct device_peak *device;
    struct device_match match;

    if (settings->peaks.peak_of_all > 0.0 || settings->peaks.peaks[type] > 0.0) {
        page->peak = settings->peaks.peaks[type] > 0.0 ? settings->peaks.peaks[type]
                                                       : settings->peaks.peak_of_all;
        page->peak_source = "the peak that --peak gives";
        return true;
    }
    if (!settings->device_name)
        return true;
    device = find_device_peak(settings->device_name, NULL, &match);
    if (!device)
        return error_set(error, ERROR_USAGE,
                         "device '%s' is not known: %s ('flopledger device' lists all; --peak "
                         "gives the rate itself)",
                         settings->device_name, match.how);
    if (device_peak_state(device, type) != PEAK_KNOWN)
        return error_set(error, ERROR_USAGE, "%s has no peak for %s: name another --dtype",
                         device->name, peak_type_name(type));
    page->peak = device->peaks[type];
    page->peak_source =
        results_format(page->results, "the %s peak of %s", peak_type_name(type), device->name);
    return true;
}

/* What no device there is can exceed, whatever the number format. */
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

/* One sentence: what it comes to. */
static const char *headline_of(const struct ettr_page *page)
{
    const struct job_accounts *accounts = page->accounts;
    double kept = accounts->are_devices_known
                      ? accounts->device_seconds[JOB_KEPT] / accounts->total_device_seconds
                      : (double)accounts->ns[JOB_KEPT] / (double)accounts->total_ns;

    if (accounts->total_ns <= 0)
        return NULL;
    if (!accounts->is_complete)
        return results_format(page->results,
                              "ETTR is not known: the log does not tell all times. Of the %s it "
                              "tells, kept steps are %s.",
                              format_time(accounts->total_ns).text, format_fraction(kept).text);
    if (!accounts->are_devices_known)
        return results_format(page->results, "ETTR %s: of %s, that much went into kept steps.",
                              format_fraction(kept).text, format_time(accounts->total_ns).text);
    return results_format(
        page->results, "ETTR %s: of %s device-hours, that much went into kept steps.",
        format_fraction(kept).text, format_number(accounts->total_device_seconds / 3600.0).text);
}

static void fill_page(struct ettr_page *page, const char *name)
{
    struct rank_results *rank = results_add_rank(page->results, name, name, -1);

    if (page->job->incident_count)
        rank_add_section(page->results, rank, describe_diary(page));
    if (page->job->attempt_count == 0)
        return;
    rank->headline = headline_of(page);
    rank_add_section(page->results, rank, describe_job(page));
    if (page->windows->is_of_records)
        rank_add_section(page->results, rank, describe_kept_steps(page));
    rank_add_section(page->results, rank, describe_attempts(page));
    rank_add_section(page->results, rank, describe_step_times(page));
    rank_add_section(page->results, rank, describe_rates(page));
    rank_add_section(page->results, rank, describe_failures(page));
}

/* The report is of what could be read: says what could not. */
static bool judge_reading(const struct job_reading *reading, struct error *error)
{
    if (reading->failed_count > 0)
        return error_set(error, ERROR_PARTIAL,
                         "%zu of %zu files could not be used: the report is of the others",
                         reading->failed_count, reading->failed_count + reading->used_count);
    if (reading->cut_count > 0)
        return error_set(error, ERROR_PARTIAL, "%zu packed %s early: the report is of the rest",
                         reading->cut_count, reading->cut_count == 1 ? "file ends" : "files end");
    return true;
}

/* The format of --export, where it is given. */
static bool find_exporter(struct ettr_settings *settings, const struct output_inputs *inputs,
                          struct error *error)
{
    struct output_place place;

    if (settings->export < 0)
        return true;
    for (const struct export_format *const *format = all_exports(); *format; format++)
        if (strcmp((*format)->name, export_names[settings->export]) == 0)
            settings->exporter = *format;
    assert(settings->exporter);
    place = place_of_page(&settings->page, "export");
    if (settings->exporter->place == EXPORT_FILE)
        place.replaces = CONTENT_EXPORTED_DATABASE;
    return check_export_place(settings->exporter, &place, inputs, error);
}

static bool print_or_export(struct results *results, const struct ettr_settings *settings,
                            struct error *error)
{
    struct output_place place = place_of_page(&settings->page, "export");

    return settings->exporter ? export_results(results, settings->exporter, &place, error)
                              : print_page(results, &settings->page, error);
}

static bool print_job(char **paths, int count, const struct ettr_settings *settings,
                      const struct log_pattern *pattern, struct error *error)
{
    SCOPED(job) job = {0};
    SCOPED(job_accounts) accounts = {0};
    SCOPED(job_windows) windows = {0};
    SCOPED(results) results = {0};
    struct kept_parts kept = {0};
    struct job_reading reading;
    struct job_rates rates;
    struct job_step_times times;
    struct job_failures failures;
    struct traced_steps traced;
    struct peak_settings peaks = settings->peaks;
    struct ettr_page page = {.results = &results,
                             .job = &job,
                             .accounts = &accounts,
                             .rates = &rates,
                             .times = &times,
                             .failures = &failures,
                             .reading = &reading,
                             .windows = &windows,
                             .kept = &kept,
                             .flops_per_token = settings->flops_per_token,
                             .top = settings->exporter ? 0 : settings->top};

    peaks.device_name = settings->device_name;
    results_init(&results);
    if (!choose_peak(&page, settings, error) ||
        !read_job(&job, &results,
                  &(struct job_input){.paths = paths,
                                      .count = count,
                                      .pattern = pattern,
                                      .shows_progress = settings->shows_progress},
                  &reading, error))
        return false;
    if (job.attempt_count == 0 && job.incident_count == 0)
        return error_set(error, ERROR_NO_DATA,
                         "'%s' is a log of %s, and tells of no step: give the whole log", paths[0],
                         reading.formats);
    job_accounts_fill(&accounts, &job, settings->devices);
    job_judge_rates(&rates, &job,
                    &(struct job_rate_limits){.peak = page.peak, .highest_peak = highest_peak()});
    job_rates_fill(&rates, &job, &accounts);
    job_step_times_fill(&times, &job, &accounts);
    job_failures_fill(&failures, &job, &accounts);
    job_windows_read(&windows, &results, &job, &peaks);
    traced = job_windows_steps(&windows);
    if (windows.is_of_records)
        kept_parts_fill(&kept, &job, &accounts, &traced);
    fill_page(&page, count == 1 ? paths[0]
                                : results_format(&results, "%s and %d more", paths[0], count - 1));
    return print_or_export(&results, settings, error) && judge_reading(&reading, error);
}

static bool run_ettr(int count, char **arguments, struct error *error)
{
    struct ettr_settings settings = {.top = 50, .export = -1, .shows_progress = true};
    SCOPED(log_pattern) pattern = {0};
    struct output_inputs inputs;

    if (!parse_options(ettr_options, &settings, arguments, &count, error))
        return false;
    if (count == 0)
        return error_set(error, ERROR_USAGE,
                         "no log given: name the files that the job's output went to, those of all "
                         "its attempts");
    inputs = (struct output_inputs){arguments, count, {NULL}};
    if (!find_exporter(&settings, &inputs, error) ||
        (!settings.exporter && !check_output(&settings.page, &inputs, error)))
        return false;
    if (strcmp(report_names[settings.page.format], "deepspeed") == 0)
        return error_set(error, ERROR_USAGE,
                         "--format deepspeed prints the modules of a trace: of a job it is another "
                         "one");
    if (settings.pattern && !log_pattern_compile(&pattern, settings.pattern, error))
        return false;
    return print_job(arguments, count, &settings, settings.pattern ? &pattern : NULL, error);
}

const struct command ettr_command = {
    .name = "ettr",
    .summary = "of all time of a training job, what was of use: from its logs",
    .usage = "LOG|CAPTURE...",
    .description =
        "Reads the logs of a training job, as the program wrote them, and books each second of it "
        "to one account: kept steps, steps that were made again after a restart, checkpoints, "
        "evaluations, hangs, startups, down time. Several files (of attempts, rotated, of ranks) "
        "make one job. What a log does not tell is not known, and said so.\n\n"
        "A CAPTURE is the folder of a run that 'flopledger run' recorded, also of one that runs "
        "or was killed, or a folder above several attempts of one job. What its recorded windows "
        "show of the devices is scaled to all kept steps.\n\n"
        "Formats: Megatron-LM and its children (also progress.txt), torchtitan, InternEvo, "
        "MaxText, NeMo, Lightning, MLPerf's lines, Hugging Face Trainer (output and "
        "trainer_state.json), DeepSpeed, DLRover, nanoGPT, llm.c, modded-nanogpt, diaries in "
        "Markdown (of which it lists what they say), and any other by --pattern. Logs may be "
        "packed (gzip, zstd), have colours and progress bars.",
    .examples = "flopledger ettr slurm-*.out\n"
                "    all attempts of a job\n"
                "flopledger ettr captures/train\n"
                "    what the recorder kept of it\n"
                "flopledger ettr --devices 384 --device 'A100 SXM 80GB' train.log\n"
                "    in device-hours, and against the peak of the devices\n"
                "flopledger ettr --pattern 'it (?P<step>[0-9]+) .* (?P<seconds>[0-9.]+) s' my.log\n"
                "    a log of a format of your own\n"
                "flopledger ettr --export prometheus -o job.prom captures/train\n"
                "    for node_exporter's textfile collector",
    .options = ettr_options,
    .run = run_ettr,
};
