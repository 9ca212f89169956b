/* A comparison as sections of results: what every report prints. */
#include "output/results/device_words.h"
#include "output/results/metrics.h"
#include "sections/comparison/comparison_sections.h"

/* What is not known of a run, with the input that would tell. */
struct unknown {
    const char *key;
    const char *title;
    const char *needs_a; /* NULL: it is known of A */
    const char *needs_b;
};

/* What neither or only one of the runs can tell is said with what it needs: an absent table
 * would be read as "no change". */
static void add_unknown(struct results *results, struct section *section,
                        const struct unknown *what)
{
    const char *needs = what->needs_a ? what->needs_a : what->needs_b;

    if (!needs)
        return;
    section_add_number(results, section,
                       (struct number){what->key, what->title,
                                       value_not_known(results_text(results, needs)),
                                       what->needs_a && what->needs_b ? "of both"
                                       : what->needs_a                ? "of A"
                                                                      : "of B"});
}

/* What is not known in one run is told before the changes: a row that is missing without a
 * word would read as "did not change". */
static struct section *describe_work(struct results *results,
                                     const struct run_comparison *comparison,
                                     const struct comparison_view *view)
{
    struct section *section =
        section_new(results, "work_changes", "Work and efficiency",
                    "What a step computes, launches and copies. The change of a share is in "
                    "points: 40 % to 42 % is 2 %.");

    add_unknown(results, section,
                &(struct unknown){"flops", "FLOPs", comparison->a->needs_flops,
                                  comparison->b->needs_flops});
    add_unknown(
        results, section,
        &(struct unknown){"mfu", "MFU", comparison->a->needs_mfu, comparison->b->needs_mfu});
    add_changes_of_kind(results, section, comparison, view, MEASURE_WORK);
    return section->table_count > 0 || section->number_count > 0 ? section : NULL;
}

/* Three tables of one subject: by device time, by host time, and products by size. Where none
 * has a row (a trace without operators) the section goes as a whole. */
static struct section *describe_operators(struct results *results,
                                          const struct run_comparison *comparison,
                                          const struct comparison_view *view)
{
    struct section *section =
        section_new(results, "operator_changes", "Operators",
                    "By name and input shapes. Device time is that of the kernels, copies and "
                    "memsets an operator launched itself; host time is without what is recorded "
                    "inside it.");

    add_changes_of_kind(results, section, comparison, view, MEASURE_OPERATOR);
    add_changes_of_kind(results, section, comparison, view, MEASURE_HOST_OPERATOR);
    add_changes_of_kind(results, section, comparison, view, MEASURE_MATMUL);
    return section->table_count > 0 ? section : NULL;
}

/* Host time stands for the module only where neither run has a device: with one of them on a
 * device the two times would measure different things. */
static struct section *describe_modules(struct results *results,
                                        const struct run_comparison *comparison,
                                        const struct comparison_view *view)
{
    bool on_host = comparison->a->is_cpu_only && comparison->b->is_cpu_only;
    struct section *section =
        section_new(results, "module_changes", "Modules",
                    on_host ? "Host time in each module and those in it, forward and backward."
                            : "Device time of each module and those in it, forward and backward.");

    add_unknown(results, section,
                &(struct unknown){"modules", "modules", comparison->a->needs_modules,
                                  comparison->b->needs_modules});
    add_changes_of_kind(results, section, comparison, view, MEASURE_MODULE);
    return section->table_count > 0 || section->number_count > 0 ? section : NULL;
}

/* A recording without memory says so with what it needs; the section goes only where neither a
 * table nor such a word is in it. */
static struct section *comparison_describe_memory(struct results *results,
                                                  const struct run_comparison *comparison,
                                                  const struct comparison_view *view)
{
    struct section *section =
        section_new(results, "memory_changes", "Memory",
                    "The most that is allocated in a step, and what it is for at that moment.");

    add_unknown(results, section,
                &(struct unknown){"memory", "memory", comparison->a->needs_memory,
                                  comparison->b->needs_memory});
    add_changes_of_kind(results, section, comparison, view, MEASURE_MEMORY);
    return section->table_count > 0 || section->number_count > 0 ? section : NULL;
}

/* From the answer to its causes: what was compared, what the step's difference is made of,
 * then work, kernels, operators, modules and memory, each of which may explain it. A section
 * that has nothing to show is left out. */
struct rank_results *describe_comparison(struct results *results,
                                         const struct run_comparison *comparison,
                                         const struct comparison_view *view)
{
    struct rank_results *rank = results_add_rank(
        results, "comparison",
        results_format(results, "A: %s, B: %s", comparison->a->file, comparison->b->file), -1,
        speakers_of_both(comparison->a->speakers, comparison->b->speakers));
    struct section *sections[] = {
        describe_runs(results, comparison),
        describe_difference(results, comparison, view),
        describe_work(results, comparison, view),
        describe_kernel_changes(results, comparison, view),
        describe_operators(results, comparison, view),
        describe_modules(results, comparison, view),
        comparison_describe_memory(results, comparison, view),
    };

    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        if (sections[i])
            rank_add_section(results, rank, sections[i]);
    rank->headline = comparison_headline(results, comparison);
    return rank;
}
