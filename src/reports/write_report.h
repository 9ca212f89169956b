/* The table of reports. */
#ifndef FLOPLEDGER_REPORTS_WRITE_REPORT_H
#define FLOPLEDGER_REPORTS_WRITE_REPORT_H

#include "reports/report.h"

/* NULL-terminated, in the order of list.def. */
const struct report *const *all_reports(void);

/* Their names, NULL-terminated, in the same order. */
extern const char *const report_names[];

#endif
