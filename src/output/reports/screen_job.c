/* The first screen of a training job: which part of its time went into steps that were kept. */
#include "base/text/format.h"
#include "output/reports/screen_steps.h"
#include "output/reports/screen_text.h"
#include "output/results/metrics.h"
#include "output/results/results.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { AMOUNTS_MAX = 64 };

static bool is_job(const struct screen_builder *builder)
{
    return find_table(find_section(builder->rank, "job"), "accounts") != NULL;
}

/* The accounts below the whole; where an account has parts, it stands for them. Depth 1 is a
 * partition of the whole; deeper rows are parts of these and would count twice. */
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

/* What the job's section says of its first steps; NULL: they are as long as others. */
static const struct finding *slow_first_step(const struct section *job)
{
    for (size_t i = 0; job && i < job->finding_count; i++)
        if (job->findings[i].estimate && strcmp(job->findings[i].estimate->id, "first_step") == 0)
            return &job->findings[i];
    return NULL;
}

/* "; the largest loss is checkpoints (7.6 %)": the account with the most time of those that are no
 * kept steps, or the first steps where they take more; "" where nothing is lost. The first of
 * equals. A slow first step is inside "kept" and no account: it is named before the accounts
 * where it was found. */
static const char *screen_job_largest_loss(struct screen_builder *builder,
                                           const struct section *job, const struct table *table)
{
    const struct finding *first = slow_first_step(job);
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
    if (first)
        return screen_format(builder, ", but the first step takes %s of the job",
                             format_fraction(first->estimate->share).text);
    if (best == 0)
        return "";
    return screen_format(builder, "; the largest loss is %s (%s)",
                         find_cell_at(table, best, "account").text,
                         format_fraction(find_cell_at(table, best, "share").real).text);
}

static void add_duration(struct screen_builder *builder, const char *before, struct value time,
                         const char *after)
{
    if (time.unit == UNIT_TIME_NS)
        screen_add_figure_text(builder, screen_format(builder, "%s%s%s", before,
                                                      screen_duration(builder, &time), after));
}

/* What is left of the planned steps at the median step time. The median, not the mean: hours of
 * failures behind must not be planned for once more. Guarded against overflow, since planned
 * steps come from a log. */
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

/* Few logs tell all of these: each is there or not by itself, and those of one device come
 * last, as they are compared between jobs of different sizes. */
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

/* Where ETTR is not known (no time stamps), the verdict that stands is kept; a first step that
 * is slow takes the place of its second half, as it explains the mean. */
static void fill_job(struct screen_builder *builder)
{
    const struct section *job = find_section(builder->rank, "job");
    const struct table *accounts = find_table(job, "accounts");
    struct value format = find_number(job, "format");
    struct value begins = find_number(job, "begins");
    struct value steps = metric_number(builder->rank, METRIC_JOB_STEPS_MADE);
    struct value ettr = metric_number(builder->rank, METRIC_JOB_ETTR);
    const char *loss = screen_job_largest_loss(builder, job, accounts);

    builder->screen->subject = screen_format(
        builder, "%s%s%s%s%s %s %s steps", screen_rank_file(builder),
        format.unit == UNIT_TEXT ? screen_format(builder, " %s ", builder->dot) : "",
        format.unit == UNIT_TEXT ? format.text : "",
        begins.unit == UNIT_TEXT ? screen_format(builder, " %s from ", builder->dot) : "",
        begins.unit == UNIT_TEXT ? begins.text : "", builder->dot,
        format_count(steps.unit == UNIT_COUNT ? steps.integer : 0).text);
    screen_job_add_figures(builder, job);
    screen_job_fill_chart(builder, accounts);
    /* The verdict that stood is replaced: what is kept of the time is what the page is about. */
    if (ettr.unit == UNIT_FRACTION)
        builder->screen->verdict = screen_format(builder, "Goodput (ETTR) is %s%s.",
                                                 format_fraction(ettr.real).text, loss);
    else if (slow_first_step(job) && builder->screen->verdict)
        builder->screen->verdict =
            screen_format(builder, "%.*s. The first step takes %s of it.",
                          (int)strcspn(builder->screen->verdict, ";"), builder->screen->verdict,
                          format_fraction(slow_first_step(job)->estimate->share).text);
}

static const char *const sections[] = {
    "job",       "job_attempts", "job_step_times", "job_failures",
    "job_rates", "kept_steps",   "job_diary",      NULL};

const struct screen_kind job_screen = {
    .recognizes = is_job,
    .fill = fill_job,
    .sections = sections,
};

/* ---- what people wrote down of a job -------------------------------------------------------- */

static bool is_diary(const struct screen_builder *builder)
{
    return find_table(find_section(builder->rank, "job_diary"), "entries") != NULL;
}

static int by_loss(const void *first, const void *second)
{
    const struct screen_amount *a = first, *b = second;

    return (a->amount < b->amount) - (a->amount > b->amount);
}

/* The entries that say what was lost, most first. */
static void fill_losses(struct screen_builder *builder, const struct table *entries,
                        int64_t lost_ns)
{
    struct screen_amount amounts[AMOUNTS_MAX];
    size_t count = 0;

    for (size_t row = 0; row < entries->row_count && count < AMOUNTS_MAX; row++) {
        struct value lost = find_cell_at(entries, row, "lost");
        struct value what = find_cell_at(entries, row, "what");

        if (lost.unit == UNIT_TIME_NS && what.unit == UNIT_TEXT)
            amounts[count++] =
                (struct screen_amount){.group = "", .title = what.text, .amount = lost.integer};
    }
    qsort(amounts, count, sizeof *amounts, by_loss);
    if (count > SCREEN_ROWS_MAX)
        count = SCREEN_ROWS_MAX;
    builder->screen->chart.title = "Said to be lost, by entry";
    screen_fill_chart(builder,
                      &(struct screen_amounts){
                          .list = amounts, .count = count, .whole = lost_ns, .unit = UNIT_TIME_NS});
}

/* A diary is what people wrote: only where an entry names a loss is there a chart of losses. */
static void fill_diary(struct screen_builder *builder)
{
    const struct section *diary = find_section(builder->rank, "job_diary");
    struct value entries = find_number(diary, "entries");
    struct value lost = find_number(diary, "lost");

    builder->screen->subject = screen_format(
        builder, "%s %s diary of a job %s %s entries with a date", screen_rank_file(builder),
        builder->dot, builder->dot, format_count(entries.integer).text);
    screen_add_figure(builder, "", find_number(diary, "restarts"),
                      " with the step it went on from");
    screen_add_figure(builder, "", find_number(diary, "runs"), " with the time a run began");
    if (lost.unit != UNIT_TIME_NS)
        return;
    builder->screen->verdict = screen_format(builder, "The entries say that %s were lost.",
                                             screen_duration(builder, &lost));
    fill_losses(builder, find_table(diary, "entries"), lost.integer);
}

static const char *const diary_sections[] = {"job_diary", NULL};

const struct screen_kind diary_screen = {
    .recognizes = is_diary,
    .fill = fill_diary,
    .sections = diary_sections,
};
