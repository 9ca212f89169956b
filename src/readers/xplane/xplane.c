/* Reads what JAX's and TensorFlow's profiler writes (an XSpace, *.xplane.pb), one device at a time:
 * a device is a rank. */
#include "base/core/array.h"
#include "base/io/input_stream.h"
#include "base/io/mapped_input.h"
#include "base/io/progress.h"
#include "readers/reader.h"
#include "readers/xplane/xplane_hlo.h"
#include "readers/xplane/xplane_reading.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* No message of protobuf is longer than 2 GiB, and a file is one message. */
static const size_t bytes_max = (size_t)2 << 30;

/* ---- recognising ---------------------------------------------------------------------------- */

static bool is_printable(struct proto_bytes text)
{
    for (size_t i = 0; i < text.length; i++) {
        if ((unsigned char)text.at[i] < ' ')
            return false;
    }
    return text.length > 0;
}

/* The first fields of a plane: its id, or none, and its name, a text. A file without a
 * signature: a first plane with a printable name is what no other reader's file begins with. */
static bool begins_plane(struct proto_bytes message)
{
    struct proto_walk walk = proto_walk_of(message);
    struct proto_field field;

    if (!proto_next(&walk, &field))
        return false;
    if (proto_is(&field, 1, PROTO_VARINT) && !proto_next(&walk, &field))
        return false;
    return proto_is(&field, 2, PROTO_LENGTH) && !field.is_cut && is_printable(field.bytes);
}

static bool xplane_recognises(const char *head, size_t length)
{
    struct proto_walk walk = proto_walk_of((struct proto_bytes){head, length});
    struct proto_field field;

    return length > 4 && proto_next(&walk, &field) && proto_is(&field, 1, PROTO_LENGTH) &&
           begins_plane(field.bytes);
}

/* ---- the file ------------------------------------------------------------------------------- */

/* A plane's message, and which device it is of. */
struct found_plane {
    struct proto_bytes message;
    struct proto_bytes name;
    struct xplane_device device;
    bool is_device;
    bool has_work;
    bool has_streams;
    bool has_steps;
};

/* Zeroed is empty. */
struct found_planes {
    struct found_plane *planes; /* [count] */
    size_t count;
    struct string_pool names;     /* of the planes */
    uint32_t working;             /* devices that worked */
    struct proto_bytes host_name; /* where the file was written */
    const char *damaged_at;       /* NULL: nowhere */
    const char *second_at;        /* where a second space begins, not read; NULL: nowhere */
    bool is_cut;
};

/* A line's name stands before its events, the first of which is enough: they are most of the file,
 * and are walked over when they are read. */
static void look_at_line(struct found_plane *plane, struct xplane_reading *reading,
                         struct proto_bytes message)
{
    struct proto_walk walk = proto_walk_of(message);
    struct proto_bytes name = {NULL, 0};
    struct proto_field field;
    bool has_events = false;

    while (!(has_events && name.length) && xplane_next(reading, &walk, &field)) {
        if (proto_is(&field, 2, PROTO_LENGTH))
            name = field.bytes;
        has_events |= proto_is(&field, 4, PROTO_LENGTH);
    }
    plane->has_work |= has_events && (xplane_is_stream(name) || xplane_is_ops(name));
    plane->has_streams |= has_events && xplane_is_stream(name);
    plane->has_steps |= has_events && proto_text_is(name, "Steps");
}

/* Which planes worked, and how, is known before any is read: it decides which ranks there are. */
static void look_at_lines(struct found_plane *plane, const struct mapped_input *file)
{
    struct proto_walk walk = proto_walk_of(plane->message);
    struct xplane_reading reading = {.file = *file};
    struct proto_field field;

    while (proto_next(&walk, &field))
        if (proto_is(&field, 3, PROTO_LENGTH))
            look_at_line(plane, &reading, field.bytes);
}

/* The file is mapped and walked over, not parsed: planes are messages, and only their ends are
 * read. Sixteen bytes hold any key and length, so what fails within fewer is a cut. */
static void find_planes(struct found_planes *found, const struct mapped_input *file)
{
    struct proto_walk walk = proto_walk_of((struct proto_bytes){file->text, file->length});
    struct proto_field field = {.number = 0};

    while (proto_next(&walk, &field)) {
        struct found_plane plane = {.message = field.bytes};

        if (proto_is(&field, 4, PROTO_LENGTH))
            found->host_name = field.bytes;
        if (!proto_is(&field, 1, PROTO_LENGTH))
            continue;
        plane.name = xplane_name_of(plane.message);
        /* A space has each plane once: one more is of another space, behind it. */
        if (plane.name.length > 0 &&
            string_pool_find(&found->names, plane.name.at, plane.name.length) != UINT32_MAX) {
            found->second_at = plane.message.at;
            break;
        }
        string_pool_add(&found->names, plane.name.length ? plane.name.at : "", plane.name.length);
        plane.is_device = xplane_device_of(plane.name, &plane.device);
        if (plane.is_device)
            look_at_lines(&plane, file);
        found->working += plane.has_work;
        ARRAY_ADD(found->planes, found->count, plane);
    }
    found->damaged_at = walk.damaged_at;
    found->is_cut = walk.damaged_at && (field.is_cut || walk.end - walk.damaged_at < 16);
}

static void found_planes_clear(struct found_planes *found)
{
    string_pool_clear(&found->names);
    free(found->planes);
}

/* Each device that did work is a part. A stream that cannot be sought back is opened again by
 * its name: the caller's has been read from. */
static bool xplane_count_parts(uint32_t *count, const struct input_stream *input,
                               struct error *error)
{
    struct input_stream own = {0};
    struct found_planes found = {0};
    struct mapped_input file;
    bool is_open;

    *count = 1;
    if (!input_stream_can_seek(input) || input->compression != COMPRESSION_NONE) {
        if (!input_stream_open(&own, input->name, false, error))
            return false;
        own.unpacked = input->unpacked; /* to be read from there, for each device */
    } else {
        input_stream_open_at(&own, input, 0);
    }
    is_open = mapped_input_open(&file, &own, bytes_max, error);
    if (is_open) {
        find_planes(&found, &file);
        *count = found.working ? found.working : 1;
        is_open = reader_can_split(found.working, error);
        found_planes_clear(&found);
    }
    mapped_input_close(&file);
    input_stream_clear(&own);
    return is_open;
}

/* ---- what a plane says of a device ---------------------------------------------------------- */

static int32_t small_stat(const struct xplane_stats *stats, enum xplane_stat stat)
{
    int64_t number = xplane_number(stats, stat);

    return xplane_has(stats, stat) && number >= 0 && number <= INT32_MAX ? (int32_t)number : -1;
}

static void add_device(struct xplane_reading *reading, const struct xplane *plane,
                       const struct found_plane *found)
{
    const struct xplane_stats *stats = &plane->stats;
    struct device device = {
        .number = found->device.number,
        .name = xplane_string(reading, xplane_text(stats, XSTAT_DEVICE_NAME)),
        .memory_bytes =
            xplane_has(stats, XSTAT_MEMORY_BYTES) ? xplane_number(stats, XSTAT_MEMORY_BYTES) : -1,
        .compute_major = small_stat(stats, XSTAT_COMPUTE_MAJOR),
        .compute_minor = small_stat(stats, XSTAT_COMPUTE_MINOR),
        .entry = DEVICE_ENTRY_OWN,
        .multiprocessors = found->device.is_tpu ? -1 : small_stat(stats, XSTAT_CORES),
    };

    if (found->device.is_tpu) {
        if (!device.name)
            device.name = string_pool_add(&reading->builder.strings, "TPU", 3);
        device.compute_major = -1; /* the generation, which is no compute capability */
        device.compute_minor = -1;
    }
    if (proto_text_is(xplane_text(stats, XSTAT_VENDOR), "AMD"))
        reading->builder.facts.is_rocm = 1;
    trace_builder_add_device(&reading->builder, &device);
}

/* ---- reading -------------------------------------------------------------------------------- */

static bool is_environment(struct proto_bytes name)
{
    return proto_text_is(name, "Task Environment");
}

static bool is_host(struct proto_bytes name)
{
    return proto_text_begins(name, "/host:");
}

/* The plane of the environment tells when the profile began by the clock of the day; 0 stays
 * where none does. */
static void find_profile_start(struct xplane_reading *reading, const struct found_planes *found)
{
    for (size_t i = 0; i < found->count; i++) {
        struct xplane plane;

        if (!is_environment(found->planes[i].name))
            continue;
        xplane_open(&plane, found->planes[i].message);
        if (xplane_has(&plane.stats, XSTAT_PROFILE_START))
            reading->profile_start_ns = xplane_number(&plane.stats, XSTAT_PROFILE_START);
        xplane_clear(&plane);
    }
}

static void note_version(struct xplane_reading *reading, const struct xplane_stats *stats)
{
    struct proto_bytes version = xplane_text(stats, XSTAT_VERSION);

    if (version.length && version.length < sizeof reading->version)
        (void)snprintf(reading->version, sizeof reading->version, "%.*s", (int)version.length,
                       version.at);
}

/* The programs that ran, which stand in a plane of their own. */
static void read_programs(struct xplane_reading *reading, const struct found_planes *found)
{
    for (size_t i = 0; i < found->count; i++) {
        struct xplane plane;
        int64_t program;

        if (!proto_text_is(found->planes[i].name, "/host:metadata"))
            continue;
        xplane_open(&plane, found->planes[i].message);
        note_version(reading, &plane.stats);
        for (size_t m = 0; m < plane.metadata_count; m++) {
            const struct xplane_stats *stats = xplane_stats_of(&plane, &plane.metadata[m]);

            note_version(reading, stats);
            if (xplane_has(stats, XSTAT_HLO_PROTO) &&
                xplane_program_of(&plane.metadata[m], &program))
                hlo_programs_add(&reading->programs_run, program,
                                 xplane_text(stats, XSTAT_HLO_PROTO));
        }
        xplane_clear(&plane);
    }
}

/* Names the rank of a file with several devices that worked. */
static void number_device(struct xplane_reading *reading, const struct found_planes *found,
                          const struct found_plane *plane, uint32_t part)
{
    char name[160];
    int length;

    if (found->working < 2)
        return;
    reading->builder.facts.rank = part;
    reading->builder.facts.is_rank_by_order = true;
    length = snprintf(name, sizeof name,
                      "device %.*s (of %" PRIu32
                      " that worked; ranks are numbered in the order of their devices)",
                      (int)(plane->name.length < 32 ? plane->name.length : 32), plane->name.at,
                      found->working);
    reading->builder.facts.process =
        string_pool_add(&reading->builder.strings, name, (size_t)length);
}

/* The plane of the part: of the devices that worked, by their numbers; NULL where none did.
 * O(n^2) in planes, of which there are as many as devices. */
static const struct found_plane *plane_of_part(const struct found_planes *found, uint32_t part)
{
    const struct found_plane *chosen = NULL;

    for (size_t i = 0; i < found->count; i++) {
        const struct found_plane *plane = &found->planes[i];
        uint32_t before = 0;

        for (size_t j = 0; j < found->count && plane->has_work; j++) {
            const struct found_plane *other = &found->planes[j];

            before += other->has_work && (other->device.number < plane->device.number ||
                                          (other->device.number == plane->device.number && j < i));
        }
        if (plane->has_work && before == part)
            chosen = plane;
    }
    return chosen;
}

/* A plane that no report uses: its events. */
static void leave_plane(struct xplane_reading *reading, const struct found_plane *plane)
{
    struct proto_walk walk = proto_walk_of(plane->message);
    struct proto_field line, event;
    int64_t events = 0;
    char name[64];

    while (proto_next(&walk, &line)) {
        struct proto_walk lines = proto_walk_of(line.bytes);

        while (proto_is(&line, 3, PROTO_LENGTH) && proto_next(&lines, &event))
            events += proto_is(&event, 4, PROTO_LENGTH);
    }
    (void)snprintf(name, sizeof name, "plane %.*s",
                   (int)(plane->name.length < 50 ? plane->name.length : 50),
                   plane->name.length ? plane->name.at : "");
    if (events > 0)
        read_account_leave(&reading->builder.read, name, events);
}

/* Whether anything in the plane has a stat of that name: field 5 of XPlane, by id a XStatMetadata,
 * whose field 2 is the name. */
static bool names_stat(struct proto_bytes plane, const char *stat)
{
    struct proto_walk walk = proto_walk_of(plane);
    struct proto_field entry, metadata, field;

    while (proto_next(&walk, &entry)) {
        struct proto_walk members = proto_walk_of(entry.bytes);

        while (proto_is(&entry, 5, PROTO_LENGTH) && proto_next(&members, &metadata)) {
            struct proto_walk parts = proto_walk_of(metadata.bytes);

            while (proto_is(&metadata, 2, PROTO_LENGTH) && proto_next(&parts, &field))
                if (proto_is(&field, 2, PROTO_LENGTH) && proto_text_is(field.bytes, stat))
                    return true;
        }
    }
    return false;
}

static bool ops_are_of_work(const struct found_planes *found, const struct found_plane *device)
{
    bool is_known = !device || !device->has_streams || !names_stat(device->message, "hlo_op");

    for (size_t i = 0; i < found->count && !is_known; i++)
        is_known = is_host(found->planes[i].name) && names_stat(found->planes[i].message, "hlo_op");
    return !is_known;
}

/* A plane is opened for as long as it is read only: its tables of names are its own and go
 * with it. */
static void read_plane(struct xplane_reading *reading, const struct found_plane *found)
{
    struct xplane plane;

    xplane_open(&plane, found->message);
    if (reading->builder.sums_events)
        xplane_ask(&plane, XPLANE_SUMMED_STATS);
    if (found->is_device) {
        add_device(reading, &plane, found);
        xplane_read_device(reading, &plane, found->device.number, found->has_streams);
    } else {
        reading->runs_whole_programs =
            !reading->has_device && !names_stat(found->message, "hlo_op");
        xplane_read_host(reading, &plane);
    }
    xplane_clear(&plane);
}

/* Devices first: hosts are read by what ran there. Devices that did not work are read with rank
 * 0 alone where none did, so that their facts are told. */
static void read_planes(struct xplane_reading *reading, const struct found_planes *found,
                        const struct found_plane *device)
{
    for (size_t i = 0; i < found->count; i++) {
        const struct found_plane *plane = &found->planes[i];

        if (plane == device || (plane->is_device && !plane->has_work && !device))
            read_plane(reading, plane);
    }
    for (size_t i = 0; i < found->count; i++) {
        const struct found_plane *plane = &found->planes[i];

        if (is_host(plane->name) && !plane->is_device)
            read_plane(reading, plane);
        else if (!plane->is_device) /* else a rank of its own */
            leave_plane(reading, plane);
    }
}

/* A file that shrank while it was read is told first: whatever else looks damaged follows from
 * that. */
static void tell_of_end(struct xplane_reading *reading, const struct found_planes *found,
                        const struct input_stream *input)
{
    struct read_account *read = &reading->builder.read;
    long long at = found->damaged_at ? (long long)(found->damaged_at - reading->file.text) : 0;
    const struct found_plane *last = found->count ? &found->planes[found->count - 1] : NULL;
    struct damage damage = {.byte = at};

    if (reading->has_shrunk) {
        read->is_truncated = true;
        (void)snprintf(read->truncation, sizeof read->truncation,
                       "the file became shorter than %zu bytes while it was read",
                       reading->file.length);
    } else if (input->is_broken || (found->damaged_at && found->is_cut)) {
        read->is_truncated = true;
        if (input->is_broken)
            (void)snprintf(read->truncation, sizeof read->truncation, "%s", input->breakage);
        else
            (void)snprintf(read->truncation, sizeof read->truncation,
                           "the file ends at byte %zu, in the middle of the field that begins at "
                           "byte %lld%s%.*s",
                           reading->file.length, at, last && last->name.length ? ", plane " : "",
                           last ? (int)(last->name.length < 64 ? last->name.length : 64) : 0,
                           last ? last->name.at : "");
    } else if (found->damaged_at) {
        damage.length = (int64_t)reading->file.length - at;
        (void)snprintf(damage.message, sizeof damage.message,
                       "expected a plane or another field of an XSpace (protobuf)");
        trace_builder_damage(&reading->builder, &damage);
    }
    /* Told in addition: what follows a whole file does not make it less whole. */
    if (input->is_followed)
        read_account_set_ending(read, ENDING_FOLLOWED, input->breakage);
    if (found->second_at) {
        char message[128];

        (void)snprintf(message, sizeof message,
                       "a second XSpace stands behind the first: at byte %zd begins a plane that "
                       "is there already",
                       found->second_at - reading->file.text);
        read_account_set_ending(read, ENDING_FOLLOWED, message);
    }
}

/* An empty profile of JAX is most often one that was stopped before the asynchronous steps had
 * run; the message says how to wait. */
static bool has_content(const struct xplane_reading *reading, struct error *error)
{
    const struct read_account *read = &reading->builder.read;

    if (read->events > 0)
        return true;
    if (read_account_explains_nothing(read, error))
        return false;
    return error_set(error, ERROR_NO_DATA,
                     "no event in any plane of it: let the steps run between "
                     "jax.profiler.start_trace and stop_trace, and wait for their results "
                     "(block_until_ready)");
}

static void xplane_reading_clear(struct xplane_reading *reading)
{
    hash_map_clear(&reading->module_ids);
    free(reading->programs);
    hlo_programs_clear(&reading->programs_run);
    hash_map_clear(&reading->launches);
    free(reading->ops);
    free(reading->works);
}

/* Programs come before devices, as ops are named by them; hosts last, as what ran on the
 * device says which of their calls are its. */
static bool xplane_read_trace(struct trace *trace, struct input_stream *input,
                              const struct read_options *options, struct error *error)
{
    struct xplane_reading reading = {.next_operator = 0};
    struct found_planes found = {0};
    const struct found_plane *device;
    bool is_trace;

    input->progress = options->progress;
    if (!mapped_input_open(&reading.file, input, bytes_max, error)) {
        mapped_input_close(&reading.file);
        return false;
    }
    trace_builder_init(&reading.builder);
    reading.builder.sums_events = options->skips_details;
    string_pool_add(&reading.builder.strings, "", 0);
    find_planes(&found, &reading.file);
    find_profile_start(&reading, &found);
    read_programs(&reading, &found);
    device = plane_of_part(&found, options->part);
    reading.has_device = device != NULL;
    /* One host drives them all: its calls have to be told apart by what each device ran. */
    reading.is_one_of_several = found.working > 1;
    reading.has_device_steps = device && device->has_steps;
    reading.ops_are_of_work = ops_are_of_work(&found, device);
    /* Beyond the numbers of calls: a kernel whose two ids are equal is taken to know its call
     * alone. */
    if (reading.ops_are_of_work)
        reading.next_operator = 1 << 30;
    if (device)
        number_device(&reading, &found, device, options->part);
    reading.builder.facts.platform = PLATFORM_JAX;
    reading.builder.facts.hostname = xplane_string(&reading, found.host_name);
    read_planes(&reading, &found, device);
    /* Without the environment's plane the origin that was taken off the lines' times stands
     * for it. */
    reading.builder.facts.base_time_ns =
        reading.profile_start_ns > 0 ? reading.profile_start_ns : reading.origin_ns;
    tell_of_end(&reading, &found, input);
    reading.builder.read.text_bytes = (int64_t)reading.file.length;
    (void)snprintf(reading.builder.read.recorder, sizeof reading.builder.read.recorder,
                   "the profiler of XLA (XSpace), %s%s",
                   *reading.version ? "JAX " : "version not told", reading.version);
    is_trace =
        reader_has_all_parts(input, options, found.working, error) && has_content(&reading, error);
    if (is_trace)
        trace_finish(trace, &reading.builder, 1, options->threads);
    else
        trace_builder_clear(&reading.builder);
    xplane_reading_clear(&reading);
    found_planes_clear(&found);
    mapped_input_close(&reading.file);
    return is_trace;
}

const struct reader xplane_reader = {
    .name = "xplane",
    .summary = "an XSpace (*.xplane.pb) that the profiler of JAX or TensorFlow wrote",
    .recognises = xplane_recognises,
    .count_parts = xplane_count_parts,
    .read = xplane_read_trace,
};
