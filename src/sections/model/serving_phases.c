/* How fast does an inference server prefill and decode, and what holds it up? */
#include "base/core/percentile.h"
#include "cost/architectures/serving_cost.h"
#include "ledger/serving_range.h"
#include "sections/analysis.h"
#include "sections/model/model_sections.h"
#include "sections/tally.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char needs_model[] = "needs --model config.json";
static const char needs_lengths[] = "needs how many tokens its requests see: vLLM's ranges tell it";
static const char needs_tokens[] = "needs the new tokens: no range says them";
static const char needs_peak[] = "needs --device-name or --peak";
static const char needs_bandwidth[] = "needs --device-name";
static const char needs_share[] = "needs a trace of one device: of several each has a share";

/* Steps of one phase. */
struct phase_total {
    uint32_t steps;
    int64_t requests; /* -1: of some step not said */
    int64_t tokens;   /* likewise */
    int64_t time_ns;
    int64_t busy_ns;
    int64_t host_ns; /* idle because of the host */
    int64_t idle_ns[ACCOUNT_COUNT];
    double compute_seconds; /* all FLOPs at the peaks of their formats */
    double memory_seconds;  /* all bytes at the memory's bandwidth */
    double flops;
    double bytes;
    const char *needs; /* why the four above are not known; NULL where they are */
};

struct phase_page {
    struct results *results;
    struct section *section;
    const struct analysis_input *input;
    const struct architecture *architecture; /* NULL: not known */
    struct phase_total phases[SERVING_PHASE_COUNT];
    struct serving_range *steps; /* [ledger->step_count]; requests 0: no step of a server */
};

/* ---- which phase a step is ------------------------------------------------------------------- */

static bool has_word(const char *name, const char *word)
{
    for (; *name; name++)
        if (strncasecmp(name, word, strlen(word)) == 0)
            return true;
    return false;
}

/* Steps that the user chose by --step-range may be named in other words. */
static bool phase_by_words(struct serving_range *range, const char *name)
{
    bool is_prefill = has_word(name, "prefill");
    bool is_decode = has_word(name, "decode");

    *range = (struct serving_range){.requests = -1, .tokens = -1, .phase = SERVING_MIXED};
    if (is_prefill != is_decode)
        range->phase = is_prefill ? SERVING_PREFILL : SERVING_DECODE;
    return is_prefill || is_decode;
}

/* A name that tells numbers goes first, words ("prefill", "decode") second; a step that is
 * neither counts for no phase. */
static uint32_t read_phases(struct phase_page *page)
{
    const struct trace *trace = page->input->trace;
    const struct ledger *ledger = page->input->ledger;
    uint32_t found = 0;

    for (uint32_t i = 0; i < ledger->step_count; i++) {
        const char *name = trace_text(trace, ledger->steps[i].window.name);
        struct serving_range *range = &page->steps[i];

        if (serving_range_parse(range, name) || phase_by_words(range, name))
            found++;
        else
            *range = (struct serving_range){0};
    }
    return found;
}

/* ---- what a step must do --------------------------------------------------------------------- */

/* Logits are computed for each query of a decode step, and for the last token of each request
 * of a prefill. */
static struct serving_batch batch_of(const struct request_sums *sums, bool is_decode)
{
    return (struct serving_batch){
        .requests = (double)sums->requests,
        .queries = (double)sums->queries,
        .keys = (double)sums->keys,
        .pairs = (double)causal_pairs(sums),
        .logits = (double)(is_decode ? sums->queries : sums->requests),
        .is_ragged = sums->requests > 1,
        .is_decode = is_decode,
    };
}

/* The first that lacks, in the order in which a user can give it. */
static const char *why_step_is_not_known(const struct phase_page *page,
                                         const struct serving_range *range)
{
    if (!page->architecture)
        return needs_model;
    if (why_no_serving_cost(page->architecture))
        return why_no_serving_cost(page->architecture);
    if (page->input->trace->facts.world_size > 1)
        return needs_share;
    return range->has_sums ? NULL : needs_lengths;
}

/* One step whose work is not known makes the phase's unknown: a sum over some steps would be
 * too low for the time of all. */
static void add_work_of_step(struct phase_total *total, const struct phase_page *page,
                             const struct serving_range *range)
{
    const struct efficiency *efficiency = page->input->efficiency;
    struct serving_batch batches[2];
    struct serving_cost cost;
    struct serving_bound bound;
    int count = 0;

    if (!total->needs)
        total->needs = why_step_is_not_known(page, range);
    if (total->needs)
        return;
    if (range->context.requests > 0)
        batches[count++] = batch_of(&range->context, false);
    if (range->generation.requests > 0)
        batches[count++] = batch_of(&range->generation, true);
    cost = serving_cost(page->architecture, batches, count, 1);
    bound = serving_cost_bound(&cost, efficiency->peaks.peaks, memory_roof(efficiency));
    total->flops += cost.total.flops;
    total->bytes += cost.total.weight_bytes + cost.total.cache_bytes;
    total->compute_seconds += bound.compute_seconds;
    total->memory_seconds += bound.memory_seconds;
}

/* Idle time that the host could have filled with work: all but what the device makes itself. */
static bool is_of_host(enum account account)
{
    return account_descriptions[account].group == ACCOUNT_GROUP_IDLE &&
           account != ACCOUNT_IDLE_CAPTURE && account != ACCOUNT_IDLE_COMPILATION &&
           account != ACCOUNT_IDLE_QUEUE_GAP && account != ACCOUNT_IDLE_QUEUED_WAIT &&
           account != ACCOUNT_IDLE_GRAPH;
}

static void add_known_count(int64_t *sum, int64_t count)
{
    *sum = *sum < 0 || count < 0 ? -1 : *sum + count;
}

/* Idle time by cause and host time side by side: a decode step that waits for its host is the
 * usual loss of serving. */
static void add_serving_step_to(struct phase_total *total, const struct phase_page *page,
                                uint32_t index)
{
    const struct step_ledger *step = &page->input->ledger->steps[index];

    total->steps++;
    add_known_count(&total->requests, page->steps[index].requests);
    add_known_count(&total->tokens, page->steps[index].tokens);
    total->time_ns += step->window.end_ns - step->window.start_ns;
    total->busy_ns += step->busy_ns;
    for (int a = 0; a < ACCOUNT_COUNT; a++) {
        if (account_descriptions[a].group == ACCOUNT_GROUP_IDLE)
            total->idle_ns[a] += step->account_ns[a];
        if (is_of_host((enum account)a))
            total->host_ns += step->account_ns[a];
    }
    add_work_of_step(total, page, &page->steps[index]);
}

/* ---- the tables ------------------------------------------------------------------------------ */

static struct value per_step(const struct phase_total *total, int64_t count, const char *needs)
{
    return count < 0 ? value_not_known(needs) : value_number((double)count / total->steps);
}

/* What takes `seconds` at the peak, of `time_ns`. */
static struct value utilization(const struct phase_total *total, double seconds, int64_t time_ns,
                                const char *needs)
{
    if (total->needs)
        return value_not_known(total->needs);
    if (seconds <= 0)
        return value_not_known(needs);
    return time_ns > 0 ? value_fraction(seconds * 1e9 / (double)time_ns) : value_none();
}

static enum account largest_idle(const struct phase_total *total)
{
    int most = 0;

    for (int a = 0; a < ACCOUNT_COUNT; a++)
        if (total->idle_ns[a] > total->idle_ns[most])
            most = a;
    return (enum account)most;
}

static struct value work_value(const struct phase_total *total, double work)
{
    return total->needs ? value_not_known(total->needs) : value_flops(work / total->steps);
}

static struct value read_value(const struct phase_total *total)
{
    double bytes = total->bytes / total->steps;

    return total->needs ? value_not_known(total->needs)
                        : value_bytes(bytes < 9e18 ? llround(bytes) : INT64_MAX);
}

#define PHASES_COLUMNS(COLUMN)                                                                     \
    COLUMN("phase", "phase", UNIT_TEXT, 0, BAR_NONE,                                               \
           value_text(serving_phase_name((enum serving_phase)i)))                                  \
    COLUMN("steps", "steps", UNIT_COUNT, 0, BAR_NONE, value_count(total->steps))                   \
    COLUMN("requests", "requests per step", UNIT_NUMBER, 2, BAR_NONE,                              \
           per_step(total, total->requests, needs_tokens))                                         \
    COLUMN("tokens", "new tokens per step", UNIT_NUMBER, 0, BAR_NONE,                              \
           per_step(total, total->tokens, needs_tokens))                                           \
    COLUMN("step_time", "step time", UNIT_TIME_NS, 0, BAR_NONE,                                    \
           value_time_ns(total->time_ns / total->steps))                                           \
    COLUMN("tokens_per_second", "tokens/s", UNIT_NUMBER, 0, BAR_NONE,                              \
           total->tokens < 0 ? value_not_known(needs_tokens)                                       \
                             : value_number((double)total->tokens * 1e9 / (double)total->time_ns)) \
    COLUMN("mfu", "MFU", UNIT_FRACTION, 0, BAR_NONE,                                               \
           utilization(total, total->compute_seconds, total->time_ns, needs_peak))                 \
    COLUMN("mbu", "MBU", UNIT_FRACTION, 0, BAR_NONE,                                               \
           utilization(total, total->memory_seconds, total->time_ns, needs_bandwidth))             \
    COLUMN("device_busy", "device busy", UNIT_FRACTION, 1, BAR_NONE,                               \
           value_fraction(fraction_of(total->busy_ns, total->time_ns)))                            \
    COLUMN("host_bound", "host-bound", UNIT_FRACTION, 1, BAR_NONE,                                 \
           value_fraction(fraction_of(total->host_ns, total->time_ns)))                            \
    COLUMN("busy_mfu", "MFU while busy", UNIT_FRACTION, 3, BAR_NONE,                               \
           utilization(total, total->compute_seconds, total->busy_ns, needs_peak))                 \
    COLUMN("busy_mbu", "MBU while busy", UNIT_FRACTION, 3, BAR_NONE,                               \
           utilization(total, total->memory_seconds, total->busy_ns, needs_bandwidth))             \
    COLUMN("flops", "FLOPs per step", UNIT_FLOPS, PRIORITY_FOR_PROGRAMS, BAR_NONE,                 \
           work_value(total, total->flops))                                                        \
    COLUMN("bytes", "bytes read per step", UNIT_BYTES, PRIORITY_FOR_PROGRAMS, BAR_NONE,            \
           read_value(total))

/* A share of more than all is a wrong figure on one of both sides: never left without a word. */
static void warn_of_excess(const struct phase_page *page, enum serving_phase phase)
{
    const struct phase_total *total = &page->phases[phase];
    double seconds = (double)total->time_ns / 1e9;
    double compute = total->needs ? 0 : total->compute_seconds / seconds;
    double memory = total->needs ? 0 : total->memory_seconds / seconds;

    if (compute <= 1 && memory <= 1)
        return;
    section_add_warning(
        page->results, page->section,
        results_format(page->results, "a %s step takes less than %s allows: %.1f %% of it",
                       serving_phase_name(phase),
                       memory > compute ? "the memory's bandwidth" : "the peak",
                       100 * fmax(memory, compute)),
        memory > compute
            ? "weights of fewer bits, fewer experts chosen, a shared prefix, another model"
            : "matmuls of fewer bits, another model, or another device",
        "give the config.json of what was served, and --device-name");
}

/* MFU and MBU above 100 % are warned of a phase at a time: such a figure means that sizes or
 * lengths were not those of the requests. */
static void add_phase_table(const struct phase_page *page)
{
    struct table *table = section_add_table(page->results, page->section, "phases", "By phase",
                                            COLUMNS_OF(PHASES_COLUMNS));

    table->note = "A mixed step prefills some requests and decodes others. MFU and MBU are of the "
                  "whole step, by the model's sizes and the lengths of its requests. Host-bound: "
                  "the device idles, and the host has not launched its next work in time.";
    for (int i = 0; i < SERVING_PHASE_COUNT; i++) {
        const struct phase_total *total = &page->phases[i];

        if (total->steps == 0)
            continue;
        FILL_ROW(table_add_row(page->results, table, 0), PHASES_COLUMNS);
        warn_of_excess(page, (enum serving_phase)i);
    }
}

#define PHASE_IDLE_COLUMNS(COLUMN)                                                               \
    COLUMN("phase", "phase", UNIT_TEXT, 0, BAR_NONE,                                             \
           value_text(serving_phase_name((enum serving_phase)i)))                                \
    COLUMN("cause", "idle because of", UNIT_TEXT, 0, BAR_NONE,                                   \
           value_text(account_descriptions[cause].title))                                        \
    COLUMN("mean", "per step", UNIT_TIME_NS, 0, BAR_NONE, value_time_ns(idle_ns / total->steps)) \
    COLUMN("share", "of the phase", UNIT_FRACTION, 0, BAR,                                       \
           value_fraction(fraction_of(idle_ns, total->time_ns)))                                 \
    COLUMN("key", "key", UNIT_TEXT, PRIORITY_FOR_PROGRAMS, BAR_NONE,                             \
           value_text(account_descriptions[cause].key))

/* Largest first: the one shown is set to 0, and the next is looked for. Accounts are few. */
static void add_idle_table(const struct phase_page *page)
{
    struct table *table = section_add_table(page->results, page->section, "phase_idle",
                                            "Idle by cause", COLUMNS_OF(PHASE_IDLE_COLUMNS));

    for (int i = 0; i < SERVING_PHASE_COUNT; i++) {
        struct phase_total rest = page->phases[i];
        const struct phase_total *total = &page->phases[i];
        enum account cause = largest_idle(&rest);

        for (; total->steps > 0 && rest.idle_ns[cause] > 0; cause = largest_idle(&rest)) {
            int64_t idle_ns = rest.idle_ns[cause];

            FILL_ROW(table_add_row(page->results, table, 0), PHASE_IDLE_COLUMNS);
            rest.idle_ns[cause] = 0;
        }
    }
}

/* ---- numbers --------------------------------------------------------------------------------- */

static bool decodes(const struct serving_range *range)
{
    return range->requests != 0 && range->phase != SERVING_PREFILL;
}

/* From the end of a step that decodes to the end of the next, where that decodes, too: a request
 * that is in both waits that long for its next token. */
static void add_token_latency(const struct phase_page *page)
{
    const struct ledger *ledger = page->input->ledger;
    int64_t *latencies = zeroed_array(ledger->step_count, sizeof *latencies);
    size_t count = 0;

    for (uint32_t i = 1; i < ledger->step_count; i++)
        if (decodes(&page->steps[i]) && decodes(&page->steps[i - 1]))
            latencies[count++] =
                ledger->steps[i].window.end_ns - ledger->steps[i - 1].window.end_ns;
    if (count > 0) {
        section_add_number(page->results, page->section,
                           (struct number){"inter_token_latency", "inter-token latency, median",
                                           value_time_ns(percentile_of(latencies, count, 50)),
                                           "from one step that decodes to the next"});
        section_add_value(page->results, page->section, "inter_token_latency_max", "longest",
                          value_time_ns(percentile_of(latencies, count, 100)));
    }
    free(latencies);
}

/* How weights are stored is told beside the model: MBU counts their bytes, and a quantized
 * model has a fraction of the bytes that its type suggests. */
static void add_phase_numbers(const struct phase_page *page)
{
    const struct architecture *architecture = page->architecture;

    if (architecture) {
        section_add_number(page->results, page->section,
                           (struct number){"model_type", "model type",
                                           value_text(architecture->model_type),
                                           architecture->note});
        section_add_value(page->results, page->section, "storage", "weights",
                          value_text(storage_words(page->results, &architecture->storage)));
    }
    add_token_latency(page);
}

/* Steps without a server's range are of no phase; without any the section is not there. */
static struct section *describe_phases(struct results *results, const struct analysis_input *input)
{
    struct phase_page page = {.results = results, .input = input};

    page.architecture = input->options->architecture ? input->options->architecture
                        : input->description         ? input->description->architecture
                                                     : NULL;
    page.steps = zeroed_array(input->ledger->step_count, sizeof *page.steps);
    if (input->ledger->source == WINDOW_WHOLE || read_phases(&page) == 0) {
        free(page.steps);
        return NULL;
    }
    for (uint32_t i = 0; i < input->ledger->step_count; i++)
        if (page.steps[i].requests != 0)
            add_serving_step_to(&page.phases[page.steps[i].phase], &page, i);
    page.section = section_new(results, "serving_phases", "Inference by phase",
                               "How fast the server prefills and decodes, by the names of the "
                               "ranges around its steps.");
    add_phase_numbers(&page);
    add_phase_table(&page);
    add_idle_table(&page);
    free(page.steps);
    return page.section;
}

const struct analysis serving_phases_analysis = {
    .name = "serving_phases",
    .summary = "how fast does an inference server prefill and decode?",
    .run = describe_phases,
};
