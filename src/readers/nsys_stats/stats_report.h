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
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Which of its names a kernel goes by: with template arguments, without, or as the linker has it.
 */
enum kernel_name_form { KERNEL_NAME_FULL, KERNEL_NAME_BASE, KERNEL_NAME_MANGLED };

/* A table that a report is of. Without it there is no report. */
struct stats_need {
    const char *table;
    const char *what; /* "CUDA kernels" */
};

#define NEEDS_KERNELS                                \
    {                                                \
        "CUPTI_ACTIVITY_KIND_KERNEL", "CUDA kernels" \
    }
#define NEEDS_CALLS                                     \
    {                                                   \
        "CUPTI_ACTIVITY_KIND_RUNTIME", "CUDA API calls" \
    }
#define NEEDS_RANGES                 \
    {                                \
        "NVTX_EVENTS", "NVTX ranges" \
    }

enum { STATS_NEEDS_MAX = 3 };

struct stats_report {
    const char *name;           /* "cuda_gpu_kern_sum" */
    const char *title;          /* "CUDA GPU Kernel Summary" */
    const char *const *columns; /* their titles; NULL behind the last */
    struct stats_need needs[STATS_NEEDS_MAX];
    bool has_kernel_names; /* takes :base and :mangled */
    /* `table` has its columns, and the file all that the report needs. */
    /* False with `error` set (ERROR_NO_DATA) where the file lacks what the report is of. */
    bool (*fill)(struct stats_table *table, struct nsys_database *database,
                 enum kernel_name_form form, struct error *error);
};

/* "cuda_gpu_kern_sum" or "cuda_gpu_kern_sum:base"; NULL with `error` set (ERROR_USAGE, with the
 * nearest name) where there is none. */
const struct stats_report *find_stats_report(const char *text, enum kernel_name_form *form,
                                             struct error *error);

/* Writes reports of nsys-stats: as a table for people, and as `nsys stats` writes CSV and JSON. */

enum stats_format {
    STATS_AS_TEXT, /* for people: aligned; where `width` columns do not hold it all, names are
                   shortened and what is less important is left out */
    STATS_AS_CSV,  /* a line of titles, then one a row; quoted where needed */
    STATS_AS_JSON, /* an array with an object a row, whose keys are the titles */
};

struct stats_page_settings {
    int format;    /* enum stats_format */
    int64_t width; /* columns; 0: those of the terminal */
};

enum { STATS_REPORTS_MAX = 64 };

/* The reports that were asked for, in that order. */
struct chosen_stats {
    struct {
        const struct stats_report *report;
        enum kernel_name_form form;
    } reports[STATS_REPORTS_MAX];
    size_t count;
};

/* The reports of these names; of none, those that a training run is most often asked for. Errors
 * (ERROR_USAGE): no such report, too many. */
MUST_USE bool choose_stats_reports(struct chosen_stats *chosen, char **names, int count,
                                   struct error *error);

/* What one of several reports lacks is told in its place; false where none could be filled. Write
 * errors show in ferror(output). */
MUST_USE bool stats_write_reports(FILE *output, struct nsys_database *database,
                                  const struct chosen_stats *chosen,
                                  const struct stats_page_settings *settings, struct error *error);

#endif
