/* The tables of the section on the critical path. */
#include "analyses/critical_path_tables.h"

#include "analyses/chosen_events.h"
#include "analyses/tally.h"
#include "base/apportion.h"
#include "critical_path/path_slack.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* "stream 7", "thread 1234" */
static const char *track_text(struct results *results, const struct trace *trace, uint32_t index)
{
    const struct track *track;

    if (index == NO_EVENT)
        return "";
    track = &trace->tracks[index];
    if (track->is_device && track->stream >= 0)
        return results_format(results, "stream %" PRId64, track->stream);
    return results_format(results, "%s %s", track->is_device ? "stream" : "thread",
                          trace_text(trace, track->thread));
}

static size_t rank_kinds(const struct path_view *view, enum path_kind kinds[PATH_KIND_COUNT])
{
    size_t count = 0;

    for (int kind = 0; kind < PATH_KIND_COUNT; kind++) {
        size_t place = count;

        if (view->kinds_ns[kind] == 0)
            continue;
        for (; place > 0 && view->kinds_ns[kinds[place - 1]] < view->kinds_ns[kind]; place--)
            kinds[place] = kinds[place - 1];
        kinds[place] = (enum path_kind)kind;
        count++;
    }
    return count;
}

void add_path_composition(struct results *results, struct section *section,
                          const struct path_view *view)
{
    const struct ledger *ledger = view->ledger;
    bool is_single = ledger->step_count == 1;
    const struct column columns[] = {
        {"kind", "link", UNIT_TEXT, 0, BAR_NONE},
        {"mean", is_single ? "time" : "mean per step", UNIT_TIME_NS, 0, BAR_NONE},
        {"share", "of the path", UNIT_FRACTION, 0, BAR},
        {"step_time",
         results_format(results, "in step %" PRId64, ledger->steps[view->step].window.number),
         UNIT_TIME_NS, is_single ? PRIORITY_FOR_PROGRAMS : 1, BAR_NONE},
        {"kind_key", "key", UNIT_TEXT, PRIORITY_FOR_PROGRAMS, BAR_NONE},
        {"group_key", "group", UNIT_TEXT, PRIORITY_FOR_PROGRAMS, BAR_NONE},
        {"account_key", "account", UNIT_TEXT, PRIORITY_FOR_PROGRAMS, BAR_NONE},
    };
    struct table *table =
        section_add_table(results, section, "composition", "What the path is made of", columns,
                          sizeof columns / sizeof *columns);
    enum path_kind kinds[PATH_KIND_COUNT];
    int64_t parts[PATH_KIND_COUNT], means[PATH_KIND_COUNT], whole_ns = ledger_total_ns(ledger);
    size_t count = rank_kinds(view, kinds);

    for (size_t i = 0; i < count; i++)
        parts[i] = view->kinds_ns[kinds[i]];
    apportion(means, parts, count, ledger->step_count, rounded_mean(whole_ns, ledger->step_count));
    for (size_t i = 0; i < count; i++) {
        const struct path_kind_description *kind = &path_kinds[kinds[i]];
        struct value *cells = table_add_row(results, table, 0);

        cells[0] = value_text(kind->title);
        cells[1] = value_time_ns(means[i]);
        cells[2] = value_fraction(fraction_of(parts[i], whole_ns));
        cells[3] = value_time_ns(view->path->kinds_ns[view->step][kinds[i]]);
        cells[4] = value_text(kind->key);
        cells[5] = value_text(path_groups[kind->group].key);
        cells[6] = value_text(account_descriptions[kind->account].key);
    }
}

/* ---- links by name ---- */

struct ranked_sum {
    const struct path_sum *sum;
    const char *name;
};

static int heaviest_first(const void *left, const void *right)
{
    const struct ranked_sum *a = left, *b = right;
    int order;

    if (a->sum->total_ns != b->sum->total_ns)
        return a->sum->total_ns > b->sum->total_ns ? -1 : 1;
    if (a->sum->kind != b->sum->kind)
        return a->sum->kind < b->sum->kind ? -1 : 1;
    order = strcmp(a->name, b->name);
    return order ? order : (a->sum->track > b->sum->track) - (a->sum->track < b->sum->track);
}

/* All time of kernels of that name on that stream, in the steps; free() it. */
static int64_t *times_of_sums(const struct path_view *view)
{
    const struct steps_path *path = view->path;
    const struct trace *trace = view->input->trace;
    int64_t *times_ns = zeroed_array(path->sum_count, sizeof *times_ns);
    uint32_t step = 0;

    for (size_t i = 0; i < trace->device_count; i++) {
        const struct event *event = &trace->device[i];
        uint32_t sum = steps_path_sum_of_event(path, (uint32_t)i);

        if (sum != NO_VALUE)
            times_ns[sum] += time_in_steps_ns(
                view->ledger, (int64_t[2]){event->start_ns, event_end_ns(event)}, &step);
    }
    return times_ns;
}

static void fill_link(struct results *results, struct value *cells, const struct path_view *view,
                      const struct ranked_sum *ranked, int64_t work_ns)
{
    const struct ledger *ledger = view->ledger;
    const struct path_sum *sum = ranked->sum;
    const struct path_kind_description *kind = &path_kinds[sum->kind];

    cells[0] = value_text(results_text(results, ranked->name));
    cells[1] = value_text(kind->title);
    cells[2] = value_text(track_text(results, view->input->trace, sum->track));
    cells[3] = value_count(sum->count);
    cells[4] = value_time_ns(rounded_mean(sum->total_ns, ledger->step_count));
    cells[5] = value_fraction(fraction_of(sum->total_ns, ledger_total_ns(ledger)));
    if (work_ns > 0)
        cells[6] = value_fraction(fraction_of(sum->total_ns, work_ns));
    cells[7] = value_text(kind->key);
    cells[8] = value_text(account_descriptions[kind->account].key);
}

void add_path_links(struct results *results, struct section *section, const struct path_view *view)
{
    bool is_single = view->ledger->step_count == 1;
    const struct column columns[] = {
        {"name", "link", UNIT_TEXT, 0, BAR_NONE},
        {"kind", "what it is", UNIT_TEXT, 3, BAR_NONE},
        {"track", "where", UNIT_TEXT, 2, BAR_NONE},
        {"count", "times", UNIT_COUNT, 1, BAR_NONE},
        {"mean", is_single ? "time" : "mean per step", UNIT_TIME_NS, 0, BAR_NONE},
        {"share", "of the path", UNIT_FRACTION, 0, BAR},
        {"critical_share", "of its own time", UNIT_FRACTION, 1, BAR_NONE},
        {"kind_key", "key", UNIT_TEXT, PRIORITY_FOR_PROGRAMS, BAR_NONE},
        {"account_key", "account", UNIT_TEXT, PRIORITY_FOR_PROGRAMS, BAR_NONE},
    };
    struct table *table = section_add_table(results, section, "links", "Heaviest links", columns,
                                            sizeof columns / sizeof *columns);
    const struct steps_path *path = view->path;
    struct ranked_sum *ranked = zeroed_array(path->sum_count, sizeof *ranked);
    int64_t *times_ns = times_of_sums(view);
    size_t shown = rows_to_show(view->input->options, path->sum_count);

    table->note = "\"Of its own time\": the share of all time of that kernel on that stream that "
                  "is on the path.";
    for (size_t i = 0; i < path->sum_count; i++)
        ranked[i] = (struct ranked_sum){
            &path->sums[i], path->sums[i].name ? trace_text(view->input->trace, path->sums[i].name)
                                               : path_kinds[path->sums[i].kind].title};
    qsort(ranked, path->sum_count, sizeof *ranked, heaviest_first);
    for (size_t i = 0; i < shown; i++)
        fill_link(results, table_add_row(results, table, 0), view, &ranked[i],
                  times_ns[ranked[i].sum - path->sums]);
    table->rows_in_all = path->sum_count;
    free(times_ns);
    free(ranked);
}

/* ---- slack ---- */

static void fill_slack(struct value *cells, const struct slack_row *row, uint32_t step_count)
{
    cells[1] = value_count(row->count);
    cells[2] = value_time_ns(rounded_mean(row->total_ns, step_count));
    cells[3] = value_fraction(fraction_of(row->path_ns, row->total_ns));
    cells[4] = value_time_ns(rounded_mean(row->total_ns - row->path_ns, step_count));
    cells[5] = value_time_ns(row->least_ns);
    cells[6] = value_time_ns(row->median_ns);
}

/* What one of the tables says, beside the rows. */
struct slack_table {
    const char *key;
    const char *title;
    const char *row_key;
    const char *row_title;
    const char *count_title;
    const char *note;
};

static struct table *add_slack_table(struct results *results, struct section *section,
                                     const struct path_view *view, const struct slack_table *what,
                                     const struct slack_rows *rows)
{
    bool is_single = view->ledger->step_count == 1;
    const struct column columns[] = {
        {what->row_key, what->row_title, UNIT_TEXT, 0, BAR_NONE},
        {"count", what->count_title, UNIT_COUNT, 2, BAR_NONE},
        {"mean", is_single ? "time" : "mean per step", UNIT_TIME_NS, 1, BAR_NONE},
        {"critical_share", "on the path", UNIT_FRACTION, 0, BAR},
        {"off_path", "off the path", UNIT_TIME_NS, 1, BAR_NONE},
        {"least_slack", "least slack", UNIT_TIME_NS, 0, BAR_NONE},
        {"median_slack", "median slack", UNIT_TIME_NS, 0, BAR_NONE},
    };
    struct table *table = section_add_table(results, section, what->key, what->title, columns,
                                            sizeof columns / sizeof *columns);

    table->note = what->note;
    table->rows_in_all = rows->count;
    return table;
}

void add_path_slack(struct results *results, struct section *section, const struct path_view *view)
{
    static const struct slack_table what = {
        "slack",
        "Slack of kernels and copies",
        "kernel",
        "kernel",
        "times",
        "Slack: how much longer one of them could take and nothing would end later. With none, it "
        "is on the path, or a path as long."};
    struct slack_rows rows = {.count = 0};
    struct table *table;

    slack_of_kernels(&rows, view->path);
    table = add_slack_table(results, section, view, &what, &rows);
    for (size_t i = 0; i < rows_to_show(view->input->options, rows.count); i++) {
        struct value *cells = table_add_row(results, table, 0);

        cells[0] =
            value_text(results_text(results, trace_text(view->input->trace, rows.rows[i].id)));
        fill_slack(cells, &rows.rows[i], view->ledger->step_count);
    }
    slack_rows_clear(&rows);
}

void add_path_tracks(struct results *results, struct section *section, const struct path_view *view)
{
    static const struct slack_table what = {
        "tracks", "Slack of streams and threads", "track", "where", "pieces", NULL};
    struct slack_rows rows = {.count = 0};
    struct table *table;

    slack_of_tracks(&rows, view->path);
    table = add_slack_table(results, section, view, &what, &rows);
    for (size_t i = 0; i < rows_to_show(view->input->options, rows.count); i++) {
        struct value *cells = table_add_row(results, table, 0);

        cells[0] = value_text(track_text(results, view->input->trace, rows.rows[i].id));
        fill_slack(cells, &rows.rows[i], view->ledger->step_count);
    }
    slack_rows_clear(&rows);
}

/* ---- steps ---- */

static int64_t group_ns(const struct path_view *view, int group)
{
    int64_t sum_ns = 0;

    for (int kind = 0; kind < PATH_KIND_COUNT; kind++)
        sum_ns += (int)path_kinds[kind].group == group ? view->kinds_ns[kind] : 0;
    return sum_ns;
}

void add_path_steps(struct results *results, struct section *section, const struct path_view *view)
{
    const struct ledger *ledger = view->ledger;
    struct column columns[2 + PATH_GROUP_COUNT] = {
        {"step", "step", UNIT_COUNT, 0, BAR_NONE},
        {"length", "length", UNIT_TIME_NS, 0, BAR_NONE},
    };
    size_t shown = rows_to_show(view->input->options, ledger->step_count);
    struct table *table;

    if (ledger->step_count < 2)
        return;
    for (int group = 0; group < PATH_GROUP_COUNT; group++)
        columns[2 + group] =
            (struct column){path_groups[group].key, path_groups[group].words, UNIT_TIME_NS,
                            group_ns(view, group) > 0 ? 1 : PRIORITY_FOR_PROGRAMS, BAR_NONE};
    table = section_add_table(results, section, "steps", "The path in each step", columns,
                              sizeof columns / sizeof *columns);
    for (uint32_t step = 0; step < shown; step++) {
        struct value *cells = table_add_row(results, table, 0);
        int64_t groups_ns[PATH_GROUP_COUNT] = {0};

        for (int kind = 0; kind < PATH_KIND_COUNT; kind++)
            groups_ns[path_kinds[kind].group] += view->path->kinds_ns[step][kind];
        cells[0] = value_count(ledger->steps[step].window.number);
        cells[1] =
            value_time_ns(ledger->steps[step].window.end_ns - ledger->steps[step].window.start_ns);
        for (int group = 0; group < PATH_GROUP_COUNT; group++)
            cells[2 + group] = value_time_ns(groups_ns[group]);
    }
    table->rows_in_all = ledger->step_count;
}
