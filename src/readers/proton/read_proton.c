/* Reads a profile of Proton, Triton's profiler. */
#include "readers/proton/read_proton.h"

#include "base/core/array.h"
#include "base/core/attributes.h"
#include "base/io/input_stream.h"
#include "base/io/whole_file.h"
#include "base/json/json_tree.h"
#include "trace/trace_builder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* No sum is larger. */
static const double SUM_MAX = 1e24;

/* What is needed while a file is read. */
struct proton_reading {
    struct call_sums *sums;
    const char *without_time; /* what stands there in place of times; NULL: nothing that is known */
};

/* "ph" is of events of a trace, which may have the other words in their arguments. */
bool looks_like_proton(const char *head, size_t length)
{
    while (length && *head && strchr(" \t\r\n", *head)) {
        head++;
        length--;
    }
    return length > 0 && *head == '[' && memmem(head, length, "\"metrics\"", 9) &&
           memmem(head, length, "\"frame\"", 7) && !memmem(head, length, "\"ph\"", 4);
}

/* A metric by its name, or by the one that Triton of 2024 had for it. */
static const struct json_node *proton_metric(const struct json_node *metrics, const char *key,
                                             const char *older)
{
    const struct json_node *node = json_member(metrics, key);

    return node ? node : json_member(metrics, older);
}

/* A value that is no number, below zero or beyond what can be summed is counted and left out;
 * one that lacks counts as zero. */
static double number_of_node(struct call_sums *sums, const struct json_node *node)
{
    double number;

    if (!node)
        return 0;
    number = node->kind == JSON_NUMBER ? strtod(node->text, NULL) : -1;
    if (number >= 0 && number < SUM_MAX)
        return number;
    sums->not_read++;
    return 0;
}

static double proton_number(struct call_sums *sums, const struct json_node *metrics,
                            const char *key)
{
    return number_of_node(sums, json_member(metrics, key));
}

static const char *kept_text(struct call_sums *sums, const char *text)
{
    return arena_copy_text(&sums->arena, text, strlen(text));
}

/* The device of that kind and number; added where the file does not describe it. */
static size_t proton_device_of(struct call_sums *sums, const char *kind, const char *id)
{
    for (size_t i = 0; i < sums->device_count; i++)
        if (strcmp(sums->devices[i].kind, kind) == 0 && strcmp(sums->devices[i].id, id) == 0)
            return i;
    ARRAY_ADD(sums->devices, sums->device_count,
              (struct call_sums_device){.kind = kept_text(sums, kind), .id = kept_text(sums, id)});
    return sums->device_count - 1;
}

/* ---- devices --------------------------------------------------------------------------------- */

/* Two transfers a clock, as all memory of GPUs has them; clocks are in kHz, the bus in bits. */
static double memory_rate(struct call_sums *sums, const struct json_node *device)
{
    return 2 * proton_number(sums, device, "memory_clock_rate") * 1e3 *
           proton_number(sums, device, "bus_width") / 8;
}

/* Devices stand behind the tree, by kind and then by number. */
static void proton_describe_devices(struct call_sums *sums, const struct json_node *kinds)
{
    for (const struct json_node *kind = kinds->first; kind; kind = kind->next) {
        if (kind->kind != JSON_OBJECT)
            continue;
        for (const struct json_node *entry = kind->first; entry; entry = entry->next) {
            struct call_sums_device *device;
            size_t place;

            if (entry->kind != JSON_OBJECT)
                continue;
            place = proton_device_of(sums, kind->key, entry->key);
            device = &sums->devices[place];
            device->architecture = kept_text(sums, json_text_of(entry, "arch", ""));
            device->multiprocessors = (int32_t)proton_number(sums, entry, "num_sms");
            device->memory_bytes_per_second = memory_rate(sums, entry);
        }
    }
}

/* ---- the tree -------------------------------------------------------------------------------- */

/* A scope whose calls ran on two devices belongs to neither; once parted it stays so, whatever
 * is added behind. */
static void add_to_scope(struct call_sum *scope, const struct call_sum *sum)
{
    scope->launches += sum->launches;
    scope->time_ns += sum->time_ns;
    scope->bytes += sum->bytes;
    for (int width = 0; width < SUM_WIDTHS; width++)
        scope->flops[width] += sum->flops[width];
    if (sum->device == SIZE_MAX || scope->is_parted)
        return;
    if (scope->device == SIZE_MAX)
        scope->device = sum->device;
    else if (scope->device != sum->device)
        scope->is_parted = true;
    if (scope->is_parted)
        scope->device = SIZE_MAX;
}

/* Metrics of a node that no sum is made of, by their names. */
static void note_unused(struct call_sums *sums, const struct json_node *metrics)
{
    static const char *const used[] = {
        "count",       "time (ns)", "bytes", "device_id", "flops8", "flops16",  "flops32",
        "device_type", "flops64",   "flops", "Time (ns)", "Count",  "DeviceId", "DeviceType"};

    for (const struct json_node *metric = metrics ? metrics->first : NULL; metric;
         metric = metric->next) {
        bool is_used = false;

        for (size_t i = 0; i < sizeof used / sizeof *used && !is_used; i++)
            is_used = strcmp(metric->key, used[i]) == 0;
        if (!is_used)
            read_account_leave(&sums->read, metric->key, 1);
    }
}

/* Device and kernel are told by the time: where none is, nothing ran here. Cycles of warps are
 * no time, and what has only these is remembered for the message. */
static struct call_sum own_sum(struct proton_reading *reading, const struct json_node *node)
{
    static const char *const keys[SUM_WIDTHS] = {"flops8", "flops16", "flops32", "flops64",
                                                 "flops"};
    struct call_sums *sums = reading->sums;
    const struct json_node *metrics = json_member(node, "metrics");
    const struct json_node *id = proton_metric(metrics, "device_id", "DeviceId");
    const struct json_node *kind = proton_metric(metrics, "device_type", "DeviceType");
    struct call_sum sum = {
        .name = kept_text(sums, json_text_of(json_member(node, "frame"), "name", "(no name)")),
        .device = SIZE_MAX,
        .launches = number_of_node(sums, proton_metric(metrics, "count", "Count")),
        .time_ns = number_of_node(sums, proton_metric(metrics, "time (ns)", "Time (ns)")),
        .bytes = proton_number(sums, metrics, "bytes"),
    };

    for (int width = 0; width < SUM_WIDTHS; width++)
        sum.flops[width] = proton_number(sums, metrics, keys[width]);
    if (id && id->text && sum.time_ns > 0) {
        sum.device =
            proton_device_of(sums, kind && kind->kind == JSON_STRING ? kind->text : "", id->text);
        sums->devices[sum.device].time_ns += sum.time_ns;
    }
    sum.is_kernel = sum.time_ns > 0;
    if (metrics && metrics->kind == JSON_OBJECT)
        note_unused(sums, metrics);
    if (json_member(metrics, "cycles") || json_member(metrics, "normalized_cycles"))
        reading->without_time = "cycles of single warps";
    return sum;
}

/* Without recursion: each node that is looked at waits behind those around it. */
static void proton_add_tree(struct proton_reading *reading, const struct json_node *root)
{
    struct call_sums *sums = reading->sums;
    const struct json_node **waiting = NULL;
    size_t count = 0, parent = SIZE_MAX;

    ARRAY_ADD(waiting, count, root);
    while (count > 0) {
        const struct json_node *node = waiting[count - 1];
        struct call_sum sum;

        if (!node && parent == SIZE_MAX)
            break;
        if (!node) { /* behind the last of a scope */
            count--;
            if (sums->sums[parent].parent != SIZE_MAX)
                add_to_scope(&sums->sums[sums->sums[parent].parent], &sums->sums[parent]);
            parent = sums->sums[parent].parent;
            continue;
        }
        waiting[count - 1] = parent == SIZE_MAX ? NULL : node->next;
        if (node->kind != JSON_OBJECT)
            continue;
        sum = own_sum(reading, node);
        sum.parent = parent;
        sum.depth = parent == SIZE_MAX ? 0 : sums->sums[parent].depth + 1;
        ARRAY_ADD(sums->sums, sums->count, sum);
        parent = sums->count - 1;
        ARRAY_ADD(waiting, count, json_items_of(node, "children"));
    }
    free(waiting);
}

/* Devices are read first though they stand last: nodes of the tree name them. */
static bool proton_read_tree(struct call_sums *sums, const struct json_node *root,
                             struct error *error)
{
    struct proton_reading reading = {.sums = sums};
    const struct json_node *tree = root && root->kind == JSON_ARRAY ? root->first : NULL;

    if (!tree || !json_member(tree, "frame"))
        return error_set(error, ERROR_INPUT,
                         "not a profile of Proton: expected an array whose first element has a "
                         "'frame'; name what proton.finalize() wrote");
    for (const struct json_node *kinds = tree->next; kinds; kinds = kinds->next)
        if (kinds->kind == JSON_OBJECT && !json_member(kinds, "frame"))
            proton_describe_devices(sums, kinds);
    proton_add_tree(&reading, tree);
    if (sums->count > 0 && sums->sums[0].time_ns > 0)
        return true;
    return error_set(error, ERROR_NO_DATA,
                     "a profile of Proton in which nothing was timed%s%s: record kernels between "
                     "proton.start() and proton.finalize(), with the backend cupti or roctracer",
                     reading.without_time ? ", which holds " : "",
                     reading.without_time ? reading.without_time : "");
}

/* The tree is freed before the error gets the file's name, as all texts that are kept were
 * copied. */
bool read_proton(struct call_sums *sums, const char *path, struct error *error)
{
    SCOPED(input_stream) input = {0};
    struct arena tree = {0};
    const struct json_node *root;
    bool is_read = false;
    size_t length;
    char *text;

    if (!input_stream_open(&input, path, false, error))
        return false;
    text = read_whole_stream(&input, &length, error);
    if (!text)
        return error_in(error, "'%s'", path);
    root = json_tree_parse(&tree, text, length, error);
    if (root)
        is_read = proton_read_tree(sums, root, error);
    sums->read.file_bytes = input.file_bytes;
    sums->read.text_bytes = (int64_t)length;
    sums->read.events = (int64_t)sums->count;
    (void)snprintf(sums->read.format, sizeof sums->read.format, "proton-hatchet");
    (void)snprintf(sums->read.recorder, sizeof sums->read.recorder,
                   "Proton (Triton), version not told");
    (void)snprintf(sums->read.compression, sizeof sums->read.compression, "%s",
                   compression_name(input.compression));
    arena_clear(&tree);
    free(text);
    return is_read || error_in(error, "'%s'", path);
}
