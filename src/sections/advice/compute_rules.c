/* Advice on kernels that are not matrix work: pointwise chains, repeated forwards. */
#include "base/text/format.h"
#include "ledger/step_finder.h"
#include "sections/advice/call_site.h"
#include "sections/advice/claim.h"
#include "sections/advice/fusable_chains.h"
#include "sections/advice/restraints.h"
#include "trace/name_answers.h"

#include <stdlib.h>
#include <string.h>

static bool is_pointwise(enum kernel_class class)
{
    return class == KERNEL_ELEMENTWISE || class == KERNEL_INDEXING || class == KERNEL_RANDOM;
}

/* The operators that launched them, by name: the one with the most time. */
struct operator_sum {
    uint32_t name;
    int64_t duration_ns;
};
enum { OPERATORS_MAX = 256 };

struct operator_sums {
    struct operator_sum sums[OPERATORS_MAX];
    uint32_t count;
};

/* The table is of fixed size: programs have few operators that launch pointwise kernels, and
 * the busiest of them come in each step. */
static void compute_add_operator(struct operator_sums *sums, const struct advice_case *advice,
                                 uint32_t index)
{
    uint32_t op = trace_operator_of(advice->trace, index);
    uint32_t at = 0;

    if (op == NO_EVENT)
        return;
    while (at < sums->count && sums->sums[at].name != advice->trace->host[op].name)
        at++;
    if (at == OPERATORS_MAX)
        return;
    if (at == sums->count)
        sums->sums[sums->count++] = (struct operator_sum){.name = advice->trace->host[op].name};
    sums->sums[at].duration_ns += advice->trace->device[index].duration_ns;
}

/* ", most of it in aten::add_ 13.021 ms, aten::relu 5.000 ms"; "" where no operator is known. */
static const char *operators_text(struct operator_sums *sums, const struct advice_case *advice)
{
    const char *text = "";

    for (int shown = 0; shown < 2; shown++) {
        struct operator_sum *most = NULL;

        for (uint32_t i = 0; i < sums->count; i++) {
            if (!most || sums->sums[i].duration_ns > most->duration_ns)
                most = &sums->sums[i];
        }
        if (!most || most->duration_ns == 0)
            break;
        text = results_format(advice->results, "%s%s %s %s", text, shown ? "," : ", most of it in",
                              brief_name(trace_text(advice->trace, most->name), advice->results),
                              per_step_time(advice, most->duration_ns));
        most->duration_ns = 0;
    }
    return text;
}

/* 32 bits, and no 16 among them. */
static bool is_of_wide_numbers(const char *text)
{
    if (strstr(text, "Half") || strstr(text, "half") || strstr(text, "BFloat16") ||
        strstr(text, "bfloat16") || strstr(text, "bf16"))
        return false;
    return strstr(text, "float") != NULL;
}

/* By the types of the operator's inputs, else by the kernel's name. */
static bool is_on_wide_numbers(struct name_answers *wide, const struct trace *trace, uint32_t index)
{
    uint32_t op = trace_operator_of(trace, index);
    uint32_t types = op == NO_EVENT ? 0 : trace->details[trace->host[op].detail].input_types;

    return name_answer(wide, trace, types ? types : trace->device[index].name);
}

static bool is_long_pointwise(const struct advice_case *advice, uint32_t index)
{
    return is_pointwise((enum kernel_class)advice->ledger->classes[index]) &&
           advice->trace->device[index].duration_ns >= ADVICE_SMALL_KERNEL_NS;
}

/* Kernels below the limit are another rule's (small kernels), so no kernel is in both. */
bool check_unfused_pointwise(struct advice_case *advice, struct advice_claim *claim)
{
    struct step_finder finder = {.ledger = advice->ledger};
    struct operator_sums operators = {.count = 0};
    struct restraint_subject widths = {0};
    struct name_answers wide = {.ask = is_of_wide_numbers};
    int64_t count = 0, total_ns = 0;

    for (uint32_t i = 0; i < advice->trace->device_count; i++) {
        const struct event *event = &advice->trace->device[i];

        if (!is_long_pointwise(advice, i) || !is_chosen_device_event(&finder, advice->trace, i))
            continue;
        compute_add_operator(&operators, advice, i);
        count++;
        total_ns += event->duration_ns;
        widths.all_ns += event->duration_ns;
        widths.wide_ns += is_on_wide_numbers(&wide, advice->trace, i) ? event->duration_ns : 0;
    }
    free(wide.answers);
    if (count == 0)
        return false;
    claim_fused(advice, claim, is_long_pointwise);
    claim->evidence = results_format(
        advice->results,
        "%s pointwise kernels%s of 10 µs or more take %s%s; estimated: all but the longest of each "
        "chain of them",
        per_step_count(advice, count), a_step(advice), per_step_time(advice, total_ns),
        operators_text(&operators, advice));
    claim->try_this =
        forbids_halved_bytes(advice, &widths)
            ? "torch.compile: a fused chain reads and writes memory once, not once a kernel"
            : "torch.compile: a fused chain reads and writes memory once, not once a kernel; "
              "16-bit numbers halve the bytes";
    if (forbids_python(advice, &(struct restraint_subject){0}))
        claim->try_this = "fuse them: a fused kernel reads and writes memory once";
    /* Most pointwise work is compiled already: what is left lies outside of the compiled
     * graphs. */
    if (advice->kernels.classes[KERNEL_TRITON].count > count)
        claim->try_this = "compile these parts as well: look for graph breaks "
                          "(TORCH_LOGS=graph_breaks)";
    claim->confidence = CONFIDENCE_MEDIUM;
    claim->reason = "that the chains can be fused is told by their order alone";
    return true;
}

/* On a CPU: what the operators take that repeat the forward, those within others once. Events of
 * a thread are sorted by start and nest, so what lies below `reached_ns` was counted with the
 * operator around it. */
static struct work_sum claim_repeated_operators(const struct advice_case *advice,
                                                struct advice_claim *claim)
{
    const struct host_contexts *contexts = &advice->costs->contexts;
    struct step_finder finder = {.ledger = advice->ledger};
    struct work_sum sum = {0};
    int64_t reached_ns = INT64_MIN;

    for (uint32_t i = 0; i < advice->trace->host_count; i++) {
        const struct event *event = &advice->trace->host[i];
        uint32_t step;
        int64_t from_ns = event->start_ns > reached_ns ? event->start_ns : reached_ns;

        if (event->kind != EVENT_OPERATOR || contexts->phases[i] != PHASE_RECOMPUTE ||
            event_end_ns(event) <= from_ns)
            continue;
        step = step_finder_of_host(&finder, event->start_ns);
        reached_ns = event_end_ns(event);
        if (step == NO_STEP)
            continue;
        claim->step_ns[step] += reached_ns - from_ns;
        sum.count++;
        sum.duration_ns += reached_ns - from_ns;
    }
    return sum;
}

/* On a device: its kernels of operators that do. */
static struct work_sum claim_repeated_kernels(const struct advice_case *advice,
                                              struct advice_claim *claim)
{
    const struct host_contexts *contexts = &advice->costs->contexts;
    struct step_finder finder = {.ledger = advice->ledger};
    struct work_sum sum = {0};

    for (uint32_t i = 0; i < advice->trace->device_count; i++) {
        const struct event *event = &advice->trace->device[i];
        uint32_t op = trace_operator_of(advice->trace, i);

        if (op == NO_EVENT || contexts->phases[op] != PHASE_RECOMPUTE ||
            !kernel_class_is_compute((enum kernel_class)advice->ledger->classes[i]) ||
            !is_chosen_device_event(&finder, advice->trace, i))
            continue;
        claim->step_ns[step_finder_at(&finder, event->start_ns)] += event->duration_ns;
        sum.count++;
        sum.duration_ns += event->duration_ns;
    }
    return sum;
}

/* Recomputed work is known by its place: forward operators within the backward
 * (PHASE_RECOMPUTE). */
bool check_recomputation(struct advice_case *advice, struct advice_claim *claim)
{
    bool is_on_cpu = advice->ledger->is_cpu_only;
    struct work_sum sum =
        is_on_cpu ? claim_repeated_operators(advice, claim) : claim_repeated_kernels(advice, claim);

    if (sum.count == 0)
        return false;
    claim->evidence =
        results_format(advice->results, "%s %s%s repeat the forward inside the backward, %s",
                       per_step_count(advice, sum.count), is_on_cpu ? "operators" : "kernels",
                       a_step(advice), per_step_time(advice, sum.duration_ns));
    claim->try_this = "checkpoint fewer layers, or only what is cheap to repeat (selective "
                      "checkpointing), as far as memory allows";
    claim->confidence = CONFIDENCE_MEDIUM;
    claim->reason = is_on_cpu ? "the operators are counted; whether memory allows less is not known"
                              : "the kernels are counted; whether memory allows less is not known";
    return true;
}
