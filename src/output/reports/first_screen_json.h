/* First screens as JSON, for the page: it shows the same words and numbers as a terminal. */
#ifndef FLOPLEDGER_OUTPUT_REPORTS_FIRST_SCREEN_JSON_H
#define FLOPLEDGER_OUTPUT_REPORTS_FIRST_SCREEN_JSON_H

#include "base/json/json_writer.h"
#include "output/results/results.h"

/* An object: "job", of all ranks together, null where there is one; and "ranks", one of each. */
void write_first_screens(struct json_writer *json, const struct results *results);

#endif
