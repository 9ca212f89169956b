/* Which chain of work and waits decides how long a step takes, and how much slack has the rest? */
#include "ledger/step_finder.h"
#include "ledger/step_outliers.h"
#include "sections/analysis.h"
#include "sections/step/critical_path_tables.h"
#include "sections/step/steps_replay.h"
#include "sections/tally.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Groups of kinds, the longest first. */
struct ranked_groups {
    enum path_group groups[PATH_GROUP_COUNT];
    int64_t total_ns[PATH_GROUP_COUNT]; /* by enum path_group */
    size_t count;                       /* with any time */
};

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

/* "62.1 % kernels, 20.3 % launches, ..." */
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

static struct section *follow_path(struct results *results, const struct analysis_input *input)
{
    SCOPED(steps_path) path = {.graph = NULL};
    struct path_view view = {.input = input, .path = &path};
    struct section *section;

    if (!input->simulation)
        return NULL;
    section = section_new(
        results, "critical_path", "Critical path",
        "The one chain of work and waits that decided when the steps ended: each link began when "
        "the one before it was done. Only what shortens it makes a step shorter; the rest has "
        "slack.");
    if (input->simulation->is_refused) {
        tell_of_refused_replay(results, section, input->simulation,
                               &(struct refused_words){"no critical path", false});
        return section;
    }
    find_steps_path(&path, &input->simulation->graph);
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
};
