/* What a report is: one way to print results.
 *
 * To add one: write reports/<name>.c with `const struct report <name>_report`, and one line
 * REPORT(<name>) in list.def. */
#ifndef FLOPLEDGER_OUTPUT_REPORTS_REPORT_H
#define FLOPLEDGER_OUTPUT_REPORTS_REPORT_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "base/json/json_writer.h"
#include "output/results/results.h"

#include <stdbool.h>
#include <stdio.h>

/* How much of the results a text shows. */
enum report_extent {
    REPORT_WHOLE,        /* every section */
    REPORT_FIRST_SCREEN, /* what fits one screen */
    REPORT_SECTIONS,     /* those that are chosen */
    REPORT_LIST,         /* their names */
};

struct report_options {
    enum report_extent extent;
    const char *sections; /* of REPORT_SECTIONS: names as --section takes them */
    int width;            /* columns of the screen */
    bool use_color;
    bool use_unicode;
};

struct report {
    const char *name; /* "text", "json" */
    const char *summary;
    bool (*write)(FILE *output, const struct results *results, const struct report_options *options,
                  struct error *error);
    /* NULL, or asked before the work begins: false, and says why, where this report cannot be
     * written to such a place. */
    bool (*can_write)(bool is_terminal, struct error *error);
};

/* Described in docs/formats/report-json.md. Inside markup (json->is_in_markup) columns also say how
 * a page shows them: "priority" and "bar". Write errors show in ferror(json->output). */
void write_results_as_json(struct json_writer *json, const struct results *results);

#endif
