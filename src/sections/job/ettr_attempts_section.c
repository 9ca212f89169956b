/* `flopledger ettr`: the attempts of a job, one by one. */
#include "base/text/format.h"
#include "sections/job/ettr_page.h"

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
