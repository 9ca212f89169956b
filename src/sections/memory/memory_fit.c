/* What would fit into a memory of a given size, and what other ways to train would need. */
#include "base/text/format.h"
#include "sections/memory/memory_sections.h"

#include <stddef.h>

/* The part of a device's memory that torch can allocate, as the recording shows it: without what is
 * outside of torch, and with the allocator's reserve. */
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

static struct value memory_fit_answer(int64_t most)
{
    return most >= 1 << 29 ? value_not_known("no limit is found: it does not grow with it")
                           : value_count(most);
}

static void add_answers(struct results *results, struct section *section,
                        const struct memory_fit_view *view, const struct memory_forecast *forecast,
                        const struct memory_replay *replay)
{
    int64_t usable = usable_bytes(view);
    struct forecast_peak doubled = memory_replay_peak(replay, forecast, 2 * forecast->samples, -1);

    section_add_number(results, section,
                       (struct number){.key = "samples",
                                       .title = "samples of a micro-batch, recorded",
                                       .value = value_count(forecast->samples)});
    section_add_number(results, section,
                       (struct number){.key = "peak_doubled",
                                       .title = "peak with twice as many",
                                       .value = value_bytes(doubled.bytes),
                                       .note = results_format(results, "%s bytes, in the %s",
                                                              format_count(doubled.bytes).text,
                                                              memory_phase_title(doubled.phase))});
    if (view->budget_bytes <= 0)
        return;
    section_add_number(results, section,
                       (struct number){.key = "budget",
                                       .title = "memory to fit into",
                                       .value = value_bytes(view->budget_bytes)});
    if (usable != view->budget_bytes)
        section_add_number(results, section,
                           (struct number){.key = "usable",
                                           .title = "of that for tensors",
                                           .value = value_bytes(usable),
                                           .note =
                                               "without what is outside of PyTorch, and with the "
                                               "allocator's reserve, both as recorded"});
    section_add_number(
        results, section,
        (struct number){.key = "most_samples",
                        .title = "largest micro-batch that fits",
                        .value = memory_fit_answer(memory_most_samples(replay, forecast, usable))});
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

#define WHAT_IF_COLUMNS(COLUMN)                                                                   \
    COLUMN("way", "way to train", UNIT_TEXT, 0, BAR_NONE,                                         \
           value_text(results_text(results, way->name)))                                          \
    COLUMN("peak", "peak", UNIT_BYTES, 0, BAR_NONE, value_bytes(peak.bytes))                      \
    COLUMN("saved", "saved", UNIT_FRACTION, 1, BAR_NONE,                                          \
           value_fraction(recorded > 0 ? 1 - (double)peak.bytes / (double)recorded : 0))          \
    COLUMN("phase", "in the", UNIT_TEXT, 0, BAR_NONE, value_text(memory_phase_title(peak.phase))) \
    COLUMN("most_samples", "micro-batch that fits", UNIT_COUNT, 1, BAR_NONE,                      \
           view->budget_bytes > 0 ? memory_fit_answer(memory_most_samples(&way->replay, forecast, \
                                                                          usable_bytes(view)))    \
                                  : value_none())                                                 \
    COLUMN("assumes", "takes for granted", UNIT_TEXT, PRIORITY_FOR_PROGRAMS, BAR_NONE,            \
           way->assumes ? value_text(way->assumes) : value_none())

static void add_ways(struct results *results, struct section *section,
                     const struct memory_fit_view *view, const struct memory_forecast *forecast,
                     const struct what_ifs *ways)
{
    struct table *table =
        section_add_table(results, section, "what_if", "What if", COLUMNS_OF(WHAT_IF_COLUMNS));
    int64_t recorded =
        memory_replay_peak(&ways->ways[0].replay, forecast, forecast->samples, -1).bytes;

    table->note = "One change at a time, with the recorded batch: the peak may move to another "
                  "phase, and then saves less than what it frees.";
    for (int i = 0; i < ways->count; i++) {
        const struct what_if *way = &ways->ways[i];
        struct forecast_peak peak =
            memory_replay_peak(&way->replay, forecast, forecast->samples, -1);

        FILL_ROW(table_add_row(results, table, 0), WHAT_IF_COLUMNS);
    }
}

struct section *describe_memory_fit(struct results *results, const struct memory_fit_view *view)
{
    struct section *section = section_new(
        results, "memory_fit", "What would fit",
        "From one recorded step, replayed with other sizes: what grows with the batch, what is "
        "fixed, and the most of their sum at any moment.");
    SCOPED(memory_forecast) forecast = {0};
    SCOPED(what_ifs) ways = {0};

    if (view->samples <= 0 || view->memory.run->side->mark_count == 0) {
        section_add_number(
            results, section,
            (struct number){.key = "most_samples",
                            .title = "largest micro-batch that fits",
                            .value = value_not_known(
                                view->samples <= 0
                                    ? "needs the samples of a micro-batch: give --batch"
                                    : "needs the recorder's marks: 'flopledger run --memory'")});
        return section;
    }
    memory_forecast_init(&forecast, view->memory.run, view->memory.device, view->samples,
                         view->length);
    find_what_ifs(&ways, &forecast, &view->options);
    add_answers(results, section, view, &forecast, &ways.ways[0].replay);
    add_ways(results, section, view, &forecast, &ways);
    return section;
}
