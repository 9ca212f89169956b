/* What a report of `flopledger nsys-stats` is: a table with the columns and numbers that the report
 * of `nsys stats` with this name has.
 *
 * To add one: write nsys_stats/<name>.c with `const struct stats_report <name>_stats`, and one line
 * STATS_REPORT(<name>) in list.def. */
#ifndef FLOPLEDGER_READERS_NSYS_STATS_STATS_REPORT_H
#define FLOPLEDGER_READERS_NSYS_STATS_STATS_REPORT_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "readers/nsys/nsys_database.h"
#include "readers/nsys_stats/stats_table.h"

#include <stdbool.h>

/* Which of its names a kernel goes by: with template arguments, without, or as the linker has it.
 */
enum kernel_name_form { KERNEL_NAME_FULL, KERNEL_NAME_BASE, KERNEL_NAME_MANGLED };

struct stats_report {
    const char *name;      /* "cuda_gpu_kern_sum" */
    const char *title;     /* "CUDA GPU Kernel Summary" */
    bool has_kernel_names; /* takes :base and :mangled */
    /* False with `error` set (ERROR_NO_DATA) where the file lacks what the report is of. */
    bool (*fill)(struct stats_table *table, struct nsys_database *database,
                 enum kernel_name_form form, struct error *error);
};

/* NULL-terminated, in the order of list.def. */
const struct stats_report *const *all_stats_reports(void);

/* "cuda_gpu_kern_sum" or "cuda_gpu_kern_sum:base"; NULL with `error` set (ERROR_USAGE, with the
 * nearest name) where there is none. */
const struct stats_report *find_stats_report(const char *text, enum kernel_name_form *form,
                                             struct error *error);

#endif
