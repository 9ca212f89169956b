/* What would fit into a memory of a given size, and what other ways to train would need. */
#include "base/text/format.h"
#include "sections/memory/memory_sections.h"

#include <stddef.h>

/* The part of a device's memory that torch can allocate, as the recording shows it: without what is
 * outside of torch, and with the allocator's reserve. A peak of tensors needs more than its
 * bytes of reserve, by the ratio that the recording shows; fragmentation of another batch is not
 * known, and taken as the same. */
static int64_t usable_bytes(const struct memory_fit_view *view)
{
    int64_t bytes = view->budget_bytes;
    int64_t reserved = memory_most_reserved(&view->memory);
    int64_t peak = memory_view_peak(&view->memory).bytes;
    int64_t outside = memory_most_outside_torch(&view->memory);

    if (outside > 0)
        bytes = bytes > outside ? bytes - outside : 0;
    if (reserved > peak && peak > 0)
        bytes = (int64_t)((double)bytes * (double)peak / (double)reserved);
    return bytes;
}

/* Searches stop at 2^29: what fits that many does not grow with it. */
static struct value memory_fit_answer(int64_t most)
{
    return most >= 1 << 29 ? value_not_known("no limit is found: it does not grow with it")
                           : value_count(most);
}

/* A forecast is asked of a replay of the recorded step with other sizes, moment by moment: the
 * peak of a larger batch may lie in another phase than the recorded one. */
static void add_answers(struct results *results, struct section *section,
                        const struct memory_fit_view *view, const struct memory_forecast *forecast,
                        const struct memory_replay *replay)
{
    int64_t usable = usable_bytes(view);
    struct forecast_peak doubled = memory_replay_peak(replay, forecast, 2 * forecast->samples, -1);

    section_add_value(results, section, "samples", "samples of a micro-batch, recorded",
                      value_count(forecast->samples));
    section_add_number(results, section,
                       (struct number){.key = "peak_doubled",
                                       .title = "peak with twice as many",
                                       .value = value_bytes(doubled.bytes),
                                       .note = results_format(results, "%s bytes, in the %s",
                                                              format_count(doubled.bytes).text,
                                                              memory_phase_title(doubled.phase))});
    /* Without a budget there is still a forecast, which needs no limit. */
    if (view->budget_bytes <= 0)
        return;
    section_add_value(results, section, "budget", "memory to fit into",
                      value_bytes(view->budget_bytes));
    /* Both are told: who checks the answer starts from the budget. */
    if (usable != view->budget_bytes)
        section_add_number(results, section,
                           (struct number){.key = "usable",
                                           .title = "of that for tensors",
                                           .value = value_bytes(usable),
                                           .note =
                                               "without what is outside of PyTorch, and with the "
                                               "allocator's reserve, both as recorded"});
    section_add_value(results, section, "most_samples", "largest micro-batch that fits",
                      memory_fit_answer(memory_most_samples(replay, forecast, usable)));
    section_add_number(
        results, section,
        (struct number){
            .key = "most_length",
            .title = "longest sequence that fits",
            .value = forecast->length > 1
                         ? memory_fit_answer(memory_most_length(replay, forecast, usable))
                         : value_not_known("needs inputs that are sequences of tokens"),
            .note = forecast->length > 1 ? results_format(results,
                                                          "recorded: %lld tokens; with as many "
                                                          "samples as recorded",
                                                          (long long)forecast->length)
                                         : NULL});
}

/* What the peak of the largest micro-batch that fits is made of: where it is reached, what of it is
 * fixed, and by how much each sample adds to it. */
struct fit_limit {
    int64_t most; /* samples; 0: none fits */
    struct forecast_peak peak;
    int64_t sample_bytes;
};

/* What is not fixed is shared among samples, so that the growth per sample is that of the
 * phase in which the limit is met, which may be another than the recorded peak's. */
static struct fit_limit fit_limit_of(const struct memory_fit_view *view,
                                     const struct memory_replay *replay,
                                     const struct memory_forecast *forecast)
{
    struct fit_limit limit = {0};
    int64_t samples;

    if (view->budget_bytes <= 0)
        return limit;
    limit.most = memory_most_samples(replay, forecast, usable_bytes(view));
    samples = limit.most > 0 ? limit.most : 1;
    limit.peak = memory_replay_peak(replay, forecast, samples, -1);
    limit.sample_bytes = (limit.peak.bytes - limit.peak.fixed_bytes) / samples;
    return limit;
}

/* Why a way fits as many as it does: "in the forward: 1.2 MiB a sample (as recorded 0.9 MiB), 3.0
 * MiB fixed (as recorded 4.1 MiB)". NULL where the budget is not known. */
static const char *fit_reason(struct results *results, const struct fit_limit *limit,
                              const struct fit_limit *recorded)
{
    if (limit->peak.bytes <= 0)
        return NULL;
    return results_format(
        results,
        "its peak is then in the %s: %s a sample (as recorded %s, in the %s) and %s fixed (as "
        "recorded %s)",
        memory_phase_title(limit->peak.phase), format_bytes(limit->sample_bytes).text,
        format_bytes(recorded->sample_bytes).text, memory_phase_title(recorded->peak.phase),
        format_bytes(limit->peak.fixed_bytes).text, format_bytes(recorded->peak.fixed_bytes).text);
}

/* A way that saves at the recorded batch may yet fit fewer samples, or no more: that is told. */
static void tell_ways_that_fit_no_more(struct results *results, struct section *section,
                                       const struct memory_fit_view *view,
                                       const struct memory_forecast *forecast,
                                       const struct what_ifs *ways)
{
    struct fit_limit recorded = fit_limit_of(view, &ways->ways[0].replay, forecast);

    for (int i = 1; i < ways->count; i++) {
        struct fit_limit limit = fit_limit_of(view, &ways->ways[i].replay, forecast);

        if (recorded.peak.bytes <= 0 || limit.most > recorded.most)
            continue;
        section_add_note(
            results, section,
            results_format(results, "%s fits %s samples%s", ways->ways[i].name,
                           format_count(limit.most).text,
                           limit.most < recorded.most
                               ? results_format(results, ", fewer than the %s as recorded",
                                                format_count(recorded.most).text)
                               : ", no more than as recorded"),
            fit_reason(results, &limit, &recorded), NULL);
    }
}

#define WHAT_IF_COLUMNS(COLUMN)                                                                   \
    COLUMN("way", "way to train", UNIT_TEXT, 0, BAR_NONE,                                         \
           value_text(results_text(results, way->name)))                                          \
    COLUMN("peak", "peak", UNIT_BYTES, 0, BAR_NONE, value_bytes(peak.bytes))                      \
    COLUMN("saved", "saved", UNIT_FRACTION, 1, BAR_NONE,                                          \
           value_fraction(recorded > 0 ? 1 - (double)peak.bytes / (double)recorded : 0))          \
    COLUMN("phase", "in the", UNIT_TEXT, 0, BAR_NONE, value_text(memory_phase_title(peak.phase))) \
    COLUMN("most_samples", "micro-batch that fits", UNIT_COUNT, 1, BAR_NONE,                      \
           view->budget_bytes > 0 ? memory_fit_answer(limit.most) : value_none())                 \
    COLUMN("sample_bytes", "grows by, a sample", UNIT_BYTES, 2, BAR_NONE,                         \
           view->budget_bytes > 0 ? value_bytes(limit.sample_bytes) : value_none())               \
    COLUMN("why", "why", UNIT_TEXT, PRIORITY_FOR_PROGRAMS, BAR_NONE,                              \
           why ? value_text(why) : value_none())                                                  \
    COLUMN("assumes", "takes for granted", UNIT_TEXT, PRIORITY_FOR_PROGRAMS, BAR_NONE,            \
           way->assumes ? value_text(way->assumes) : value_none())

/* The first way is the step as recorded, with which the others are compared. */
static void add_ways(struct results *results, struct section *section,
                     const struct memory_fit_view *view, const struct memory_forecast *forecast,
                     const struct what_ifs *ways)
{
    struct table *table =
        section_add_table(results, section, "what_if", "What if", COLUMNS_OF(WHAT_IF_COLUMNS));
    int64_t recorded =
        memory_replay_peak(&ways->ways[0].replay, forecast, forecast->samples, -1).bytes;
    struct fit_limit as_recorded = fit_limit_of(view, &ways->ways[0].replay, forecast);

    table->note = "One change at a time, with the recorded batch: the peak may move to another "
                  "phase, and then saves less than what it frees.";
    for (int i = 0; i < ways->count; i++) {
        const struct what_if *way = &ways->ways[i];
        struct forecast_peak peak =
            memory_replay_peak(&way->replay, forecast, forecast->samples, -1);
        struct fit_limit limit = fit_limit_of(view, &way->replay, forecast);
        const char *why = i > 0 ? fit_reason(results, &limit, &as_recorded) : NULL;

        FILL_ROW(table_add_row(results, table, 0), WHAT_IF_COLUMNS);
    }
}

/* Without the number of samples nothing tells what grows with the batch; without marks nothing
 * tells what stays. */
struct section *describe_memory_fit(struct results *results, const struct memory_fit_view *view)
{
    struct section *section = section_new(
        results, "memory_fit", "What would fit",
        "From one recorded step, replayed with other sizes: what grows with the batch, what is "
        "fixed, and the most of their sum at any moment.");
    SCOPED(memory_forecast) forecast = {0};
    SCOPED(what_ifs) ways = {0};

    if (view->samples <= 0 || view->memory.run->side->mark_count == 0) {
        section_add_value(
            results, section, "most_samples", "largest micro-batch that fits",
            value_not_known(view->samples <= 0
                                ? "needs the samples of a micro-batch: give --batch"
                                : "needs the recorder's marks: 'flopledger run --memory'"));
        return section;
    }
    memory_forecast_init(&forecast, view->memory.run, view->memory.device, view->samples,
                         view->length);
    find_what_ifs(&ways, &forecast, &view->options);
    /* The first way is the step as it was recorded, with nothing changed but sizes. */
    add_answers(results, section, view, &forecast, &ways.ways[0].replay);
    add_ways(results, section, view, &forecast, &ways);
    tell_ways_that_fit_no_more(results, section, view, &forecast, &ways);
    return section;
}
