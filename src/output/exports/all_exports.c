/* The table of exports. Two have no file of their own: chrome's and Perfetto's traces are made from
 * the traces themselves and not from results (pipeline/export_chrome.c does that). */
#include "output/exports/export_format.h"

const struct export_format chrome_export = {
    .name = "chrome",
    .summary = "a trace for Perfetto, with the ledger as tracks, several ranks in one",
    .place = EXPORT_TRACE,
};

const struct export_format perfetto_trace_export = {
    .name = "perfetto",
    .summary = "a trace in Perfetto's own format, smaller than chrome's; of every recorder",
    .place = EXPORT_TRACE,
};

#define EXPORT(name) extern const struct export_format name##_export;
#include "output/exports/list.def"
#undef EXPORT

static const struct export_format *const exports[] = {
#define EXPORT(name) &name##_export,
#include "output/exports/list.def"
#undef EXPORT
    NULL,
};

const struct export_format *const *all_exports(void)
{
    return exports;
}
