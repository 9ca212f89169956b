/* Calls in which the ranks of a group do not do the same. */
#include "ranks/hang/flight_mismatch.h"

#include "base/core/array.h"

#include <stdlib.h>
#include <string.h>

enum compared_size { SIZE_OF_INPUT, SIZE_OF_OUTPUT, SIZE_OF_EXCHANGE, SIZE_OF_NEITHER };

enum {
    CALLS_LOOKED_AT = 8, /* to tell a shift from a different call */
    KINDS_MAX = 16,      /* ways to differ in one call: more are not counted apart */
};

static enum compared_size compared_size_of(const char *name)
{
    static const struct {
        const char *name;
        enum compared_size size;
    } ops[] = {
#define OP(name, which) {#name, SIZE_OF_##which},
#include "ranks/hang/flight_op_list.def"
#undef OP
    };

    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (strcmp(ops[i].name, name) == 0)
            return ops[i].size;
    return SIZE_OF_NEITHER;
}

static bool sizes_differ(enum compared_size size, const struct flight_entry *a,
                         const struct flight_entry *b)
{
    if (size == SIZE_OF_INPUT)
        return a->input_elements >= 0 && b->input_elements >= 0 &&
               a->input_elements != b->input_elements;
    return size == SIZE_OF_OUTPUT && a->output_elements >= 0 && b->output_elements >= 0 &&
           a->output_elements != b->output_elements;
}

bool flight_members_differ(const struct flight_join *join, const struct flight_member *member,
                           const struct flight_member *usual, enum flight_difference *difference)
{
    const struct flight_entry *a = flight_entry_of(join, member);
    const struct flight_entry *b = flight_entry_of(join, usual);
    enum compared_size size = compared_size_of(flight_text(join->dumps, b->name));

    if (a->name != b->name)
        *difference = FLIGHT_OTHER_OPERATION;
    else if (size == SIZE_OF_NEITHER)
        return false;
    else if (a->dtypes != b->dtypes && a->dtypes && b->dtypes)
        *difference = FLIGHT_OTHER_TYPE;
    else if (sizes_differ(size, a, b))
        *difference = FLIGHT_OTHER_SIZE;
    else
        return false;
    return true;
}

/* ---- one call ---- */

/* Members that agree, by the first of them. */
struct kind {
    size_t member;
    size_t count;
};

/* The first member of the kind that the most ranks agree on; of two as many, the lower rank's. */
static size_t usual_member(const struct flight_join *join, const struct flight_call *call)
{
    struct kind kinds[KINDS_MAX] = {{.member = call->first}};
    size_t kind_count = 0;
    size_t best = 0;

    for (size_t i = call->first; i < call->first + call->count; i++) {
        enum flight_difference ignored;
        size_t k = 0;

        while (k < kind_count && flight_members_differ(join, &join->members[i],
                                                       &join->members[kinds[k].member], &ignored))
            k++;
        if (k == KINDS_MAX)
            continue;
        if (k == kind_count)
            kinds[kind_count++] = (struct kind){.member = i};
        kinds[k].count++;
    }
    for (size_t k = 1; k < kind_count; k++)
        if (kinds[k].count > kinds[best].count)
            best = k;
    return kinds[best].member;
}

static bool check_exchange(const struct flight_join *join, const struct flight_call *call,
                           struct flight_mismatch *mismatch)
{
    const struct flight_group *group = &join->dumps->groups[call->group];
    int64_t sent = 0;
    int64_t received = 0;

    if (call->count < group->rank_count || !group->are_ranks_known)
        return false;
    for (size_t i = 0; i < call->count; i++) {
        const struct flight_entry *entry = flight_entry_of(join, &join->members[call->first + i]);

        if (compared_size_of(flight_text(join->dumps, entry->name)) != SIZE_OF_EXCHANGE ||
            entry->input_elements < 0 || entry->output_elements < 0 ||
            __builtin_add_overflow(sent, entry->input_elements, &sent) ||
            __builtin_add_overflow(received, entry->output_elements, &received))
            return false;
    }
    mismatch->difference = FLIGHT_UNEVEN_EXCHANGE;
    mismatch->odd = mismatch->usual = call->first;
    mismatch->odd_count = call->count;
    mismatch->sent = sent;
    mismatch->received = received;
    return sent != received;
}

static bool flight_mismatch_check_call(const struct flight_join *join,
                                       const struct flight_call *call,
                                       struct flight_mismatch *mismatch)
{
    enum flight_difference difference;

    *mismatch = (struct flight_mismatch){.call = (size_t)(call - join->calls)};
    if (call->count < 2)
        return false;
    mismatch->usual = usual_member(join, call);
    for (size_t i = 0; i < call->count; i++) {
        size_t member = call->first + i;

        if (!flight_members_differ(join, &join->members[member], &join->members[mismatch->usual],
                                   &difference))
            continue;
        if (mismatch->odd_count++ > 0)
            continue;
        mismatch->odd = member;
        mismatch->difference = difference;
    }
    return mismatch->odd_count > 0 || check_exchange(join, call, mismatch);
}

/* ---- how the calls lie against each other ---- */

/* Entries of one rank and of another, some calls on. */
struct rank_pair {
    const struct flight_join *join;
    const struct flight_call *call;
    uint32_t odd_rank;
    uint32_t usual_rank;
};

/* Whether the odd rank's call `odd_offset` further on is the usual one's at `usual_offset`; -1: one
 * of them is not recorded. */
static int same_call(const struct rank_pair *pair, uint32_t odd_offset, uint32_t usual_offset)
{
    const struct flight_join *join = pair->join;
    const struct flight_call *odd =
        flight_find_call(join, pair->call->group, pair->call->sequence + odd_offset, 0);
    const struct flight_call *usual =
        flight_find_call(join, pair->call->group, pair->call->sequence + usual_offset, 0);
    const struct flight_member *a = odd ? flight_member_of(join, odd, pair->odd_rank) : NULL;
    const struct flight_member *b = usual ? flight_member_of(join, usual, pair->usual_rank) : NULL;
    enum flight_difference difference;

    if (!a || !b)
        return -1;
    return !flight_members_differ(join, a, b, &difference);
}

/* Whether the calls fit with the offsets given, at as many places as are recorded; at least two. */
static bool flight_mismatch_fits(const struct rank_pair *pair, uint32_t odd_offset,
                                 uint32_t usual_offset)
{
    int fitting = 0;

    for (uint32_t i = 0; i < CALLS_LOOKED_AT; i++) {
        int same = same_call(pair, odd_offset + i, usual_offset + i);

        if (same == 0)
            return false;
        fitting += same == 1;
    }
    return fitting >= 2;
}

static enum flight_shift flight_mismatch_find_shift(const struct flight_join *join,
                                                    const struct flight_mismatch *mismatch)
{
    struct rank_pair pair = {
        .join = join,
        .call = &join->calls[mismatch->call],
        .odd_rank = flight_rank_of(join, &join->members[mismatch->odd]),
        .usual_rank = flight_rank_of(join, &join->members[mismatch->usual]),
    };

    if (mismatch->difference == FLIGHT_UNEVEN_EXCHANGE)
        return FLIGHT_NO_SHIFT;
    if (same_call(&pair, 0, 1) == 1 && same_call(&pair, 1, 0) == 1)
        return FLIGHT_SWAPPED;
    if (flight_mismatch_fits(&pair, 0, 1))
        return FLIGHT_SKIPPED_ONE;
    return flight_mismatch_fits(&pair, 1, 0) ? FLIGHT_EXTRA_ONE : FLIGHT_NO_SHIFT;
}

/* ---- all of them ---- */

static void add_mismatch(struct flight_mismatches *found, const struct flight_mismatch *mismatch)
{
    ARRAY_ADD(found->mismatches, found->count, *mismatch);
}

void flight_find_mismatches(struct flight_mismatches *found, const struct flight_join *join)
{
    for (size_t i = 0; i < join->call_count; i++) {
        const struct flight_call *call = &join->calls[i];
        struct flight_mismatch *last = found->count ? &found->mismatches[found->count - 1] : NULL;
        struct flight_mismatch mismatch;

        if (!flight_mismatch_check_call(join, call, &mismatch))
            continue;
        if (last && join->calls[last->call].group == call->group) {
            last->later++;
            continue;
        }
        mismatch.shift = flight_mismatch_find_shift(join, &mismatch);
        add_mismatch(found, &mismatch);
    }
}

void flight_mismatches_clear(struct flight_mismatches *found)
{
    free(found->mismatches);
    memset(found, 0, sizeof *found);
}
