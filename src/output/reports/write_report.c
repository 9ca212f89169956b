/* The table of reports. */
#include "output/reports/write_report.h"

#define REPORT(name) extern const struct report name##_report;
#include "output/reports/list.def"
#undef REPORT

static const struct report *const reports[] = {
#define REPORT(name) &name##_report,
#include "output/reports/list.def"
#undef REPORT
    NULL,
};

const char *const report_names[] = {
#define REPORT(name) #name,
#include "output/reports/list.def"
#undef REPORT
    NULL,
};

const struct report *const *all_reports(void)
{
    return reports;
}
