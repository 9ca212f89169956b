/* Reads the JSON that rocprofv3 writes: a list of processes, each with what names its records, and
 * then the records, array by array. A process is a rank. */
#include "base/core/invariant.h"
#include "base/io/input_rest.h"
#include "base/json/json_walk.h"
#include "base/json/json_window.h"
#include "readers/reader.h"
#include "readers/rocprof/rocprof_reading.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The one key of the outermost object. */
static const char list_key[] = "rocprofiler-sdk-tool";

/* What follows the members that are looked for: the text is read on there. */
enum json_progress {
    GOES_ON,
    STOPS, /* the text ends, or nothing more of it can be made out */
};

struct rocprof_json {
    struct json_window window;
    struct rocprof_run run;
    unsigned depth;         /* of open objects; the process is 1 */
    unsigned strings_depth; /* of the object "strings"; 0: it is not open */
    unsigned records_depth; /* likewise of the object whose arrays hold records */
    bool is_in_records;     /* what is damaged lies in an array of records */
    bool sums_events;       /* see trace_builder */
};

/* ---- what names records --------------------------------------------------------------------- */

/* Each reads one element of an array, complete in memory; `index` is its place. */
typedef void element_reader(struct rocprof_run *run, const struct json_slice *element,
                            uint32_t index);

static void read_metadata(struct rocprof_run *run, const struct json_slice *metadata)
{
    struct json_slice node;
    struct json_slice hostname;

    run->pid = rocprof_json_integer(metadata, "pid", -1);
    if (rocprof_json_member(metadata, "node", &node) &&
        rocprof_json_member(&node, "hostname", &hostname) && hostname.is_string)
        run->builder.facts.hostname = rocprof_json_string(run, &hostname);
}

static void rocprof_json_read_agent(struct rocprof_run *run, const struct json_slice *agent,
                                    uint32_t index)
{
    struct device device;
    struct json_slice id;

    rocprof_run_read_device(run, agent, index, &device);
    if (rocprof_json_member(agent, "id", &id))
        rocprof_run_add_agent(run, rocprof_json_integer(&id, "handle", -1), &device);
}

/* The most readable name first. */
static void read_kernel_symbol(struct rocprof_run *run, const struct json_slice *symbol,
                               uint32_t index)
{
    static const char *const keys[] = {"formatted_kernel_name", "demangled_kernel_name",
                                       "kernel_name"};
    struct rocprof_kernel kernel = {.id = rocprof_json_integer(symbol, "kernel_id", index)};
    int64_t registers =
        (int64_t)rocprof_run_small(rocprof_json_integer(symbol, "arch_vgpr_count", 0)) +
        rocprof_run_small(rocprof_json_integer(symbol, "accum_vgpr_count", 0));
    struct json_slice name;

    kernel.registers = registers > 0 ? rocprof_run_small(registers) : -1;
    for (size_t i = 0; i < sizeof keys / sizeof *keys && !kernel.name; i++)
        if (rocprof_json_member(symbol, keys[i], &name) && name.is_string && name.length > 0)
            kernel.name = rocprof_json_string(run, &name);
    rocprof_run_name_kernel(run, &kernel);
}

/* {"kind": "HIP_RUNTIME_API", "operations": ["hipInit", ...]}: its place is the number of the kind,
 * and that of a name the number of the operation. */
static void read_kind(struct rocprof_run *run, const struct json_slice *kind, uint32_t index)
{
    struct json_slice operations;
    struct json_walk walk;
    struct json_slice name;
    int64_t number = 0;

    if (!rocprof_json_member(kind, "operations", &operations))
        return;
    walk = json_walk_begin(&operations, '[');
    for (; json_walk_next(&walk, &name, &name); number++) {
        const struct rocprof_operation operation = {index, number, rocprof_json_string(run, &name)};

        if (name.is_string && name.length > 0)
            rocprof_run_name_operation(run, &operation);
    }
}

/* {"key": 12, "value": "forward"}: the text of the marker whose correlation is the key. */
static void rocprof_json_read_message(struct rocprof_run *run, const struct json_slice *message,
                                      uint32_t index)
{
    struct json_slice value;

    (void)index;
    if (rocprof_json_member(message, "value", &value) && value.is_string)
        rocprof_run_name_marker(run, rocprof_json_integer(message, "key", -1),
                                rocprof_json_string(run, &value));
}

/* ---- what is damaged ------------------------------------------------------------------------ */

/* The text ends in the middle of `what`. */
static void note_cut(struct rocprof_json *json, const char *what)
{
    const struct json_window *window = &json->window;
    struct read_account *read = &json->run.builder.read;

    if (read->is_truncated)
        return;
    read->is_truncated = true;
    if (window->is_too_long)
        (void)snprintf(read->truncation, sizeof read->truncation,
                       "what begins at byte %" PRId64 ", in %s, is longer than %d MiB, and is not "
                       "read",
                       json_window_byte(window, window->at), what, JSON_VALUE_BYTES_MAX >> 20);
    else if (window->input->is_broken)
        (void)snprintf(read->truncation, sizeof read->truncation, "%s", window->input->breakage);
    else
        (void)snprintf(read->truncation, sizeof read->truncation,
                       "the text ends at byte %" PRId64 " in the middle of %s",
                       json_window_byte(window, window->scan.limit), what);
}

/* The text is malformed: reads on where records may go on. From one byte further on, so that it
 * always advances; among records the next record is looked for, elsewhere the kernels, which are
 * what matters. */
static enum json_progress rocprof_json_skip_damage(struct rocprof_json *json)
{
    struct json_window *window = &json->window;
    const int64_t start = json_window_byte(window, window->at);
    struct damage damage = {.byte = json_window_byte(window, window->scan.failed_at)};
    bool is_found;

    (void)snprintf(damage.message, sizeof damage.message, "expected %s", window->scan.expected);
    if (window->at < window->scan.limit)
        window->at++;
    is_found = json->is_in_records ? rocprof_record_find(window)
                                   : json_window_find(window, "\"kernel_dispatch\"");
    damage.length = json_window_byte(window, window->at) - start;
    trace_builder_damage(&json->run.builder, &damage);
    return is_found ? GOES_ON : STOPS;
}

/* After a function of json_window.h has failed. */
static enum json_progress rocprof_json_recover(struct rocprof_json *json, const char *what)
{
    if (!scan_is_incomplete(&json->window.scan) && !json->window.is_too_long)
        return rocprof_json_skip_damage(json);
    note_cut(json, what);
    return STOPS;
}

/* ---- arrays --------------------------------------------------------------------------------- */

/* From '[' to behind ']'. Elements are whole in memory: they are few and short, unlike records. */
static enum json_progress read_elements(struct rocprof_json *json, element_reader *read_element)
{
    struct json_window *window = &json->window;
    struct json_slice element;
    uint32_t index = 0;

    window->at++;
    for (;;) {
        char c = json_window_peek(window);

        if (c == ',') {
            window->at++;
        } else if (c == ']') {
            window->at++;
            return GOES_ON;
        } else if (!json_window_value(window, &element)) {
            return rocprof_json_recover(json, "what names the records");
        } else {
            read_element(&json->run, &element, index++);
        }
    }
}

/* {"counter_id": {"handle": 7}, "value": 64.0}, one for each part of the device that counts. The
 * kernel's number is its place in the array, which counts on also for those without a time, so
 * that numbers stay those of the file. */
static void read_counts(struct rocprof_run *run, const struct rocprof_record *record)
{
    const uint32_t needed = (uint32_t)1 << ROCPROF_START | (uint32_t)1 << ROCPROF_AGENT;
    struct json_walk walk = json_walk_begin(&record->counters, '[');
    struct rocprof_count count = {.kernel = run->counted_kernels++,
                                  .agent = record->values[ROCPROF_AGENT],
                                  .time_ns = record->values[ROCPROF_START]};
    struct json_slice entry, id, value;

    while ((record->has & needed) == needed && json_walk_next(&walk, &entry, &entry)) {
        if (!rocprof_json_member(&entry, "counter_id", &id) ||
            !rocprof_json_member(&entry, "value", &value))
            continue;
        count.counter = rocprof_json_integer(&id, "handle", -1);
        if (!slice_fraction(&value, &count.value))
            count.value = NAN;
        rocprof_run_count(run, &count);
    }
}

static void read_counter_name(struct rocprof_run *run, const struct json_slice *counter,
                              uint32_t index)
{
    struct json_slice id, name;

    (void)index;
    if (rocprof_json_member(counter, "id", &id) && rocprof_json_member(counter, "name", &name) &&
        name.is_string && name.length > 0)
        rocprof_run_name_counter(run, rocprof_json_integer(&id, "handle", -1),
                                 rocprof_json_string(run, &name));
}

/* From '[' to behind ']', or to a key where what was damaged made the array's end unclear. A
 * record that is not whole in memory is scanned again when more text is there: it costs a second
 * look at one record per window, and no state in the scan. */
static enum json_progress rocprof_json_read_records(struct rocprof_json *json,
                                                    enum rocprof_content content)
{
    struct json_window *window = &json->window;
    struct rocprof_record record;

    window->at++;
    json->is_in_records = true;
    for (;;) {
        char c = json_window_peek(window);
        const char *behind;

        if (c == ',') {
            window->at++;
            continue;
        }
        /* A key means that the array ended in what was damaged: the caller goes on with it. */
        if (c == ']' || c == '"') {
            window->at += c == ']';
            json->is_in_records = false;
            return GOES_ON;
        }
        record.has = 0;
        /* Only what is asked for is set back: records are millions, and the rest is guarded by
         * `has`. */
        record.counters.length = 0;
        behind = rocprof_record_scan(&window->scan, window->at, &record);
        if (behind) {
            window->at = behind;
            rocprof_run_add(&json->run, content, &record);
            if (record.counters.length > 0)
                read_counts(&json->run, &record);
        } else if (scan_is_incomplete(&window->scan) && json_window_grow(window)) {
            continue;
        } else if (rocprof_json_recover(json, "the records") == STOPS) {
            return STOPS;
        }
    }
}

/* ---- objects -------------------------------------------------------------------------------- */

/* What a member of a process is. Objects are gone into: no key of theirs means anything else
 * elsewhere, so that a file whose braces are damaged is still read. */
struct rocprof_member {
    const char *key;
    element_reader *read; /* the elements; NULL: records, or the members of an object */
    enum rocprof_content content;
    char bracket; /* the value begins so; else it is skipped */
};

static const struct rocprof_member members[] = {
    {"agents", rocprof_json_read_agent, ROCPROF_UNUSED, '['},
    {"kernel_symbols", read_kernel_symbol, ROCPROF_UNUSED, '['},
    {"counters", read_counter_name, ROCPROF_UNUSED, '['},
    {"strings", NULL, ROCPROF_UNUSED, '{'},
    {"buffer_records", NULL, ROCPROF_UNUSED, '{'},
    {"buffer_records", read_kind, ROCPROF_UNUSED, '['}, /* in strings */
    {"marker_api", NULL, ROCPROF_MARKERS, '['},
    {"callback_records", NULL, ROCPROF_UNUSED, '{'},
    {"counter_collection", NULL, ROCPROF_COUNTED_KERNELS, '['},
    {"kernel_dispatch", NULL, ROCPROF_KERNELS, '['},
    {"memory_copy", NULL, ROCPROF_COPIES, '['},
    {"hip_api", NULL, ROCPROF_CALLS, '['},
    {"hsa_api", NULL, ROCPROF_CALLS, '['},
    {"rccl_api", NULL, ROCPROF_CALLS, '['},
    {"memory_allocation", NULL, ROCPROF_UNUSED, '['},
    {"scratch_memory", NULL, ROCPROF_UNUSED, '['},
    {"rocdecode_api", NULL, ROCPROF_UNUSED, '['},
    {"rocjpeg_api", NULL, ROCPROF_UNUSED, '['},
    {"pc_sample_host_trap", NULL, ROCPROF_UNUSED, '['},
    {"pc_sample_stochastic", NULL, ROCPROF_UNUSED, '['},
};

static const struct rocprof_member *rocprof_json_find_member(const struct json_slice *key,
                                                             char bracket)
{
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (members[i].bracket == bracket && slice_is(key, members[i].key))
            return &members[i];
    return NULL;
}

/* The value of a member; the window stands at it. */
static enum json_progress read_member_value(struct rocprof_json *json, const char *key,
                                            const struct rocprof_member *member)
{
    struct json_window *window = &json->window;

    if (strcmp(key, "marker_api") == 0 && json->strings_depth > 0)
        return read_elements(json, rocprof_json_read_message);
    if (member->read)
        return read_elements(json, member->read);
    if (member->bracket == '[') {
        rocprof_run_set_category(&json->run, key);
        return rocprof_json_read_records(json, member->content);
    }
    window->at++;
    json->depth++;
    if (strcmp(key, "strings") == 0)
        json->strings_depth = json->depth;
    else
        json->records_depth = json->depth;
    return GOES_ON;
}

/* Records of a kind that later versions have added are counted, and their array is named. */
static enum json_progress read_unknown_records(struct rocprof_json *json,
                                               const struct json_slice *key)
{
    char name[64];

    (void)snprintf(name, sizeof name, "%.*s", key->length < 63 ? (int)key->length : 63, key->text);
    rocprof_run_set_category(&json->run, name);
    return rocprof_json_read_records(json, ROCPROF_UNUSED);
}

static enum json_progress read_member(struct rocprof_json *json)
{
    struct json_window *window = &json->window;
    const struct rocprof_member *member;
    struct json_slice key;
    struct json_slice metadata;

    if (!json_window_key(window, &key))
        return rocprof_json_recover(json, "a process");
    if (slice_is(&key, "metadata")) {
        if (!json_window_value(window, &metadata))
            return rocprof_json_recover(json, "what the process is");
        read_metadata(&json->run, &metadata);
        return GOES_ON;
    }
    member = rocprof_json_find_member(&key, *window->at); /* json_window_key has seen what follows
                                                           */
    if (member)
        return read_member_value(json, member->key, member);
    if (json->records_depth > 0 && json->depth == json->records_depth && *window->at == '[')
        return read_unknown_records(json, &key);
    return json_window_skip(window) ? GOES_ON : rocprof_json_recover(json, "a process");
}

/* From '{' to behind '}'. Depth is counted, not recursed. After damage it is set to that of the
 * arrays of records, as which braces were lost cannot be known. */
static enum json_progress read_process(struct rocprof_json *json)
{
    struct json_window *window = &json->window;
    enum json_progress progress = GOES_ON;
    int64_t damages = 0;

    json->depth = 1;
    json->strings_depth = json->records_depth = 0;
    window->at++;
    while (progress == GOES_ON && json->depth > 0) {
        char c = json_window_peek(window);

        if (c == ',' || c == '}') {
            window->at++;
            if (c == '}' && json->depth == json->strings_depth)
                json->strings_depth = 0;
            if (c == '}' && json->depth-- == json->records_depth)
                json->records_depth = 0;
        } else if (window->at >= window->scan.limit) {
            note_cut(json, "a process");
            return STOPS;
        } else if (c == '"') {
            progress = read_member(json);
        } else {
            scan_fail(&window->scan, window->at, "a key of a process");
            progress = rocprof_json_skip_damage(json);
        }
        if (json->run.builder.read.damaged_events > damages) { /* among the arrays of records */
            damages = json->run.builder.read.damaged_events;
            json->depth = json->records_depth = 2;
            json->strings_depth = 0;
        }
    }
    return progress;
}

/* ---- the file ------------------------------------------------------------------------------- */

/* The key must stand in the head with its colon: the words alone may stand in a text of any
 * file. */
static bool rocprof_json_recognises(const char *head, size_t length)
{
    const char *end = head + length;
    const char *found = memmem(head, length, list_key, sizeof list_key - 1);

    if (length >= 3 && memcmp(head, "\xef\xbb\xbf", 3) == 0)
        head += 3;
    while (head < end && (unsigned char)*head <= ' ')
        head++;
    if (head == end || *head != '{' || !found || found == head || found[-1] != '"')
        return false;
    found += sizeof list_key - 1;
    if (found < end && *found == '"')
        found++;
    while (found < end && (unsigned char)*found <= ' ')
        found++;
    return found < end && *found == ':';
}

/* Goes to behind the '[' of the list of processes. */
static bool find_list(struct rocprof_json *json)
{
    struct json_window *window = &json->window;
    struct json_slice key;

    return json_window_find(window, "\"rocprofiler-sdk-tool\"") && json_window_key(window, &key) &&
           json_window_peek(window) == '[' && window->at++;
}

/* Which process is wanted. */
struct rocprof_choice {
    uint32_t part;  /* of those with device work, from 0 */
    uint32_t count; /* of those with device work that were read */
    bool is_found;
    bool counts_all; /* the count is to be that of the whole file */
    bool ends_there; /* what follows the process is read with another one */
};

/* Reads a process into json->run, where the wanted one stays. The first of those in which anything
 * was recorded, though no device work, is kept in `other`. */
static enum json_progress read_next_process(struct rocprof_json *json,
                                            struct rocprof_choice *choice,
                                            struct rocprof_run *other)
{
    enum json_progress progress;

    rocprof_run_clear(&json->run);
    rocprof_run_init(&json->run, json->sums_events);
    progress = read_process(json);
    if (rocprof_run_has_device_work(&json->run)) {
        choice->is_found = choice->count++ == choice->part;
    } else if (json->run.builder.read.events > 0 && other->builder.read.events == 0) {
        *other = json->run;
        json->run = (struct rocprof_run){0};
    }
    return progress;
}

/* Reads a process that is not wanted, only to know whether it is a rank, too. */
static enum json_progress count_next_process(struct rocprof_json *json,
                                             struct rocprof_choice *choice)
{
    struct rocprof_run found = json->run;
    enum json_progress progress;

    rocprof_run_init(&json->run, json->sums_events);
    progress = read_process(json);
    choice->count += rocprof_run_has_device_work(&json->run);
    rocprof_run_clear(&json->run);
    json->run = found;
    if (progress != GOES_ON)
        note_cut(json, "a process");
    return progress;
}

/* What follows is for those who read other parts. */
static bool rocprof_choice_is_made(const struct rocprof_choice *choice)
{
    return choice->is_found && choice->ends_there;
}

/* From behind '[' to behind ']', or behind the wanted process. Processes before the wanted one
 * are read to know whether they count as ranks; which one has device work shows only in its
 * records. */
static enum json_progress read_list(struct rocprof_json *json, struct rocprof_choice *choice)
{
    struct json_window *window = &json->window;
    struct rocprof_run other = {0};
    enum json_progress progress = GOES_ON;
    char c = json_window_peek(window);

    for (; (c == ',' || c == '{') && progress == GOES_ON && !rocprof_choice_is_made(choice);
         c = json_window_peek(window)) {
        if (c == ',')
            window->at++;
        else if (!choice->is_found)
            progress = read_next_process(json, choice, &other);
        else if (choice->counts_all)
            progress = count_next_process(json, choice);
        else if (!json_window_skip(window))
            progress = rocprof_json_recover(json, "the list of processes");
    }
    if (!choice->is_found && other.builder.read.events > 0) {
        rocprof_run_clear(&json->run);
        json->run = other;
    } else {
        rocprof_run_clear(&other);
    }
    if (c == ']')
        window->at++;
    else if (progress == GOES_ON && !rocprof_choice_is_made(choice))
        note_cut(json, "the list of processes");
    return c == ']' ? progress : STOPS;
}

/* Behind the list: other keys, and nothing behind the outermost '}'. */
static void read_behind_list(struct rocprof_json *json)
{
    struct json_window *window = &json->window;
    struct read_account *read = &json->run.builder.read;
    struct json_slice key;
    struct input_rest rest;
    char c;

    while ((c = json_window_peek(window)) == ',' || c == '"') {
        if (c == ',')
            window->at++;
        else if (!json_window_key(window, &key) || !json_window_skip(window))
            break;
    }
    if (c != '}') {
        note_cut(json, "what follows the processes");
        return;
    }
    window->at++;
    rest = input_read_rest(
        window->input, (struct input_left){window->at, (size_t)(window->scan.limit - window->at),
                                           json_window_byte(window, window->at)});
    read->text_bytes = rest.end_byte;
    if (rest.kind != REST_NOTHING)
        read_account_set_ending(read, rest.kind == REST_BROKEN ? ENDING_DAMAGED : ENDING_FOLLOWED,
                                rest.message);
}

static void read_text(struct rocprof_json *json, struct rocprof_choice *choice)
{
    const struct json_window *window = &json->window;

    if (!find_list(json))
        note_cut(json, "what names the list of processes");
    else if (read_list(json, choice) == GOES_ON)
        read_behind_list(json);
    if (json->run.builder.read.text_bytes == 0)
        json->run.builder.read.text_bytes = json_window_byte(window, window->scan.limit);
}

/* ---- the reader ----------------------------------------------------------------------------- */

/* A process is a rank where it has device work. Most files hold one process, which a search for the
 * key of its kernels tells without reading the records. */
static bool rocprof_json_count_parts(uint32_t *count, const struct input_stream *input,
                                     struct error *error)
{
    static const char key[] = "\"kernel_dispatch\"";
    SCOPED(input_stream) again = {0};
    struct rocprof_json json = {.sums_events = true};
    struct rocprof_choice choice = {.part = UINT32_MAX};
    uint32_t keys = 0;

    *count = 1;
    if (!input_stream_open(&again, input->name, false, error))
        return false;
    json_window_init(&json.window, &again, 0);
    for (; json_window_find(&json.window, key); keys++)
        json.window.at++;
    if (keys <= 1)
        return true;
    input_stream_clear(&again);
    if (!input_stream_open(&again, input->name, false, error))
        return false;
    json_window_init(&json.window, &again, 0);
    read_text(&json, &choice);
    rocprof_run_clear(&json.run);
    *count = choice.count > 0 ? choice.count : 1;
    return reader_can_split(choice.count, error);
}

/* False with `error` set where there is nothing to report. */
static bool rocprof_json_check(const struct rocprof_run *run, struct error *error)
{
    const struct read_account *read = &run->builder.read;

    if (rocprof_run_has_events(run))
        return true;
    if (read->is_truncated)
        return error_set(error, ERROR_INPUT,
                         "%s: no record can be read (was the run killed while rocprofv3 wrote "
                         "it?)",
                         read->truncation);
    if (read->damage_count > 0)
        return error_set(error, ERROR_INPUT, "byte %" PRId64 ": %s: no record can be read",
                         read->damages[0].byte, read->damages[0].message);
    return error_set(error, ERROR_NO_DATA,
                     "no kernel, copy, call or marker in it (%" PRId64
                     " other records): record with rocprofv3 --kernel-trace --memory-copy-trace "
                     "--hip-trace --marker-trace",
                     read->events);
}

/* A pipe is read once, so there all processes are counted on the way (counts_all), to refuse a
 * file that holds several. */
static bool rocprof_json_read(struct trace *trace, struct input_stream *input,
                              const struct read_options *options, struct error *error)
{
    static const char writer[] = "rocprofv3, JSON, version not told";
    struct rocprof_json json = {.sums_events = options->skips_details};
    struct rocprof_choice choice = {
        .part = options->part,
        .counts_all = input->file_bytes < 0,
        .ends_there = options->part + 1 < options->part_count,
    };

    input->progress = options->progress;
    rocprof_run_init(&json.run, json.sums_events);
    json_window_init(&json.window, input, 0);
    read_text(&json, &choice);
    if (!reader_has_all_parts(input, options, choice.count, error) ||
        !rocprof_json_check(&json.run, error)) {
        rocprof_run_clear(&json.run);
        return false;
    }
    rocprof_name_process(&json.run, options->part, options->part_count,
                         "numbered in the order of the file");
    rocprof_run_finish(&json.run);
    (void)snprintf(json.run.builder.read.recorder, sizeof json.run.builder.read.recorder, "%s",
                   writer);
    trace_finish(trace, &json.run.builder, 1, options->threads);
    rocprof_run_clear(&json.run);
    return true;
}

const struct reader rocprof_json_reader = {
    .name = "rocprofv3",
    .summary = "JSON written by rocprofv3 (ROCm 6 and 7)",
    .recognises = rocprof_json_recognises,
    .count_parts = rocprof_json_count_parts,
    .read = rocprof_json_read,
};
