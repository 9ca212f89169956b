/* Names of the columns of plain tables. */
#include "output/exports/flat_tables.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

const struct flat_column flat_lead_columns[FLAT_LEAD_COUNT] = {
    {"trace", UNIT_COUNT}, {"rank", UNIT_COUNT}, {"row", UNIT_COUNT}, {"depth", UNIT_COUNT}};

/* A column of a file has no other place for its unit than its name. */
static const char *unit_suffix(enum unit unit)
{
    switch (unit) {
    case UNIT_TIME_NS:
        return "_ns";
    case UNIT_BYTES:
        return "_bytes";
    case UNIT_FRACTION:
        return "_fraction";
    case UNIT_BYTES_PER_SECOND:
        return "_bytes_per_second";
    case UNIT_FLOPS:
        return "_flops";
    case UNIT_FLOPS_PER_SECOND:
        return "_flops_per_second";
    case UNIT_NONE:
    case UNIT_TEXT:
    case UNIT_COUNT:
    case UNIT_NUMBER:
    case UNIT_NOT_KNOWN:
        break;
    }
    return "";
}

/* True of an empty ending: a unit without a suffix leaves the name as it is. */
static bool flat_ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), end_length = strlen(end);

    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

/* Letters count alike, as column names of SQL do. */
static bool is_lead_column(const char *key)
{
    for (int i = 0; i < FLAT_LEAD_COUNT; i++)
        if (strcasecmp(flat_lead_columns[i].name, key) == 0)
            return true;
    return false;
}

/* The unit goes into the name, since a plain table has no other place for it: "duration_ns". A
 * name that has it already stays, and one that is that of a leading column gets a number, as
 * columns of a table must differ (SQL compares them without case). */
const char *flat_column_name(struct arena *arena, const struct column *column, bool is_of_overview)
{
    const char *suffix = unit_suffix(column->unit);
    size_t size = strlen(column->key) + strlen(suffix) + 3;
    char *name;

    if (!is_of_overview && is_lead_column(column->key))
        suffix = "_2";
    else if (flat_ends_with(column->key, suffix) ||
             strcmp(column->key, suffix + (suffix[0] == '_')) == 0)
        return column->key;
    name = arena_allocate(arena, size);
    (void)snprintf(name, size, "%s%s", column->key, suffix);
    return name;
}
