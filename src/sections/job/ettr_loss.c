/* `flopledger ettr`: the largest loss of a job, in a word and a sentence. */
#include "base/text/format.h"
#include "sections/job/ettr_page.h"

#include <stdlib.h>
#include <string.h>

/* Less is not worth naming; a first step this many times as long as the usual one prepares. */
static const double SHARE_MIN = 0.02;
enum { FIRST_STEP_TIMES = 2, LINES_OF_A_RUN = 3 };

struct loss {
    const char *id;
    const char *what;
    const char *try_this;
    double share;
};

static const char *const remedies[JOB_ACCOUNT_COUNT] = {
    [JOB_SKIPPED] = "fewer overflows: bf16, a lower first loss scale, a longer warm-up",
    [JOB_DISCARDED] = "save checkpoints more often, so that less is recomputed after a failure",
    [JOB_CHECKPOINTS] = "save in the background (asynchronous checkpoints), or less often",
    [JOB_EVALUATIONS] = "evaluate less often, on less, or on other devices",
    [JOB_OTHER] = "see what the job does between its steps: logging, data, synchronization",
    [JOB_HANG] = "shorter timeouts of collectives, a watchdog",
    [JOB_STARTUP] = "cache compiled kernels, load data and checkpoints in parallel",
    [JOB_DOWN] = "restart failed jobs automatically, with spare nodes",
};

static void consider(struct loss *worst, struct loss loss)
{
    if (loss.share >= SHARE_MIN && loss.share > worst->share)
        *worst = loss;
}

/* Kept steps are no loss. */
static void consider_accounts(const struct ettr_page *page, struct loss *worst)
{
    for (int account = 0; account < JOB_ACCOUNT_COUNT; account++)
        if (account != JOB_KEPT)
            consider(worst,
                     (struct loss){
                         .id = job_account_key((enum job_account)account),
                         .what = job_account_title((enum job_account)account),
                         .try_this = remedies[account],
                         .share = share_of_job_account(page->accounts, (enum job_account)account),
                     });
}

/* How long the first step took: told, or reckoned from its rate where one job's steps do the same
 * work; 0: not known. */
static double first_step_ns(const struct job_attempt *attempt, int64_t median_ns)
{
    const struct job_step *first = &attempt->steps[0];
    const struct job_step *last = &attempt->steps[attempt->step_count - 1];

    if (first->count != 1)
        return 0;
    if (first->each_ns != JOB_NOT_KNOWN)
        return (double)first->each_ns;
    if (attempt->step_count < 2 || !(first->flops_per_second > 0) || !(last->flops_per_second > 0))
        return 0;
    return (double)median_ns * last->flops_per_second / first->flops_per_second;
}

/* What first steps take beyond the usual one: kernels are compiled and buffers made in them. Of
 * attempts of two steps and more only, whose first step was not the first that the log tells by
 * chance: it has another one behind it to compare with. */
static void consider_first_steps(const struct ettr_page *page, struct loss *worst)
{
    int64_t median_ns = page->times->median_ns;
    double beyond_ns = 0, outside_ns = 0, longest_ns = 0;

    for (size_t i = 0; i < page->job->attempt_count && median_ns > 0; i++) {
        const struct job_attempt *attempt = &page->job->attempts[i];
        double first_ns = attempt->step_count < 3 ? 0 : first_step_ns(attempt, median_ns);

        if (first_ns < (double)median_ns * FIRST_STEP_TIMES)
            continue;
        beyond_ns += first_ns - (double)median_ns;
        if (attempt->steps[0].each_ns == JOB_NOT_KNOWN) /* the accounts have it as a usual one */
            outside_ns += first_ns - (double)median_ns;
        longest_ns = first_ns > longest_ns ? first_ns : longest_ns;
    }
    if (page->accounts->total_ns <= 0 || beyond_ns <= 0)
        return;
    consider(worst,
             (struct loss){
                 .id = "first_step",
                 .what = results_format(page->results, "the first step (%s instead of %s)",
                                        format_short_time((int64_t)longest_ns).text,
                                        format_short_time(median_ns).text),
                 .try_this = "cache what is compiled or made in it (TORCHINDUCTOR_CACHE_DIR, "
                             "jax_compilation_cache_dir), and count it as startup",
                 .share = beyond_ns / ((double)page->accounts->total_ns + outside_ns),
             });
}

/* No cost in nanoseconds of a step: the loss is one of the whole job and told as its share.
 * Its confidence is high as it is read off the log, not estimated. */
void add_named_finding(const struct ettr_page *page, struct section *section,
                       const struct named_finding *named)
{
    struct advice_estimate *estimate = results_allocate(page->results, sizeof *estimate);

    *estimate = (struct advice_estimate){.id = named->id,
                                         .span = "job",
                                         .share = named->share,
                                         .confidence = "high",
                                         .reason = named->reason};
    section_add_finding(page->results, section,
                        (struct finding){.what = named->what,
                                         .evidence = named->evidence,
                                         .try_this = named->try_this,
                                         .cost_ns = -1,
                                         .estimate = estimate});
}

/* Several attempts, and hardly a line of steps of each: lines of several runs, not one run that
 * failed so often. What lies between them is no loss. */
static bool is_of_several_runs(const struct job *job)
{
    size_t lines = 0;

    for (size_t i = 0; i < job->attempt_count; i++) {
        if (job->attempts[i].step_count == 0)
            return false; /* it failed before its first step */
        lines += job->attempts[i].step_count;
    }
    return job->attempt_count > 1 && lines < LINES_OF_A_RUN * job->attempt_count;
}

/* Accounts of several runs in one add up to none of them, so that no loss is told. */
void add_largest_loss(const struct ettr_page *page, struct section *section)
{
    struct loss worst = {0};

    if (is_of_several_runs(page->job)) {
        add_named_finding(page, section,
                          &(struct named_finding){
                              .id = "not_one_run",
                              .what = "these look like lines of several runs, not of one",
                              .evidence = "several attempts, with a line or two of steps each",
                              .try_this = "give the whole log of one run",
                              .reason = "counted",
                          });
        return;
    }
    if (!job_accounts_lack_steps(page->accounts))
        consider_accounts(page, &worst);
    consider_first_steps(page, &worst);
    /* Nothing is lost, or of nothing the time is known. */
    if (!worst.id)
        return;
    add_named_finding(page, section,
                      &(struct named_finding){
                          .id = worst.id,
                          .share = worst.share,
                          .what = results_format(page->results, "%s: %s of the job", worst.what,
                                                 format_fraction(worst.share).text),
                          .try_this = worst.try_this,
                          .reason = "the times are the log's own",
                      });
}
