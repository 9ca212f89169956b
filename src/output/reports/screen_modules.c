/* The first screen of what a model costs by module. */
#include "base/text/format.h"
#include "base/text/prefix.h"
#include "output/reports/screen_steps.h"
#include "output/reports/screen_text.h"
#include "output/results/results.h"

#include <math.h>
#include <stdlib.h>

enum { AMOUNTS_MAX = 256 };

static bool is_module_cost(const struct screen_builder *builder)
{
    return find_section(builder->rank, "module_cost") != NULL;
}

static int by_amount(const void *first, const void *second)
{
    const struct screen_amount *a = first, *b = second;

    return a->amount < b->amount ? 1 : a->amount > b->amount ? -1 : 0;
}

static double real_or_0(struct value value)
{
    return value_is_number(&value) ? value_as_real(&value) : 0;
}

/* "3.62 GFLOP", forward and backward. */
static const char *screen_modules_flops_of(struct screen_builder *builder,
                                           const struct table *table, size_t row)
{
    double flops = real_or_0(find_cell_at(table, row, "forward_flops")) +
                   real_or_0(find_cell_at(table, row, "backward_flops"));
    struct value value = value_flops(flops);

    return flops > 0 ? screen_value(builder, &value) : NULL;
}

/* Rows lie in the order of a walk from the root: children follow, deeper. */
static bool screen_modules_has_parts(const struct table *table, size_t row)
{
    return row + 1 < table->row_count && table->depths[row + 1] > table->depths[row];
}

/* Modules without modules of their own, slowest first: forward and backward together; where no
 * times are known, by their FLOPs. Only leaves: a module and the one it lies in would show the
 * same time twice. The whole is the largest of all rows, which is the model itself. */
static void screen_modules_fill_chart(struct screen_builder *builder, const struct table *table,
                                      bool by_time)
{
    struct screen_amount amounts[AMOUNTS_MAX];
    double whole = 0;
    size_t count = 0;

    for (size_t row = 0; row < table->row_count && count < AMOUNTS_MAX; row++) {
        struct value name = find_cell_at(table, row, "module");
        double amount = by_time ? real_or_0(find_cell_at(table, row, "forward_latency")) +
                                      real_or_0(find_cell_at(table, row, "backward_latency"))
                                : real_or_0(find_cell_at(table, row, "forward_flops")) +
                                      real_or_0(find_cell_at(table, row, "backward_flops"));

        /* Before any row is passed over: the model itself has parts and is never drawn. */
        whole = fmax(whole, amount);
        if (name.unit != UNIT_TEXT)
            name = find_cell_at(table, row, "name");
        if (screen_modules_has_parts(table, row) || amount <= 0 || amount >= 9e18 ||
            name.unit != UNIT_TEXT)
            continue;
        amounts[count++] = (struct screen_amount){
            .group = "",
            .title = name.text,
            .amount = (int64_t)amount,
            .remark = by_time ? screen_modules_flops_of(builder, table, row) : NULL};
    }
    /* The table is sorted by something else, so that all are sorted before they are cut. */
    qsort(amounts, count, sizeof *amounts, by_amount);
    if (count > SCREEN_ROWS_MAX)
        count = SCREEN_ROWS_MAX;
    builder->screen->chart.title =
        by_time ? "Modules, slowest first (forward + backward)" : "Modules, most FLOPs first";
    builder->screen->chart.remark_title = by_time ? "FLOPs" : NULL;
    screen_fill_chart(builder,
                      &(struct screen_amounts){.list = amounts,
                                               .count = count,
                                               .whole = (int64_t)fmin(whole, 9e18),
                                               .unit = by_time ? UNIT_TIME_NS : UNIT_FLOPS});
}

/* "at least " where the section's FLOPs are that. */
static const char *screen_modules_bound(const struct section *section)
{
    const struct number *number = find_whole_number(section, "forward_flops");

    return number && number->note && has_prefix(number->note, "at least") ? "at least " : "";
}

/* `bound` puts "at least" before the number where an operator could not be counted. */
static const char *screen_modules_verdict_of(struct screen_builder *builder,
                                             const struct section *section)
{
    struct value forward = find_number(section, "forward_flops");
    struct value backward = find_number(section, "backward_flops");
    struct value rate = find_number(section, "forward_flops_per_second");
    const char *text = screen_value(builder, &forward);

    if (!text)
        return NULL;
    if (value_is_number(&rate) && real_or_0(backward) > 0)
        return screen_format(builder, "A step computes %s%s forward and %s backward.",
                             screen_modules_bound(section), text, screen_value(builder, &backward));
    return screen_format(builder, "A forward pass computes %s%s.", screen_modules_bound(section),
                         text);
}

/* "4.13 GMACs", as other profilers write it. */
static void add_macs(struct screen_builder *builder, struct value macs, const char *bound)
{
    static const char *const units[6] = {"MACs", "KMACs", "MMACs", "GMACs", "TMACs", "PMACs"};
    struct unit_scale scale;

    if (!value_is_number(&macs))
        return;
    scale = decimal_scale(value_as_real(&macs), units);
    scale.decimals =
        scale.factor > 1 ? three_digit_decimals(value_as_real(&macs) / scale.factor) : 0;
    screen_add_figure_text(builder, screen_format(builder, "%s%s %s", bound,
                                                  format_scaled(value_as_real(&macs), scale).text,
                                                  scale.unit));
}

/* "forward at least ": before a figure of FLOPs. */
static const char *bound_phase(const struct section *section, const char *phase)
{
    bool is_forward = *phase == 'f';

    if (*screen_modules_bound(section) == '\0')
        return phase;
    return is_forward ? "forward at least " : "backward at least ";
}

/* A count without times (of a model that never ran) has its chart by FLOPs; backward figures
 * are shown only where a backward was seen. */
static void fill_module_cost(struct screen_builder *builder)
{
    const struct section *section = find_section(builder->rank, "module_cost");
    const struct table *modules = find_table(section, "modules");
    bool by_time = false;

    builder->screen->subject = screen_format(builder, "%s %s FLOPs and time by module",
                                             screen_rank_file(builder), builder->dot);
    screen_add_figure(builder, "", find_number(section, "parameters"), " parameters");
    screen_add_figure(builder, bound_phase(section, "forward "),
                      find_number(section, "forward_flops"), "");
    add_macs(builder, find_number(section, "forward_macs"), screen_modules_bound(section));
    if (real_or_0(find_number(section, "backward_flops")) > 0)
        screen_add_figure(builder, bound_phase(section, "backward "),
                          find_number(section, "backward_flops"), "");
    screen_add_figure(builder, "forward ", find_number(section, "forward_latency"), "");
    if (real_or_0(find_number(section, "backward_flops")) > 0)
        screen_add_figure(builder, "backward ", find_number(section, "backward_latency"), "");
    screen_add_figure(builder, bound_phase(section, "forward "),
                      find_number(section, "forward_flops_per_second"), "");
    if (!builder->screen->verdict)
        builder->screen->verdict = screen_modules_verdict_of(builder, section);
    /* A trace without marks of modules still has its ops. */
    if (!modules)
        modules = find_table(section, "ops");
    for (size_t row = 0; modules && row < modules->row_count; row++)
        by_time = by_time || real_or_0(find_cell_at(modules, row, "forward_latency")) > 0;
    if (modules)
        screen_modules_fill_chart(builder, modules, by_time);
}

static const char *const sections[] = {"module_cost", NULL};

const struct screen_kind module_cost_screen = {
    .recognizes = is_module_cost,
    .fill = fill_module_cost,
    .sections = sections,
};
