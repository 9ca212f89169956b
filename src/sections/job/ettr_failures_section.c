/* `flopledger ettr`: interruptions of a job, and the ETTR to be expected with them. */
#include "base/text/format.h"
#include "output/results/metrics.h"
#include "sections/job/ettr_page.h"

#include <string.h>

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
