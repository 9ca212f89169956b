/* Collectives of all ranks: how much of their time is waiting, how fast the transfer is, and which
 * groups are slower than others that do the same. */
#include "base/core/hash_map.h"
#include "base/core/saturated.h"
#include "base/text/format.h"
#include "sections/ranks/ranks_tables.h"
#include "sections/tally.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A group is slow where it takes so many times as long as the middle one of at least so many. */
#define SLOW_GROUP_FACTOR 1.25
enum { SLOW_GROUP_OF = 3 };

/* Collectives that do the same: of one kind, size class and group size, in groups that divide the
 * same axes. */
struct joint_kind {
    enum collective_kind kind;
    int64_t group_size;
    uint32_t axes;        /* bit a: the members differ in axis a */
    uint32_t count;       /* collectives */
    uint32_t partial;     /* of these, with ranks that are not here */
    int64_t bytes;        /* of those whose size is known, which then is all of them; -1: not */
    int64_t transfer_ns;  /* one for each collective */
    int64_t kernel_ns;    /* of all ranks */
    int64_t waiting_ns;   /* of all ranks */
    uint32_t first_group; /* in pairs below */
    uint32_t group_count;
};

/* One group in one kind: what is compared. */
struct group_in_kind {
    uint32_t kind;
    uint32_t group;
    uint32_t count;
    int64_t transfer_ns;
};

struct kinds_view {
    struct results *results;
    const struct all_ranks *run;
    struct joint_kind *kinds;
    uint32_t kind_count;
    struct group_in_kind *groups; /* by kind and then by time for each collective */
    uint32_t group_count;
    struct hash_map kind_of;
    struct hash_map shape_of; /* axes and group size: a number */
    struct hash_map group_of;
    uint32_t *axes; /* [joins.group_count] */
};

/* ---- collecting ----------------------------------------------------------------------------- */

/* The axes in which the members of the collective differ. Told from the members, not from the
 * name of the group: a name is what a framework chose ("dp", "mesh_tp", a number), while the
 * places of the ranks in the layout are known. Comparing all with the first suffices: an axis in
 * which any two differ is one in which one of them differs from the first. */
static uint32_t axes_of(const struct all_ranks *run, const struct joined_call *join)
{
    const struct join_member *members = &run->joins.members[join->first];
    const int32_t *first = run->ranks[members[0].rank].coordinates;
    uint32_t axes = 0;

    for (uint32_t i = 1; i < join->count; i++)
        for (unsigned axis = 0; axis < AXIS_COUNT; axis++)
            if (run->ranks[members[i].rank].coordinates[axis] != first[axis])
                axes |= 1U << axis;
    return axes;
}

/* Over all calls of a group: one call may lack members whose traces are not here, so that only
 * all of them together tell every axis. */
static void find_axes(struct kinds_view *view)
{
    const struct call_joins *joins = &view->run->joins;

    view->axes = zeroed_array(joins->group_count, sizeof *view->axes);
    for (uint32_t i = 0; i < joins->join_count; i++) {
        const struct joined_call *join = &joins->joins[i];

        if (join->count >= 2)
            view->axes[join->group] |= axes_of(view->run, join);
    }
}

/* Five numbers make a kind, and a key of the map has 64 bits. So axes and group size first
 * become a small number of their own; that, with kind and size class, is the second key. The
 * size is what the group says of itself, where it does: the ranks that are here may be fewer,
 * and bandwidth depends on the real size. Sizes are classes of a power of two: gradients of
 * buckets that differ by a few bytes are one kind of work. */
static struct joint_kind *kind_of_join(struct kinds_view *view, const struct joined_call *join,
                                       uint32_t *index)
{
    const struct call_joins *joins = &view->run->joins;
    const struct joint_group *group = &joins->groups[join->group];
    const struct join_member *first = &joins->members[join->first];
    const struct digest_call *call = &view->run->ranks[first->rank].digest->calls[first->call];
    uint32_t axes = view->axes[join->group];
    int64_t size = group->size > 0 ? group->size : group->rank_count;
    uint32_t shape = hash_map_add(&view->shape_of, pair_key(axes, (uint32_t)size),
                                  (uint32_t)view->shape_of.count);
    uint32_t what = call->kind | message_size_class(join->bytes) << 8;

    *index = hash_map_add(&view->kind_of, pair_key(shape, what), view->kind_count);
    if (*index == view->kind_count)
        view->kinds[view->kind_count++] =
            (struct joint_kind){.kind = (enum collective_kind)call->kind,
                                .group_size = size,
                                .axes = axes,
                                .bytes = join->bytes < 0 ? -1 : 0};
    return &view->kinds[*index];
}

/* A group is compared only with others that do the same kind of call, so the key is the pair.
 * Sums saturate: clocks of ranks that are far apart give absurd times, which must not wrap to
 * small ones. */
static void ranks_collectives_add_to_group(struct kinds_view *view, uint32_t kind,
                                           const struct joined_call *join)
{
    uint32_t index = hash_map_add(&view->group_of, pair_key(kind, join->group), view->group_count);
    struct group_in_kind *group = &view->groups[index];

    if (index == view->group_count) {
        view->group_count++;
        *group = (struct group_in_kind){.kind = kind, .group = join->group};
    }
    group->count++;
    group->transfer_ns = saturated_sum(group->transfer_ns, join->transfer_ns);
}

/* One member in a step is enough: ranks mark their steps at different moments, and a
 * collective at the border of two would else be lost. */
static bool ranks_collectives_is_in_a_step(const struct all_ranks *run,
                                           const struct joined_call *join)
{
    const struct join_member *members = &run->joins.members[join->first];

    for (uint32_t i = 0; i < join->count; i++)
        if (run->ranks[members[i].rank].digest->calls[members[i].call].step >= 0)
            return true;
    return false;
}

/* The transfer lasts equally long for all members, from when the last one came until the end;
 * so it counts once for a collective, while kernel time and waiting count for each rank. Of a
 * rank, waiting is what its kernel took beyond the transfer, and needs no clock of another
 * rank. */
static void ranks_collectives_add_join(struct kinds_view *view, const struct joined_call *join)
{
    const struct call_joins *joins = &view->run->joins;
    uint32_t index;
    struct joint_kind *kind = kind_of_join(view, join, &index);

    kind->count++;
    kind->partial += join->count < kind->group_size;
    if (kind->bytes >= 0)
        kind->bytes = saturated_sum(kind->bytes, join->bytes);
    kind->transfer_ns = saturated_sum(kind->transfer_ns, join->transfer_ns);
    for (uint32_t i = 0; i < join->count; i++) {
        const struct join_member *member = &joins->members[join->first + i];
        int64_t ns = view->run->ranks[member->rank].digest->calls[member->call].duration_ns;

        kind->kernel_ns = saturated_sum(kind->kernel_ns, ns);
        kind->waiting_ns = saturated_sum(kind->waiting_ns, ns - join->transfer_ns);
    }
    ranks_collectives_add_to_group(view, index, join);
}

static double ns_per_collective(const struct group_in_kind *group)
{
    return (double)group->transfer_ns / group->count;
}

/* By time of one collective, not by the sum: groups may have taken part in more or fewer. */
static int ranks_collectives_compare_groups(const void *left, const void *right)
{
    const struct group_in_kind *a = left;
    const struct group_in_kind *b = right;
    double a_ns = ns_per_collective(a), b_ns = ns_per_collective(b);

    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a_ns < b_ns || a_ns > b_ns)
        return a_ns < b_ns ? -1 : 1;
    return a->group < b->group ? -1 : a->group > b->group;
}

/* Sorting brings the groups of a kind together, from the fastest to the slowest: the median is
 * then in the middle of a kind's range, and the slowest at its end. Going backwards, the last
 * one to set first_group is the first of the range. A kind without any group cannot be: both
 * are added with the same call. */
static void ranks_collectives_collect(struct kinds_view *view)
{
    const struct call_joins *joins = &view->run->joins;

    view->kinds = zeroed_array(joins->join_count, sizeof *view->kinds);
    view->groups = zeroed_array(joins->join_count, sizeof *view->groups);
    find_axes(view);
    for (uint32_t i = 0; i < joins->join_count; i++)
        if (joins->joins[i].transfer_ns >= 0 &&
            ranks_collectives_is_in_a_step(view->run, &joins->joins[i]))
            ranks_collectives_add_join(view, &joins->joins[i]);
    qsort(view->groups, view->group_count, sizeof *view->groups, ranks_collectives_compare_groups);
    for (uint32_t i = view->group_count; i-- > 0;) {
        view->kinds[view->groups[i].kind].first_group = i;
        view->kinds[view->groups[i].kind].group_count++;
    }
}

/* ---- printing ------------------------------------------------------------------------------- */

static const char *axes_text(struct results *results, uint32_t axes)
{
    const char *text = "";

    for (unsigned axis = 0; axis < AXIS_COUNT; axis++)
        if (axes >> axis & 1)
            text = results_format(results, "%s%s%s", text, *text ? "+" : "",
                                  layout_axis_key((enum layout_axis)axis));
    return text;
}

/* The first to the last of the ranks that are here, or the pair. The shortest name that tells a
 * reader where to look: of a pair its two ends, of a group its list of ranks if that is short,
 * else its first and last rank, as some complete call of it names them. */
static const char *group_text(struct results *results, const struct all_ranks *run, uint32_t group)
{
    const struct joint_group *joint = &run->joins.groups[group];

    if (joint->source >= 0)
        return results_format(results, "%d to %d", joint->source, joint->destination);
    if (*joint->ranks && strlen(joint->ranks) <= 24)
        return results_format(results, "ranks %s", joint->ranks);
    for (uint32_t i = 0; i < run->joins.join_count; i++) {
        const struct joined_call *join = &run->joins.joins[i];
        const struct join_member *members = &run->joins.members[join->first];

        if (join->group == group && join->count == joint->rank_count)
            return results_format(results, "%s ... %s", rank_text(results, run, members[0].rank),
                                  rank_text(results, run, members[join->count - 1].rank));
    }
    return *joint->name ? results_format(results, "group %s", joint->name) : "";
}

/* The slowest group of a kind, where it stands out; NULL otherwise. The median of the groups,
 * not their mean: one slow group moves the mean towards itself and hides. With two groups there
 * is no middle one, and one of them would always be slower than the other. */
static const struct group_in_kind *slow_group(const struct kinds_view *view,
                                              const struct joint_kind *kind)
{
    const struct group_in_kind *groups = &view->groups[kind->first_group];
    const struct group_in_kind *slowest = &groups[kind->group_count - 1];

    if (kind->group_count < SLOW_GROUP_OF ||
        ns_per_collective(slowest) <=
            SLOW_GROUP_FACTOR * ns_per_collective(&groups[kind->group_count / 2]))
        return NULL;
    return slowest;
}

/* The links of the run's devices, where they are all alike; 0: not known. Of a job on different
 * devices no one rate is the bound. */
static int64_t link_rate(const struct all_ranks *run)
{
    int64_t rate = run->count ? run->ranks[0].digest->link_bytes_per_second : 0;

    for (uint32_t i = 1; i < run->count; i++)
        if (run->ranks[i].digest->link_bytes_per_second != rate)
            return 0;
    return rate;
}

struct kind_rates {
    struct value algorithm;
    struct value bus;
    struct value link_share;
};

/* Algorithm bandwidth is the message over the time; bus bandwidth multiplies it by what each
 * rank sends for a byte of the message, as nccl-tests define it (doc/PERFORMANCE.md: 2(n-1)/n
 * for all-reduce, (n-1)/n for all-gather and reduce-scatter), so that it compares with the
 * rate of the links. Here the time is that of the transfer alone: with the waiting in it, as a
 * single rank sees it, a straggler would look like a slow network. */
static struct kind_rates rates_of(const struct joint_kind *kind, int64_t link)
{
    double factor = collective_bus_factor(kind->kind, kind->group_size);
    double rate = (double)kind->bytes * 1e9 / (double)kind->transfer_ns;
    bool has_bus = kind->kind != COLLECTIVE_BARRIER && kind->kind != COLLECTIVE_OTHER;
    struct value no_size =
        value_not_known("needs the NCCL metadata of PyTorch 2.2 or later, or recorded shapes");

    if (kind->bytes < 0 || kind->transfer_ns <= 0)
        return (struct kind_rates){no_size, has_bus ? no_size : value_none(), value_none()};
    if (!has_bus)
        return (struct kind_rates){value_bytes_per_second(rate), value_none(), value_none()};
    return (struct kind_rates){
        .algorithm = value_bytes_per_second(rate),
        .bus = value_bytes_per_second(rate * factor),
        .link_share = link <= 0 ? value_not_known("needs the rate of the device's links: see "
                                                  "'flopledger device'")
                                : value_fraction(rate * factor / (double)link),
    };
}

#define COLLECTIVES_COLUMNS(COLUMN)                                                               \
    COLUMN("collective", "collective", UNIT_TEXT, 0, BAR_NONE,                                    \
           value_text(collective_kind_title(kind->kind)))                                         \
    COLUMN("axes", "across", UNIT_TEXT, 2, BAR_NONE,                                              \
           kind->axes ? value_text(axes_text(view->results, kind->axes)) : value_none())          \
    COLUMN("group_size", "ranks", UNIT_COUNT, 1, BAR_NONE, value_count(kind->group_size))         \
    COLUMN("groups", "groups", UNIT_COUNT, 4, BAR_NONE, value_count(kind->group_count))           \
    COLUMN("count", "count", UNIT_COUNT, 2, BAR_NONE, value_count(kind->count))                   \
    COLUMN("message", "message", UNIT_BYTES, 0, BAR_NONE,                                         \
           kind->bytes < 0                                                                        \
               ? value_not_known("needs the NCCL metadata of PyTorch 2.2 or later, or "           \
                                 "recorded shapes")                                               \
               : value_bytes(kind->bytes / kind->count))                                          \
    COLUMN("kernel_time", "all ranks", UNIT_TIME_NS, 1, BAR_NONE, value_time_ns(kind->kernel_ns)) \
    COLUMN("waiting_share", "of it waiting", UNIT_FRACTION, 0, BAR_NONE,                          \
           value_fraction(fraction_of(kind->waiting_ns, kind->kernel_ns)))                        \
    COLUMN("transfer", "transfer", UNIT_TIME_NS, 0, BAR_NONE,                                     \
           value_time_ns(kind->transfer_ns / kind->count))                                        \
    COLUMN("algorithm_bandwidth", "algorithm bw", UNIT_BYTES_PER_SECOND, 3, BAR_NONE,             \
           rates.algorithm)                                                                       \
    COLUMN("bus_bandwidth", "bus bw", UNIT_BYTES_PER_SECOND, 1, BAR_NONE, rates.bus)              \
    COLUMN("link_share", "of the links", UNIT_FRACTION, 2, BAR_NONE, rates.link_share)            \
    COLUMN("slow_group", "slow group", UNIT_TEXT, 3, BAR_NONE,                                    \
           slow ? value_text(group_text(view->results, view->run, slow->group)) : value_none())   \
    COLUMN("partial", "with ranks missing", UNIT_COUNT, PRIORITY_FOR_PROGRAMS, BAR_NONE,          \
           value_count(kind->partial))                                                            \
    COLUMN("collective_key", "collective", UNIT_TEXT, PRIORITY_FOR_PROGRAMS, BAR_NONE,            \
           value_text(collective_kind_key(kind->kind)))

/* A group that is slow is named in the row of its kind, too, so that the table alone tells of
 * it. */
static void ranks_collectives_fill_row(struct value *cells, const struct kinds_view *view,
                                       const struct joint_kind *kind, int64_t link)
{
    const struct group_in_kind *slow = slow_group(view, kind);
    const struct kind_rates rates = rates_of(kind, link);

    FILL_ROW(cells, COLLECTIVES_COLUMNS);
}

/* By kernel time of all ranks: what costs the job most, be it waiting or transfer. */
static int compare_kinds(const void *left, const void *right)
{
    const struct joint_kind *a = left;
    const struct joint_kind *b = right;

    if (a->kernel_ns != b->kernel_ns)
        return a->kernel_ns > b->kernel_ns ? -1 : 1;
    return a->first_group < b->first_group ? -1 : a->first_group > b->first_group;
}

/* The groups of a kind are sorted, so that the middle one is the median. */
static void add_slow_groups(const struct kinds_view *view, struct section *section)
{
    for (uint32_t i = 0; i < view->kind_count; i++) {
        const struct joint_kind *kind = &view->kinds[i];
        const struct group_in_kind *slow = slow_group(view, kind);
        double middle_ns;

        if (!slow)
            continue;
        middle_ns = ns_per_collective(&view->groups[kind->first_group + kind->group_count / 2]);
        section_add_note(view->results, section,
                         results_format(view->results, "slow links: %s among %s",
                                        collective_kind_title(kind->kind),
                                        group_text(view->results, view->run, slow->group)),
                         results_format(view->results,
                                        "transfer %s a collective, the median of %u such groups %s",
                                        format_time((int64_t)ns_per_collective(slow)).text,
                                        kind->group_count, format_time((int64_t)middle_ns).text),
                         "look at the links, switches and placement of these ranks");
    }
}

/* Slow groups are looked for before the kinds are sorted for printing; a kind finds its groups
 * by its own range, whatever its place, so that the order of these two does not matter. */
void add_joint_collectives_table(struct results *results, struct section *section,
                                 const struct all_ranks *run, uint32_t top)
{
    struct kinds_view view = {.results = results, .run = run};
    struct table *table;

    ranks_collectives_collect(&view);
    if (view.kind_count > 0) {
        table = section_add_table(results, section, "collectives", "Collectives of all ranks",
                                  COLUMNS_OF(COLLECTIVES_COLUMNS));
        table->note =
            "transfer: of one collective, from when its last rank came. Bandwidths are of "
            "the transfer alone.";
        table->rows_in_all = view.kind_count;
        add_slow_groups(&view, section);
        qsort(view.kinds, view.kind_count, sizeof *view.kinds, compare_kinds);
        for (uint32_t i = 0; i < view.kind_count && i < top; i++)
            ranks_collectives_fill_row(table_add_row(results, table, 0), &view, &view.kinds[i],
                                       link_rate(run));
    }
    free(view.kinds);
    free(view.groups);
    free(view.axes);
    hash_map_clear(&view.kind_of);
    hash_map_clear(&view.shape_of);
    hash_map_clear(&view.group_of);
}
