/* A comparison as sections of results: what every report prints. */
#ifndef FLOPLEDGER_SECTIONS_COMPARISON_COMPARISON_SECTIONS_H
#define FLOPLEDGER_SECTIONS_COMPARISON_COMPARISON_SECTIONS_H

#include "output/results/results.h"
#include "sections/comparison/run_comparison.h"
#include "sections/comparison/run_profile.h"

#include <stdbool.h>
#include <stdint.h>

struct comparison_view {
    uint32_t top; /* rows of a long table; UINT32_MAX for all */
    bool only_significant;
};

/* Adds what changed to `results` as one rank, the headline with it; returns it for sections of the
 * caller. */
struct rank_results *describe_comparison(struct results *results,
                                         const struct run_comparison *comparison,
                                         const struct comparison_view *view);

/* ---- the parts of it ---- */

/* "B is 1.25x as fast: ..." */
const char *comparison_headline(struct results *results, const struct run_comparison *comparison);

/* What each run is, and in what they differ before anything is measured. */
struct section *describe_runs(struct results *results, const struct run_comparison *comparison);

/* From A's step to B's, account by account: adds up exactly. */
struct section *describe_difference(struct results *results,
                                    const struct run_comparison *comparison,
                                    const struct comparison_view *view);

/* Kernels: those that share a name, and of each operator those that only one run has. */
struct section *describe_kernel_changes(struct results *results,
                                        const struct run_comparison *comparison,
                                        const struct comparison_view *view);

/* ---- rows of changes ---- */

/* What stands beside the times of a row. */
enum change_extras { CHANGES_ALONE, CHANGES_WITH_CALLS, CHANGES_WITH_CALLS_AND_SHAPES };

/* Of a table of changes. */
struct change_columns {
    const char *key; /* of what stands in the first column: "operator" */
    const char *title;
    enum unit unit; /* of most rows */
    enum change_extras extras;
};

struct table *add_change_table(struct results *results, struct section *section, const char *key,
                               const char *title, const struct change_columns *columns);

/* How a row stands in its table. */
struct change_label {
    const char *text; /* NULL: the measure's title */
    int depth;
};

void add_change_row(struct results *results, struct table *table,
                    const struct run_comparison *comparison, const struct change *change,
                    struct change_label label);

/* All changes of a kind, the largest first: a table for each unit, none where there are none. */
void add_changes_of_kind(struct results *results, struct section *section,
                         const struct run_comparison *comparison,
                         const struct comparison_view *view, enum measure_kind kind);

/* True where the row may be shown. */
bool change_is_shown(const struct change *change, const struct comparison_view *view);

/* A mean in the measure's unit. */
struct value mean_as_value(const struct measure *measure, double mean);

/* Adds to both profiles measures MEASURE_RENAMED: for each operator and class the sum of kernels
 * that the other run has not. Its name is the operator's, its detail the class's key. Where both
 * runs have a sum of one operator, its kernels were renamed; else they are new, or gone. */
void match_renamed_kernels(struct run_profile *a, struct run_profile *b);

/* The sum of `profile` that the kernel, which only one of the runs has, would be in; NULL: none. */
const struct measure *find_renamed(const struct run_profile *profile, const struct measure *kernel);

#endif
