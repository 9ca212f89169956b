/* `flopledger report TRACE...`: where the time of a run went. */
#include "base/core/attributes.h"
#include "commands/attribution_options.h"
#include "commands/command.h"
#include "commands/page_options.h"
#include "cost/architectures/read_architecture.h"
#include "output/reports/write_report.h"
#include "pipeline/read_ranks.h"
#include "pipeline/session.h"
#include "pipeline/subcommands.h"
#include "ranks/rank_layout.h"
#include "replay/scenario.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { WHAT_IF_MAX = 32 };

/* Each --what-if as given. */
struct what_if_texts {
    const char *texts[WHAT_IF_MAX];
    size_t count;
};

struct report_settings {
    struct page_settings page;
    struct cache_choice cache;
    struct attribution_settings attribution;
    struct capture_choice captures;
    int64_t top;
    int sort; /* -1: as each table has it by itself */
    int by;
    int64_t rank;
    const char *layout_text;
    struct rank_layout layout; /* of layout_text */
    const struct convention *convention;
    const char *model;
    struct architecture architecture; /* of `model` */
    struct what_if_texts what_if;
    struct scenario scenarios[WHAT_IF_MAX]; /* of what_if */
    int64_t threads;
    bool shows_progress;
};

/* By --sort: how rows by name are ordered, and how modules are. */
static const char *const sort_names[] = {"time", "self",  "total",      "count", "mean", "max",
                                         "name", "flops", "parameters", "model", NULL};
static const struct {
    enum sort_order rows;
    enum module_sort modules;
} sort_orders[] = {
    {SORT_TIME, MODULE_SORT_TIME},       {SORT_TIME, MODULE_SORT_TIME},
    {SORT_TOTAL, MODULE_SORT_TIME},      {SORT_COUNT, MODULE_SORT_MODEL},
    {SORT_MEAN, MODULE_SORT_MODEL},      {SORT_MAX, MODULE_SORT_MODEL},
    {SORT_NAME, MODULE_SORT_NAME},       {SORT_TIME, MODULE_SORT_FLOPS},
    {SORT_TIME, MODULE_SORT_PARAMETERS}, {SORT_TIME, MODULE_SORT_MODEL},
};
static const char *const by_names[] = {"name", "shape", NULL};

#define FIELD(name) offsetof(struct report_settings, name)

static const char what_if_accepted[] = "at most 32 of them";

static bool parse_what_if(const char *text, void *field)
{
    struct what_if_texts *what_if = field;

    if (what_if->count == WHAT_IF_MAX)
        return false;
    what_if->texts[what_if->count++] = text;
    return true;
}

static const struct option report_options[] = {
    ATTRIBUTION_OPTIONS(struct report_settings),
    CAPTURE_OPTION(struct report_settings),
    RANK_OPTION(struct report_settings),
    TEXT_OPTION(
        "layout", FIELD(layout_text), "SIZES",
        "how the ranks divide the work: tp=8,pp=4,dp=16 (tensor, pipeline, data parallel; cp: "
        "context), the ranks of a tensor group next to each other; order=tp-cp-dp-pp says "
        "which come first; m=32 micro-batches a step, v=2 chunks of the model on a rank "
        "(default: what the names rank3_dp1_tp1_pp0 of folders say)"),
    PARSED_OPTION(
        "convention", FIELD(convention), "NAME", convention,
        "print the MFU as this tool would: exact (default), full, megatron, torchtitan, "
        "nanogpt, palm, maxtext, internevo, deepspeed, nemo, olmo-core, llm-foundry, ..."),
    TEXT_OPTION(
        "model", FIELD(model), "FILE",
        "the model's config.json, for --convention and for experts and windows of attention "
        "that no trace tells (default: what capture.json says)"),
    PARSED_OPTION(
        "what-if", FIELD(what_if), "CHANGE", what_if,
        "replay the steps with this change and print how long they would take: data=0 (no "
        "waiting for data), data=workers (other processes load), host=graphs (as with "
        "CUDA graphs), host=0, launch=0, sync=0, communication/2, copies=0, matrix*0.5, "
        "device/2, recompute=0, kernel:REGEX*0.7, of several ranks waiting=0, waiting@7=0 "
        "(nobody waits for rank 7), host@7*0.9 (rank 7 only), several at once with commas; "
        "may be given several times"),
    TOP_OPTION(struct report_settings),
    CHOICE_OPTION(
        "sort", FIELD(sort), "KEY", sort_names,
        "order of kernels, operators and modules: time (of operators: self, the default), "
        "self, total (operators with what they call), count, mean, max or name; modules "
        "also by flops, parameters or model (as the model has them, their default)"),
    CHOICE_OPTION(
        "by", FIELD(by), "KEY", by_names,
        "what operators share a row: those of one name (default), or of one name and input "
        "shape"),
    PAGE_OPTIONS(struct report_settings),
    CACHE_OPTIONS(struct report_settings),
    READING_OPTIONS(struct report_settings),
    {0},
};

/* A text has the memory of a trace where it is asked for: to follow it takes time. Following
 * allocations takes as long as the rest of a report: only where a section of them is printed. */
static bool wants_memory(const struct page_settings *page)
{
    static const char *const keys[] = {"memory", "memory_modules", "memory_blocks",
                                       "memory_growth"};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (page_wants_section(page, keys[i]))
            return true;
    return page_has_all(page);
}

/* The number of files counts: with several ranks a page has fewer rows of each, and its
 * timelines fewer blocks, so that it stays a page. */
static struct analysis_plan plan_of(const struct report_settings *settings, size_t file_count)
{
    int64_t top = rows_of_page(&settings->page, settings->top, file_count);
    int64_t blocks = timeline_blocks_of_page(&settings->page, file_count);
    struct attribution_options attribution = attribution_options_of(&settings->attribution);
    bool is_sorted = settings->sort >= 0;

    attribution.ledger.keeps_pieces = blocks > 0;
    return (struct analysis_plan){
        .attribution = attribution,
        .with_memory = wants_memory(&settings->page),
        .analysis = {.top = top == 0 ? UINT32_MAX : (uint32_t)top,
                     .all_modules = page_has_all(&settings->page),
                     .timeline_blocks = blocks,
                     .sort = is_sorted ? sort_orders[settings->sort].rows : SORT_TIME,
                     .module_sort =
                         is_sorted ? sort_orders[settings->sort].modules : MODULE_SORT_MODEL,
                     .by_shape = settings->by == 1,
                     .also_by_shape = page_has_all(&settings->page),
                     .convention = settings->convention,
                     .scenarios = settings->scenarios,
                     .scenario_count = settings->what_if.count,
                     .architecture = settings->attribution.architecture},
    };
}

/* What of the page changes the results (rows, blocks, which ranks are in full) is part of the
 * question; how they are printed is not. */
static bool ask_of_cache(struct session *session, const struct report_settings *settings,
                         const struct rank_reading *reading, struct error *error)
{
    const struct analysis_plan *plan = reading->plan;
    struct session_question question = {
        .command = "report",
        .page = &settings->page,
        .of_page = {plan->analysis.top, plan->analysis.timeline_blocks,
                    plan->with_memory << 1 | plan->analysis.all_modules, reading->in_full},
        .files = {settings->model, settings->attribution.rates.path},
        .threads = reading->threads,
    };

    return session_ask(session, &settings->cache, &question, error);
}

static bool report_report_on(struct session *session, const struct report_settings *settings,
                             struct error *error)
{
    struct analysis_plan plan = plan_of(settings, session->files.count);
    bool is_text = strcmp(all_reports()[settings->page.format]->name, "text") == 0;
    struct rank_reading reading = {
        .threads = session_threads(session, settings->threads),
        .shows_progress = settings->shows_progress && session_prints(session),
        .in_full = is_text ? ONE_RANK_IN_FULL : EVERY_RANK_IN_FULL,
        .rank = settings->rank,
        .plan = &plan,
        .layout = &settings->layout,
        .captures = &settings->captures,
    };

    if (!ask_of_cache(session, settings, &reading, error))
        return false;
    /* a kept answer is for other pages, too */
    plan.analysis.is_for_first_screen =
        page_is_first_screen(&settings->page) && !session->cache.folder;
    if (!session_report(session, reading, error))
        return false;
    return !session_prints(session) || print_session(session, -1, &settings->page, error);
}

/* Kinds of input that are no traces are looked for after the options are known to be right,
 * and before the processes of a world are joined: they are read by one. */
static bool report_run_with(struct report_settings *settings, char **operands, int count,
                            struct error *error)
{
    SCOPED(session) session = {0};
    const struct input_files *files = &session.files;
    struct pipeline_report pipeline = {
        .page = &settings->page, .steps = settings->attribution.steps, .top = settings->top};
    struct proton_report proton = {.page = &settings->page, .top = settings->top};

    if (!attribution_resolve(&settings->attribution, error))
        return false;
    proton.device_name = settings->attribution.peaks.device_name;
    /* A scenario that cannot be read must be told before minutes of reading, not after them. */
    for (size_t i = 0; i < settings->what_if.count; i++)
        if (!scenario_parse(&settings->scenarios[i], settings->what_if.texts[i], error))
            return false;
    if (!check_output(&settings->page,
                      &(struct output_inputs){
                          operands, count, {settings->model, settings->attribution.rates.path}},
                      error))
        return false;
    if (settings->model && !architecture_read(&settings->architecture, settings->model, error))
        return false;
    settings->attribution.architecture = settings->model ? &settings->architecture : NULL;
    if (!session_open(&session, operands, count, error))
        return false;
    /* The same file without --what-if has a report of its own, just below. */
    if (settings->what_if.count && files->count == 1 && is_pipeline_timeline(files->files[0].path))
        return error_set(error, ERROR_USAGE,
                         "'%s' has times of whole operations and no dependencies of host and "
                         "device: --what-if needs a profiler trace",
                         files->files[0].path);
    if (files->count == 1 && is_pipeline_timeline(files->files[0].path))
        return print_pipeline_report(files->files[0].path, &pipeline, error);
    if (files->count == 1 && is_proton_profile(files->files[0].path))
        return print_proton_report(files->files[0].path, &proton, error);
    if (settings->layout_text &&
        !rank_layout_parse(&settings->layout, settings->layout_text, error))
        return false;
    if (!session_join(&session, error))
        return false;
    return report_report_on(&session, settings, error);
}

/* What the options hold is freed however the report ends; the arguments are noted for the
 * cache of answers. */
static bool run_report(int count, char **arguments, struct error *error)
{
    struct report_settings settings = {.attribution = ATTRIBUTION_DEFAULTS,
                                       .top = -1,
                                       .rank = -1,
                                       .sort = -1,
                                       .shows_progress = true};
    bool is_done;

    is_done = parse_options_noting(
                  report_options, &settings,
                  &(struct noted_arguments){arguments, &count, &settings.cache.asked}, error) &&
              report_run_with(&settings, arguments, count, error);
    attribution_settings_clear(&settings.attribution);
    for (size_t i = 0; i < settings.what_if.count; i++)
        scenario_clear(&settings.scenarios[i]);
    bytes_clear(&settings.cache.asked);
    return is_done;
}

const struct command report_command = {
    .name = "report",
    .summary = "where the time of each step goes, from profiler traces: MFU, bottlenecks, advice",
    .usage = "TRACE...",
    .description =
        "Reads traces of torch.profiler (.json, .json.gz, .json.zst, '-' for standard input), "
        "recordings of rocprofv3 (JSON, rocpd), of RocmProfileData (.rpd), of Ascend devices and "
        "of Triton's Proton, databases of Nsight Systems (what 'nsys export --type sqlite' wrote, "
        "or a .nsys-rep where nsys is installed; each process that used a device is a rank) and "
        "XSpaces of JAX (.xplane.pb; each device is a rank), or Perfetto's own format (.pftrace), "
        "attributes every nanosecond of every step to one account, and prints what fits one "
        "screen: the largest loss, how long a step takes, where it goes, and what to try. "
        "--section prints parts of the rest (step ledger, idle time by cause, kernels, operators, "
        "collectives, ...), --all all of it.\n\n"
        "Give several files, or a folder of them, for a run of several ranks: collectives are "
        "joined across them, waiting is told from transfer, and one rank is printed in full. Files "
        "of digests ('flopledger digest') stand for the traces they were made of. Under Open MPI's "
        "mpirun the processes share the traces among them, and the output is the same.",
    .examples = "flopledger report trace.json.gz\n"
                "    the report of one trace\n"
                "flopledger report --steps 3-5 --top 20 trace.json.gz\n"
                "    steps 3 to 5 only, and longer tables\n"
                "flopledger report --json --output report.json traces/\n"
                "    all ranks in a folder, for a program",
    .options = report_options,
    .run = run_report,
};
