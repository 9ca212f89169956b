/* `flopledger ettr`: the job, ETTR, and where each device-hour went. */
#include "base/text/format.h"
#include "output/results/metrics.h"
#include "sections/job/ettr_page.h"

#include <math.h>
#include <time.h>

static const char needs_devices[] = "needs --devices";
static const char needs_times[] = "needs time stamps in the log";
static const char needs_step_times[] = "needs the time of each step in the log";

/* Without a zone in the log a time is shown as it was written, and no zone is claimed. */
static struct value time_value(const struct ettr_page *page, int64_t time_ns)
{
    if (time_ns == JOB_NOT_KNOWN)
        return value_not_known(needs_times);
    return value_text(are_job_times_utc(page->job)
                          ? results_format(page->results, "%s UTC", job_time_text(page, time_ns))
                          : job_time_text(page, time_ns));
}

/* What an account holds, for people. */
static const char *const meanings[JOB_ACCOUNT_COUNT] = {
    [JOB_KEPT] = "what the weights are made of",
    [JOB_SKIPPED] = "no update: overflow, NaN",
    [JOB_DISCARDED] = "lost work after a restart",
    [JOB_CHECKPOINTS] = "training stalled",
    [JOB_EVALUATIONS] = "training stalled",
    [JOB_OTHER] = "none of these",
    [JOB_HANG] = "last step to end, failed",
    [JOB_STARTUP] = "start to first step",
    [JOB_DOWN] = "no attempt alive",
};

enum account_column {
    COLUMN_ACCOUNT,
    COLUMN_TIME,
    COLUMN_HOURS,
    COLUMN_SHARE,
    COLUMN_MEANING,
    COLUMN_KEY,
};

static const struct column account_columns[] = {
    [COLUMN_ACCOUNT] = {"account", "account", UNIT_TEXT, 0, BAR_NONE},
    [COLUMN_TIME] = {METRIC_NAMES(JOB_ACCOUNT_TIME), METRIC_UNIT(JOB_ACCOUNT_TIME), 0, BAR_NONE},
    [COLUMN_HOURS] = {METRIC_NAMES(JOB_ACCOUNT_DEVICE_HOURS), METRIC_UNIT(JOB_ACCOUNT_DEVICE_HOURS),
                      1, BAR_NONE},
    [COLUMN_SHARE] = {"share", "share", UNIT_FRACTION, 0, BAR_WATERFALL},
    [COLUMN_MEANING] = {"meaning", "what it is", UNIT_TEXT, 3, BAR_NONE},
    [COLUMN_KEY] = {METRIC_NAMES(JOB_ACCOUNT), METRIC_UNIT(JOB_ACCOUNT), PRIORITY_FOR_PROGRAMS,
                    BAR_NONE},
};

/* Does the log tell of spans of this kind without saying how long they took? */
static bool has_unknown_spans(const struct job *job, enum job_span_kind kind)
{
    for (size_t i = 0; i < job->attempt_count; i++)
        for (size_t j = 0; j < job->attempts[i].span_count; j++)
            if (job->attempts[i].spans[j].kind == kind &&
                job->attempts[i].spans[j].duration_ns == JOB_NOT_KNOWN)
                return true;
    return false;
}

static bool is_a_startup_known(const struct job_accounts *accounts)
{
    for (size_t i = 0; i < accounts->attempt_count; i++)
        if (accounts->attempts[i].is_startup_known)
            return true;
    return false;
}

/* Most programs say nothing of a step without an update: silence is no zero. */
static bool are_skipped_known(const struct ettr_page *page)
{
    for (size_t i = 0; i < page->accounts->attempt_count; i++)
        if (page->accounts->attempts[i].steps > 0 && !page->accounts->attempts[i].are_skipped_known)
            return false;
    return true;
}

/* What is missing for this account; NULL: nothing. 0 seconds and "not told" look the same in the
 * sums; which one it is depends on what the log has lines for. */
static const char *what_account_needs(const struct ettr_page *page, enum job_account account)
{
    if (page->accounts->ns[account] > 0)
        return NULL;
    if (account == JOB_KEPT && job_accounts_lack_steps(page->accounts))
        return needs_step_times;
    if ((account == JOB_CHECKPOINTS && has_unknown_spans(page->job, JOB_SPAN_CHECKPOINT)) ||
        (account == JOB_EVALUATIONS && has_unknown_spans(page->job, JOB_SPAN_EVALUATION)))
        return "needs their length in the log";
    if (account == JOB_SKIPPED && !are_skipped_known(page))
        return "needs lines that tell of them";
    if (page->accounts->is_complete)
        return account == JOB_STARTUP && !is_a_startup_known(page->accounts)
                   ? "needs a line with a time before its first step"
                   : NULL;
    return account == JOB_KEPT || account == JOB_SKIPPED || account == JOB_DISCARDED ? NULL
                                                                                     : needs_times;
}

/* An account for which the log has no lines is "not known" with what it needs, and not zero. */
static void add_account(const struct ettr_page *page, struct table *table, enum job_account account)
{
    struct value *cells = table_add_row(page->results, table, 1);
    const char *needs = what_account_needs(page, account);

    cells[COLUMN_ACCOUNT] = value_text(job_account_title(account));
    cells[COLUMN_KEY] = value_text(job_account_key(account));
    cells[COLUMN_MEANING] = value_text(meanings[account]);
    if (needs) {
        cells[COLUMN_TIME] = cells[COLUMN_SHARE] = value_not_known(needs);
        return;
    }
    cells[COLUMN_TIME] = value_time_ns(page->accounts->ns[account]);
    cells[COLUMN_HOURS] = page->accounts->are_devices_known
                              ? value_number(page->accounts->device_seconds[account] / 3600.0)
                              : value_not_known(needs_devices);
    cells[COLUMN_SHARE] = value_fraction(share_of_job_account(page->accounts, account));
}

/* Of the time of startups: loading checkpoints, where the log tells. Part of startup, so it is a
 * line below that one and adds nothing to the sum. */
static void add_restore(const struct ettr_page *page, struct table *table)
{
    struct value *cells;
    int64_t restore_ns = 0;
    double device_seconds = 0.0;

    for (size_t i = 0; i < page->accounts->attempt_count; i++) {
        const struct attempt_accounts *attempt = &page->accounts->attempts[i];

        restore_ns += attempt->restore_ns;
        device_seconds += (double)attempt->restore_ns / 1e9 * (double)attempt->devices;
    }
    if (restore_ns == 0)
        return;
    cells = table_add_row(page->results, table, 2);
    cells[COLUMN_ACCOUNT] = value_text("loading checkpoints");
    cells[COLUMN_KEY] = value_text("loading_checkpoints");
    cells[COLUMN_TIME] = value_time_ns(restore_ns);
    if (page->accounts->are_devices_known)
        cells[COLUMN_HOURS] = value_number(device_seconds / 3600.0);
    cells[COLUMN_SHARE] = value_fraction(
        page->accounts->are_devices_known ? device_seconds / page->accounts->total_device_seconds
                                          : (double)restore_ns / (double)page->accounts->total_ns);
    cells[COLUMN_MEANING] = value_text("of the startups, as the log tells");
}

/* From outside in: time without processes first, then starting, hanging, lost work, and what
 * was kept at the end, which is what remains. */
static void add_accounts(const struct ettr_page *page, struct section *section)
{
    static const enum job_account order[] = {
        JOB_DOWN,        JOB_STARTUP, JOB_HANG,    JOB_DISCARDED, JOB_CHECKPOINTS,
        JOB_EVALUATIONS, JOB_OTHER,   JOB_SKIPPED, JOB_KEPT,
    };
    struct table *table =
        section_add_table(page->results, section, "accounts", "Where each second went",
                          account_columns, sizeof account_columns / sizeof *account_columns);
    struct value *cells = table_add_row(page->results, table, 0);

    /* A job whose log lacks times is not called whole: its shares are of what is told. */
    cells[COLUMN_ACCOUNT] = value_text(page->accounts->is_complete ? "the job" : "what is told");
    cells[COLUMN_KEY] = value_text("job");
    cells[COLUMN_TIME] = value_time_ns(page->accounts->total_ns);
    cells[COLUMN_HOURS] = page->accounts->are_devices_known
                              ? value_number(page->accounts->total_device_seconds / 3600.0)
                              : value_not_known(needs_devices);
    cells[COLUMN_SHARE] = value_fraction(1.0);
    cells[COLUMN_MEANING] = value_text(page->accounts->is_complete ? "first start to last end"
                                                                   : "not all of the job's time");
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        add_account(page, table, order[i]);
        /* Loading a checkpoint is a part of the start, and stands below it. */
        if (order[i] == JOB_STARTUP)
            add_restore(page, table);
    }
    if (!page->accounts->is_complete)
        table->note = "Not all of the job's time is told: shares are of what is.";
}

static int64_t runs_of(const struct job_accounts *accounts)
{
    int64_t runs = 1;

    for (size_t i = 0; i < accounts->attempt_count; i++)
        runs += accounts->attempts[i].begins_run;
    return runs;
}

/* Steps that count: made, and kept. */
static void add_step_counts(const struct ettr_page *page, struct section *section)
{
    int64_t made = 0, discarded = 0, skipped = 0, last = JOB_NOT_KNOWN, of = JOB_NOT_KNOWN;

    for (size_t i = 0; i < page->job->attempt_count; i++) {
        const struct job_attempt *attempt = &page->job->attempts[i];

        made += page->accounts->attempts[i].steps;
        discarded += page->accounts->attempts[i].steps_discarded;
        skipped += page->accounts->attempts[i].steps_skipped;
        if (attempt->step_count)
            last = attempt->steps[attempt->step_count - 1].step;
        if (attempt->last_step != JOB_NOT_KNOWN)
            of = attempt->last_step;
    }
    section_add_value(page->results, section, METRIC_NAMES(JOB_STEPS_MADE), value_count(made));
    section_add_value(page->results, section, METRIC_NAMES(JOB_STEPS_KEPT),
                      value_count(made - discarded));
    if (skipped)
        section_add_value(page->results, section, METRIC_NAMES(JOB_STEPS_SKIPPED),
                          value_count(skipped));
    section_add_value(page->results, section, METRIC_NAMES(JOB_LAST_STEP),
                      last == JOB_NOT_KNOWN ? value_not_known("no step was made")
                                            : value_count(last));
    if (of != JOB_NOT_KNOWN)
        section_add_value(page->results, section, "planned_steps",
                          "number of the last step planned", value_count(of));
}

/* A job may go on with other numbers of devices after a failure: then both ends are told. */
static struct value devices_value(const struct ettr_page *page)
{
    int64_t least = INT64_MAX, most = 0;

    for (size_t i = 0; i < page->accounts->attempt_count; i++) {
        int64_t devices = page->accounts->attempts[i].devices;

        least = devices < least ? devices : least;
        most = devices > most ? devices : most;
    }
    if (!page->accounts->are_devices_known)
        return value_not_known(needs_devices);
    if (least == most)
        return value_count(most);
    return value_text(results_format(page->results, "%s to %s", format_count(least).text,
                                     format_count(most).text));
}

/* From the first start to the last attempt's end. The end counts only where that attempt is
 * timed, and an end before the start (clocks of two machines) gives no length. */
static void add_span_of_time(const struct ettr_page *page, struct section *section)
{
    const struct job *job = page->job;
    size_t last = job->attempt_count - 1;
    int64_t start_ns = job->attempts[0].start_ns;
    int64_t end_ns =
        page->accounts->attempts[last].is_timed ? job->attempts[last].end_ns : JOB_NOT_KNOWN;

    section_add_value(page->results, section, "begins", "begins", time_value(page, start_ns));
    section_add_value(page->results, section, "ends", "ends", time_value(page, end_ns));
    section_add_value(page->results, section, METRIC_NAMES(JOB_ELAPSED),
                      start_ns == JOB_NOT_KNOWN || end_ns == JOB_NOT_KNOWN || end_ns < start_ns
                          ? value_not_known(needs_times)
                          : value_time_ns(end_ns - start_ns));
}

/* ETTR as Meta's "Revisiting Reliability" (2024) and MegaScale define it: productive over all
 * time. It is told only where all of the job's time is. */
struct section *describe_job(const struct ettr_page *page)
{
    struct section *section = section_new(
        page->results, "job", "The job",
        "Effective training time ratio (ETTR): of all time of all devices, from the first start to "
        "the last end, the share that went into steps that were kept.");
    double kept = share_of_job_account(page->accounts, JOB_KEPT);

    section_add_value(page->results, section, METRIC_NAMES(JOB_ETTR),
                      page->accounts->is_complete && page->accounts->total_ns > 0
                          ? value_fraction(kept)
                          : value_not_known("needs the time of starts, steps and ends in the log"));
    /* Another name for another figure: a share of the known time is no ETTR. */
    if (!page->accounts->is_complete && page->accounts->total_ns > 0)
        section_add_value(page->results, section, METRIC_NAMES(JOB_KEPT_OF_KNOWN),
                          job_accounts_lack_steps(page->accounts)
                              ? value_not_known(needs_step_times)
                              : value_fraction(kept));
    section_add_value(page->results, section, "format", "format",
                      value_text(page->reading->formats));
    section_add_value(page->results, section, "files", "files",
                      value_count((int64_t)page->reading->used_count));
    section_add_value(page->results, section, METRIC_NAMES(JOB_ATTEMPTS),
                      value_count((int64_t)page->job->attempt_count));
    /* One run is what a log is expected to be of. */
    if (runs_of(page->accounts) > 1)
        section_add_value(page->results, section, "runs",
                          "runs from the first step, one after another",
                          value_count(runs_of(page->accounts)));
    add_step_counts(page, section);
    section_add_value(page->results, section, METRIC_NAMES(JOB_DEVICES), devices_value(page));
    add_span_of_time(page, section);
    add_accounts(page, section);
    add_largest_loss(page, section);
    add_job_remarks(page, section);
    return section;
}
