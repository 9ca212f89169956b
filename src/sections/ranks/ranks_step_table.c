/* Each step of each rank: what a heat map is drawn from. */
#include "ranks/rank_clocks.h"
#include "sections/ranks/ranks_tables.h"
#include "sections/tally.h"

#define CLOCKS_COLUMNS(COLUMN)                                                             \
    COLUMN("rank", "rank", UNIT_TEXT, 0, BAR_NONE, value_text(rank_text(results, run, i))) \
    COLUMN("offset", "ahead by", UNIT_TIME_NS, 0, BAR_NONE,                                \
           clock->is_known ? value_time_ns(clock->offset_ns) : unknown)                    \
    COLUMN("residual", "left over, median", UNIT_TIME_NS, 0, BAR_NONE,                     \
           clock->call_count ? value_time_ns(clock->residual_ns) : unknown)                \
    COLUMN("residual_max", "at most", UNIT_TIME_NS, 1, BAR_NONE,                           \
           clock->call_count ? value_time_ns(clock->residual_max_ns) : unknown)            \
    COLUMN("collectives", "collectives", UNIT_COUNT, 1, BAR_NONE, value_count(clock->call_count))

/* Beyond 64 ranks the table is cut: nobody reads a thousand clocks, and what depends on them
 * does not need the table. */
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

#define RANK_STEPS_COLUMNS(COLUMN)                                                                 \
    COLUMN("rank", "rank", UNIT_TEXT, PRIORITY_FOR_PROGRAMS, BAR_NONE, value_text(label))          \
    COLUMN("rank_number", "rank", UNIT_COUNT, PRIORITY_FOR_PROGRAMS, BAR_NONE,                     \
           rank->digest->rank < 0 ? value_none() : value_count(rank->digest->rank))                \
    COLUMN("step", "step", UNIT_COUNT, PRIORITY_FOR_PROGRAMS, BAR_NONE, value_count(step->number)) \
    COLUMN("step_time", "step time", UNIT_TIME_NS, PRIORITY_FOR_PROGRAMS, BAR_NONE,                \
           value_time_ns(step->end_ns - step->start_ns))                                           \
    COLUMN("compute", "compute", UNIT_TIME_NS, PRIORITY_FOR_PROGRAMS, BAR_NONE,                    \
           value_time_ns(group_ns[ACCOUNT_GROUP_COMPUTE]))                                         \
    COLUMN("waiting", "waiting", UNIT_TIME_NS, PRIORITY_FOR_PROGRAMS, BAR_NONE,                    \
           value_time_ns(parts->waiting_ns))                                                       \
    COLUMN("transfer", "transfer", UNIT_TIME_NS, PRIORITY_FOR_PROGRAMS, BAR_NONE,                  \
           value_time_ns(parts->transfer_ns))                                                      \
    COLUMN("wait_unknown", "waiting or transfer", UNIT_TIME_NS, PRIORITY_FOR_PROGRAMS, BAR_NONE,   \
           value_time_ns(parts->unknown_ns))                                                       \
    COLUMN("copies", "copies", UNIT_TIME_NS, PRIORITY_FOR_PROGRAMS, BAR_NONE,                      \
           value_time_ns(group_ns[ACCOUNT_GROUP_COPY]))                                            \
    COLUMN("idle", "idle", UNIT_TIME_NS, PRIORITY_FOR_PROGRAMS, BAR_NONE,                          \
           value_time_ns(group_ns[ACCOUNT_GROUP_IDLE]))                                            \
    COLUMN("flops", "matrix FLOPs", UNIT_FLOPS, PRIORITY_FOR_PROGRAMS, BAR_NONE,                   \
           step->flops < 0 ? value_none() : value_flops((double)step->flops))

static void ranks_step_fill_row(struct value *cells, const struct rank_in_run *rank, uint32_t index,
                                const char *label)
{
    const struct digest_step *step = &rank->digest->steps[index];
    const struct exposed_parts *parts = &rank->steps[index];
    int64_t group_ns[ACCOUNT_GROUP_COUNT] = {0};

    for (unsigned account = 0; account < ACCOUNT_COUNT; account++)
        group_ns[account_descriptions[account].group] += step->account_ns[account];
    FILL_ROW(cells, RANK_STEPS_COLUMNS);
}

void add_rank_steps_table(struct results *results, struct section *section,
                          const struct all_ranks *run)
{
    struct table *table = section_add_table(results, section, "rank_steps", "Steps of each rank",
                                            COLUMNS_OF(RANK_STEPS_COLUMNS));

    for (uint32_t i = 0; i < run->count; i++) {
        const char *label = rank_text(results, run, i);

        for (uint32_t step = 0; step < run->ranks[i].digest->step_count; step++)
            ranks_step_fill_row(table_add_row(results, table, 0), &run->ranks[i], step, label);
    }
}
