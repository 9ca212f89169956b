/* Walks over the device's work in order of time and keeps one open chain a stream. A kernel that
 * fuses a chain reads what the chain reads and writes what it writes; it moves no fewer bytes than
 * the kernel of the chain that moves most, and so can't be faster than the longest of them where
 * these are bound by memory, as kernels without products are. What the others take is what fusing
 * can save: no more. A chain of one kernel saves nothing. */
#include "sections/advice/fusable_chains.h"

#include "base/core/invariant.h"
#include "base/text/prefix.h"
#include "ledger/step_finder.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct chain {
    uint32_t step;    /* NO_STEP: none is open */
    int64_t saved_ns; /* by fusing all that is meant */
    int64_t longest_ns;
    int64_t longest_saved_ns; /* of saved_ns, the longest kernel's */
};

/* Products, optimizers, sorts, collectives and what nothing is known of stand between chains;
 * copies and memsets are no kernels of the program's, and do not. */
static bool can_be_fused(enum kernel_class class)
{
    return kernel_class_is_compute(class) && !kernel_class_is_matrix(class) &&
           class != KERNEL_OPTIMIZER && class != KERNEL_SORT && class != KERNEL_SPIN &&
           class != KERNEL_COMPUTE_OTHER;
}

/* All but the longest kernel: a fused kernel takes at least that. */
static void end_chain(struct chain *chain, struct advice_claim *claim)
{
    if (chain->step != NO_STEP)
        claim->step_ns[chain->step] += chain->saved_ns - chain->longest_saved_ns;
    *chain = (struct chain){.step = NO_STEP};
}

static const char array[] = "rray<char*, ";

/* What a kernel's name tells: at least 2, or 0 where it tells nothing. `counts`: by name, what
 * it tells and 1 where it was asked for, as names are few. */
static long tensors_of_name(long *counts, const struct trace *trace, uint32_t name)
{
    if (counts[name] == 0) {
        const char *found = strstr(trace_text(trace, name), array);
        long count = found ? strtol(found + strlen(array), NULL, 10) : 0;

        if (found && count < 2)
            count = 2;
        counts[name] = count < LONG_MAX ? count + 1 : count;
    }
    return counts[name] - 1;
}

/* How many tensors a pointwise kernel reads and writes: PyTorch's tell it by their template's array
 * of pointers; where names are cut, by the operator, which may have a number for its second one.
 * A pointwise kernel of n tensors moves n tensors' bytes; within a chain two of them (what comes
 * in and what goes out between kernels) need not be moved. Hence 2/n of its time, and 2 for what
 * reads one and writes one, which goes whole. */
static int64_t tensors_of(long *counts, const struct trace *trace, uint32_t index)
{
    static const char *const of_two[] = {"aten::add", "aten::mul", "aten::sub", "aten::div"};
    long count = tensors_of_name(counts, trace, trace->device[index].name);
    uint32_t op = trace_operator_of(trace, index);

    for (size_t i = 0; count == 0 && op != NO_EVENT && i < sizeof of_two / sizeof *of_two; i++) {
        const char *name = trace_text(trace, trace->host[op].name);
        size_t length = strlen(of_two[i]);

        if (has_prefix(name, of_two[i]) && (!name[length] || strcmp(name + length, "_") == 0))
            return 3;
    }
    return count > 0 ? count : 2;
}

/* The longest kernel stays whatever is fused; what would be saved of it is kept, to be taken
 * off again. */
static void add_kernel(struct chain *chain, int64_t duration_ns, int64_t saved_ns)
{
    chain->saved_ns += saved_ns;
    if (duration_ns <= chain->longest_ns)
        return;
    chain->longest_ns = duration_ns;
    chain->longest_saved_ns = saved_ns;
}

/* One chain per stream, as kernels of one stream follow each other and others run beside them.
 * O(device events). */
void claim_fused(const struct advice_case *advice, struct advice_claim *claim,
                 kernel_test *is_meant)
{
    const struct trace *trace = advice->trace;
    struct step_finder finder = {.ledger = advice->ledger};
    long *counts = require_memory(calloc(string_pool_count(&trace->strings), sizeof *counts));
    struct chain *chains = require_memory(calloc((size_t)trace->track_count + 1, sizeof *chains));

    for (uint32_t i = 0; i < trace->track_count; i++)
        chains[i].step = NO_STEP;
    for (uint32_t i = 0; i < trace->device_count; i++) {
        const struct event *event = &trace->device[i];
        struct chain *chain = &chains[event->track];
        uint32_t step;

        if (event->kind != EVENT_KERNEL || !is_chosen_device_event(&finder, trace, i))
            continue;
        step = step_finder_at(&finder, event->start_ns);
        /* A chain ends with its step, and with a kernel that cannot be part of it. */
        if (step != chain->step || !can_be_fused((enum kernel_class)advice->ledger->classes[i]))
            end_chain(chain, claim);
        if (!can_be_fused((enum kernel_class)advice->ledger->classes[i]))
            continue;
        chain->step = step;
        add_kernel(chain, event->duration_ns,
                   is_meant(advice, i) ? event->duration_ns * 2 / tensors_of(counts, trace, i) : 0);
    }
    for (uint32_t i = 0; i < trace->track_count; i++)
        end_chain(&chains[i], claim);
    free(chains);
    free(counts);
}
