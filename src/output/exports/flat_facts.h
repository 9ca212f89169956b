/* What results hold beside their tables, as plain tables: the traces, all single numbers, findings,
 * and what is not known. */
#ifndef FLOPLEDGER_OUTPUT_EXPORTS_FLAT_FACTS_H
#define FLOPLEDGER_OUTPUT_EXPORTS_FLAT_FACTS_H

#include "output/exports/flat_tables.h"

enum { FLAT_FACTS_COUNT = 4 };

/* Adds the tables traces, numbers, findings and not_known to `flat`, which has room for them. */
void flatten_facts(struct flat_tables *flat, const struct results *results);

/* The first two cells of a row: the index of the trace, and its rank where that is known. */
void flat_name_trace(struct value *cells, const struct results *results, size_t trace);

#endif
