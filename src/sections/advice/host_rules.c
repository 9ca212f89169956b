/* Advice on what the host does instead of launching: loading data, Python, named ranges. */
#include "base/core/invariant.h"
#include "base/text/format.h"
#include "base/text/prefix.h"
#include "sections/advice/call_site.h"
#include "sections/advice/claim.h"
#include "sections/advice/named_code.h"
#include "sections/advice/optimizer_options.h"
#include "sections/advice/recording_rules.h"
#include "sections/advice/restraints.h"
#include "sections/advice/waiting_claims.h"
#include "trace/recorder_words.h"

#include <stdlib.h>
#include <string.h>

/* "calls of the loader: 6, 61.200 ms each; the longest wait ..." Calls of the name that has most
 * idle time: a loader has inner calls, too, and their mean would say nothing. */
static const char *loader_evidence(const struct advice_case *advice)
{
    const struct host_call_list *loads = &advice->calls.lists[CALLS_DATA];
    const char *name = busiest_host_event(advice, ACCOUNT_BIT(IDLE_DATA));
    const char *gap = longest_gap_text(advice, ACCOUNT_BIT(IDLE_DATA), false);
    int64_t count = 0, total_ns = 0;

    for (uint32_t i = 0; name && i < loads->count; i++) {
        const struct event *event = &advice->trace->host[loads->events[i]];

        if (strcmp(trace_text(advice->trace, event->name), name) != 0)
            continue;
        count++;
        total_ns += event->duration_ns;
    }
    if (!gap || count == 0)
        return results_format(advice->results, "%s while the launching thread is in the loader",
                              idles(advice));
    return results_format(advice->results, "calls of the loader: %s, %s each; %s",
                          format_count(count).text, format_time(total_ns / count).text, gap);
}

/* The name of the busiest event tells a loader in the training process from workers that are
 * too slow: one wants workers, the other more of them, and no trace shows which workers were
 * slow. */
bool check_data_loading(struct advice_case *advice, struct advice_claim *claim)
{
    const char *name = busiest_host_event(advice, ACCOUNT_BIT(IDLE_DATA));

    claim_accounts(advice, claim, ACCOUNT_BIT(IDLE_DATA));
    claim->evidence = loader_evidence(advice);
    claim->try_this = "more or faster DataLoader workers (num_workers, prefetch_factor), a faster "
                      "decoder, data nearby";
    if (name && makes_batches_itself(name))
        claim->try_this = "DataLoader(num_workers=4 or more, pin_memory=True): now num_workers=0, "
                          "and batches are made in the training process";
    claim->confidence = CONFIDENCE_HIGH;
    claim->reason = results_format(advice->results,
                                   "%s while the launching thread is in the loader", idles(advice));
    return true;
}

/* The call of the list with the most idle time, which is longest. */
static const struct event *longest_of(const struct advice_case *advice,
                                      const struct host_call_list *list)
{
    const struct event *longest = NULL;

    for (uint32_t i = 0; i < list->count; i++) {
        const struct event *event = &advice->trace->host[list->events[i]];

        if (!longest || event->duration_ns > longest->duration_ns)
            longest = event;
    }
    return longest;
}

static const char *longest_text(const struct advice_case *advice, const struct host_call_list *list)
{
    const struct event *longest = longest_of(advice, list);

    if (!longest)
        return "none";
    return results_format(advice->results, "the longest %s of %s",
                          brief_name(trace_text(advice->trace, longest->name), advice->results),
                          format_time(longest->duration_ns).text);
}

/* On a CPU alone preparation is work like any other: no device idles for it. The confidence is
 * medium since frames of Python are recorded at a cost that lengthens just this code. */
bool check_data_preparation(struct advice_case *advice, struct advice_claim *claim)
{
    const struct host_call_list *list = &advice->calls.lists[CALLS_PREPARATION];

    if (advice->ledger->is_cpu_only || claim_idle_in(advice, claim, list) == 0)
        return false;
    claim->accounts =
        ACCOUNT_BIT(IDLE_PYTHON) | ACCOUNT_BIT(IDLE_OPERATOR) | ACCOUNT_BIT(IDLE_ANNOTATION);
    claim->evidence = results_format(
        advice->results, "decoding, resizing, tokenizing and the like on the launching thread; %s",
        longest_text(advice, list));
    claim->try_this =
        "prepare the next batch in other processes while the device works (DataLoader "
        "with num_workers, a queue), or on the device (torchvision.transforms.v2 on "
        "CUDA tensors, DALI)";
    claim->confidence = CONFIDENCE_MEDIUM;
    claim->reason = "recording Python frames makes Python slower than it is";
    return true;
}

/* Long ones alone: a short one is the usual price of a call, and no place to begin with. */
bool check_host_operators(struct advice_case *advice, struct advice_claim *claim)
{
    const struct host_call_list *list = &advice->calls.lists[CALLS_COMPUTATION];

    if (advice->ledger->is_cpu_only || claim_idle_in(advice, claim, list) == 0)
        return false;
    claim->evidence = results_format(
        advice->results, "operators of 1 ms or more that call nothing of the device's, %s%s; %s",
        per_step_count(advice, list->count), a_step(advice), longest_text(advice, list));
    claim->try_this =
        "make these tensors on the device (device=\"cuda\"), or compute on them beside "
        "the device's work";
    claim->confidence = CONFIDENCE_HIGH;
    claim->reason = "the device idles while they compute on the processor";
    return true;
}

/* What the launching thread waits for in a call of the system, by the call's name. */
static const struct prefixed_text system_call_advice[] = {
    {"pthread_", "it waits for another thread of the program: see what that one does meanwhile "
                 "(loader, logger, checkpoint, another holder of Python's lock)"},
    {"sem_", "it waits for another thread or process: see what that one does meanwhile (loader, "
             "logger, checkpoint)"},
    {"futex", "it waits for another thread of the program: see what that one does meanwhile"},
    {"wait", "it waits for a process that it started: do that beside the step"},
    {"poll", "it waits for another process or host: let a thread fetch ahead of the step"},
    {"ppoll", "it waits for another process or host: let a thread fetch ahead of the step"},
    {"epoll", "it waits for another process or host: let a thread fetch ahead of the step"},
    {"select", "it waits for another process or host: let a thread fetch ahead of the step"},
    {"recv", "it waits for another process or host: let a thread fetch ahead of the step"},
    {"accept", "it waits for another process or host: connect before the steps"},
    {"connect", "it waits for another process or host: connect before the steps"},
    {"send", "it sends to another process or host: let a thread do that beside the step"},
    {"nanosleep", "a sleep in the step: wait for what it is there for instead"},
    {"clock_nanosleep", "a sleep in the step: wait for what it is there for instead"},
    {"usleep", "a sleep in the step: wait for what it is there for instead"},
    {"sleep", "a sleep in the step: wait for what it is there for instead"},
    {"sched_yield", "it spins for another thread: see what that one does meanwhile"},
    {"ioctl", "calls of the device's driver: warm up before recording; allocate and register "
              "memory before the steps"},
    {"mmap", "memory of the host comes from the system: reuse buffers"},
    {"munmap", "memory of the host goes back to the system: reuse buffers"},
    {"", "files or pipes: read ahead in another thread or process, from a disk nearby; log and "
         "save beside the step"},
};

/* Nothing is said without the call's name and its longest gap: a bare share of a step spent in
 * the operating system gives nobody a place to look. */
bool check_system_calls(struct advice_case *advice, struct advice_claim *claim)
{
    const char *name = busiest_host_event(advice, ACCOUNT_BIT(IDLE_SYSTEM));
    const char *gap = longest_gap_text(advice, ACCOUNT_BIT(IDLE_SYSTEM), false);

    claim_accounts(advice, claim, ACCOUNT_BIT(IDLE_SYSTEM));
    if (!name || !gap)
        return false;
    claim->evidence =
        results_format(advice->results, "most in %s; %s", brief_name(name, advice->results), gap);
    claim->try_this = text_by_prefix(name, system_call_advice);
    claim->confidence = CONFIDENCE_HIGH;
    claim->reason =
        results_format(advice->results,
                       "%s while the launching thread is in the call; synchronizing calls of the "
                       "device are told apart",
                       idles(advice));
    return true;
}

/* Some optimizer of the program handles many tensors at once already. */
static bool has_batched_optimizer(const struct trace *trace)
{
    size_t names = string_pool_count(&trace->strings);

    for (size_t i = 0; i < names; i++) {
        const char *name = trace_text(trace, (uint32_t)i);

        if (has_prefix(name, "aten::_fused_ad") || has_prefix(name, "aten::_fused_sgd") ||
            has_prefix(name, "aten::_foreach_add"))
            return true;
    }
    return false;
}

/* Time without a core is told as that: first of where nothing and Python is recorded. The
 * kernel's account of CPU time does not say where in a step the thread had no core, so it is
 * taken first from where nothing is recorded, and only the rest from named ranges. */
static void leave_out_coreless(const struct advice_case *advice, struct advice_claim *claim,
                               bool is_named)
{
    for (uint32_t i = 0; i < advice->ledger->step_count; i++) {
        const int64_t *accounts = advice->ledger->steps[i].account_ns;
        int64_t coreless_ns = without_core_ns(advice, i);

        if (is_named)
            coreless_ns -= accounts[ACCOUNT_IDLE_NOTHING] + accounts[ACCOUNT_IDLE_PYTHON];
        if (coreless_ns > 0)
            claim->step_ns[i] -= coreless_ns < claim->step_ns[i] ? coreless_ns : claim->step_ns[i];
    }
}

/* Which of the remedies fits is asked of the optimizer's class: not all have fused or foreach. */
bool check_annotated_code(struct advice_case *advice, struct advice_claim *claim)
{
    const char *name = busiest_named_range(advice);
    const char *gap = longest_gap_text(advice, ACCOUNT_BIT(IDLE_ANNOTATION), false);
    struct optimizer_options options = longest_optimizer(advice);

    claim_named_code(advice, claim, NAMED_OTHER_CODE);
    leave_out_coreless(advice, claim, true);
    if (!name || !gap || claim_total_ns(advice, claim) == 0)
        return false;
    claim->evidence =
        results_format(advice->results, "most in the range %s", brief_name(name, advice->results));
    if (!advice->has_single_optimizer) /* the longest wait may be in its range */
        claim->evidence = results_format(advice->results, "%s; %s", claim->evidence, gap);
    claim->try_this = "look at what it does between operators (logging, checkpoint, evaluation): "
                      "do it less often, or beside the device's work";
    if (has_prefix(name, "command_buffer::update")) /* of XLA, before each launch of its graph */
        claim->try_this = "jax.jit's donate_argnums, so that buffers stay where they are and XLA "
                          "need not update its graph, or no graphs: "
                          "XLA_FLAGS=--xla_gpu_enable_command_buffer=";
    if (has_prefix(name, "Optimizer.") &&
        forbids_fused(advice, &(struct restraint_subject){.options = &options}))
        claim->try_this = results_format(
            advice->results,
            "%s has no fused=True and no foreach=True: call it less often (gradient accumulation)",
            options.name);
    else if (has_prefix(name, "Optimizer."))
        claim->try_this = "the optimizer loops over tensors in Python: torch.optim's fused=True or "
                          "foreach=True, a compiled step";
    if (has_prefix(name, "Optimizer.") && has_batched_optimizer(advice->trace))
        claim->try_this =
            "the optimizer handles many tensors at once already: compile the step, or "
            "call it less often (gradient accumulation)";
    claim->confidence = CONFIDENCE_MEDIUM;
    claim->reason = "the range is known, what takes the time in it is not";
    return true;
}

/* A program of which nothing tells that it is Python. */
static bool tell_of_host_code(struct advice_case *advice, struct advice_claim *claim,
                              const char *gap)
{
    claim->title = "host code between calls";
    claim->evidence =
        results_format(advice->results, "nothing recorded on the launching thread; %s", gap);
    claim->try_this = "put NVTX ranges around what the host does between its calls; --trace=osrt "
                      "tells what it waits for in the operating system";
    claim->confidence = CONFIDENCE_LOW;
    claim->reason = "what the host does there is not recorded";
    return true;
}

/* Nothing but marks of steps: what the host does is not known to be Python, nor anything else. Ops
 * that JAX tells of a device stand on a track of their own, with its steps and scopes: no host is
 * seen there. Ranges of other tracks are a host's. */
static bool has_host(const struct advice_case *advice)
{
    const struct trace *trace = advice->trace;
    bool has_device_ops = trace->facts.platform == PLATFORM_JAX && !advice->ledger->is_cpu_only;
    uint32_t op_track = UINT32_MAX;

    if ((advice->calls.operators > 0 && !has_device_ops) || advice->calls.python_frames > 0)
        return true;
    for (uint32_t i = 0; i < trace->host_count; i++) {
        const struct event *event = &trace->host[i];

        if (event->kind == EVENT_OPERATOR && has_device_ops)
            op_track = event->track;
        else if (event->kind != EVENT_ANNOTATION)
            return true;
    }
    for (uint32_t i = 0; has_device_ops && i < trace->host_count; i++)
        if (trace->host[i].track != op_track)
            return true;
    return false;
}

static bool tell_of_no_host(struct advice_case *advice, struct advice_claim *claim, const char *gap)
{
    const struct recorder_words *words = recorder_words_for(advice->trace);

    claim->title = "idle, and no host is recorded";
    claim->evidence = gap;
    claim->try_this = words->host                    ? words->host
                      : advice->calls.operators == 0 ? words->operators
                                                     : words->stacks;
    claim->confidence = CONFIDENCE_LOW;
    claim->reason = "the cause is not in the recording";
    return true;
}

static void leave_out_recording_end(const struct advice_case *advice, struct advice_claim *claim)
{
    uint32_t last = advice->ledger->step_count - 1;
    int64_t end_ns = recording_end_ns(advice, last);

    claim->step_ns[last] -= end_ns < claim->step_ns[last] ? end_ns : claim->step_ns[last];
}

/* What other rules tell of is taken out in turn: short pauses between a module's operators are
 * launch overhead, the recording's end, preparation of data, time without a core. What is left
 * has no better name than Python. */
bool check_python_code(struct advice_case *advice, struct advice_claim *claim)
{
    uint32_t accounts = ACCOUNT_BIT(IDLE_PYTHON) | ACCOUNT_BIT(IDLE_NOTHING);
    bool is_model_code = !advice->ledger->is_cpu_only;
    const char *name = busiest_host_event(advice, ACCOUNT_BIT(IDLE_PYTHON));
    const char *gap = longest_gap_text(advice, accounts, true);

    claim_accounts(advice, claim, accounts);
    if (is_model_code)
        claim_short_pauses(advice, claim, false);
    leave_out_recording_end(advice, claim);
    leave_out_own_work(advice, claim, CALLS_PREPARATION);
    leave_out_coreless(advice, claim, false);
    claim->accounts = accounts;
    if (claim_named_code(advice, claim, NAMED_PAUSES) +
            (is_model_code ? 0 : claim_named_code(advice, claim, NAMED_MODEL_CODE)) >
        0)
        claim->accounts |= ACCOUNT_BIT(IDLE_ANNOTATION);
    /* The longest wait may lie in a named range alone. */
    if (!gap && claim->accounts != accounts)
        gap = longest_gap_text(advice, ACCOUNT_BIT(IDLE_ANNOTATION), true);
    if (!gap)
        return false;
    if (forbids_python(advice, &(struct restraint_subject){0}))
        return tell_of_host_code(advice, claim, gap);
    if (!has_host(advice))
        return tell_of_no_host(advice, claim, gap);
    claim->evidence = gap;
    claim->try_this = "move Python work out of the step, or let it run ahead of the device";
    claim->confidence = CONFIDENCE_MEDIUM;
    claim->reason = "recording Python frames makes Python slower than it is";
    if (name)
        return true;
    claim->evidence =
        results_format(advice->results, "nothing recorded on the launching thread; %s", gap);
    claim->try_this = advice->calls.operators == 0 ? recorder_words_for(advice->trace)->operators
                                                   : recorder_words_for(advice->trace)->stacks;
    claim->confidence = CONFIDENCE_LOW;
    claim->reason = "most often Python; the trace does not show it";
    return true;
}
