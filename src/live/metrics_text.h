/* Live numbers in the text formats of Prometheus. */
#ifndef FLOPLEDGER_LIVE_METRICS_TEXT_H
#define FLOPLEDGER_LIVE_METRICS_TEXT_H

#include "live/live_sample.h"

#include <stdio.h>

enum metrics_format {
    METRICS_OPENMETRICS, /* application/openmetrics-text, version 1.0.0 */
    METRICS_PROMETHEUS,  /* text/plain, version 0.0.4 */
};

/* All samples of a family stand together, whatever order they are in. Write errors show in
 * ferror(output). */
void write_metrics(FILE *output, const struct live_samples *samples, enum metrics_format format);

extern const char openmetrics_content_type[];
extern const char prometheus_content_type[];

#endif
