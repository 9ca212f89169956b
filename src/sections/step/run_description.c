/* What run is this, and how good is the recording? */
#include "base/text/format.h"
#include "base/text/prefix.h"
#include "cost/efficiency/peak_choice.h"
#include "output/results/metrics.h"
#include "sections/analysis.h"
#include "sections/chosen_events.h"
#include "sections/step/clock_numbers.h"
#include "trace/name_answers.h"
#include "trace/recorder_words.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

/* ---- warnings -------------------------------------------------------------------------------- */

/* What a trace lacks and what is damaged in it, each with what to do. */

/* A file that ends within an event is the usual trace of a job that was killed; all complete
 * events count. The place is one of the text after decompression, which is what an editor
 * shows. */
static void warn_of_truncation(struct results *results, struct section *section,
                               const struct trace *trace)
{
    const struct read_account *read = &trace->read;

    if (!read->is_truncated)
        return;
    section_add_warning(results, section,
                        results_format(results,
                                       "the file is cut off: %" PRId64 " complete events were read",
                                       read->events),
                        results_format(results, "%s (after %" PRId64 " bytes of text)",
                                       read->truncation, read->text_bytes),
                        recorder_words_for(trace)->cut);
}

/* Where a checksum failed, numbers before it may be wrong as well: gzip and zstd check at the
 * end of a block. */
static void warn_of_ending(struct results *results, struct section *section,
                           const struct read_account *read)
{
    if (read->ending == ENDING_DAMAGED)
        section_add_warning(results, section,
                            results_format(results, "%s: numbers read before it may be wrong, too",
                                           read->ending_message),
                            NULL, "copy the file once more from where it was written");
    else if (read->ending == ENDING_FOLLOWED)
        section_add_warning(results, section,
                            results_format(results, "behind the end of the trace stands more: %s",
                                           read->ending_message),
                            NULL, "were two files put together? Give them one by one");
}

/* Only the first place is told here, since damage tends to repeat itself; inspect lists more
 * of them. */
static void warn_of_damage(struct results *results, struct section *section,
                           const struct read_account *read)
{
    if (read->damaged_events == 0)
        return;
    section_add_warning(
        results, section,
        results_format(results,
                       "%" PRId64 " pieces of the file are no readable event and were skipped",
                       read->damaged_events),
        read->damage_count ? results_format(results, "the first at byte %" PRId64 ": %s",
                                            read->damages[0].byte, read->damages[0].message)
                           : NULL,
        "all other events are counted; 'flopledger inspect' lists the places");
}

/* A core that no call of the host launches anything on: a TPU, by JAX. A TPU gets its program as
 * a whole: there is no launch per operation that could be missing, and the warning of kernels
 * without a call would be about all of them. */
static bool runs_by_itself(const struct trace *trace)
{
    if (strcmp(trace->read.format, "xplane") != 0)
        return false;
    for (uint32_t i = 0; i < trace->host_count; i++)
        if (trace->host[i].kind == EVENT_RUNTIME_CALL)
            return false;
    return true;
}

/* Counts that are told in one way each. */
static void warn_of_ambiguity(struct results *results, struct section *section,
                              const struct trace *trace)
{
    if (trace->read.ambiguous_slices > 0)
        section_add_warning(
            results, section,
            results_format(results, "slices that begin at the very time when another ends: %s",
                           format_count(trace->read.ambiguous_slices).text),
            "the file has all begins before all ends, so whether one lies in the other is not "
            "known; each is taken as following it",
            "the same recording as JSON, or written in the order of time, tells");
}

/* A list of rules, each with its own words and remedy, so that a reader that counts a new kind
 * of damage adds a line here. */
static void warn_of_counts(struct results *results, struct section *section,
                           const struct trace *trace)
{
    const struct read_account *read = &trace->read;
    const struct {
        int64_t count;
        const char *what;
        const char *try_this;
    } rules[] = {
        {read->negative_durations, "events with a negative duration, set aside",
         "a fault of the profiler; a newer PyTorch may not have it"},
        {read->overflowing_durations, "events with an impossibly long duration, set aside",
         "a fault of the profiler; a newer PyTorch may not have it"},
        {read->missing_times, "timed events without a start or a duration, set aside",
         "a fault of the profiler or of the tool that changed the file"},
        {read->clamped_durations,
         "slices of the device were clamped by the writer; each is taken as long as its GPU stage",
         "nothing: the durations here are those of the GPU"},
        {read->lost_names,
         "events have numbers for names (or categories) that the file does not tell",
         "what told them was lost or cut: their time is counted, what they are is not known"},
        {read->unmatched_begins, "begin events without their end, left out",
         "they were still open when the recording stopped"},
        {read->unmatched_ends, "end events without their begin, left out",
         "they were open before the recording began"},
        {runs_by_itself(trace) ? 0 : read->unlinked_device_events,
         "kernels, copies or memsets without the call that launched them; their time is counted, "
         "idle time before them is "
         "explained by the step's own thread",
         "the recording lacks their calls: record the host, too, and all processes that launch"},
        {read->earlier_device_events,
         "kernels, copies or memsets launched before the recording began; their time is counted, "
         "idle time before them is explained by the step's own thread",
         recorder_words_for(trace)->warm_up},
        {read->early_device_events, "kernels or copies that start before their own launch call",
         "the clocks of host and device are not aligned: launch delays of this trace are too "
         "short"},
    };

    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].count > 0)
            section_add_warning(
                results, section,
                results_format(results, "%" PRId64 " %s", rules[i].count, rules[i].what), NULL,
                rules[i].try_this);
}

/* How some recorders write, and no damage. */
static void note_counts(struct results *results, struct section *section,
                        const struct read_account *read)
{
    if (read->page_moves > 0)
        section_add_note(
            results, section,
            results_format(results,
                           "%" PRId64 " copies are pages of unified memory that were moved where "
                           "they were touched: no call launched them; idle time before them is "
                           "explained by the step's own thread",
                           read->page_moves),
            NULL, "cudaMemPrefetchAsync before the kernels moves them at once");
    if (read->mixed_phases > 0)
        section_add_note(results, section,
                         results_format(results,
                                        "%" PRId64 " ops have matmuls of several phases (forward, "
                                        "backward, recomputed) fused into one: all of such an op "
                                        "counts as the phase of its largest",
                                        read->mixed_phases),
                         NULL, NULL);
    if (read->device_step_copies > 0)
        section_add_note(
            results, section,
            results_format(
                results,
                "%" PRId64
                " ProfilerStep ranges on the device are copies of host ranges: not counted "
                "as steps",
                read->device_step_copies),
            NULL, NULL);
}

/* Advice is held back: with windows that do not hold their work, idle time is an artifact of
 * where they were cut. */
static void warn_of_clock(struct results *results, struct section *section,
                          const struct ledger *ledger)
{
    bool is_device = ledger->clocks.clock == STEP_CLOCK_DEVICE;
    const char *why = why_windows_mislead(results, ledger);

    if (why)
        section_add_warning(
            results, section, "the steps' windows do not hold their work: no advice", why,
            is_device ? "try --clock host, or mark whole steps and synchronize at "
                        "their ends while recording"
                      : "try --clock device, or mark whole steps and synchronize at "
                        "their ends while recording");
}

/* A last step that is cut is counted, as it may be the only one; the warning says what is
 * wrong with it. */
static void run_warnings_warn_of_steps(struct results *results, struct section *section,
                                       const struct ledger *ledger)
{
    if (ledger->step_count == 0)
        return;
    warn_of_clock(results, section, ledger);
    if (ledger->steps[ledger->step_count - 1].window.is_cut)
        section_add_warning(
            results, section,
            "the last step is cut off by the end of the file: its numbers are too small", NULL,
            "leave it out with --steps");
    if (ledger->source == WINDOW_OPTIMIZER_STEP)
        section_add_note(
            results, section,
            "no ProfilerStep marks: a step is taken from one optimizer step to the next", NULL,
            "call prof.step() at the end of each iteration");
}

/* What is damaged or odd in the file: warnings. */
static void add_damage_findings(struct results *results, struct section *section,
                                const struct analysis_input *input)
{
    warn_of_truncation(results, section, input->trace);
    warn_of_ending(results, section, &input->trace->read);
    warn_of_damage(results, section, &input->trace->read);
    warn_of_counts(results, section, input->trace);
    note_counts(results, section, &input->trace->read);
    warn_of_ambiguity(results, section, input->trace);
    run_warnings_warn_of_steps(results, section, input->ledger);
}

/* What the events of a trace show of how it was recorded. */
struct recorded {
    int64_t kinds[EVENT_KIND_COUNT];
    int64_t launches; /* runtime calls that put work on a device */
    bool has_shapes;
    bool has_stacks;
    bool has_communication;
    bool has_collective_names;
    bool has_memory;
};

/* Allocations are instants; older versions of the profiler gave them no category. */
static bool may_be_memory(const struct trace *trace, const struct category_count *category)
{
    const char *name = trace_text(trace, category->category);

    return category->phase == 'i' && (!*name || strcmp(name, "cpu_instant_event") == 0);
}

/* Calls that ask, wait or allocate are made without any work of a device, too. */
static bool puts_work_on_device(const char *call)
{
    static const char *const words[] = {"Launch", "Memcpy",  "Memset",
                                        "memcpy", "Enqueue", "Append"};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(call, words[i]))
            return true;
    return false;
}

/* Everything that the remarks below ask for, in one pass over each list. Whether a call
 * launches depends on its name only, and a trace of millions of calls has some tens of names:
 * each name is asked once. */
static struct recorded look_at_events(const struct trace *trace, const struct ledger *ledger)
{
    struct recorded recorded = {.has_memory = trace->facts.profile_memory == 1};
    struct name_answers on_device = {.ask = puts_work_on_device};

    for (uint32_t i = 0; i < trace->host_count; i++) {
        const struct event *event = &trace->host[i];

        recorded.kinds[event->kind]++;
        recorded.launches +=
            event->kind == EVENT_RUNTIME_CALL && name_answer(&on_device, trace, event->name);
    }
    free(on_device.answers);
    for (uint32_t i = 0; i < trace->device_count; i++) {
        recorded.kinds[trace->device[i].kind]++;
        recorded.has_communication =
            recorded.has_communication || ledger->classes[i] == KERNEL_COMMUNICATION;
    }
    for (uint32_t i = 0; i < trace->detail_count; i++) {
        recorded.has_shapes = recorded.has_shapes || trace->details[i].input_shapes;
        recorded.has_stacks = recorded.has_stacks || trace->details[i].call_stack;
        recorded.has_collective_names =
            recorded.has_collective_names || trace->details[i].collective_name;
    }
    recorded.has_stacks = recorded.has_stacks || recorded.kinds[EVENT_PYTHON_FUNCTION] > 0;
    for (uint32_t i = 0; i < trace->read.category_count; i++)
        recorded.has_memory =
            recorded.has_memory || may_be_memory(trace, &trace->read.categories[i]);
    return recorded;
}

/* Profilers write kernels behind the events of the host: a file that is cut often has none left. */
static bool is_cut_before_kernels(const struct trace *trace, const struct recorded *recorded)
{
    if (!trace->read.is_truncated)
        return false;
    for (uint32_t i = 0; i < trace->device_list_count; i++) {
        if (trace->devices[i].entry == DEVICE_ENTRY_OWN)
            return true;
    }
    return recorded->kinds[EVENT_RUNTIME_CALL] > 0;
}

/* Three reasons for a trace without kernels ask for three remedies: the file was cut before
 * them, the device was not recorded, or there was none. They are told apart in this order,
 * since a cut file looks like an unrecorded device, too. */
static void note_missing_device(struct results *results, struct section *section,
                                const struct trace *trace, const struct recorded *recorded)
{
    int64_t launches = recorded->launches;

    if (is_cut_before_kernels(trace, recorded))
        section_add_warning(
            results, section,
            "no kernel is in the part of the file that is there: all below is of the host's "
            "threads, the device's time is not known",
            "the run has a device, and profilers write its kernels behind the host's events",
            "copy the whole file");
    else if (launches > 0)
        section_add_warning(
            results, section,
            results_format(results,
                           "%" PRId64
                           " calls put work on the device, but no kernel: device activity was not "
                           "recorded",
                           launches),
            NULL, recorder_words_for(trace)->device);
    else
        section_add_note(
            results, section,
            recorded->kinds[EVENT_RUNTIME_CALL] > 0
                ? "CPU only: no work of a device in this trace, and no call that would launch any"
                : "CPU only: no device and no runtime calls in this trace",
            NULL, recorder_words_for(trace)->no_device);
}

/* Counters of hardware (PM sampling) and of whoever else wrote some that no reader takes: named.
 * Counter events are not lost silently: a reader who sees them in another viewer should not look
 * for them here. */
static void note_counters(struct results *results, struct section *section,
                          const struct trace *trace)
{
    int64_t counters = -series_samples(&trace->series);

    for (uint32_t i = 0; i < trace->read.category_count; i++)
        if (trace->read.categories[i].phase == 'C')
            counters += trace->read.categories[i].events;
    if (counters > 0)
        section_add_note(
            results, section,
            results_format(results, "%s counter events are not read", format_count(counters).text),
            "samples of counters (PM sampling of the GPU, of memory or of a program)",
            "'flopledger inspect' lists all events by category and phase");
}

/* What was not recorded, and how to record it next time. Each remark says what cannot be known
 * for lack of it, in the words of the recorder that wrote the file: an option of PyTorch is of
 * no use to a reader of Nsight Systems. */
static void add_missing_findings(struct results *results, struct section *section,
                                 const struct analysis_input *input)
{
    struct recorded recorded = look_at_events(input->trace, input->ledger);
    const struct recorder_words *words = recorder_words_for(input->trace);

    if (input->trace->device_count == 0)
        note_missing_device(results, section, input->trace, &recorded);
    if (input->trace->device_count > 0 && recorded.kinds[EVENT_OPERATOR] == 0)
        section_add_note(results, section, "no operators: what launched the kernels is not known",
                         NULL, words->operators);
    if (recorded.kinds[EVENT_OPERATOR] > 0 && !recorded.has_shapes)
        section_add_note(
            results, section,
            "no input shapes: operators cannot be told apart by size, sizes of old collectives "
            "are not "
            "known",
            NULL, words->shapes);
    if (!recorded.has_stacks)
        section_add_note(results, section,
                         "no Python frames: time between operators shows as \"nothing recorded\"",
                         NULL, words->stacks);
    if (recorded.has_communication && !recorded.has_collective_names)
        section_add_note(
            results, section,
            "collectives without sizes and groups: bandwidth is known only where an operator "
            "tells the "
            "shapes",
            NULL, words->collectives);
    if (!recorded.has_memory)
        section_add_note(results, section, "no memory events", NULL, words->memory);
    note_counters(results, section, input->trace);
}

/* ---- run description ------------------------------------------------------------------------- */

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
        section_add_value(results, section, key, title, value_text(results_text(results, text)));
}

static void run_description_add_count(struct results *results, struct section *section,
                                      const char *key, const char *title, int64_t count)
{
    if (count >= 0)
        section_add_value(results, section, key, title, value_count(count));
}

/* "2024-04-01 09:50:12 UTC"; empty where the trace's clock does not count from 1970. Traces
 * whose clock counts from the start of the machine have no date: -1 is the reader's sign for it. */
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

/* Each of them is left out where the trace does not tell it. CUDA and ROCm share a field of
 * the trace, and only the flag beside it says whose version it is. */
static void run_description_add_facts(struct results *results, struct section *section,
                                      const struct analysis_input *input)
{
    const struct trace *trace = input->trace;
    const struct run_facts *facts = &trace->facts;
    const char *command = input->description->command, *script = input->description->script;

    run_description_add_text(results, section, "file", "file", trace_text(trace, trace->path));
    run_description_add_text(results, section, "command", "command", command ? command : "");
    run_description_add_text(results, section, "script", "of it the program", script ? script : "");
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

/* What rule of `flopledger run --on` had this window recorded; "": none. */
static const char *recorded_for(const struct analysis_input *input)
{
    const struct described_step *step =
        input->ledger->step_count > 0
            ? describe_ledger_step(input->description, input->ledger, &input->ledger->steps[0])
            : NULL;

    return step && step->recorded_for ? step->recorded_for : "";
}

/* A trace without steps says 0: the window that stands for one is ours. */
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
        section_add_value(results, section, "length", "length of the recording",
                          value_time_ns(range.end_ns - range.start_ns));
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
    run_description_add_text(results, section, "recorded_for", "recorded because",
                             recorded_for(input));
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

/* What would name the device; only what files of this format may hold. The remedy depends on the
 * format: each recorder keeps the names of devices in another place. */
static struct value unnamed_device(const struct trace *trace, const struct device *device)
{
    if (strcmp(trace->read.format, "nsight-systems") == 0)
        return value_not_known("needs the table TARGET_INFO_GPU in the export");
    if (strcmp(trace->read.format, "xplane") == 0)
        return value_not_known("the plane of the device does not name it");
    if (has_prefix(trace->read.format, "rocprofv3"))
        return value_not_known("needs the list of agents in the recording");
    if (has_prefix(trace->read.format, "rpd"))
        return value_not_known("RPD does not record it: name it with --device");
    if (trace->facts.platform == PLATFORM_NPU)
        return value_not_known("trace_view.json does not name it: --device does");
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

/* From certain to inferred: its own entry; the only entry, or entries that all say the same; who
 * asks; memory size, multiprocessors and compute capability, compared with known devices. The last
 * may fit several, and then all are named. */
static struct known_name name_of_device(struct results *results, const struct analysis_input *input,
                                        const struct device *device, bool is_reported)
{
    const struct trace *trace = input->trace;
    const struct peak_choice *peaks = &input->efficiency->peaks;
    struct device_match match;
    char names[256];

    if (device->name)
        return (struct known_name){
            value_text(results_text(results, trace_text(trace, device->name))),
            device->entry == DEVICE_ENTRY_ONLY ? value_text("the only device that the trace lists")
            : device->entry == DEVICE_ENTRY_SHARED
                ? value_text("all devices that the trace lists are of this name")
                : value_none()};
    if (is_reported && peaks->is_name_by_user)
        return (struct known_name){value_text(results_text(results, peaks->name)),
                                   value_text("--device")};
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

static void add_device_row(struct results *results, struct table *table,
                           const struct analysis_input *input, const struct device *device,
                           bool is_reported)
{
    const struct known_name known = name_of_device(results, input, device, is_reported);

    FILL_ROW(table_add_row(results, table, 0), DEVICES_COLUMNS);
}

/* The devices that work in this trace; where none does, those that the file lists. Processes
 * list all devices they see, of which most do nothing in one rank's trace: only those that work
 * are shown, unless none does. */
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
            add_device_row(results, table, input, device,
                           !lists_all && device->number == input->ledger->device);
    }
}

/* What is damaged and what is missing stand in the first section: all numbers below depend on
 * it. */
static struct section *describe_run(struct results *results, const struct analysis_input *input)
{
    struct section *section = section_new(results, "run", "Run", NULL);

    section->role = SECTION_OF_RUN;
    run_description_add_facts(results, section, input);
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
