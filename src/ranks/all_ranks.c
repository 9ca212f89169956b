/* All ranks of a run together. */
#include "ranks/all_ranks.h"

#include "base/core/hash_map.h"
#include "base/core/invariant.h"
#include "base/core/search.h"
#include "ranks/call_join.h"
#include "ranks/one_run.h"
#include "ranks/rank_digest.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- exposed parts --------------------------------------------------------------------------- */

/* Exposed communication of a rank, split into waiting and transfer: a walk over its exposed
 * stretches with the calls that are open in them. */

/* A call that is open at some moment of a stretch. */
struct open_call {
    int64_t start_ns;
    int64_t ready_ns; /* when the last rank came, by this rank's clock; INT64_MAX: not known */
    int64_t end_ns;
    uint32_t index; /* in the calls of the rank */
    bool is_known;
    bool is_send_or_receive;
};

struct splitter {
    const struct rank_digest *digest;
    const struct call_joins *joins;
    uint32_t rank;
    struct open_call *open; /* [open_count], by start */
    size_t open_count;
    uint32_t next_call;
};

static void open_call(struct splitter *splitter, uint32_t index)
{
    const struct digest_call *call = &splitter->digest->calls[index];
    int64_t waiting_ns = waiting_of_call(splitter->digest, splitter->rank, index, splitter->joins);

    splitter->open[splitter->open_count++] = (struct open_call){
        .start_ns = call->start_ns,
        .ready_ns = waiting_ns < 0 ? INT64_MAX : call->start_ns + waiting_ns,
        .end_ns = call->start_ns + call->duration_ns,
        .index = index,
        .is_known = waiting_ns >= 0,
        .is_send_or_receive = call->kind == COLLECTIVE_SEND_RECEIVE,
    };
}

/* Opens the calls that start before `end_ns` and closes those that end by `start_ns`. */
static void move_on(struct splitter *splitter, int64_t start_ns, int64_t end_ns)
{
    const struct rank_digest *digest = splitter->digest;
    size_t kept = 0;

    while (splitter->next_call < digest->call_count &&
           digest->calls[splitter->next_call].start_ns < end_ns)
        open_call(splitter, splitter->next_call++);
    for (size_t i = 0; i < splitter->open_count; i++)
        if (splitter->open[i].end_ns > start_ns)
            splitter->open[kept++] = splitter->open[i];
    splitter->open_count = kept;
}

/* What goes on from `time_ns` until the returned moment, at most `end_ns`. */
struct moment {
    int64_t until_ns;
    bool is_transfer;
    bool is_unknown;
    const struct open_call *waits; /* the first call that waits; NULL: none */
};

static void cut_at(struct moment *moment, int64_t time_ns, int64_t cut_ns)
{
    if (cut_ns > time_ns && cut_ns < moment->until_ns)
        moment->until_ns = cut_ns;
}

/* Until the next moment at which any open call starts, has its last rank, or ends: between
 * such moments nothing changes, so the whole of it goes to one part. */
static struct moment exposed_split_look_at(const struct splitter *splitter, int64_t time_ns,
                                           int64_t end_ns)
{
    struct moment moment = {.until_ns = end_ns};

    for (size_t i = 0; i < splitter->open_count; i++) {
        const struct open_call *call = &splitter->open[i];

        cut_at(&moment, time_ns, call->start_ns);
        cut_at(&moment, time_ns, call->ready_ns);
        cut_at(&moment, time_ns, call->end_ns);
        if (call->start_ns > time_ns || call->end_ns <= time_ns)
            continue;
        if (!call->is_known)
            moment.is_unknown = true;
        else if (call->ready_ns <= time_ns)
            moment.is_transfer = true;
        else if (!moment.waits)
            moment.waits = call;
    }
    return moment;
}

/* Several calls may be open at once, and each moment counts once. Transfer goes first: bytes
 * that move are progress, whoever else is waited for. What cannot be joined goes before waiting:
 * such a call may be moving bytes, and a wait that is told must be one. Of several calls that
 * wait, the first one has the wait, since it held up the others. */
static void exposed_split_attribute(struct exposed_parts *parts, int64_t *waits_ns,
                                    const struct moment *moment, int64_t ns)
{
    if (moment->is_transfer) {
        parts->transfer_ns += ns;
    } else if (moment->is_unknown || !moment->waits) {
        parts->unknown_ns += ns;
    } else {
        parts->waiting_ns += ns;
        waits_ns[moment->waits->index] += ns;
        if (moment->waits->is_send_or_receive)
            parts->bubble_ns += ns;
    }
}

/* Splits the exposed communication of a rank, adding to steps[step_count]. What of its waiting is
 * for which of its calls is added to waits_ns[call_count]. */
static void split_exposed(struct exposed_parts *steps, int64_t *waits_ns,
                          const struct rank_digest *digest, uint32_t rank,
                          const struct call_joins *joins)
{
    struct splitter splitter = {.digest = digest, .joins = joins, .rank = rank};

    splitter.open = require_memory(calloc((size_t)digest->call_count + 1, sizeof *splitter.open));
    for (uint32_t i = 0; i < digest->exposed_count; i++) {
        const struct digest_interval *interval = &digest->exposed[i];
        int64_t time_ns = interval->start_ns;

        move_on(&splitter, interval->start_ns, interval->end_ns);
        while (time_ns < interval->end_ns) {
            struct moment moment = exposed_split_look_at(&splitter, time_ns, interval->end_ns);

            exposed_split_attribute(&steps[interval->step], waits_ns, &moment,
                                    moment.until_ns - time_ns);
            time_ns = moment.until_ns;
        }
    }
    free(splitter.open);
}

/* ---- where a wait began ---------------------------------------------------------------------- */

/* Where a wait began.
 *
 * A waits in a collective J for L, which came last. Since A and L were together before, L may have
 * stalled in other collectives, in which A is not, and waited there for others. Had M come to
 * these in time, L would have left them that much earlier: if what L lost to M is at least half of
 * A's wait, the wait is M's doing and not L's, and the same is asked of M. Only what L exposed
 * counts: while it computes beside a collective, it is not held up. Collectives in which all ranks
 * end together count alone, since a receive that waits is what a pipeline is made of; and only
 * those of one step.
 *
 * Each wait has one root, so all roots' waits sum to all waiting. The search goes back in time from
 * rank to rank, DEPTH_MAX times at most, and looks at CALLS_MAX calls of each: most often at one,
 * as ranks that wait for each other are together often. */

enum { DEPTH_MAX = 32, CALLS_MAX = 512, CULPRITS_MAX = 16 };

struct root_search {
    const struct rank_digest *const *digests;
    const struct call_joins *joins;
};

static const struct digest_call *called_by(const struct root_search *search,
                                           struct join_member call)
{
    return &search->digests[call.rank]->calls[call.call];
}

static const struct joined_call *join_of_call(const struct root_search *search,
                                              struct join_member call)
{
    uint32_t join = search->joins->join_of[call.rank][call.call];

    return join == NO_JOIN ? NULL : &search->joins->joins[join];
}

/* The call of `rank` in a collective; false where it is not in it. Members are in order of rank. */
static bool find_call_of_rank(struct join_member *member, const struct root_search *search,
                              const struct joined_call *join, uint32_t rank)
{
    const struct join_member *members = &search->joins->members[join->first];
    uint32_t place = LOWER_BOUND(i, 0, join->count, members[i].rank < rank);

    if (place == join->count || members[place].rank != rank)
        return false;
    *member = members[place];
    return true;
}

/* How much of [start_ns, end_ns) is exposed communication of the rank. Stretches are disjoint
 * and in order: O(log stretches + those inside). */
static int64_t exposed_within_ns(const struct rank_digest *digest, int64_t start_ns, int64_t end_ns)
{
    uint32_t first =
        LOWER_BOUND(i, 0, digest->exposed_count, digest->exposed[i].end_ns <= start_ns);
    int64_t sum_ns = 0;

    for (uint32_t i = first; i < digest->exposed_count && digest->exposed[i].start_ns < end_ns;
         i++) {
        const struct digest_interval *interval = &digest->exposed[i];
        int64_t from_ns = interval->start_ns > start_ns ? interval->start_ns : start_ns;
        int64_t until_ns = interval->end_ns < end_ns ? interval->end_ns : end_ns;

        sum_ns += until_ns - from_ns;
    }
    return sum_ns;
}

/* How long the rank stalled in the call until the last came; 0 where it did not, or nothing
 * tells. */
static int64_t held_up_ns(const struct root_search *search, struct join_member call)
{
    const struct rank_digest *digest = search->digests[call.rank];
    const struct digest_call *own = called_by(search, call);
    int64_t waiting_ns;

    if (!join_of_call(search, call) || !ends_together((enum collective_kind)own->kind))
        return 0;
    waiting_ns = waiting_of_call(digest, call.rank, call.call, search->joins);
    return waiting_ns <= 0 ? 0
                           : exposed_within_ns(digest, own->start_ns, own->start_ns + waiting_ns);
}

/* Whom a rank has waited for, and how long in all. */
struct culprits {
    struct culprit_of_wait {
        struct join_member call; /* its own, in the latest such collective */
        int64_t held_up_ns;
    } list[CULPRITS_MAX];
    unsigned count;
};

static void add_culprit(struct culprits *culprits, const struct root_search *search,
                        struct join_member call)
{
    int64_t ns = held_up_ns(search, call);
    const struct joined_call *join = join_of_call(search, call);
    unsigned place = 0;

    if (ns == 0 || !join || join->late == call.rank)
        return;
    while (place < culprits->count && culprits->list[place].call.rank != join->late)
        place++;
    if (place == CULPRITS_MAX)
        return;
    if (place == culprits->count) {
        if (!find_call_of_rank(&culprits->list[place].call, search, join, join->late))
            return;
        culprits->list[place].held_up_ns = 0;
        culprits->count++;
    }
    culprits->list[place].held_up_ns += ns;
}

/* Whom the last to come had waited for since it was together with the waiter. */
static struct culprits find_culprits(const struct root_search *search, struct join_member late,
                                     uint32_t waiter)
{
    const struct digest_call *own = called_by(search, late);
    struct culprits found = {.count = 0};
    uint32_t last = late.call > CALLS_MAX ? late.call - CALLS_MAX : 0;

    for (uint32_t i = late.call; i > last; i--) {
        struct join_member before = {.rank = late.rank, .call = i - 1}, together;
        const struct digest_call *call = called_by(search, before);
        const struct joined_call *join = join_of_call(search, before);

        if (call->step != own->step)
            break;
        if (!join || call->start_ns + call->duration_ns > own->start_ns)
            continue;
        /* Here both were together, so whatever held the late rank up before it held up the
         * waiter, too. */
        if (find_call_of_rank(&together, search, join, waiter))
            break;
        add_culprit(&found, search, before);
    }
    return found;
}

static const struct culprit_of_wait *worst_of(const struct culprits *culprits)
{
    const struct culprit_of_wait *worst = NULL;

    for (unsigned i = 0; i < culprits->count; i++)
        if (!worst || culprits->list[i].held_up_ns > worst->held_up_ns)
            worst = &culprits->list[i];
    return worst;
}

/* DEPTH_MAX bounds chains that clocks or damaged sequence numbers could make endless; a real
 * chain goes from a group to the next, through as many axes as the layout has. */
uint32_t find_wait_root(const struct rank_digest *const *digests, const struct call_joins *joins,
                        struct join_member call)
{
    const struct root_search search = {.digests = digests, .joins = joins};
    const struct joined_call *join = join_of_call(&search, call);
    int64_t waiting_ns = waiting_of_call(digests[call.rank], call.rank, call.call, joins);
    uint32_t waiter = call.rank;
    struct join_member late;

    if (!join || waiting_ns <= 0 || !find_call_of_rank(&late, &search, join, join->late))
        return call.rank;
    /* A receive waits for its sender and for nobody behind it: that is the pipeline's order,
     * which is no fault of whoever came last. */
    if (!ends_together((enum collective_kind)called_by(&search, call)->kind))
        return late.rank;
    for (int depth = 0; depth < DEPTH_MAX; depth++) {
        struct culprits culprits = find_culprits(&search, late, waiter);
        const struct culprit_of_wait *worst = worst_of(&culprits);

        /* Less than half: the late rank lost more by itself than to the one it waited for. */
        if (!worst || worst->held_up_ns < waiting_ns - worst->held_up_ns)
            break;
        waiter = late.rank;
        waiting_ns = worst->held_up_ns;
        late = worst->call;
    }
    return late.rank;
}

/* ---- all ranks ------------------------------------------------------------------------------- */

enum { MISSING_MAX = 64 };

/* ---- which ranks ---------------------------------------------------------------------------- */

/* Of digests of one recording the same. */
static uint64_t recording_key(const struct rank_digest *digest)
{
    int64_t numbers[4] = {digest->device};

    if (digest->step_count > 0) {
        numbers[1] = digest->steps[0].start_ns;
        numbers[2] = digest->steps[digest->step_count - 1].end_ns;
    }
    if (digest->call_count > 0)
        numbers[3] = digest->calls[0].start_ns;
    return shared_text_hash(numbers, sizeof numbers);
}

/* The first `count` of the list of digests. */
struct listed_recordings {
    struct hash_map by_key; /* the first of those with one key: its place in the list */
    uint32_t count;
};

/* Whether a trace that does not tell its rank is the recording of one that was listed before. */
static bool has_recording(const struct all_ranks *run, struct listed_recordings *listed,
                          const struct rank_digest *digest)
{
    uint32_t place;

    for (; listed->count < run->count; listed->count++)
        (void)hash_map_add(&listed->by_key, recording_key(run->digest_list[listed->count]),
                           listed->count);
    place = hash_map_find(&listed->by_key, recording_key(digest));
    return place < run->count && is_same_recording(run->digest_list[place], digest);
}

/* Takes the set's digests; of several of one rank the first counts, and one without a number does
 * not that is the recording of another. The set is sorted by rank, so summaries of one rank follow
 * each other, and those without a number are last. The first window is kept, or else the first:
 * sorting by bytes makes that the same one on every machine and in every order of files. */
static void collect_digests(struct all_ranks *run, struct digest_set *set)
{
    struct rank_digest *all = require_memory(calloc(set->count + 1, sizeof *all));
    struct listed_recordings listed = {0};
    uint32_t decoded = 0;

    run->count = run->double_count = 0;
    run->digests = all;
    run->texts = shared_texts_keep(digest_set_texts(set));
    run->digest_list = require_memory(calloc(set->count + 1, sizeof(struct rank_digest *)));
    run->doubles = require_memory(calloc(set->count + 1, sizeof(struct rank_digest *)));
    for (size_t i = 0; i < set->count; i++) {
        const struct rank_digest **last = run->count ? &run->digest_list[run->count - 1] : NULL;
        struct rank_digest *digest = &all[decoded];

        if (!digest_set_take(digest, set, &set->records[i]))
            continue;
        decoded++;
        if (!has_known_rank(digest) && has_recording(run, &listed, digest)) {
            run->doubles[run->double_count++] = digest;
        } else if (!last || (*last)->rank < 0 || (*last)->rank != digest->rank) {
            run->digest_list[run->count++] = digest;
        } else if (is_later_window(digest, *last)) {
            run->doubles[run->double_count++] = *last;
            *last = digest;
        } else {
            run->doubles[run->double_count++] = digest;
        }
    }
    hash_map_clear(&listed.by_key);
}

static void all_ranks_find_world(struct all_ranks *run)
{
    run->world_size = run->layout.is_given ? rank_layout_ranks(&run->layout) : -1;
    for (uint32_t i = 0; !run->layout.is_given && i < run->count; i++) {
        const struct rank_digest *digest = run->digest_list[i];

        if (digest && digest->world_size > run->world_size)
            run->world_size = digest->world_size;
    }
}

/* Ranks are in order, so one walk finds the gaps. Up to MISSING_MAX are named, all are counted. */
static void all_ranks_find_missing(struct all_ranks *run)
{
    int64_t expected = 0;
    uint32_t at = 0;

    if (run->world_size < 0 || run->count == 0 || run->digest_list[0]->rank < 0)
        return;
    run->missing = require_memory(calloc(MISSING_MAX, sizeof *run->missing));
    for (; expected < run->world_size; expected++) {
        int64_t here = at < run->count ? run->digest_list[at]->rank : -1;

        if (here >= 0 && here <= expected) {
            at++;
            continue;
        }
        if (run->missing_count == MISSING_MAX)
            break;
        run->missing[run->missing_count++] = expected;
    }
    for (at = 0; at < run->count; at++)
        run->missing_in_all +=
            run->digest_list[at]->rank >= 0 && run->digest_list[at]->rank < run->world_size;
    run->missing_in_all = run->world_size - run->missing_in_all;
}

static void place_ranks(struct all_ranks *run)
{
    run->ranks = require_memory(calloc((size_t)run->count + 1, sizeof *run->ranks));
    for (uint32_t i = 0; i < run->count; i++) {
        const struct rank_digest *digest = run->digest_list[i];
        struct rank_in_run *rank = &run->ranks[i];

        require_invariant(digest != NULL, "each rank has a digest");
        rank->digest = digest;
        memcpy(rank->coordinates, digest->coordinates, sizeof rank->coordinates);
        (void)rank_layout_place(&run->layout, digest->rank, rank->coordinates);
        rank->steps = require_memory(calloc((size_t)digest->step_count + 1, sizeof *rank->steps));
    }
}

/* ---- what they waited for ------------------------------------------------------------------- */

/* Of calls of steps alone, as the table's times are per step. What a rank waited is what the
 * last to come caused: the sum of all waits is the sum of all causes. */
static void all_ranks_add_call(struct all_ranks *run, uint32_t index, uint32_t call_index)
{
    struct rank_communication *communication = &run->ranks[index].communication;
    const struct rank_digest *digest = run->ranks[index].digest;
    const struct digest_call *call = &digest->calls[call_index];
    int64_t waiting_ns = waiting_of_call(digest, index, call_index, &run->joins);
    uint32_t join = run->joins.join_of[index][call_index];

    if (call->step < 0)
        return;
    communication->kernel_ns += call->duration_ns;
    if (waiting_ns < 0) {
        communication->unknown_ns += call->duration_ns;
        return;
    }
    communication->waiting_ns += waiting_ns;
    communication->transfer_ns += call->duration_ns - waiting_ns;
    communication->joined_count++;
    if (run->joins.joins[join].late == index)
        communication->late_count++;
    else
        run->ranks[run->joins.joins[join].late].communication.caused_ns += waiting_ns;
}

/* Hands a call's waiting, of which `exposed_ns` is exposed, to the rank with which it began. */
static void add_to_root(struct all_ranks *run, struct join_member call, int64_t exposed_ns)
{
    const struct rank_digest *digest = run->ranks[call.rank].digest;
    int64_t waiting_ns = waiting_of_call(digest, call.rank, call.call, &run->joins);
    struct rank_communication *root;

    if (waiting_ns <= 0)
        return;
    root = &run->ranks[find_wait_root(run->digest_list, &run->joins, call)].communication;
    root->root_exposed_ns += exposed_ns;
    if (digest->calls[call.call].step >= 0)
        root->root_ns += waiting_ns;
}

/* Two views of the same waits: how long kernels waited (add_call), and how much of that was
 * exposed, with the rank that began it (add_to_root). */
static void split_rank(struct all_ranks *run, uint32_t index)
{
    struct rank_in_run *rank = &run->ranks[index];
    uint32_t call_count = rank->digest->call_count;
    int64_t *waits_ns = require_memory(calloc((size_t)call_count + 1, sizeof *waits_ns));

    split_exposed(rank->steps, waits_ns, rank->digest, index, &run->joins);
    for (uint32_t i = 0; i < call_count; i++) {
        all_ranks_add_call(run, index, i);
        add_to_root(run, (struct join_member){.rank = index, .call = i}, waits_ns[i]);
    }
    free(waits_ns);
    for (uint32_t i = 0; i < rank->digest->step_count; i++) {
        struct exposed_parts *sum = &rank->communication.exposed;

        sum->waiting_ns += rank->steps[i].waiting_ns;
        sum->bubble_ns += rank->steps[i].bubble_ns;
        sum->transfer_ns += rank->steps[i].transfer_ns;
        sum->unknown_ns += rank->steps[i].unknown_ns;
    }
}

/* Traces that are not ranks of one run stand side by side, all of them: none is another's double,
 * and no call of one is one of another. */
static void list_all_alone(struct all_ranks *run)
{
    for (uint32_t i = 0; i < run->count; i++)
        free(run->ranks[i].steps);
    free(run->ranks);
    call_joins_clear(&run->joins);
    for (uint32_t i = 0; i < run->double_count; i++)
        run->digest_list[run->count++] = run->doubles[i];
    run->missing_in_all = run->missing_count = run->double_count = 0;
    run->are_windows = are_windows_of_one(run->digest_list, run->count);
    place_ranks(run);
    join_calls(&run->joins, run->digest_list, run->count);
    run->joins.join_count = 0;
    for (uint32_t i = 0; i < run->count; i++)
        for (uint32_t k = 0; k < run->digest_list[i]->call_count; k++)
            run->joins.join_of[i][k] = NO_JOIN;
}

static bool are_all_one_recording(const struct all_ranks *run)
{
    uint32_t same = 0;

    if (run->count > 1)
        return false;
    while (same < run->double_count && is_same_recording(run->digest_list[0], run->doubles[same]))
        same++;
    return same == run->double_count;
}

/* The order matters: which ranks there are, then which calls of them are one, which both the
 * test for other runs and the clocks need; waits come last, as they compare durations only and
 * need no clocks. */
void all_ranks_init(struct all_ranks *run, struct digest_set *set, const struct rank_layout *layout)
{
    if (layout)
        run->layout = *layout;
    digest_set_sort(set);
    collect_digests(run, set);
    all_ranks_find_world(run);
    all_ranks_find_missing(run);
    place_ranks(run);
    join_calls(&run->joins, run->digest_list, run->count);
    if (run->count + run->double_count > 1 && !run->layout.is_given)
        run->other_runs =
            sign_of_other_runs(&(struct run_question){run->digest_list, run->count, &run->joins,
                                                      run->world_size, are_all_one_recording(run)});
    if (run->other_runs)
        list_all_alone(run);
    align_clocks(&run->clocks, run->digest_list, &run->joins);
    for (uint32_t i = 0; i < run->count; i++)
        split_rank(run, i);
}

void all_ranks_clear(struct all_ranks *run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        free(run->ranks[i].steps);
    }
    for (uint32_t i = 0; run->digests && i < run->count + run->double_count; i++)
        rank_digest_clear(&run->digests[i]);
    call_joins_clear(&run->joins);
    rank_clocks_clear(&run->clocks);
    free(run->ranks);
    free(run->digests);
    free(run->digest_list);
    free(run->doubles);
    free(run->missing);
    shared_texts_release(run->texts);
    *run = (struct all_ranks){0};
}

const char *all_ranks_label(const struct all_ranks *run, uint32_t index,
                            char label[RANK_LABEL_BYTES])
{
    const struct rank_digest *digest = run->ranks[index].digest;

    if (digest->rank < 0 || run->other_runs)
        return digest->file;
    (void)snprintf(label, RANK_LABEL_BYTES, "rank %" PRId64, digest->rank);
    return label;
}
