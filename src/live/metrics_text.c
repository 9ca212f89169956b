/* Live numbers in the text formats of Prometheus. */
#include "live/metrics_text.h"

#include "base/text/metric_label.h"

#include <math.h>
#include <string.h>

const char openmetrics_content_type[] =
    "application/openmetrics-text; version=1.0.0; charset=utf-8";
const char prometheus_content_type[] = "text/plain; version=0.0.4; charset=utf-8";

static void metrics_text_write_value(FILE *output, double value)
{
    if (isnan(value))
        fputs("NaN", output);
    else if (isinf(value))
        fputs(value > 0 ? "+Inf" : "-Inf", output);
    else
        fprintf(output, "%.15g", value);
}

static void metrics_text_write_sample(FILE *output, const struct live_sample *sample)
{
    fputs(sample->family->name, output);
    if (sample->family->kind == LIVE_COUNTER)
        fputs("_total", output);
    for (int i = 0; i < LIVE_LABELS_MAX && sample->labels[i].name; i++) {
        fprintf(output, "%s%s=\"", i == 0 ? "{" : ",", sample->labels[i].name);
        metric_write_text(output, sample->labels[i].value);
        fputc('"', output);
    }
    fputs(sample->labels[0].name ? "} " : " ", output);
    metrics_text_write_value(output, sample->value);
    fputc('\n', output);
}

static void write_family(FILE *output, const struct live_samples *samples, size_t first,
                         enum metrics_format format)
{
    const struct live_family *family = samples->samples[first].family;
    bool is_counter = family->kind == LIVE_COUNTER;
    const char *ending = is_counter && format == METRICS_PROMETHEUS ? "_total" : "";

    fprintf(output, "# TYPE %s%s %s\n", family->name, ending, is_counter ? "counter" : "gauge");
    fprintf(output, "# HELP %s%s ", family->name, ending);
    metric_write_text(output, family->help);
    fputc('\n', output);
    for (size_t i = first; i < samples->count; i++) {
        if (samples->samples[i].family == family)
            metrics_text_write_sample(output, &samples->samples[i]);
    }
}

static bool is_first_of_family(const struct live_samples *samples, size_t i)
{
    for (size_t before = 0; before < i; before++) {
        if (samples->samples[before].family == samples->samples[i].family)
            return false;
    }
    return true;
}

void write_metrics(FILE *output, const struct live_samples *samples, enum metrics_format format)
{
    for (size_t i = 0; i < samples->count; i++) {
        if (is_first_of_family(samples, i))
            write_family(output, samples, i, format);
    }
    if (format == METRICS_OPENMETRICS)
        fputs("# EOF\n", output);
}
