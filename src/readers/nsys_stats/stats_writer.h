/* Writes the table of a report of nsys-stats. */
#ifndef FLOPLEDGER_READERS_NSYS_STATS_STATS_WRITER_H
#define FLOPLEDGER_READERS_NSYS_STATS_STATS_WRITER_H

#include "base/json/json_writer.h"
#include "readers/nsys_stats/stats_table.h"

#include <stdio.h>

/* As `nsys stats --format csv`: a line of titles, then one a row; quoted where needed. */
void stats_write_csv(FILE *output, const struct stats_table *table);

/* As `nsys stats --format json`: an array with an object a row, whose keys are the titles. `key`:
 * of the array in the object around it, or NULL. */
void stats_write_json(struct json_writer *writer, const char *key, const struct stats_table *table);

/* For people: aligned; where `width` columns do not hold it all, names are shortened and what is
 * less important is left out. Of more than 100,000 rows the titles come again. */
void stats_write_text(FILE *output, const struct stats_table *table, int width);

#endif
