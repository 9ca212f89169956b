/* What changed between two runs, or between a plan and a run: reads the traces of each, profiles
 * all ranks together, compares, and prints. */
#include "base/core/array.h"
#include "base/core/invariant.h"
#include "output/results/device_words.h"
#include "output/results/metrics.h"
#include "pipeline/input_files.h"
#include "pipeline/recorded_memory.h"
#include "pipeline/session.h"
#include "pipeline/subcommands.h"
#include "sections/comparison/comparison_sections.h"
#include "sections/comparison/condition.h"
#include "sections/comparison/profile_trace.h"
#include "sections/comparison/run_comparison.h"
#include "sections/model/plan_sections.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* The profiles of the ranks while they are read. */
struct rank_profile {
    int64_t rank; /* -1: not known */
    struct run_profile *profile;
};

struct rank_profiles {
    pthread_mutex_t lock;
    struct rank_profile *ranks; /* [count] */
    size_t count;
};

struct profiling {
    const struct attribution_options *plan;
    struct rank_profiles *profiles;
};

static void keep_profile(struct rank_profiles *profiles, int64_t rank, struct run_profile *profile)
{
    pthread_mutex_lock(&profiles->lock);
    ARRAY_ADD(profiles->ranks, profiles->count, (struct rank_profile){rank, profile});
    pthread_mutex_unlock(&profiles->lock);
}

/* What the memory events of the trace tell, where it has any; damaged files beside it are told by
 * `flopledger memory`. */
static bool find_memory(struct recorded_memory *memory, const struct trace *trace,
                        struct profile_source *source)
{
    struct error ignored = {0};

    if (trace->memory.count == 0 || !recorded_memory_read(memory, trace, &ignored) ||
        !recorded_memory_device(memory, -1, &source->memory_device, &ignored))
        return false;
    source->memory = &memory->run;
    return true;
}

/* Memory may be missing: runs are compared by what both have. */
static bool profile_one(struct results *results, const struct trace *trace, const void *context,
                        struct error *error)
{
    const struct profiling *profiling = context;
    struct run_profile *profile;
    SCOPED(analyzed_rank) analyzed = {0};
    SCOPED(recorded_memory) memory = {0};
    struct profile_source source = {.trace = trace};

    (void)results;
    if (!analyze_rank(&analyzed, trace, profiling->plan, error))
        return false;
    source.ledger = &analyzed.ledger;
    source.costs = &analyzed.costs;
    source.efficiency = &analyzed.efficiency;
    source.description = &analyzed.description;
    (void)find_memory(&memory, trace, &source);
    profile = require_memory(calloc(1, sizeof *profile));
    profile_trace(profile, &source);
    keep_profile(profiling->profiles, trace->facts.rank, profile);
    return true;
}

static int compare_ranks_read(const void *a, const void *b)
{
    const struct rank_profile *left = a;
    const struct rank_profile *right = b;

    if (left->rank != right->rank) /* -1, not known, behind all others */
        return (uint64_t)left->rank < (uint64_t)right->rank ? -1 : 1;
    return strcmp(left->profile->file, right->profile->file);
}

/* Ranks come as threads finish. Sums of real numbers depend on their order, so they are sorted
 * before they are joined: the same runs give the same bytes each time. */
static void join_ranks(struct run_profile *run, struct rank_profiles *profiles)
{
    struct run_profile **ranks =
        require_memory(calloc(profiles->count + 1, sizeof(struct run_profile *)));

    qsort(profiles->ranks, profiles->count, sizeof *profiles->ranks, compare_ranks_read);
    for (size_t i = 0; i < profiles->count; i++)
        ranks[i] = profiles->ranks[i].profile;
    profile_of_ranks(run, ranks, profiles->count);
    free(ranks);
}

static void rank_profiles_clear(struct rank_profiles *profiles)
{
    for (size_t i = 0; i < profiles->count; i++) {
        run_profile_clear(profiles->ranks[i].profile);
        free(profiles->ranks[i].profile);
    }
    free(profiles->ranks);
    pthread_mutex_destroy(&profiles->lock);
}

struct profile_reading {
    struct attribution_options plan;
    unsigned threads;
    bool shows_progress;
    const char *name;        /* "A": of the run, in what is said of its files */
    struct results *results; /* files of a folder that cannot be used become its problems */
};

/* Sets `profile`, zeroed, to what the file or folder `operand` holds. */
static bool read_run_profile(struct run_profile *profile, struct files_read *outcome, char *operand,
                             const struct profile_reading *reading, struct error *error)
{
    SCOPED(rank_profiles) profiles = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct profiling profiling = {.plan = &reading->plan, .profiles = &profiles};
    struct file_reading files_reading = {.threads = reading->threads,
                                         .shows_progress = reading->shows_progress,
                                         .keeps_memory = true,
                                         .use = profile_one,
                                         .captures = &(struct capture_choice){.count = 0},
                                         .context = &profiling};
    SCOPED(input_files) files = {0};

    if (!find_input_files(&files, &operand, 1, error))
        return false;
    read_files(outcome, reading->results, &files, &files_reading);
    if (outcome->used_count == 0) {
        *error = outcome->first_error;
        return false;
    }
    note_passed_over(reading->results, &files, reading->name);
    join_ranks(profile, &profiles);
    return true;
}

/* Before anything is read: a typing error in a condition must not cost two readings. */
bool check_conditions(const struct comparison_report *wanted, struct error *error)
{
    struct condition condition;

    for (size_t i = 0; i < wanted->condition_count; i++)
        if (!condition_parse(&condition, wanted->conditions[i], error))
            return false;
    return true;
}

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

/* What failed in either run counts in the exit; the message is that of the first that failed. */
static bool read_both(struct two_runs *runs, struct results *results, char **operands,
                      const struct comparison_report *wanted, struct error *error)
{
    struct profile_reading reading = {.plan = wanted->attribution,
                                      .threads = wanted->threads > 0 ? (unsigned)wanted->threads
                                                                     : default_thread_count(),
                                      .shows_progress = wanted->shows_progress,
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
    const struct comparison_report *wanted;
    const char *met;       /* why the first that is met is; NULL: none is */
    const char *undecided; /* likewise */
};

static const char *const state_words[] = {[CONDITION_NOT_MET] = "not met",
                                          [CONDITION_MET] = "met",
                                          [CONDITION_UNDECIDED] = "can't be told"};

/* The table has all conditions; the exit tells of one, the first of each state. */
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

/* All conditions are decided even where the first is met: the table shows what else is wrong.
 * An error (a name that is in no run) ends it, as then the gate itself is broken. */
static bool add_conditions(struct condition_check *check, struct rank_results *rank,
                           struct error *error)
{
    struct section *section =
        section_new(check->results, "conditions", "Conditions", "What --fail-if asks for.");
    struct table *table = section_add_table(check->results, section, "conditions", "Conditions",
                                            COLUMNS_OF(CONDITIONS_COLUMNS));

    if (check->wanted->condition_count == 0)
        return true;
    for (size_t i = 0; i < check->wanted->condition_count; i++)
        if (!add_condition(check, table, check->wanted->conditions[i], error))
            return false;
    rank_add_section(check->results, rank, section);
    return true;
}

/* Met goes before undecided: that one holds is certain, whatever the others are. */
static bool end_by_conditions(const struct condition_check *check, struct error *error)
{
    if (check->met)
        return error_set(error, ERROR_CONDITION, "--fail-if is met: %s", check->met);
    if (check->undecided)
        return error_set(error, ERROR_UNDECIDED, "--fail-if can't be told: %s", check->undecided);
    return true;
}

/* Kernels that were renamed are matched first, so that they are a change and not one that went
 * and one that came. The page is printed before the conditions end the program: whoever reads
 * the failure needs the numbers. */
bool compare_two_runs(char **operands, const struct comparison_report *wanted, struct error *error)
{
    int64_t top = rows_of_page(&wanted->page, wanted->top, 1);
    struct comparison_view view = {.top = top == 0 ? UINT32_MAX : (uint32_t)top,
                                   .only_significant = wanted->only_significant};
    SCOPED(results) results = {0};
    SCOPED(two_runs) runs = {0};
    SCOPED(run_comparison) comparison = {0};
    struct condition_check check = {
        .results = &results, .comparison = &comparison, .wanted = wanted};
    struct rank_results *rank;

    results_init(&results);
    if (!read_both(&runs, &results, operands, wanted, error))
        return false;
    match_renamed_kernels(&runs.a, &runs.b);
    compare_runs(&comparison, &runs.a, &runs.b, &default_comparison_options);
    rank = describe_comparison(&results, &comparison, &view);
    if (!add_conditions(&check, rank, error))
        return false;
    if (!print_page(&results, &wanted->page, error))
        return false;
    /* A condition goes before damage: it is what was asked for. */
    return end_by_conditions(&check, error) && check_files_read(&runs.outcome, error);
}

/* ---- a plan and a run ---- */

struct planned_comparison {
    struct planned_step plan;
    struct attribution_options attribution;
};

/* The plan is of one device, so that each rank is held against it by itself. */
static bool compare_one_with_plan(struct results *results, const struct trace *trace,
                                  const void *context, struct error *error)
{
    const struct planned_comparison *comparison = context;
    struct analysis_options no_options = {.top = 10};
    SCOPED(analyzed_rank) analyzed = {0};
    struct analysis_input input;
    const char *path;
    const char *label;

    if (!analyze_rank(&analyzed, trace, &comparison->attribution, error))
        return false;
    input = (struct analysis_input){.trace = trace,
                                    .ledger = &analyzed.ledger,
                                    .costs = &analyzed.costs,
                                    .efficiency = &analyzed.efficiency,
                                    .work = &analyzed.work,
                                    .description = &analyzed.description,
                                    .options = &no_options};
    if (!plan_fits_run(&comparison->plan, &input, error))
        return false;
    path = results_text(results, trace_text(trace, trace->path));
    label = trace->facts.rank >= 0
                ? results_format(results, "rank %lld", (long long)trace->facts.rank)
                : path;
    describe_plan_against_run(results,
                              results_add_rank(results, label, path, trace->facts.rank,
                                               device_speakers(trace, &analyzed.efficiency.peaks)),
                              &input, &comparison->plan);
    return true;
}

/* A plan has no steps and therefore no noise: nothing of it can be called significant, and no
 * condition be decided. */
bool compare_with_plan(char **operands, const struct comparison_report *wanted, struct error *error)
{
    struct planned_comparison comparison = {.attribution = wanted->attribution};
    struct file_reading reading = {.threads = wanted->threads > 0 ? (unsigned)wanted->threads
                                                                  : default_thread_count(),
                                   .shows_progress = wanted->shows_progress,
                                   .use = compare_one_with_plan,
                                   .context = &comparison,
                                   .captures = &(struct capture_choice){.count = 0}};
    struct page_settings page = wanted->page;
    SCOPED(session) session = {0};

    page.is_whole = true;
    if (wanted->condition_count > 0 || wanted->only_significant)
        return error_set(
            error, ERROR_USAGE, "%s compares two runs, and '%s' is a plan: leave it out",
            wanted->condition_count > 0 ? "--fail-if" : "--only-significant", operands[0]);
    if (!read_plan(&comparison.plan, operands[0], error) ||
        !session_open(&session, operands + 1, 1, error) ||
        !session_for_each_rank(&session, &reading, error))
        return false;
    find_plan_straggler(&session.results);
    return print_session(&session, wanted->rank, &page, error);
}
