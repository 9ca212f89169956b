/* How far the clocks of the ranks are apart, and how well that is known. */
#include "ranks/rank_clocks.h"
#include "sections/ranks/ranks_tables.h"

#define CLOCKS_COLUMNS(COLUMN)                                                             \
    COLUMN("rank", "rank", UNIT_TEXT, 0, BAR_NONE, value_text(rank_text(results, run, i))) \
    COLUMN("offset", "ahead by", UNIT_TIME_NS, 0, BAR_NONE,                                \
           clock->is_known ? value_time_ns(clock->offset_ns) : unknown)                    \
    COLUMN("residual", "left over, median", UNIT_TIME_NS, 0, BAR_NONE,                     \
           clock->call_count ? value_time_ns(clock->residual_ns) : unknown)                \
    COLUMN("residual_max", "at most", UNIT_TIME_NS, 1, BAR_NONE,                           \
           clock->call_count ? value_time_ns(clock->residual_max_ns) : unknown)            \
    COLUMN("collectives", "collectives", UNIT_COUNT, 1, BAR_NONE, value_count(clock->call_count))

void add_clocks_table(struct results *results, struct section *section, const struct all_ranks *run,
                      uint32_t top)
{
    struct table *table;
    bool is_long = run->count > 64;
    uint32_t shown = is_long && top < run->count ? top : run->count;

    if (run->clocks.as_recorded.count == 0)
        return;
    table = section_add_table(results, section, "clocks", "Clocks", COLUMNS_OF(CLOCKS_COLUMNS));
    table->note =
        "Against the first rank's, from the ends of collectives, which end on all ranks at "
        "one moment. Waiting and transfer do not depend on it.";
    table->rows_in_all = run->count;
    for (uint32_t i = 0; i < shown; i++) {
        const struct rank_clock *clock = &run->clocks.clocks[i];
        struct value unknown = value_not_known("needs a collective with the first rank, or with a "
                                               "rank that has one");

        FILL_ROW(table_add_row(results, table, 0), CLOCKS_COLUMNS);
    }
}
