/* Kernels that do the same work under another name: a library picks them by device and version. */
#include "sections/comparison/renamed_kernels.h"

#include "cost/flops/saturating.h"
#include "ledger/kernel_class.h"

static const char *class_key(const struct measure *kernel)
{
    return kernel_class_key((enum kernel_class)kernel->class);
}

/* A kernel whose operator is known, and that the other run has not. */
static bool is_alone(const struct measure *kernel, const struct run_profile *other)
{
    return kernel->kind == MEASURE_KERNEL && kernel->owner &&
           !profile_find(other, MEASURE_KERNEL, kernel->name, "");
}

/* Adds the kernel numbered `index` to its operator's sum. Measures move when one is added: values
 * do not. */
static void renamed_kernels_add_to_sum(struct run_profile *profile, uint32_t index)
{
    struct measure kernel = profile->measures[index];
    struct measure *sum =
        profile_measure(profile, MEASURE_RENAMED, kernel.owner, class_key(&kernel));

    sum->class = kernel.class;
    measure_has_calls(profile, sum);
    for (uint32_t i = 0; i < profile->step_count; i++) {
        sum->values[i] = plus(sum->values[i], kernel.values[i]);
        sum->calls[i] += kernel.calls ? kernel.calls[i] : 0;
    }
}

static void sum_up(struct run_profile *profile, const struct run_profile *other)
{
    uint32_t count = profile->count;

    for (uint32_t i = 0; i < count; i++)
        if (is_alone(&profile->measures[i], other))
            renamed_kernels_add_to_sum(profile, i);
}

/* Kernels have other names on another device or version; the operator that launches them and
 * the kind of work do not. Sums by these two are compared instead, where kernels stand alone. */
void match_renamed_kernels(struct run_profile *a, struct run_profile *b)
{
    sum_up(a, b);
    sum_up(b, a);
}

const struct measure *find_renamed(const struct run_profile *profile, const struct measure *kernel)
{
    return kernel->owner ? profile_find(profile, MEASURE_RENAMED, kernel->owner, class_key(kernel))
                         : NULL;
}
