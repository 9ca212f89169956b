/* What the parts of the section module_cost share: sums as numbers per step. */
#include "sections/model/module_cost_sections.h"

#include "base/core/apportion.h"
#include "trace/recorder_words.h"

struct value flops_per_step(const struct module_cost_view *view, int64_t flops)
{
    if (!view->costs->has_shapes)
        return value_not_known(recorder_words_for(view->trace)->needs_shapes);
    return (struct value){.unit = UNIT_FLOPS, .real = (double)flops / (double)view->steps};
}

struct value time_per_step(const struct module_cost_view *view, int64_t ns)
{
    return value_time_ns(rounded_mean(ns, view->steps));
}

struct value count_per_step(const struct module_cost_view *view, int64_t count)
{
    if (!view->costs->has_shapes)
        return value_not_known(recorder_words_for(view->trace)->needs_shapes);
    return value_count(rounded_mean(count, view->steps));
}
