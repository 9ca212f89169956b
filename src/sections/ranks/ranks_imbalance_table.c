/* How unequal the ranks are: time, FLOPs and memory, the most beside the mean. */
#include "base/core/invariant.h"
#include "base/core/saturated.h"
#include "base/core/search.h"
#include "base/text/format.h"
#include "ledger/collective_call.h"
#include "ranks/all_ranks.h"
#include "sections/ranks/ranks_tables.h"
#include "sections/tally.h"

#include <stdlib.h>

/* One quantity of each rank; -1: not known. */
struct quantity {
    const char *key;
    const char *title;
    enum unit unit;
    int64_t (*of_rank)(const struct rank_in_run *rank);
    const char *needs; /* what would tell it; NULL: it is left out where nothing does */
    double uneven;     /* most / mean from which on it is a finding; 0: never */
    const char *uneven_what;
    const char *uneven_try;
};

struct imbalance {
    struct results *results;
    struct section *section;
    struct table *table;
    const struct all_ranks *run;
    int64_t *numbers; /* [run->count]: of the quantity, -1 not known */
};

/* The least and the most of all ranks that tell. */
struct spread {
    int64_t least;
    int64_t most;
    double mean;
    uint32_t with_least; /* ranks */
    uint32_t with_most;
    uint32_t known;
};

/* ---- work that all-to-all calls move: with a mixture of experts, what a rank's experts get ----
 */

/* What the call sends and receives; NULL: it does not tell. Exchanges are in order of their
 * calls. */
static const struct digest_exchange *exchange_of(const struct rank_digest *digest, uint32_t call)
{
    uint32_t low = LOWER_BOUND(i, 0, digest->exchange_count, digest->exchanges[i].call < call);

    return low < digest->exchange_count && digest->exchanges[low].call == call
               ? &digest->exchanges[low]
               : NULL;
}

static const struct digest_exchange *exchange_of_member(const struct all_ranks *run,
                                                        const struct join_member *member)
{
    return exchange_of(run->ranks[member->rank].digest, member->call);
}

/* The largest less the smallest part; false where a member does not tell its own, or is outside of
 * the steps. */
static bool measure_routed_spread(const struct all_ranks *run, const struct joined_call *join,
                                  int64_t *sent, int64_t *received)
{
    int64_t most_sent = 0, most_received = 0, least_sent = INT64_MAX, least_received = INT64_MAX;

    for (uint32_t i = 0; i < join->count; i++) {
        const struct join_member *member = &run->joins.members[join->first + i];
        const struct digest_exchange *exchange = exchange_of_member(run, member);

        if (!exchange || run->ranks[member->rank].digest->calls[member->call].step < 0)
            return false;
        most_sent = exchange->sent_bytes > most_sent ? exchange->sent_bytes : most_sent;
        least_sent = exchange->sent_bytes < least_sent ? exchange->sent_bytes : least_sent;
        most_received =
            exchange->received_bytes > most_received ? exchange->received_bytes : most_received;
        least_received =
            exchange->received_bytes < least_received ? exchange->received_bytes : least_received;
    }
    *sent = most_sent - least_sent;
    *received = most_received - least_received;
    return true;
}

/* Whichever side differs more between the ranks is the routed one: tokens are sent in unequal
 * parts to experts (received differ) and come back (sent differ), and both are the same work
 * of the experts. */
static void add_routed_join(int64_t *bytes, const struct all_ranks *run,
                            const struct joined_call *join)
{
    int64_t sent, received;

    if (join->count < 2 || join->is_mismatched ||
        !measure_routed_spread(run, join, &sent, &received))
        return;
    for (uint32_t i = 0; i < join->count; i++) {
        const struct join_member *member = &run->joins.members[join->first + i];
        const struct digest_exchange *exchange = exchange_of_member(run, member);
        int64_t part = received >= sent ? exchange->received_bytes : exchange->sent_bytes;
        int64_t *sum = &bytes[member->rank];

        if (*sum < 0)
            *sum = 0;
        if (__builtin_add_overflow(*sum, part, sum))
            *sum = INT64_MAX;
    }
}

/* Fills bytes[run->count] with what was routed to each rank in its steps; -1 where no all-to-all of
 * the rank tells what it sends and receives, on all ranks that are here. Of a collective that
 * brings the ranks unequal parts, what a rank receives is routed to it; of one to which they
 * contribute unequal parts, what it sends back. */
static void sum_routed_bytes(int64_t *bytes, const struct all_ranks *run)
{
    for (uint32_t i = 0; i < run->count; i++)
        bytes[i] = -1;
    for (uint32_t i = 0; i < run->joins.join_count; i++)
        add_routed_join(bytes, run, &run->joins.joins[i]);
}

static bool has_all_to_all(const struct all_ranks *run)
{
    for (uint32_t i = 0; i < run->count; i++)
        for (uint32_t call = 0; call < run->ranks[i].digest->call_count; call++)
            if (run->ranks[i].digest->calls[call].kind == COLLECTIVE_ALL_TO_ALL)
                return true;
    return false;
}

/* ---- the table ---- */

static int64_t compute_of(const struct rank_in_run *rank)
{
    return rank_mean_ns(rank, digest_account_ns(rank->digest, ACCOUNT_MATRIX) +
                                  digest_account_ns(rank->digest, ACCOUNT_OTHER_COMPUTE));
}

/* A rank's number is known if that of any of its steps is; -1 is kept apart from 0, which is a
 * rank without such work. */
static int64_t ranks_imbalance_flops_of(const struct rank_in_run *rank)
{
    int64_t total = -1;

    for (uint32_t i = 0; i < rank->digest->step_count; i++)
        if (rank->digest->steps[i].flops >= 0)
            total = saturated_sum(total < 0 ? 0 : total, rank->digest->steps[i].flops);
    return total < 0 ? -1 : rank_mean_ns(rank, total);
}

/* -1 where no step tells: zero tokens are a rank without work, which is another thing. */
static int64_t tokens_of(const struct rank_in_run *rank)
{
    int64_t total = -1;

    for (uint32_t i = 0; i < rank->digest->step_count; i++)
        if (rank->digest->steps[i].tokens >= 0)
            total = saturated_sum(total < 0 ? 0 : total, rank->digest->steps[i].tokens);
    return total < 0 ? -1 : rank_mean_ns(rank, total);
}

/* Known only where a call of the rank was joined with another rank's: alone, a trace does not
 * tell waiting from transfer. */
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
    if (unit == UNIT_COUNT)
        return value_count((int64_t)number);
    return unit == UNIT_BYTES ? value_bytes((int64_t)number) : value_time_ns((int64_t)number);
}

static const char *as_text(struct results *results, enum unit unit, double number)
{
    struct short_text text = unit == UNIT_FLOPS   ? format_flops(number)
                             : unit == UNIT_BYTES ? format_bytes((int64_t)number)
                             : unit == UNIT_COUNT ? format_count((int64_t)number)
                                                  : format_time((int64_t)number);

    return results_text(results, text.text);
}

/* Of numbers[count]: one a rank, -1 not known. Most over mean, and not over least, is what
 * imbalance costs: all ranks wait for the one with the most, and with equal shares each would
 * have the mean. An idle rank makes the least 0 and most over least infinite, though it costs
 * the job hardly anything. Of equal ranks the first is named. */
static struct spread ranks_imbalance_measure_spread(const int64_t *numbers, uint32_t count)
{
    struct spread spread = {.least = INT64_MAX, .most = -1};
    double sum = 0;

    for (uint32_t i = 0; i < count; i++) {
        if (numbers[i] < 0)
            continue;
        spread.known++;
        sum += (double)numbers[i];
        if (numbers[i] < spread.least) {
            spread.least = numbers[i];
            spread.with_least = i;
        }
        if (numbers[i] > spread.most) {
            spread.most = numbers[i];
            spread.with_most = i;
        }
    }
    spread.mean = spread.known ? sum / spread.known : 0;
    return spread;
}

/* What a row says of numbers that fewer than two ranks tell: nothing but what would. */
static struct value ranks_imbalance_if_known(const struct spread *spread, struct value value)
{
    return spread->known < 2 ? value_none() : value;
}

#define IMBALANCE_COLUMNS(COLUMN)                                                               \
    COLUMN("quantity", "of each rank", UNIT_TEXT, 0, BAR_NONE, value_text(quantity->title))     \
    COLUMN("least_text", "least", UNIT_TEXT, 1, BAR_NONE,                                       \
           ranks_imbalance_if_known(&spread,                                                    \
                                    value_text(as_text(results, unit, (double)spread.least))))  \
    COLUMN("mean_text", "mean", UNIT_TEXT, 0, BAR_NONE,                                         \
           spread.known < 2 ? value_not_known(quantity->needs)                                  \
                            : value_text(as_text(results, unit, spread.mean)))                  \
    COLUMN("most_text", "most", UNIT_TEXT, 0, BAR_NONE,                                         \
           ranks_imbalance_if_known(&spread,                                                    \
                                    value_text(as_text(results, unit, (double)spread.most))))   \
    COLUMN("imbalance", "most / mean", UNIT_NUMBER, 0, BAR_NONE,                                \
           ranks_imbalance_if_known(&spread, value_number((double)spread.most / spread.mean)))  \
    COLUMN("most_rank", "which has most", UNIT_TEXT, 1, BAR_NONE,                               \
           ranks_imbalance_if_known(                                                            \
               &spread, value_text(rank_text(results, imbalance->run, spread.with_most))))      \
    COLUMN("least_rank", "least", UNIT_TEXT, 3, BAR_NONE,                                       \
           ranks_imbalance_if_known(                                                            \
               &spread, value_text(rank_text(results, imbalance->run, spread.with_least))))     \
    COLUMN("key", "key", UNIT_TEXT, PRIORITY_FOR_PROGRAMS, BAR_NONE, value_text(quantity->key)) \
    COLUMN("least", "least", UNIT_NUMBER, PRIORITY_FOR_PROGRAMS, BAR_NONE,                      \
           ranks_imbalance_if_known(&spread, as_value(unit, (double)spread.least)))             \
    COLUMN("mean", "mean", UNIT_NUMBER, PRIORITY_FOR_PROGRAMS, BAR_NONE,                        \
           ranks_imbalance_if_known(&spread, as_value(unit, spread.mean)))                      \
    COLUMN("most", "most", UNIT_NUMBER, PRIORITY_FOR_PROGRAMS, BAR_NONE,                        \
           ranks_imbalance_if_known(&spread, as_value(unit, (double)spread.most)))

static void ranks_imbalance_add_row(const struct imbalance *imbalance,
                                    const struct quantity *quantity, struct spread spread)
{
    struct results *results = imbalance->results;
    enum unit unit = quantity->unit;

    FILL_ROW(table_add_row(results, imbalance->table, 0), IMBALANCE_COLUMNS);
}

/* With fewer than two ranks that tell, there is no spread; a row then only says what would
 * tell it, and only where the trace could have. A quantity that is 0 everywhere has no row: 0
 * / 0. */
static void add_quantity(const struct imbalance *imbalance, const struct quantity *quantity)
{
    struct results *results = imbalance->results;
    struct spread spread =
        ranks_imbalance_measure_spread(imbalance->numbers, imbalance->run->count);
    double factor = (double)spread.most / spread.mean;

    if (spread.known < 2 && imbalance->run->count >= 2 && quantity->needs)
        ranks_imbalance_add_row(imbalance, quantity, spread);
    if (spread.known < 2 || spread.most == 0)
        return;
    ranks_imbalance_add_row(imbalance, quantity, spread);
    if (quantity->uneven > 0 && factor >= quantity->uneven)
        section_add_note(
            results, imbalance->section,
            results_format(results, "%s: %s has %.2f times the mean", quantity->uneven_what,
                           rank_text(results, imbalance->run, spread.with_most), factor),
            results_format(results, "%s a step, the mean of the ranks %s",
                           as_text(results, quantity->unit, (double)spread.most),
                           as_text(results, quantity->unit, spread.mean)),
            quantity->uneven_try);
}

/* What all-to-all calls route to each rank, where there are any. All ranks at once, unlike the
 * other quantities: what a rank receives is told by the calls of those that send. */
static void fill_routed(int64_t *numbers, const struct all_ranks *run)
{
    sum_routed_bytes(numbers, run);
    for (uint32_t i = 0; i < run->count; i++)
        if (numbers[i] >= 0)
            numbers[i] = rank_mean_ns(&run->ranks[i], numbers[i]);
}

static const struct quantity quantities[] = {
    {.key = "step_time", "step time", UNIT_TIME_NS, rank_mean_step_ns},
    {.key = "compute", "compute, a step", UNIT_TIME_NS, compute_of},
    {.key = "waiting", "waiting, a step", UNIT_TIME_NS, waiting_of},
    {.key = "flops",
     "matrix FLOPs, a step",
     UNIT_FLOPS,
     ranks_imbalance_flops_of,
     "needs shapes: record_shapes=True, or flopledger run without --no-shapes"},
    {.key = "tokens",
     .title = "tokens, a step",
     .unit = UNIT_COUNT,
     .of_rank = tokens_of,
     .needs = "needs shapes and a call of aten::embedding, or capture.json beside "
              "the trace: flopledger run",
     .uneven = 1.1,
     .uneven_what = "tokens out of balance",
     .uneven_try = "pack or sort samples by length, so that all ranks get as many tokens"},
    {.key = "routed",
     .title = "routed, a step",
     .unit = UNIT_BYTES,
     .needs = "needs the NCCL metadata of PyTorch 2.2 or later on all ranks",
     .uneven = 1.25,
     .uneven_what = "experts out of balance",
     .uneven_try = "a stronger load-balancing loss, a lower capacity factor, or experts placed "
                   "anew"},
    {.key = "allocated",
     "memory, allocated",
     UNIT_BYTES,
     allocated_of,
     "needs profile_memory=True, or flopledger run --memory"},
    {.key = "reserved", "memory, reserved", UNIT_BYTES, reserved_of},
};

/* Routed bytes exist only where there are all-to-all calls: for a job without experts the row
 * would ask for metadata that it cannot use. */
void add_imbalance_table(struct results *results, struct section *section,
                         const struct all_ranks *run)
{
    struct imbalance imbalance = {
        .results = results,
        .section = section,
        .table = section_add_table(results, section, "imbalance", "Load imbalance",
                                   COLUMNS_OF(IMBALANCE_COLUMNS)),
        .run = run,
        .numbers = require_memory(calloc((size_t)run->count + 1, sizeof *imbalance.numbers)),
    };

    for (size_t i = 0; i < sizeof quantities / sizeof *quantities; i++) {
        if (!quantities[i].of_rank && !has_all_to_all(run))
            continue;
        if (!quantities[i].of_rank)
            fill_routed(imbalance.numbers, run);
        for (uint32_t rank = 0; quantities[i].of_rank && rank < run->count; rank++)
            imbalance.numbers[rank] = quantities[i].of_rank(&run->ranks[rank]);
        add_quantity(&imbalance, &quantities[i]);
    }
    free(imbalance.numbers);
}
