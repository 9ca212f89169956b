/* The first screen of a training job: which part of its time went into steps that were kept. */
#include "base/text/format.h"
#include "output/reports/screen_steps.h"
#include "output/reports/screen_text.h"
#include "output/results/find_results.h"
#include "output/results/metrics.h"

#include <inttypes.h>
#include <string.h>

enum { AMOUNTS_MAX = 64 };

static bool is_job(const struct screen_builder *builder)
{
    return find_table(find_section(builder->rank, "job"), "accounts") != NULL;
}

/* The accounts below the whole; where an account has parts, it stands for them. */
static void screen_job_fill_chart(struct screen_builder *builder, const struct table *table)
{
    struct screen_amount amounts[AMOUNTS_MAX];
    size_t count = 0;

    for (size_t row = 1; row < table->row_count && count < AMOUNTS_MAX; row++) {
        struct value time = find_cell_at(table, row, "time");

        if (table->depths[row] > 1 || time.unit != UNIT_TIME_NS)
            continue;
        amounts[count++] = (struct screen_amount){.group = "",
                                                  .title = find_cell_at(table, row, "account").text,
                                                  .key = find_cell_at(table, row, "key").text,
                                                  .amount = time.integer};
    }
    builder->screen->chart.title = "Where the time of the job goes";
    screen_fill_chart(builder,
                      &(struct screen_amounts){.list = amounts,
                                               .count = count,
                                               .whole = find_cell_at(table, 0, "time").integer,
                                               .unit = UNIT_TIME_NS,
                                               .adds_up = true});
}

/* The account with the most time of those that are no kept steps; NULL: none. */
static const char *screen_job_largest_loss(struct screen_builder *builder,
                                           const struct table *table)
{
    size_t best = 0;

    for (size_t row = 1; row < table->row_count; row++) {
        struct value time = find_cell_at(table, row, "time");
        struct value key = find_cell_at(table, row, "key");

        if (table->depths[row] != 1 || time.unit != UNIT_TIME_NS || time.integer <= 0 ||
            (key.unit == UNIT_TEXT && strstr(key.text, "kept")))
            continue;
        if (best == 0 || time.integer > find_cell_at(table, best, "time").integer)
            best = row;
    }
    if (best == 0)
        return NULL;
    return screen_format(builder, "%s (%s)", find_cell_at(table, best, "account").text,
                         format_fraction(find_cell_at(table, best, "share").real).text);
}

static void add_duration(struct screen_builder *builder, const char *before, struct value time,
                         const char *after)
{
    if (time.unit == UNIT_TIME_NS)
        screen_add_figure_text(builder, screen_format(builder, "%s%s%s", before,
                                                      screen_duration(builder, &time), after));
}

/* What is left of the planned steps at the median step time. */
static void add_time_left(struct screen_builder *builder, const struct section *job)
{
    struct value planned = find_number(job, "planned_steps");
    struct value last = metric_number(builder->rank, METRIC_JOB_LAST_STEP);
    struct value median = metric_number(builder->rank, METRIC_JOB_STEP_TIME_MEDIAN);
    int64_t steps = planned.integer - last.integer;

    if (planned.unit != UNIT_COUNT || last.unit != UNIT_COUNT || median.unit != UNIT_TIME_NS ||
        steps <= 0 || median.integer <= 0 || steps > INT64_MAX / median.integer)
        return;
    add_duration(builder, "time left ", value_time_ns(steps * median.integer),
                 screen_format(builder, " (%s steps)", format_count(steps).text));
}

static void screen_job_add_figures(struct screen_builder *builder, const struct section *job)
{
    add_duration(builder, "elapsed ", metric_number(builder->rank, METRIC_JOB_ELAPSED), "");
    screen_add_figure(builder, "step ", metric_number(builder->rank, METRIC_JOB_STEP_TIME_MEDIAN),
                      " median");
    screen_add_figure(builder, "MFU ", metric_number(builder->rank, METRIC_JOB_MFU),
                      " in the steps");
    screen_add_figure(builder, "",
                      metric_number(builder->rank, METRIC_JOB_DEVICE_TOKENS_PER_SECOND),
                      " tokens/s");
    screen_add_figure(builder, "", metric_number(builder->rank, METRIC_JOB_DEVICE_FLOPS_PER_SECOND),
                      " of one device");
    add_time_left(builder, job);
}

static void fill_job(struct screen_builder *builder)
{
    const struct section *job = find_section(builder->rank, "job");
    const struct table *accounts = find_table(job, "accounts");
    struct value format = find_number(job, "format");
    struct value begins = find_number(job, "begins");
    struct value steps = metric_number(builder->rank, METRIC_JOB_STEPS_MADE);
    struct value ettr = metric_number(builder->rank, METRIC_JOB_ETTR);
    const char *loss = screen_job_largest_loss(builder, accounts);

    builder->screen->subject = screen_format(
        builder, "%s%s%s%s%s %s %s steps", screen_file_name(builder->rank->file),
        format.unit == UNIT_TEXT ? screen_format(builder, " %s ", builder->dot) : "",
        format.unit == UNIT_TEXT ? format.text : "",
        begins.unit == UNIT_TEXT ? screen_format(builder, " %s from ", builder->dot) : "",
        begins.unit == UNIT_TEXT ? begins.text : "", builder->dot,
        format_count(steps.unit == UNIT_COUNT ? steps.integer : 0).text);
    screen_job_add_figures(builder, job);
    screen_job_fill_chart(builder, accounts);
    if (ettr.unit == UNIT_FRACTION)
        builder->screen->verdict =
            screen_format(builder, "Goodput (ETTR) is %s%s%s.", format_fraction(ettr.real).text,
                          loss ? "; the largest loss is " : "", loss ? loss : "");
}

static const char *const sections[] = {
    "job",       "job_attempts", "job_step_times", "job_failures",
    "job_rates", "kept_steps",   "job_diary",      NULL};

const struct screen_kind job_screen = {
    .recognizes = is_job,
    .fill = fill_job,
    .sections = sections,
};
