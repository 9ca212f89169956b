/* `flopledger compare A B`: what changed between two runs, and by how much. */
#include "commands/attribution_options.h"
#include "commands/command.h"
#include "commands/page_options.h"
#include "cost/plan/planned_step.h"
#include "pipeline/subcommands.h"

#include <stddef.h>

enum { CONDITIONS_MAX = 64 };

/* As the user wrote them. */
struct condition_texts {
    const char *texts[CONDITIONS_MAX];
    size_t count;
};

struct compare_settings {
    struct page_settings page;
    struct attribution_settings attribution;
    int64_t top;
    int64_t threads;
    int64_t rank;
    bool shows_progress;
    bool only_significant;
    struct condition_texts fail_if;
};

static const char condition_accepted[] = "up to 64 conditions: 'step_time>+3%'";

/* Keeps the text: what is wrong in it is told once all options are read. */
static bool parse_condition(const char *text, void *field)
{
    struct condition_texts *texts = field;

    if (texts->count == CONDITIONS_MAX)
        return false;
    texts->texts[texts->count++] = text;
    return true;
}

#define FIELD(name) offsetof(struct compare_settings, name)

static const struct option compare_options[] = {
    PARSED_OPTION(
        "fail-if", FIELD(fail_if), "CONDITION", condition,
        "exit with code 6 where this holds: 'step_time>+3%', 'idle_data>+2ms', "
        "'mfu<-2points', 'memory>40GiB', 'kernel:*gemm*>+5%'; with 7 where noise hides it or "
        "the input does not tell; again for more"),
    FLAG_OPTION("only-significant", FIELD(only_significant),
                "leave out rows whose change is small or within the noise of the steps"),
    INTEGER_OPTION("rank", FIELD(rank), "N", 0, INT32_MAX,
                   "of several beside a plan: the one to print in full (default: that the others "
                   "wait for)",
                   .letter = 'r'),
    ATTRIBUTION_OPTIONS(struct compare_settings),
    TOP_OPTION(struct compare_settings),
    PAGE_OPTIONS(struct compare_settings),
    READING_OPTIONS(struct compare_settings),
    {0},
};

/* Everything that may be wrong on the command line is checked before the first file is read. */
static bool compare_run_with(struct compare_settings *settings, char **operands,
                             struct error *error)
{
    struct comparison_report wanted = {.page = settings->page,
                                       .top = settings->top,
                                       .threads = settings->threads,
                                       .rank = settings->rank,
                                       .shows_progress = settings->shows_progress,
                                       .only_significant = settings->only_significant,
                                       .conditions = settings->fail_if.texts,
                                       .condition_count = settings->fail_if.count};

    if (!check_conditions(&wanted, error) || !attribution_resolve(&settings->attribution, error) ||
        !check_output(&settings->page,
                      &(struct output_inputs){operands, 2, {settings->attribution.rates.path}},
                      error))
        return false;
    wanted.attribution = attribution_options_of(&settings->attribution);
    if (!is_plan_file(operands[0]) && settings->rank >= 0)
        return error_set(error, ERROR_USAGE,
                         "--rank is of a run beside a plan, and '%s' is none: leave it out",
                         operands[0]);
    return is_plan_file(operands[0]) ? compare_with_plan(operands, &wanted, error)
                                     : compare_two_runs(operands, &wanted, error);
}

/* The work is a function of its own, so that what the options hold is freed however it ends. */
static bool run_compare(int count, char **arguments, struct error *error)
{
    struct compare_settings settings = {
        .attribution = ATTRIBUTION_DEFAULTS, .top = -1, .rank = -1, .shows_progress = true};
    bool is_done;

    if (!parse_options(compare_options, &settings, arguments, &count, error))
        return false;
    if (count != 2)
        return error_set(
            error, ERROR_USAGE,
            "compare takes two runs, %d given: flopledger compare BEFORE AFTER, each a "
            "trace, a recorded run or a folder with the traces of all ranks",
            count);
    is_done = compare_run_with(&settings, arguments, error);
    attribution_settings_clear(&settings.attribution);
    return is_done;
}

const struct command compare_command = {
    .name = "compare",
    .summary = "compare two runs: what changed, and whether it is significant",
    .usage = "A B",
    .description =
        "Reads two runs (traces, recorded runs, folders with the traces of all ranks, databases of "
        "Nsight Systems, XSpaces of JAX, Perfetto's own format) and prints what changed from A "
        "to B and by how much: the "
        "step, every account of the ledger, kernels, operators, modules, FLOPs, launches and "
        "memory.\n\n"
        "A change is called significant where it is more than what the steps of each run differ "
        "among themselves, corrected for the many rows, and at least 1 % of the row and 0.1 % of "
        "the step. With one step in a run nothing is.\n\n"
        "Where A is a plan ('flopledger plan --json'), the mean step of B stands beside it account "
        "by account, with why they differ.",
    .examples =
        "flopledger compare before.json.gz after.json.gz\n"
        "    what changed, the largest first\n"
        "flopledger compare --fail-if 'step_time>+3%' --fail-if 'memory>+1GiB' main/ mine/\n"
        "    for a build that shall fail where a run got slower or needs more memory\n"
        "flopledger compare plan.json trace.json.gz\n"
        "    where a run left its plan\n"
        "flopledger compare --only-significant --json before/ after/\n"
        "    all ranks of two runs, for a program",
    .options = compare_options,
    .run = run_compare,
};
