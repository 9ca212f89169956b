/* `flopledger compare A B`: what changed between two runs, and by how much. */
#include "base/core/attributes.h"
#include "commands/attribution_options.h"
#include "commands/command.h"
#include "commands/page_options.h"
#include "output/reports/write_report.h"
#include "output/results/metrics.h"
#include "pipeline/read_files.h"
#include "pipeline/session.h"
#include "pipeline/subcommands.h"
#include "sections/comparison/comparison_sections.h"
#include "sections/comparison/condition.h"
#include "sections/comparison/renamed_kernels.h"
#include "sections/comparison/run_comparison.h"
#include "sections/model/plan_sections.h"

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
    ATTRIBUTION_OPTIONS(struct compare_settings),
    TOP_OPTION(struct compare_settings),
    PAGE_OPTIONS(struct compare_settings),
    READING_OPTIONS(struct compare_settings),
    {0},
};

/* Both runs while they are compared. */
struct two_runs {
    struct run_profile a;
    struct run_profile b;
    struct files_read outcome;
};

static void two_runs_clear(struct two_runs *runs)
{
    run_profile_clear(&runs->a);
    run_profile_clear(&runs->b);
}

static bool read_both(struct two_runs *runs, struct results *results, char **operands,
                      const struct compare_settings *settings, struct error *error)
{
    struct profile_reading reading = {.plan = attribution_options_of(&settings->attribution),
                                      .threads = settings->threads > 0 ? (unsigned)settings->threads
                                                                       : default_thread_count(),
                                      .shows_progress = settings->shows_progress,
                                      .results = results};
    struct files_read second = {0};

    reading.name = "A";
    if (!read_run_profile(&runs->a, &runs->outcome, operands[0], &reading, error))
        return false;
    reading.name = "B";
    if (!read_run_profile(&runs->b, &second, operands[1], &reading, error))
        return false;
    if (runs->outcome.failed_count == 0)
        runs->outcome.first_error = second.first_error;
    runs->outcome.used_count += second.used_count;
    runs->outcome.failed_count += second.failed_count;
    runs->outcome.damaged_count += second.damaged_count;
    return true;
}

#define CONDITIONS_COLUMNS(COLUMN)                                                        \
    COLUMN("condition", "condition", UNIT_TEXT, 0, BAR_NONE,                              \
           value_text(results_text(check->results, text)))                                \
    COLUMN("state", "is", UNIT_TEXT, 0, BAR_NONE, value_text(state_words[outcome.state])) \
    COLUMN("said", "because", UNIT_TEXT, 0, BAR_NONE, value_text(outcome.said))

/* The conditions of the user, and what became of them. */
struct condition_check {
    struct results *results;
    const struct run_comparison *comparison;
    const struct condition_texts *texts;
    const char *met;       /* why the first that is met is; NULL: none is */
    const char *undecided; /* likewise */
};

static const char *const state_words[] = {[CONDITION_NOT_MET] = "not met",
                                          [CONDITION_MET] = "met",
                                          [CONDITION_UNDECIDED] = "can't be told"};

static bool add_condition(struct condition_check *check, struct table *table, const char *text,
                          struct error *error)
{
    struct condition condition;
    struct condition_outcome outcome;
    struct value *cells;
    const char *why;

    if (!condition_parse(&condition, text, error) ||
        !condition_decide(&condition, check->comparison, check->results, &outcome, error))
        return false;
    cells = table_add_row(check->results, table, 0);
    FILL_ROW(cells, CONDITIONS_COLUMNS);
    why = results_format(check->results, "%s (%s)", text, outcome.said);
    if (outcome.state == CONDITION_MET && !check->met)
        check->met = why;
    if (outcome.state == CONDITION_UNDECIDED && !check->undecided)
        check->undecided = why;
    return true;
}

static bool add_conditions(struct condition_check *check, struct rank_results *rank,
                           struct error *error)
{
    struct section *section =
        section_new(check->results, "conditions", "Conditions", "What --fail-if asks for.");
    struct table *table = section_add_table(check->results, section, "conditions", "Conditions",
                                            COLUMNS_OF(CONDITIONS_COLUMNS));

    if (check->texts->count == 0)
        return true;
    for (size_t i = 0; i < check->texts->count; i++)
        if (!add_condition(check, table, check->texts->texts[i], error))
            return false;
    rank_add_section(check->results, rank, section);
    return true;
}

static bool check_conditions(const struct condition_check *check, struct error *error)
{
    if (check->met)
        return error_set(error, ERROR_CONDITION, "--fail-if is met: %s", check->met);
    if (check->undecided)
        return error_set(error, ERROR_UNDECIDED, "--fail-if can't be told: %s", check->undecided);
    return true;
}

static bool compare(char **operands, const struct compare_settings *settings, struct error *error)
{
    int64_t top = rows_of_page(&settings->page, settings->top, 1);
    struct comparison_view view = {.top = top == 0 ? UINT32_MAX : (uint32_t)top,
                                   .only_significant = settings->only_significant};
    SCOPED(results) results = {0};
    SCOPED(two_runs) runs = {0};
    SCOPED(run_comparison) comparison = {0};
    struct condition_check check = {
        .results = &results, .comparison = &comparison, .texts = &settings->fail_if};
    struct rank_results *rank;

    results_init(&results);
    if (!read_both(&runs, &results, operands, settings, error))
        return false;
    match_renamed_kernels(&runs.a, &runs.b);
    compare_runs(&comparison, &runs.a, &runs.b, &default_comparison_options);
    rank = describe_comparison(&results, &comparison, &view);
    if (!add_conditions(&check, rank, error))
        return false;
    if (!print_page(&results, &settings->page, error))
        return false;
    return check_conditions(&check, error) && check_files_read(&runs.outcome, error);
}

/* ---- a plan and a run ---- */

struct planned_comparison {
    struct planned_step plan;
    struct attribution_options attribution;
};

static bool compare_one_with_plan(struct results *results, const struct trace *trace,
                                  const void *context, struct error *error)
{
    const struct planned_comparison *comparison = context;
    struct analysis_options no_options = {.top = 10};
    SCOPED(analyzed_rank) analyzed = {0};
    const char *path;

    if (!analyze_rank(&analyzed, trace, &comparison->attribution, error))
        return false;
    path = results_text(results, trace_text(trace, trace->path));
    rank_add_section(
        results, results_add_rank(results, path, path, trace->facts.rank),
        describe_plan_against_run(results,
                                  &(struct analysis_input){.trace = trace,
                                                           .ledger = &analyzed.ledger,
                                                           .costs = &analyzed.costs,
                                                           .efficiency = &analyzed.efficiency,
                                                           .work = &analyzed.work,
                                                           .description = &analyzed.description,
                                                           .options = &no_options},
                                  &comparison->plan));
    return true;
}

static bool compare_with_plan(char **operands, const struct compare_settings *settings,
                              struct error *error)
{
    struct planned_comparison comparison = {.attribution =
                                                attribution_options_of(&settings->attribution)};
    struct file_reading reading = {.threads = settings->threads > 0 ? (unsigned)settings->threads
                                                                    : default_thread_count(),
                                   .shows_progress = settings->shows_progress,
                                   .use = compare_one_with_plan,
                                   .context = &comparison,
                                   .captures = &(struct capture_choice){.count = 0}};
    struct page_settings page = settings->page;
    SCOPED(session) session = {0};

    page.is_whole = true;
    if (settings->fail_if.count > 0 || settings->only_significant)
        return error_set(
            error, ERROR_USAGE, "%s compares two runs, and '%s' is a plan: leave it out",
            settings->fail_if.count > 0 ? "--fail-if" : "--only-significant", operands[0]);
    return read_plan(&comparison.plan, operands[0], error) &&
           session_open(&session, operands + 1, 1, error) &&
           session_for_each_rank(&session, &reading, error) &&
           print_session(&session, -1, &page, error);
}

static bool compare_run_with(struct compare_settings *settings, char **operands,
                             struct error *error)
{
    struct condition condition;

    for (size_t i = 0; i < settings->fail_if.count; i++)
        if (!condition_parse(&condition, settings->fail_if.texts[i], error))
            return false;
    return attribution_resolve(&settings->attribution, error) &&
           check_output(&settings->page,
                        &(struct output_inputs){operands, 2, {settings->attribution.rates.path}},
                        error) &&
           (is_plan_file(operands[0]) ? compare_with_plan(operands, settings, error)
                                      : compare(operands, settings, error));
}

static bool run_compare(int count, char **arguments, struct error *error)
{
    struct compare_settings settings = {
        .attribution = ATTRIBUTION_DEFAULTS, .top = -1, .shows_progress = true};
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
