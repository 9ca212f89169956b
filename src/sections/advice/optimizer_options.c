/* Looks optimizers up by the names of their ranges. */
#include "sections/advice/optimizer_options.h"

#include "base/core/array.h"
#include "base/core/invariant.h"
#include "base/text/prefix.h"
#include "ledger/step_finder.h"

#include <stdlib.h>
#include <string.h>

static const char range_start[] = "Optimizer.step#";

static const struct optimizer_options known[] = {
#define OPTIMIZER(class_, fused_, foreach_) \
    {.name = #class_, .has_fused = (fused_), .has_foreach = (foreach_)},
#include "sections/advice/optimizer_option_list.def"
#undef OPTIMIZER
};

/* Of the range "Optimizer.step#AdamW.step". */
static struct optimizer_options optimizer_options_of(const char *range)
{
    const char *class = range + strlen(range_start);
    size_t length;

    if (!has_prefix(range, range_start))
        return (struct optimizer_options){0};
    length = strcspn(class, ".");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i].name) == length && strncmp(known[i].name, class, length) == 0)
            return known[i];
    return (struct optimizer_options){0};
}

/* A program may have several; the one with most time is spoken of. */
struct optimizer_options longest_optimizer(const struct advice_case *advice)
{
    const struct trace *trace = advice->trace;
    size_t names = string_pool_count(&trace->strings);
    int64_t *sums = require_memory(calloc(names + 1, sizeof *sums));
    uint32_t longest = 0; /* the empty name */

    for (uint32_t i = 0; i < trace->host_count; i++) {
        const struct event *event = &trace->host[i];

        if (event->kind != EVENT_ANNOTATION ||
            !has_prefix(trace_text(trace, event->name), range_start))
            continue;
        sums[event->name] += event->duration_ns;
        if (sums[event->name] > sums[longest])
            longest = event->name;
    }
    free(sums);
    return optimizer_options_of(trace_text(trace, longest));
}

/* Advice by what the optimizer's class really takes: fused=True is an error with one that has
 * none, and foreach=True wins nothing on a CPU. NULL where neither is there: there is nothing
 * to try. */
const char *optimizer_remedy(const struct optimizer_options *options, bool is_cpu)
{
    if (!options->name && is_cpu)
        return "torch.optim's fused=True (on a CPU for Adam, AdamW, SGD and Adagrad), or compile "
               "the step";
    if (!options->name)
        return "torch.optim's fused=True or foreach=True, where it has them, or compile the step: "
               "all tensors in a few kernels";
    if (!options->has_fused && !options->has_foreach)
        return NULL;
    if (is_cpu)
        return options->has_fused
                   ? "torch.optim's fused=True (on a CPU for Adam, AdamW, SGD and Adagrad), or "
                     "compile the step"
                   : "compile the step (torch.compile): this optimizer has no fused=True, and "
                     "foreach=True wins nothing on a CPU";
    return options->has_fused
               ? "torch.optim's fused=True (or foreach=True): all tensors in a few kernels"
               : "torch.optim's foreach=True (this optimizer has no fused=True): all tensors in a "
                 "few kernels";
}
