/* A trace for Perfetto and chrome://tracing, with tracks of ours. It is made from the traces
 * themselves and not from results: pipeline/export_chrome.c does that. */
#include "output/exports/export_format.h"

const struct export_format chrome_export = {
    .name = "chrome",
    .summary = "a trace for Perfetto, with the ledger as tracks, several ranks in one",
    .place = EXPORT_TRACE,
};
