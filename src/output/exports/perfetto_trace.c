/* A trace in Perfetto's own format. It is made from the traces themselves and not from results:
 * pipeline/export_perfetto.c does that. */
#include "output/exports/export_format.h"

const struct export_format perfetto_trace_export = {
    .name = "perfetto",
    .summary = "a trace in Perfetto's own format, smaller than chrome's; of every recorder",
    .place = EXPORT_TRACE,
};
