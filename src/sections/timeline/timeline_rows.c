/* The blocks of a timeline. */
#include "sections/timeline/timeline_rows.h"

#include "base/core/array.h"
#include "base/core/invariant.h"

#include <stdlib.h>
#include <string.h>

/* A longer name is cut, and beyond so many bytes of names no more are kept. */
enum { NAME_BYTES_MAX = 200, NAMES_BYTES_MAX = 1 << 20 };

static const char cut_mark[] = "...";
static const char no_name[] = "(name left out)";

static void text_list_init(struct text_list *list, size_t ids)
{
    *list = (struct text_list){0};
    list->index_of = require_memory(calloc(ids + 1, sizeof *list->index_of));
    ARRAY_ADD(list->texts, list->count, "");
}

static void text_list_clear(struct text_list *list)
{
    free(list->texts);
    free(list->index_of);
    *list = (struct text_list){0};
}

static const char *shortened(struct results *results, const char *text)
{
    size_t length = strlen(text);
    char *copy;

    if (length <= NAME_BYTES_MAX)
        return results_text(results, text);
    length = NAME_BYTES_MAX;
    while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80)
        length--; /* not inside a character */
    copy = results_allocate(results, length + sizeof cut_mark);
    memcpy(copy, text, length);
    memcpy(copy + length, cut_mark, sizeof cut_mark);
    return copy;
}

static uint32_t text_index(struct text_list *list, struct results *results, uint32_t id,
                           const char *text)
{
    if (list->index_of[id])
        return list->index_of[id];
    ARRAY_ROOM(list->texts, list->count);
    if (list->bytes > NAMES_BYTES_MAX)
        list->texts[list->count] = no_name;
    else
        list->texts[list->count] = shortened(results, text);
    list->bytes += strlen(list->texts[list->count]);
    list->index_of[id] = (uint32_t)list->count;
    return (uint32_t)list->count++;
}

static uint32_t label_index(struct timeline_rows *rows, const struct timeline_label *label)
{
    uint64_t key = pair_key(label->name, (label->module << 7) | label->class);
    uint32_t index = hash_map_add(&rows->label_of, key, (uint32_t)rows->label_count);

    if (index < rows->label_count)
        return index;
    ARRAY_ADD(rows->labels, rows->label_count, *label);
    return index;
}

static uint32_t label_of_piece(struct timeline_rows *rows, const struct timeline_piece *piece)
{
    struct timeline_label label = {.class = piece->class};

    if (piece->name)
        label.name = text_index(&rows->names, rows->results, piece->name,
                                trace_text(rows->trace, piece->name));
    if (piece->module != NO_MODULE)
        label.module = text_index(&rows->modules, rows->results, piece->module,
                                  rows->tree->modules[piece->module].name);
    return label_index(rows, &label);
}

static void timeline_rows_append(struct growing_row *row, const struct timeline_block *block)
{
    ARRAY_ADD(row->blocks, row->count, *block);
}

static void append_piece(struct timeline_rows *rows, struct growing_row *row,
                         const struct timeline_piece *piece)
{
    struct timeline_block block = {.start_ns = piece->start_ns - rows->start_ns,
                                   .duration_ns = piece->duration_ns,
                                   .filled_ns = piece->duration_ns,
                                   .launch_delay_ns = TIMELINE_NO_LAUNCH,
                                   .label = label_of_piece(rows, piece),
                                   .count = 1};

    if (piece->launch != NO_EVENT) {
        const struct event *launch = &rows->trace->host[piece->launch];
        uint32_t lane = rows->lane_of_track[launch->track];

        if (lane != NO_EVENT && launch->start_ns <= piece->start_ns) {
            block.launch_delay_ns = piece->start_ns - launch->start_ns;
            block.launch_lane = lane;
        }
    }
    timeline_rows_append(row, &block);
}

static uint32_t main_class(const struct merged_pieces *merged)
{
    uint32_t best = merged->first.class;

    for (uint32_t class = 0; class < TIMELINE_CLASSES_IN_ALL_MAX; class ++)
        if (merged->class_ns[class] > merged->class_ns[best])
            best = class;
    return best;
}

static void flush(struct timeline_rows *rows, struct growing_row *row)
{
    struct merged_pieces *merged = &row->merged;
    struct timeline_block block;

    if (merged->count == 0)
        return;
    if (merged->count == 1) {
        append_piece(rows, row, &merged->first);
    } else {
        block = (struct timeline_block){
            .start_ns = merged->start_ns - rows->start_ns,
            .duration_ns = merged->end_ns - merged->start_ns,
            .filled_ns = merged->filled_ns,
            .launch_delay_ns = TIMELINE_NO_LAUNCH,
            .count = merged->count,
            .label = merged->is_of_one_name
                         ? label_of_piece(rows, &merged->first)
                         : label_index(rows, &(struct timeline_label){.class = main_class(merged)}),
        };
        timeline_rows_append(row, &block);
    }
    *merged = (struct merged_pieces){0};
}

static void timeline_rows_merge(struct merged_pieces *merged, const struct timeline_piece *piece)
{
    int64_t end_ns = piece->start_ns + piece->duration_ns;

    if (merged->count == 0) {
        merged->first = *piece;
        merged->start_ns = piece->start_ns;
        merged->end_ns = end_ns;
        merged->is_of_one_name = true;
    }
    if (piece->name != merged->first.name || piece->module != merged->first.module ||
        piece->class != merged->first.class)
        merged->is_of_one_name = false;
    if (end_ns > merged->end_ns)
        merged->end_ns = end_ns;
    merged->filled_ns += piece->duration_ns;
    merged->class_ns[piece->class] += piece->duration_ns;
    merged->count++;
}

void timeline_rows_init(struct timeline_rows *rows)
{
    rows->rows = require_memory(calloc(rows->row_count + 1, sizeof *rows->rows));
    text_list_init(&rows->names, string_pool_count(&rows->trace->strings));
    text_list_init(&rows->modules, rows->tree->count);
}

void timeline_rows_take(void *context, const struct timeline_piece *piece)
{
    struct timeline_rows *rows = context;
    struct growing_row *row = &rows->rows[rows->first_row[piece->lane] + piece->row];
    int64_t resolution_ns;
    int64_t bucket;

    while (row->region + 1 < rows->region_count &&
           piece->start_ns >= rows->regions[row->region].end_ns) {
        flush(rows, row);
        row->region++;
    }
    resolution_ns = rows->regions[row->region].resolution_ns;
    if (piece->duration_ns >= resolution_ns) {
        flush(rows, row);
        append_piece(rows, row, piece);
        return;
    }
    bucket = (piece->start_ns - rows->start_ns) / resolution_ns;
    if (row->merged.count && row->merged.bucket != bucket)
        flush(rows, row);
    timeline_rows_merge(&row->merged, piece);
    row->merged.bucket = bucket;
}

static void *moved(struct results *results, const void *list, size_t bytes)
{
    void *copy = results_allocate(results, bytes + 1);

    if (bytes)
        memcpy(copy, list, bytes);
    return copy;
}

static void move_row(struct timeline_rows *rows, struct growing_row *from, struct timeline_row *to)
{
    to->count = from->count;
    to->blocks = moved(rows->results, from->blocks, from->count * sizeof *from->blocks);
    free(from->blocks);
    *from = (struct growing_row){0};
}

void timeline_rows_finish(struct timeline_rows *rows, struct timeline *timeline)
{
    struct results *results = rows->results;

    for (size_t i = 0; i < rows->row_count; i++)
        flush(rows, &rows->rows[i]);
    for (size_t i = 0; i < timeline->lane_count; i++) {
        struct timeline_lane *lane = &timeline->lanes[i];

        lane->rows = results_allocate(results, lane->row_count * sizeof *lane->rows + 1);
        for (size_t j = 0; j < lane->row_count; j++) {
            move_row(rows, &rows->rows[rows->first_row[i] + j], &lane->rows[j]);
            timeline->block_count += (int64_t)lane->rows[j].count;
        }
    }
    timeline->names = moved(results, rows->names.texts, rows->names.count * sizeof(char *));
    timeline->name_count = rows->names.count;
    timeline->modules = moved(results, rows->modules.texts, rows->modules.count * sizeof(char *));
    timeline->module_count = rows->modules.count;
    timeline->labels = moved(results, rows->labels, rows->label_count * sizeof *rows->labels);
    timeline->label_count = rows->label_count;
}

void timeline_rows_clear(struct timeline_rows *rows)
{
    for (size_t i = 0; rows->rows && i < rows->row_count; i++)
        free(rows->rows[i].blocks);
    free(rows->rows);
    free(rows->labels);
    hash_map_clear(&rows->label_of);
    text_list_clear(&rows->names);
    text_list_clear(&rows->modules);
}
