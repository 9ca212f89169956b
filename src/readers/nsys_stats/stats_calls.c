/* The summary of calls that have a nameId. */
#include "readers/nsys_stats/stats_calls.h"

#include "base/core/saturated.h"
#include "readers/nsys/nsys_ids.h"
#include "readers/nsys_stats/stats_groups.h"
#include "readers/nsys_stats/stats_rows.h"

#include <string.h>

/* Names the groups, whose order is the nameId. */
static void name_groups(struct stats_groups *groups, const struct nsys_database *database,
                        bool is_versioned)
{
    char name[1024];

    for (uint32_t i = 0; i < groups->count; i++) {
        struct stats_group *group = &groups->groups[i];
        const char *text = is_versioned ? api_name(database, group->order, name, sizeof name)
                                        : nsys_string(database, group->order);

        if (text)
            group->name = string_pool_text(&groups->names,
                                           string_pool_add(&groups->names, text, strlen(text)));
    }
}

/* By nameId while reading, which is a number per row; texts are looked up once per group. */
void fill_call_summary(struct stats_table *table, struct nsys_database *database,
                       const struct call_selection *selection)
{
    static const char *const columns[] = {"start", "end", "nameId", "eventClass", NULL};
    struct stats_groups groups = {0};
    struct sqlite_rows rows = {0};

    sqlite_rows_open(&rows, &database->file, selection->table, columns);
    while (sqlite_rows_next(&rows)) {
        if (selection->event_class >= 0 && sqlite_rows_has(&rows, 3) &&
            sqlite_integer(&rows, 3, -1) != selection->event_class)
            continue;
        stats_values_add(
            &stats_groups_get(&groups, (uint64_t)sqlite_integer(&rows, 2, INT64_MIN))->values,
            saturated_difference(sqlite_integer(&rows, 1, 0), sqlite_integer(&rows, 0, 0)));
    }
    sqlite_rows_clear(&rows);
    name_groups(&groups, database, selection->is_versioned);
    stats_groups_fill(&groups, table, false);
    stats_groups_clear(&groups);
}
