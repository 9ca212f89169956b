/* What `flopledger flops --model --phase` says of one step of an inference server. */
#include "base/text/format.h"
#include "sections/model/model_sections.h"

#include <math.h>

static const char needs_device[] = "needs --device NAME";
static const char needs_peak[] = "needs --device NAME or --peak";

/* What the section is made from. */
struct serving_page {
    struct results *results;
    struct section *section;
    const struct serving_run *run;
    const struct serving_cost *cost;
    struct serving_bound bound;
    double best_seconds; /* 0: not known */
};

static void serving_add(const struct serving_page *page, const char *key, const char *title,
                        struct value value, const char *note)
{
    section_add_number(page->results, page->section, (struct number){key, title, value, note});
}

static struct value seconds_value(double seconds, const char *needs)
{
    return seconds > 0 ? value_time_ns(llround(seconds * 1e9)) : value_not_known(needs);
}

static struct value bytes_value(double bytes)
{
    return value_bytes(bytes < 9e18 ? llround(bytes) : INT64_MAX);
}

/* A type that the file does not say is told as assumed, with the option that says it. */
const char *storage_words(struct results *results, const struct weight_storage *storage)
{
    const char *type = peak_type_name(storage->type);

    if (storage->is_forced)
        return results_format(results, "matrices of the layers %s, by --dtype; others %s",
                              peak_type_name(storage->parts[STORED_MIXER].format), type);
    if (storage->method[0])
        return results_format(results, "%s; quantized layers by %s", type, storage->method);
    return storage->has_type
               ? type
               : results_format(results, "%s, as the file does not say (--dtype says it)", type);
}

/* ---- what is asked --------------------------------------------------------------------------- */

/* The context includes the new tokens, as each of them sees itself. With tensor parallelism
 * all figures are those of one device, since its memory and its peak are what bounds. */
static void serving_add_setting(const struct serving_page *page)
{
    const struct serving_run *run = page->run;
    const struct weight_storage *storage = &run->architecture->storage;

    serving_add(page, "model_type", "model type", value_text(run->architecture->model_type),
                run->architecture->note);
    serving_add(page, "phase", "phase", value_text(run->is_decode ? "decode" : "prefill"), NULL);
    serving_add(page, "requests", "requests", value_count(run->requests), NULL);
    serving_add(page, "new_tokens", "new tokens of each", value_count(run->queries), NULL);
    serving_add(page, "context", "tokens that they see", value_count(run->context),
                "of each request, new ones included");
    if (run->tensor > 1)
        serving_add(page, "tensor_parallel", "devices that share the model",
                    value_count(run->tensor), "figures are of one of them");
    serving_add(page, "storage", "weights", value_text(storage_words(page->results, storage)),
                NULL);
    serving_add(page, "cache_type", "keys and values",
                value_text(peak_type_name(storage->cache_as)), NULL);
}

/* ---- what it costs --------------------------------------------------------------------------- */

/* Experts that tokens choose, not all: a small batch reads few of them, and experts are most
 * of the weights. */
static void serving_add_work(const struct serving_page *page)
{
    const struct serving_part *total = &page->cost->total;
    double bytes = total->weight_bytes + total->cache_bytes;

    serving_add(page, "flops", "FLOPs of the step", value_flops(total->flops), NULL);
    serving_add(page, "bytes", "bytes read", bytes_value(bytes), NULL);
    serving_add(page, "weight_bytes", "of those, weights", bytes_value(total->weight_bytes), NULL);
    serving_add(page, "cache_bytes", "of those, the KV cache", bytes_value(total->cache_bytes),
                "and states of state spaces");
    serving_add(page, "arithmetic_intensity", "FLOPs per byte",
                bytes > 0 ? value_number(total->flops / bytes) : value_none(), NULL);
    if (page->cost->experts > 0)
        serving_add(page, "experts_read", "experts that tokens choose",
                    value_number(page->cost->experts_read),
                    results_format(page->results,
                                   "of %.0f in a layer; expected where tokens choose evenly",
                                   page->cost->experts));
}

/* Memory held is all experts and the whole cache, other than what a step reads. */
static void serving_add_memory(const struct serving_page *page)
{
    const struct device_peak *device = page->run->device;
    double held = page->cost->held_weight_bytes + page->cost->held_cache_bytes;

    serving_add(page, "held_weight_bytes", "memory for weights",
                bytes_value(page->cost->held_weight_bytes), NULL);
    serving_add(page, "held_cache_bytes", "memory for the KV cache",
                bytes_value(page->cost->held_cache_bytes), "of these requests");
    if (device && device->memory_bytes > 0 && held > (double)device->memory_bytes)
        section_add_warning(
            page->results, page->section,
            results_format(
                page->results, "weights and KV cache need %s of memory, but the device has %s",
                format_bytes(llround(held)).text, format_bytes(device->memory_bytes).text),
            NULL, "more devices (--tp), fewer requests, or weights of fewer bits");
}

static double serving_memory_rate(const struct serving_run *run)
{
    return measured_memory_rate(run->rates, run->device, NULL);
}

/* NULL where one of the two is not known. With no FLOPs at all, memory limits whatever the peak
 * is. */
static const char *limit_of(struct serving_bound bound, double flops)
{
    if (bound.memory_seconds <= 0 || (bound.compute_seconds <= 0 && flops > 0))
        return NULL;
    return bound.memory_seconds > bound.compute_seconds ? "memory bandwidth" : "compute";
}

/* The roofline: the larger of both times, as both go on at once at best. */
static double best_of(struct serving_bound bound, double flops)
{
    return limit_of(bound, flops) ? fmax(bound.compute_seconds, bound.memory_seconds) : 0;
}

/* At best: activations, collectives and launches come on top, so that no server can reach it. */
static void serving_add_roof(const struct serving_page *page)
{
    const struct serving_run *run = page->run;
    const struct device_peak *device = run->device;
    double tokens = page->cost->tokens;
    double best = page->best_seconds;
    const char *limit = limit_of(page->bound, page->cost->total.flops);

    if (device)
        serving_add(page, "device", "device", value_text(device->name), device->source);
    if (run->rates)
        serving_add(page, "measured_on", "rates of", value_text(run->rates->device),
                    run->rates->how);
    serving_add(page, "compute_time", "at the peak",
                seconds_value(page->bound.compute_seconds, needs_peak),
                "all FLOPs, each at the dense peak of its number format");
    serving_add(
        page, "memory_time", "at the memory bandwidth",
        seconds_value(page->bound.memory_seconds, needs_device),
        serving_memory_rate(run) > 0
            ? results_text(page->results, format_bytes_per_second(serving_memory_rate(run)).text)
            : NULL);
    serving_add(page, "best_step_time", "step, at best", seconds_value(best, needs_device),
                limit ? results_format(page->results, "limited by %s", limit) : NULL);
    serving_add(page, "best_tokens_per_second", "tokens/s, at best",
                best > 0 ? value_number(tokens / best) : value_not_known(needs_device),
                "by the roofline; activations, collectives and launches come on top");
    if (run->is_decode)
        serving_add(page, "best_tokens_per_second_per_request", "tokens/s of a request, at best",
                    best > 0 ? value_number((double)run->queries / best)
                             : value_not_known(needs_device),
                    NULL);
}

/* Of a step that was timed. MBU: bytes that must be read over what the memory could have read in
 * the step's time (Databricks, "LLM Inference Performance Engineering", 2023). */
static void serving_add_measured(const struct serving_page *page)
{
    double seconds = (double)page->run->step_time_ns / 1e9;
    struct serving_bound bound = page->bound;

    if (page->run->step_time_ns <= 0)
        return;
    serving_add(page, "step_time", "step time", value_time_ns(page->run->step_time_ns), NULL);
    serving_add(page, "tokens_per_second", "tokens/s", value_number(page->cost->tokens / seconds),
                NULL);
    serving_add(page, "mfu", "MFU",
                bound.compute_seconds > 0 ? value_fraction(bound.compute_seconds / seconds)
                                          : value_not_known(needs_peak),
                "the FLOPs at the peak, of the step's time");
    serving_add(page, "mbu", "MBU",
                bound.memory_seconds > 0 ? value_fraction(bound.memory_seconds / seconds)
                                         : value_not_known(needs_device),
                "weights and KV cache read, of what the memory could read");
    if (page->best_seconds > seconds)
        section_add_warning(page->results, page->section,
                            "the step is faster than the roofline: its time, the batch, the "
                            "context, the type of the weights or the device is not what was said",
                            NULL, NULL);
}

/* ---- by part --------------------------------------------------------------------------------- */

#define SERVING_PART_COLUMNS(COLUMN)                                            \
    COLUMN("part", "part", UNIT_TEXT, 0, BAR_NONE, value_text(name))            \
    COLUMN("flops", "FLOPs", UNIT_FLOPS, 0, BAR_NONE, value_flops(part->flops)) \
    COLUMN("format", "format", UNIT_TEXT, 2, BAR_NONE, format)                  \
    COLUMN("weight_bytes", "weights read", UNIT_BYTES, 0, BAR_NONE,             \
           bytes_value(part->weight_bytes))                                     \
    COLUMN("cache_bytes", "KV cache read", UNIT_BYTES, 1, BAR_NONE,             \
           bytes_value(part->cache_bytes))                                      \
    COLUMN("best_time", "at best", UNIT_TIME_NS, 0, BAR_NONE,                   \
           seconds_value(best_of(bound, part->flops), needs_device))            \
    COLUMN("limit", "limited by", UNIT_TEXT, 1, BAR_NONE,                       \
           limit_of(bound, part->flops) ? value_text(limit_of(bound, part->flops)) : value_none())

/* Parts may have formats of their own (weights in 4 bits, logits in 16), so each has its own
 * roof. */
static void serving_add_parts(const struct serving_page *page)
{
    const struct serving_run *run = page->run;
    double rate = serving_memory_rate(run);
    struct table *table =
        section_add_table(page->results, page->section, "serving_parts", "By part of the model",
                          COLUMNS_OF(SERVING_PART_COLUMNS));

    for (int i = 0; i <= PART_COUNT; i++) {
        bool is_total = i == PART_COUNT;
        const struct serving_part *part = is_total ? &page->cost->total : &page->cost->parts[i];
        const char *name = is_total ? "total" : model_part_name((enum model_part)i);
        struct serving_bound bound =
            is_total ? page->bound : serving_part_bound(part, run->peaks, rate);
        struct value format = is_total ? value_none() : value_text(peak_type_name(part->format));

        if (part->flops > 0 || part->weight_bytes > 0 || part->cache_bytes > 0)
            FILL_ROW(table_add_row(page->results, table, 0), SERVING_PART_COLUMNS);
    }
}

/* All requests are taken as equally long: that is what a user can tell, and the mean is what
 * counts for bytes. */
struct section *describe_serving_step(struct results *results, const struct serving_run *run)
{
    struct serving_batch batch =
        serving_batch_even(run->requests, run->queries, run->context, run->is_decode);
    struct serving_cost cost = serving_cost(run->architecture, &batch, 1, run->tensor);
    struct serving_bound bound = serving_cost_bound(&cost, run->peaks, serving_memory_rate(run));
    struct serving_page page = {.results = results,
                                .run = run,
                                .cost = &cost,
                                .bound = bound,
                                .best_seconds = best_of(bound, cost.total.flops)};

    page.section = section_new(
        results, "serving_step", run->is_decode ? "One decode step" : "One prefill step",
        "What one step of an inference server must compute and read, and how fast it could be.");
    serving_add_setting(&page);
    serving_add_work(&page);
    serving_add_roof(&page);
    serving_add_measured(&page);
    serving_add_memory(&page);
    serving_add_parts(&page);
    return page.section;
}
