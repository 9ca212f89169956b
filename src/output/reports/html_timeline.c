/* A timeline in the data of the page. */
#include "base/core/bytes.h"
#include "base/core/invariant.h"
#include "base/text/base64.h"
#include "output/reports/html_page.h"

#include <stdlib.h>

/* Base64 grows by a third, and needs no escaping in JSON or markup. */
static void write_base64(struct json_writer *json, const char *key, const struct bytes *packed)
{
    char *text;

    if (!packed->bytes) {
        json_plain_text(json, key, "", 0);
        return;
    }
    text = require_memory(malloc(packed->length / 3 * 4 + 4));
    json_plain_text(json, key, text, base64_encode(text, packed->bytes, packed->length));
    free(text);
}

/* A row comes packed, where the timeline packed its blocks as it made them, or as blocks: both
 * give the same bytes. */
static void add_row(struct bytes *packed, const struct timeline_row *row, bool is_stream)
{
    struct packed_row own = {.has_launches = is_stream};

    bytes_add_varint(packed, row->count);
    bytes_add(packed, row->packed, row->packed_bytes);
    for (size_t i = 0; row->blocks && i < row->count; i++)
        timeline_pack(&own, &row->blocks[i]);
    bytes_add(packed, own.bytes.bytes, own.bytes.length);
    bytes_clear(&own.bytes);
}

/* The keys are what the page knows lanes by; a new kind without one would be drawn as nothing,
 * hence no default and the compiler's warning. */
static const char *kind_key(enum timeline_lane_kind kind)
{
    switch (kind) {
    case TIMELINE_ACCOUNTS:
        return "accounts";
    case TIMELINE_STREAM:
        return "stream";
    case TIMELINE_MODULES:
        return "modules";
    case TIMELINE_THREAD:
        return "thread";
    case TIMELINE_PYTHON:
        return "python";
    case TIMELINE_PHASES:
        return "phases";
    case TIMELINE_RANGES:
        return "ranges";
    case TIMELINE_ALLOCATIONS:
        return "allocations";
    case TIMELINE_SEGMENTS:
        return "segments";
    }
    return "";
}

/* Blocks go as bytes in base64, not as JSON: a large timeline has a million numbers, which are
 * smaller this way, and a browser takes them as an array without parsing. */
static void write_lane(struct json_writer *json, const struct timeline_lane *lane)
{
    struct bytes packed = {0};
    size_t bytes = 0;

    for (size_t i = 0; i < lane->row_count; i++)
        bytes += lane->rows[i].packed_bytes + VARINT_BYTES_MAX;
    bytes_reserve(&packed, bytes);
    for (size_t i = 0; i < lane->row_count; i++)
        add_row(&packed, &lane->rows[i], lane->kind == TIMELINE_STREAM);
    json_begin_object(json, NULL, JSON_ON_ONE_LINE);
    json_text(json, "kind", kind_key(lane->kind));
    json_text(json, "title", lane->title);
    json_integer(json, "rows", (int64_t)lane->row_count);
    json_integer(json, "events", lane->event_count);
    json_integer(json, "hidden", lane->hidden_count);
    write_base64(json, "blocks", &packed);
    json_end_object(json);
    free(packed.bytes);
}

static void html_timeline_write_texts(struct json_writer *json, const char *key,
                                      const char *const *texts, size_t count)
{
    json_begin_array(json, key, JSON_ON_ONE_LINE);
    for (size_t i = 0; i < count; i++)
        json_text(json, NULL, texts[i]);
    json_end_array(json);
}

static void write_classes(struct json_writer *json, const struct timeline *timeline)
{
    json_begin_array(json, "classes", JSON_ON_ONE_LINE);
    for (size_t i = 0; i < timeline->class_count; i++) {
        json_begin_object(json, NULL, JSON_ON_ONE_LINE);
        json_text(json, "key", timeline->classes[i].key);
        json_text(json, "title", timeline->classes[i].title);
        json_text(json, "account", timeline->classes[i].account);
        json_end_object(json);
    }
    json_end_array(json);
    json_begin_array(json, "labels", JSON_ON_ONE_LINE); /* three numbers each */
    for (size_t i = 0; i < timeline->label_count; i++) {
        json_integer(json, NULL, timeline->labels[i].name);
        json_integer(json, NULL, timeline->labels[i].module);
        json_integer(json, NULL, timeline->labels[i].class);
    }
    json_end_array(json);
}

/* The critical path: of each link the distance from the end of the one before, how long it is, its
 * lane plus one (0: none), and its kind. Links follow each other nearly without gaps, so that
 * most distances are 0. */
static void write_path(struct json_writer *json, const struct timeline *timeline)
{
    struct bytes packed = {0};
    int64_t at_ns = 0;

    if (timeline->path_count == 0) {
        json_null(json, "path");
        return;
    }
    for (size_t i = 0; i < timeline->path_count; i++) {
        const struct timeline_link *link = &timeline->path[i];

        bytes_add_zigzag(&packed, link->start_ns - at_ns);
        bytes_add_varint(&packed, link->duration_ns > 0 ? (uint64_t)link->duration_ns : 0);
        bytes_add_varint(&packed, link->lane == UINT32_MAX ? 0 : (uint64_t)link->lane + 1);
        bytes_add_varint(&packed, link->kind);
        at_ns = link->start_ns + link->duration_ns;
    }
    json_begin_object(json, "path", JSON_ON_ONE_LINE);
    json_integer(json, "step", timeline->path_step);
    json_integer(json, "count", (int64_t)timeline->path_count);
    html_timeline_write_texts(json, "kinds", timeline->path_kinds, timeline->path_kind_count);
    html_timeline_write_texts(json, "accounts", timeline->path_accounts, timeline->path_kind_count);
    write_base64(json, "links", &packed);
    json_end_object(json);
    free(packed.bytes);
}

/* Each region tells below which duration events were merged in it: the page must not show a
 * merged block as one event where it zooms in. */
static void html_timeline_write_steps(struct json_writer *json, const struct timeline *timeline)
{
    json_begin_array(json, "steps", JSON_ON_ONE_LINE);
    for (size_t i = 0; i < timeline->step_count; i++) {
        const struct timeline_step *step = &timeline->steps[i];

        json_begin_object(json, NULL, JSON_ON_ONE_LINE);
        json_integer(json, "number", step->number);
        json_integer(json, "start", step->start_ns);
        json_integer(json, "end", step->end_ns);
        json_boolean(json, "outlier", step->is_outlier);
        json_boolean(json, "typical", step->is_typical);
        json_end_object(json);
    }
    json_end_array(json);
    json_begin_array(json, "regions", JSON_ON_ONE_LINE);
    for (size_t i = 0; i < timeline->region_count; i++) {
        json_begin_object(json, NULL, JSON_ON_ONE_LINE);
        json_integer(json, "start", timeline->regions[i].start_ns);
        json_integer(json, "end", timeline->regions[i].end_ns);
        json_integer(json, "resolution", timeline->regions[i].resolution_ns);
        json_end_object(json);
    }
    json_end_array(json);
}

/* The values line by line: all moments of the first line, then of the second. */
static void write_one_series(struct json_writer *json, const struct timeline_series *series)
{
    json_begin_object(json, NULL, JSON_ON_ONE_LINE);
    json_text(json, "key", series->key);
    json_text(json, "title", series->title);
    json_text(json, "unit", series->unit);
    json_boolean(json, "stacked", series->is_stacked);
    json_integer(json, "summed", (int64_t)series->summed_count);
    html_timeline_write_texts(json, "keys", series->line_keys, series->line_count);
    html_timeline_write_texts(json, "titles", series->line_titles, series->line_count);
    json_integer(json, "moments", series->merged_count);
    json_begin_array(json, "times", JSON_ON_ONE_LINE);
    for (size_t i = 0; i < series->point_count; i++)
        json_integer(json, NULL, series->times_ns[i]);
    json_end_array(json);
    json_begin_array(json, "values", JSON_ON_ONE_LINE);
    /* In memory moment by moment, as they come; the page draws a line at a time. */
    for (size_t line = 0; line < series->line_count; line++) {
        json_begin_array(json, NULL, JSON_ON_ONE_LINE);
        for (size_t i = 0; i < series->point_count; i++)
            json_real(json, NULL, series->values[i * series->line_count + line]);
        json_end_array(json);
    }
    json_end_array(json);
    json_end_object(json);
}

/* Names before lanes: a reader that goes through the text once has them when blocks refer to
 * them. */
void write_timeline(struct json_writer *json, const char *key, const struct timeline *timeline)
{
    if (!timeline) {
        json_null(json, key);
        return;
    }
    json_begin_object(json, key, JSON_ONE_PER_LINE);
    json_boolean(json, "is_map", timeline->is_map);
    json_integer(json, "duration", timeline->duration_ns);
    json_text(json, "step_word", timeline->step_word);
    json_integer(json, "events", timeline->event_count);
    json_integer(json, "blocks", timeline->block_count);
    json_integer(json, "left_out_tracks", timeline->left_out_tracks);
    json_integer(json, "left_out_events", timeline->left_out_events);
    html_timeline_write_texts(json, "names", timeline->names, timeline->name_count);
    html_timeline_write_texts(json, "modules", timeline->modules, timeline->module_count);
    write_classes(json, timeline);
    html_timeline_write_steps(json, timeline);
    write_path(json, timeline);
    json_begin_array(json, "lanes", JSON_ONE_PER_LINE);
    for (size_t i = 0; i < timeline->lane_count; i++)
        write_lane(json, &timeline->lanes[i]);
    json_end_array(json);
    json_begin_array(json, "series", JSON_ONE_PER_LINE);
    for (size_t i = 0; i < timeline->series_count; i++)
        write_one_series(json, &timeline->series[i]);
    json_end_array(json);
    json_end_object(json);
}
