/* The critical path of a job of pipelines, in a section. */
#include "base/core/apportion.h"
#include "critical_path/pipeline_path.h"
#include "sections/pipeline_parallel/pipeline_sections.h"
#include "sections/tally.h"

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
    section_add_number(results, section,
                       (struct number){"path", "longest chain of a step, mean",
                                       value_time_ns(rounded_mean(
                                           path.length_ns, (int64_t)simulation->job->step_count)),
                                       NULL});
    pipeline_path_section_add_kinds(results, section, &path, simulation->job);
    pipeline_path_section_add_workers(results, section, &path, simulation->job, top);
    return section;
}
