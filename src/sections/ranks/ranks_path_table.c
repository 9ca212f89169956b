/* Which rank the critical path of all ranks runs through, and what it consists of there. */
#include "base/text/format.h"
#include "ranks/ranks_path.h"
#include "sections/ranks/ranks_tables.h"
#include "sections/tally.h"

#include <stdlib.h>

/* Columns before and behind the parts of a chain. */
enum { BEFORE = 4, BEHIND = 2, COLUMN_COUNT = BEFORE + CHAIN_PART_COUNT + BEHIND };

struct ranked_share {
    const struct rank_path_share *share;
    int64_t length_ns;
    uint32_t rank;
};

/* Ranks with as much of the path stand in the order of their numbers, so that the table is the
 * same in every run. */
static int ranks_path_table_longest_first(const void *left, const void *right)
{
    const struct ranked_share *a = left, *b = right;

    if (a->length_ns != b->length_ns)
        return a->length_ns > b->length_ns ? -1 : 1;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

/* Those that the path runs through, the longest first; [*count], to be freed. */
static struct ranked_share *rank_shares(const struct ranks_path *path, const struct all_ranks *run,
                                        uint32_t *count)
{
    struct ranked_share *ranked = zeroed_array(run->count, sizeof *ranked);

    *count = 0;
    for (uint32_t i = 0; i < run->count; i++) {
        int64_t length_ns = rank_path_share_ns(&path->shares[i]);

        if (length_ns > 0)
            ranked[(*count)++] = (struct ranked_share){&path->shares[i], length_ns, i};
    }
    qsort(ranked, *count, sizeof *ranked, ranks_path_table_longest_first);
    return ranked;
}

/* In the order of the columns: the parts of a chain, then transfer, then what is not known. */
static void find_totals(int64_t *totals_ns, const struct ranks_path *path, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        for (int part = 0; part < CHAIN_PART_COUNT; part++)
            totals_ns[part] += path->shares[i].parts_ns[part];
        totals_ns[CHAIN_PART_COUNT] += path->shares[i].transfer_ns;
        totals_ns[CHAIN_PART_COUNT + 1] += path->shares[i].unknown_ns;
    }
}

#define CRITICAL_PATH_COLUMNS(COLUMN)                                                          \
    COLUMN("rank", "rank", UNIT_TEXT, 0, BAR_NONE,                                             \
           value_text(rank_text(results, run, ranked->rank)))                                  \
    COLUMN("time", "on the path", UNIT_TIME_NS, 0, BAR_NONE, value_time_ns(ranked->length_ns)) \
    COLUMN("share", "of the path", UNIT_FRACTION, 0, BAR,                                      \
           value_fraction(fraction_of(ranked->length_ns, length_ns)))                          \
    COLUMN("came_last", "came last", UNIT_COUNT, 1, BAR_NONE,                                  \
           value_count(ranked->share->late_count))

/* What no rank has is for programs only. Every rank has the same columns for programs; on a page
 * a column that is 0 in all rows only takes room from those that are not. */
static struct table *begin_table(struct results *results, struct section *section,
                                 const struct ranks_path *path, uint32_t count)
{
    struct column columns[COLUMN_COUNT] = {CRITICAL_PATH_COLUMNS(COLUMN_DECLARED)};
    int64_t totals_ns[CHAIN_PART_COUNT + BEHIND] = {0};

    find_totals(totals_ns, path, count);
    for (int part = 0; part < CHAIN_PART_COUNT; part++)
        columns[BEFORE + part] =
            (struct column){chain_part_key((enum chain_part)part),
                            chain_part_title((enum chain_part)part), UNIT_TIME_NS, 2, BAR_NONE};
    columns[COLUMN_COUNT - 2] = (struct column){"transfer", "transfer", UNIT_TIME_NS, 2, BAR_NONE};
    columns[COLUMN_COUNT - 1] = (struct column){"communication_unknown", "communication not known",
                                                UNIT_TIME_NS, 2, BAR_NONE};
    for (int i = BEFORE; i < COLUMN_COUNT; i++)
        if (totals_ns[i - BEFORE] == 0)
            columns[i].priority = PRIORITY_FOR_PROGRAMS;
    return section_add_table(results, section, "critical_path", "Critical path through the ranks",
                             columns, COLUMN_COUNT);
}

static void ranks_path_table_fill_row(struct results *results, struct value *cells,
                                      const struct all_ranks *run,
                                      const struct ranked_share *ranked, int64_t length_ns)
{
    FILL_ROW(cells, CRITICAL_PATH_COLUMNS);
    for (int part = 0; part < CHAIN_PART_COUNT; part++)
        cells[BEFORE + part] = value_time_ns(ranked->share->parts_ns[part]);
    cells[COLUMN_COUNT - 2] = value_time_ns(ranked->share->transfer_ns);
    cells[COLUMN_COUNT - 1] = value_time_ns(ranked->share->unknown_ns);
}

/* The path begins where the rank that it ends up on began, which may be later than the first
 * rank's first step: that difference is printed, so that path and recorded time add up. */
static void add_known_path(struct results *results, struct section *section,
                           const struct all_ranks *run, const struct ranks_path *path, uint32_t top)
{
    uint32_t count, shown;
    struct ranked_share *ranked = rank_shares(path, run, &count);
    struct table *table;

    if (count > 0) {
        section_add_number(
            results, section,
            (struct number){
                "critical_path", "critical path through the ranks", value_time_ns(path->length_ns),
                results_format(
                    results, "%s of it through %s",
                    format_fraction(fraction_of(ranked[0].length_ns, path->length_ns)).text,
                    rank_text(results, run, ranked[0].rank))});
        section_add_number(results, section,
                           (struct number){"critical_path_begins",
                                           "it begins after the first rank by",
                                           value_time_ns(path->recorded_ns - path->length_ns),
                                           "the ranks' first steps did not begin at one moment"});
        table = begin_table(results, section, path, run->count);
        table->note = "From the end of the rank that is done last, back from each collective to "
                      "the rank that came to it last.";
        shown = run->count > 64 && top < count ? top : count;
        for (uint32_t i = 0; i < shown; i++)
            ranks_path_table_fill_row(results, table_add_row(results, table, 0), run, &ranked[i],
                                      path->length_ns);
        table->rows_in_all = count;
    }
    free(ranked);
}

/* A path is known only if the traces of all ranks that it may run through can be replayed: the
 * first that cannot is named, since giving its trace is what helps. */
void add_ranks_path_table(struct results *results, struct section *section,
                          const struct all_ranks *run, uint32_t top)
{
    SCOPED(ranks_path) path = {.is_known = false};
    bool has_calls = false;

    for (uint32_t i = 0; i < run->count; i++)
        has_calls = has_calls || run->ranks[i].digest->call_count > 0;
    if (run->count < 2 || !has_calls)
        return;
    find_ranks_path(&path, run);
    if (path.is_known)
        add_known_path(results, section, run, &path, top);
    else
        section_add_value(
            results, section, "critical_path", "critical path through the ranks",
            value_not_known(results_format(
                results,
                "needs a trace of %s whose replay is within 2 %% of the recording, with "
                "at most 100,000 kernels and copies (--steps)",
                rank_text(results, run, path.lacking))));
}
