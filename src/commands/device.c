/* `flopledger device [NAME]`: the table of peaks, and how a name is matched. */
#include "base/core/attributes.h"
#include "commands/command.h"
#include "commands/page_options.h"
#include "cost/devices/find_device_peak.h"
#include "output/reports/write_report.h"
#include "output/results/device_words.h"
#include "output/results/metrics.h"
#include "pipeline/subcommands.h"
#include "sections/model/device_sections.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct device_settings {
    struct page_settings page;
    int64_t memory_gib;
    int64_t multiprocessors;
    bool is_measured;
    int measured_kind; /* index in kind_names */
};

/* Which device is measured; NULL-terminated. */
static const char *const kind_names[] = {"auto", "cpu", "cuda", NULL};

#define FIELD(name) offsetof(struct device_settings, name)

static const struct option device_options[] = {
    INTEGER_OPTION("memory", FIELD(memory_gib), "GIB", 1, 65536,
                   "its memory, where the name alone leaves several devices"),
    INTEGER_OPTION("multiprocessors", FIELD(multiprocessors), "N", 1, INT32_MAX,
                   "its multiprocessors (SMs, compute units), likewise"),
    FLAG_OPTION(
        "measure", FIELD(is_measured),
        "measure the device of this machine with torch (matmuls by number format and shape, "
        "memory) and write FILE (default: rates.json), which --rates reads"),
    CHOICE_OPTION(
        "on", FIELD(measured_kind), "KIND", kind_names,
        "what --measure measures: cpu, cuda, or auto, the GPU where torch sees one (default)"),
    PAGE_OPTIONS(struct device_settings),
    {0},
};

/* The words of a name may be arguments of their own. */
static bool join_words(char *name, size_t size, char **words, int count, struct error *error)
{
    size_t used = 0;

    name[0] = '\0';
    for (int i = 0; i < count; i++) {
        int length = snprintf(name + used, size - used, "%s%s", i ? " " : "", words[i]);

        if (length < 0 || (size_t)length >= size - used)
            return error_set(error, ERROR_USAGE,
                             "the name of the device is too long: more than %zu characters", size);
        used += (size_t)length;
    }
    return true;
}

/* A default name, so that the command alone does something useful; --rates then takes that
 * file. */
static bool measure(const struct device_settings *settings, char **words, int count,
                    struct error *error)
{
    SCOPED(results) results = {0};

    if (count > 1)
        return error_set(error, ERROR_USAGE, "--measure writes one file: '%s' is one too many",
                         words[1]);
    results_init(&results);
    return measure_device(&results, count > 0 ? words[0] : "rates.json",
                          kind_names[settings->measured_kind], error) &&
           print_page(&results, &settings->page, error);
}

/* An unknown device is no data, not a wrong line: scripts that look up many can tell both
 * apart. */
static bool run_device(int count, char **arguments, struct error *error)
{
    struct device_settings settings = {.page.is_whole = true};
    struct device_hints hints = {0};
    struct device_match match;
    const struct device_peak *device;
    struct rank_results *page;
    SCOPED(results) results = {0};
    char name[512];

    if (!parse_options(device_options, &settings, arguments, &count, error))
        return false;
    if (!check_output(&settings.page, &(struct output_inputs){arguments, count, {NULL}}, error))
        return false;
    /* The format is one that other commands print; here it would be an empty page. */
    if (strcmp(report_names[settings.page.format], "deepspeed") == 0)
        return error_set(
            error, ERROR_USAGE,
            "--format deepspeed prints the modules of a trace: of devices it is text or "
            "json");
    if (settings.is_measured)
        return measure(&settings, arguments, count, error);
    if (!join_words(name, sizeof name, arguments, count, error))
        return false;
    results_init(&results);
    if (count == 0) {
        page = results_add_rank(&results, "devices", "devices", -1, NO_SPEAKERS);
        rank_add_section(&results, page, describe_device_list(&results));
        return print_page(&results, &settings.page, error);
    }
    /* One name may stand for devices of different memory (40 and 80 GB): the hints tell them
     * apart. */
    hints.memory_bytes = settings.memory_gib << 30;
    hints.multiprocessors = (int32_t)settings.multiprocessors;
    device = find_device_peak(name, &hints, &match);
    if (!device)
        return error_set(error, ERROR_NO_DATA,
                         "device '%s' is not known: %s ('flopledger device' lists all; --peak "
                         "gives another command the rate itself)",
                         name, match.how);
    page = results_add_rank(&results, name, name, -1, speakers_by_device_name(device->name));
    rank_add_section(&results, page, describe_device_peak(&results, device, match.how));
    return print_page(&results, &settings.page, error);
}

const struct command device_command = {
    .name = "device",
    .summary = "peak rates of a device, with sources",
    .usage = "[NAME]|--measure [FILE]",
    .description =
        "Prints what a device can do at most: dense peak rates by type, memory, bandwidths, who "
        "gives these figures and where sources disagree. Names are taken as "
        "torch.cuda.get_device_name, nvidia-smi, rocm-smi and lspci print them. A name counts as a "
        "whole: a device that is not in the table is not known, and never gets another one's "
        "figures.\n\n"
        "Without a name all devices of the table are listed.\n\n"
        "--measure runs matmuls and copies on this machine's GPU or processor for some seconds, "
        "prints what they reached, and writes a file: 'flopledger report --rates FILE' measures a "
        "run against it in place of the table; ettr, flops --model and plan take it, too.",
    .examples = "flopledger device NVIDIA H100 80GB HBM3\n"
                "    one device\n"
                "flopledger device --json\n"
                "    the whole table, for a program\n"
                "flopledger device --measure rates.json\n"
                "    what this machine reaches; then: flopledger report --rates rates.json TRACE",
    .options = device_options,
    .run = run_device,
};
