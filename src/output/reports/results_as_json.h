/* The results as one JSON object: what `--json` prints, and what the HTML page shows. */
#ifndef FLOPLEDGER_OUTPUT_REPORTS_RESULTS_AS_JSON_H
#define FLOPLEDGER_OUTPUT_REPORTS_RESULTS_AS_JSON_H

#include "base/json/json_writer.h"
#include "output/results/results.h"

/* Described in docs/formats/report-json.md. Inside markup (json->is_in_markup) columns also say how
 * a page shows them: "priority" and "bar". Write errors show in ferror(json->output). */
void write_results_as_json(struct json_writer *json, const struct results *results);

#endif
