/* What run is this, and how good is the recording? */
#include "base/text/prefix.h"
#include "cost/efficiency/peak_choice.h"
#include "output/results/metrics.h"
#include "sections/analysis.h"
#include "sections/chosen_events.h"
#include "sections/step/run_warnings.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

struct time_range {
    int64_t start_ns;
    int64_t end_ns;
};

static void run_description_widen(struct time_range *range, const struct event *events,
                                  uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (events[i].start_ns < range->start_ns)
            range->start_ns = events[i].start_ns;
        if (event_end_ns(&events[i]) > range->end_ns)
            range->end_ns = event_end_ns(&events[i]);
    }
}

static void run_description_add_text(struct results *results, struct section *section,
                                     const char *key, const char *title, const char *text)
{
    if (*text)
        section_add_number(
            results, section,
            (struct number){key, title, value_text(results_text(results, text)), NULL});
}

static void run_description_add_count(struct results *results, struct section *section,
                                      const char *key, const char *title, int64_t count)
{
    if (count >= 0)
        section_add_number(results, section, (struct number){key, title, value_count(count), NULL});
}

/* "2024-04-01 09:50:12 UTC"; empty where the trace's clock does not count from 1970. */
static const char *clock_text(struct results *results, int64_t unix_ns)
{
    time_t seconds = (time_t)(unix_ns / 1000000000);
    struct tm parts;
    char text[64];

    if (unix_ns < 0 || !gmtime_r(&seconds, &parts))
        return "";
    strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts);
    return results_text(results, text);
}

static void run_description_add_facts(struct results *results, struct section *section,
                                      const struct trace *trace)
{
    const struct run_facts *facts = &trace->facts;

    run_description_add_text(results, section, "file", "file", trace_text(trace, trace->path));
    run_description_add_text(results, section, "trace_name", "written as",
                             trace_text(trace, facts->trace_name));
    run_description_add_text(results, section, METRIC_NAMES(HOSTNAME),
                             trace_text(trace, facts->hostname));
    run_description_add_text(results, section, "process", "this rank is",
                             trace_text(trace, facts->process));
    run_description_add_text(results, section, METRIC_NAMES(TORCH_VERSION),
                             trace_text(trace, facts->torch_version));
    run_description_add_text(results, section, METRIC_KEY(DEVICE_RUNTIME_VERSION),
                             facts->is_rocm == 1 ? "ROCm (HIP) runtime" : "CUDA runtime",
                             trace_text(trace, facts->cuda_version));
    run_description_add_count(results, section, METRIC_NAMES(RANK), facts->rank);
    run_description_add_count(results, section, METRIC_NAMES(WORLD_SIZE), facts->world_size);
    run_description_add_text(results, section, METRIC_NAMES(BACKEND),
                             trace_text(trace, facts->backend));
}

static void add_extent(struct results *results, struct section *section,
                       const struct analysis_input *input)
{
    const struct trace *trace = input->trace;
    struct time_range range = {INT64_MAX, INT64_MIN};

    run_description_widen(&range, trace->host, trace->host_count);
    run_description_widen(&range, trace->device, trace->device_count);
    if (range.end_ns > range.start_ns) {
        run_description_add_text(results, section, "start", "recorded",
                                 clock_text(results, trace_unix_ns(trace, range.start_ns)));
        section_add_number(results, section,
                           (struct number){"length", "length of the recording",
                                           value_time_ns(range.end_ns - range.start_ns), NULL});
    }
    run_description_add_count(results, section, "events", "events in the file", trace->read.events);
    run_description_add_count(results, section, "host_events", "on host threads",
                              trace->host_count);
    run_description_add_count(results, section, "device_events", "kernels, copies, memsets",
                              trace->device_count);
    run_description_add_count(results, section, "steps", "steps",
                              input->ledger->source == WINDOW_WHOLE ? 0
                                                                    : input->ledger->step_count);
    if (input->ledger->source != WINDOW_WHOLE)
        run_description_add_text(results, section, "step_numbers", "step numbers",
                                 step_numbers_text(results, input->ledger));
    run_description_add_text(results, section, "step_source", "steps told by",
                             window_source_text(input->ledger->source));
}

static bool lists_devices(const struct trace *trace)
{
    for (uint32_t i = 0; i < trace->device_list_count; i++)
        if (trace->devices[i].entry == DEVICE_ENTRY_OWN)
            return true;
    return false;
}

/* What would name the device; only what files of this format may hold. */
static struct value unnamed_device(const struct trace *trace, const struct device *device)
{
    if (strcmp(trace->read.format, "nsight-systems") == 0)
        return value_not_known("needs the table TARGET_INFO_GPU in the export");
    if (strcmp(trace->read.format, "xplane") == 0)
        return value_not_known("the plane of the device does not name it");
    if (has_prefix(trace->read.format, "rocprofv3"))
        return value_not_known("needs the list of agents in the recording");
    if (strcmp(trace->read.format, "torch-profiler") != 0)
        return value_none();
    if (device->entry != DEVICE_ENTRY_NONE)
        return value_not_known("needs a name in deviceProperties: it is empty there, and its sizes "
                               "are those of no device known");
    return value_not_known(lists_devices(trace) ? "needs an entry of its number in deviceProperties"
                                                : "needs deviceProperties in the trace");
}

/* The name, as the trace gives it or inferred, and who tells it where that is not its own entry. */
struct known_name {
    struct value name;
    struct value known_from;
};

static struct known_name name_of_device(struct results *results, const struct trace *trace,
                                        const struct device *device)
{
    struct device_match match;
    char names[256];

    if (device->name)
        return (struct known_name){
            value_text(results_text(results, trace_text(trace, device->name))),
            device->entry == DEVICE_ENTRY_ONLY ? value_text("the only device that the trace lists")
            : device->entry == DEVICE_ENTRY_SHARED
                ? value_text("all devices that the trace lists are of this name")
                : value_none()};
    if (device->entry == DEVICE_ENTRY_NONE || !find_peak_of_device(trace, device, &match))
        return (struct known_name){unnamed_device(trace, device), value_none()};
    list_device_candidates(&match, names, sizeof names);
    return (struct known_name){
        value_text(results_format(results, "%s (inferred)", names)),
        value_text("memory, multiprocessors and compute capability: it has no name")};
}

#define DEVICES_COLUMNS(COLUMN)                                                                    \
    COLUMN("device", "device", UNIT_COUNT, 0, BAR_NONE, value_count(device->number))               \
    COLUMN(METRIC_KEY(DEVICE_NAME), METRIC_TITLE(DEVICE_NAME), METRIC_UNIT(DEVICE_NAME), 0,        \
           BAR_NONE, known.name)                                                                   \
    COLUMN("memory", "memory", UNIT_BYTES, 1, BAR_NONE,                                            \
           device->memory_bytes > 0 ? value_bytes(device->memory_bytes) : value_none())            \
    COLUMN("multiprocessors", "SMs", UNIT_COUNT, 2, BAR_NONE,                                      \
           device->multiprocessors > 0 ? value_count(device->multiprocessors) : value_none())      \
    COLUMN("compute_capability", "compute capability", UNIT_TEXT, 3, BAR_NONE,                     \
           device->compute_major > 0                                                               \
               ? value_text(results_format(results, "%" PRId32 ".%" PRId32, device->compute_major, \
                                           device->compute_minor > 0 ? device->compute_minor : 0)) \
               : value_none())                                                                     \
    COLUMN("events", "events", UNIT_COUNT, 1, BAR_NONE, value_count(device->event_count))          \
    COLUMN(METRIC_KEY(DEVICE_IS_REPORTED), METRIC_TITLE(DEVICE_IS_REPORTED),                       \
           METRIC_UNIT(DEVICE_IS_REPORTED), 2, BAR_NONE, value_text(is_reported ? "yes" : "no"))   \
    COLUMN("told_by", "name told by", UNIT_TEXT, 5, BAR_NONE, known.known_from)

static void add_device_row(struct results *results, struct table *table, const struct trace *trace,
                           const struct device *device, bool is_reported)
{
    const struct known_name known = name_of_device(results, trace, device);

    FILL_ROW(table_add_row(results, table, 0), DEVICES_COLUMNS);
}

/* The devices that work in this trace; where none does, those that the file lists. */
static void add_devices(struct results *results, struct section *section,
                        const struct analysis_input *input)
{
    const struct trace *trace = input->trace;
    struct table *table;
    bool lists_all = trace->device_count == 0;

    if (trace->device_list_count == 0)
        return;
    table = section_add_table(results, section, "devices", "Devices", COLUMNS_OF(DEVICES_COLUMNS));
    for (uint32_t i = 0; i < trace->device_list_count; i++) {
        const struct device *device = &trace->devices[i];

        if (device->event_count > 0 || lists_all)
            add_device_row(results, table, trace, device,
                           !lists_all && device->number == input->ledger->device);
    }
}

static struct section *describe_run(struct results *results, const struct analysis_input *input)
{
    struct section *section = section_new(results, "run", "Run", NULL);

    section->role = SECTION_OF_RUN;
    run_description_add_facts(results, section, input->trace);
    add_extent(results, section, input);
    add_devices(results, section, input);
    add_damage_findings(results, section, input);
    add_missing_findings(results, section, input);
    return section;
}

const struct analysis run_description_analysis = {
    .name = "run",
    .summary = "What run is this, what does the trace lack, and what is damaged in it?",
    .run = describe_run,
};
