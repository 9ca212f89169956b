/* `flopledger ettr`: what a reader of the log should know about it. */
#include "base/text/format.h"
#include "sections/job/ettr_page.h"

#include <stdlib.h>

/* So many remarks of a kind are told one by one. */
enum { REMARKS_TOLD = 3 };

/* Each of these changes numbers of the page: a reader who doubts one finds the file and the
 * line. */
static const char *remark_text(const struct ettr_page *page, const struct job_remark *remark)
{
    struct results *results = page->results;
    const char *name = page->job->sources[remark->source].name;

    switch (remark->kind) {
    case JOB_CLOCK_WENT_BACK:
        return results_format(results,
                              "'%s', line %lld: the clock went back by %s; later times were moved "
                              "on by it",
                              name, (long long)remark->line,
                              format_short_time(remark->amount_ns).text);
    case JOB_CLOCK_CHANGED_ZONE:
        return results_format(results,
                              "'%s', line %lld: the clock was put forward by an hour (summer "
                              "time); later times were moved back by it",
                              name, (long long)remark->line);
    /* Nobody can say how far a time without a zone is from one with a zone, so it is in no
     * length. */
    case JOB_CLOCKS_DIFFER:
        return results_format(results,
                              "'%s', line %lld: some times are of another clock than those of the "
                              "steps (with a zone, or without): they were left out",
                              name, (long long)remark->line);
    case JOB_SOURCE_IS_COPY:
        return results_format(results,
                              page->job->sources[remark->source].is_history
                                  ? "'%s' sums up steps that another file tells of, and was left "
                                    "out"
                                  : "'%s' tells the same steps as another file: one rank of "
                                    "several, and left out",
                              name);
    case JOB_STEPS_MISSING:
        return results_format(results,
                              "'%s', line %lld: no line tells of the %s steps behind step %s; they "
                              "are not counted",
                              name, (long long)remark->line, format_count(remark->amount_ns).text,
                              format_count(remark->step).text);
    case JOB_STEPS_ARE_LINES:
        return results_format(results,
                              "'%s', line %lld: no numbers of steps are told: each line of a loss, "
                              "or stretch of training that is told, counts as one step",
                              name, (long long)remark->line);
    }
    return "";
}

/* A log of months has thousands of one kind; three show what is meant. */
static void add_remarks(const struct ettr_page *page, struct section *section)
{
    size_t known[JOB_STEPS_ARE_LINES + 1] = {0};

    for (size_t i = 0; i < page->job->remark_count; i++) {
        const struct job_remark *remark = &page->job->remarks[i];

        if (known[remark->kind]++ < REMARKS_TOLD)
            add_job_finding(page, section, true, remark_text(page, remark), NULL);
    }
    for (size_t kind = 0; kind < sizeof known / sizeof *known; kind++)
        if (known[kind] > REMARKS_TOLD)
            add_job_finding(page, section, true,
                            results_format(page->results, "%s more lines like the last of these",
                                           format_count((int64_t)known[kind] - REMARKS_TOLD).text),
                            NULL);
}

/* What about attempts could not be told apart. */
static void add_limits(const struct ettr_page *page, struct section *section)
{
    bool is_first_step_in_start = false, is_hang_in_other = false;
    int64_t untimed = 0, steps = 0;

    for (size_t i = 0; i < page->accounts->attempt_count; i++) {
        const struct attempt_accounts *attempt = &page->accounts->attempts[i];

        is_first_step_in_start = is_first_step_in_start || attempt->is_first_step_in_start;
        is_hang_in_other = is_hang_in_other || attempt->is_hang_in_other;
        untimed += attempt->untimed_steps;
        steps += attempt->steps;
    }
    if (is_first_step_in_start)
        add_job_finding(page, section, false,
                        "the length of an attempt's first step is not in the log: it counts "
                        "as startup",
                        NULL);
    if (is_hang_in_other)
        add_job_finding(page, section, false,
                        "lines of steps have no time stamps: what came after the last step is "
                        "counted as other between steps",
                        NULL);
    /* A warning, as the others are not: time is missing from all accounts, not put to a wider
     * one. */
    if (untimed > 0)
        add_job_finding(page, section, true,
                        untimed == steps
                            ? "the log tells neither when steps ended nor how long they took: they "
                              "are counted, but in no account"
                            : results_format(page->results,
                                             "the log tells neither when %s of the steps ended nor "
                                             "how long they took: they are counted, but in no "
                                             "account",
                                             format_count(untimed).text),
                        "log the time of each step, or record with 'flopledger run'");
}

/* Lines that ranks repeat are counted once and only mentioned; a line of more than 1 MiB was
 * cut and is a warning, since what stood behind the cut is lost. */
void add_job_remarks(const struct ettr_page *page, struct section *section)
{
    add_remarks(page, section);
    add_limits(page, section);
    if (page->job->repeated_lines > 0)
        add_job_finding(page, section, false,
                        results_format(page->results,
                                       "%s of the lines of steps %s what another rank's line told",
                                       format_count(page->job->repeated_lines).text,
                                       page->job->repeated_lines == 1 ? "repeats" : "repeat"),
                        NULL);
    if (page->reading->long_lines > 0)
        add_job_finding(page, section, true,
                        results_format(page->results,
                                       "%s %s longer than 1 MiB: no line of a log, and cut",
                                       format_count(page->reading->long_lines).text,
                                       page->reading->long_lines == 1 ? "line is" : "lines are"),
                        NULL);
}
