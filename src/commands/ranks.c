/* `flopledger ranks DUMPS...`: which collective hangs, and which rank does not come. */
#include "base/core/attributes.h"
#include "base/core/hash_map.h"
#include "base/core/invariant.h"
#include "base/core/worker_threads.h"
#include "base/io/progress.h"
#include "commands/command.h"
#include "commands/page_options.h"
#include "output/reports/write_report.h"
#include "output/results/metrics.h"
#include "pipeline/page.h"
#include "pipeline/read_files.h"
#include "pipeline/subcommands.h"
#include "pipeline/watched_job.h"
#include "readers/flight_recorder/read_flight_dump.h"
#include "sections/hang/flight_sections.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct ranks_settings {
    int64_t top;
    struct page_settings page;
    int64_t threads;
    bool shows_progress;
    bool is_live;
    struct live_question live;
};

#define FIELD(name) offsetof(struct ranks_settings, name)

static const struct option ranks_options[] = {
    INTEGER_OPTION("top", FIELD(top), "N", 0, INT32_MAX,
                   "rows of long tables; 0 for all (default: 10)", .letter = 'n'),
    FLAG_OPTION("live", FIELD(is_live),
                "of a job that runs: asks NCCL's RAS and the step records, in place of dumps"),
    TEXT_OPTION("ras", FIELD(live.ras), "ADDRESS",
                "where NCCL's RAS answers (default: $NCCL_RAS_ADDR, then localhost:28028)"),
    NEGATED_OPTION(
        "no-stacks", FIELD(live.reads_stacks),
        "with --live: leave the processes alone, whose Python stacks are read otherwise"),
    {.name = "apart",
     .kind = OPTION_PARSED,
     .metavar = "SECONDS",
     .offset = FIELD(live.apart_s),
     .parse = parse_positive_number,
     .accepts = "a number of seconds: 3",
     .help = "time between the two looks of --live (default: 3)"},
    PAGE_OPTIONS(struct ranks_settings),
    READING_OPTIONS(struct ranks_settings),
    {0},
};

/* ---- reading ---- */

/* One of the files that are read side by side. */
struct read_dump {
    const char *path;
    struct pickle_tree tree;
    struct error error;
    bool is_read;
};

static void read_one(void *argument, size_t index)
{
    struct read_dump *dump = (struct read_dump *)argument + index;

    dump->is_read = read_flight_tree(&dump->tree, dump->path, &dump->error);
}

/* What became of the files. */
struct dumps_read {
    size_t failed_count;
    size_t damaged_count;
    struct error first_error;
    struct hash_map dump_of_rank; /* rank -> index in dumps */
};

static void ranks_note_failure(struct results *results, struct dumps_read *outcome,
                               const struct error *error)
{
    if (outcome->failed_count++ == 0)
        outcome->first_error = *error;
    results_add_failure(results, error);
}

static void parse_dump(struct flight_dumps *dumps, struct read_dump *read, struct results *results,
                       struct dumps_read *outcome)
{
    uint32_t rank = 0;
    uint32_t known = NO_VALUE;
    bool is_taken = read->is_read;

    if (is_taken && !flight_rank_of_name(read->path, &rank))
        is_taken = error_set(&read->error, ERROR_INPUT,
                             "'%s': the name holds no number, so the rank is not known: name dumps "
                             "as the recorder does, nccl_trace_rank_3",
                             read->path);
    if (is_taken)
        known = hash_map_find(&outcome->dump_of_rank, rank);
    if (known != NO_VALUE && dumps->dumps)
        is_taken = error_set(&read->error, ERROR_INPUT,
                             "'%s': a second dump of rank %u, beside '%s': name one of them "
                             "(the rank is the last number of a file's name)",
                             read->path, rank, dumps->dumps[known].path);
    if (is_taken)
        is_taken = add_flight_dump(dumps, &read->tree, read->path, rank, &read->error);
    if (is_taken)
        (void)hash_map_set(&outcome->dump_of_rank, rank, (uint32_t)dumps->dump_count - 1);
    if (!is_taken)
        ranks_note_failure(results, outcome, &read->error);
    else
        outcome->damaged_count += note_file_rest(results, read->path, &read->tree.rest);
    pickle_tree_clear(&read->tree);
}

/* As many files at once as there are threads; they are taken in their order. */
static void read_dumps(struct flight_dumps *dumps, const struct dump_files *files,
                       const struct ranks_settings *settings, struct results *results,
                       struct dumps_read *outcome)
{
    unsigned threads = settings->threads > 0 ? (unsigned)settings->threads : default_thread_count();
    struct read_dump *batch = require_memory(calloc(threads, sizeof *batch));
    struct progress *progress = progress_new("reading", files->bytes, settings->shows_progress);

    for (size_t done = 0; done < files->count;) {
        size_t count = files->count - done < threads ? files->count - done : threads;

        memset(batch, 0, threads * sizeof *batch);
        for (size_t i = 0; i < count; i++)
            batch[i].path = files->files[done + i].path;
        run_side_by_side(threads, count, read_one, batch);
        for (size_t i = 0; i < count; i++) {
            parse_dump(dumps, &batch[i], results, outcome);
            progress_advance(progress, files->files[done + i].bytes);
        }
        done += count;
    }
    progress_free(progress);
    free(batch);
    hash_map_clear(&outcome->dump_of_rank);
    flight_dumps_finish(dumps);
}

/* ---- the page ---- */

static void ranks_describe_job(struct results *results, const struct flight_dumps *dumps,
                               const struct ranks_settings *settings)
{
    SCOPED(flight_join) join = {0};
    SCOPED(flight_mismatches) mismatches = {0};
    SCOPED(flight_stalls) stalls = {0};
    SCOPED(flight_causes) causes = {0};
    struct flight_view view = {
        .dumps = dumps,
        .join = &join,
        .mismatches = &mismatches,
        .stalls = &stalls,
        .causes = &causes,
        .top = settings->top == 0 ? UINT32_MAX : (uint32_t)settings->top,
    };
    struct rank_results *page = results_add_rank(results, "job", "flight recorder", -1);
    struct section *unfinished;

    flight_join_calls(&join, dumps);
    flight_find_mismatches(&mismatches, &join);
    flight_find_stalls(&stalls, &join);
    flight_find_causes(&causes, &stalls, &join);
    page->headline = flight_headline(results, &view);
    rank_add_section(results, page, describe_flight_verdict(results, &view));
    unfinished = describe_flight_stalls(results, &view);
    if (unfinished)
        rank_add_section(results, page, unfinished);
    rank_add_section(results, page, describe_flight_ranks(results, &view));
}

static bool run_live(struct ranks_settings *settings, int count, char **arguments,
                     struct error *error)
{
    SCOPED(arena) arena = {0};
    SCOPED(job_records) records = {0};
    SCOPED(results) results = {0};
    struct live_job job;

    if (count > 1)
        return error_set(error, ERROR_USAGE, "one PID or CAPTURE is wanted, and '%s' is a second",
                         arguments[1]);
    settings->live.given = count > 0 ? arguments[0] : NULL;
    if (!look_at_live_job(&job, &arena, &records, &settings->live, error))
        return false;
    results_init(&results);
    results.detailed_rank = ALL_RANKS;
    describe_live_job(&results, &job, settings->top == 0 ? UINT32_MAX : (uint32_t)settings->top);
    return print_page(&results, &settings->page, error);
}

static bool run_ranks(int count, char **arguments, struct error *error)
{
    struct ranks_settings settings = {
        .top = 10, .shows_progress = true, .live = {.apart_s = 3, .reads_stacks = true}};
    SCOPED(dump_files) files = {0};
    SCOPED(flight_dumps) dumps = {0};
    SCOPED(results) results = {0};
    struct dumps_read outcome = {0};

    if (!parse_options(ranks_options, &settings, arguments, &count, error) ||
        !check_output(&settings.page, &(struct output_inputs){arguments, count, {NULL}}, error))
        return false;
    if (settings.is_live)
        return run_live(&settings, count, arguments, error);
    if (settings.live.ras)
        return error_set(error, ERROR_USAGE, "--ras is of --live: a dump needs no NCCL that runs");
    if (!find_dump_files(&files, arguments, count, error))
        return false;
    results_init(&results);
    results.detailed_rank = ALL_RANKS;
    read_dumps(&dumps, &files, &settings, &results, &outcome);
    if (dumps.dump_count == 0) {
        *error = outcome.first_error;
        return false;
    }
    ranks_describe_job(&results, &dumps, &settings);
    if (!print_page(&results, &settings.page, error))
        return false;
    if (outcome.failed_count > 0)
        return error_set(error, ERROR_PARTIAL, "%zu of %zu dumps cannot be used",
                         outcome.failed_count, files.count);
    return outcome.damaged_count == 0 ||
           error_set(error, ERROR_PARTIAL, "%zu of %zu dumps are damaged behind their end",
                     outcome.damaged_count, files.count);
}

const struct command ranks_command = {
    .name = "ranks",
    .summary = "diagnose a hang: stuck collectives, missing ranks",
    .usage = "DUMP... | --live [PID|CAPTURE]",
    .description =
        "Reads the dumps of PyTorch's flight recorder, one of each rank (files or folders of them; "
        "pickle or JSON, packed or not), joins the collectives of all ranks by group and number, "
        "and says who holds up the job: a rank that never called an operation in which others "
        "wait, ranks that call other operations, types or sizes than the rest of their group, "
        "ranks that wait for each other in a circle, and an operation that all called and that "
        "does not end. Waiting is followed from group to group to the rank that is waited for "
        "and waits for none.\n\n"
        "PyTorch writes the dumps when a collective runs into its time limit "
        "(TORCH_NCCL_DUMP_ON_TIMEOUT=1, TORCH_FR_BUFFER_SIZE above 0), to "
        "TORCH_NCCL_DEBUG_INFO_TEMP_FILE followed by the rank. The rank is the last number of a "
        "file's name.\n\n"
        "--live looks at a job that runs: NCCL's RAS says how often each rank has called each "
        "operation of each communicator, and which do not answer; the step records of 'flopledger "
        "run' or 'attach' say since when a rank ends no step. RAS is asked "
        "twice: a communicator in which calls were made in between is not judged.\n\n"
        "A dump is a pickle, and loading a pickle in Python can run any program. Here nothing is "
        "run: only plain data is read, and what asks for more is refused.",
    .examples = "flopledger ranks /tmp/nccl_trace_rank_*\n"
                "    what hangs\n"
                "flopledger ranks --json --top 0 dumps/\n"
                "    everything, for a program\n"
                "flopledger ranks --live\n"
                "    the job on this machine that hangs now",
    .options = ranks_options,
    .run = run_ranks,
};
