/* What holds up a job, in sentences. */
#include "base/text/format.h"
#include "ranks/hang/flight_causes.h"
#include "sections/hang/flight_sections.h"
#include "sections/hang/flight_text.h"

#include <stdio.h>
#include <string.h>

/* The rank that waits longest: its wait is how long the job has stood. */
const struct flight_member *flight_first_waiting(const struct flight_view *view,
                                                 const struct flight_stall *stall)
{
    const struct flight_member *first = &stall->waiting[0];

    for (size_t i = 1; i < stall->waiting_count; i++)
        if (flight_entry_of(view->join, &stall->waiting[i])->created_ns <
            flight_entry_of(view->join, first)->created_ns)
            first = &stall->waiting[i];
    return first;
}

/* The newest moment that any dump tells of. */
static int64_t newest_ns(const struct flight_dumps *dumps)
{
    int64_t newest = 0;

    for (size_t i = 0; i < dumps->dump_count; i++)
        for (size_t k = 0; k < dumps->dumps[i].entry_count; k++) {
            const struct flight_entry *entry = &dumps->dumps[i].entries[k];

            if (entry->created_ns > newest)
                newest = entry->created_ns;
            if (entry->completed_ns > newest)
                newest = entry->completed_ns;
        }
    return newest;
}

/* "since 09:12:03 UTC (train.py:211 backward)". */
static const char *since_text(struct results *results, const struct flight_view *view,
                              const struct flight_stall *stall)
{
    const struct flight_entry *entry =
        flight_entry_of(view->join, flight_first_waiting(view, stall));
    const char *since = flight_time_text(results, entry->created_ns);
    const char *place = flight_place_text(results, view->dumps, entry, 1);
    const char *text = since ? results_format(results, " since %s", since) : "";

    return place ? results_format(results, "%s, called at %s", text, place) : text;
}

static const char *stalled_operation(struct results *results, const struct flight_view *view,
                                     const struct flight_stall *stall)
{
    return flight_operation_text(results, view->dumps,
                                 flight_entry_of(view->join, &stall->waiting[0]));
}

/* The ranks that wait in the stall. */
static const char *waiting_text(struct results *results, const struct flight_view *view,
                                const struct flight_stall *stall)
{
    uint32_t ranks[64];
    size_t shown = stall->waiting_count < 64 ? stall->waiting_count : 64;
    const char *list;

    for (size_t i = 0; i < shown; i++)
        ranks[i] = flight_rank_of(view->join, &stall->waiting[i]);
    list = flight_ranks_text(results, ranks, shown);
    if (shown < stall->waiting_count)
        list = results_format(results, "%s and %zu more", list, stall->waiting_count - shown);
    return results_format(results, "%s %s", list, stall->waiting_count == 1 ? "waits" : "wait");
}

/* What the rank did last: "rank 5 last called all_gather #12 of group dp (...) at 09:12:01 UTC
 * (train.py:140 load)". */
static const char *last_seen(struct results *results, const struct flight_view *view, uint32_t rank)
{
    const struct flight_dump *dump = flight_dump_of(view->dumps, rank);
    const struct flight_entry *entry;
    const char *time;
    const char *place;

    if (!dump || dump->entry_count == 0)
        return results_format(results, "rank %u has recorded no operation", rank);
    entry = &dump->entries[dump->entry_count - 1];
    time = flight_time_text(results, entry->created_ns);
    place = flight_place_text(results, view->dumps, entry, 1);
    return results_format(results, "rank %u last called %s of %s%s%s%s%s", rank,
                          flight_operation_text(results, view->dumps, entry),
                          flight_group_text(results, view->dumps, entry->group), time ? " at " : "",
                          time ? time : "", place ? ", " : "", place ? place : "");
}

/* How long before the newest record of all the wait began. Against the newest record of all
 * dumps, not the present: dumps may be read days later. */
static const char *wait_text(struct results *results, const struct flight_view *view,
                             const struct flight_stall *stall)
{
    int64_t began = flight_entry_of(view->join, flight_first_waiting(view, stall))->created_ns;
    int64_t newest = newest_ns(view->dumps);

    if (began <= 0 || newest < began)
        return "";
    return results_format(results,
                          "; the newest record of all dumps is %s later (dumps of a job that goes "
                          "on show operations under way, too)",
                          format_time(newest - began).text);
}

/* "7 ranks wait for it, directly or through others". */
static const char *held_text(struct results *results, const struct flight_cause *cause)
{
    return results_format(results, "%zu rank%s for %s, directly or through others",
                          cause->held_count, cause->held_count == 1 ? " waits" : "s wait",
                          cause->rank_count == 1 ? "it" : "them");
}

/* ---- causes ---- */

/* A rank without a dump may have crashed; one with a dump that never called may have hung
 * elsewhere: the two ask for different steps. */
static struct finding stopped_finding(struct results *results, const struct flight_view *view,
                                      const struct flight_cause *cause)
{
    const struct flight_stall *stall = &view->stalls->stalls[cause->stall];
    bool is_silent = cause->kind == FLIGHT_SILENT_RANK;
    const char *ranks = flight_ranks_text(results, cause->ranks, cause->rank_count);
    const char *operation = stalled_operation(results, view, stall);
    const char *group = flight_group_text(results, view->dumps, stall->group);
    struct finding finding = {.cost_ns = -1, .is_warning = true};

    /* Who is missing stands first: it is the rank to look at, whatever the others wait in. */
    finding.what = is_silent
                       ? results_format(results, "%s left no dump, and %s for %s in %s of %s",
                                        ranks, waiting_text(results, view, stall),
                                        cause->rank_count == 1 ? "it" : "them", operation, group)
                       : results_format(results, "%s never called %s of %s; %s in it%s", ranks,
                                        operation, group, waiting_text(results, view, stall),
                                        since_text(results, view, stall));
    if (is_silent)
        finding.evidence = results_format(results, "in all %s%s", held_text(results, cause),
                                          since_text(results, view, stall));
    else
        finding.evidence =
            results_format(results, "%s; %s%s", last_seen(results, view, cause->ranks[0]),
                           held_text(results, cause), wait_text(results, view, stall));
    finding.try_this =
        is_silent
            ? "look at its log first: it crashed, was killed, or could not write its dump"
            : "look at what that rank did after its last call: its log, its stack (py-spy "
              "dump), a data loader or a checkpoint that blocks, an error that the others did "
              "not have";
    return finding;
}

/* Eight links at most are written out; a circle of more ranks is shown by its beginning and
 * its size. */
static struct finding cycle_finding(struct results *results, const struct flight_view *view,
                                    const struct flight_cause *cause)
{
    const char *chain = "";

    for (size_t i = 0; i < cause->rank_count && i < 8; i++) {
        const struct flight_stall *stall = &view->stalls->stalls[cause->stalls[i]];

        chain =
            results_format(results, "%s%srank %u waits in %s of %s for rank %u", chain,
                           i ? "; " : "", cause->ranks[i], stalled_operation(results, view, stall),
                           flight_group_text(results, view->dumps, stall->group),
                           cause->ranks[(i + 1) % cause->rank_count]);
    }
    return (struct finding){
        .what = results_format(results, "deadlock: %zu ranks wait for each other in a circle",
                               cause->rank_count),
        .evidence = chain,
        .try_this = "these ranks call the operations of their groups in different orders: make the "
                    "order the same on all of them",
        .cost_ns = -1,
        .is_warning = true,
    };
}

/* Whether the kernels had started separates a device that is busy with something else from a
 * network that does not deliver. */
static struct finding stuck_finding(struct results *results, const struct flight_view *view,
                                    const struct flight_cause *cause)
{
    const struct flight_stall *stall = &view->stalls->stalls[cause->stall];
    size_t started = 0;

    for (size_t i = 0; i < stall->waiting_count; i++)
        /* Counted over the ranks that wait; those that are done have started, of course. */
        started += flight_entry_of(view->join, &stall->waiting[i])->state == FLIGHT_STARTED;
    return (struct finding){
        .what = results_format(
            results,
            "%s of %s is not complete on %s, though all its ranks whose dumps tell called "
            "it%s",
            stalled_operation(results, view, stall),
            flight_group_text(results, view->dumps, stall->group),
            flight_ranks_text(results, cause->ranks, cause->rank_count),
            since_text(results, view, stall)),
        .evidence = results_format(
            results, "it runs on the device of %zu of them, and is complete on %zu ranks%s",
            started, stall->completed_count, wait_text(results, view, stall)),
        .try_this = started < stall->waiting_count
                        ? "where it has not started, the device is busy with something before it: "
                          "look for a kernel or another group's operation that does not end"
                        : "all run it and none is done: suspect the network or a device (NCCL's "
                          "log, ibstat, dmesg for Xid errors)",
        .cost_ns = -1,
        .is_warning = true,
    };
}

/* A rank that stopped and one without a dump are told by one sentence: for those that wait
 * both are the same, a rank that never comes. */
struct finding flight_cause_finding(struct results *results, const struct flight_view *view,
                                    const struct flight_cause *cause)
{
    switch (cause->kind) {
    case FLIGHT_CYCLE:
        return cycle_finding(results, view, cause);
    case FLIGHT_STUCK_CALL:
        return stuck_finding(results, view, cause);
    case FLIGHT_STOPPED_RANK:
    case FLIGHT_SILENT_RANK:
        break;
    }
    return stopped_finding(results, view, cause);
}

/* ---- mismatches ---- */

/* An uneven exchange has no odd rank: only the sums of what is sent and received differ. */
static const char *difference_text(struct results *results, const struct flight_view *view,
                                   const struct flight_mismatch *mismatch)
{
    const struct flight_dumps *dumps = view->dumps;
    const struct flight_member *odd = &view->join->members[mismatch->odd];
    const struct flight_member *usual = &view->join->members[mismatch->usual];
    const struct flight_entry *a = flight_entry_of(view->join, odd);
    const struct flight_entry *b = flight_entry_of(view->join, usual);
    uint32_t rank = flight_rank_of(view->join, odd);
    uint32_t other = flight_rank_of(view->join, usual);

    switch (mismatch->difference) {
    case FLIGHT_OTHER_OPERATION:
        return results_format(results, "rank %u called %s, rank %u %s", rank,
                              flight_text(dumps, a->name), other, flight_text(dumps, b->name));
    case FLIGHT_OTHER_TYPE:
        return results_format(results, "rank %u has %s, rank %u %s", rank,
                              flight_text(dumps, a->dtypes), other, flight_text(dumps, b->dtypes));
    case FLIGHT_OTHER_SIZE:
        return results_format(results, "rank %u has %s, rank %u %s", rank,
                              flight_text(dumps, a->shapes), other, flight_text(dumps, b->shapes));
    case FLIGHT_UNEVEN_EXCHANGE:
        break;
    }
    return results_format(results, "all ranks together send %lld elements and receive %lld",
                          (long long)mismatch->sent, (long long)mismatch->received);
}

/* What follows tells what went wrong: calls that line up again one place off are a call too
 * few or too many, two that changed places an order that depends on the rank. */
static const char *shift_text(enum flight_shift shift)
{
    switch (shift) {
    case FLIGHT_SKIPPED_ONE:
        return "; its next calls are the others' one further on: it left this call out";
    case FLIGHT_EXTRA_ONE:
        return "; its calls after it are the others' from here on: it made one call more";
    case FLIGHT_SWAPPED:
        return "; its next call is this one of the others: it made the two the other way round";
    case FLIGHT_NO_SHIFT:
        break;
    }
    return "";
}

/* The odd ones are compared with what most ranks did. Later calls of the group that differ
 * follow from the first, so only their number is told. */
struct finding flight_mismatch_finding(struct results *results, const struct flight_view *view,
                                       const struct flight_mismatch *mismatch)
{
    static const char *const what[] = {
        [FLIGHT_OTHER_OPERATION] = "the ranks call different operations",
        [FLIGHT_OTHER_TYPE] = "the ranks pass different types",
        [FLIGHT_OTHER_SIZE] = "the ranks pass different sizes",
        [FLIGHT_UNEVEN_EXCHANGE] = "what is sent is not what is received",
    };
    const struct flight_member *odd = &view->join->members[mismatch->odd];
    const struct flight_member *usual = &view->join->members[mismatch->usual];
    const struct flight_entry *entry = flight_entry_of(view->join, usual);
    const char *own = flight_place_text(results, view->dumps, flight_entry_of(view->join, odd), 1);
    const char *others = flight_place_text(results, view->dumps, entry, 1);
    /* Lines of code only where both are known: one alone does not show the branch. */
    const char *places = own && others
                             ? results_format(results, "; rank %u is at %s, rank %u at %s",
                                              flight_rank_of(view->join, odd), own,
                                              flight_rank_of(view->join, usual), others)
                             : "";

    return (struct finding){
        .what =
            results_format(results, "%s in #%u of %s: %s%s", what[mismatch->difference],
                           entry->sequence, flight_group_text(results, view->dumps, entry->group),
                           difference_text(results, view, mismatch), shift_text(mismatch->shift)),
        .evidence = results_format(results,
                                   "%zu of %zu ranks differ; later calls of the group "
                                   "that differ, too: %zu%s",
                                   mismatch->odd_count, view->join->calls[mismatch->call].count,
                                   mismatch->later, places),
        .try_this = "all ranks of a group must call the same operations in the same order with the "
                    "same types and fitting sizes: look for a branch that depends on the rank or "
                    "on its data",
        .cost_ns = -1,
        .is_warning = true,
    };
}
