/* What the sections of `flopledger ettr` share: times, shares and findings of a job. */
#include "sections/job/ettr_page.h"

#include <time.h>

/* One file of another clock is enough to say nothing of zones. */
bool are_job_times_utc(const struct job *job)
{
    bool is_any = false;

    for (size_t i = 0; i < job->source_count; i++) {
        if (job->sources[i].first_ns == JOB_NOT_KNOWN)
            continue;
        if (job->sources[i].clock != JOB_CLOCK_UTC)
            return false;
        is_any = true;
    }
    return is_any;
}

/* Logs without a date count from 1970, those without a year too: the year tells which it was. */
const char *job_time_text(const struct ettr_page *page, int64_t time_ns)
{
    time_t seconds = (time_t)(time_ns / 1000000000);
    struct tm calendar;
    char text[40];

    if (time_ns == JOB_NOT_KNOWN || !gmtime_r(&seconds, &calendar))
        return "";
    if (strftime(text, sizeof text,
                 calendar.tm_year < 71   ? "day %d, %H:%M:%S"
                 : calendar.tm_year < 75 ? "%m-%d %H:%M:%S" /* the log tells no year */
                                         : "%Y-%m-%d %H:%M:%S",
                 &calendar) == 0)
        return "";
    return results_text(page->results, text);
}

void add_job_finding(const struct ettr_page *page, struct section *section, bool is_warning,
                     const char *what, const char *try_this)
{
    section_add_finding(
        page->results, section,
        (struct finding){
            .what = what, .try_this = try_this, .cost_ns = -1, .is_warning = is_warning});
}

/* By device-time where devices are known: an hour of a thousand devices is not an hour of
 * eight. */
double share_of_job_account(const struct job_accounts *accounts, enum job_account account)
{
    if (accounts->are_devices_known && accounts->total_device_seconds > 0.0)
        return accounts->device_seconds[account] / accounts->total_device_seconds;
    return accounts->total_ns > 0 ? (double)accounts->ns[account] / (double)accounts->total_ns
                                  : 0.0;
}
