/* How unequal the ranks are: time, FLOPs and memory, the most beside the mean. */
#include "analyses/ranks_tables.h"
#include "analyses/tally.h"
#include "base/format.h"

/* One quantity of each rank; -1: not known. */
struct quantity {
    const char *key;
    const char *title;
    enum unit unit;
    int64_t (*of_rank)(const struct rank_in_run *rank);
};

static int64_t compute_of(const struct rank_in_run *rank)
{
    return rank_mean_ns(rank, digest_account_ns(rank->digest, ACCOUNT_MATRIX) +
                                  digest_account_ns(rank->digest, ACCOUNT_OTHER_COMPUTE));
}

static int64_t flops_of(const struct rank_in_run *rank)
{
    int64_t total = -1;

    for (uint32_t i = 0; i < rank->digest->step_count; i++)
        if (rank->digest->steps[i].flops >= 0)
            total = saturated_sum(total < 0 ? 0 : total, rank->digest->steps[i].flops);
    return total < 0 ? -1 : rank_mean_ns(rank, total);
}

static int64_t waiting_of(const struct rank_in_run *rank)
{
    return rank->communication.joined_count
               ? rank_mean_ns(rank, rank->communication.exposed.waiting_ns)
               : -1;
}

static int64_t allocated_of(const struct rank_in_run *rank)
{
    return rank->digest->peak_allocated_bytes;
}

static int64_t reserved_of(const struct rank_in_run *rank)
{
    return rank->digest->peak_reserved_bytes;
}

static struct value as_value(enum unit unit, double number)
{
    if (unit == UNIT_FLOPS)
        return value_flops(number);
    return unit == UNIT_BYTES ? value_bytes((int64_t)number) : value_time_ns((int64_t)number);
}

static const char *as_text(struct results *results, enum unit unit, double number)
{
    struct short_text text = unit == UNIT_FLOPS   ? format_flops(number)
                             : unit == UNIT_BYTES ? format_bytes((int64_t)number)
                                                  : format_time((int64_t)number);

    return results_text(results, text.text);
}

static void add_quantity(struct results *results, struct table *table, const struct all_ranks *run,
                         const struct quantity *quantity)
{
    int64_t least = INT64_MAX, most = -1;
    uint32_t with_least = 0, with_most = 0, known = 0;
    double sum = 0, mean;
    struct value *cells;

    for (uint32_t i = 0; i < run->count; i++) {
        int64_t number = quantity->of_rank(&run->ranks[i]);

        if (number < 0)
            continue;
        known++;
        sum += (double)number;
        if (number < least) {
            least = number;
            with_least = i;
        }
        if (number > most) {
            most = number;
            with_most = i;
        }
    }
    if (known < 2 || most == 0)
        return;
    mean = sum / known;
    cells = table_add_row(results, table, 0);
    cells[0] = value_text(quantity->title);
    cells[1] = value_text(as_text(results, quantity->unit, (double)least));
    cells[2] = value_text(as_text(results, quantity->unit, mean));
    cells[3] = value_text(as_text(results, quantity->unit, (double)most));
    cells[4] = value_number((double)most / mean);
    cells[5] = value_text(rank_text(results, run, with_most));
    cells[6] = value_text(rank_text(results, run, with_least));
    cells[7] = value_text(quantity->key);
    cells[8] = as_value(quantity->unit, (double)least);
    cells[9] = as_value(quantity->unit, mean);
    cells[10] = as_value(quantity->unit, (double)most);
}

void add_imbalance_table(struct results *results, struct section *section,
                         const struct all_ranks *run)
{
    static const struct column columns[] = {
        {"quantity", "of each rank", UNIT_TEXT, 0, false},
        {"least_text", "least", UNIT_TEXT, 1, false},
        {"mean_text", "mean", UNIT_TEXT, 0, false},
        {"most_text", "most", UNIT_TEXT, 0, false},
        {"imbalance", "most / mean", UNIT_NUMBER, 0, false},
        {"most_rank", "which has most", UNIT_TEXT, 1, false},
        {"least_rank", "least", UNIT_TEXT, 3, false},
        {"key", "key", UNIT_TEXT, PRIORITY_FOR_PROGRAMS, false},
        {"least", "least", UNIT_NUMBER, PRIORITY_FOR_PROGRAMS, false},
        {"mean", "mean", UNIT_NUMBER, PRIORITY_FOR_PROGRAMS, false},
        {"most", "most", UNIT_NUMBER, PRIORITY_FOR_PROGRAMS, false},
    };
    static const struct quantity quantities[] = {
        {"step_time", "step time", UNIT_TIME_NS, rank_mean_step_ns},
        {"compute", "compute, a step", UNIT_TIME_NS, compute_of},
        {"waiting", "waiting, a step", UNIT_TIME_NS, waiting_of},
        {"flops", "matrix FLOPs, a step", UNIT_FLOPS, flops_of},
        {"allocated", "peak memory, allocated", UNIT_BYTES, allocated_of},
        {"reserved", "peak memory, reserved", UNIT_BYTES, reserved_of},
    };
    struct table *table = section_add_table(results, section, "imbalance", "How unequal they are",
                                            columns, sizeof columns / sizeof *columns);

    for (size_t i = 0; i < sizeof quantities / sizeof *quantities; i++)
        add_quantity(results, table, run, &quantities[i]);
}
