/* `flopledger ettr LOG...`: of all time of all devices of a training job, what was of use. */
#include "base/core/attributes.h"
#include "commands/attribution_options.h"
#include "commands/command.h"
#include "commands/page_options.h"
#include "output/exports/export_format.h"
#include "output/reports/write_report.h"
#include "pipeline/exported_results.h"
#include "pipeline/subcommands.h"
#include "readers/logs/log_pattern.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

struct ettr_settings {
    struct page_settings page;
    struct peak_settings peaks;
    struct rates_option rates;
    const char *device_name;
    const char *pattern;
    int64_t devices;
    int64_t top;
    double flops_per_token;
    int export;                           /* index in export_names; -1: none */
    const struct export_format *exporter; /* that format */
    bool shows_progress;
};

#define FIELD(name) offsetof(struct ettr_settings, name)

static const char flops_accepted[] = "a number of FLOPs (5.1e10)";

/* Of all_exports(), those that a job has something for. */
static const char *const export_names[] = {"csv", "sqlite", "jsonl", "prometheus", NULL};

static const struct option ettr_options[] = {
    TEXT_OPTION("pattern", FIELD(pattern), "REGEX",
                "how a line that tells of a step reads, for logs of your own: an extended regular "
                "expression with groups (?P<step>[0-9]+) and, where there are, last_step, time, "
                "seconds, ms, loss, tflops, mfu, tokens, skipped, checkpoint, restore"),
    INTEGER_OPTION("devices", FIELD(devices), "N", 1, 10000000,
                   "devices of the job, where its log does not say"),
    TEXT_OPTION(
        "device", FIELD(device_name), "NAME",
        "what the devices are (\"H100 SXM\"): their peak is what MFU is of, and what no rate "
        "may exceed",
        .letter = 'd'),
    PARSED_OPTION("dtype", FIELD(peaks), "DTYPE", precision,
                  "the number format whose peak counts (default: bf16)"),
    PARSED_OPTION("peak", FIELD(peaks), "TFLOPS", peak, "the peak itself, in TFLOP/s"),
    RATES_OPTION(struct ettr_settings, rates,
                 "peaks that 'flopledger device --measure FILE' measured on such a device; --peak "
                 "goes before them"),
    {.name = "flops-per-token",
     .kind = OPTION_PARSED,
     .metavar = "FLOPS",
     .offset = FIELD(flops_per_token),
     .parse = parse_positive_number,
     .accepts = flops_accepted,
     .help = "FLOPs that a token costs, for logs that tell tokens a second and no TFLOP/s "
             "('flopledger flops --model' counts them)"},
    INTEGER_OPTION("top", FIELD(top), "N", 0, INT32_MAX,
                   "attempts to print; 0 for all (default: 50)", .letter = 'n'),
    PAGE_OPTIONS(struct ettr_settings),
    CHOICE_OPTION(
        "export", FIELD(export), "FORMAT", export_names,
        "write all numbers for another program: csv or sqlite (tables), jsonl (a line a row) "
        "or prometheus; to --output"),
    NEGATED_OPTION("no-progress", FIELD(shows_progress),
                   "no progress bar (there is one on a terminal, for work over a second)"),
    MEMORY_LIMIT_OPTION,
    {0},
};

/* The format of --export, where it is given. Checked before reading, as every place of output
 * is. */
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

/* An export is for programs and has all rows. What of the logs could not be read is told
 * behind the page, not in place of it. */
static bool print_job(char **paths, int count, const struct ettr_settings *settings,
                      const struct log_pattern *pattern, struct error *error)
{
    const struct job_report wanted = {.paths = paths,
                                      .count = count,
                                      .pattern = pattern,
                                      .peaks = settings->peaks,
                                      .device_name = settings->device_name,
                                      .devices = settings->devices,
                                      .flops_per_token = settings->flops_per_token,
                                      .top = settings->exporter ? 0 : settings->top,
                                      .shows_progress = settings->shows_progress};
    struct job_reading reading;
    SCOPED(results) results = {0};

    results_init(&results);
    return make_job_report(&results, &reading, &wanted, error) &&
           print_or_export(&results, settings, error) && check_job_reading(&reading, error);
}

/* Whether the output may be written is asked before logs are read: they may be gigabytes. */
static bool run_ettr(int count, char **arguments, struct error *error)
{
    struct ettr_settings settings = {.top = 50, .export = -1, .shows_progress = true};
    SCOPED(log_pattern) pattern = {0};
    struct output_inputs inputs;
    bool is_done;

    if (!parse_options(ettr_options, &settings, arguments, &count, error))
        return false;
    if (count == 0)
        return error_set(error, ERROR_USAGE,
                         "no log given: name the files that the job's output went to, those of all "
                         "its attempts");
    inputs = (struct output_inputs){arguments, count, {settings.rates.path}};
    if (!find_exporter(&settings, &inputs, error) ||
        (!settings.exporter && !check_output(&settings.page, &inputs, error)))
        return false;
    if (strcmp(report_names[settings.page.format], "deepspeed") == 0)
        return error_set(error, ERROR_USAGE,
                         "--format deepspeed prints the modules of a trace: of a job it is another "
                         "one");
    if (settings.pattern && !log_pattern_compile(&pattern, settings.pattern, error))
        return false;
    is_done = rates_option_read(&settings.rates, &settings.peaks, error) &&
              print_job(arguments, count, &settings, settings.pattern ? &pattern : NULL, error);
    rates_option_clear(&settings.rates);
    return is_done;
}

const struct command ettr_command = {
    .name = "ettr",
    .summary = "effective training time (goodput) of a job, from its logs",
    .usage = "LOG|CAPTURE...",
    .description =
        "Reads the logs of a training job, as the program wrote them, and attributes each second "
        "of it to one account: kept steps, lost work (after a restart), checkpoints, "
        "evaluations, hangs, startups, down time. Several files (of attempts, rotated, of ranks) "
        "make one job. What a log does not tell is not known, and said so.\n\n"
        "A CAPTURE is the folder of a run that 'flopledger run' recorded, also of one that runs "
        "or was killed, or a folder above several attempts of one job. What its recorded windows "
        "show of the devices is scaled to all kept steps.\n\n"
        "Formats: Megatron-LM and its children (also progress.txt), torchtitan, InternEvo, "
        "MaxText, NeMo, Lightning, MLPerf's lines, Hugging Face Trainer (output and "
        "trainer_state.json), DeepSpeed, DLRover, nanoGPT, llm.c, modded-nanogpt, diaries in "
        "Markdown (of which it lists what they say), and any other by --pattern. Logs may be "
        "packed (gzip, zstd), have colors and progress bars.",
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
