/* Modules out of NVTX ranges that the program put around parts of its model. */
#include "readers/nsys/nsys_sqlite_modules.h"

#include "base/core/array.h"
#include "base/core/large_array.h"
#include "base/core/large_sort.h"
#include "base/text/prefix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { NESTING_MAX = 64, PATH_MAX_BYTES = 1024 };

/* Ranges with such names are no modules: what they are called is a step, a phase of it, or what
 * frameworks put there. */
static const char *const other_ranges[] = {
    "iter",         "step",       "train",    "batch",    "epoch", "micro",
    "forward",      "fwd",        "backward", "bwd",      "optim", "zero_grad",
    "ProfilerStep", "enumerate(", "##",       "[pl]",     "data",  "load",
    "eval",         "valid",      "nccl",     "save",     "check", "log",
    "Distributed",  "FSDP",       "Fully",    "autograd", "",
};

void module_ranges_add(struct module_ranges *ranges, const struct trace_builder *builder,
                       const struct event *event)
{
    bool is_operator = event->kind == EVENT_OPERATOR;

    ranges->has_operators = ranges->has_operators || is_operator;
    ranges->has_marks =
        ranges->has_marks || has_prefix(string_pool_text(&builder->strings, event->name), "nn:");
    LARGE_ARRAY_ADD(ranges->ranges, ranges->count,
                    (struct module_range){
                        .start_ns = event->start_ns,
                        .end_ns = event_end_ns(event),
                        .track = event->track,
                        .name = is_operator ? 0 : event->name,
                    });
}

/* By thread and start, what encloses before what is inside. */
static int nsys_sqlite_modules_compare_ranges(const void *a, const void *b, void *unused)
{
    const struct module_range *left = a;
    const struct module_range *right = b;

    (void)unused;
    if (left->track != right->track)
        return left->track < right->track ? -1 : 1;
    if (left->start_ns != right->start_ns)
        return left->start_ns < right->start_ns ? -1 : 1;
    if (left->end_ns != right->end_ns)
        return left->end_ns > right->end_ns ? -1 : 1;
    return (left->name == 0) - (right->name == 0);
}

static bool is_module_name(const char *name)
{
    if (!*name)
        return false;
    for (size_t i = 0; *other_ranges[i]; i++) {
        if (strncasecmp(name, other_ranges[i], strlen(other_ranges[i])) == 0)
            return false;
    }
    return true;
}

/* The open ranges of a thread while a walk goes over it. */
struct open_modules {
    const struct module_range *open[NESTING_MAX];
    bool is_marked[NESTING_MAX];
    size_t depth;
};

/* Adds the mark of the range at `place`: the names of those around it, joined by dots. */
static void add_mark(const struct open_modules *modules, size_t place,
                     struct trace_builder *builder)
{
    const struct module_range *range = modules->open[place];
    char path[PATH_MAX_BYTES] = "nn:";
    size_t length = 3;

    for (size_t i = 0; i <= place; i++) {
        int written = snprintf(path + length, sizeof path - length, "%s%s", length > 3 ? "." : "",
                               string_pool_text(&builder->strings, modules->open[i]->name));

        if (written < 0 || (size_t)written >= sizeof path - length)
            return; /* no program names its modules so */
        length += (size_t)written;
    }
    trace_builder_add(builder, &(struct event){
                                   .kind = EVENT_ANNOTATION,
                                   .start_ns = range->start_ns,
                                   .duration_ns = range->end_ns - range->start_ns,
                                   .correlation = NO_ID,
                                   .external_id = NO_ID,
                                   .track = range->track,
                                   .name = string_pool_add(&builder->strings, path, length),
                               });
}

static void walk_over(struct open_modules *modules, const struct module_range *range,
                      struct trace_builder *builder)
{
    while (modules->depth && (modules->open[modules->depth - 1]->track != range->track ||
                              modules->open[modules->depth - 1]->end_ns < range->end_ns))
        modules->depth--;
    if (range->name == 0) {
        for (size_t i = 0; i < modules->depth; i++) {
            if (!modules->is_marked[i])
                add_mark(modules, i, builder);
            modules->is_marked[i] = true;
        }
    } else if (modules->depth < NESTING_MAX &&
               is_module_name(string_pool_text(&builder->strings, range->name))) {
        modules->is_marked[modules->depth] = false;
        modules->open[modules->depth++] = range;
    }
}

void module_ranges_mark(struct module_ranges *ranges, struct trace_builder *builder)
{
    struct open_modules modules = {.depth = 0};

    if (ranges->has_marks || !ranges->has_operators)
        return;
    sort_large(ranges->ranges, ranges->count,
               &(struct large_order){.element_bytes = sizeof *ranges->ranges,
                                     .compare = nsys_sqlite_modules_compare_ranges});
    for (uint32_t i = 0; i < ranges->count; i++)
        walk_over(&modules, &ranges->ranges[i], builder);
}

void module_ranges_clear(struct module_ranges *ranges)
{
    large_array_free(ranges->ranges);
    *ranges = (struct module_ranges){0};
}
