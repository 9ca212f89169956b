/* A trace as packets of Perfetto. Numbers of fields are those of its public messages. */

#include "base/core/attributes.h"
#include "base/core/invariant.h"
#include "base/core/out_of_memory.h"
#include "base/json/json_writer.h"
#include "base/text/owned_text.h"
#include "ledger/account_pieces.h"
#include "output/exports/export_format.h"
#include "output/exports/perfetto_parts.h"
#include "output/exports/protobuf_writer.h"
#include "output/results/device_words.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* TracePacket, and what its parts hold. */
enum {
    PACKET_CLOCKS = 6,
    PACKET_TIME = 8,
    PACKET_SEQUENCE = 10,
    PACKET_EVENT = 11,
    PACKET_INTERNED = 12,
    PACKET_FLAGS = 13,
    PACKET_DEFAULTS = 59,
    PACKET_TRACK = 60,
    DEFAULTS_CLOCK = 58,
    CLOCK_INCREMENTAL = 64, /* of the sequence: each time counts from the one before */
    CLOCK_BOOTTIME = 6,
    CLOCK_REALTIME = 1,
    FLAGS_CLEARED = 3, /* of names given before; needs those that come */
    FLAGS_NEEDED = 2,  /* by a name or by its time, which counts from the packet before */
    EVENT_CATEGORY = 3,
    EVENT_ARGUMENT = 4,
    EVENT_TYPE = 9,
    EVENT_NAME = 10,
    EVENT_TRACK = 11,
    EVENT_FLOW = 47,
    TYPE_BEGIN = 1,
    TYPE_END = 2,
    TYPE_INSTANT = 3,
    ARGUMENT_NAME = 1,
    ARGUMENT_INTEGER = 4,
    ARGUMENT_REAL = 5,
    ARGUMENT_JSON = 9,
    ARGUMENT_STRING = 17,
};

/* What is interned: fields of InternedData. */
enum interned_kind { KIND_CATEGORY, KIND_NAME, KIND_ARGUMENT_NAME, KIND_STRING, KIND_COUNT };
static const unsigned interned_fields[] = {1, 2, 3, 29};

struct packet_writer {
    FILE *output;
    const struct trace *trace;
    const struct perfetto_place *place;
    uint32_t *numbers[KIND_COUNT]; /* by string of `texts`, or of the trace: interned number; 0 */
    uint32_t counts[KIND_COUNT];
    struct string_pool texts; /* categories, names of arguments */
    struct bytes packet;
    struct bytes event;
    struct bytes interned;
    struct bytes part;
    struct bytes inner;
    int64_t shift_ns; /* added to all times, which are not negative then */
    int64_t last_ns;
    bool *launches; /* by host event: work of the device is linked to it */
};

enum { OWN_TEXTS_MAX = 128 }; /* categories and names of arguments are fewer */

static void packet_empty(struct bytes *bytes)
{
    bytes->length = 0;
}

/* The packet is a field of the file's one message. */
static void packet_end(struct packet_writer *writer)
{
    struct bytes head = {0};

    bytes_add_varint(&head, 1 << 3 | 2);
    bytes_add_varint(&head, writer->packet.length);
    (void)fwrite(head.bytes, 1, head.length, writer->output);
    (void)fwrite(writer->packet.bytes, 1, writer->packet.length, writer->output);
    bytes_clear(&head);
    packet_empty(&writer->packet);
}

/* Two for each trace: interned names and relative times are those of a sequence, and our own
 * tracks use neither. */
static uint64_t sequence_number(const struct packet_writer *writer, bool is_own)
{
    return 1 + 2 * (uint64_t)writer->place->index + is_own;
}

/* Ids of tracks are of the whole file: the number of the trace is in the upper half. */
static uint64_t lane_id(const struct packet_writer *writer, uint64_t lane)
{
    return ((uint64_t)writer->place->index << 32) + 1 + lane;
}

/* ---- interned texts ------------------------------------------------------------------------- */

/* A text is written once for a sequence and then named by its number. The number is taken when
 * the text is first used, in the packet that uses it, so that a reader has it in time. */
static uint32_t intern(struct packet_writer *writer, enum interned_kind kind, uint32_t string,
                       const char *text)
{
    uint32_t *number = &writer->numbers[kind][string];

    if (*number == 0) {
        *number = ++writer->counts[kind];
        packet_empty(&writer->part);
        protobuf_integer(&writer->part, 1, *number);
        protobuf_text(&writer->part, 2, text);
        protobuf_message(&writer->interned, interned_fields[kind], &writer->part);
    }
    return *number;
}

/* Names of our own have a pool beside the trace's; both number into one table of the kind,
 * which has room for OWN_TEXTS_MAX of them behind the trace's. */
static uint32_t intern_own(struct packet_writer *writer, enum interned_kind kind, const char *text)
{
    uint32_t string = string_pool_add(&writer->texts, text, strlen(text));

    require_invariant(string < OWN_TEXTS_MAX, "that categories and arguments are few");
    return intern(writer, kind, string, text);
}

static uint32_t intern_text(struct packet_writer *writer, enum interned_kind kind, uint32_t string)
{
    return intern(writer, kind, string, trace_text(writer->trace, string));
}

/* ---- arguments ------------------------------------------------------------------------------ */

/* Begins one, whose value is then added to `inner`. The name is interned before the argument is
 * begun, for interning uses `part`, and the argument `inner`. */
static void argument_begin(struct packet_writer *writer, const char *name)
{
    uint32_t number = intern_own(writer, KIND_ARGUMENT_NAME, name);

    packet_empty(&writer->inner);
    protobuf_integer(&writer->inner, ARGUMENT_NAME, number);
}

static void argument_end(struct packet_writer *writer)
{
    protobuf_message(&writer->event, EVENT_ARGUMENT, &writer->inner);
}

static void add_integer(struct packet_writer *writer, const char *name, int64_t number,
                        int64_t if_none)
{
    if (number == if_none)
        return;
    argument_begin(writer, name);
    protobuf_integer(&writer->inner, ARGUMENT_INTEGER, number);
    argument_end(writer);
}

/* Below zero is "not told" for all reals of an event's details. */
static void add_real(struct packet_writer *writer, const char *name, float number)
{
    if (number < 0)
        return;
    argument_begin(writer, name);
    protobuf_double(&writer->inner, ARGUMENT_REAL, (double)number);
    argument_end(writer);
}

/* String 0 is the empty one, of what the trace does not tell. */
static void add_string(struct packet_writer *writer, const char *name, uint32_t string)
{
    uint32_t number;

    if (string == 0)
        return;
    number = intern_text(writer, KIND_STRING, string);
    argument_begin(writer, name);
    protobuf_integer(&writer->inner, ARGUMENT_STRING, number);
    argument_end(writer);
}

static void add_json(struct packet_writer *writer, const char *name, const char *json)
{
    argument_begin(writer, name);
    protobuf_text(&writer->inner, ARGUMENT_JSON, json);
    argument_end(writer);
}

/* Grids and blocks have up to three dimensions; -1 ends them. */
static void add_triple(struct packet_writer *writer, const char *name, const int32_t numbers[3])
{
    char text[48];

    if (numbers[0] < 0)
        return;
    if (numbers[1] < 0)
        (void)snprintf(text, sizeof text, "[%d]", numbers[0]);
    else if (numbers[2] < 0)
        (void)snprintf(text, sizeof text, "[%d, %d]", numbers[0], numbers[1]);
    else
        (void)snprintf(text, sizeof text, "[%d, %d, %d]", numbers[0], numbers[1], numbers[2]);
    add_json(writer, name, text);
}

/* Under the names of torch.profiler, so that what reads its traces finds the same things here. */
static void add_details(struct packet_writer *writer, const struct event_detail *detail)
{
    add_string(writer, "Input Dims", detail->input_shapes);
    add_string(writer, "Input type", detail->input_types);
    add_string(writer, "Concrete Inputs", detail->concrete_inputs);
    add_string(writer, "Call stack", detail->call_stack);
    add_string(writer, "kernel", detail->kernel_name);
    add_string(writer, "kernel_hash", detail->code);
    add_string(writer, "kernel_kwargs", detail->settings);
    add_string(writer, "stack", detail->lines);
    add_triple(writer, "grid", detail->grid);
    add_triple(writer, "block", detail->block);
    add_integer(writer, "registers per thread", detail->registers_per_thread, -1);
    add_integer(writer, "shared memory", detail->shared_memory_bytes, -1);
    add_real(writer, "est. achieved occupancy %", detail->occupancy_percent);
    add_real(writer, "blocks per SM", detail->blocks_per_sm);
    add_real(writer, "warps per SM", detail->warps_per_sm);
    add_integer(writer, "bytes", detail->bytes, -1);
    add_string(writer, "Collective name", detail->collective_name);
    add_string(writer, "dtype", detail->element_type);
    add_string(writer, "Process Group Name", detail->group_name);
    add_string(writer, "Process Group Ranks", detail->group_ranks);
    add_integer(writer, "In msg nelems", detail->in_elements, -1);
    add_integer(writer, "Out msg nelems", detail->out_elements, -1);
    add_integer(writer, "Group size", detail->group_size, -1);
    add_integer(writer, "Seq", detail->sequence, -1);
    add_integer(writer, "Src Rank", detail->source_rank, -1);
    add_integer(writer, "Dst Rank", detail->destination_rank, -1);
    add_string(writer, "flopledger work", detail->work);
    add_string(writer, "flopledger phase", detail->phase);
    add_integer(writer, "flopledger flops", detail->flops, -1);
    add_integer(writer, "graph node id", detail->graph_node, -1);
}

/* ---- events --------------------------------------------------------------------------------- */

/* The categories of torch.profiler's own traces, so that what reads those knows the kinds in
 * this one, our own reader included. */
static const char *category_of_event(const struct packet_writer *writer, const struct event *event)
{
    static const char *const categories[EVENT_KIND_COUNT] = {
        [EVENT_PYTHON_FUNCTION] = "python_function",
        [EVENT_ANNOTATION] = "user_annotation",
        [EVENT_OPERATOR] = "cpu_op",
        [EVENT_RUNTIME_CALL] = "cuda_runtime",
        [EVENT_SYSTEM_CALL] = "os_call",
        [EVENT_OVERHEAD] = "overhead",
        [EVENT_HOST_OTHER] = "host",
        [EVENT_MEMCPY] = "gpu_memcpy",
        [EVENT_KERNEL] = "kernel",
        [EVENT_MEMSET] = "gpu_memset",
        [EVENT_DEVICE_ANNOTATION] = "gpu_user_annotation",
        [EVENT_DEVICE_SYNC] = "cuda_sync",
        [EVENT_DEVICE_OTHER] = "cuda_profiler_range",
    };

    return event->kind == EVENT_RUNTIME_CALL && writer->trace->facts.is_rocm == 1
               ? "hip_runtime"
               : categories[event->kind];
}

/* Both ends of an arrow have one number: that of the call. The id of a flow is that of the call,
 * which may launch several kernels: all of them are at the end of its arrows. */
static void add_flow(struct packet_writer *writer, const struct event *event)
{
    const struct trace *trace = writer->trace;
    uint32_t call = NO_EVENT;

    if (event_is_device_work(event))
        call = trace->launch[event - trace->device];
    else if (event->kind == EVENT_RUNTIME_CALL && writer->launches[event - trace->host])
        call = (uint32_t)(event - trace->host);
    if (call == NO_EVENT)
        return;
    bytes_add_varint(&writer->event, EVENT_FLOW << 3 | 1);
    bytes_add_fixed(&writer->event, lane_id(writer, call), 8);
}

/* Names and categories are interned: a number stands for a text that was written once.
 * Arguments are left out where the trace has no such number (NO_ID, or -1 on the host's
 * tracks). */
static void add_begin(struct packet_writer *writer, const struct event *event)
{
    const struct trace *trace = writer->trace;
    const struct track *track = &trace->tracks[event->track];
    uint32_t number = intern_own(writer, KIND_CATEGORY, category_of_event(writer, event));

    protobuf_integer(&writer->event, EVENT_CATEGORY, number);
    number = intern_text(writer, KIND_NAME, event->name);
    protobuf_integer(&writer->event, EVENT_NAME, number);
    add_integer(writer, event->kind == EVENT_OPERATOR ? "Sequence number" : "correlation",
                event_id_number(&trace->wide_ids, event->correlation), NO_ID);
    add_integer(writer, "External id", event_id_number(&trace->wide_ids, event->external_id),
                NO_ID);
    if (track->is_device) {
        add_integer(writer, "device", track->device, -1);
        add_integer(writer, "stream", track->stream, -1);
    }
    if (event->detail)
        add_details(writer, &trace->details[event->detail]);
    add_flow(writer, event);
}

/* Times count from the packet before (an incremental clock), which takes a byte or two instead
 * of eight. So packets of this sequence must be written in order of time, which sorting the
 * halves has done. */
static void write_half(struct packet_writer *writer, const struct packet_half *half)
{
    int64_t time_ns = half->time_ns + writer->shift_ns;

    packet_empty(&writer->event);
    packet_empty(&writer->interned);
    protobuf_integer(&writer->event, EVENT_TYPE, half->is_end ? TYPE_END : TYPE_BEGIN);
    protobuf_integer(&writer->event, EVENT_TRACK, (int64_t)lane_id(writer, half->lane));
    if (!half->is_end)
        add_begin(writer, half->event);
    protobuf_integer(&writer->packet, PACKET_TIME, time_ns - writer->last_ns);
    protobuf_integer(&writer->packet, PACKET_SEQUENCE, (int64_t)sequence_number(writer, false));
    protobuf_integer(&writer->packet, PACKET_FLAGS, FLAGS_NEEDED);
    protobuf_message(&writer->packet, PACKET_EVENT, &writer->event);
    if (writer->interned.length > 0)
        protobuf_message(&writer->packet, PACKET_INTERNED, &writer->interned);
    packet_end(writer);
    writer->last_ns = time_ns;
}

/* ---- tracks --------------------------------------------------------------------------------- */

/* A number as written, which the system would give to a process or thread; -1 where it is none.
 * Written back and compared: "007" or "7 " are names and no numbers of a process. */
static int64_t number_of_text(const struct packet_writer *writer, uint32_t string)
{
    const char *text = trace_text(writer->trace, string);
    char *end;
    long long number = strtoll(text, &end, 10);
    char again[24];

    (void)snprintf(again, sizeof again, "%lld", number);
    return !*end && strcmp(again, text) == 0 && number >= 0 && number <= INT32_MAX ? number : -1;
}

/* Processes of several ranks may have one number: each trace's are moved, as far as a number has
 * room. -1: it is no number. */
static int64_t pid_of_text(const struct packet_writer *writer, uint32_t string)
{
    int64_t pid = number_of_text(writer, string);
    int64_t moved = pid + (int64_t)writer->place->index * PIDS_PER_TRACE;

    return pid >= 0 && pid < OWN_PID && moved <= INT32_MAX ? moved : -1;
}

/* Beyond the room of numbers ours follow one another: they are unlike all others. */
static int64_t own_pid(const struct packet_writer *writer)
{
    int64_t moved = OWN_PID + (int64_t)writer->place->index * PIDS_PER_TRACE;

    return moved <= INT32_MAX ? moved : OWN_PID + (int64_t)writer->place->index;
}

/* Both fields of the name: of a process 6, of a thread 5. */
static void add_track_number(struct bytes *part, int64_t pid, int64_t tid)
{
    protobuf_integer(part, 1, pid);
    if (tid >= 0)
        protobuf_integer(part, 2, tid);
}

/* A lane whose thread has a number is shown in its process by Perfetto itself; others are
 * children of a track that stands for the process, whose id has a bit that no lane has. A
 * stream that has no number must not get one. */
static void write_packet_lane(struct packet_writer *writer, uint32_t lane,
                              const struct track *track)
{
    int64_t pid = pid_of_text(writer, track->process);
    int64_t tid = number_of_text(writer, track->thread);
    struct bytes *event = &writer->event;

    packet_empty(event);
    packet_empty(&writer->part);
    protobuf_integer(event, 1, (int64_t)lane_id(writer, lane));
    if (track->is_device && track->stream < 0) { /* a number would be taken for that of a stream */
        protobuf_integer(event, 5, (int64_t)(lane_id(writer, track->process) | UINT64_C(1) << 62));
        protobuf_text(event, 2,
                      track->thread_name ? trace_text(writer->trace, track->thread_name)
                                         : "work without a stream");
    } else if (pid >= 0 && tid >= 0) {
        add_track_number(&writer->part, pid, tid);
        if (track->thread_name)
            protobuf_text(&writer->part, 5, trace_text(writer->trace, track->thread_name));
        protobuf_message(event, 4, &writer->part);
    } else { /* its process is a track of its own, by the name */
        protobuf_integer(event, 5, (int64_t)(lane_id(writer, track->process) | UINT64_C(1) << 62));
        protobuf_text(event, 2, trace_text(writer->trace, track->thread));
    }
    protobuf_message(&writer->packet, PACKET_TRACK, event);
    protobuf_integer(&writer->packet, PACKET_SEQUENCE, (int64_t)sequence_number(writer, false));
    packet_end(writer);
}

/* A process that tracks without a number of a thread lie in. */
static void write_process(struct packet_writer *writer, const struct track *track)
{
    int64_t pid = pid_of_text(writer, track->process);
    bool has_name = track->process_name && pid >= 0;
    char *text =
        text_format("%s%s", writer->place->prefix,
                    trace_text(writer->trace, has_name ? track->process_name : track->process));

    packet_empty(&writer->event);
    packet_empty(&writer->part);
    protobuf_integer(&writer->event, 1,
                     (int64_t)(lane_id(writer, track->process) | UINT64_C(1) << 62));
    if (pid >= 0) {
        add_track_number(&writer->part, pid, -1);
        if (has_name || *writer->place->prefix)
            protobuf_text(&writer->part, 6, text);
        protobuf_message(&writer->event, 3, &writer->part);
    } else {
        protobuf_text(&writer->event, 2, text);
    }
    protobuf_message(&writer->packet, PACKET_TRACK, &writer->event);
    protobuf_integer(&writer->packet, PACKET_SEQUENCE, (int64_t)sequence_number(writer, false));
    packet_end(writer);
    free(text);
}

/* A process is described once, before its lanes. */
static void write_tracks(struct packet_writer *writer, const struct perfetto_halves *halves)
{
    const struct trace *trace = writer->trace;
    bool *is_written = require_memory(calloc(string_pool_count(&trace->strings) + 1, 1));

    for (uint32_t t = 0; t < trace->track_count; t++) {
        if (!is_written[trace->tracks[t].process])
            write_process(writer, &trace->tracks[t]);
        is_written[trace->tracks[t].process] = true;
    }
    free(is_written);
    for (uint32_t lane = 0; lane < halves->lane_count; lane++)
        write_packet_lane(writer, lane, &trace->tracks[halves->lanes[lane]]);
}

/* ---- the beginning -------------------------------------------------------------------------- */

/* Times of the incremental clock are differences to the packet before: small numbers, which
 * take few bytes. */
static void packet_add_clock(struct packet_writer *writer, int64_t clock, int64_t time_ns)
{
    packet_empty(&writer->inner);
    protobuf_integer(&writer->inner, 1, clock);
    protobuf_integer(&writer->inner, 2, time_ns);
    if (clock == CLOCK_INCREMENTAL)
        protobuf_integer(&writer->inner, 3, 1);
    protobuf_message(&writer->part, 1, &writer->inner);
}

/* Perfetto takes no negative time: all are moved so that the first is 0, where it was
 * negative. One snapshot ties the three clocks: boot time, the time of day, and our own
 * incremental one, which the defaults of the sequence then name for all packets. */
static void write_clocks(struct packet_writer *writer, int64_t first_ns)
{
    const struct trace *trace = writer->trace;

    writer->shift_ns = first_ns < 0 ? -first_ns : 0;
    writer->last_ns = first_ns + writer->shift_ns;
    packet_empty(&writer->part);
    packet_add_clock(writer, CLOCK_BOOTTIME, writer->last_ns);
    packet_add_clock(writer, CLOCK_REALTIME, first_ns + trace->facts.base_time_ns);
    packet_add_clock(writer, CLOCK_INCREMENTAL, writer->last_ns);
    protobuf_integer(&writer->packet, PACKET_SEQUENCE, (int64_t)sequence_number(writer, false));
    protobuf_integer(&writer->packet, PACKET_FLAGS, FLAGS_CLEARED);
    protobuf_message(&writer->packet, PACKET_CLOCKS, &writer->part);
    packet_empty(&writer->part);
    protobuf_integer(&writer->part, DEFAULTS_CLOCK, CLOCK_INCREMENTAL);
    protobuf_message(&writer->packet, PACKET_DEFAULTS, &writer->part);
    packet_end(writer);
}

/* ---- the ledger ----------------------------------------------------------------------------- */

/* Numbers of our own tracks lie above those of processes and threads, which the kernel keeps
 * below 4 million. */
enum { OWN_TRACK_STEPS = 1, OWN_TRACK_ACCOUNTS, OWN_LANES = 1 << 30 };

/* The first of our tracks is a process of its own, the others are its children: so they stand
 * together, above all that the trace has. The process has a number that no real one has. */
static void write_own_track(struct packet_writer *writer, int64_t track, const char *name)
{
    packet_empty(&writer->event);
    packet_empty(&writer->part);
    protobuf_integer(&writer->event, 1, (int64_t)lane_id(writer, OWN_LANES + (uint64_t)track));
    if (track == 0) {
        add_track_number(&writer->part, own_pid(writer), -1);
        protobuf_text(&writer->part, 6, name);
        protobuf_message(&writer->event, 3, &writer->part);
    } else {
        protobuf_integer(&writer->event, 5, (int64_t)lane_id(writer, OWN_LANES));
        protobuf_text(&writer->event, 2, name);
    }
    protobuf_message(&writer->packet, PACKET_TRACK, &writer->event);
    protobuf_integer(&writer->packet, PACKET_SEQUENCE, (int64_t)sequence_number(writer, true));
    packet_end(writer);
}

/* Of a sequence without interned names or an incremental clock: steps and accounts are few. */
static void write_own_half(struct packet_writer *writer, int64_t track, int64_t time_ns,
                           const char *name)
{
    packet_empty(&writer->event);
    protobuf_integer(&writer->event, EVENT_TYPE, name ? TYPE_BEGIN : TYPE_END);
    protobuf_integer(&writer->event, EVENT_TRACK,
                     (int64_t)lane_id(writer, OWN_LANES + (uint64_t)track));
    if (name) {
        protobuf_text(&writer->event, 22, PERFETTO_OWN_CATEGORY);
        protobuf_text(&writer->event, 23, name);
    }
    protobuf_integer(&writer->packet, PACKET_TIME, time_ns + writer->shift_ns);
    protobuf_integer(&writer->packet, PACKET_SEQUENCE, (int64_t)sequence_number(writer, true));
    protobuf_message(&writer->packet, PACKET_EVENT, &writer->event);
    packet_end(writer);
}

/* Each begin is followed by its end: pieces of the ledger do not overlap. */
static void write_ledger(struct packet_writer *writer, const struct ledger *ledger)
{
    SCOPED(arena) arena = {0};
    struct account_pieces pieces = {0};
    struct account_words words;
    char name[64];

    write_own_track(writer, OWN_TRACK_STEPS, "steps");
    write_own_track(writer, OWN_TRACK_ACCOUNTS, "accounts: what each moment belongs to");
    for (uint32_t i = 0; i < ledger->step_count; i++) {
        (void)snprintf(name, sizeof name, "%s %" PRId64,
                       ledger->source == WINDOW_WHOLE ? "window" : "step",
                       ledger->steps[i].window.number);
        write_own_half(writer, OWN_TRACK_STEPS, ledger->steps[i].window.start_ns, name);
        write_own_half(writer, OWN_TRACK_STEPS, ledger->steps[i].window.end_ns, NULL);
    }
    account_words_of(&words, &arena, writer->place->speakers);
    find_account_pieces(&pieces, writer->trace, ledger);
    for (size_t i = 0; i < pieces.count; i++) {
        write_own_half(writer, OWN_TRACK_ACCOUNTS, pieces.pieces[i].start_ns,
                       words.titles[pieces.pieces[i].account]);
        write_own_half(writer, OWN_TRACK_ACCOUNTS, pieces.pieces[i].end_ns, NULL);
    }
    account_pieces_clear(&pieces);
}

/* ---- what the run was ----------------------------------------------------------------------- */

/* Devices of which the trace tells itself; what was concluded about others is concluded again
 * by who reads the copy. */
static void header_add_devices(struct packet_writer *writer)
{
    const struct trace *trace = writer->trace;
    char *text = NULL;
    size_t length = 0;
    struct json_writer json = {.output = require_memory(open_memstream(&text, &length))};

    json_begin_array(&json, NULL, JSON_ON_ONE_LINE);
    for (uint32_t i = 0; i < trace->device_list_count; i++) {
        const struct device *device = &trace->devices[i];

        if (device->entry != DEVICE_ENTRY_OWN)
            continue;
        json_begin_object(&json, NULL, JSON_ON_ONE_LINE);
        json_integer(&json, "id", device->number);
        if (device->name)
            json_text(&json, "name", trace_text(trace, device->name));
        json_integer(&json, "totalGlobalMem", device->memory_bytes);
        json_integer(&json, "computeMajor", device->compute_major);
        json_integer(&json, "computeMinor", device->compute_minor);
        json_integer(&json, "numSms", device->multiprocessors);
        json_end_object(&json);
    }
    json_end_array(&json);
    if (fclose(json.output) != 0)
        end_out_of_memory();
    add_json(writer, "deviceProperties", text);
    free(text);
}

/* As the header of torch.profiler's JSON, which our reader takes. What the JSON of
 * torch.profiler says of the run, as arguments of an instant of our own: reading the export back
 * gives the same run. */
static void write_header(struct packet_writer *writer)
{
    const struct run_facts *facts = &writer->trace->facts;
    const struct {
        const char *name;
        int64_t value;
    } flags[] = {
        {"record_shapes", facts->record_shapes}, {"profile_memory", facts->profile_memory},
        {"with_stack", facts->with_stack},       {"with_modules", facts->with_modules},
        {"with_flops", facts->with_flops},
    };

    packet_empty(&writer->event);
    packet_empty(&writer->interned);
    protobuf_integer(&writer->event, EVENT_TYPE, TYPE_INSTANT);
    protobuf_integer(&writer->event, EVENT_TRACK, (int64_t)lane_id(writer, OWN_LANES));
    protobuf_text(&writer->event, 22, PERFETTO_OWN_CATEGORY);
    protobuf_text(&writer->event, 23, "header");
    header_add_devices(writer);
    /* -1 is a flag that the trace did not tell: it is left out, since 0 would say "was off". */
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        add_integer(writer, flags[i].name, flags[i].value, -1);
    add_string(writer, "hostname", facts->hostname);
    add_string(writer, "torch_version", facts->torch_version);
    /* As JSON in one argument, in the form that torch.profiler writes. */
    if (facts->rank >= 0 && facts->world_size >= 0) {
        char text[80];

        (void)snprintf(text, sizeof text, "{\"rank\": %" PRId64 ", \"world_size\": %" PRId64 "}",
                       facts->rank, facts->world_size);
        add_json(writer, "distributedInfo", text);
    }
    protobuf_integer(&writer->packet, PACKET_TIME, 0);
    protobuf_integer(&writer->packet, PACKET_SEQUENCE, (int64_t)sequence_number(writer, false));
    protobuf_integer(&writer->packet, PACKET_FLAGS, FLAGS_NEEDED);
    protobuf_message(&writer->packet, PACKET_EVENT, &writer->event);
    protobuf_message(&writer->packet, PACKET_INTERNED, &writer->interned);
    packet_end(writer);
}

/* ---- a trace -------------------------------------------------------------------------------- */

/* Which calls have an arrow is known only from the other side. */
static void mark_launches(struct packet_writer *writer)
{
    const struct trace *trace = writer->trace;

    writer->launches = require_memory(calloc((size_t)trace->host_count + 1, 1));
    for (uint32_t i = 0; i < trace->device_count; i++)
        if (trace->launch[i] != NO_EVENT)
            writer->launches[trace->launch[i]] = true;
}

static void packet_writer_clear(struct packet_writer *writer)
{
    for (int kind = 0; kind < KIND_COUNT; kind++)
        free(writer->numbers[kind]);
    string_pool_clear(&writer->texts);
    bytes_clear(&writer->packet);
    bytes_clear(&writer->event);
    bytes_clear(&writer->interned);
    bytes_clear(&writer->part);
    bytes_clear(&writer->inner);
    free(writer->launches);
}

/* Clocks first, then our own process, whose name in the first bytes tells that the file is an
 * export. */
void perfetto_write_trace(FILE *output, const struct trace *trace, const struct ledger *ledger,
                          const struct perfetto_place *place)
{
    struct packet_writer writer = {.output = output, .trace = trace, .place = place};
    SCOPED(perfetto_halves) halves = {0};
    char name[64];

    for (int kind = 0; kind < KIND_COUNT; kind++)
        writer.numbers[kind] = require_memory(
            calloc(string_pool_count(&trace->strings) + OWN_TEXTS_MAX, sizeof(uint32_t)));
    string_pool_add(&writer.texts, "", 0);
    mark_launches(&writer);
    find_perfetto_halves(&halves, trace);
    write_clocks(&writer, halves.count > 0 ? halves.halves[0].time_ns : 0);
    (void)snprintf(name, sizeof name, "%.32s" PERFETTO_OWN_PROCESS, place->prefix);
    write_own_track(&writer, 0, name);
    write_header(&writer);
    write_tracks(&writer, &halves);
    for (size_t i = 0; i < halves.count; i++)
        write_half(&writer, &halves.halves[i]);
    write_ledger(&writer, ledger);
    packet_writer_clear(&writer);
}
