/* One run as each tool would count it. */
#include "sections/model/convention_table.h"

#include <stdbool.h>

double convention_rate(const struct convention_run *run, double flops_per_token)
{
    if (run->seconds <= 0.0)
        return 0.0;
    return flops_per_token * run->tokens / run->seconds / run->devices;
}

/* In the order of what a reader can mend: a rule that does not fit the model, then the step's
 * time, then the peak. */
struct value convention_utilisation(const struct convention_run *run, double flops_per_token)
{
    if (flops_per_token < 0.0)
        return value_not_known(why_convention_does_not_fit);
    if (run->seconds <= 0.0)
        return value_not_known(run->needs_seconds);
    if (run->peak <= 0.0)
        return value_not_known(run->needs_peak);
    return value_fraction(convention_rate(run, flops_per_token) / run->peak);
}

enum convention_column {
    CONVENTION_NAME,
    CONVENTION_FLOPS,
    CONVENTION_RATIO,
    CONVENTION_STEP,
    CONVENTION_MFU,
    CONVENTION_RULE,
    CONVENTION_KEY,
    CONVENTION_COLUMNS
};

static const struct column convention_columns[CONVENTION_COLUMNS] = {
    [CONVENTION_NAME] = {"title", "as counted by", UNIT_TEXT, 0, BAR_NONE},
    [CONVENTION_FLOPS] = {"gflops", "GFLOP of a token", UNIT_NUMBER, 0, BAR_NONE},
    [CONVENTION_RATIO] = {"ratio", "of exact", UNIT_NUMBER, 0, BAR_NONE},
    [CONVENTION_STEP] = {"step_flops", "FLOPs of a step", UNIT_FLOPS, 4, BAR_NONE},
    [CONVENTION_MFU] = {"mfu", "MFU", UNIT_FRACTION, 0, BAR_NONE},
    [CONVENTION_RULE] = {"rule", "what it counts", UNIT_TEXT, PRIORITY_FOR_PROGRAMS, BAR_NONE},
    [CONVENTION_KEY] = {"convention", "name", UNIT_TEXT, PRIORITY_FOR_PROGRAMS, BAR_NONE},
};

/* The lowest and the highest count that means model FLOPs by a published rule. */
struct extremes {
    const struct convention *lowest;
    const struct convention *highest;
    double least;
    double most;
};

/* Of equals the first one stays, so that the order of the list decides and not chance. */
static void convention_table_widen(struct extremes *extremes, const struct convention *convention,
                                   double flops)
{
    if (!extremes->lowest || flops < extremes->least) {
        extremes->lowest = convention;
        extremes->least = flops;
    }
    if (!extremes->highest || flops > extremes->most) {
        extremes->highest = convention;
        extremes->most = flops;
    }
}

/* The ratio is to the exact count: that is the factor between two teams' numbers of the same
 * run. */
static void fill_convention(struct value *cells, const struct convention_run *run,
                            const struct convention *convention, double exact)
{
    double flops = convention->count(run->architecture, run->setting);

    cells[CONVENTION_NAME] = value_text(convention->title);
    cells[CONVENTION_RULE] = value_text(convention->rule);
    cells[CONVENTION_KEY] = value_text(convention->name);
    if (flops < 0.0) {
        cells[CONVENTION_FLOPS] = value_not_known(why_convention_does_not_fit);
        return;
    }
    cells[CONVENTION_FLOPS] = value_number(flops / 1e9);
    cells[CONVENTION_RATIO] = value_number(flops / exact);
    cells[CONVENTION_STEP] = value_flops(flops * run->tokens);
    cells[CONVENTION_MFU] = convention_utilisation(run, flops);
}

/* Below a thousandth of the peak the figures say nothing of conventions. */
static void add_verdict(struct results *results, struct section *section,
                        const struct convention_run *run, const struct extremes *extremes)
{
    double least = convention_rate(run, extremes->least);
    double most = convention_rate(run, extremes->most);

    if (!extremes->lowest || !extremes->highest || run->peak <= 0.0 || most < 0.001 * run->peak)
        return;
    section_add_note(results, section,
                     results_format(results,
                                    "the same run is %.1f %% of the peak by %s and %.1f %% by %s",
                                    100.0 * least / run->peak, extremes->lowest->title,
                                    100.0 * most / run->peak, extremes->highest->title),
                     "same step, same devices, same peak; only the FLOPs of a token differ",
                     "compare runs by one convention, and print it beside the number");
}

/* The first convention is the exact count, which the ratios of all are to. */
void add_convention_table(struct results *results, struct section *section,
                          const struct convention_run *run)
{
    size_t count;
    const struct convention *conventions = all_conventions(&count);
    double exact = conventions[0].count(run->architecture, run->setting);
    struct extremes extremes = {0};
    struct table *table =
        section_add_table(results, section, "conventions", "FLOPs of a token by convention",
                          convention_columns, CONVENTION_COLUMNS);

    for (size_t i = 0; i < count; i++) {
        double flops = conventions[i].count(run->architecture, run->setting);

        fill_convention(table_add_row(results, table, 0), run, &conventions[i], exact);
        if (flops > 0.0)
            convention_table_widen(&extremes, &conventions[i], flops);
    }
    add_verdict(results, section, run, &extremes);
}

/* As numbers and not as a table: each rule is a sentence, which a column would cut. */
struct section *describe_convention_rules(struct results *results)
{
    size_t count;
    const struct convention *conventions = all_conventions(&count);
    struct section *section =
        section_new(results, "convention_rules", "What each of them counts", NULL);

    for (size_t i = 0; i < count; i++)
        section_add_value(results, section, conventions[i].key, conventions[i].title,
                          value_text(conventions[i].rule));
    return section;
}
