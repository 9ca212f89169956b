/* How far the clocks of the ranks are apart, and how well that is known. */
#include "analyses/ranks_tables.h"

void add_clocks_table(struct results *results, struct section *section, const struct all_ranks *run,
                      uint32_t top)
{
    static const struct column columns[] = {
        {"rank", "rank", UNIT_TEXT, 0, false},
        {"offset", "ahead by", UNIT_TIME_NS, 0, false},
        {"residual", "left over, median", UNIT_TIME_NS, 0, false},
        {"residual_max", "at most", UNIT_TIME_NS, 1, false},
        {"collectives", "collectives", UNIT_COUNT, 1, false},
    };
    struct table *table;
    bool is_long = run->count > 64;
    uint32_t shown = is_long && top < run->count ? top : run->count;

    if (run->clocks.as_recorded.count == 0)
        return;
    table = section_add_table(results, section, "clocks", "Clocks", columns,
                              sizeof columns / sizeof *columns);
    table->note =
        "Against the first rank's, from the ends of collectives, which end on all ranks at "
        "one moment. Waiting and transfer do not depend on it.";
    table->rows_in_all = run->count;
    for (uint32_t i = 0; i < shown; i++) {
        const struct rank_clock *clock = &run->clocks.clocks[i];
        struct value *cells = table_add_row(results, table, 0);
        struct value unknown = value_not_known("needs a collective with the first rank, or with a "
                                               "rank that has one");

        cells[0] = value_text(rank_text(results, run, i));
        cells[1] = clock->is_known ? value_time_ns(clock->offset_ns) : unknown;
        cells[2] = clock->call_count ? value_time_ns(clock->residual_ns) : unknown;
        cells[3] = clock->call_count ? value_time_ns(clock->residual_max_ns) : unknown;
        cells[4] = value_count(clock->call_count);
    }
}
