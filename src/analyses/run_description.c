/* What run is this, and how good is the recording? */
#include "analyses/analysis.h"
#include "analyses/chosen_events.h"
#include "analyses/run_warnings.h"
#include "efficiency/peak_choice.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

struct time_range {
    int64_t start_ns;
    int64_t end_ns;
};

static void widen(struct time_range *range, const struct event *events, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (events[i].start_ns < range->start_ns)
            range->start_ns = events[i].start_ns;
        if (event_end_ns(&events[i]) > range->end_ns)
            range->end_ns = event_end_ns(&events[i]);
    }
}

static void add_text(struct results *results, struct section *section, const char *key,
                     const char *title, const char *text)
{
    if (*text)
        section_add_number(
            results, section,
            (struct number){key, title, value_text(results_text(results, text)), NULL});
}

static void add_count(struct results *results, struct section *section, const char *key,
                      const char *title, int64_t count)
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

static void add_facts(struct results *results, struct section *section, const struct trace *trace)
{
    const struct run_facts *facts = &trace->facts;

    add_text(results, section, "file", "file", trace_text(trace, trace->path));
    add_text(results, section, "trace_name", "written as", trace_text(trace, facts->trace_name));
    add_text(results, section, "hostname", "host", trace_text(trace, facts->hostname));
    add_text(results, section, "process", "this rank is", trace_text(trace, facts->process));
    add_text(results, section, "torch_version", "PyTorch", trace_text(trace, facts->torch_version));
    add_text(results, section, "device_runtime_version",
             facts->is_rocm == 1 ? "ROCm (HIP) runtime" : "CUDA runtime",
             trace_text(trace, facts->cuda_version));
    add_count(results, section, "rank", "rank", facts->rank);
    add_count(results, section, "world_size", "ranks in the run", facts->world_size);
    add_text(results, section, "backend", "communication backend",
             trace_text(trace, facts->backend));
}

static void add_extent(struct results *results, struct section *section,
                       const struct analysis_input *input)
{
    const struct trace *trace = input->trace;
    struct time_range range = {INT64_MAX, INT64_MIN};

    widen(&range, trace->host, trace->host_count);
    widen(&range, trace->device, trace->device_count);
    if (range.end_ns > range.start_ns) {
        add_text(results, section, "start", "recorded",
                 clock_text(results, trace_unix_ns(trace, range.start_ns)));
        section_add_number(results, section,
                           (struct number){"length", "length of the recording",
                                           value_time_ns(range.end_ns - range.start_ns), NULL});
    }
    add_count(results, section, "events", "events in the file", trace->read.events);
    add_count(results, section, "host_events", "on host threads", trace->host_count);
    add_count(results, section, "device_events", "kernels, copies, memsets", trace->device_count);
    add_count(results, section, "steps", "steps",
              input->ledger->source == WINDOW_WHOLE ? 0 : input->ledger->step_count);
    if (input->ledger->source != WINDOW_WHOLE)
        add_text(results, section, "step_numbers", "step numbers",
                 step_numbers_text(results, input->ledger));
    add_text(results, section, "step_source", "steps told by",
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
    if (strcmp(trace->read.format, "torch-profiler") != 0)
        return value_none();
    if (device->entry != DEVICE_ENTRY_NONE)
        return value_not_known("needs a name in deviceProperties: it is empty there, and its sizes "
                               "are those of no device known");
    return value_not_known(lists_devices(trace) ? "needs an entry of its number in deviceProperties"
                                                : "needs deviceProperties in the trace");
}

/* The name, as the trace gives it or inferred, and who tells it where that is not its own entry. */
static void fill_device_name(struct results *results, struct value *name, struct value *told_by,
                             const struct trace *trace, const struct device *device)
{
    struct device_match match;
    char names[256];

    *told_by = value_none();
    if (device->name) {
        *name = value_text(results_text(results, trace_text(trace, device->name)));
        if (device->entry == DEVICE_ENTRY_ONLY)
            *told_by = value_text("the only device that the trace lists");
        else if (device->entry == DEVICE_ENTRY_SHARED)
            *told_by = value_text("all devices that the trace lists are of this name");
    } else if (device->entry != DEVICE_ENTRY_NONE && find_peak_of_device(trace, device, &match)) {
        list_device_candidates(&match, names, sizeof names);
        *name = value_text(results_format(results, "%s (inferred)", names));
        *told_by = value_text("memory, multiprocessors and compute capability: it has no name");
    } else {
        *name = unnamed_device(trace, device);
    }
}

static void fill_device_row(struct results *results, struct value *cells, const struct trace *trace,
                            const struct device *device)
{
    cells[0] = value_count(device->number);
    fill_device_name(results, &cells[1], &cells[7], trace, device);
    cells[2] = device->memory_bytes > 0 ? value_bytes(device->memory_bytes) : value_none();
    cells[3] = device->multiprocessors > 0 ? value_count(device->multiprocessors) : value_none();
    cells[4] =
        device->compute_major > 0
            ? value_text(results_format(results, "%" PRId32 ".%" PRId32, device->compute_major,
                                        device->compute_minor > 0 ? device->compute_minor : 0))
            : value_none();
    cells[5] = value_count(device->event_count);
}

/* The devices that work in this trace; where none does, those that the file lists. */
static void add_devices(struct results *results, struct section *section,
                        const struct analysis_input *input)
{
    static const struct column columns[] = {
        {"device", "device", UNIT_COUNT, 0, false},
        {"name", "name", UNIT_TEXT, 0, false},
        {"memory", "memory", UNIT_BYTES, 1, false},
        {"multiprocessors", "SMs", UNIT_COUNT, 2, false},
        {"compute_capability", "compute capability", UNIT_TEXT, 3, false},
        {"events", "events", UNIT_COUNT, 1, false},
        {"is_reported", "in this report", UNIT_TEXT, 2, false},
        {"told_by", "name told by", UNIT_TEXT, 5, false},
    };
    const struct trace *trace = input->trace;
    struct table *table;
    bool lists_all = trace->device_count == 0;

    if (trace->device_list_count == 0)
        return;
    table = section_add_table(results, section, "devices", "Devices", columns,
                              sizeof columns / sizeof *columns);
    for (uint32_t i = 0; i < trace->device_list_count; i++) {
        const struct device *device = &trace->devices[i];
        struct value *cells;

        if (device->event_count == 0 && !lists_all)
            continue;
        cells = table_add_row(results, table, 0);
        fill_device_row(results, cells, trace, device);
        cells[6] = value_text(!lists_all && device->number == input->ledger->device ? "yes" : "no");
    }
}

static struct section *describe_run(struct results *results, const struct analysis_input *input)
{
    struct section *section = section_new(results, "run", "Run", NULL);

    add_facts(results, section, input->trace);
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
