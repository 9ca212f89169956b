/* Advice on calls that make the host wait, so that the device runs dry: synchronising, allocating,
 * garbage collection, the profiler, loading kernels. */
#include "base/core/apportion.h"
#include "base/core/invariant.h"
#include "base/core/search.h"
#include "base/text/format.h"
#include "base/text/prefix.h"
#include "ledger/step_finder.h"
#include "replay/replay_model.h"
#include "replay/scenario.h"
#include "sections/advice/advice_rule.h"
#include "sections/advice/call_site.h"
#include "sections/advice/claim.h"
#include "sections/advice/named_code.h"
#include "sections/advice/recording_rules.h"
#include "sections/advice/waiting_claims.h"
#include "sections/step/steps_replay.h"
#include "trace/recorder_words.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- costly calls ---------------------------------------------------------------------------- */

/* Calls of the host that cost idle time, summed by the place in the program they come from. */

enum { CALL_SITES_MAX = 64 };

/* Calls of one operator and frame. */
struct site_sum {
    struct call_site site; /* of the first of them */
    int64_t count;
    int64_t idle_ns;
};

struct costly_calls {
    struct site_sum sites[CALL_SITES_MAX]; /* most idle time first; more places than these are left
                                              out */
    uint32_t site_count;
    int64_t count; /* calls that cost time */
};

enum { SITES_SHOWN = 2 };

static bool is_same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* By texts, which come from several pools, so ids cannot be compared. */
static bool is_same_site(const struct advice_case *advice, const struct call_site *a,
                         const struct call_site *b)
{
    const struct event *host = advice->trace->host;

    return is_same_text(a->operation, b->operation) && is_same_text(a->frame, b->frame) &&
           is_same_text(a->module, b->module) &&
           (a->operation || host[a->event].name == host[b->event].name);
}

/* Beyond CALL_SITES_MAX places are left out: the busiest come first in any step. */
static void add_site(struct costly_calls *calls, const struct advice_case *advice,
                     const struct call_site *site, int64_t idle_ns)
{
    uint32_t at = 0;

    while (at < calls->site_count && !is_same_site(advice, &calls->sites[at].site, site))
        at++;
    if (at == CALL_SITES_MAX)
        return;
    if (at == calls->site_count)
        calls->sites[calls->site_count++] = (struct site_sum){.site = *site};
    calls->sites[at].count++;
    calls->sites[at].idle_ns += idle_ns;
}

static int compare_sites(const void *left, const void *right)
{
    const struct site_sum *a = left, *b = right;

    if (a->idle_ns != b->idle_ns)
        return a->idle_ns > b->idle_ns ? -1 : 1;
    return (a->site.event > b->site.event) - (a->site.event < b->site.event);
}

/* `idle_ns`: what each of `list` costs. */
static void sum_costly_calls(struct costly_calls *calls, const struct advice_case *advice,
                             const struct host_call_list *list, const int64_t *idle_ns)
{
    *calls = (struct costly_calls){.count = 0};
    for (uint32_t i = 0; i < list->count; i++) {
        struct call_site site;

        if (idle_ns[i] <= 0)
            continue;
        site = find_call_site(advice, list->events[i]);
        add_site(calls, advice, &site, idle_ns[i]);
        calls->count++;
    }
    qsort(calls->sites, calls->site_count, sizeof *calls->sites, compare_sites);
}

/* "calls that leave the device idle, 2 a step: aten::item in train.py(12): step 1.200 ms;
 * aten::nonzero 0.300 ms". */
static const char *costly_calls_text(const struct costly_calls *calls,
                                     const struct advice_case *advice)
{
    const char *text = results_format(advice->results, "calls that leave the device idle, %s%s:",
                                      per_step_count(advice, calls->count), a_step(advice));

    for (uint32_t i = 0; i < calls->site_count && i < SITES_SHOWN; i++) {
        const struct site_sum *sum = &calls->sites[i];

        text =
            results_format(advice->results, "%s%s %s %s", text, i ? ";" : "",
                           call_site_text(advice, &sum->site), per_step_time(advice, sum->idle_ns));
    }
    if (calls->site_count > SITES_SHOWN)
        text = results_format(advice->results, "%s; %u more place%s", text,
                              calls->site_count - SITES_SHOWN,
                              calls->site_count - SITES_SHOWN == 1 ? "" : "s");
    return text;
}

/* ---- wait rules ------------------------------------------------------------------------------ */

static int64_t *zeroed_costs(const struct host_call_list *list)
{
    return require_memory(calloc((size_t)list->count + 1, sizeof(int64_t)));
}

/* Index in the list of data loading of the first call behind host event `event`. */
static uint32_t next_loading(const struct host_call_list *loads, uint32_t event)
{
    return LOWER_BOUND(i, 0, loads->count, loads->events[i] <= event);
}

/* Cuts the range where the thread begins to load data: what follows is waiting for data. False
 * where the call is made while loading. */
static bool cut_at_loading(const struct advice_case *advice, uint32_t call, int64_t range_ns[2])
{
    const struct host_call_list *loads = &advice->calls.lists[CALLS_DATA];
    const struct event *host = advice->trace->host;
    uint32_t next = next_loading(loads, call);

    if (next < loads->count && host[loads->events[next]].track == host[call].track &&
        host[loads->events[next]].start_ns < range_ns[1])
        range_ns[1] = host[loads->events[next]].start_ns;
    return next == 0 || host[loads->events[next - 1]].track != host[call].track ||
           event_end_ns(&host[loads->events[next - 1]]) <= host[call].start_ns;
}

/* It copies or sets memory, and waits until that is done. */
static bool does_work_itself(const char *call)
{
    return strstr(call, "Memcpy") || strstr(call, "Memset");
}

/* Where the idle time lies that `call` is to blame for. The device ran dry while the call waited:
 * all of the gap, for the host could not launch ahead; and before it what is idle in a call that
 * waits for nothing but its own work. It was idle before, or works when the call returns: what is
 * idle in the call itself. False where the thread is loading data. class_timeline_at finds what
 * the device does when the call returns; an empty mask there means that it ran dry. */
static bool find_blamed_range(const struct advice_case *advice, uint32_t call, int64_t range_ns[2])
{
    const struct class_timeline *timeline = &advice->ledger->timeline;
    const struct event *event = &advice->trace->host[call];
    size_t at = class_timeline_at(timeline, event_end_ns(event), 0);

    range_ns[0] = event->start_ns;
    range_ns[1] = event_end_ns(event);
    if (at != SIZE_MAX && !timeline_mask(timeline, at) &&
        timeline_start_ns(timeline, at) >= event->start_ns) {
        if (!does_work_itself(trace_text(advice->trace, event->name)))
            range_ns[0] = timeline_start_ns(timeline, at);
        range_ns[1] = timeline_next_ns(timeline, at);
    }
    return cut_at_loading(advice, call, range_ns);
}

/* One synchronising call, for putting those of all threads in order of time. */
struct sync_call {
    int64_t start_ns;
    uint32_t place; /* in the list */
};

static int compare_calls(const void *left, const void *right)
{
    const struct sync_call *a = left, *b = right;

    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return (a->place > b->place) - (a->place < b->place);
}

/* No moment is claimed twice, whatever number of calls lie in a gap: the first takes it. Sorted
 * by start over all threads, then one pass: `claimed_until_ns` keeps a gap from being claimed by
 * two calls. */
static void claim_sync_gaps(struct advice_case *advice, struct advice_claim *claim,
                            int64_t *idle_ns)
{
    const struct host_call_list *list = &advice->calls.lists[CALLS_SYNC];
    struct sync_call *order = require_memory(calloc((size_t)list->count + 1, sizeof *order));
    int64_t claimed_until_ns = INT64_MIN;

    for (uint32_t i = 0; i < list->count; i++)
        order[i] = (struct sync_call){advice->trace->host[list->events[i]].start_ns, i};
    qsort(order, list->count, sizeof *order, compare_calls);
    for (uint32_t i = 0; i < list->count; i++) {
        uint32_t place = order[i].place;
        int64_t range_ns[2];

        if (!find_blamed_range(advice, list->events[place], range_ns))
            continue;
        if (range_ns[0] < claimed_until_ns)
            range_ns[0] = claimed_until_ns;
        if (range_ns[0] >= range_ns[1])
            continue;
        idle_ns[place] = claim_free_time(advice, claim, &advice->idle, range_ns);
        claimed_until_ns = range_ns[1];
    }
    free(order);
}

static const struct prefixed_text sync_advice[] = {
    {"aten::item", "read values on the device and fetch them every n-th step, not each one: keep "
                   "loss.detach(), call .item() when logging"},
    {"aten::_local_scalar_dense", "fetch values every n-th step: .item(), float() and 'if tensor:' "
                                  "wait for the device"},
    {"aten::is_nonzero", "avoid 'if tensor:' and assert on tensors: use torch.where, or check "
                         "every n-th step"},
    {"aten::nonzero", "avoid shapes that depend on values (nonzero, boolean masks): torch.where, "
                      "or masks of a fixed size"},
    {"aten::index", "avoid shapes that depend on values (nonzero, boolean masks): torch.where, or "
                    "masks of a fixed size"},
    {"aten::masked_select", "avoid shapes that depend on values (nonzero, boolean masks): "
                            "torch.where, or masks of a fixed size"},
    {"aten::unique", "avoid shapes that depend on values inside the step"},
    {"aten::to", "pin the host's memory and copy with non_blocking=True; keep tensors made each "
                 "step on the device"},
    {"aten::_to_copy", "pin the host's memory and copy with non_blocking=True; keep tensors made "
                       "each step on the device"},
    {"aten::copy_", "pin the host's memory and copy with non_blocking=True; keep tensors made each "
                    "step on the device"},
    {"cudaMemcpy", "copy from pinned memory with cudaMemcpyAsync (non_blocking=True): a plain copy "
                   "makes the host wait"},
    {"hipMemcpy", "copy from pinned memory with hipMemcpyAsync (non_blocking=True): a plain copy "
                  "makes the host wait"},
    {"AscendCL@aclrtMemcpy", "copy from pinned memory with aclrtMemcpyAsync (non_blocking=True): a "
                             "plain copy makes the host wait"},
    {"cudaMemset",
     "set memory of the device, or use cudaMemsetAsync: setting pinned or unified memory "
     "makes the host wait"},
    {"",
     "leave out calls that wait for the device inside the step (torch.cuda.synchronize, .cpu(), "
     "printing a tensor); time with events"},
};

/* total * part / whole. */
static int64_t wait_share_of(int64_t total, int64_t part, int64_t whole)
{
    return whole > 0 ? (int64_t)((double)total * (double)part / (double)whole) : 0;
}

/* By step: idle time in which the host does nothing but launch, less the price: by how much that
 * can grow. */
static int64_t *new_room(const struct advice_case *advice, const struct advice_claim *claim)
{
    size_t steps = advice->ledger->step_count;
    struct advice_claim room = {.step_ns = require_memory(calloc(steps, sizeof(int64_t)))};

    claim_accounts(advice, &room,
                   ACCOUNT_BIT(IDLE_OPERATOR) | ACCOUNT_BIT(IDLE_RUNTIME) |
                       ACCOUNT_BIT(IDLE_LAUNCH));
    (void)claim_named_code(advice, &room, NAMED_MODEL_CODE);
    claim_less(advice, &room, claim);
    return room.step_ns;
}

/* Pauses of the host behind a waiting call are its own. */
static void leave_out_pauses(const struct advice_case *advice, struct advice_claim *claim)
{
    static const uint32_t accounts =
        ACCOUNT_BIT(IDLE_PYTHON) | ACCOUNT_BIT(IDLE_NOTHING) | ACCOUNT_BIT(IDLE_ANNOTATION);

    for (uint32_t i = 0; i < advice->ledger->worst_gap_count; i++) {
        const struct idle_gap *gap = &advice->ledger->worst_gaps[i];
        int64_t *cost_ns = &claim->step_ns[gap->step];
        int64_t length_ns = gap->end_ns - gap->start_ns;

        if (accounts >> gap->main_account & 1 && length_ns >= ADVICE_LONG_PAUSE_NS)
            *cost_ns -= length_ns < *cost_ns ? length_ns : *cost_ns;
    }
}

/* How much shorter all steps are in a replay without the waits; -1: a replay can't tell. */
static int64_t replayed_gain_ns(const struct advice_case *advice)
{
    SCOPED(scenario) scenario = {.text = NULL};
    const struct replay_model *simulation = replay_of(advice->input);
    struct replay_estimate estimate;
    double whole_ns = 0;

    if (!simulation)
        return -1;
    require_invariant(scenario_parse(&scenario, "sync=0", NULL), "the change can be read");
    if (!replay_model_try(simulation, &scenario, &estimate) || estimate.speedup <= 0)
        return -1;
    for (uint32_t i = 0; i < advice->ledger->step_count; i++)
        whole_ns += (double)(advice->ledger->steps[i].window.end_ns -
                             advice->ledger->steps[i].window.start_ns);
    return (int64_t)(whole_ns * (1 - 1 / estimate.speedup));
}

/* The gaps behind a waiting call are its fault only as far as the host could have run ahead: what
 * the host does there besides launching it would do in any case. And where the device still works
 * when the call returns, it runs dry later, for launches begin anew. A replay without the waits
 * knows both; what is idle inside the calls is their fault in any case. */
static void cost_by_replay(struct advice_case *advice, struct advice_claim *claim)
{
    const struct ledger *ledger = advice->ledger;
    int64_t blamed_ns = claim_total_ns(advice, claim);
    int64_t gain_ns = replayed_gain_ns(advice);
    int64_t *room = new_room(advice, claim);
    int64_t room_ns = 0;

    if (gain_ns < 0)
        leave_out_pauses(advice, claim);
    for (uint32_t i = 0; i < ledger->step_count; i++)
        room_ns += room[i];
    for (uint32_t i = 0; i < ledger->step_count; i++) {
        const struct step_ledger *step = &ledger->steps[i];
        int64_t cost_ns = claim->step_ns[i];
        int64_t grown_ns = gain_ns - blamed_ns < room_ns ? gain_ns - blamed_ns : room_ns;

        if (gain_ns >= 0 && gain_ns < blamed_ns)
            cost_ns = wait_share_of(cost_ns, gain_ns, blamed_ns);
        else if (gain_ns >= 0)
            cost_ns += wait_share_of(grown_ns, room[i], room_ns);
        /* Never below what is idle inside the calls themselves. */
        claim->step_ns[i] = cost_ns > step->account_ns[ACCOUNT_IDLE_SYNC]
                                ? cost_ns
                                : step->account_ns[ACCOUNT_IDLE_SYNC];
    }
    free(room);
}

/* Where the device runs dry only behind the calls: those that take longest. */
static const char *waits_text(const struct advice_case *advice, struct costly_calls *calls)
{
    const struct host_call_list *list = &advice->calls.lists[CALLS_SYNC];
    int64_t *waits_ns = zeroed_costs(list);
    const char *text;

    for (uint32_t i = 0; i < list->count; i++)
        waits_ns[i] = advice->trace->host[list->events[i]].duration_ns;
    sum_costly_calls(calls, advice, list, waits_ns);
    free(waits_ns);
    if (calls->site_count == 0)
        return NULL;
    text = results_format(advice->results,
                          "the host waits %s times%s, most in %s (%s), and launches begin anew "
                          "behind each",
                          per_step_count(advice, list->count), a_step(advice),
                          call_site_text(advice, &calls->sites[0].site),
                          per_step_time(advice, calls->sites[0].idle_ns));
    return text;
}

/* Costs first by gaps, which can be shown, then corrected by the replay. Evidence names the
 * calls with most idle time, or where the gain is mostly behind them those that take longest. */
bool check_synchronisation(struct advice_case *advice, struct advice_claim *claim)
{
    const struct host_call_list *list = &advice->calls.lists[CALLS_SYNC];
    struct costly_calls calls;
    const char *operation;
    int64_t *idle_ns;
    int64_t blamed_ns;

    if (advice->ledger->is_cpu_only || list->count == 0)
        return false;
    idle_ns = zeroed_costs(list);
    claim_sync_gaps(advice, claim, idle_ns);
    leave_out_earlier_work(advice, claim);
    blamed_ns = claim_total_ns(advice, claim);
    cost_by_replay(advice, claim);
    sum_costly_calls(&calls, advice, list, idle_ns);
    free(idle_ns);
    claim->evidence = 2 * blamed_ns < claim_total_ns(advice, claim)
                          ? waits_text(advice, &calls)
                          : costly_calls_text(&calls, advice);
    if (claim->evidence && 2 * claim_total_ns(advice, claim) < blamed_ns)
        claim->evidence = results_format(
            advice->results, "%s; most of it what the host does behind them in any case",
            claim->evidence);
    if (calls.site_count == 0)
        return false;
    operation = calls.sites[0].site.operation;
    /* A call without an operator around it is named by itself. */
    if (!operation)
        operation = trace_text(advice->trace, advice->trace->host[calls.sites[0].site.event].name);
    claim->try_this = text_by_prefix(operation, sync_advice);
    claim->confidence = CONFIDENCE_MEDIUM;
    claim->reason = "launching the next kernel takes a part of it in any case";
    return true;
}

/* Idle time while calls of `kind` are open, and where they come from. */
static bool claim_calls(struct advice_case *advice, struct advice_claim *claim,
                        enum host_call_kind kind, struct costly_calls *calls)
{
    const struct host_call_list *list = &advice->calls.lists[kind];
    int64_t *idle_ns = zeroed_costs(list);

    for (uint32_t i = 0; i < list->count; i++) {
        const struct event *event = &advice->trace->host[list->events[i]];
        int64_t range_ns[2] = {event->start_ns, event_end_ns(event)};

        if (!is_first_use(&advice->first_uses, list->events[i]))
            idle_ns[i] = claim_free_time(advice, claim, &advice->idle, range_ns);
    }
    sum_costly_calls(calls, advice, list, idle_ns);
    free(idle_ns);
    return calls->site_count > 0;
}

/* What is idle in first uses among the calls of `kind` is start-up. */
static void leave_out_first_uses(struct advice_case *advice, struct advice_claim *claim,
                                 enum host_call_kind kind)
{
    const struct host_call_list *list = &advice->calls.lists[kind];
    size_t steps = advice->ledger->step_count;
    struct advice_claim first = {.step_ns = require_memory(calloc(steps, sizeof(int64_t)))};

    for (uint32_t i = 0; i < list->count; i++) {
        const struct event *event = &advice->trace->host[list->events[i]];
        int64_t range_ns[2] = {event->start_ns, event_end_ns(event)};

        if (is_first_use(&advice->first_uses, list->events[i]))
            claim_free_time(advice, &first, &advice->idle, range_ns);
    }
    claim_less(advice, claim, &first);
    free(first.step_ns);
}

static void cost_by_account(struct advice_case *advice, struct advice_claim *claim,
                            uint32_t accounts)
{
    memset(claim->step_ns, 0, advice->ledger->step_count * sizeof *claim->step_ns);
    claim_accounts(advice, claim, accounts);
}

/* What a slow call is about, by its name. */
static const struct prefixed_text slow_call_advice[] = {
    {"cudaMemcpy", "pin the host's memory: a copy from pageable memory waits for its turn on the "
                   "device"},
    {"hipMemcpy", "pin the host's memory: a copy from pageable memory waits for its turn on the "
                  "device"},
    {"cudaModule", "warm up before recording: kernels are loaded at their first use"},
    {"cuModule", "warm up before recording: kernels are loaded at their first use"},
    {"", "warm up before recording, so that first uses of kernels and libraries lie outside; see "
         "whether other work takes the processor"},
};

/* A CPU alone has no device that idles while a call is slow. */
bool check_slow_calls(struct advice_case *advice, struct advice_claim *claim)
{
    const struct event *longest = NULL;
    int64_t count;
    const char *name;

    if (advice->ledger->is_cpu_only)
        return false;
    count = claim_slow_calls(advice, claim, true, &longest);
    if (!longest)
        return false;
    name = trace_text(advice->trace, longest->name);
    claim->evidence =
        results_format(advice->results,
                       "calls of 1 ms or more on an idle device: %s, the longest %s of "
                       "%s",
                       format_count(count).text, brief_name(name, advice->results),
                       format_time(longest->duration_ns).text);
    claim->try_this = text_by_prefix(name, slow_call_advice);
    claim->confidence = CONFIDENCE_MEDIUM;
    claim->reason = "the device idles meanwhile; why the call is slow is not in the trace";
    return true;
}

/* The first use of a size has to allocate, in every run: such calls are taken out again, so
 * that a short recording is not told to mend its warm-up. Pinned memory is allocated by calls
 * of the host, which stop the device, hence the other remedy. */
bool check_allocator(struct advice_case *advice, struct advice_claim *claim)
{
    struct costly_calls calls;
    const char *name;

    if (!claim_calls(advice, claim, CALLS_ALLOCATOR, &calls))
        return false;
    cost_by_account(advice, claim, ACCOUNT_BIT(IDLE_ALLOCATOR));
    leave_out_first_uses(advice, claim, CALLS_ALLOCATOR);
    name = trace_text(advice->trace, advice->trace->host[calls.sites[0].site.event].name);
    claim->evidence =
        results_format(advice->results, "%s, in %s", costly_calls_text(&calls, advice), name);
    claim->try_this = "keep shapes stable, PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, leave "
                      "memory free";
    if (strstr(name, "Host"))
        claim->try_this = "reuse pinned buffers: allocating pinned memory in the step stops the "
                          "device";
    claim->confidence = CONFIDENCE_HIGH;
    claim->reason = "the device idles while the launching thread is in these calls";
    return true;
}

/* The device gets no work while launches are recorded into a graph, and that is as it must be:
 * the remedy is to record other steps, not to change the program. */
bool check_graph_capture(struct advice_case *advice, struct advice_claim *claim)
{
    claim_accounts(advice, claim, ACCOUNT_BIT(IDLE_CAPTURE));
    claim->evidence =
        "launches are recorded into graphs (StreamBeginCapture to StreamEndCapture); the "
        "device gets none of them";
    claim->try_this =
        "record steps after the warm-up: each graph is captured once, and launched later";
    claim->confidence = CONFIDENCE_HIGH;
    claim->reason = results_format(advice->results, "%s while the host captures", idles(advice));
    return true;
}

/* "The same on all ranks": a collection on one rank alone makes all others wait in the next
 * collective, at other steps for each of them. */
bool check_garbage_collection(struct advice_case *advice, struct advice_claim *claim)
{
    const struct host_call_list *list = &advice->calls.lists[CALLS_GARBAGE];
    int64_t longest_ns = 0;

    if (list->count == 0)
        return false;
    claim_accounts(advice, claim, ACCOUNT_BIT(IDLE_GARBAGE));
    for (uint32_t i = 0; i < list->count; i++) {
        if (advice->trace->host[list->events[i]].duration_ns > longest_ns)
            longest_ns = advice->trace->host[list->events[i]].duration_ns;
    }
    claim->evidence = results_format(advice->results, "%s collections in the steps, the longest %s",
                                     format_count(list->count).text, format_time(longest_ns).text);
    claim->try_this =
        "gc.freeze() after start-up; gc.disable() and gc.collect() every n-th step, the "
        "same on all ranks";
    claim->confidence = CONFIDENCE_HIGH;
    claim->reason = results_format(advice->results, "%s while the collector runs", idles(advice));
    return true;
}

/* Idle time under overhead events of one of the two kinds. */
static bool claim_overhead(struct advice_case *advice, struct advice_claim *claim, bool of_loading)
{
    const struct host_call_list *list = &advice->calls.lists[CALLS_OVERHEAD];
    const struct event *longest = NULL;
    int64_t count = 0;

    for (uint32_t i = 0; i < list->count; i++) {
        const struct event *event = &advice->trace->host[list->events[i]];
        const char *name = trace_text(advice->trace, event->name);
        int64_t range_ns[2] = {event->start_ns, event_end_ns(event)};

        if (!(of_loading ? is_module_loading(name) : is_profilers_work(name)) ||
            claim_free_time(advice, claim, &advice->idle, range_ns) == 0)
            continue;
        count++;
        if (!longest || event->duration_ns > longest->duration_ns)
            longest = event;
    }
    if (!longest)
        return false;
    claim->evidence =
        results_format(advice->results, "%s times in the steps; the longest %s, %s",
                       format_count(count).text, format_time(longest->duration_ns).text,
                       brief_name(trace_text(advice->trace, longest->name), advice->results));
    return true;
}

/* Idle time at the end of the recording, where that is more than what the profiler recorded of its
 * own work. The larger of two explanations of the same idle time is told, not both. */
static bool claim_recording_end(struct advice_case *advice, struct advice_claim *claim)
{
    int64_t recorded_ns = claim_total_ns(advice, claim);
    int64_t end_ns = claim_free_time(advice, claim, &advice->idle, advice->recording_end_ns);

    if (end_ns <= recorded_ns)
        return false;
    claim->title = "the end of the recording";
    claim->is_of_recording = true;
    claim->evidence =
        results_format(advice->results,
                       "in the last %s of step %" PRId64 " nothing is recorded, and nothing after",
                       format_time(end_ns).text,
                       advice->ledger->steps[advice->ledger->step_count - 1].window.number);
    claim->try_this = "nothing: where the recording goes on, a step does not lose this";
    claim->confidence = CONFIDENCE_MEDIUM;
    claim->reason = "the profiler stops there, or the loop ends; no step before has it";
    return true;
}

/* What recorded steps take longer than others, where that is more than what is known of the
 * profiler's own work: it is part of that. */
static bool claim_dilation(struct advice_case *advice, struct advice_claim *claim)
{
    const struct ledger *ledger = advice->ledger;
    int64_t known_ns = claim_total_ns(advice, claim);
    int64_t total_ns = 0;

    for (uint32_t i = 0; i < ledger->step_count; i++)
        total_ns += dilation_ns(advice, i);
    if (total_ns <= known_ns)
        return false;
    for (uint32_t i = 0; i < ledger->step_count; i++)
        claim->step_ns[i] = dilation_ns(advice, i);
    claim->title = NULL;
    claim->evidence = results_format(
        advice->results,
        "recorded steps take %s, the run's %s others %s (median): they idle less than this page "
        "shows",
        format_time(rounded_mean(ledger_total_ns(ledger), ledger->step_count)).text,
        format_count(advice->description->plain.count).text,
        format_time(advice->plain_step_ns).text);
    claim->reason = "the run's own clock timed both";
    return true;
}

/* All kinds are looked at before the answer, since each adds to the claim; the end of a
 * recording has a text of its own. */
bool check_profiler_overhead(struct advice_case *advice, struct advice_claim *claim)
{
    bool is_recorded, is_end;

    if (advice->ledger->is_cpu_only)
        return false;
    is_recorded = claim_overhead(advice, claim, false);
    claim->reason = "the profiler recorded its own work; the device idles";
    is_end = claim_recording_end(advice, claim);
    if (claim_dilation(advice, claim))
        is_recorded = true;
    else if (is_end)
        return true;
    if (!is_recorded)
        return false;
    claim->is_of_recording = true;
    claim->try_this =
        results_format(advice->results, "%s; a run without profiler does not lose this",
                       recorder_words_for(advice->trace)->less_overhead);
    claim->confidence = CONFIDENCE_HIGH;
    return true;
}

bool check_module_loading(struct advice_case *advice, struct advice_claim *claim)
{
    if (advice->ledger->is_cpu_only || !claim_overhead(advice, claim, true))
        return false;
    claim->try_this = "record later: only the first use of a kernel loads it; or "
                      "CUDA_MODULE_LOADING=EAGER";
    claim->confidence = CONFIDENCE_MEDIUM;
    claim->reason = "a longer run pays this once, not each step";
    return true;
}
