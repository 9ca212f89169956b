/* Results as plain tables. */
#include "base/text/utf8.h"
#include "output/exports/flat_facts.h"
#include "output/exports/flat_tables.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* One table of one rank, on its way into the flat one. */
struct source_table {
    const struct table *table;
    size_t trace; /* index of the rank; SIZE_MAX: of the overview */
};

/* All tables of one section and key. */
struct source_group {
    const char *section;
    const char *key;
    struct source_table *sources; /* [count] */
    size_t count;
};

struct flattening {
    struct flat_tables *flat;
    const struct results *results;
    struct source_group *groups; /* [group_count] */
    size_t group_count;
};

static size_t flat_column_of(const struct flat_table *table, const char *name)
{
    size_t i = 0;

    while (i < table->column_count && strcasecmp(table->columns[i].name, name) != 0)
        i++;
    return i;
}

/* ---- which tables there are ------------------------------------------------------------------ */

static struct source_group *flat_group_of(struct flattening *work, const char *section,
                                          const char *key)
{
    for (size_t i = 0; i < work->group_count; i++)
        if (strcmp(work->groups[i].section, section) == 0 && strcmp(work->groups[i].key, key) == 0)
            return &work->groups[i];
    ARENA_LIST_ADD(&work->flat->arena, work->groups, work->group_count,
                   (struct source_group){.section = section, .key = key});
    return &work->groups[work->group_count - 1];
}

static void add_source(struct flattening *work, struct source_group *group,
                       struct source_table source)
{
    ARENA_LIST_ADD(&work->flat->arena, group->sources, group->count, source);
}

static void add_tables_of(struct flattening *work, const struct section *section, size_t trace)
{
    for (size_t i = 0; i < section->table_count; i++)
        add_source(work, flat_group_of(work, section->key, section->tables[i]->key),
                   (struct source_table){section->tables[i], trace});
}

static void find_groups(struct flattening *work)
{
    const struct results *results = work->results;

    if (results->overview)
        add_tables_of(work, results->overview, SIZE_MAX);
    for (size_t i = 0; i < results->rank_count; i++)
        for (size_t k = 0; k < results->ranks[i].section_count; k++)
            add_tables_of(work, results->ranks[i].sections[k], i);
}

/* ---- one table ------------------------------------------------------------------------------- */

static size_t lead_count(const struct source_table *source)
{
    return source->trace == SIZE_MAX ? FLAT_OVERVIEW_LEAD_COUNT : FLAT_LEAD_COUNT;
}

static const char *flat_name_of(struct flattening *work, const struct source_table *source,
                                size_t column)
{
    return flat_column_name(&work->flat->arena, &source->table->columns[column],
                            source->trace == SIZE_MAX);
}

/* Ranks may lack columns that others have (a CPU trace beside GPU traces, a recording with memory
 * beside one without): one table of all ranks has them all, and a rank's missing cells are empty.
 */
/* The union of the columns, in the order in which they are first seen. */
static void collect_columns(struct flattening *work, struct flat_table *flat,
                            const struct source_group *group)
{
    size_t most = FLAT_LEAD_COUNT;

    for (size_t i = 0; i < group->count; i++)
        most += group->sources[i].table->column_count;
    flat->columns = arena_allocate(&work->flat->arena, most * sizeof *flat->columns);
    flat->column_count = lead_count(&group->sources[0]);
    memcpy(flat->columns, flat_lead_columns + FLAT_LEAD_COUNT - flat->column_count,
           flat->column_count * sizeof *flat_lead_columns);
    for (size_t i = 0; i < group->count; i++) {
        const struct table *table = group->sources[i].table;

        for (size_t k = 0; k < table->column_count; k++) {
            const char *name = flat_name_of(work, &group->sources[i], k);

            if (flat_column_of(flat, name) == flat->column_count)
                flat->columns[flat->column_count++] =
                    (struct flat_column){name, table->columns[k].unit};
        }
    }
}

static struct value clean_cell(struct flattening *work, struct value cell)
{
    if (cell.unit == UNIT_TEXT)
        return value_text(utf8_repaired(&work->flat->arena, cell.text));
    return cell.unit == UNIT_NOT_KNOWN ? value_none() : cell;
}

static void flat_add_rows(struct flattening *work, struct flat_table *flat,
                          const struct source_table *source)
{
    const struct table *table = source->table;
    size_t lead = lead_count(source);
    size_t *place = arena_allocate(&work->flat->arena, table->column_count * sizeof *place);

    for (size_t i = 0; i < table->column_count; i++)
        place[i] = flat_column_of(flat, flat_name_of(work, source, i));
    for (size_t row = 0; row < table->row_count; row++) {
        struct value *cells = &flat->cells[flat->row_count++ * flat->column_count];

        cells[lead - 2] = value_count((int64_t)row);
        cells[lead - 1] = value_count(table->depths[row]);
        if (lead == FLAT_LEAD_COUNT)
            flat_name_trace(cells, work->results, source->trace);
        for (size_t i = 0; i < table->column_count; i++)
            cells[place[i]] = clean_cell(work, table->cells[row * table->column_count + i]);
    }
}

static void flatten_group(struct flattening *work, const struct source_group *group)
{
    struct flat_table *flat = &work->flat->tables[work->flat->count++];
    size_t size = strlen(group->section) + strlen(group->key) + 2;
    char *name = arena_allocate(&work->flat->arena, size);
    size_t rows = 0;

    (void)snprintf(name, size, "%s_%s", group->section, group->key);
    *flat = (struct flat_table){
        .name = name, .title = utf8_repaired(&work->flat->arena, group->sources[0].table->title)};
    collect_columns(work, flat, group);
    for (size_t i = 0; i < group->count; i++)
        rows += group->sources[i].table->row_count;
    flat->cells =
        arena_allocate(&work->flat->arena, (rows * flat->column_count + 1) * sizeof *flat->cells);
    for (size_t i = 0; i < group->count; i++)
        flat_add_rows(work, flat, &group->sources[i]);
}

void flatten_results(struct flat_tables *flat, const struct results *results)
{
    struct flattening work = {.flat = flat, .results = results};

    find_groups(&work);
    flat->tables =
        arena_allocate(&flat->arena, (work.group_count + FLAT_FACTS_COUNT) * sizeof *flat->tables);
    flatten_facts(flat, results);
    for (size_t i = 0; i < work.group_count; i++)
        flatten_group(&work, &work.groups[i]);
}

void flat_tables_clear(struct flat_tables *flat)
{
    if (!flat)
        return;
    arena_clear(&flat->arena);
    *flat = (struct flat_tables){0};
}
