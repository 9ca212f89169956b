/* Which module's kernels ran on each stream when. */
#include "output/exports/chrome_modules.h"

#include "base/core/array.h"
#include "base/core/invariant.h"

#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 32 }; /* a module deeper in the model is shown as the one it lies in */

/* What is open on a stream. */
struct open_stream {
    const char *names[DEPTH_MAX];
    size_t slices[DEPTH_MAX]; /* indices in module_slices */
    uint32_t depth;
};

/* From the phase down to the module. */
struct path {
    const char *names[DEPTH_MAX];
    uint32_t depth;
};

static void find_path(struct path *path, const struct module_costs *costs,
                      struct device_context context)
{
    const struct module_tree *tree = &costs->tree;
    uint32_t module = context.module;

    path->names[0] = training_phase_key(context.phase);
    path->depth = 1;
    if (module == NO_MODULE)
        return;
    while (tree->modules[module].depth > DEPTH_MAX - 2)
        module = tree->modules[module].parent;
    path->depth = tree->modules[module].depth + 2;
    for (; module != NO_MODULE; module = tree->modules[module].parent)
        path->names[tree->modules[module].depth + 1] = tree->modules[module].name;
}

static size_t chrome_modules_add_slice(struct module_slices *slices,
                                       const struct module_slice *slice)
{
    ARRAY_ROOM(slices->slices, slices->count);
    slices->slices[slices->count] = *slice;
    return slices->count++;
}

/* Slices end where the next one on the stream begins, should a kernel reach into it. */
static void close_down_to(struct module_slices *slices, struct open_stream *stream, uint32_t depth,
                          int64_t at_most_ns)
{
    while (stream->depth > depth) {
        struct module_slice *slice = &slices->slices[stream->slices[--stream->depth]];

        if (slice->end_ns > at_most_ns)
            slice->end_ns = at_most_ns;
    }
}

static void collect_kernel(struct module_slices *slices, struct open_stream *stream,
                           const struct path *path, const struct event *event)
{
    uint32_t common = 0;

    while (common < path->depth && common < stream->depth &&
           stream->names[common] == path->names[common])
        common++;
    close_down_to(slices, stream, common, event->start_ns);
    while (stream->depth < path->depth) {
        stream->names[stream->depth] = path->names[stream->depth];
        stream->slices[stream->depth] = chrome_modules_add_slice(
            slices, &(struct module_slice){.start_ns = event->start_ns,
                                           .end_ns = event->start_ns,
                                           .name = path->names[stream->depth],
                                           .track = event->track,
                                           .depth = stream->depth});
        stream->depth++;
    }
    for (uint32_t i = 0; i < stream->depth; i++) {
        struct module_slice *slice = &slices->slices[stream->slices[i]];

        slice->kernels++;
        if (slice->end_ns < event_end_ns(event))
            slice->end_ns = event_end_ns(event);
    }
}

static int compare_slices(const void *left, const void *right)
{
    const struct module_slice *a = left;
    const struct module_slice *b = right;

    if (a->track != b->track)
        return a->track < b->track ? -1 : 1;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return a->depth < b->depth ? -1 : a->depth > b->depth;
}

void find_module_slices(struct module_slices *slices, const struct trace *trace,
                        const struct module_costs *costs)
{
    struct open_stream *streams =
        require_memory(calloc((size_t)trace->track_count + 1, sizeof *streams));

    for (uint32_t i = 0; i < trace->device_count; i++) {
        struct device_context context = find_device_context(&costs->contexts, trace, i);
        struct path path = {.depth = 0};

        if (!context.is_known)
            continue;
        find_path(&path, costs, context);
        collect_kernel(slices, &streams[trace->device[i].track], &path, &trace->device[i]);
    }
    if (slices->count > 0)
        qsort(slices->slices, slices->count, sizeof *slices->slices, compare_slices);
    free(streams);
}

void module_slices_clear(struct module_slices *slices)
{
    if (!slices)
        return;
    free(slices->slices);
    *slices = (struct module_slices){0};
}
