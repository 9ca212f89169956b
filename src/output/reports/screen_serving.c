/* The first screen of one step of an inference server, counted from a config.json. */
#include "output/reports/screen_steps.h"
#include "output/reports/screen_text.h"
#include "output/results/find_results.h"

#include <math.h>
#include <string.h>

enum { AMOUNTS_MAX = 64 };

static bool is_serving(const struct screen_builder *builder)
{
    return find_table(find_section(builder->rank, "serving_step"), "serving_parts") != NULL;
}

/* What a part weighs in the chart: FLOPs of a prefill, bytes of a decode. A decode reads all
 * weights for a few tokens and is bound by bytes; a prefill is bound by FLOPs. */
static double amount_of(const struct table *parts, size_t row, bool is_decode)
{
    struct value flops = find_cell_at(parts, row, "flops");
    struct value weights = find_cell_at(parts, row, "weight_bytes");
    struct value cache = find_cell_at(parts, row, "cache_bytes");

    return is_decode ? value_as_real(&weights) + value_as_real(&cache) : value_as_real(&flops);
}

/* Parts of a thousandth or more; the last row is the total. */
static void screen_serving_fill_chart(struct screen_builder *builder, const struct table *parts,
                                      bool is_decode)
{
    struct screen_amount amounts[AMOUNTS_MAX];
    size_t count = 0;
    double whole = parts->row_count > 0 ? amount_of(parts, parts->row_count - 1, is_decode) : 0;

    for (size_t row = 0; row + 1 < parts->row_count && count < AMOUNTS_MAX; row++) {
        double amount = amount_of(parts, row, is_decode);

        if (amount >= whole / 1000)
            amounts[count++] =
                (struct screen_amount){.group = "",
                                       .title = find_cell_at(parts, row, "part").text,
                                       .amount = llround(amount)};
    }
    builder->screen->chart.title = is_decode ? "Bytes of a step" : "FLOPs of a step";
    if (whole > 0 && whole < 9e18)
        screen_fill_chart(builder,
                          &(struct screen_amounts){.list = amounts,
                                                   .count = count,
                                                   .whole = llround(whole),
                                                   .unit = is_decode ? UNIT_BYTES : UNIT_FLOPS});
}

/* MFU and MBU together: a step of decoding is bound by memory, one of prefill by computing,
 * and either share alone would blame the wrong side. */
static void screen_serving_fill_verdict(struct screen_builder *builder, const struct section *step)
{
    struct value best = find_number(step, "best_tokens_per_second");
    struct value mfu = find_number(step, "mfu");
    struct value mbu = find_number(step, "mbu");

    if (value_is_number(&mfu) && value_is_number(&mbu))
        builder->screen->verdict = screen_format(
            builder, "The step reaches %s of the peak (MFU) and %s of the memory bandwidth (MBU).",
            screen_value(builder, &mfu), screen_value(builder, &mbu));
    else if (value_is_number(&best))
        builder->screen->verdict =
            screen_format(builder, "The device can give %s tokens/s at most, by the roofline.",
                          screen_value(builder, &best));
    else
        builder->screen->verdict = "How fast it could be is not known: needs --device NAME.";
}

/* A decode step is mostly bound by the bytes that it reads and a prefill by its FLOPs, so that
 * the chart is of bytes for the one and of FLOPs for the other. */
static void fill_serving(struct screen_builder *builder)
{
    const struct section *step = find_section(builder->rank, "serving_step");
    struct value type = find_number(step, "model_type");
    struct value phase = find_number(step, "phase");
    struct value requests = find_number(step, "requests");
    struct value context = find_number(step, "context");

    builder->screen->subject =
        screen_format(builder, "%s %s %s %s %s of %lld request%s of %lld token%s",
                      screen_file_name(builder->rank->file), builder->dot, type.text, builder->dot,
                      phase.text, (long long)requests.integer, requests.integer == 1 ? "" : "s",
                      (long long)context.integer, context.integer == 1 ? "" : "s");
    screen_add_figure(builder, "", find_number(step, "flops"), "");
    screen_add_figure(builder, "reads ", find_number(step, "bytes"), "");
    screen_add_figure(builder, "step at best ", find_number(step, "best_step_time"), "");
    screen_serving_fill_verdict(builder, step);
    screen_serving_fill_chart(builder, find_table(step, "serving_parts"),
                              phase.unit == UNIT_TEXT && strcmp(phase.text, "decode") == 0);
}

static const char *const sections[] = {"serving_step", NULL};

const struct screen_kind serving_screen = {
    .recognizes = is_serving,
    .fill = fill_serving,
    .sections = sections,
};
