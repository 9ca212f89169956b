/* What stragglers cost a job of pipelines, and its critical path, in sections. */
#include "sections/pipeline_parallel/pipeline_sections.h"

#include "base/core/apportion.h"
#include "base/text/format.h"
#include "critical_path/pipeline_path.h"
#include "sections/tally.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct ranked_path {
    const struct pipeline_path_row *row;
    const char *name;
    size_t place;
};

/* Time on the path decides; of rows with as much, as of many that are never on it, the one
 * with the least slack is nearest to being on it. The place makes it a total order: qsort may
 * swap equals, and the report of a job must not depend on the C library. */
static int pipeline_path_section_longest_first(const void *left, const void *right)
{
    const struct ranked_path *a = left, *b = right;

    if (a->row->path_ns != b->row->path_ns)
        return a->row->path_ns > b->row->path_ns ? -1 : 1;
    if (a->row->least_ns != b->row->least_ns)
        return a->row->least_ns < b->row->least_ns ? -1 : 1;
    return (a->place > b->place) - (a->place < b->place);
}

#define PATH_COLUMNS(COLUMN)                                                                      \
    COLUMN("what", what->of_what, UNIT_TEXT, 0, BAR_NONE, value_text(what->rows[i].name))         \
    COLUMN("mean", "mean per step", UNIT_TIME_NS, 0, BAR_NONE,                                    \
           value_time_ns(rounded_mean(row->path_ns, what->step_count)))                           \
    COLUMN("share", "of the path", UNIT_FRACTION, 0, BAR,                                         \
           value_fraction(fraction_of(row->path_ns, what->length_ns)))                            \
    COLUMN("critical_share", "of its own time", UNIT_FRACTION, 1, BAR_NONE,                       \
           value_fraction(fraction_of(row->path_ns, row->total_ns)))                              \
    COLUMN("least_slack", "least slack", UNIT_TIME_NS, 0, BAR_NONE, value_time_ns(row->least_ns)) \
    COLUMN("median_slack", "median slack", UNIT_TIME_NS, 0, BAR_NONE, value_time_ns(row->median_ns))

/* A table of rows by their time on the path. */
struct path_table {
    const char *key;
    const char *title;
    const char *of_what;
    struct ranked_path *rows; /* [count]; sorted when they are printed */
    size_t count;
    int64_t length_ns;
    int64_t step_count;
};

/* Sorted in place: a table is printed once, and the order of the rows before has no meaning. */
static void pipeline_path_section_add_table(struct results *results, struct section *section,
                                            const struct path_table *what, uint32_t top)
{
    struct table *table =
        section_add_table(results, section, what->key, what->title, COLUMNS_OF(PATH_COLUMNS));

    qsort(what->rows, what->count, sizeof *what->rows, pipeline_path_section_longest_first);
    table->rows_in_all = what->count;
    for (size_t i = 0; i < what->count && i < top; i++) {
        const struct pipeline_path_row *row = what->rows[i].row;

        FILL_ROW(table_add_row(results, table, 0), PATH_COLUMNS);
    }
}

/* Kinds are at most PIPELINE_KIND_COUNT, so that all are shown; workers may be thousands, and
 * are cut at --top. */
static void pipeline_path_section_add_kinds(struct results *results, struct section *section,
                                            const struct pipeline_path *path,
                                            const struct pipeline_job *job)
{
    struct ranked_path rows[PIPELINE_KIND_COUNT];
    struct path_table table = {.key = "kinds",
                               .title = "What the path is made of",
                               .of_what = "operation",
                               .rows = rows,
                               .length_ns = path->length_ns,
                               .step_count = (int64_t)job->step_count};

    for (size_t kind = 0; kind < PIPELINE_KIND_COUNT; kind++)
        if (path->kinds[kind].count > 0)
            rows[table.count++] = (struct ranked_path){
                &path->kinds[kind], pipeline_kind_name((enum pipeline_kind)kind), kind};
    pipeline_path_section_add_table(results, section, &table, UINT32_MAX);
}

/* Workers that the path never meets have slack in all steps, and no row. */
static void pipeline_path_section_add_workers(struct results *results, struct section *section,
                                              const struct pipeline_path *path,
                                              const struct pipeline_job *job, uint32_t top)
{
    size_t count = (size_t)job->data_rank_count * job->stage_count;
    struct ranked_path *rows = zeroed_array(count, sizeof *rows);
    struct path_table table = {.key = "workers",
                               .title = "Whom it runs through",
                               .of_what = "worker",
                               .rows = rows,
                               .length_ns = path->length_ns,
                               .step_count = (int64_t)job->step_count};

    for (size_t i = 0; i < count; i++)
        if (path->workers[i].count > 0)
            rows[table.count++] =
                (struct ranked_path){&path->workers[i],
                                     results_format(results, "data rank %zu, stage %zu",
                                                    i / job->stage_count, i % job->stage_count),
                                     i};
    pipeline_path_section_add_table(results, section, &table, top);
    free(rows);
}

/* (recorded - replayed) / replayed: what the graph does not explain. Signed, and of the replay's
 * step: above 0 the recording took longer, by delays that no dependency explains; below 0 it was
 * faster than its own dependencies allow, which clocks that are apart may feign. */
static double pipeline_replay_error(const struct pipeline_costs *costs)
{
    return (costs->recorded.mean_ns - costs->replayed.mean_ns) / costs->replayed.mean_ns;
}

/* The graph leaves more than that of the recorded time unexplained. */
static bool pipeline_is_refused(const struct pipeline_costs *costs)
{
    return fabs(pipeline_replay_error(costs)) > REPLAY_ERROR_MAX;
}

/* A path is of the replay, not of the recording. Where the two differ by more than the bound,
 * the chain found would be that of another job: nothing is said then, as of stragglers. */
struct section *describe_pipeline_path(struct results *results, struct pipeline_replay *simulation,
                                       const struct pipeline_costs *costs, uint32_t top)
{
    SCOPED(pipeline_path) path = {.length_ns = 0};
    struct section *section;

    if (pipeline_is_refused(costs))
        return NULL;
    find_pipeline_path(&path, simulation);
    section = section_new(
        results, "pipeline_path", "Critical path",
        "The one chain of operations of each step that decides when it ends, in the replay as "
        "recorded. Slack: how much longer one operation could take and its step would not.");
    section_add_value(
        results, section, "path", "longest chain of a step, mean",
        value_time_ns(rounded_mean(path.length_ns, (int64_t)simulation->job->step_count)));
    pipeline_path_section_add_kinds(results, section, &path, simulation->job);
    pipeline_path_section_add_workers(results, section, &path, simulation->job, top);
    return section;
}

static const struct op_choice everything = {.data_rank = -1, .stage = -1};

/* Three runs of one simulation, which holds the result of the last one only: each bubble has to
 * be read before the next run. */
void find_pipeline_costs(struct pipeline_costs *costs, struct pipeline_replay *simulation)
{
    recorded_step_times(simulation, &costs->recorded);
    replayed_step_times(simulation, &everything, simulation->usual_ns, simulation->usual_ns,
                        &costs->usual);
    costs->usual_bubble = replayed_bubble(simulation);
    replayed_step_times(simulation, &everything, simulation->recorded_ns, simulation->recorded_ns,
                        &costs->replayed);
    costs->bubble = replayed_bubble(simulation);
}

void pipeline_costs_clear(struct pipeline_costs *costs)
{
    step_times_clear(&costs->recorded);
    step_times_clear(&costs->replayed);
    step_times_clear(&costs->usual);
}

/* Replay against replay, not recording against replay: what the model leaves out, it leaves
 * out of both, so that most of its error cancels. */
static double slowdown_of(const struct pipeline_costs *costs)
{
    return costs->replayed.mean_ns / costs->usual.mean_ns;
}

static int64_t pipeline_whole_ns(double ns)
{
    return llround(ns);
}

/* ---- the whole ---- */

/* A replay that misses the recording says nothing of what stragglers cost, and the headline
 * says that it does not. */
const char *pipeline_headline(struct results *results, const struct pipeline_replay *simulation,
                              const struct pipeline_costs *costs)
{
    const struct pipeline_job *job = simulation->job;
    const char *job_text =
        results_format(results, "%u x %u workers (data x stages), %zu steps of %s on average",
                       job->data_rank_count, job->stage_count, job->step_count,
                       format_short_time(pipeline_whole_ns(costs->recorded.mean_ns)).text);

    if (pipeline_is_refused(costs))
        return results_format(results,
                              "%s; what stragglers cost is not known: the replay misses the "
                              "recorded steps by %s",
                              job_text, format_fraction(pipeline_replay_error(costs)).text);
    return results_format(results,
                          "%s; were all operations of a kind equally long, a step would take %s: "
                          "stragglers make the job %.3f times as slow",
                          job_text, format_short_time(pipeline_whole_ns(costs->usual.mean_ns)).text,
                          slowdown_of(costs));
}

/* Micro-batches of a worker in a step; 0 where workers differ. */
static int64_t micro_batches(const struct pipeline_job *job)
{
    size_t workers = job->step_count * job->data_rank_count * job->stage_count * job->chunk_count;
    size_t forwards = 0;

    for (size_t i = 0; i < job->op_count; i++)
        forwards += job->ops[i].kind == PIPELINE_FORWARD_COMPUTE;
    return workers > 0 && forwards % workers == 0 ? (int64_t)(forwards / workers) : 0;
}

/* (p - 1) / (m v + p - 1): what a schedule without gaps leaves to wait at both ends. */
static struct value ideal_bubble(const struct pipeline_job *job)
{
    int64_t batches = micro_batches(job);
    double depth = (double)job->stage_count - 1;

    if (batches == 0)
        return value_not_known("needs as many micro-batches on each worker");
    return value_fraction(depth / ((double)batches * job->chunk_count + depth));
}

/* The number of micro-batches is a fact of the job only where all workers have the same; a
 * mean of them would be the shape of no schedule. */
static void add_shape(struct results *results, struct section *section,
                      const struct pipeline_job *job)
{
    int64_t batches = micro_batches(job);

    section_add_value(results, section, "data_ranks", "data-parallel ranks",
                      value_count(job->data_rank_count));
    section_add_value(results, section, "stages", "pipeline stages", value_count(job->stage_count));
    section_add_value(results, section, "chunks", "chunks of the model on a stage",
                      value_count(job->chunk_count));
    section_add_value(results, section, "micro_batches", "micro-batches of a worker in a step",
                      batches ? value_count(batches) : value_not_known("workers differ"));
    section_add_value(results, section, "steps", "steps", value_count((int64_t)job->step_count));
}

/* Usual times are means of a kind; of communication the median, since a recorded transfer may
 * have waiting in it, which has a long tail. */
static void pipeline_add_times(struct results *results, struct section *section,
                               const struct pipeline_replay *simulation,
                               const struct pipeline_costs *costs)
{
    static const char refused[] = "the replay misses the recorded steps by more than 2 %";
    /* The error is told in any case; what was made of a replay that misses so far is not. */
    bool is_known = !pipeline_is_refused(costs);

    section_add_value(results, section, "step_time", "step time, mean",
                      value_time_ns(pipeline_whole_ns(costs->recorded.mean_ns)));
    section_add_value(results, section, "replayed_step_time", "replayed without delays",
                      value_time_ns(pipeline_whole_ns(costs->replayed.mean_ns)));
    section_add_number(results, section,
                       (struct number){"replay_error", "which differs by",
                                       value_fraction(pipeline_replay_error(costs)),
                                       "time that no dependency explains"});
    section_add_number(results, section,
                       (struct number){"usual_step_time", "with usual times for all",
                                       is_known
                                           ? value_time_ns(pipeline_whole_ns(costs->usual.mean_ns))
                                           : value_not_known(refused),
                                       "mean of a kind; of communication the median"});
    section_add_number(
        results, section,
        (struct number){"slowdown", "stragglers make a step longer by",
                        is_known ? value_number(slowdown_of(costs)) : value_not_known(refused),
                        "times as long"});
    section_add_number(results, section,
                       (struct number){"bubble", "bubble of the pipeline",
                                       value_fraction(costs->bubble),
                                       "of the time from first to last compute"});
    section_add_value(results, section, "usual_bubble", "bubble with usual times",
                      value_fraction(costs->usual_bubble));
    section_add_number(results, section,
                       (struct number){"ideal_bubble", "bubble of the schedule",
                                       ideal_bubble(simulation->job),
                                       "(stages - 1) / (micro-batches x chunks + stages - 1)"});
}

/* Each of these changes what is counted; a timeline that lacks a rank's operations is the most
 * common. */
static void add_left_out(struct results *results, struct section *section,
                         const struct pipeline_job *job)
{
    if (job->unknown_count > 0)
        section_add_warning(results, section,
                            results_format(results,
                                           "%zu events are no operations known here and are "
                                           "left out, '%s' among them",
                                           job->unknown_count, job->unknown_name),
                            NULL, NULL);
    if (job->gap_count > 0)
        section_add_warning(
            results, section,
            results_format(results,
                           "operations of some ranks are missing in %zu step%s (step %lld: data "
                           "rank %u)%s",
                           job->gap_count, job->gap_count == 1 ? "" : "s", (long long)job->gap_step,
                           job->gap_rank,
                           job->are_gaps_dropped
                               ? job->gap_count == 1 ? ": it is left out" : ": they are left out"
                               : ", in all there are: none is left out"),
            NULL, "collect the timeline of that rank once more");
    /* Notes from here on: both are usual, and neither makes a step's time wrong. */
    if (job->negative_count > 0)
        section_add_note(results, section,
                         results_format(results,
                                        "%zu operations end before the last of their "
                                        "ranks had come: they count as of no time "
                                        "(clocks of ranks differ)",
                                        job->negative_count),
                         NULL, NULL);
    if (job->other_tensor_ranks > 0)
        section_add_note(results, section,
                         results_format(results,
                                        "of each tensor-parallel group its first rank "
                                        "is looked at: %zu events of others are left "
                                        "out",
                                        job->other_tensor_ranks),
                         NULL, NULL);
}

struct section *describe_pipeline(struct results *results, const struct pipeline_replay *simulation,
                                  const struct pipeline_costs *costs)
{
    struct section *section =
        section_new(results, "pipeline", "Pipeline",
                    "The steps replayed by what waits for what, as recorded and with usual times.");

    add_shape(results, section, simulation->job);
    pipeline_add_times(results, section, simulation, costs);
    add_left_out(results, section, simulation->job);
    return section;
}

/* ---- who they are ---- */

/* A row of a table: which operations, and what they cost. */
struct straggler {
    struct op_choice choice;
    const char *name;
    double alone;   /* slowdown of a job where only these are as recorded */
    double without; /* of one where only these take usual times: its mean step */
};

/* Two questions, and none follows from the other. Alone: all are usual but these, so what they
 * cost where nobody else is late. Without: all as recorded but these, so what repairing them
 * brings. Of two stragglers that hide behind each other, each costs much alone, and repairing
 * one of them brings nothing. */
static void estimate(struct straggler *straggler, struct pipeline_replay *simulation,
                     const struct pipeline_costs *costs)
{
    struct step_times alone = {0};
    struct step_times without = {0};

    replayed_step_times(simulation, &straggler->choice, simulation->recorded_ns,
                        simulation->usual_ns, &alone);
    replayed_step_times(simulation, &straggler->choice, simulation->usual_ns,
                        simulation->recorded_ns, &without);
    straggler->alone = alone.mean_ns / costs->usual.mean_ns;
    straggler->without = without.mean_ns;
    step_times_clear(&alone);
    step_times_clear(&without);
}

/* By what they cost alone: this ranks them even where others hide them. */
static int compare_stragglers(const void *one, const void *other)
{
    const struct straggler *a = one;
    const struct straggler *b = other;

    return (a->alone < b->alone) - (a->alone > b->alone);
}

#define STRAGGLER_COLUMNS(COLUMN)                                                         \
    COLUMN("what", stragglers->of_what, UNIT_TEXT, 0, BAR_NONE, value_text(row->name))    \
    COLUMN("alone", "alone: times as long", UNIT_NUMBER, PRIORITY_FOR_PROGRAMS, BAR_NONE, \
           value_number(row->alone))                                                      \
    COLUMN("alone_longer", "alone: longer by", UNIT_FRACTION, 0, BAR,                     \
           value_fraction(row->alone - 1))                                                \
    COLUMN("without", "without: step", UNIT_TIME_NS, 0, BAR_NONE,                         \
           value_time_ns(pipeline_whole_ns(row->without)))                                \
    COLUMN("gain", "which saves", UNIT_FRACTION, 1, BAR_NONE,                             \
           value_fraction(1 - row->without / costs->replayed.mean_ns))

/* The rows of a table. */
struct stragglers {
    const char *key;
    const char *title;
    const char *of_what;
    struct straggler *rows; /* [count]; sorted when they are printed */
    size_t count;
};

static void pipeline_add_table(struct results *results, struct section *section,
                               struct stragglers *stragglers, const struct pipeline_costs *costs,
                               uint32_t top)
{
    struct table *table = section_add_table(results, section, stragglers->key, stragglers->title,
                                            COLUMNS_OF(STRAGGLER_COLUMNS));

    if (stragglers->count > 0)
        qsort(stragglers->rows, stragglers->count, sizeof *stragglers->rows, compare_stragglers);
    table->rows_in_all = stragglers->count;
    for (size_t i = 0; i < stragglers->count && i < top; i++) {
        const struct straggler *row = &stragglers->rows[i];

        FILL_ROW(table_add_row(results, table, 0), STRAGGLER_COLUMNS);
    }
}

static struct straggler *new_stragglers(struct results *results, size_t count)
{
    return results_allocate(results, (count + 1) * sizeof(struct straggler));
}

/* Each rank is made usual in a replay with the others as recorded: what a straggler costs is
 * what the job would gain without it, not how slow it is. */
static void add_data_ranks(struct results *results, struct section *section,
                           struct pipeline_replay *simulation, const struct pipeline_costs *costs,
                           uint32_t top)
{
    struct stragglers what = {
        .key = "data_ranks", .title = "By data-parallel rank", .of_what = "rank"};
    uint32_t count = simulation->job->data_rank_count;
    struct straggler *rows = new_stragglers(results, count);

    for (uint32_t i = 0; i < count; i++) {
        rows[i] = (struct straggler){.choice = {.data_rank = i, .stage = -1},
                                     .name = results_format(results, "data rank %u", i)};
        estimate(&rows[i], simulation, costs);
    }
    what.rows = rows;
    what.count = count;
    pipeline_add_table(results, section, &what, costs, top);
}

/* A stage is replaced on all data ranks at once (-1 stands for all of them), since they run
 * the same layers: a slow stage is most often an uneven cut of the model. */
static void add_stages(struct results *results, struct section *section,
                       struct pipeline_replay *simulation, const struct pipeline_costs *costs,
                       uint32_t top)
{
    struct stragglers what = {.key = "stages", .title = "By pipeline stage", .of_what = "stage"};
    uint32_t count = simulation->job->stage_count;
    struct straggler *rows = new_stragglers(results, count);

    for (uint32_t i = 0; i < count; i++) {
        rows[i] = (struct straggler){.choice = {.data_rank = -1, .stage = i},
                                     .name = results_format(results, "stage %u", i)};
        estimate(&rows[i], simulation, costs);
    }
    what.rows = rows;
    what.count = count;
    pipeline_add_table(results, section, &what, costs, top);
}

/* A kind that no operation is of would give a row of two replays without a change. */
static bool pipeline_has_kind(const struct pipeline_job *job, const char *label)
{
    for (size_t i = 0; i < job->op_count; i++)
        if (strcmp(pipeline_kind_label((enum pipeline_kind)job->ops[i].kind), label) == 0)
            return true;
    return false;
}

/* Kinds that share their words are one row. The loop compares with the row before only, because
 * kinds with the same words stand next to each other in the list of kinds. */
static void pipeline_add_kinds(struct results *results, struct section *section,
                               struct pipeline_replay *simulation,
                               const struct pipeline_costs *costs)
{
    struct stragglers what = {
        .key = "kinds", .title = "By kind of operation", .of_what = "operation"};
    struct straggler *rows = new_stragglers(results, PIPELINE_KIND_COUNT);
    size_t count = 0;

    for (int kind = 0; kind < PIPELINE_KIND_COUNT; kind++) {
        const char *label = pipeline_kind_label((enum pipeline_kind)kind);

        if ((count > 0 && strcmp(rows[count - 1].name, label) == 0) ||
            !pipeline_has_kind(simulation->job, label))
            continue;
        rows[count] = (struct straggler){.choice = {.data_rank = -1, .stage = -1, .label = label},
                                         .name = label};
        estimate(&rows[count++], simulation, costs);
    }
    what.rows = rows;
    what.count = count;
    pipeline_add_table(results, section, &what, costs, UINT32_MAX);
}

enum { WORKERS_MAX = 256 }; /* each is two replays */

/* There are as many workers as data ranks times stages, and each is replayed twice over all steps:
 * of a job of more than WORKERS_MAX the tables of stages and of data ranks have to do, which are
 * of the sum of both numbers only and between them point at the worker. */
static void pipeline_add_workers(struct results *results, struct section *section,
                                 struct pipeline_replay *simulation,
                                 const struct pipeline_costs *costs, uint32_t top)
{
    struct stragglers what = {.key = "workers", .title = "By worker", .of_what = "worker"};
    size_t count = (size_t)simulation->job->data_rank_count * simulation->job->stage_count;
    struct straggler *rows;

    if (count > WORKERS_MAX)
        return;
    rows = new_stragglers(results, count);
    for (size_t i = 0; i < count; i++) {
        uint32_t rank = (uint32_t)(i / simulation->job->stage_count);
        uint32_t stage = (uint32_t)(i % simulation->job->stage_count);

        rows[i] = (struct straggler){
            .choice = {.data_rank = rank, .stage = stage},
            .name = results_format(results, "data rank %u, stage %u", rank, stage)};
        estimate(&rows[i], simulation, costs);
    }
    what.rows = rows;
    what.count = count;
    pipeline_add_table(results, section, &what, costs, top);
}

#define STEPS_COLUMNS(COLUMN)                                                               \
    COLUMN("step", "step", UNIT_COUNT, 0, BAR_NONE, value_count(simulation->job->steps[i])) \
    COLUMN("recorded", "recorded", UNIT_TIME_NS, 0, BAR_NONE,                               \
           value_time_ns(costs->recorded.steps_ns[i]))                                      \
    COLUMN("replayed", "replayed", UNIT_TIME_NS, 1, BAR_NONE,                               \
           value_time_ns(costs->replayed.steps_ns[i]))                                      \
    COLUMN("usual", "with usual times", UNIT_TIME_NS, 0, BAR_NONE,                          \
           value_time_ns(costs->usual.steps_ns[i]))                                         \
    COLUMN("slowdown", "times as long", UNIT_NUMBER, 0, BAR_NONE,                           \
           value_number((double)costs->replayed.steps_ns[i] / (double)costs->usual.steps_ns[i]))

static void pipeline_add_steps(struct results *results, struct section *section,
                               const struct pipeline_replay *simulation,
                               const struct pipeline_costs *costs, uint32_t top)
{
    struct table *table =
        section_add_table(results, section, "steps", "Steps", COLUMNS_OF(STEPS_COLUMNS));

    table->rows_in_all = simulation->job->step_count;
    for (size_t i = 0; i < simulation->job->step_count && i < top; i++)
        FILL_ROW(table_add_row(results, table, 0), STEPS_COLUMNS);
}

/* Refused together with the headline: see pipeline_is_refused. */
struct section *describe_stragglers(struct results *results, struct pipeline_replay *simulation,
                                    const struct pipeline_costs *costs, uint32_t top)
{
    struct section *section;

    if (pipeline_is_refused(costs))
        return NULL;
    section =
        section_new(results, "stragglers", "Stragglers",
                    "alone: how much longer a step is when only these operations take the time "
                    "they took, and all others their usual time. without: the step when only "
                    "these take their usual time.");
    pipeline_add_kinds(results, section, simulation, costs);
    add_stages(results, section, simulation, costs, top);
    add_data_ranks(results, section, simulation, costs, top);
    pipeline_add_workers(results, section, simulation, costs, top);
    pipeline_add_steps(results, section, simulation, costs, top);
    return section;
}
