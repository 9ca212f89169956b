/* `flopledger ettr`: the attempts of a job, one by one; its interruptions, and the ETTR to be
 * expected with them. */
#include "base/text/format.h"
#include "output/results/metrics.h"
#include "sections/job/ettr_page.h"

#include <string.h>

enum attempt_column {
    COLUMN_ATTEMPT,
    COLUMN_START,
    COLUMN_FIRST,
    COLUMN_LAST,
    COLUMN_END,
    COLUMN_ALIVE,
    COLUMN_WHY,
    COLUMN_LOST,
    COLUMN_LOST_TIME,
    COLUMN_HANG,
    COLUMN_DOWN,
    COLUMN_STARTUP,
    COLUMN_RESTART,
    COLUMN_DEVICES,
    COLUMN_LOG,
};

static const struct column attempt_columns[] = {
    [COLUMN_ATTEMPT] = {"attempt", "attempt", UNIT_COUNT, 0, BAR_NONE},
    [COLUMN_START] = {"start", "start", UNIT_TEXT, 4, BAR_NONE},
    [COLUMN_FIRST] = {"first_step", "first step", UNIT_COUNT, 0, BAR_NONE},
    [COLUMN_LAST] = {"last_step", "last step", UNIT_COUNT, 0, BAR_NONE},
    [COLUMN_END] = {"end", "end", UNIT_TEXT, 5, BAR_NONE},
    [COLUMN_ALIVE] = {"alive", "alive", UNIT_TIME_NS, 3, BAR_NONE},
    [COLUMN_WHY] = {"why_it_ended", "why it ended", UNIT_TEXT, 0, BAR_NONE},
    [COLUMN_LOST] = {"steps_lost", "steps lost", UNIT_COUNT, 1, BAR_NONE},
    [COLUMN_LOST_TIME] = {"time_of_steps_lost", "their time", UNIT_TIME_NS, 2, BAR_NONE},
    [COLUMN_HANG] = {"hang", "hang at its end", UNIT_TIME_NS, 6, BAR_NONE},
    [COLUMN_DOWN] = {"down_before", "down before", UNIT_TIME_NS, 5, BAR_NONE},
    [COLUMN_STARTUP] = {"startup", "startup", UNIT_TIME_NS, 5, BAR_NONE},
    [COLUMN_RESTART] = {"restart_time", "restart time", UNIT_TIME_NS, 1, BAR_NONE},
    [COLUMN_DEVICES] = {"devices", "devices", UNIT_COUNT, 7, BAR_NONE},
    [COLUMN_LOG] = {"log", "log", UNIT_TEXT, 8, BAR_NONE},
};
enum { ATTEMPT_COLUMNS = sizeof attempt_columns / sizeof *attempt_columns };

/* An attempt that is not the last and has no ending was followed by another: its lines just
 * stop. Of the last one nobody knows whether it still runs. */
static const char *why_text(const struct ettr_page *page, size_t index)
{
    const struct job_attempt *attempt = &page->job->attempts[index];

    if (attempt->why)
        return results_text(page->results, attempt->why);
    switch (attempt->ending) {
    case JOB_ENDING_COMPLETED:
        return "completed";
    case JOB_ENDING_STOPPED:
        return "stopped";
    case JOB_ENDING_FAILED:
        return "failed";
    case JOB_ENDING_NOT_KNOWN:
        break;
    }
    return index + 1 < page->job->attempt_count ? "its lines stop" : "its lines end here";
}

/* A time that only attempts with times have. */
static struct value known_time(bool is_known, int64_t ns)
{
    return is_known ? value_time_ns(ns) : value_not_known("needs time stamps in the log");
}

/* What a log cannot tell is "not known", never 0: an attempt without times is not one that
 * took none. */
static void ettr_attempts_fill_row(const struct ettr_page *page, struct value *cells, size_t index)
{
    const struct job_attempt *attempt = &page->job->attempts[index];
    const struct attempt_accounts *accounts = &page->accounts->attempts[index];

    cells[COLUMN_ATTEMPT] = value_count((int64_t)index + 1);
    if (attempt->start_ns != JOB_NOT_KNOWN)
        cells[COLUMN_START] = value_text(job_time_text(page, attempt->start_ns));
    if (accounts->is_timed)
        cells[COLUMN_END] = value_text(job_time_text(page, attempt->end_ns));
    if (attempt->step_count) {
        cells[COLUMN_FIRST] = value_count(job_first_step(attempt));
        cells[COLUMN_LAST] = value_count(attempt->steps[attempt->step_count - 1].step);
    }
    cells[COLUMN_ALIVE] = known_time(accounts->is_timed, attempt_alive_ns(accounts));
    cells[COLUMN_WHY] = value_text(why_text(page, index));
    cells[COLUMN_LOST] = value_count(accounts->steps_discarded);
    /* Nothing lost has no time to tell; lost steps without times have one that is not known. */
    if (accounts->steps_discarded)
        cells[COLUMN_LOST_TIME] = accounts->untimed_steps > 0
                                      ? value_not_known("needs time stamps in the log")
                                      : value_time_ns(accounts->ns[JOB_DISCARDED]);
    cells[COLUMN_HANG] =
        known_time(accounts->is_timed && !accounts->is_hang_in_other, accounts->ns[JOB_HANG]);
    cells[COLUMN_STARTUP] = known_time(accounts->is_startup_known, accounts->ns[JOB_STARTUP]);
    /* The first attempt has nothing before it: neither a time down nor a restart. */
    if (index > 0) {
        struct restart_loss loss = job_restart_loss(page->accounts, index);
        bool is_known = accounts->is_down_known && accounts->is_startup_known;

        cells[COLUMN_DOWN] = known_time(accounts->is_down_known, accounts->ns[JOB_DOWN]);
        cells[COLUMN_RESTART] = known_time(is_known, loss.hang_ns + loss.down_ns + loss.startup_ns);
    }
    if (accounts->devices > 0)
        cells[COLUMN_DEVICES] = value_count(accounts->devices);
    cells[COLUMN_LOG] =
        value_text(results_text(page->results, page->job->sources[attempt->source].name));
}

/* Times are said to be UTC only where all files with times tell their zone: else they stand as
 * written, and of which zone they are nobody can say. */
struct section *describe_attempts(const struct ettr_page *page)
{
    struct section *section = section_new(page->results, "job_attempts", "Attempts",
                                          "An attempt is the life of its processes: from their "
                                          "start to their end.");
    struct table *table = section_add_table(page->results, section, "attempts", "Attempts",
                                            attempt_columns, ATTEMPT_COLUMNS);
    size_t count = page->job->attempt_count;
    size_t shown = page->top > 0 && (size_t)page->top < count ? (size_t)page->top : count;

    table->note = are_job_times_utc(page->job)
                      ? "Restart time: from the last step before to the first one after (hang, "
                        "down and startup). Times are UTC."
                      : "Restart time: from the last step before to the first one after (hang, "
                        "down and startup).";
    table->rows_in_all = count;
    for (size_t i = 0; i < shown; i++)
        ettr_attempts_fill_row(page, table_add_row(page->results, table, 0), i);
    return section;
}

/* The job's own interval is worth changing where the best one differs by this factor. */
static const double interval_known = 1.5;

/* A number of the section, without its note. */
static struct number ettr_failures_number_of(const char *key, const char *title, struct value value)
{
    return (struct number){.key = key, .title = title, .value = value};
}

static void ettr_failures_add(const struct ettr_page *page, struct section *section,
                              struct number number, const char *note)
{
    number.note = note;
    section_add_number(page->results, section, number);
}

static struct value length_value(int64_t ns, const char *needs)
{
    return ns > 0 ? value_time_ns(ns) : value_not_known(needs);
}

/* Time between interruptions is time alive by their number, the usual estimate of a constant
 * rate; without an interruption there is no estimate and no row. What is missing names the
 * log's part that would tell it. */
static void add_observed(const struct ettr_page *page, struct section *section)
{
    const struct job_failures *failures = page->failures;

    ettr_failures_add(page, section,
                      ettr_failures_number_of(METRIC_NAMES(JOB_INTERRUPTIONS),
                                              value_count(failures->interruptions)),
                      "attempts that failed or were stopped");
    if (failures->interruptions > 0)
        ettr_failures_add(page, section,
                          ettr_failures_number_of(
                              METRIC_NAMES(JOB_TIME_BETWEEN_INTERRUPTIONS),
                              /* A number of interruptions without a time alive makes no rate. */
                              failures->is_rate_known
                                  ? value_time_ns(failures->alive_ns / failures->interruptions)
                                  : value_not_known("needs time stamps in the log")),
                          NULL);
    ettr_failures_add(page, section,
                      ettr_failures_number_of(
                          METRIC_NAMES(JOB_RESTART_TIME),
                          length_value(failures->restart_ns, failures->interruptions
                                                                 ? "needs time stamps in the log"
                                                                 : "no restart was seen")),
                      "hang, down and startup");
    ettr_failures_add(
        page, section,
        ettr_failures_number_of(METRIC_NAMES(JOB_CHECKPOINTS), value_count(failures->checkpoints)),
        NULL);
    ettr_failures_add(
        page, section,
        ettr_failures_number_of(METRIC_NAMES(JOB_CHECKPOINT_TIME),
                                length_value(failures->checkpoint_ns,
                                             failures->checkpoints ? "needs their length in the log"
                                                                   : "no checkpoint was seen")),
        "for which training stalled");
    ettr_failures_add(
        page, section,
        ettr_failures_number_of(METRIC_NAMES(JOB_CHECKPOINT_INTERVAL),
                                length_value(failures->interval_ns, "no checkpoint was seen")),
        NULL);
}

/* In the order in which the formula needs them; the first that lacks is what the reader can do
 * something about. */
static const char *what_is_missing(const struct job_failures *failures)
{
    if (failures->interruptions == 0)
        return "no interruption was seen";
    if (!failures->is_rate_known)
        return "needs time stamps in the log";
    if (failures->is_beyond_model)
        return "the formula does not hold: restarts take as long as runs";
    return failures->restarts == 0 ? "no restart was seen" : "needs the length of checkpoints";
}

/* sqrt(2 * checkpoint / rate) is Young's (1974) first-order optimum. Around it the curve is
 * flat, so an interval within half of it, or one that changes no digit that is shown, is not
 * worth changing. */
static void find_better_interval(const struct ettr_page *page, struct section *section, double best)
{
    const struct ettr_model *model = &page->failures->model;
    struct ettr_model better = *model;
    double factor = model->interval / best;
    struct short_text now = format_fraction(expected_ettr(model)), then;

    better.interval = best;
    then = format_fraction(expected_ettr(&better));
    if ((factor < interval_known && factor > 1.0 / interval_known) ||
        strcmp(now.text, then.text) == 0)
        return;
    add_job_finding(
        page, section, false,
        results_format(page->results,
                       "checkpoints every %s are too %s: every %s the expected ETTR is %s, not %s",
                       format_short_time((int64_t)(model->interval * 1e9)).text,
                       factor > 1 ? "rare" : "frequent",
                       format_short_time((int64_t)(best * 1e9)).text, then.text, now.text),
        "change the interval, or make checkpoints shorter (asynchronous, sharded)");
}

/* The better figure is of the same model, with its interval alone replaced: rate, restart time
 * and cost of a checkpoint stay the job's own. */
struct section *describe_failures(const struct ettr_page *page)
{
    const struct ettr_model *model = &page->failures->model;
    struct ettr_model better = *model;
    struct section *section = section_new(
        page->results, "job_failures", "Interruptions and checkpoints",
        "What ETTR could be expected with this job's own rate of interruptions, restart time, and "
        "cost and interval of checkpoints: (1 - rate * (restart + interval / 2)) / (1 + checkpoint "
        "/ interval).");
    struct value unknown = value_not_known(what_is_missing(page->failures));

    add_observed(page, section);
    /* Both with the same reason: one missing length keeps the whole model from being known. */
    if (!page->failures->is_model_known) {
        ettr_failures_add(page, section,
                          ettr_failures_number_of(METRIC_NAMES(JOB_EXPECTED_ETTR), unknown), NULL);
        ettr_failures_add(page, section,
                          ettr_failures_number_of(METRIC_NAMES(JOB_BEST_INTERVAL), unknown), NULL);
        return section;
    }
    better.interval = best_checkpoint_interval(model);
    ettr_failures_add(page, section,
                      ettr_failures_number_of(METRIC_NAMES(JOB_EXPECTED_ETTR),
                                              value_fraction(expected_ettr(model))),
                      /* The rate's error is about one by the root of their number: a third at
                       * ten. */
                      page->failures->interruptions < 10 ? "from few interruptions: a rough figure"
                                                         : NULL);
    ettr_failures_add(page, section,
                      ettr_failures_number_of(METRIC_NAMES(JOB_BEST_INTERVAL),
                                              value_time_ns((int64_t)(better.interval * 1e9))),
                      "sqrt(2 * checkpoint / rate)");
    ettr_failures_add(page, section,
                      ettr_failures_number_of(METRIC_NAMES(JOB_EXPECTED_AT_BEST),
                                              value_fraction(expected_ettr(&better))),
                      NULL);
    find_better_interval(page, section, better.interval);
    return section;
}
