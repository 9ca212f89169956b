/* Whether traces are of the ranks of one run, of one recording, or of one process at several
 * times. */
#include "ranks/one_run.h"

#include "base/text/owned_text.h"
#include "ledger/collective_call.h"

#include <stdlib.h>
#include <string.h>

/* ---- ranks of one run ------------------------------------------------------------------------ */

/* Ranks of one run are profiled at the same time, by clocks that are not further apart. */
static const int64_t together_ns = INT64_C(60) * 1000 * 1000 * 1000;
/* Times since 1970 are later (2001), times since a start are not. */
static const int64_t dated_ns = INT64_C(1000) * 1000 * 1000 * 1000 * 1000 * 1000;

/* Whether a minute or more lies between two ranks, by what their dates say. One range per rank:
 * if some rank began more than a minute after another had ended, they did not train together.
 * Clocks of one cluster are synchronized to seconds; traces of one run overlap. */
static bool ranks_are_apart(const struct run_question *run)
{
    int64_t last_start_ns = INT64_MIN, first_end_ns = INT64_MAX;

    for (uint32_t i = 0; i < run->count; i++) {
        const struct rank_digest *digest = run->digest_list[i];
        int64_t start_ns = digest->step_count ? digest->steps[0].start_ns : 0;

        if (start_ns < dated_ns)
            continue;
        if (start_ns > last_start_ns)
            last_start_ns = start_ns;
        if (digest->steps[digest->step_count - 1].end_ns < first_end_ns)
            first_end_ns = digest->steps[digest->step_count - 1].end_ns;
    }
    return last_start_ns > first_end_ns && last_start_ns - first_end_ns > together_ns;
}

static bool have_several_worlds(const struct run_question *run)
{
    int64_t world_size = -1;

    for (uint32_t i = 0; i < run->count; i++) {
        int64_t here = run->digest_list[i]->world_size;

        if (here >= 0 && world_size >= 0 && here != world_size)
            return true;
        if (here >= 0)
            world_size = here;
    }
    return false;
}

/* Whether all ranks without a number take part in a collective with another rank. */
static bool are_numbered_or_joined(const struct run_question *run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        bool is_joined = run->digest_list[i]->rank >= 0;

        for (uint32_t k = 0; k < run->digest_list[i]->call_count && !is_joined; k++)
            is_joined = run->joins->join_of[i][k] != NO_JOIN;
        if (!is_joined)
            return false;
    }
    return true;
}

/* Ranks of one database of Nsight Systems were recorded by one session. */
static bool are_of_one_session(const struct run_question *run)
{
    const char *ending = strrchr(run->digest_list[0]->file, '.');

    for (uint32_t i = 1; i < run->count; i++)
        if (strcmp(run->digest_list[i]->file, run->digest_list[0]->file) != 0)
            return false;
    return ending && (strcmp(ending, ".sqlite") == 0 || strcmp(ending, ".nsys-rep") == 0);
}

/* Calls of several ranks that are one collective move as much on each of them. */
struct joined_sizes {
    uint32_t joined; /* collectives of two ranks or more */
    uint32_t equal;  /* of those that tell how much they move, and that it is as much on each */
    uint32_t unequal;
};

/* Members of all-to-all calls may move as much as they like. */
static void compare_call_sizes(struct joined_sizes *sizes, const struct run_question *run,
                               const struct joined_call *join)
{
    const struct join_member *members = &run->joins->members[join->first];
    const struct digest_call *first = &run->digest_list[members[0].rank]->calls[members[0].call];
    bool is_equal = true;

    sizes->joined++;
    if (!ends_together((enum collective_kind)first->kind) || first->kind == COLLECTIVE_ALL_TO_ALL ||
        first->kind == COLLECTIVE_BARRIER)
        return;
    for (uint32_t i = 0; i < join->count; i++) {
        const struct digest_call *call = &run->digest_list[members[i].rank]->calls[members[i].call];

        if (call->bytes < 0 || first->bytes < 0)
            return;
        is_equal = is_equal && call->kind == first->kind && call->bytes == first->bytes;
    }
    sizes->equal += is_equal;
    sizes->unequal += !is_equal;
}

/* Each rank of a world is here and calls others, and still none is called. */
static bool all_call_others(const struct run_question *run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        const struct rank_digest *digest = run->digest_list[i];
        uint32_t call = 0;

        while (call < digest->call_count && digest->groups[digest->calls[call].group].size <= 1)
            call++;
        if (call == digest->call_count)
            return false;
    }
    return run->world_size == (int64_t)run->count;
}

static bool have_several_devices(const struct run_question *run)
{
    const char *name = "";

    for (uint32_t i = 0; i < run->count; i++) {
        const char *here = run->digest_list[i]->device_name;

        if (*here && *name && strcmp(here, name) != 0)
            return true;
        name = *here ? here : name;
    }
    return false;
}

/* One collective of equal sizes is enough to believe in one run, since sizes of different runs
 * agree rarely; one unequal size is not enough to doubt, as a trace may be cut. */
static const char *sign_in_collectives(const struct run_question *run)
{
    struct joined_sizes sizes = {0};

    for (uint32_t i = 0; i < run->joins->join_count; i++)
        if (run->joins->joins[i].count >= 2)
            compare_call_sizes(&sizes, run, &run->joins->joins[i]);
    if (sizes.unequal > 0 && sizes.equal == 0)
        return "their collectives move different amounts";
    if (sizes.joined == 0 && all_call_others(run))
        return "no collective of one is one of another";
    if (sizes.joined == 0 && have_several_devices(run))
        return "they ran on different devices, and no collective joins them";
    return NULL;
}

const char *sign_of_other_runs(const struct run_question *run)
{
    if (run->count == 1)
        return run->are_copies ? "all are one recording" : "all say that they are of the same rank";
    if (are_of_one_session(run))
        return NULL;
    if (have_several_worlds(run))
        return "they tell of runs of different sizes";
    if (ranks_are_apart(run))
        return "more than a minute lies between them";
    if (!are_numbered_or_joined(run))
        return "nothing says which ranks they are, and no collective joins them";
    return sign_in_collectives(run);
}

/* ---- one recording several times ------------------------------------------------------------- */

static bool is_step_equal(const struct digest_step *a, const struct digest_step *b)
{
    return a->start_ns == b->start_ns && a->end_ns == b->end_ns &&
           memcmp(a->account_ns, b->account_ns, sizeof a->account_ns) == 0;
}

static bool is_call_equal(const struct digest_call *a, const struct digest_call *b)
{
    return a->start_ns == b->start_ns && a->duration_ns == b->duration_ns && a->kind == b->kind;
}

static bool is_text_against(const char *a, const char *b)
{
    return a && b && *a && *b && strcmp(a, b) != 0;
}

bool has_known_rank(const struct rank_digest *digest)
{
    return digest->rank >= 0 && !digest->is_rank_by_order;
}

/* No two devices do the same at the same nanoseconds. */
bool is_same_recording(const struct rank_digest *a, const struct rank_digest *b)
{
    if (a->step_count == 0 || a->step_count != b->step_count || a->call_count != b->call_count ||
        a->device != b->device || (has_known_rank(a) && has_known_rank(b) && a->rank != b->rank) ||
        is_text_against(a->process, b->process) || is_text_against(a->hostname, b->hostname))
        return false;
    for (uint32_t i = 0; i < a->step_count; i++)
        if (!is_step_equal(&a->steps[i], &b->steps[i]))
            return false;
    for (uint32_t i = 0; i < a->call_count; i++)
        if (!is_call_equal(&a->calls[i], &b->calls[i]))
            return false;
    return true;
}

/* ---- windows of one process ------------------------------------------------------------------ */

/* A process id returns in another container or after a while: between two windows no more steps
 * are believed than the time has room for. */
static const int64_t pause_longest_ns = INT64_C(600) * 1000 * 1000 * 1000;
enum { STEPS_SLOWER_MOST = 20 };

static int64_t window_begin_ns(const struct rank_digest *digest)
{
    return digest->step_count ? digest->steps[0].start_ns : 0;
}

static int64_t window_end_ns(const struct rank_digest *digest)
{
    return digest->step_count ? digest->steps[digest->step_count - 1].end_ns : 0;
}

/* A process id alone is not one process: ids are of a host, and containers of one host may share
 * them. */
static bool are_of_one_process(const struct rank_digest *a, const struct rank_digest *b)
{
    return a->process && *a->process && b->process && strcmp(a->process, b->process) == 0 &&
           a->rank == b->rank && a->world_size == b->world_size && a->device == b->device &&
           a->source == b->source && strcmp(a->hostname, b->hostname) == 0 &&
           strcmp(a->device_name, b->device_name) == 0;
}

/* The profiler counts its steps on from window to window; with as much time between them. */
static bool are_steps_counted_on(const struct rank_digest *first, const struct rank_digest *later)
{
    int64_t between_ns = window_begin_ns(later) - window_end_ns(first);
    int64_t last = first->steps[first->step_count - 1].number;
    int64_t steps = later->steps[0].number - last;
    double step_ns = (double)digest_total_ns(first) / first->step_count;

    return first->source == WINDOW_PROFILER_STEP && last < later->steps[0].number &&
           (double)between_ns <=
               (double)pause_longest_ns + STEPS_SLOWER_MOST * step_ns * (double)steps;
}

/* "HOST_PID.TIME.pt.trace.json", as tensorboard_trace_handler writes them: alike but for TIME. */
static bool have_names_of_one_worker(const char *a, const char *b)
{
    size_t worker = strcspn(path_name(a), ".");
    const char *rest = path_name(a) + worker, *other = path_name(b) + worker;

    if (strncmp(path_name(a), path_name(b), worker) != 0 || *rest != '.' || *other != '.')
        return false;
    rest += 1 + strspn(rest + 1, "0123456789");
    other += 1 + strspn(other + 1, "0123456789");
    return *rest == '.' && strcmp(rest, other) == 0;
}

bool is_later_window(const struct rank_digest *first, const struct rank_digest *later)
{
    return first->step_count > 0 && later->step_count > 0 && are_of_one_process(first, later) &&
           window_end_ns(first) <= window_begin_ns(later) &&
           (are_steps_counted_on(first, later) ||
            have_names_of_one_worker(first->file, later->file));
}

static int compare_begins(const void *a, const void *b)
{
    const struct rank_digest *const *first = a;
    const struct rank_digest *const *second = b;

    if (window_begin_ns(*first) != window_begin_ns(*second))
        return window_begin_ns(*first) < window_begin_ns(*second) ? -1 : 1;
    return strcmp((*first)->file, (*second)->file);
}

bool are_windows_of_one(const struct rank_digest **digests, uint32_t count)
{
    qsort(digests, count, sizeof *digests, compare_begins);
    for (uint32_t i = 1; i < count; i++)
        if (!is_later_window(digests[i - 1], digests[i]))
            return false;
    return count > 1;
}
