/* Rows that several reports of nsys-stats are made of. */
#ifndef FLOPLEDGER_READERS_NSYS_STATS_STATS_ROWS_H
#define FLOPLEDGER_READERS_NSYS_STATS_STATS_ROWS_H

#include "readers/nsys/nsys_database.h"
#include "readers/nsys_stats/stats_report.h"

#include <stdbool.h>
#include <stdint.h>

/* Titles of the columns of stats_groups_fill, before those of what is grouped. */
#define SUMMARY_COLUMNS(count_title)                                                            \
    "Time (%)", "Total Time (ns)", count_title, "Avg (ns)", "Med (ns)", "Min (ns)", "Max (ns)", \
        "StdDev (ns)"

/* The column of CUPTI_ACTIVITY_KIND_KERNEL that holds the name of this form; the full one where the
 * file does not have it. */
const char *kernel_name_column(struct nsys_database *database, enum kernel_name_form form);

/* "Host-to-Device" for a copyKind, "Pinned" for a memory kind: as the file itself says, else as all
 * known versions do. */
enum { LABELS_MAX = 16 };
struct kind_labels {
    char labels[LABELS_MAX][48]; /* empty: not known */
};
void read_copy_labels(struct kind_labels *labels, struct nsys_database *database);
void read_memory_labels(struct kind_labels *labels, struct nsys_database *database);
/* NULL where it is not known. */
const char *kind_label(const struct kind_labels *labels, int64_t kind);

/* "[CUDA memcpy Host-to-Device]"; false where the kind is not known. */
bool copy_operation_name(const struct kind_labels *labels, int64_t kind, char *to, size_t size);

/* The name of an API call without its version, in `to`; NULL where there is none. */
const char *api_name(const struct nsys_database *database, int64_t name_id, char *to, size_t size);

#endif
