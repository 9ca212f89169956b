/* Counters of Ascend's devices, as series. */
#include "readers/ascend/ascend_counters.h"

#include "base/core/array.h"
#include "base/json/json_walk.h"
#include "readers/sqlite/sqlite_rows.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More counters than these are none: each sample looks for its own. */
enum { COUNTERS_MAX = 4096 };

static void ascend_add_sample(struct trace_builder *builder, const struct series *series,
                              const struct series_sample *sample)
{
    uint32_t place;

    if (builder->series.count >= COUNTERS_MAX)
        return;
    place = series_list_find(&builder->series, series);
    if (isfinite(sample->value) && sample->value >= 0)
        series_add(&builder->series.series[place], sample);
    else
        builder->series.series[place].set_aside++;
}

/* ---- JSON ----------------------------------------------------------------------------------- */

/* The unit stands in the key: "Read(MB/s)", "MHz"; "value" and the counter's own name are none. A
 * hit rate "(%)" is written as a part of 1, so its unit is not told. */
static struct json_slice unit_of_key(const struct json_slice *key, const struct json_slice *name)
{
    const char *open = memchr(key->text, '(', key->length);
    struct json_slice unit = *key;

    if (open && key->text[key->length - 1] == ')') {
        unit.text = open + 1;
        unit.length = (uint32_t)(key->text + key->length - open) - 2;
    }
    if (slice_is(key, "value") || slice_is(&unit, "%") ||
        (key->length == name->length && memcmp(key->text, name->text, key->length) == 0))
        unit.length = 0;
    return unit;
}

/* "read_bandwidth 3" of the accelerator 3: several have counters of one name. */
static uint32_t sample_name(struct trace_builder *builder, const struct json_slice *name,
                            int64_t accelerator)
{
    char text[96];

    if (accelerator < 0)
        return string_pool_add(&builder->strings, name->text, name->length);
    (void)snprintf(text, sizeof text, "%.*s %" PRId64, (int)(name->length < 64 ? name->length : 64),
                   name->text, accelerator);
    return string_pool_add(&builder->strings, text, strlen(text));
}

bool ascend_sample_read(struct ascend_sample *sample, struct trace_builder *builder,
                        const struct json_slice *name, const struct json_slice *args)
{
    struct json_walk walk = json_walk_begin(args, '{');
    struct json_slice key, value, unit;
    int64_t accelerator = -1;

    if (!json_walk_next(&walk, &key, &value) || key.length == 0 ||
        !slice_fraction(&value, &sample->value))
        return false;
    unit = unit_of_key(&key, name);
    while (json_walk_next(&walk, &key, &value))
        if (slice_is(&key, "acc_id") && !slice_integer(&value, &accelerator))
            accelerator = -1;
    sample->name = sample_name(builder, name, accelerator);
    sample->unit = unit.length ? string_pool_add(&builder->strings, unit.text, unit.length) : 0;
    return true;
}

void ascend_sample_place(struct trace_builder *builder, const struct ascend_sample *sample,
                         int32_t device)
{
    const struct series series = {.name = sample->name, .unit = sample->unit, .device = device};
    const struct series_sample one = {sample->time_ns, sample->value};

    ascend_add_sample(builder, &series, &one);
}

/* ---- tables --------------------------------------------------------------------------------- */

/* A counter in a column of a table, called as JSON calls it: "HBM 2/Read". */
struct counter_column {
    const char *table;
    const char *value;
    const char *number; /* the column that numbers devices of one kind; NULL: there is one */
    const char *word;   /* the column that says what is counted, a string; NULL: `after` does */
    const char *before, *between, *after;
    const char *unit;
};

static const struct counter_column counters[] = {
    {"AICORE_FREQ", "freq", NULL, NULL, "AI Core Freq", "", "", "MHz"},
    {"HBM", "bandwidth", "hbmId", "type", "HBM ", "/", "", "bytes/s"},
    {"DDR", "read", NULL, NULL, "DDR", "", "/Read", "bytes/s"},
    {"DDR", "write", NULL, NULL, "DDR", "", "/Write", "bytes/s"},
    {"LLC", "hitRate", "llcId", "mode", "LLC ", " ", "/Hit Rate", "%"},
    {"LLC", "throughput", "llcId", "mode", "LLC ", " ", "/Throughput", "bytes/s"},
    {"NPU_MEM", "hbm", NULL, "type", "", "", "/HBM", "bytes"},
    {"NPU_MEM", "ddr", NULL, "type", "", "", "/DDR", "bytes"},
    {"SOC_BANDWIDTH_LEVEL", "l2BufferBwLevel", NULL, NULL, "L2 Buffer Bw Level", "", "", ""},
    {"SOC_BANDWIDTH_LEVEL", "mataBwLevel", NULL, NULL, "Mata Bw Level", "", "", ""},
    {"ACC_PMU", "readBwLevel", "accId", NULL, "read_bandwidth ", "", "", ""},
    {"ACC_PMU", "writeBwLevel", "accId", NULL, "write_band_width ", "", "", ""},
    {"ACC_PMU", "readOstLevel", "accId", NULL, "read_ost ", "", "", ""},
    {"ACC_PMU", "writeOstLevel", "accId", NULL, "write_ost ", "", "", ""},
    {"QOS", "bandwidth", NULL, "eventName", "QoS ", "", "", "bytes/s"},
    {"HCCS", "txThroughput", NULL, NULL, "HCCS", "", "/Tx", "bytes/s"},
    {"HCCS", "rxThroughput", NULL, NULL, "HCCS", "", "/Rx", "bytes/s"},
    {"NIC", "txByteRate", "funcId", NULL, "NIC ", "", "/Tx", "bytes/s"},
    {"NIC", "rxByteRate", "funcId", NULL, "NIC ", "", "/Rx", "bytes/s"},
    {"ROCE", "txByteRate", "funcId", NULL, "RoCE ", "", "/Tx", "bytes/s"},
    {"ROCE", "rxByteRate", "funcId", NULL, "RoCE ", "", "/Rx", "bytes/s"},
    {"PCIE", "txPostAvg", NULL, NULL, "PCIe", "", "/Tx", "bytes/s"},
    {"PCIE", "rxPostAvg", NULL, NULL, "PCIe", "", "/Rx", "bytes/s"},
    {"SAMPLE_PMU_TIMELINE", "usage", "coreId", "coreType", "Core ", " ", "/Usage", "%"},
};

static uint32_t ascend_string_of(const struct hash_map *strings, int64_t id)
{
    uint32_t string = hash_map_find(strings, (uint64_t)id);

    return string == NO_VALUE ? 0 : string;
}

/* "read" is Read, "app" and "aic" are APP and AIC. */
static uint32_t ascend_counter_name(struct trace_builder *builder,
                                    const struct counter_column *counter, int64_t number,
                                    const char *word)
{
    char text[160], digits[24] = "", shown[64];
    size_t length = strlen(word);

    if (counter->number)
        (void)snprintf(digits, sizeof digits, "%" PRId64, number);
    (void)snprintf(shown, sizeof shown, "%s", word);
    for (size_t i = 0; shown[i] && (i == 0 || length <= 3); i++)
        shown[i] = (char)toupper((unsigned char)shown[i]);
    (void)snprintf(text, sizeof text, "%s%s%s%s%s", counter->before, digits, counter->between,
                   shown, counter->after);
    return string_pool_add(&builder->strings, text, strlen(text));
}

/* The same few names come again row by row, in turn: each is made once. A number beyond 32 bits is
 * no key of the map, and its name is made each time. */
static uint32_t known_counter_name(struct hash_map *names, struct trace_builder *builder,
                                   const struct counter_column *counter, int64_t number,
                                   uint32_t word)
{
    uint64_t key = (uint64_t)(counter->number ? number : 0) << 32 | word;
    bool is_key = !counter->number || (number >= 0 && number <= UINT32_MAX);
    uint32_t name = is_key ? hash_map_find(names, key) : NO_VALUE;

    if (name != NO_VALUE)
        return name;
    name = ascend_counter_name(builder, counter, number, string_pool_text(&builder->strings, word));
    if (is_key)
        hash_map_set(names, key, name);
    return name;
}

static void ascend_read_counter(struct trace_builder *builder, struct sqlite_input *database,
                                const struct hash_map *strings,
                                const struct counter_column *counter)
{
    /* What is not wanted is asked for as the value, and not looked at. */
    const char *const columns[] = {"timestampNs",
                                   "deviceId",
                                   counter->value,
                                   counter->number ? counter->number : counter->value,
                                   counter->word ? counter->word : counter->value,
                                   NULL};
    const uint32_t unit = string_pool_add(&builder->strings, counter->unit, strlen(counter->unit));
    struct hash_map names = {0};
    struct sqlite_rows rows;

    sqlite_rows_open(&rows, database, counter->table, columns);
    while (sqlite_rows_next(&rows)) {
        const struct series_sample sample = {sqlite_integer(&rows, 0, 0),
                                             sqlite_real(&rows, 2, NAN)};
        int64_t device = sqlite_integer(&rows, 1, 0);
        uint32_t word = counter->word ? ascend_string_of(strings, sqlite_integer(&rows, 4, -1)) : 0;
        const struct series series = {
            .name = known_counter_name(&names, builder, counter, sqlite_integer(&rows, 3, 0), word),
            .unit = unit,
            .device = device >= 0 && device < INT32_MAX ? (int32_t)device : 0,
        };

        ascend_add_sample(builder, &series, &sample);
    }
    sqlite_rows_clear(&rows);
    hash_map_clear(&names);
}

/* The first row of a number counts. */
void ascend_note_place(struct ascend_places *places, int64_t task, int64_t start_ns, int32_t device)
{
    if (paged_map_find(&places->tasks, (uint64_t)task) != NO_VALUE)
        return;
    paged_map_set(&places->tasks, (uint64_t)task, places->count);
    ARRAY_ADD(places->places, places->count, (struct ascend_task_place){start_ns, device});
}

void ascend_places_clear(struct ascend_places *places)
{
    paged_map_clear(&places->tasks);
    free(places->places);
}

/* Of tasks that are known; one of another kind was counted for nobody. */
static void read_task_counters(struct trace_builder *builder, struct sqlite_input *database,
                               const struct hash_map *strings, struct ascend_places *places)
{
    static const char *const columns[] = {"globalTaskId", "name", "value", NULL};
    struct sqlite_rows rows;

    sqlite_rows_open(&rows, database, "TASK_PMU_INFO", columns);
    while (sqlite_rows_next(&rows)) {
        uint32_t place = paged_map_find(&places->tasks, (uint64_t)sqlite_integer(&rows, 0, -1));
        struct series series = {.kind = SERIES_OF_KERNELS};
        struct series_sample sample = {.value = sqlite_real(&rows, 2, NAN)};

        if (place == NO_VALUE)
            continue;
        series.name = ascend_string_of(strings, sqlite_integer(&rows, 1, -1));
        series.device = places->places[place].device;
        sample.time_ns = places->places[place].start_ns;
        ascend_add_sample(builder, &series, &sample);
    }
    sqlite_rows_clear(&rows);
}

void ascend_read_counters(struct trace_builder *builder, struct sqlite_input *database,
                          const struct hash_map *strings, struct ascend_places *places)
{
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++)
        ascend_read_counter(builder, database, strings, &counters[i]);
    read_task_counters(builder, database, strings, places);
}
