/* Results as bytes: each struct is described once, for both directions. */
#include "base/core/arena.h"
#include "output/results/metrics.h"

#include <stdint.h>
#include <string.h>

/* Writes where `to` is set, else reads from `at` on. */
struct coder {
    struct bytes *to;
    const unsigned char *at;
    const unsigned char *end;
    struct results *results; /* that are read: what they lead to lives in their arena */
    bool is_broken;
};

static void code_raw(struct coder *coder, void *raw, size_t length)
{
    if (coder->to) {
        bytes_add(coder->to, raw, length);
        return;
    }
    if (coder->is_broken || length > (size_t)(coder->end - coder->at)) {
        coder->is_broken = true; /* what stands behind it is out of step, and is read as zeros */
        memset(raw, 0, length);
        return;
    }
    memcpy(raw, coder->at, length);
    coder->at += length;
}

#define CODE(coder, field) code_raw(coder, &(field), sizeof(field))

/* Any other byte than 0 and 1 is no bool, and may not be looked at as one. */
static void code_flag(struct coder *coder, bool *flag)
{
    unsigned char byte = coder->to && *flag;

    CODE(coder, byte);
    coder->is_broken |= byte > 1;
    if (!coder->to)
        *flag = byte == 1;
}

static void code_text(struct coder *coder, const char **text)
{
    size_t length = coder->to && *text ? strlen(*text) + 1 : 0; /* 0: NULL */

    CODE(coder, length);
    if (coder->to) {
        bytes_add(coder->to, *text, length);
        return;
    }
    *text = NULL;
    if (length == 0)
        return;
    if (length > (size_t)(coder->end - coder->at) || coder->at[length - 1] != '\0') {
        coder->is_broken = true;
        return;
    }
    *text = (const char *)coder->at;
    coder->at += length;
}

/* Where a key lies says which metric it is: see metric_of_key. */
static void code_key(struct coder *coder, const char **key)
{
    int metric = coder->to ? (int)metric_of_key(*key) : 0;

    CODE(coder, metric);
    code_text(coder, key);
    if (!coder->to && metric >= 0 && metric < METRIC_COUNT && !coder->is_broken)
        *key = metric_declarations[metric].key;
}

/* How many elements a list has: of each, `bytes_min` at least stand in what is read. */
static size_t code_count(struct coder *coder, size_t count, size_t bytes_min)
{
    CODE(coder, count);
    if (!coder->to && count > (size_t)(coder->end - coder->at) / bytes_min) {
        coder->is_broken = true;
        count = 0;
    }
    return count;
}

static void *new_list(struct coder *coder, size_t count, size_t element_bytes)
{
    return count ? results_allocate(coder->results, count * element_bytes) : NULL;
}

/* A list, NULL where it is empty, whose elements `code_element` codes through `element`. */
#define CODE_LIST(coder, list, count, code_element)                         \
    do {                                                                    \
        (count) = (__typeof__(count))code_count(coder, (size_t)(count), 1); \
        if (!(coder)->to)                                                   \
            (list) = new_list(coder, (size_t)(count), sizeof *(list));      \
        for (size_t element = 0; element < (size_t)(count); element++)      \
            code_element(coder, &(list)[element]);                          \
    } while (0)

/* A list of what holds no pointer. */
#define CODE_PLAIN_LIST(coder, list, count)                                               \
    do {                                                                                  \
        (count) = (__typeof__(count))code_count(coder, (size_t)(count), sizeof *(list));  \
        if (!(coder)->to)                                                                 \
            (list) = new_list(coder, (size_t)(count), sizeof *(list));                    \
        if ((count) > 0)                                                                  \
            code_raw(coder, (void *)(uintptr_t)(list), (size_t)(count) * sizeof *(list)); \
    } while (0)

/* One struct behind a pointer that may be NULL. */
#define CODE_POINTER(coder, pointer, code_it)                  \
    do {                                                       \
        bool is_there = (pointer) != NULL;                     \
                                                               \
        code_flag(coder, &is_there);                           \
        if (is_there && !(coder)->to)                          \
            (pointer) = new_list(coder, 1, sizeof *(pointer)); \
        if (is_there)                                          \
            code_it(coder, (void *)(uintptr_t)(pointer));      \
    } while (0)

static void code_texts(struct coder *coder, const char *const **texts, size_t *count)
{
    const char **list = (const char **)(uintptr_t)*texts;

    CODE_LIST(coder, list, *count, code_text);
    *texts = list;
}

/* ---- sections ------------------------------------------------------------------------------- */

static void code_value(struct coder *coder, struct value *value)
{
    CODE(coder, value->unit);
    if (value->unit == UNIT_TEXT || value->unit == UNIT_NOT_KNOWN)
        code_text(coder, &value->text);
    else if (value->unit != UNIT_NONE)
        CODE(coder, value->integer); /* or `real`, which is as long */
}

static void code_number(struct coder *coder, struct number *number)
{
    code_key(coder, &number->key);
    code_text(coder, &number->title);
    code_value(coder, &number->value);
    code_text(coder, &number->note);
}

static void code_column(struct coder *coder, struct column *column)
{
    code_key(coder, &column->key);
    code_text(coder, &column->title);
    CODE(coder, column->unit);
    CODE(coder, column->priority);
    CODE(coder, column->bar);
}

/* Two counts that contradict the third are damage: cells are taken by row and column without
 * another check. */
static void code_table(struct coder *coder, struct table *table)
{
    size_t cell_count = table->row_count * table->column_count;

    code_text(coder, &table->key);
    code_text(coder, &table->title);
    code_text(coder, &table->note);
    CODE_LIST(coder, table->columns, table->column_count, code_column);
    CODE_LIST(coder, table->cells, cell_count, code_value);
    CODE_PLAIN_LIST(coder, table->depths, table->row_count);
    CODE(coder, table->rows_in_all);
    if (table->column_count * table->row_count != cell_count)
        coder->is_broken = true;
}

static void code_estimate(struct coder *coder, struct advice_estimate *estimate)
{
    const char *const *accounts = estimate->accounts;
    struct advice_estimate plain = *estimate;

    CODE(coder, plain); /* its numbers; each pointer in it is replaced below */
    if (!coder->to)
        *estimate = plain;
    else
        estimate = &plain;
    code_text(coder, &estimate->id);
    estimate->accounts = accounts;
    code_texts(coder, &estimate->accounts, &estimate->account_count);
    code_text(coder, &estimate->change);
    code_text(coder, &estimate->span);
    CODE_PLAIN_LIST(coder, estimate->steps, estimate->step_count);
    code_text(coder, &estimate->confidence);
    code_text(coder, &estimate->reason);
}

static void code_finding(struct coder *coder, struct finding *finding)
{
    code_text(coder, &finding->what);
    code_text(coder, &finding->evidence);
    code_text(coder, &finding->try_this);
    CODE(coder, finding->cost_ns);
    code_flag(coder, &finding->is_warning);
    CODE_POINTER(coder, finding->estimate, code_estimate);
}

static void code_table_pointer(struct coder *coder, struct table **table)
{
    CODE_POINTER(coder, *table, code_table);
}

static void code_section(struct coder *coder, struct section *section)
{
    code_text(coder, &section->key);
    code_text(coder, &section->title);
    code_text(coder, &section->intro);
    CODE_LIST(coder, section->numbers, section->number_count, code_number);
    CODE_LIST(coder, section->tables, section->table_count, code_table_pointer);
    CODE_LIST(coder, section->findings, section->finding_count, code_finding);
    CODE(coder, section->role);
}

static void code_section_pointer(struct coder *coder, struct section **section)
{
    CODE_POINTER(coder, *section, code_section);
}

/* ---- timelines ------------------------------------------------------------------------------ */

static void code_class(struct coder *coder, struct timeline_class *class)
{
    code_text(coder, &class->key);
    code_text(coder, &class->title);
    code_text(coder, &class->account);
}

/* A row has blocks or packed bytes; a count that does not fit the list behind it can only come
 * from damage. */
static void code_row(struct coder *coder, struct timeline_row *row)
{
    size_t count = row->blocks ? row->count : 0;

    CODE(coder, row->count);
    CODE_PLAIN_LIST(coder, row->blocks, count);
    CODE_PLAIN_LIST(coder, row->packed, row->packed_bytes);
    if (row->blocks && count != row->count)
        coder->is_broken = true;
}

static void code_lane(struct coder *coder, struct timeline_lane *lane)
{
    CODE(coder, lane->kind);
    code_text(coder, &lane->title);
    CODE_LIST(coder, lane->rows, lane->row_count, code_row);
    CODE(coder, lane->event_count);
    CODE(coder, lane->hidden_count);
}

/* One function writes and reads. In what is read, counts that contradict one another are
 * damage; in what is written they never do. */
static void code_series(struct coder *coder, struct timeline_series *series)
{
    size_t title_count = series->line_count, value_count = series->point_count * series->line_count;

    code_text(coder, &series->key);
    code_text(coder, &series->title);
    code_text(coder, &series->unit);
    code_flag(coder, &series->is_stacked);
    code_texts(coder, &series->line_keys, &series->line_count);
    code_texts(coder, &series->line_titles, &title_count);
    CODE(coder, series->summed_count);
    CODE_PLAIN_LIST(coder, series->times_ns, series->point_count);
    CODE_PLAIN_LIST(coder, series->values, value_count);
    CODE(coder, series->merged_count);
    if (title_count != series->line_count ||
        value_count != series->point_count * series->line_count)
        coder->is_broken = true;
}

/* Each kind of the path has an account: lists of different lengths are no path, and would be
 * read beyond an end. */
static void code_path_of_timeline(struct coder *coder, struct timeline *timeline)
{
    size_t account_count = timeline->path_kind_count;

    CODE_PLAIN_LIST(coder, timeline->path, timeline->path_count);
    CODE(coder, timeline->path_step);
    code_texts(coder, &timeline->path_kinds, &timeline->path_kind_count);
    code_texts(coder, &timeline->path_accounts, &account_count);
    if (account_count != timeline->path_kind_count)
        coder->is_broken = true;
}

/* One list of fields for both directions: what is written in one order cannot be read in
 * another. The cast is for reading only, where the list is made anew. */
static void code_timeline(struct coder *coder, struct timeline *timeline)
{
    struct timeline_class *classes = (struct timeline_class *)(uintptr_t)timeline->classes;

    code_flag(coder, &timeline->is_map);
    CODE(coder, timeline->base_ns);
    CODE(coder, timeline->duration_ns);
    code_texts(coder, &timeline->names, &timeline->name_count);
    code_texts(coder, &timeline->modules, &timeline->module_count);
    CODE_LIST(coder, classes, timeline->class_count, code_class);
    timeline->classes = classes;
    CODE_PLAIN_LIST(coder, timeline->labels, timeline->label_count);
    CODE_LIST(coder, timeline->lanes, timeline->lane_count, code_lane);
    CODE_PLAIN_LIST(coder, timeline->regions, timeline->region_count);
    CODE_PLAIN_LIST(coder, timeline->steps, timeline->step_count);
    code_path_of_timeline(coder, timeline);
    CODE_LIST(coder, timeline->series, timeline->series_count, code_series);
    CODE(coder, timeline->event_count);
    CODE(coder, timeline->block_count);
    CODE(coder, timeline->left_out_tracks);
    CODE(coder, timeline->left_out_events);
    code_text(coder, &timeline->step_word);
}

/* ---- all ------------------------------------------------------------------------------------ */

/* Read sections are put in by `rank_add_section`, which keeps what it needs to find them; when
 * writing there is nothing to put, and after damage nothing that can be trusted. */
static void code_rank(struct coder *coder, struct rank_results *rank)
{
    struct section **sections = rank->sections;
    size_t section_count = rank->section_count;

    code_text(coder, &rank->label);
    code_text(coder, &rank->file);
    code_text(coder, &rank->name);
    CODE(coder, rank->rank);
    code_text(coder, &rank->headline);
    code_flag(coder, &rank->is_largest_loss_unknown);
    CODE(coder, rank->speakers);
    CODE_LIST(coder, sections, section_count, code_section_pointer);
    CODE_POINTER(coder, rank->timeline, code_timeline);
    CODE_POINTER(coder, rank->memory_map, code_timeline);
    for (size_t i = 0; i < section_count && !coder->to && !coder->is_broken; i++)
        rank_add_section(coder->results, rank, sections[i]);
}

/* Parts stand in a fixed order and without names, so that bytes fit only the program that
 * wrote them. */
static void code_results(struct coder *coder, struct results *results)
{
    code_text(coder, &results->headline);
    CODE_POINTER(coder, results->overview, code_section);
    CODE(coder, results->speakers);
    CODE_LIST(coder, results->ranks, results->rank_count, code_rank);
    CODE(coder, results->detailed_rank);
    code_text(coder, &results->awaited_rank);
    code_flag(coder, &results->is_rank_chosen);
    CODE_LIST(coder, results->problems, results->problem_count, code_finding);
}

void results_to_bytes(struct bytes *to, const struct results *results)
{
    struct coder coder = {.to = to};
    struct results copy = *results;

    code_results(&coder, &copy);
}

/* Bytes left over are damage as much as bytes that are missing. The chosen rank is checked
 * here, as it is used as an index. */
bool results_from_bytes(struct results *results, const unsigned char *bytes, size_t length)
{
    struct coder coder = {.at = bytes, .end = bytes + length, .results = results};

    code_results(&coder, results);
    if (coder.is_broken || coder.at != coder.end)
        return false;
    return results->detailed_rank == ALL_RANKS || results->detailed_rank < results->rank_count ||
           results->rank_count == 0;
}
