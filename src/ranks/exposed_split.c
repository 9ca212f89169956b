/* Exposed communication of a rank, split into waiting and transfer: a walk over its exposed
 * stretches with the calls that are open in them. */
#include "ranks/exposed_split.h"

#include "base/core/invariant.h"

#include <stdbool.h>
#include <stdlib.h>

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

void split_exposed(struct exposed_parts *steps, int64_t *waits_ns, const struct rank_digest *digest,
                   uint32_t rank, const struct call_joins *joins)
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
