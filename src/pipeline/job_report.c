/* What the logs and records of a training job tell, from its files to the sections of its page. */
#include "pipeline/job_report.h"

#include "base/text/format.h"
#include "cost/devices/find_device_peak.h"
#include "job/kept_parts.h"
#include "output/results/metrics.h"
#include "pipeline/job_windows.h"
#include "pipeline/read_job.h"
#include "sections/job/ettr_page.h"
#include "trace/job/job.h"

/* The peak that --rates gives. */
static bool choose_measured_peak(struct ettr_page *page, const struct job_report *wanted,
                                 enum peak_type type, struct error *error)
{
    const struct measured_rates *rates = wanted->peaks.rates;

    page->peak_source = results_format(page->results, "%s, %s", peak_type_name(type), rates->how);
    return (!wanted->device_name ||
            measured_rates_check_device(rates, wanted->device_name, error)) &&
           measured_rates_peak(rates, type, &page->peak, error);
}

/* The peak that counts, and who says so. */
static bool choose_peak(struct ettr_page *page, const struct job_report *wanted,
                        struct error *error)
{
    enum peak_type type = wanted->peaks.has_precision ? wanted->peaks.precision : PEAK_BF16;
    const struct device_peak *device;
    struct device_match match;

    if (wanted->peaks.peak_of_all > 0.0 || wanted->peaks.peaks[type] > 0.0) {
        page->peak =
            wanted->peaks.peaks[type] > 0.0 ? wanted->peaks.peaks[type] : wanted->peaks.peak_of_all;
        page->peak_source = "the peak that --peak gives";
        return true;
    }
    if (wanted->peaks.rates)
        return choose_measured_peak(page, wanted, type, error);
    if (!wanted->device_name)
        return true;
    device = find_device_peak(wanted->device_name, NULL, &match);
    if (!device)
        return error_set(error, ERROR_USAGE,
                         "device '%s' is not known: %s ('flopledger device' lists all; --peak "
                         "gives the rate itself)",
                         wanted->device_name, match.how);
    if (device_peak_state(device, type) != PEAK_KNOWN)
        return error_set(error, ERROR_USAGE, "%s has no peak for %s: name another --dtype",
                         device->name, peak_type_name(type));
    page->peak = device->peaks[type];
    page->peak_source =
        results_format(page->results, "the %s peak of %s", peak_type_name(type), device->name);
    return true;
}

/* What no device there is can exceed, whatever the number format. */
static double highest_peak(void)
{
    size_t count;
    const struct device_peak *devices = all_device_peaks(&count);
    double highest = 0.0;

    for (size_t i = 0; i < count; i++)
        for (int type = 0; type < PEAK_TYPE_COUNT; type++)
            if (device_peak_state(&devices[i], (enum peak_type)type) == PEAK_KNOWN &&
                devices[i].peaks[type] > highest)
                highest = devices[i].peaks[type];
    return highest;
}

/* One sentence: what it comes to. */
static const char *job_report_headline_of(const struct ettr_page *page)
{
    const struct job_accounts *accounts = page->accounts;
    double kept = accounts->are_devices_known
                      ? accounts->device_seconds[JOB_KEPT] / accounts->total_device_seconds
                      : (double)accounts->ns[JOB_KEPT] / (double)accounts->total_ns;

    if (accounts->total_ns <= 0)
        return NULL;
    if (!accounts->is_complete)
        return results_format(page->results,
                              "Kept steps are %s of the %s that the log tells; what else passed is "
                              "not in it.",
                              format_fraction(kept).text,
                              format_short_time(accounts->total_ns).text);
    if (!accounts->are_devices_known)
        return results_format(page->results, "ETTR %s: of %s, that much went into kept steps.",
                              format_fraction(kept).text,
                              format_short_time(accounts->total_ns).text);
    return results_format(
        page->results, "ETTR %s: of %s device-hours, that much went into kept steps.",
        format_fraction(kept).text, format_number(accounts->total_device_seconds / 3600.0).text);
}

static void fill_page(struct ettr_page *page, const char *name)
{
    struct rank_results *rank = results_add_rank(page->results, name, name, -1);

    if (page->job->incident_count)
        rank_add_section(page->results, rank, describe_diary(page));
    if (page->job->attempt_count == 0)
        return;
    rank->headline = job_report_headline_of(page);
    rank_add_section(page->results, rank, describe_job(page));
    if (page->windows->is_of_records)
        rank_add_section(page->results, rank, describe_kept_steps(page));
    rank_add_section(page->results, rank, describe_attempts(page));
    rank_add_section(page->results, rank, describe_step_times(page));
    rank_add_section(page->results, rank, describe_rates(page));
    rank_add_section(page->results, rank, describe_failures(page));
}

bool check_job_reading(const struct job_reading *reading, struct error *error)
{
    if (reading->failed_count > 0)
        return error_set(error, ERROR_PARTIAL,
                         "%zu of %zu files could not be used: the report is of the others",
                         reading->failed_count, reading->failed_count + reading->used_count);
    if (reading->cut_count > 0)
        return error_set(error, ERROR_PARTIAL, "%zu packed %s early: the report is of the rest",
                         reading->cut_count, reading->cut_count == 1 ? "file ends" : "files end");
    if (reading->damaged_entries > 0)
        return error_set(error, ERROR_PARTIAL,
                         "%lld damaged entr%s left out of step records: the report is of the rest",
                         (long long)reading->damaged_entries,
                         reading->damaged_entries == 1 ? "y is" : "ies are");
    return true;
}

bool make_job_report(struct results *results, struct job_reading *reading,
                     const struct job_report *wanted, struct error *error)
{
    SCOPED(job) job = {0};
    SCOPED(job_accounts) accounts = {0};
    SCOPED(job_windows) windows = {0};
    struct kept_parts kept = {0};
    struct job_rates rates;
    struct job_step_times times;
    struct job_failures failures;
    struct traced_steps traced;
    struct peak_settings peaks = wanted->peaks;
    struct ettr_page page = {.results = results,
                             .job = &job,
                             .accounts = &accounts,
                             .rates = &rates,
                             .times = &times,
                             .failures = &failures,
                             .reading = reading,
                             .windows = &windows,
                             .kept = &kept,
                             .flops_per_token = wanted->flops_per_token,
                             .top = wanted->top};

    peaks.device_name = wanted->device_name;
    if (!choose_peak(&page, wanted, error) ||
        !read_job(&job, results,
                  &(struct job_input){.paths = wanted->paths,
                                      .count = wanted->count,
                                      .pattern = wanted->pattern,
                                      .shows_progress = wanted->shows_progress},
                  reading, error))
        return false;
    if (job.attempt_count == 0 && job.incident_count == 0)
        return error_set(error, ERROR_NO_DATA,
                         "'%s' is a log of %s, and tells of no step: give the whole log",
                         wanted->paths[0], reading->formats);
    job_accounts_fill(&accounts, &job, wanted->devices);
    job_check_rates(&rates, &job,
                    &(struct job_rate_limits){.peak = peaks.rates ? 0 : page.peak,
                                              .highest_peak = highest_peak()});
    job_rates_fill(&rates, &job, &accounts);
    job_step_times_fill(&times, &job, &accounts);
    job_failures_fill(&failures, &job, &accounts);
    job_windows_read(&windows, results, &job, &peaks);
    traced = job_windows_steps(&windows);
    if (windows.is_of_records)
        kept_parts_fill(&kept, &job, &accounts, &traced);
    fill_page(&page, wanted->count == 1 ? wanted->paths[0]
                                        : results_format(results, "%s and %d more",
                                                         wanted->paths[0], wanted->count - 1));
    return true;
}
