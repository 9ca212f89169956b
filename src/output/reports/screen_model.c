/* The first screen of a model from its config.json: parameters, FLOPs, the MFU of a run. */
#include "base/text/format.h"
#include "output/reports/screen_steps.h"
#include "output/reports/screen_text.h"
#include "output/results/find_results.h"

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
        screen_format(builder, "%s%s%s", screen_file_name(builder->rank->file),
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

static const char *const sections[] = {"model", "conventions", "convention_rules", "model_memory",
                                       NULL};

const struct screen_kind model_screen = {
    .recognizes = is_model,
    .fill = fill_model,
    .sections = sections,
};
