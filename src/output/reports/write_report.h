/* The table of reports. */
#ifndef FLOPLEDGER_OUTPUT_REPORTS_WRITE_REPORT_H
#define FLOPLEDGER_OUTPUT_REPORTS_WRITE_REPORT_H

#include "output/reports/report.h"

/* NULL-terminated, in the order of list.def. */
const struct report *const *all_reports(void);

/* Their names, NULL-terminated, in the same order. */
extern const char *const report_names[];

#endif
