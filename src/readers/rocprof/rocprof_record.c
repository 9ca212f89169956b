/* One record of rocprofv3's JSON: an object whose members lie up to three objects deep. */
#include "readers/rocprof/rocprof_reading.h"

#include <string.h>

/* ---- which keys are looked for -------------------------------------------------------------- */

/* A member of a record: a number, or an object whose members are. */
struct record_field {
    const char *key;
    unsigned length;
    unsigned value;                   /* enum rocprof_value; of an object: added to its members' */
    const struct record_level *level; /* of an object */
};

struct record_level {
    const struct record_field *fields;
    size_t count;
};

#define NUMBER(key_, value_)                   \
    {                                          \
        key_, sizeof(key_) - 1, (value_), NULL \
    }
#define OBJECT(key_, value_, level_)                \
    {                                               \
        key_, sizeof(key_) - 1, (value_), &(level_) \
    }
#define LEVEL(name, fields)                   \
    static const struct record_level name = { \
        fields,                               \
        sizeof(fields) / sizeof *(fields),    \
    }

static const struct record_field handle_fields[] = {NUMBER("handle", 0)};
LEVEL(handle_level, handle_fields);

static const struct record_field size_fields[] = {NUMBER("x", 0), NUMBER("y", 1), NUMBER("z", 2)};
LEVEL(size_level, size_fields);

static const struct record_field correlation_fields[] = {NUMBER("internal", ROCPROF_CORRELATION)};
LEVEL(correlation_level, correlation_fields);

/* Only the fields that are used: all others are skipped without a look at their values. */
static const struct record_field dispatch_fields[] = {
    OBJECT("agent_id", ROCPROF_AGENT, handle_level),
    OBJECT("queue_id", ROCPROF_QUEUE, handle_level),
    NUMBER("kernel_id", ROCPROF_KERNEL),
    NUMBER("dispatch_id", ROCPROF_DISPATCH),
    NUMBER("group_segment_size", ROCPROF_SHARED_MEMORY),
    OBJECT("workgroup_size", ROCPROF_BLOCK, size_level),
    OBJECT("grid_size", ROCPROF_GRID, size_level),
};
LEVEL(dispatch_level, dispatch_fields);

static const struct record_field counted_fields[] = {
    OBJECT("correlation_id", 0, correlation_level),
    NUMBER("start_timestamp", ROCPROF_START),
    NUMBER("end_timestamp", ROCPROF_END),
    OBJECT("dispatch_info", 0, dispatch_level),
};
LEVEL(counted_level, counted_fields);

static const struct record_field record_fields[] = {
    NUMBER("kind", ROCPROF_KIND),
    NUMBER("operation", ROCPROF_OPERATION),
    NUMBER("thread_id", ROCPROF_THREAD),
    OBJECT("correlation_id", 0, correlation_level),
    NUMBER("start_timestamp", ROCPROF_START),
    NUMBER("end_timestamp", ROCPROF_END),
    OBJECT("dispatch_info", 0, dispatch_level),
    OBJECT("stream_id", ROCPROF_STREAM, handle_level),
    OBJECT("dst_agent_id", ROCPROF_DESTINATION, handle_level),
    OBJECT("src_agent_id", ROCPROF_SOURCE, handle_level),
    NUMBER("bytes", ROCPROF_BYTES),
    OBJECT("dispatch_data", 0, counted_level), /* of counter collection */
};
LEVEL(record_level, record_fields);

enum { LEVELS_MAX = 4 };

/* A level has at most five fields: comparing lengths first makes it quicker than a hash. */
static const struct record_field *find_field(const struct record_level *level,
                                             const struct json_slice *key)
{
    for (size_t i = 0; i < level->count; i++)
        if (key->length == level->fields[i].length &&
            memcmp(key->text, level->fields[i].key, key->length) == 0)
            return &level->fields[i];
    return NULL;
}

/* ---- reading -------------------------------------------------------------------------------- */

/* An integer; what is none (null, a fraction too long) leaves the value untold. Digits that end
 * in the text are the usual case and are read in one go; all else takes the general way. */
static const char *scan_number(struct json_scan *scan, const char *at,
                               struct rocprof_record *record, unsigned which)
{
    struct json_slice slice;
    uint64_t digits;
    unsigned count;
    const char *behind = scan_digits(at, &digits, &count);
    int64_t number;

    if (count > 0 && is_number_end(*behind) && behind < scan->limit) {
        rocprof_record_set(record, (enum rocprof_value)which, (int64_t)digits);
        return behind;
    }
    behind = scan_value(scan, at, &slice);
    if (behind && slice_integer(&slice, &number))
        rocprof_record_set(record, (enum rocprof_value)which, number);
    return behind;
}

/* The objects that are open, outermost first. */
struct record_walk {
    const struct record_level *levels[LEVELS_MAX];
    unsigned values[LEVELS_MAX]; /* what is added to those of the members */
    unsigned depth;
};

/* A member: `at` is at its key. No level is deeper than LEVELS_MAX, as the table of fields is
 * none deeper: what is not in it is skipped as a value. */
static const char *scan_member(struct json_scan *scan, const char *at, struct record_walk *walk,
                               struct rocprof_record *record)
{
    const struct record_field *field;
    struct json_slice key;
    struct json_slice unused;
    unsigned value;

    at = scan_key(scan, at, &key);
    if (!at)
        return NULL;
    field = find_field(walk->levels[walk->depth - 1], &key);
    if (!field && walk->depth == 1 && slice_is(&key, "records"))
        return scan_value(scan, at, &record->counters); /* of counter collection */
    if (!field)
        return scan_value(scan, at, &unused);
    value = walk->values[walk->depth - 1] + field->value;
    if (!field->level)
        return scan_number(scan, at, record, value);
    if (*at != '{')
        return scan_value(scan, at, &unused);
    walk->levels[walk->depth] = field->level;
    walk->values[walk->depth++] = value;
    return at + 1;
}

/* One pass with an explicit stack, no tree: a file has millions of records of a few hundred
 * bytes. */
const char *rocprof_record_scan(struct json_scan *scan, const char *at,
                                struct rocprof_record *record)
{
    struct record_walk walk = {.levels = {&record_level}, .depth = 1};
    bool is_first = true; /* of its object: no comma stands before it */

    if (*at != '{')
        return scan_fail(scan, at, "'{' of a record");
    at++;
    while (walk.depth > 0) {
        unsigned depth = walk.depth;

        at = scan_space(at);
        if (*at == '}') {
            walk.depth--;
            is_first = false;
            at++;
            continue;
        }
        if (!is_first) {
            if (*at != ',')
                return scan_fail(scan, at, "',' or '}' in a record");
            at = scan_space(at + 1);
        }
        at = scan_member(scan, at, &walk, record);
        if (!at)
            return NULL;
        is_first = walk.depth > depth;
    }
    return at <= scan->limit ? at : scan_fail(scan, scan->limit, "'}' of a record");
}

/* ---- where it goes on ----------------------------------------------------------------------- */

/* Longer than a key with what stands around it. What lies further off is not looked for, else it
 * would depend on the window whether it is found. */
enum { SIGHT_BYTES = 64 };

/* Keys that stand first in a record and in no object inside one. */
static bool begins_record(const char *at)
{
    static const char *const firsts[] = {
        "\"thread_id\"",     "\"kind\"",          "\"correlation_id\"", "\"bytes\"",
        "\"dispatch_data\"", "\"dispatch_info\"", "\"end_timestamp\""};
    static const char size[] = "\"size\"";
    const char *end = at + SIGHT_BYTES;

    at = scan_space(at + 1);
    for (size_t i = 0; i < sizeof firsts / sizeof *firsts; i++)
        if (strncmp(at, firsts[i], strlen(firsts[i])) == 0)
            return at + strlen(firsts[i]) <= end;
    if (strncmp(at, size, sizeof size - 1) != 0)
        return false;
    at = scan_space(at + sizeof size - 1); /* "size": 184, "kind": ... */
    at = *at == ':' ? scan_space(at + 1) : at;
    while (*at >= '0' && *at <= '9')
        at++;
    at = scan_space(at);
    if (*at != ',')
        return false;
    at = scan_space(at + 1);
    return strncmp(at, "\"kind\"", 6) == 0 && at + 6 <= end;
}

/* Known keys of arrays: where a damaged record made the end of its array unclear, the next of
 * these tells where reading can go on. */
static bool begins_array(const char *at)
{
    static const char *const arrays[] = {
        "\"kernel_dispatch\"",   "\"hip_api\"",           "\"hsa_api\"",
        "\"marker_api\"",        "\"rccl_api\"",          "\"memory_copy\"",
        "\"memory_allocation\"", "\"scratch_memory\"",    "\"rocdecode_api\"",
        "\"rocjpeg_api\"",       "\"buffer_records\"",    "\"pc_sample_host_trap\"",
        "\"metadata\"",          "\"counter_collection\""};

    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        size_t length = strlen(arrays[i]);

        if (strncmp(at, arrays[i], length) == 0) {
            const char *colon = scan_space(at + length);

            return *colon == ':' && colon < at + SIGHT_BYTES;
        }
    }
    return false;
}

/* A key needs its whole text in sight: near the window's end more is read first, so none is
 * missed that lies across it. */
bool rocprof_record_find(struct json_window *window)
{
    for (;;) {
        for (; window->at < window->scan.limit; window->at++) {
            bool is_near_end = window->scan.limit - window->at < SIGHT_BYTES && !window->is_last;

            if (is_near_end)
                break;
            if ((*window->at == '{' && begins_record(window->at)) ||
                (*window->at == '"' && begins_array(window->at)))
                return true;
        }
        if (!json_window_grow(window) && window->at >= window->scan.limit)
            return false;
    }
}
