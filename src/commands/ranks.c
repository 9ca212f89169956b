/* `flopledger ranks DUMPS...`: which collective hangs, and which rank does not come. */
#include "commands/command.h"
#include "commands/page_options.h"
#include "pipeline/subcommands.h"

#include <stddef.h>

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

/* --live asks a running job, all else reads dumps of one that hangs or has ended; --ras is a
 * part of the former. */
static bool run_ranks(int count, char **arguments, struct error *error)
{
    struct ranks_settings settings = {
        .top = 10, .shows_progress = true, .live = {.apart_s = 3, .reads_stacks = true}};
    struct hang_report wanted = {.page = &settings.page};

    if (!parse_options(ranks_options, &settings, arguments, &count, error) ||
        !check_output(&settings.page, &(struct output_inputs){arguments, count, {NULL}}, error))
        return false;
    wanted.top = settings.top == 0 ? UINT32_MAX : (uint32_t)settings.top;
    wanted.threads = settings.threads;
    wanted.shows_progress = settings.shows_progress;
    if (settings.is_live) {
        settings.live.given = count > 0 ? arguments[0] : NULL;
        return check_one_running_job(count, arguments, error) &&
               print_hang_of_live_job(&settings.live, &wanted, error);
    }
    if (settings.live.ras)
        return error_set(error, ERROR_USAGE, "--ras is of --live: a dump needs no NCCL that runs");
    return print_hang_of_dumps(arguments, count, &wanted, error);
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
