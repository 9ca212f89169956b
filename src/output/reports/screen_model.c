/* The first screens of a model from its config.json: parameters, FLOPs, the MFU of a run; and one
 * step of an inference server. */
#include "base/text/format.h"
#include "output/reports/screen_steps.h"
#include "output/reports/screen_text.h"
#include "output/results/results.h"

#include <math.h>
#include <string.h>

enum { AMOUNTS_MAX = 64 };

static bool is_model(const struct screen_builder *builder)
{
    return find_table(find_section(builder->rank, "model"), "parts") != NULL;
}

/* The parts of a token's FLOPs. Parts of depth 0 are a partition; the row of the whole itself is
 * left out by its size. */
static void screen_model_fill_chart(struct screen_builder *builder, const struct table *parts,
                                    double whole)
{
    struct screen_amount amounts[AMOUNTS_MAX];
    size_t count = 0;

    for (size_t row = 0; row < parts->row_count && count < AMOUNTS_MAX; row++) {
        struct value flops = find_cell_at(parts, row, "flops");
        struct value name = find_cell_at(parts, row, "part");

        if (flops.unit != UNIT_FLOPS || name.unit != UNIT_TEXT || flops.real >= whole ||
            flops.real < whole / 1000 || parts->depths[row] > 0)
            continue;
        amounts[count++] =
            (struct screen_amount){.group = "", .title = name.text, .amount = (int64_t)flops.real};
    }
    builder->screen->chart.title = "FLOPs of a token";
    if (whole > 0 && whole < 9e18)
        screen_fill_chart(builder, &(struct screen_amounts){.list = amounts,
                                                            .count = count,
                                                            .whole = (int64_t)whole,
                                                            .unit = UNIT_FLOPS});
}

/* MFU is said where a step time was given; without, what a token costs. */
static void fill_model(struct screen_builder *builder)
{
    const struct section *model = find_section(builder->rank, "model");
    const struct section *run = find_section(builder->rank, "conventions");
    struct value type = find_number(model, "model_type");
    struct value parameters = find_number(model, "parameters");
    struct value flops = find_number(model, "flops");
    struct value mfu = find_number(run, "mfu");

    builder->screen->subject =
        screen_format(builder, "%s%s%s", screen_rank_file(builder),
                      type.unit == UNIT_TEXT ? screen_format(builder, " %s ", builder->dot) : "",
                      type.unit == UNIT_TEXT ? type.text : "");
    screen_add_figure(builder, "", parameters, " parameters");
    screen_add_figure(builder, "", find_number(model, "active_parameters"), " active");
    screen_add_figure(builder, "", flops, " a token");
    screen_add_figure(builder, "step ", find_number(run, "step_time"), "");
    screen_add_figure(builder, "MFU ", mfu, " (exact)");
    screen_add_figure(builder, "", find_number(run, "tokens_per_second"), " tokens/s");
    screen_add_figure(builder, "", find_number(run, "flops_per_second"), " a device");
    /* A share of the peak is an answer; what a token costs is only a fact, said for want of
     * one. */
    if (value_is_number(&mfu))
        builder->screen->verdict =
            screen_format(builder, "The run reaches %s of the peak of its devices (MFU).",
                          format_fraction(mfu.real).text);
    else if (value_is_number(&parameters) && value_is_number(&flops))
        builder->screen->verdict =
            screen_format(builder, "A token costs %s in training, forward and backward.",
                          screen_value(builder, &flops));
    if (value_is_number(&flops))
        screen_model_fill_chart(builder, find_table(model, "parts"), flops.real);
}

static const char *const model_sections[] = {"model", "conventions", "convention_rules",
                                             "model_memory", NULL};

const struct screen_kind model_screen = {
    .recognizes = is_model,
    .fill = fill_model,
    .sections = model_sections,
};

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
                      screen_rank_file(builder), builder->dot, type.text, builder->dot, phase.text,
                      (long long)requests.integer, requests.integer == 1 ? "" : "s",
                      (long long)context.integer, context.integer == 1 ? "" : "s");
    screen_add_figure(builder, "", find_number(step, "flops"), "");
    screen_add_figure(builder, "reads ", find_number(step, "bytes"), "");
    screen_add_figure(builder, "step at best ", find_number(step, "best_step_time"), "");
    screen_serving_fill_verdict(builder, step);
    screen_serving_fill_chart(builder, find_table(step, "serving_parts"),
                              phase.unit == UNIT_TEXT && strcmp(phase.text, "decode") == 0);
}

static const char *const serving_sections[] = {"serving_step", NULL};

const struct screen_kind serving_screen = {
    .recognizes = is_serving,
    .fill = fill_serving,
    .sections = serving_sections,
};
