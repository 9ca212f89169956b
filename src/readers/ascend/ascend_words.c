/* The words of Ascend's recorders. */
#include "readers/ascend/ascend_words.h"

#include "base/core/array.h"
#include "base/text/prefix.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The first part that the type has decides. */
static const struct {
    const char *part;
    enum event_kind kind;
} task_types[] = {
    {"NOTIFY", EVENT_DEVICE_SYNC},
    {"EVENT", EVENT_DEVICE_SYNC},
    {"WAIT", EVENT_DEVICE_SYNC},
    {"MODEL", EVENT_DEVICE_SYNC}, /* holds other tasks */
    {"PLACE_HOLDER", EVENT_DEVICE_SYNC},
    {"WRITE_VALUE", EVENT_DEVICE_SYNC},
    {"SDMA", EVENT_MEMCPY},
    {"MEMCPY", EVENT_MEMCPY},
    {"MemcopyAsync", EVENT_MEMCPY},
    {"PCIE_DMA", EVENT_MEMCPY},
    {"RDMA", EVENT_MEMCPY},
    {"ROCCE", EVENT_MEMCPY},
    {"AI_CORE", EVENT_KERNEL},
    {"AICORE", EVENT_KERNEL},
    {"VECTOR", EVENT_KERNEL},
    {"AIVEC", EVENT_KERNEL},
    {"MIX_AI", EVENT_KERNEL},
    {"AI_CPU", EVENT_KERNEL},
    {"AICPU", EVENT_KERNEL},
    {"DSA", EVENT_KERNEL},
    {"FFTS", EVENT_KERNEL},
    {"KERNEL", EVENT_KERNEL},
};

static enum event_kind kind_by_type(const char *type)
{
    for (size_t i = 0; i < sizeof task_types / sizeof *task_types; i++)
        if (strstr(type, task_types[i].part))
            return task_types[i].kind;
    return EVENT_DEVICE_OTHER;
}

/* Written where a level of recording, or an old device, does not tell the type. */
static bool is_no_type(const char *type)
{
    static const char *const words[] = {"Other", "N/A", "UNKNOWN", "INVALID"};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasecmp(type, words[i]) == 0)
            return true;
    return false;
}

/* "EVENT_WAIT": words of types are in capitals, names of kernels are not; msprof calls copies
 * "MemcopyAsync". */
static bool is_word_of_types(const char *name)
{
    return name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")] == '\0' ||
           strcmp(name, "MemcopyAsync") == 0;
}

/* What a type tells: its kind, and these. */
enum { UNKNOWN_KIND = 1 << 8, NO_MATRIX_WORK = 1 << 9 };

/* Vector units compute no matmuls, whatever the operator is called. */
static uint32_t known_by_type(const char *type)
{
    static const char *const parts[] = {"VECTOR", "AIVEC", "CPU", "DSA"};
    uint32_t known = is_no_type(type) ? UNKNOWN_KIND : (uint32_t)kind_by_type(type);

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strstr(type, parts[i]))
            known |= NO_MATRIX_WORK;
    return known;
}

/* Each task is asked for twice. */
static uint32_t words_of_type(struct ascend_words *words, const struct string_pool *strings,
                              uint32_t type)
{
    uint32_t known = words->last_known;

    if (known && words->last_type == type)
        return known;
    known = hash_map_find(&words->types, type);
    if (known == NO_VALUE) {
        known = known_by_type(string_pool_text(strings, type));
        (void)hash_map_set(&words->types, type, known);
    }
    words->last_type = type;
    words->last_known = known;
    return known;
}

/* Tasks without a type are named by their kernel, or, where they have none, by what they are. */
enum event_kind ascend_task_kind(struct ascend_words *words, const struct string_pool *strings,
                                 uint32_t type, uint32_t name)
{
    const uint32_t known = words_of_type(words, strings, type);
    const char *text = string_pool_text(strings, name);

    if (!(known & UNKNOWN_KIND))
        return (enum event_kind)(known & (UNKNOWN_KIND - 1));
    if (is_word_of_types(text))
        return kind_by_type(text);
    return is_no_type(text) ? EVENT_DEVICE_OTHER : EVENT_KERNEL;
}

/* "other" keeps such tasks out of matmul time. */
uint32_t ascend_task_detail(struct ascend_words *words, struct trace_builder *builder,
                            uint32_t type, int64_t bytes)
{
    const bool is_other = words_of_type(words, &builder->strings, type) & NO_MATRIX_WORK;
    struct event_detail detail;

    if (bytes < 0 && !is_other)
        return 0;
    detail = event_detail_none();
    detail.bytes = bytes;
    if (is_other)
        detail.work = string_pool_add(&builder->strings, "other", sizeof "other" - 1);
    return trace_builder_detail(builder, &detail);
}

void ascend_words_clear(struct ascend_words *words)
{
    hash_map_clear(&words->types);
    hash_map_clear(&words->shapes);
    hash_map_clear(&words->data_types);
    hash_map_clear(&words->threads);
}

static size_t length_without_numbers(const char *name)
{
    const char *end = strstr(name, "__");

    return end ? (size_t)(end - name) : strlen(name);
}

uint32_t ascend_kernel_name(struct string_pool *strings, const char *name)
{
    return string_pool_add(strings, name, length_without_numbers(name));
}

/* Behind "__" stand numbers of the call, which differ each time. */
uint32_t ascend_collective_name(struct string_pool *strings, const char *name)
{
    const char *start = has_prefix(name, "hcom_") ? name + sizeof "hcom_" - 1 : name;

    return string_pool_add(strings, start, length_without_numbers(start));
}

/* The names that PyTorch gives these types, as all other readers have them. */
uint32_t ascend_element_type(struct string_pool *strings, const char *type)
{
    static const char *const types[][2] = {
        {"FP32", "Float"},  {"FP16", "Half"},  {"BFP16", "BFloat16"}, {"BF16", "BFloat16"},
        {"FP64", "Double"}, {"INT8", "Char"},  {"INT16", "Short"},    {"INT32", "Int"},
        {"INT64", "Long"},  {"UINT8", "Byte"},
    };

    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcasecmp(types[i][0], type) == 0)
            return string_pool_add(strings, types[i][1], strlen(types[i][1]));
    return 0;
}

const char *ascend_type_of_number(int64_t number)
{
    static const char *const types[] = {"INT8",   "INT16", "INT32",  "FP16",   "FP32", "INT64",
                                        "UINT64", "UINT8", "UINT16", "UINT32", "FP64", "BFP16"};

    return number >= 0 && number < (int64_t)(sizeof types / sizeof *types) ? types[number] : "";
}

/* ---- lists ---------------------------------------------------------------------------------- */

struct list_text {
    char *text; /* [room for what is written] */
    size_t length;
};

static void list_put(struct list_text *list, const char *text)
{
    size_t length = strlen(text);

    memcpy(list->text + list->length, text, length);
    list->length += length;
}

static bool list_space(char c)
{
    return c == ' ' || c == '\r' || c == '\n' || c == '\t';
}

/* One shape, which ends at ';' or the end: "8,64". False where it is in another form. A text in
 * another form gives no shapes, rather than half of them. */
static bool list_put_shape(struct list_text *list, const char **at)
{
    list_put(list, "[");
    for (bool needs_digit = false; **at && **at != ';'; ++*at) {
        if (list_space(**at))
            continue;
        if (**at == ',' ? needs_digit : **at < '0' || **at > '9')
            return false;
        needs_digit = **at == ',';
        list->text[list->length++] = **at;
        if (needs_digit)
            list->text[list->length++] = ' ';
    }
    list_put(list, "]");
    return true;
}

static bool list_put_type(struct list_text *list, const char **at)
{
    list_put(list, "\"");
    for (; **at && **at != ';'; ++*at)
        if (!list_space(**at) && **at != '"' && **at != '\\')
            list->text[list->length++] = **at;
    list_put(list, "\"");
    return true;
}

/* In brackets where it is not in brackets already. Each character of it is at most five of the
 * list. */
static uint32_t list_of(struct string_pool *strings, const char *text,
                        bool (*put)(struct list_text *, const char **))
{
    size_t length = strlen(text);
    struct list_text list = {0};
    uint32_t string = 0;
    bool is_good = true;

    if (*text == '[')
        return string_pool_add(strings, text, length);
    if (!*text)
        return 0;
    list.text = require_memory(malloc(5 * length + 8));
    list_put(&list, "[");
    while (is_good) {
        is_good = put(&list, &text);
        if (!is_good || *text != ';')
            break;
        do
            text++;
        while (list_space(*text));
        list_put(&list, ", ");
    }
    list_put(&list, "]");
    if (is_good)
        string = string_pool_add(strings, list.text, list.length);
    free(list.text);
    return string;
}

uint32_t ascend_shapes(struct string_pool *strings, const char *shapes)
{
    return list_of(strings, shapes, list_put_shape);
}

uint32_t ascend_types(struct string_pool *strings, const char *types)
{
    return list_of(strings, types, list_put_type);
}

/* Operators are many, and the texts of their inputs few. */
static uint32_t known_list(struct hash_map *known, struct string_pool *strings, uint32_t text,
                           uint32_t (*list)(struct string_pool *, const char *))
{
    uint32_t string = hash_map_find(known, text);

    if (string == NO_VALUE) {
        string = list(strings, string_pool_text(strings, text));
        (void)hash_map_set(known, text, string);
    }
    return string;
}

uint32_t ascend_known_shapes(struct ascend_words *words, struct string_pool *strings,
                             uint32_t shapes)
{
    return known_list(&words->shapes, strings, shapes, ascend_shapes);
}

uint32_t ascend_known_types(struct ascend_words *words, struct string_pool *strings, uint32_t types)
{
    return known_list(&words->data_types, strings, types, ascend_types);
}

/* ---- tracks --------------------------------------------------------------------------------- */

uint32_t ascend_number_text(struct string_pool *strings, const char *before, int64_t number)
{
    char text[48];

    (void)snprintf(text, sizeof text, "%s%" PRId64, before, number);
    return string_pool_add(strings, text, strlen(text));
}

/* The process in the upper half, the thread in the lower one. */
uint32_t ascend_thread(struct ascend_words *words, struct trace_builder *builder, int64_t global)
{
    struct track_key key = {.device = -1, .stream = -1};
    uint32_t track;

    if (words->threads.count && words->last_thread == global)
        return words->last_track;
    track = hash_map_find(&words->threads, (uint64_t)global);
    if (track == NO_VALUE) {
        key.process = ascend_number_text(&builder->strings, "", (int64_t)((uint64_t)global >> 32));
        key.thread =
            ascend_number_text(&builder->strings, "", (int64_t)((uint64_t)global & UINT32_MAX));
        track = trace_builder_track(builder, &key);
        (void)hash_map_set(&words->threads, (uint64_t)global, track);
    }
    words->last_thread = global;
    words->last_track = track;
    return track;
}

/* Process and thread are made up from device and stream: the database has no rows for them,
 * and they must be the same for all tables. */
uint32_t ascend_stream(struct ascend_words *words, struct trace_builder *builder, int64_t device,
                       int64_t stream, uint32_t thread)
{
    struct ascend_stream new = {device, stream, thread, 0};
    struct track_key key = {.is_device = true, .device = -1, .stream = stream};

    for (uint32_t i = 0; i < words->stream_count; i++) {
        const struct ascend_stream *known = &words->streams[i];

        if (known->device == device && known->stream == stream && known->thread == thread)
            return known->track;
    }
    key.process = ascend_number_text(&builder->strings, "NPU ", device);
    key.thread = thread ? thread : ascend_number_text(&builder->strings, "", stream);
    if (device >= 0 && device < INT32_MAX)
        key.device = (int32_t)device;
    new.track = trace_builder_track(builder, &key);
    if (words->stream_count < ASCEND_KNOWN_STREAMS)
        words->streams[words->stream_count++] = new;
    return new.track;
}
