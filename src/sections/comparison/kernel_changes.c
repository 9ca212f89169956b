/* The table of kernels: those of one name in both runs, and of each operator those that only one
 * run has, summed, with their names below. */
#include "base/core/invariant.h"
#include "cost/flops/saturating.h"
#include "ledger/kernel_class.h"
#include "sections/comparison/comparison_sections.h"

#include <math.h>
#include <stdlib.h>

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

/* The sum in run A that a kernel of only one run belongs to, where run B has one, too: NULL else.
 */
static const struct measure *sum_around(const struct run_comparison *comparison,
                                        const struct change *change)
{
    const struct measure *kernel = change_measure(change);

    if ((change->a && change->b) || !find_renamed(comparison->b, kernel))
        return NULL;
    return find_renamed(comparison->a, kernel);
}

/* By the size of the change, whichever way: a kernel that won as much as another lost says as
 * much. */
static int compare_sizes(const void *a, const void *b)
{
    const struct change *const *left = a;
    const struct change *const *right = b;
    double first = fabs((*left)->mean_b - (*left)->mean_a);
    double second = fabs((*right)->mean_b - (*right)->mean_a);

    if (first != second)
        return first > second ? -1 : 1;
    return *left < *right ? -1 : *left > *right;
}

/* Rows of depth 0, the largest first; free() them. A kernel that is part of a sum stands below
 * it, and not as a row of its own. */
static const struct change **list_rows(const struct run_comparison *comparison,
                                       const struct comparison_view *view, size_t *count)
{
    uint32_t first = comparison->first[MEASURE_KERNEL];
    uint32_t end = comparison->first[MEASURE_RENAMED + 1];
    const struct change **rows =
        require_memory(calloc(end - first + (size_t)1, sizeof(struct change *)));

    *count = 0;
    for (uint32_t i = first; i < end; i++) {
        const struct change *change = &comparison->changes[i];

        if (change_is_shown(change, view) &&
            (change_measure(change)->kind == MEASURE_RENAMED || !sum_around(comparison, change)))
            rows[(*count)++] = change;
    }
    if (*count > 0)
        qsort(rows, *count, sizeof(struct change *), compare_sizes);
    return rows;
}

/* The kernels of the sum: gone ones and new ones. */
static void add_members(struct results *results, struct table *table,
                        const struct run_comparison *comparison, const struct change *sum)
{
    for (uint32_t i = comparison->first[MEASURE_KERNEL]; i < comparison->first[MEASURE_KERNEL + 1];
         i++)
        if (sum_around(comparison, &comparison->changes[i]) == sum->a)
            add_change_row(results, table, comparison, &comparison->changes[i],
                           (struct change_label){NULL, 1});
}

/* Kernels that only one run has are no changes one by one: "gone" and "new" of a renamed
 * kernel say nothing. They stand as one row of their operator, whose difference is the change. */
static void kernel_changes_add_row(struct results *results, struct table *table,
                                   const struct run_comparison *comparison,
                                   const struct change *change)
{
    const struct measure *measure = change_measure(change);
    struct change_label label = {NULL, 0};

    if (measure->kind == MEASURE_RENAMED)
        label.text = results_format(results, "%s: other kernels (%s)", measure->name,
                                    kernel_class_title((enum kernel_class)measure->class));
    add_change_row(results, table, comparison, change, label);
    if (measure->kind == MEASURE_RENAMED)
        add_members(results, table, comparison, change);
}

/* The classes come first: they have a partner in the other run whatever the kernels are
 * called. The rows by name are sorted before they are cut, since renamed and kept ones share
 * one table. */
struct section *describe_kernel_changes(struct results *results,
                                        const struct run_comparison *comparison,
                                        const struct comparison_view *view)
{
    static const struct change_columns columns = {"kernel", "kernel", UNIT_TIME_NS,
                                                  CHANGES_WITH_CALLS};
    struct section *section = section_new(
        results, "kernel_changes", "Kernels",
        "Durations summed per step. Kernels that only one run has stand together by the "
        "operator that launched them: most often they do the same work under another "
        "name.");
    size_t count, classes;
    const struct change **rows = list_rows(comparison, view, &count);
    struct table *table;

    add_changes_of_kind(results, section, comparison, view, MEASURE_CLASS);
    classes = section->table_count;
    if (count > 0) {
        table = add_change_table(results, section, "by_name", "Kernels by name", &columns);
        for (size_t i = 0; i < count && i < view->top; i++)
            kernel_changes_add_row(results, table, comparison, rows[i]);
        if (count > view->top)
            table->rows_in_all = table->row_count + (count - view->top);
    }
    free(rows);
    return count > 0 || classes > 0 ? section : NULL;
}
