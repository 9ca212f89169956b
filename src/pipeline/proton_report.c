/* `flopledger report` of a profile of Proton. */
#include "base/io/input_stream.h"
#include "base/text/owned_text.h"
#include "output/results/device_words.h"
#include "output/results/metrics.h"
#include "pipeline/page.h"
#include "pipeline/subcommands.h"
#include "readers/proton/read_proton.h"
#include "sections/inspect/inspect_sections.h"
#include "sections/kernels/call_sums_sections.h"
#include "sections/tally.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOP_DEFAULT = 25 };

/* A pipe is not looked at: what is read of it here would be missing to its reader. */
bool is_proton_profile(const char *path)
{
    SCOPED(input_stream) input = {0};
    struct input_window head;

    if (strcmp(path, "-") == 0 || !input_stream_open(&input, path, false, NULL))
        return false;
    head = input_stream_peek(&input);
    return looks_like_proton(head.text, head.length < 65536 ? head.length : 65536);
}

/* "90" is the capability 9.0 and "120" 12.0; "gfx942" is 9.4, as PyTorch has it. AMD first:
 * "gfx942" would be read as no number. Numbers below 10 are no capability. */
static struct device_hints hints_of(const struct call_sums_device *device)
{
    struct device_hints hints = {.multiprocessors = device->multiprocessors};
    const char *architecture = device->architecture ? device->architecture : "";
    int number;

    if (sscanf(architecture, "gfx%1d%1d", &hints.compute_major, &hints.compute_minor) == 2)
        return hints;
    if (sscanf(architecture, "%3d", &number) == 1 && number >= 10) {
        hints.compute_major = number / 10;
        hints.compute_minor = number % 10;
    }
    return hints;
}

/* A name that was given goes for all devices; without it, the hints may fit several boards,
 * and then the slowest of them, so that no share of a peak is told too low by the fastest. */
static void find_peaks(struct sums_peaks *peaks, const struct call_sums *sums,
                       const char *device_name)
{
    peaks->devices = zeroed_array(sums->device_count + 1, sizeof(struct device_peak *));
    for (size_t i = 0; i < sums->device_count; i++) {
        struct device_hints hints = hints_of(&sums->devices[i]);
        struct device_match match;
        const struct device_peak *peak =
            find_device_peak(device_name, device_name ? NULL : &hints, &match);

        peaks->devices[i] = match.slowest ? match.slowest : peak;
    }
}

/* By their peaks, which the user may have named; else, or without them, by what Proton says. */
static uint32_t speakers_of_sums(const struct call_sums *sums, const struct sums_peaks *peaks)
{
    uint32_t speakers = NO_SPEAKERS;

    for (size_t i = 0; i < sums->device_count; i++) {
        const struct device_peak *peak = peaks ? peaks->devices[i] : NULL;

        speakers = speakers_of_both(
            speakers, speakers_by_device_name(peak ? peak->name : sums->devices[i].architecture));
    }
    return speakers;
}

/* The report is of what stands before; true, or ERROR_PARTIAL. */
static bool check_proton_read(const char *path, const struct read_account *read,
                              struct error *error)
{
    if (!read_is_partial(read))
        return true;
    if (read->damage_count > 0)
        return error_set(error, ERROR_PARTIAL, "'%s': byte %lld: %s", path,
                         (long long)read->damages[0].byte, read->damages[0].message);
    return error_set(error, ERROR_PARTIAL, "'%s': %s", path,
                     read->is_truncated ? read->truncation : read->ending_message);
}

/* The whole page unless sections were asked for: sums by call path have no first screen. */
bool print_proton_report(const char *path, const struct proton_report *wanted, struct error *error)
{
    SCOPED(call_sums) sums = {0};
    SCOPED(results) results = {0};
    struct sums_peaks peaks = {.top = TOP_DEFAULT};
    struct page_settings page = *wanted->page;
    struct rank_results *rank;

    if (wanted->top >= 0)
        peaks.top = wanted->top == 0 ? UINT32_MAX : (uint32_t)wanted->top;
    if (!read_proton(&sums, path, (size_t)peaks.top + 1, error))
        return false;
    find_peaks(&peaks, &sums, wanted->device_name);
    results_init(&results);
    results.detailed_rank = ALL_RANKS;
    rank = results_add_rank(&results, path_name(results_text(&results, path)),
                            results_text(&results, path), -1, speakers_of_sums(&sums, &peaks));
    rank->headline = call_sums_headline(&results, &sums);
    rank_add_section(&results, rank, describe_summed_scopes(&results, &sums, &peaks));
    rank_add_section(&results, rank, describe_summed_kernels(&results, &sums, &peaks));
    free(peaks.devices);
    page.is_whole = page.is_whole || (!page.sections && !page.lists_sections); /* it is short */
    return print_page(&results, &page, error) && check_proton_read(path, &sums.read, error);
}

/* The sums have no times: of the file's own facts those are told which any recording has. */
bool print_proton_inspection(const char *path, const struct page_settings *page,
                             struct error *error)
{
    static const struct recorded_time no_time = {.start_ns = 0, .end_ns = -1};
    SCOPED(call_sums) sums = {0};
    SCOPED(results) results = {0};
    struct trace trace = {.facts.rank = -1};
    struct rank_results *rank;

    if (!read_proton(&sums, path, 1, error))
        return false;
    trace.read = sums.read;
    results_init(&results);
    results.detailed_rank = ALL_RANKS;
    rank = results_add_rank(&results, results_text(&results, path), results_text(&results, path),
                            -1, speakers_of_sums(&sums, NULL));
    rank_add_section(&results, rank, describe_file(&results, &trace, no_time));
    return print_page(&results, page, error) && check_proton_read(path, &sums.read, error);
}
