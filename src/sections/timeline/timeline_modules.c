/* Which module a host thread was in when. */
#include "sections/timeline/timeline_modules.h"

#include "cost/modules/host_context.h"
#include "cost/modules/module_tree.h"

enum { MODULE_ROWS = 12 };

/* The stretches of a backward that are open: of each depth the module, and until when. */
struct module_walk {
    const struct timeline_lanes *lanes;
    const struct piece_sink *sink;
    uint32_t lane;
    uint32_t first_class;
    struct timeline_piece open[MODULE_ROWS];
    uint32_t open_count;
};

/* A range of a module, or an autograd node of one. */
static bool reports_module(const struct timeline_lanes *lanes, uint32_t event, bool *is_mark)
{
    const struct host_contexts *contexts = &lanes->costs->contexts;

    if (contexts->modules[event] == NO_MODULE)
        return false;
    *is_mark = is_module_mark(lanes->trace, &lanes->trace->host[event]);
    return *is_mark || contexts->backward_node[event] == event;
}

uint32_t timeline_module_rows(const struct timeline_lanes *lanes, uint32_t track_index)
{
    const struct track *track = &lanes->trace->tracks[track_index];
    const struct module_tree *tree = &lanes->costs->tree;
    uint32_t rows = 0;

    if (tree->count == 0)
        return 0;
    for (uint32_t i = track->first_event; i < track->first_event + track->event_count; i++) {
        bool is_mark;
        uint32_t depth;

        if (!reports_module(lanes, i, &is_mark))
            continue;
        depth = tree->modules[lanes->costs->contexts.modules[i]].depth;
        if (depth + 1 > rows)
            rows = depth + 1;
    }
    return rows < MODULE_ROWS ? rows : MODULE_ROWS;
}

/* Ends the open stretches from a depth on. */
static void close_from(struct module_walk *walk, uint32_t depth)
{
    for (uint32_t i = depth; i < walk->open_count; i++)
        walk->sink->take(walk->sink->context, &walk->open[i]);
    if (depth < walk->open_count)
        walk->open_count = depth;
}

static void open_at(struct module_walk *walk, uint32_t depth, uint32_t module, uint32_t event)
{
    const struct event *node = &walk->lanes->trace->host[event];

    walk->open[depth] = (struct timeline_piece){.start_ns = node->start_ns,
                                                .duration_ns = node->duration_ns,
                                                .module = module,
                                                .class = walk->first_class +
                                                         walk->lanes->costs->contexts.phases[event],
                                                .launch = NO_EVENT,
                                                .lane = walk->lane,
                                                .row = depth};
    walk->open_count = depth + 1;
}

/* A node of a module: the stretches of the modules around it go on, others end. */
static void collect_node(struct module_walk *walk, uint32_t event)
{
    const struct module_tree *tree = &walk->lanes->costs->tree;
    int64_t end_ns = event_end_ns(&walk->lanes->trace->host[event]);
    uint32_t path[MODULE_ROWS] = {0};
    uint32_t module = walk->lanes->costs->contexts.modules[event];
    uint32_t count = tree->modules[module].depth + 1;
    uint32_t depth = 0;

    for (; module != NO_MODULE; module = tree->modules[module].parent)
        if (tree->modules[module].depth < MODULE_ROWS)
            path[tree->modules[module].depth] = module;
    if (count > MODULE_ROWS)
        count = MODULE_ROWS;
    while (depth < count && depth < walk->open_count && walk->open[depth].module == path[depth]) {
        if (end_ns > walk->open[depth].start_ns + walk->open[depth].duration_ns)
            walk->open[depth].duration_ns = end_ns - walk->open[depth].start_ns;
        depth++;
    }
    close_from(walk, depth);
    for (; depth < count; depth++)
        open_at(walk, depth, path[depth], event);
}

static void timeline_modules_take_mark(struct module_walk *walk, uint32_t event)
{
    const struct host_contexts *contexts = &walk->lanes->costs->contexts;
    const struct event *mark = &walk->lanes->trace->host[event];
    uint32_t module = contexts->modules[event];
    uint32_t depth = walk->lanes->costs->tree.modules[module].depth;
    struct timeline_piece piece = {.start_ns = mark->start_ns,
                                   .duration_ns = mark->duration_ns,
                                   .module = module,
                                   .class = walk->first_class + contexts->phases[event],
                                   .launch = NO_EVENT,
                                   .lane = walk->lane,
                                   .row = depth};

    close_from(walk, 0);
    if (depth < MODULE_ROWS)
        walk->sink->take(walk->sink->context, &piece);
}

void timeline_walk_modules(const struct timeline_lanes *lanes, uint32_t lane, uint32_t first_class,
                           const struct piece_sink *sink)
{
    const struct track *track = &lanes->trace->tracks[lanes->lanes[lane].track];
    struct module_walk walk = {
        .lanes = lanes, .sink = sink, .lane = lane, .first_class = first_class};

    for (uint32_t i = track->first_event; i < track->first_event + track->event_count; i++) {
        bool is_mark;

        if (!reports_module(lanes, i, &is_mark))
            continue;
        if (is_mark)
            timeline_modules_take_mark(&walk, i);
        else
            collect_node(&walk, i);
    }
    close_from(&walk, 0);
}
