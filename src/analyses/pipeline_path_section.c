/* The critical path of a job of pipelines, in a section. */
#include "analyses/pipeline_sections.h"
#include "analyses/tally.h"
#include "base/apportion.h"
#include "critical_path/pipeline_path.h"

#include <stdlib.h>
#include <string.h>

struct ranked_path {
    const struct pipeline_path_row *row;
    const char *name;
    size_t place;
};

static int longest_first(const void *left, const void *right)
{
    const struct ranked_path *a = left, *b = right;

    if (a->row->path_ns != b->row->path_ns)
        return a->row->path_ns > b->row->path_ns ? -1 : 1;
    if (a->row->least_ns != b->row->least_ns)
        return a->row->least_ns < b->row->least_ns ? -1 : 1;
    return (a->place > b->place) - (a->place < b->place);
}

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

static void add_table(struct results *results, struct section *section,
                      const struct path_table *what, uint32_t top)
{
    const struct column columns[] = {
        {"what", what->of_what, UNIT_TEXT, 0, BAR_NONE},
        {"mean", "mean per step", UNIT_TIME_NS, 0, BAR_NONE},
        {"share", "of the path", UNIT_FRACTION, 0, BAR},
        {"critical_share", "of its own time", UNIT_FRACTION, 1, BAR_NONE},
        {"least_slack", "least slack", UNIT_TIME_NS, 0, BAR_NONE},
        {"median_slack", "median slack", UNIT_TIME_NS, 0, BAR_NONE},
    };
    struct table *table = section_add_table(results, section, what->key, what->title, columns,
                                            sizeof columns / sizeof *columns);

    qsort(what->rows, what->count, sizeof *what->rows, longest_first);
    table->rows_in_all = what->count;
    for (size_t i = 0; i < what->count && i < top; i++) {
        const struct pipeline_path_row *row = what->rows[i].row;
        struct value *cells = table_add_row(results, table, 0);

        cells[0] = value_text(what->rows[i].name);
        cells[1] = value_time_ns(rounded_mean(row->path_ns, what->step_count));
        cells[2] = value_fraction(fraction_of(row->path_ns, what->length_ns));
        cells[3] = value_fraction(fraction_of(row->path_ns, row->total_ns));
        cells[4] = value_time_ns(row->least_ns);
        cells[5] = value_time_ns(row->median_ns);
    }
}

static void add_kinds(struct results *results, struct section *section,
                      const struct pipeline_path *path, const struct pipeline_job *job)
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
    add_table(results, section, &table, UINT32_MAX);
}

static void add_workers(struct results *results, struct section *section,
                        const struct pipeline_path *path, const struct pipeline_job *job,
                        uint32_t top)
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
    add_table(results, section, &table, top);
    free(rows);
}

struct section *describe_pipeline_path(struct results *results, struct pipeline_study *study,
                                       const struct pipeline_costs *costs, uint32_t top)
{
    SCOPED(pipeline_path) path = {.length_ns = 0};
    struct section *section;

    if (pipeline_is_refused(costs))
        return NULL;
    find_pipeline_path(&path, study);
    section = section_new(
        results, "pipeline_path", "Critical path",
        "The one chain of operations of each step that decides when it ends, in the replay as "
        "recorded. Slack: how much longer one operation could take and its step would not.");
    section_add_number(
        results, section,
        (struct number){
            "path", "longest chain of a step, mean",
            value_time_ns(rounded_mean(path.length_ns, (int64_t)study->job->step_count)), NULL});
    add_kinds(results, section, &path, study->job);
    add_workers(results, section, &path, study->job, top);
    return section;
}
