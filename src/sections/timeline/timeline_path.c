/* The critical path on a timeline: where it runs in the typical step. */
#include "sections/timeline/timeline_path.h"

#include "critical_path/steps_path.h"
#include "ledger/step_outliers.h"

#include <stdlib.h>

enum { LINKS_MAX = 4000 }; /* about what a screen can show; more are merged */

/* Links of the step while they are put together. */
struct gathering {
    struct timeline_link *links; /* [count] */
    size_t count;
    int64_t longest_ns;  /* of what was merged into the last one */
    int64_t shortest_ns; /* shorter ones of one lane are merged */
};

static void timeline_path_gather(struct gathering *gathering, struct timeline_link link)
{
    struct timeline_link *last = gathering->count ? &gathering->links[gathering->count - 1] : NULL;

    if (last && last->lane == link.lane && last->start_ns + last->duration_ns == link.start_ns &&
        (last->kind == link.kind ||
         last->duration_ns + link.duration_ns < gathering->shortest_ns)) {
        last->duration_ns += link.duration_ns;
        if (link.duration_ns > gathering->longest_ns)
            last->kind = link.kind;
        if (link.duration_ns > gathering->longest_ns)
            gathering->longest_ns = link.duration_ns;
        return;
    }
    gathering->links[gathering->count++] = link;
    gathering->longest_ns = link.duration_ns;
}

static size_t count_links(const struct steps_path *path, const struct step_window *window)
{
    int64_t start_ns = window->start_ns - path->graph->start_ns;
    int64_t end_ns = window->end_ns - path->graph->start_ns;
    size_t count = 0;

    for (size_t i = 0; i < path->pieces.count; i++)
        count +=
            path->pieces.pieces[i].end_ns > start_ns && path->pieces.pieces[i].start_ns < end_ns;
    return count;
}

static void gather_step(struct gathering *gathering, const struct steps_path *path,
                        const struct step_window *window, const uint32_t *lane_of_track)
{
    gathering->count = 0;
    for (size_t i = 0; i < path->pieces.count; i++) {
        struct path_link link = steps_path_link(path, i);

        if (link.end_ns <= window->start_ns || link.start_ns >= window->end_ns)
            continue;
        if (link.start_ns < window->start_ns)
            link.start_ns = window->start_ns;
        if (link.end_ns > window->end_ns)
            link.end_ns = window->end_ns;
        timeline_path_gather(
            gathering, (struct timeline_link){
                           .start_ns = link.start_ns,
                           .duration_ns = link.end_ns - link.start_ns,
                           .lane = link.track == NO_EVENT ? UINT32_MAX : lane_of_track[link.track],
                           .kind = link.kind});
    }
}

static const char *const *kind_texts(struct results *results, bool is_key)
{
    const char **texts = results_allocate(results, PATH_KIND_COUNT * sizeof *texts);

    for (int kind = 0; kind < PATH_KIND_COUNT; kind++)
        texts[kind] =
            is_key ? account_descriptions[path_kinds[kind].account].key : path_kinds[kind].title;
    return texts;
}

/* The same as the section on the critical path chooses. */
static const struct step_window *typical_window(const struct ledger *ledger)
{
    struct step_spread spread = measure_step_spread(ledger);
    uint32_t step = typical_step(&spread, ledger->step_count);

    free(spread.steps);
    return &ledger->steps[step].window;
}

void timeline_add_path(struct results *results, struct timeline *timeline,
                       const struct analysis_input *input, const uint32_t *lane_of_track)
{
    const struct step_window *window;
    SCOPED(steps_path) path = {.graph = NULL};
    struct gathering gathering = {.count = 0};

    if (!input->simulation || input->simulation->is_refused)
        return;
    window = typical_window(input->simulation->graph.ledger);
    gathering.shortest_ns = (window->end_ns - window->start_ns) / LINKS_MAX;
    find_steps_path(&path, &input->simulation->graph);
    gathering.links =
        results_allocate(results, (count_links(&path, window) + 1) * sizeof *gathering.links);
    gather_step(&gathering, &path, window, lane_of_track);
    for (size_t i = 0; i < gathering.count; i++)
        gathering.links[i].start_ns -= timeline->base_ns;
    timeline->path = gathering.links;
    timeline->path_count = gathering.count;
    timeline->path_step = window->number;
    timeline->path_kinds = kind_texts(results, false);
    timeline->path_accounts = kind_texts(results, true);
    timeline->path_kind_count = PATH_KIND_COUNT;
}
