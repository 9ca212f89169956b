/* Which chain of work and waits decides how long a step takes, and how much slack has the rest? */
#include "base/core/apportion.h"
#include "critical_path/steps_path.h"
#include "ledger/step_finder.h"
#include "ledger/step_outliers.h"
#include "sections/analysis.h"
#include "sections/chosen_events.h"
#include "sections/step/steps_replay.h"
#include "sections/tally.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- tables ---------------------------------------------------------------------------------- */

/* The tables of the section on the critical path. */

struct path_view {
    const struct analysis_input *input;
    const struct ledger *ledger; /* of the steps that the path was followed through */
    const struct steps_path *path;
    uint32_t step;                     /* the chosen one */
    int64_t kinds_ns[PATH_KIND_COUNT]; /* of all steps */
};

/* "stream 7", "thread 1234" A stream by its number, as profilers show it; a thread by the id of
 * the system. */
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

/* Insertion into a list of at most PATH_KIND_COUNT, and stable: kinds with as much time stay
 * in the order of their enumeration, which qsort would not promise. */
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

#define COMPOSITION_COLUMNS(COLUMN)                                                              \
    COLUMN("kind", "link", UNIT_TEXT, 0, BAR_NONE, value_text(kind->title))                      \
    COLUMN("mean", is_single ? "time" : "mean per step", UNIT_TIME_NS, 0, BAR_NONE,              \
           value_time_ns(means[i]))                                                              \
    COLUMN("share", "of the path", UNIT_FRACTION, 0, BAR,                                        \
           value_fraction(fraction_of(parts[i], whole_ns)))                                      \
    COLUMN("step_time",                                                                          \
           results_format(results, "in step %" PRId64, ledger->steps[view->step].window.number), \
           UNIT_TIME_NS, is_single ? PRIORITY_FOR_PROGRAMS : 1, BAR_NONE,                        \
           value_time_ns(view->path->kinds_ns[view->step][kinds[i]]))                            \
    COLUMN("kind_key", "key", UNIT_TEXT, PRIORITY_FOR_PROGRAMS, BAR_NONE, value_text(kind->key)) \
    COLUMN("group_key", "group", UNIT_TEXT, PRIORITY_FOR_PROGRAMS, BAR_NONE,                     \
           value_text(path_groups[kind->group].key))                                             \
    COLUMN("account_key", "account", UNIT_TEXT, PRIORITY_FOR_PROGRAMS, BAR_NONE,                 \
           value_text(account_descriptions[kind->account].key))

/* What the path is made of: in the chosen step, and in the mean of all. A mean of each kind,
 * rounded by itself, would not sum to the mean step: apportion gives the nanoseconds left to the
 * largest remainders, so that the column adds up exactly, as the ledger does. */
static void add_path_composition(struct results *results, struct section *section,
                                 const struct path_view *view)
{
    const struct ledger *ledger = view->ledger;
    bool is_single = ledger->step_count == 1;
    struct table *table =
        section_add_table(results, section, "composition", "What the path is made of",
                          COLUMNS_OF(COMPOSITION_COLUMNS));
    enum path_kind kinds[PATH_KIND_COUNT];
    int64_t parts[PATH_KIND_COUNT], means[PATH_KIND_COUNT], whole_ns = ledger_total_ns(ledger);
    size_t count = rank_kinds(view, kinds);

    for (size_t i = 0; i < count; i++)
        parts[i] = view->kinds_ns[kinds[i]];
    apportion(means, parts, count, ledger->step_count, rounded_mean(whole_ns, ledger->step_count));
    for (size_t i = 0; i < count; i++) {
        const struct path_kind_description *kind = &path_kinds[kinds[i]];

        FILL_ROW(table_add_row(results, table, 0), COMPOSITION_COLUMNS);
    }
}

/* ---- links by name ---- */

struct ranked_sum {
    const struct path_sum *sum;
    const char *name;
};

/* Name and track are the last of the order, and no two sums agree in kind, name and track: the
 * order is total. */
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

/* All time of kernels of that name on that stream, in the steps; free() it. What the path has of
 * a name is compared with all time of that name on that stream, on the path or not. The events
 * of the device come by start, so that one cursor finds the step of each and all of it is one
 * pass. */
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

#define LINKS_COLUMNS(COLUMN)                                                                    \
    COLUMN("name", "link", UNIT_TEXT, 0, BAR_NONE,                                               \
           value_text(results_text(results, ranked->name)))                                      \
    COLUMN("kind", "what it is", UNIT_TEXT, 3, BAR_NONE, value_text(kind->title))                \
    COLUMN("track", "where", UNIT_TEXT, 2, BAR_NONE,                                             \
           value_text(track_text(results, view->input->trace, sum->track)))                      \
    COLUMN("count", "times", UNIT_COUNT, 1, BAR_NONE, value_count(sum->count))                   \
    COLUMN("mean", is_single ? "time" : "mean per step", UNIT_TIME_NS, 0, BAR_NONE,              \
           value_time_ns(rounded_mean(sum->total_ns, ledger->step_count)))                       \
    COLUMN("share", "of the path", UNIT_FRACTION, 0, BAR,                                        \
           value_fraction(fraction_of(sum->total_ns, ledger_total_ns(ledger))))                  \
    COLUMN("critical_share", "of its own time", UNIT_FRACTION, 1, BAR_NONE,                      \
           work_ns > 0 ? value_fraction(fraction_of(sum->total_ns, work_ns)) : value_none())     \
    COLUMN("kind_key", "key", UNIT_TEXT, PRIORITY_FOR_PROGRAMS, BAR_NONE, value_text(kind->key)) \
    COLUMN("account_key", "account", UNIT_TEXT, PRIORITY_FOR_PROGRAMS, BAR_NONE,                 \
           value_text(account_descriptions[kind->account].key))

static void fill_link(struct results *results, struct value *cells, const struct path_view *view,
                      const struct ranked_sum *ranked, int64_t work_ns)
{
    const struct ledger *ledger = view->ledger;
    const struct path_sum *sum = ranked->sum;
    const struct path_kind_description *kind = &path_kinds[sum->kind];

    FILL_ROW(cells, LINKS_COLUMNS);
}

/* Its heaviest links by name. Names of links without an event (idle, waits) are those of their
 * kinds. */
static void add_path_links(struct results *results, struct section *section,
                           const struct path_view *view)
{
    bool is_single = view->ledger->step_count == 1;
    struct table *table =
        section_add_table(results, section, "links", "Heaviest links", COLUMNS_OF(LINKS_COLUMNS));
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

#define SLACK_COLUMNS(COLUMN)                                                                     \
    COLUMN(what->row_key, what->row_title, UNIT_TEXT, 0, BAR_NONE, value_text(name))              \
    COLUMN("count", what->count_title, UNIT_COUNT, 2, BAR_NONE, value_count(row->count))          \
    COLUMN("mean", is_single ? "time" : "mean per step", UNIT_TIME_NS, 1, BAR_NONE,               \
           value_time_ns(rounded_mean(row->total_ns, step_count)))                                \
    COLUMN("critical_share", "on the path", UNIT_FRACTION, 0, BAR,                                \
           value_fraction(fraction_of(row->path_ns, row->total_ns)))                              \
    COLUMN("off_path", "off the path", UNIT_TIME_NS, 1, BAR_NONE,                                 \
           value_time_ns(rounded_mean(row->total_ns - row->path_ns, step_count)))                 \
    COLUMN("least_slack", "least slack", UNIT_TIME_NS, 0, BAR_NONE, value_time_ns(row->least_ns)) \
    COLUMN("median_slack", "median slack", UNIT_TIME_NS, 0, BAR_NONE, value_time_ns(row->median_ns))

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
    struct table *table =
        section_add_table(results, section, what->key, what->title, COLUMNS_OF(SLACK_COLUMNS));

    table->note = what->note;
    table->rows_in_all = rows->count;
    return table;
}

static void add_slack_row(struct results *results, struct table *table,
                          const struct path_view *view, const char *name,
                          const struct slack_row *row)
{
    uint32_t step_count = view->ledger->step_count;

    FILL_ROW(table_add_row(results, table, 0), SLACK_COLUMNS);
}

/* How much longer kernels, copies and memsets could take. */
static void add_path_slack(struct results *results, struct section *section,
                           const struct path_view *view)
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
    for (size_t i = 0; i < rows_to_show(view->input->options, rows.count); i++)
        add_slack_row(results, table, view,
                      results_text(results, trace_text(view->input->trace, rows.rows[i].id)),
                      &rows.rows[i]);
    slack_rows_clear(&rows);
}

/* The same of streams and threads. */
static void add_path_tracks(struct results *results, struct section *section,
                            const struct path_view *view)
{
    static const struct slack_table what = {
        "tracks", "Slack of streams and threads", "track", "where", "pieces", NULL};
    struct slack_rows rows = {.count = 0};
    struct table *table;

    slack_of_tracks(&rows, view->path);
    table = add_slack_table(results, section, view, &what, &rows);
    for (size_t i = 0; i < rows_to_show(view->input->options, rows.count); i++)
        add_slack_row(results, table, view,
                      track_text(results, view->input->trace, rows.rows[i].id), &rows.rows[i]);
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

#define STEPS_COLUMNS(COLUMN)                              \
    COLUMN("step", "step", UNIT_COUNT, 0, BAR_NONE,        \
           value_count(ledger->steps[step].window.number)) \
    COLUMN("length", "length", UNIT_TIME_NS, 0, BAR_NONE,  \
           value_time_ns(ledger->steps[step].window.end_ns - ledger->steps[step].window.start_ns))

/* Each step, and what its part of the path is made of. Columns by group of kinds, not by kind: a
 * table of 20 columns cannot be read. A group without any time stays for programs, so that
 * columns do not depend on the trace. */
static void add_path_steps(struct results *results, struct section *section,
                           const struct path_view *view)
{
    const struct ledger *ledger = view->ledger;
    enum { FIXED = COLUMN_COUNT_OF(STEPS_COLUMNS) };
    struct column columns[FIXED + (int)PATH_GROUP_COUNT] = {STEPS_COLUMNS(COLUMN_DECLARED)};
    size_t shown = rows_to_show(view->input->options, ledger->step_count);
    struct table *table;

    if (ledger->step_count < 2)
        return;
    for (int group = 0; group < PATH_GROUP_COUNT; group++)
        columns[FIXED + group] =
            (struct column){path_groups[group].key, path_groups[group].words, UNIT_TIME_NS,
                            group_ns(view, group) > 0 ? 1 : PRIORITY_FOR_PROGRAMS, BAR_NONE};
    table = section_add_table(results, section, "steps", "The path in each step", columns,
                              sizeof columns / sizeof *columns);
    for (uint32_t step = 0; step < shown; step++) {
        struct value *cells = table_add_row(results, table, 0);
        int64_t groups_ns[PATH_GROUP_COUNT] = {0};

        for (int kind = 0; kind < PATH_KIND_COUNT; kind++)
            groups_ns[path_kinds[kind].group] += view->path->kinds_ns[step][kind];
        FILL_ROW(cells, STEPS_COLUMNS);
        for (int group = 0; group < PATH_GROUP_COUNT; group++)
            cells[FIXED + group] = value_time_ns(groups_ns[group]);
    }
    table->rows_in_all = ledger->step_count;
}

/* ---- critical path --------------------------------------------------------------------------- */

/* Groups of kinds, the longest first. */
struct ranked_groups {
    enum path_group groups[PATH_GROUP_COUNT];
    int64_t total_ns[PATH_GROUP_COUNT]; /* by enum path_group */
    size_t count;                       /* with any time */
};

/* As rank_kinds, for groups. */
static struct ranked_groups rank_groups(const int64_t *kinds_ns)
{
    struct ranked_groups ranked = {.count = 0};

    for (int kind = 0; kind < PATH_KIND_COUNT; kind++)
        ranked.total_ns[path_kinds[kind].group] += kinds_ns[kind];
    for (int group = 0; group < PATH_GROUP_COUNT; group++) {
        size_t place = ranked.count;

        if (ranked.total_ns[group] == 0)
            continue;
        for (; place > 0 && ranked.total_ns[ranked.groups[place - 1]] < ranked.total_ns[group];
             place--)
            ranked.groups[place] = ranked.groups[place - 1];
        ranked.groups[place] = (enum path_group)group;
        ranked.count++;
    }
    return ranked;
}

/* "62.1 % kernels, 20.3 % launches, ..." The list ends at 0.05 %, which would print as 0.0 % or
 * 0.1 %. `used` may pass the end, as snprintf tells what it would have written: the loop then
 * ends, and the text is cut, never written beyond. */
static const char *composition_text(struct results *results, const int64_t *kinds_ns,
                                    int64_t length_ns)
{
    struct ranked_groups ranked = rank_groups(kinds_ns);
    char text[512];
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < ranked.count && used < sizeof text; i++) {
        double share = fraction_of(ranked.total_ns[ranked.groups[i]], length_ns);
        int more;

        if (share < 0.0005)
            break;
        more = snprintf(&text[used], sizeof text - used, "%s%.1f %% %s", i ? ", " : "", 100 * share,
                        path_groups[ranked.groups[i]].words);
        used += more > 0 ? (size_t)more : 0;
    }
    return results_text(results, text);
}

/* The chain shown is of the step nearest the median: of the mean there is no chain, and the
 * slowest is an exception. */
static void critical_path_add_numbers(struct results *results, struct section *section,
                                      const struct path_view *view)
{
    const struct ledger *ledger = view->ledger;
    const struct step_window *window = &ledger->steps[view->step].window;
    int64_t length_ns = window->end_ns - window->start_ns;

    section_add_number(
        results, section,
        (struct number){
            "path",
            ledger->source == WINDOW_WHOLE
                ? "longest chain of the window"
                : results_format(results, "longest chain of step %" PRId64, window->number),
            value_time_ns(length_ns),
            composition_text(results, view->path->kinds_ns[view->step], length_ns)});
    if (ledger->source != WINDOW_WHOLE)
        section_add_number(results, section,
                           (struct number){"step", "step chosen", value_count(window->number),
                                           "the one nearest the median"});
    section_add_number(results, section,
                       (struct number){"steps_followed", "steps followed",
                                       value_count((int64_t)ledger->step_count),
                                       replayed_steps_text(results, view->input->simulation)});
    section_add_number(results, section,
                       (struct number){"links", "links of the chain",
                                       value_count((int64_t)view->path->pieces.count),
                                       ledger->step_count > 1 ? "in all these steps" : NULL});
    section_add_number(
        results, section,
        (struct number){
            "unexplained", "of it not explained",
            value_fraction(fraction_of(view->kinds_ns[PATH_UNEXPLAINED], ledger_total_ns(ledger))),
            "work that started more than 10 µs later than anything it is seen to "
            "wait for"});
}

/* One step is drawn and told in detail: the one nearest the median, since the mean of a run
 * with one long step is like no step. */
static void find_view(struct path_view *view)
{
    const struct ledger *ledger = view->ledger;
    struct step_spread spread = measure_step_spread(ledger);

    view->step = typical_step(&spread, ledger->step_count);
    free(spread.steps);
    for (uint32_t step = 0; step < ledger->step_count; step++)
        for (int kind = 0; kind < PATH_KIND_COUNT; kind++)
            view->kinds_ns[kind] += view->path->kinds_ns[step][kind];
}

static bool has_path(const struct analysis_input *input)
{
    return input->simulation != NULL;
}

/* By the replay's own graph: where the replay misses the recording, its waits are not those
 * that were, and the path is refused as well. */
static struct section *follow_path(struct results *results, const struct analysis_input *input)
{
    SCOPED(steps_path) own = {.graph = NULL};
    struct path_view view = {.input = input};
    struct section *section;

    if (!has_path(input))
        return NULL;
    section = section_new(
        results, "critical_path", "Critical path",
        "The one chain of work and waits that decided when the steps ended: each link began when "
        "the one before it was done. Only what shortens it makes a step shorter; the rest has "
        "slack.");
    if (replay_of(input)->is_refused) {
        tell_of_refused_replay(results, section, input->simulation,
                               &(struct refused_words){"no critical path", false});
        return section;
    }
    view.path = steps_path_of(input->path, &own, &input->simulation->graph);
    view.ledger = input->simulation->graph.ledger;
    find_view(&view);
    critical_path_add_numbers(results, section, &view);
    add_path_composition(results, section, &view);
    add_path_links(results, section, &view);
    add_path_slack(results, section, &view);
    add_path_tracks(results, section, &view);
    add_path_steps(results, section, &view);
    return section;
}

const struct analysis critical_path_analysis = {
    .name = "critical_path",
    .summary = "Which chain of work and waits decides how long a step takes?",
    .run = follow_path,
    .has_section = has_path,
};
