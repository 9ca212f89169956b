/* The report for programs: JSON with a versioned schema, described in docs/formats/report-json.md.
 */
#include "output/reports/report.h"
#include "output/reports/results_as_json.h"

static bool write_json(FILE *output, const struct results *results,
                       const struct report_options *options, struct error *error)
{
    struct json_writer json = {.output = output};

    (void)options;
    (void)error;
    write_results_as_json(&json, results);
    return true;
}

const struct report json_report = {
    .name = "json",
    .summary = "for programs: exact numbers, a documented schema",
    .write = write_json,
};
