/* The metrics of each rank, by identifier. */
#include "output/results/metrics.h"

#include "base/core/arena.h"

#include <stdint.h>
#include <string.h>

const struct metric_declaration metric_declarations[METRIC_COUNT] = {
#define METRIC(id, key, title, unit, help) [METRIC_##id] = {key, title, unit, help},
#include "output/results/metric_list.def"
};

/* Tables give their columns keys in many ways: written in place, through a list of columns, through
 * helpers that pass a key on. The address of a declared key goes through all of them unchanged, so
 * that none needs a parameter more, and other sections may well use the same text for something
 * else. */
enum metric metric_of_key(const char *key)
{
    uintptr_t offset = (uintptr_t)key - (uintptr_t)metric_declarations;

    return offset < sizeof metric_declarations && offset % sizeof *metric_declarations == 0
               ? (enum metric)(offset / sizeof *metric_declarations)
               : NO_METRIC;
}

struct metric_slot {
    struct value number; /* NONE: there is none */
    struct metric_column column;
};

/* Room for all metrics is made with the first one: a rank without any needs none. */
static struct metric_slot *slot_of(struct results *results, struct rank_results *rank,
                                   const char *key)
{
    enum metric metric = metric_of_key(key);

    if (metric == NO_METRIC)
        return NULL;
    if (!rank->metrics) {
        rank->metrics = results_allocate(results, METRIC_COUNT * sizeof *rank->metrics);
        for (size_t i = 0; i < METRIC_COUNT; i++)
            rank->metrics[i] = (struct metric_slot){.number = value_none()};
    }
    return &rank->metrics[metric];
}

/* The first section that has a metric gives it: later ones may show it again. */
static void metrics_enter(struct results *results, struct rank_results *rank,
                          const struct section *section)
{
    for (size_t i = 0; i < section->number_count; i++) {
        struct metric_slot *slot = slot_of(results, rank, section->numbers[i].key);

        if (slot && slot->number.unit == UNIT_NONE)
            slot->number = section->numbers[i].value;
    }
    for (size_t i = 0; i < section->table_count; i++)
        for (size_t k = 0; k < section->tables[i]->column_count; k++) {
            struct metric_slot *slot = slot_of(results, rank, section->tables[i]->columns[k].key);

            if (slot && !slot->column.table)
                slot->column = (struct metric_column){section->tables[i], k};
        }
}

void rank_add_section(struct results *results, struct rank_results *rank, struct section *section)
{
    rank->sections = arena_list_with_room(results->arena, rank->sections, rank->section_count,
                                          sizeof *rank->sections);
    rank->sections[rank->section_count++] = section;
    metrics_enter(results, rank, section);
}

const struct section *section_of_role(const struct rank_results *rank, enum section_role role)
{
    for (size_t i = 0; rank && i < rank->section_count; i++)
        if (rank->sections[i]->role == role)
            return rank->sections[i];
    return NULL;
}

struct value metric_number(const struct rank_results *rank, enum metric metric)
{
    return rank && rank->metrics ? rank->metrics[metric].number : value_none();
}

struct metric_column metric_column(const struct rank_results *rank, enum metric metric)
{
    return rank && rank->metrics ? rank->metrics[metric].column : (struct metric_column){0};
}

struct value metric_cell(const struct table *table, size_t row, enum metric metric)
{
    if (table && row < table->row_count)
        for (size_t i = 0; i < table->column_count; i++)
            if (metric_of_key(table->columns[i].key) == metric)
                return table->cells[row * table->column_count + i];
    return value_none();
}

/* A trace may list several devices; the one that was reported is marked, and is asked for by
 * the mark, not by its place. */
struct value name_of_reported_device(const struct rank_results *rank)
{
    struct metric_column reported = metric_column(rank, METRIC_DEVICE_IS_REPORTED);

    for (size_t row = 0; reported.table && row < reported.table->row_count; row++) {
        struct value is_reported = metric_column_cell(reported, row);

        if (is_reported.unit == UNIT_TEXT && strcmp(is_reported.text, "yes") == 0)
            return metric_cell(reported.table, row, METRIC_DEVICE_NAME);
    }
    return value_none();
}
