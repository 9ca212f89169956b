/* Copies and memsets, grouped. */
#include "readers/nsys_stats/stats_copies.h"

#include "base/core/saturated.h"
#include "readers/nsys/nsys_ids.h"
#include "readers/nsys_stats/stats_rows.h"

static int64_t stats_copies_value_of(const struct sqlite_rows *rows, bool is_by_bytes)
{
    return is_by_bytes
               ? sqlite_integer(rows, 2, 0)
               : saturated_difference(sqlite_integer(rows, 1, 0), sqlite_integer(rows, 0, 0));
}

/* Copies of a kind without a label are left out: they have no name to stand under. */
bool group_copies(struct stats_groups *groups, struct nsys_database *database, bool is_by_bytes,
                  struct error *error)
{
    static const char *const columns[] = {"start", "end", "bytes", "copyKind", NULL};
    struct kind_labels labels;
    struct sqlite_rows rows = {0};
    char name[96];

    if (!sqlite_has_table(&database->file, "CUPTI_ACTIVITY_KIND_MEMCPY") &&
        !sqlite_has_table(&database->file, "CUPTI_ACTIVITY_KIND_MEMSET"))
        return error_set(error, ERROR_NO_DATA,
                         "the file holds no copies and no memsets of a device (it has no table "
                         "CUPTI_ACTIVITY_KIND_MEMCPY or CUPTI_ACTIVITY_KIND_MEMSET)");
    read_copy_labels(&labels, database);
    sqlite_rows_open(&rows, &database->file, "CUPTI_ACTIVITY_KIND_MEMCPY", columns);
    while (sqlite_rows_next(&rows)) {
        if (copy_operation_name(&labels, sqlite_integer(&rows, 3, -1), name, sizeof name))
            stats_values_add(&stats_groups_named(groups, name)->values,
                             stats_copies_value_of(&rows, is_by_bytes));
    }
    sqlite_rows_clear(&rows);
    sqlite_rows_open(&rows, &database->file, "CUPTI_ACTIVITY_KIND_MEMSET", columns);
    while (sqlite_rows_next(&rows))
        stats_values_add(&stats_groups_named(groups, "[CUDA memset]")->values,
                         stats_copies_value_of(&rows, is_by_bytes));
    sqlite_rows_clear(&rows);
    return true;
}
