/* Each step of each rank: what a heat map is drawn from. */
#include "analyses/ranks_tables.h"
#include "analyses/tally.h"

static void fill_row(struct value *cells, const struct rank_in_run *rank, uint32_t index,
                     const char *label)
{
    const struct digest_step *step = &rank->digest->steps[index];
    const struct exposed_parts *parts = &rank->steps[index];
    int64_t group_ns[ACCOUNT_GROUP_COUNT] = {0};

    for (unsigned account = 0; account < ACCOUNT_COUNT; account++)
        group_ns[account_descriptions[account].group] += step->account_ns[account];
    cells[0] = value_text(label);
    cells[1] = rank->digest->rank < 0 ? value_none() : value_count(rank->digest->rank);
    cells[2] = value_count(step->number);
    cells[3] = value_time_ns(step->end_ns - step->start_ns);
    cells[4] = value_time_ns(group_ns[ACCOUNT_GROUP_COMPUTE]);
    cells[5] = value_time_ns(parts->waiting_ns);
    cells[6] = value_time_ns(parts->transfer_ns);
    cells[7] = value_time_ns(parts->unknown_ns);
    cells[8] = value_time_ns(group_ns[ACCOUNT_GROUP_COPY]);
    cells[9] = value_time_ns(group_ns[ACCOUNT_GROUP_IDLE]);
    cells[10] = step->flops < 0 ? value_none() : value_flops((double)step->flops);
}

void add_rank_steps_table(struct results *results, struct section *section,
                          const struct all_ranks *run)
{
    static const struct column columns[] = {
        {"rank", "rank", UNIT_TEXT, PRIORITY_FOR_PROGRAMS, false},
        {"rank_number", "rank", UNIT_COUNT, PRIORITY_FOR_PROGRAMS, false},
        {"step", "step", UNIT_COUNT, PRIORITY_FOR_PROGRAMS, false},
        {"step_time", "step time", UNIT_TIME_NS, PRIORITY_FOR_PROGRAMS, false},
        {"compute", "compute", UNIT_TIME_NS, PRIORITY_FOR_PROGRAMS, false},
        {"waiting", "waiting", UNIT_TIME_NS, PRIORITY_FOR_PROGRAMS, false},
        {"transfer", "transfer", UNIT_TIME_NS, PRIORITY_FOR_PROGRAMS, false},
        {"wait_unknown", "waiting or transfer", UNIT_TIME_NS, PRIORITY_FOR_PROGRAMS, false},
        {"copies", "copies", UNIT_TIME_NS, PRIORITY_FOR_PROGRAMS, false},
        {"idle", "idle", UNIT_TIME_NS, PRIORITY_FOR_PROGRAMS, false},
        {"flops", "matrix FLOPs", UNIT_FLOPS, PRIORITY_FOR_PROGRAMS, false},
    };
    struct table *table = section_add_table(results, section, "rank_steps", "Steps of each rank",
                                            columns, sizeof columns / sizeof *columns);

    for (uint32_t i = 0; i < run->count; i++) {
        const char *label = rank_text(results, run, i);

        for (uint32_t step = 0; step < run->ranks[i].digest->step_count; step++)
            fill_row(table_add_row(results, table, 0), &run->ranks[i], step, label);
    }
}
