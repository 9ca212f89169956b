/* What a report is: one way to print results.
 *
 * To add one: write reports/<name>.c with `const struct report <name>_report`, and one line
 * REPORT(<name>) in list.def. */
#ifndef FLOPLEDGER_REPORTS_REPORT_H
#define FLOPLEDGER_REPORTS_REPORT_H

#include "base/attributes.h"
#include "base/error.h"
#include "results/results.h"

#include <stdbool.h>
#include <stdio.h>

struct report_options {
    int width; /* columns of the screen */
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

#endif
