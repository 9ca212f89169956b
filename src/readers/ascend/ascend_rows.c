/* Events of Ascend's JSON that no category tells apart. */
#include "readers/ascend/ascend_rows.h"

#include "base/core/array.h"
#include "base/core/hash_map.h"
#include "base/core/hash_mix.h"
#include "base/core/large_array.h"
#include "base/core/packed_numbers.h"
#include "base/json/json_walk.h"
#include "base/text/prefix.h"
#include "readers/ascend/ascend_words.h"

#include <stdlib.h>
#include <string.h>

/* ---- what is kept --------------------------------------------------------------------------- */

/* What many rows have not: a bit tells which of these numbers are there. */
enum { RARE_NUMBERS = 9, ROW_FLAGS = 3, ROW_BYTES_MAX = 10 * (RARE_NUMBERS + 7) };

static const int64_t rare_nothing[RARE_NUMBERS] = {NO_ID, NO_ID, NO_ID, -1, -1, -1, 0, 0, 0};

/* Rows are put aside in pieces, so that what became events is given back while others are still
 * there: events take twice as much. */
struct ascend_rows_piece {
    uint32_t count;
    uint32_t length;
    unsigned char bytes[(256 << 10) - 8];
};

/* Its memory is taken by the page, as it is filled. */
static struct ascend_rows_piece *rows_piece_with_room(struct ascend_rows *rows)
{
    struct ascend_rows_piece *last =
        rows->piece_count > 0 ? rows->pieces[rows->piece_count - 1] : NULL;

    if (!last || last->length + ROW_BYTES_MAX > sizeof last->bytes) {
        last = large_array_in_memory(sizeof *last);
        last->count = last->length = 0;
        ARRAY_ADD(rows->pieces, rows->piece_count, last);
    }
    return last;
}

/* A row takes some 20 bytes so, and not 104: all of a file are kept until its end. */
static void pack_row(struct ascend_rows *rows, const struct ascend_row *row)
{
    const struct found_event *event = &row->event;
    const int64_t rare[RARE_NUMBERS] = {event->correlation, event->external_id, row->connection,
                                        row->stream,        row->task,          row->elements,
                                        event->detail,      row->type,          row->data_type};
    uint64_t flags =
        (uint64_t)row->is_task | (uint64_t)row->is_call << 1 | (uint64_t)row->has_args << 2;
    struct ascend_rows_piece *piece = rows_piece_with_room(rows);
    unsigned char *to;

    for (int i = 0; i < RARE_NUMBERS; i++)
        flags |= (uint64_t)(rare[i] != rare_nothing[i]) << (ROW_FLAGS + i);
    to = packed_number_put(piece->bytes + piece->length, flags);
    to = packed_number_put(to,
                           folded_sign((uint64_t)event->start_ns - (uint64_t)rows->last_start_ns));
    to = packed_number_put(to, (uint64_t)event->duration_ns);
    to = packed_number_put(to, event->name);
    to = packed_number_put(to, event->kind);
    to = packed_number_put(to, row->process);
    to = packed_number_put(to, row->thread);
    for (int i = 0; i < RARE_NUMBERS; i++)
        if (flags >> (ROW_FLAGS + i) & 1)
            to = packed_number_put(to, folded_sign((uint64_t)rare[i]));
    piece->length = (uint32_t)(to - piece->bytes);
    piece->count++;
    rows->last_start_ns = event->start_ns;
}

/* A walk over the rows, in their order. */
struct ascend_rows_walk {
    struct ascend_rows *rows; /* not owned */
    const unsigned char *at;
    uint32_t left;    /* of the piece before `next` */
    uint32_t next;    /* piece */
    int64_t start_ns; /* of the row before */
    bool is_last;     /* pieces are freed behind it */
};

static void free_rows_piece(struct ascend_rows *rows, uint32_t piece)
{
    if (rows->pieces[piece])
        large_array_give_back(rows->pieces[piece]);
    rows->pieces[piece] = NULL;
}

static bool next_rows_piece(struct ascend_rows_walk *walk)
{
    if (walk->is_last && walk->next > 0)
        free_rows_piece(walk->rows, walk->next - 1);
    if (walk->next == walk->rows->piece_count)
        return false;
    walk->at = walk->rows->pieces[walk->next]->bytes;
    walk->left = walk->rows->pieces[walk->next]->count;
    walk->next++;
    return true;
}

static bool next_ascend_row(struct ascend_rows_walk *walk, struct ascend_row *row)
{
    int64_t rare[RARE_NUMBERS];
    uint64_t flags;

    if (walk->left == 0 && !next_rows_piece(walk))
        return false;
    walk->left--;
    flags = packed_number(&walk->at);
    walk->start_ns = (int64_t)((uint64_t)walk->start_ns + unfolded_sign(packed_number(&walk->at)));
    row->event = (struct found_event){.start_ns = walk->start_ns};
    row->event.duration_ns = (int64_t)packed_number(&walk->at);
    row->event.name = (uint32_t)packed_number(&walk->at);
    row->event.kind = (uint8_t)packed_number(&walk->at);
    row->process = (uint32_t)packed_number(&walk->at);
    row->thread = (uint32_t)packed_number(&walk->at);
    for (int i = 0; i < RARE_NUMBERS; i++)
        rare[i] = flags >> (ROW_FLAGS + i) & 1 ? (int64_t)unfolded_sign(packed_number(&walk->at))
                                               : rare_nothing[i];
    row->event.correlation = rare[0];
    row->event.external_id = rare[1];
    row->connection = rare[2];
    row->stream = rare[3];
    row->task = rare[4];
    row->elements = rare[5];
    row->event.detail = (uint32_t)rare[6];
    row->type = (uint32_t)rare[7];
    row->data_type = (uint32_t)rare[8];
    row->is_task = flags & 1;
    row->is_call = flags >> 1 & 1;
    row->has_args = flags >> 2 & 1;
    return true;
}

/* Texts with escapes are none of the words that are looked for. */
static uint32_t row_string(struct trace_builder *builder, const struct json_slice *value)
{
    return value->is_string && !value->has_escapes
               ? string_pool_add(&builder->strings, value->text, value->length)
               : 0;
}

/* Keys of tasks begin with capitals, those of parts of collectives do not. */
static void read_arg(struct ascend_row *row, struct trace_builder *builder,
                     const struct json_slice *key, const struct json_slice *value)
{
    if (slice_is(key, "Task Type") || slice_is(key, "task type")) {
        row->type = row_string(builder, value);
        row->is_task = *key->text == 'T';
    } else if (slice_is(key, "connection_id")) {
        row->connection = json_walk_integer(value, NO_ID);
    } else if (slice_is(key, "Physic Stream Id") || slice_is(key, "stream id") ||
               (slice_is(key, "Stream Id") && row->stream < 0)) {
        row->stream = json_walk_integer(value, -1);
    } else if (slice_is(key, "Task Id") || slice_is(key, "task id")) {
        row->task = json_walk_integer(value, -1);
    } else if (slice_is(key, "data_type") || slice_is(key, "data type")) {
        row->data_type = row_string(builder, value);
    } else if (slice_is(key, "count")) {
        row->elements = json_walk_integer(value, -1);
    } else if (slice_is(key, "level") || slice_is(key, "Mode")) {
        row->is_call = true;
    }
}

/* Rows wait until the whole file was read: what a process is called may stand behind its
 * events. */
void ascend_rows_add(struct ascend_rows *rows, struct trace_builder *builder,
                     const struct ascend_row *row, const struct json_slice *args)
{
    struct ascend_row new = *row;
    struct json_slice key, value;

    new.connection = NO_ID;
    new.stream = new.task = new.elements = -1;
    if (args->length > 0) {
        struct json_walk walk = json_walk_begin(args, '{');

        while (json_walk_next(&walk, &key, &value)) {
            read_arg(&new, builder, &key, &value);
            new.has_args = true;
        }
    }
    pack_row(rows, &new);
}

void ascend_rows_add_flow(struct ascend_rows *rows, const struct ascend_flow *flow)
{
    ARRAY_ADD(rows->flows, rows->flow_count, *flow);
}

/* The device of a process is told by its label alone ("NPU 3"): the number of the process is
 * none of a device. */
void ascend_rows_add_label(struct ascend_rows *rows, uint32_t process,
                           const struct json_slice *args)
{
    struct json_walk walk = json_walk_begin(args, '{');
    struct json_slice key, value;

    while (json_walk_next(&walk, &key, &value)) {
        struct json_slice number = value;
        int64_t device;

        if (!slice_is(&key, "labels") || value.length < 5 || memcmp(value.text, "NPU ", 4) != 0)
            continue;
        number.text += 4;
        number.length -= 4;
        if (slice_integer(&number, &device) && device >= 0 && device < INT32_MAX)
            ARRAY_ADD(rows->labels, rows->label_count,
                      (struct ascend_label){process, (int32_t)device});
    }
}

/* `sample` has process and time. */
void ascend_rows_add_sample(struct ascend_rows *rows, struct trace_builder *builder,
                            const struct ascend_sample *sample, const struct json_slice *name,
                            const struct json_slice *args)
{
    struct ascend_sample new = *sample;

    if (args->length > 0 && ascend_sample_read(&new, builder, name, args))
        ARRAY_ADD(rows->samples, rows->sample_count, new);
}

void ascend_rows_clear(struct ascend_rows *rows)
{
    for (uint32_t i = 0; i < rows->piece_count; i++)
        free_rows_piece(rows, i);
    free(rows->pieces);
    free(rows->flows);
    free(rows->labels);
    free(rows->samples);
    *rows = (struct ascend_rows){0};
}

/* ---- what processes are --------------------------------------------------------------------- */

enum process_role {
    ROLE_UNKNOWN,
    ROLE_PYTHON,
    ROLE_CALLS,       /* of CANN */
    ROLE_DEVICE,      /* its tasks */
    ROLE_COLLECTIVES, /* and what they consist of */
    ROLE_ANALYSIS,    /* made of the others: nothing new */
};

static const struct {
    const char *name;
    enum process_role role;
} process_names[] = {
    {"Python", ROLE_PYTHON},
    {"CANN", ROLE_CALLS},
    {"Ascend Hardware", ROLE_DEVICE},
    {"Task Scheduler", ROLE_DEVICE},
    {"HCCL", ROLE_COLLECTIVES},
    {"Communication", ROLE_COLLECTIVES},
    {"Overlap Analysis", ROLE_ANALYSIS},
};

/* What all builders of a file say of processes and threads. */
struct ascend_names {
    struct string_pool texts;  /* pids, and pids with tids */
    struct hash_map roles;     /* text of a pid: enum process_role */
    struct hash_map threads;   /* text of a pid and a tid: name of the thread in `texts` */
    struct hash_map devices;   /* text of a pid: device */
    struct hash_map transfers; /* hash of a part of a collective as a task: 1 */
    uint32_t python;           /* the pid of the one process of Python; 0: none, or several */
    bool has_python;
    bool has_collectives; /* a process of them: no row alone tells it */
    bool is_ascend;
};

static uint32_t names_text(struct ascend_names *names, const struct trace_builder *builder,
                           uint32_t string)
{
    return string_pool_add(&names->texts, string_pool_text(&builder->strings, string),
                           string_pool_length(&builder->strings, string));
}

static uint64_t thread_key(struct ascend_names *names, const struct trace_builder *builder,
                           uint32_t process, uint32_t thread)
{
    return pair_key(names_text(names, builder, process), names_text(names, builder, thread));
}

/* Several processes called Python leave it open whose threads CANN's calls are of. */
static void names_take_process(struct ascend_names *names, uint32_t process, const char *name)
{
    for (size_t i = 0; i < sizeof process_names / sizeof *process_names; i++) {
        enum process_role role = process_names[i].role;

        if (strcmp(process_names[i].name, name) != 0)
            continue;
        (void)hash_map_set(&names->roles, process, role);
        names->is_ascend |= role == ROLE_DEVICE || role == ROLE_CALLS;
        names->has_collectives |= role == ROLE_COLLECTIVES;
        if (role == ROLE_PYTHON) {
            names->python = names->has_python && names->python != process ? 0 : process;
            names->has_python = true;
        }
    }
}

/* A file is Ascend's where a process says so, or a row has a task with a stream; else its rows
 * stay what the other reader made of them. */
static void names_take(struct ascend_names *names, const struct trace_builder *builder,
                       struct ascend_rows *rows)
{
    struct ascend_rows_walk walk = {.rows = rows};
    struct ascend_row row;

    for (uint32_t i = 0; i < builder->name_count; i++) {
        const struct given_name *given = &builder->names[i];

        if (given->is_thread)
            (void)hash_map_set(&names->threads,
                               thread_key(names, builder, given->process, given->thread),
                               names_text(names, builder, given->name));
        else
            names_take_process(names, names_text(names, builder, given->process),
                               string_pool_text(&builder->strings, given->name));
    }
    for (uint32_t i = 0; i < rows->label_count; i++)
        (void)hash_map_set(&names->devices, names_text(names, builder, rows->labels[i].process),
                           (uint32_t)rows->labels[i].device);
    while (!names->is_ascend && next_ascend_row(&walk, &row))
        names->is_ascend = row.is_task && row.stream >= 0;
}

/* What a row is: by the name of its process, else by its args. */
static enum process_role row_role(struct ascend_names *names, const struct trace_builder *builder,
                                  const struct ascend_row *row)
{
    static const char *const analysis[] = {"Computing", "Communication",
                                           "Communication(Not Overlapped)", "Free"};
    uint32_t role = hash_map_find(&names->roles, names_text(names, builder, row->process));
    const char *name = string_pool_text(&builder->strings, row->event.name);

    if (role != NO_VALUE && role != ROLE_PYTHON)
        return (enum process_role)role;
    if (row->is_task)
        return ROLE_DEVICE;
    if (row->is_call)
        return ROLE_CALLS;
    for (size_t i = 0; i < sizeof analysis / sizeof *analysis; i++)
        if (!row->has_args && role == NO_VALUE && strcmp(name, analysis[i]) == 0)
            return ROLE_ANALYSIS;
    return ROLE_UNKNOWN;
}

/* The whole of a collective, not one of its parts: these lie on threads called "Plane". */
static bool is_whole_collective(struct ascend_names *names, const struct trace_builder *builder,
                                const struct ascend_row *row)
{
    uint32_t thread =
        hash_map_find(&names->threads, thread_key(names, builder, row->process, row->thread));

    if (thread != NO_VALUE)
        return strstr(string_pool_text(&names->texts, thread), "Communication") != NULL;
    return has_prefix(string_pool_text(&builder->strings, row->event.name), "hcom_");
}

/* The same for a part of a collective and for the task of the device that it is. By stream, task
 * and start: a part of a collective is in the file twice, as a part and as a task of the device,
 * and must not count as two. */
static uint64_t transfer_key(const struct ascend_row *row)
{
    uint64_t hash = hash_mix((uint64_t)row->stream, HASH_MULTIPLIER);

    hash = hash_mix(hash ^ (uint64_t)row->task, HASH_MULTIPLIER);
    return hash_mix(hash ^ (uint64_t)row->event.start_ns, HASH_MULTIPLIER);
}

/* The same for a collective and for all that is launched with it. */
static uint64_t ascend_launch_key(const struct ascend_row *row)
{
    return hash_mix((uint64_t)row->connection, ~HASH_MULTIPLIER);
}

/* A part of a collective is listed twice, among its group's rows and as a task of a stream.
 * Noted here, so that the second is not counted again; low levels of recording list it as a task
 * alone, which the launch joins with its collective. */
static void names_take_transfers(struct ascend_names *names, const struct trace_builder *builder,
                                 struct ascend_rows *rows)
{
    struct ascend_rows_walk walk = {.rows = rows};
    struct ascend_row row;

    while (next_ascend_row(&walk, &row)) {
        bool is_part = row.task >= 0 && row.stream >= 0 && !row.is_task;

        if ((!is_part && row.connection <= 0) || row_role(names, builder, &row) != ROLE_COLLECTIVES)
            continue;
        if (is_part && !is_whole_collective(names, builder, &row))
            (void)hash_map_set(&names->transfers, transfer_key(&row), 1);
        if (row.connection > 0 && is_whole_collective(names, builder, &row))
            (void)hash_map_set(&names->transfers, ascend_launch_key(&row), 1);
    }
}

static void names_clear(struct ascend_names *names)
{
    string_pool_clear(&names->texts);
    hash_map_clear(&names->roles);
    hash_map_clear(&names->threads);
    hash_map_clear(&names->devices);
    hash_map_clear(&names->transfers);
}

/* ---- rows become events --------------------------------------------------------------------- */

/* A row on its way into its builder. */
struct ascend_placing {
    struct ascend_names *names;
    struct trace_builder *builder;
    const struct ascend_row *row;
    struct found_event event;
    const char *category;
    struct ascend_words words; /* of the builder */
};

/* "NPU 3" of the process; of old files the end of the pid: "2_3"; else 0: a file has one device. */
static int32_t device_of_process(struct ascend_names *names, const struct trace_builder *builder,
                                 uint32_t pid)
{
    uint32_t process = names_text(names, builder, pid);
    uint32_t device = hash_map_find(&names->devices, process);
    const char *low = strchr(string_pool_text(&names->texts, process), '_');

    if (device != NO_VALUE)
        return (int32_t)device;
    return low && low[1] >= '0' && low[1] <= '9' && !low[2] ? low[1] - '0' : 0;
}

/* The device follows from the process, as the rows of this JSON have no number of one; on the
 * host there is none. */
static uint32_t placing_track(struct ascend_placing *placing, bool is_device, int64_t stream)
{
    const struct track_key key = {
        .process = placing->row->process,
        .thread = placing->row->thread,
        .is_device = is_device,
        .device = is_device
                      ? device_of_process(placing->names, placing->builder, placing->row->process)
                      : -1,
        .stream = stream,
    };

    return trace_builder_track(placing->builder, &key);
}

/* Where a row does not say its stream, the thread's name is its number in Ascend's own rows. */
static int64_t stream_number(const struct ascend_placing *placing)
{
    const char *thread = string_pool_text(&placing->builder->strings, placing->row->thread);
    char *end;
    long long number = strtoll(thread, &end, 10);

    if (placing->row->stream >= 0)
        return placing->row->stream;
    return *thread && !*end && number >= 0 ? number : -1;
}

/* A task without a type only names what ran: an annotation, no work. */
static void place_task(struct ascend_placing *placing)
{
    const struct ascend_row *row = placing->row;
    const struct string_pool *strings = &placing->builder->strings;

    placing->category = row->type ? string_pool_text(strings, row->type) : "Ascend Hardware";
    placing->event.kind =
        (uint8_t)(row->type ? ascend_task_kind(&placing->words, strings, row->type, row->event.name)
                            : EVENT_DEVICE_ANNOTATION);
    if (hash_map_find(&placing->names->transfers, transfer_key(row)) != NO_VALUE ||
        hash_map_find(&placing->names->transfers, ascend_launch_key(row)) != NO_VALUE)
        placing->event.kind = EVENT_DEVICE_OTHER; /* its collective is the work */
    if (placing->event.kind == EVENT_KERNEL)
        placing->event.detail =
            ascend_task_detail(&placing->words, placing->builder, row->type, -1);
    placing->event.correlation = row->connection;
    placing->event.track = placing_track(placing, true, stream_number(placing));
}

/* The whole collective is the kernel; its parts are shown, and are no work of their own. */
static void place_collective(struct ascend_placing *placing)
{
    const struct ascend_row *row = placing->row;
    struct string_pool *strings = &placing->builder->strings;
    struct event_detail detail = event_detail_none();

    placing->category = "HCCL";
    placing->event.track = placing_track(placing, true, -1);
    placing->event.kind = EVENT_DEVICE_OTHER;
    if (!is_whole_collective(placing->names, placing->builder, row))
        return;
    detail.collective_name =
        ascend_collective_name(strings, string_pool_text(strings, row->event.name));
    detail.element_type = ascend_element_type(strings, string_pool_text(strings, row->data_type));
    detail.in_elements = row->elements;
    placing->event.kind = EVENT_KERNEL;
    placing->event.name = ascend_kernel_name(strings, string_pool_text(strings, row->event.name));
    placing->event.correlation = row->connection;
    placing->event.detail = trace_builder_detail(placing->builder, &detail);
}

/* A thread of CANN is one of Python's process, where there is one: the same threads call both. */
static uint32_t process_of_calls(const struct ascend_names *names, struct trace_builder *builder,
                                 uint32_t process)
{
    return names->python
               ? string_pool_add(&builder->strings, string_pool_text(&names->texts, names->python),
                                 string_pool_length(&names->texts, names->python))
               : process;
}

static void place_call(struct ascend_placing *placing)
{
    struct track_key key = {.thread = placing->row->thread, .device = -1, .stream = -1};

    key.process = process_of_calls(placing->names, placing->builder, placing->row->process);
    placing->category = "CANN";
    placing->event.kind = EVENT_RUNTIME_CALL;
    placing->event.correlation = placing->row->connection;
    placing->event.track = trace_builder_track(placing->builder, &key);
}

/* Rows of Python, and unknown ones, keep what torch.profiler's reader made of them; ids and
 * arguments of all others are Ascend's own, and set by each kind. */
static void place_row(struct ascend_placing *placing)
{
    const struct ascend_row *row = placing->row;
    struct trace_builder *builder = placing->builder;
    uint32_t category = 0;

    enum process_role role =
        placing->names->is_ascend ? row_role(placing->names, builder, row) : ROLE_UNKNOWN;

    placing->event = row->event;
    placing->category = NULL;
    if (role != ROLE_UNKNOWN && role != ROLE_PYTHON) {
        placing->event.correlation = placing->event.external_id = NO_ID;
        placing->event.detail = 0;
    }
    switch (role) {
    case ROLE_DEVICE:
        place_task(placing);
        break;
    case ROLE_COLLECTIVES:
        place_collective(placing);
        break;
    case ROLE_CALLS:
        place_call(placing);
        break;
    /* The analysis repeats what the device's rows tell: kept to be seen, and no kernel. */
    case ROLE_ANALYSIS:
        placing->category = "Overlap Analysis";
        placing->event.kind = EVENT_DEVICE_OTHER;
        placing->event.track = placing_track(placing, true, -1);
        break;
    case ROLE_PYTHON:
    case ROLE_UNKNOWN:
        placing->event.track = placing_track(placing, false, -1);
        break;
    }
    if (placing->category)
        category = string_pool_add(&builder->strings, placing->category, strlen(placing->category));
    trace_builder_add(builder, &placing->event);
    trace_builder_count(builder, category, 'X', row->event.start_ns,
                        found_event_end_ns(&row->event));
}

/* Names of all builders first, then transfers, which need them, then the rows: three passes
 * over rows, which are few beside the text that they come from. */
void ascend_rows_finish(struct ascend_rows *rows, struct trace_builder *builders, unsigned count)
{
    struct ascend_names names = {0};

    string_pool_add(&names.texts, "", 0);
    for (unsigned b = 0; b < count; b++)
        names_take(&names, &builders[b], &rows[b]);
    for (unsigned b = 0; b < count && names.is_ascend && names.has_collectives; b++)
        names_take_transfers(&names, &builders[b], &rows[b]);
    for (unsigned b = 0; b < count; b++) {
        struct ascend_row row;
        struct ascend_placing placing = {.names = &names, .builder = &builders[b], .row = &row};
        struct ascend_rows_walk walk = {.rows = &rows[b], .is_last = true};

        while (next_ascend_row(&walk, &row))
            place_row(&placing);
        for (uint32_t i = 0; i < rows[b].sample_count && names.is_ascend; i++)
            ascend_sample_place(
                &builders[b], &rows[b].samples[i],
                device_of_process(&names, &builders[b], rows[b].samples[i].process));
        for (uint32_t i = 0; i < rows[b].flow_count; i++)
            if (rows[b].flows[i].is_launch && !rows[b].flows[i].is_end)
                rows[b].flows[i].process =
                    process_of_calls(&names, &builders[b], rows[b].flows[i].process);
        ascend_words_clear(&placing.words);
        rows[b].piece_count = 0;
    }
    if (names.is_ascend && count > 0)
        builders[0].facts.platform = PLATFORM_NPU;
    names_clear(&names);
}
