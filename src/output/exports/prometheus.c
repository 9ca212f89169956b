/* Prometheus' text format: one block a metric, a line a rank. */
#include "base/core/exact_real.h"
#include "base/text/csv_field.h"
#include "output/exports/export_format.h"
#include "output/exports/step_scalars.h"
#include "output/results/metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct number_metric {
    enum metric metric;
    const char *name, *type;
} number_metrics[] = {
#define NUMBER_METRIC(id, name, type) {METRIC_##id, name, type},
#include "output/results/metric_list.def"
};

static const struct rows_metric {
    enum metric metric;
    enum metric labels; /* the column of their values; NO_METRIC: none */
    const char *label;
    const char *name, *type;
} rows_metrics[] = {
#define ROWS_METRIC(id, label, labels, name, type) {METRIC_##id, labels, label, name, type},
#include "output/results/metric_list.def"
};

/* A metric on its way out: its head is written before its first line. */
struct metric_output {
    FILE *output;
    const struct results *results;
    const char *name;
    const char *type;
    const char *help;
    bool is_begun;
};

/* A label beside those of the rank; name NULL: none. */
struct label {
    const char *name;
    const char *value;
};

static void prometheus_write_label(FILE *output, const char *name, const char *value)
{
    (void)fprintf(output, "%s=\"", name);
    metric_write_text(output, value);
    (void)fputc('"', output);
}

/* Another trace is of this rank, too, or none tells its rank: only the file tells them apart.
 * Two series of the same labels are an error to Prometheus, so that the file is a label where
 * ranks do not tell traces apart, and only there: its path would make a new series with every
 * run. */
static bool needs_file(const struct results *results, size_t index)
{
    if (results->ranks[index].rank < 0)
        return true;
    for (size_t i = 0; i < results->rank_count; i++)
        if (i != index && results->ranks[i].rank == results->ranks[index].rank)
            return true;
    return false;
}

/* Without a rank, or where two have the same, the file tells them apart: two samples with the
 * same labels are refused by Prometheus. */
static void write_rank_labels(FILE *output, const struct results *results, size_t index)
{
    const struct rank_results *rank = &results->ranks[index];

    if (rank->rank >= 0)
        (void)fprintf(output, "rank=\"%lld\"", (long long)rank->rank);
    if (needs_file(results, index)) {
        (void)fputs(rank->rank >= 0 ? "," : "", output);
        prometheus_write_label(output, "file", rank->file);
    }
}

/* Help and type once for a metric, before its first sample, and not at all without one. */
static void prometheus_begin(struct metric_output *metric)
{
    if (!metric->is_begun)
        (void)fprintf(metric->output, "# HELP %s %s\n# TYPE %s %s\n", metric->name, metric->help,
                      metric->name, metric->type);
    metric->is_begun = true;
}

/* `suffix`: "_sum", or "". */
static void prometheus_write_sample(struct metric_output *metric, const char *suffix, size_t rank,
                                    struct label label, double number)
{
    prometheus_begin(metric);
    (void)fprintf(metric->output, "%s%s{", metric->name, suffix);
    write_rank_labels(metric->output, metric->results, rank);
    if (label.name) {
        (void)fputc(',', metric->output);
        prometheus_write_label(metric->output, label.name, label.value);
    }
    (void)fprintf(metric->output, "} %s\n", exact_real(number).text);
}

/* In base units. Prometheus' conventions: seconds and bytes, no prefixes. */
static double base_number(const struct value *value)
{
    return value->unit == UNIT_TIME_NS ? value_as_real(value) / 1e9 : value_as_real(value);
}

static bool is_finite_number(const struct value *value)
{
    return value_is_number(value) && isfinite(value_as_real(value));
}

/* What is not known has no sample: 0 or NaN would be a statement. */
static void write_number_metric(FILE *output, const struct results *results,
                                const struct number_metric *line)
{
    struct metric_output metric = {
        output, results, line->name, line->type, metric_declarations[line->metric].help, false};

    for (size_t i = 0; i < results->rank_count; i++) {
        struct value value = metric_number(&results->ranks[i], line->metric);

        if (is_finite_number(&value))
            prometheus_write_sample(&metric, "", i, (struct label){0}, base_number(&value));
    }
}

static const char *label_at(const struct table *table, size_t row, enum metric labels)
{
    struct value value = labels == NO_METRIC ? value_none() : metric_cell(table, row, labels);

    return value.unit == UNIT_TEXT ? value.text : "";
}

/* The sum over rows `first` and on that share its label; of a row that an earlier one has counted
 * none. Rows with the same label are one sample. The first of them sums all; a later one finds
 * an earlier with its label and gives none. Quadratic in the rows of a table, which are some
 * hundreds. */
static bool prometheus_sum_rows(const struct table *table, size_t first,
                                const struct rows_metric *line, double *sum)
{
    const char *label = label_at(table, first, line->labels);
    bool is_known = false;

    *sum = 0;
    for (size_t row = 0; row < table->row_count; row++) {
        struct value value = metric_cell(table, row, line->metric);

        if (strcmp(label_at(table, row, line->labels), label) != 0)
            continue;
        if (row < first)
            return false;
        if (!is_finite_number(&value))
            continue;
        *sum += base_number(&value);
        is_known = true;
    }
    return is_known;
}

/* Without a label there is one sample a rank, the sum over the table, which the first row
 * stands for. With one there is a sample for each of its values: rows that share a value are
 * summed at the first of them. */
static void write_rows_metric(FILE *output, const struct results *results,
                              const struct rows_metric *line)
{
    struct metric_output metric = {
        output, results, line->name, line->type, metric_declarations[line->metric].help, false};
    double sum;

    for (size_t i = 0; i < results->rank_count; i++) {
        const struct table *table = metric_column(&results->ranks[i], line->metric).table;

        for (size_t row = 0; table && row < (line->label ? table->row_count : 1); row++)
            if (row < table->row_count && prometheus_sum_rows(table, row, line, &sum))
                prometheus_write_sample(
                    &metric, "", i, (struct label){line->label, label_at(table, row, line->labels)},
                    sum);
    }
}

/* ---- what is put together by hand ------------------------------------------------------------ */

static double column_seconds(const struct table *table, size_t column)
{
    int64_t sum_ns = 0;

    for (size_t row = 0; row < table->row_count; row++)
        sum_ns += table->cells[row * table->column_count + column].integer;
    return (double)sum_ns / 1e9;
}

/* A counter, since time of accounts only grows with the steps recorded; the accounts sum to
 * the steps, so that shares can be taken in a query. */
static void prometheus_write_accounts(FILE *output, const struct results *results)
{
    struct metric_output metric = {
        output,
        results,
        "flopledger_account_seconds_total",
        "counter",
        "Time of the recorded steps by account; the accounts sum to the steps",
        false};

    for (size_t i = 0; i < results->rank_count; i++) {
        const struct table *steps = metric_column(&results->ranks[i], METRIC_STEP_DURATION).table;

        for (size_t column = 0; steps && column < steps->column_count; column++)
            if (is_account_column(&results->ranks[i], &steps->columns[column]))
                prometheus_write_sample(&metric, "", i,
                                        (struct label){"account", steps->columns[column].key},
                                        column_seconds(steps, column));
    }
}

/* A summary with its quantiles 0 and 1 as least and most. */
static void write_step_times(FILE *output, const struct results *results)
{
    static const struct {
        const char *quantile;
        enum metric metric;
    } quantiles[] = {
        {"0", METRIC_STEP_TIME_MIN}, {"0.5", METRIC_STEP_TIME_MEDIAN}, {"1", METRIC_STEP_TIME_MAX}};
    struct metric_output metric = {output,
                                   results,
                                   "flopledger_step_duration_seconds",
                                   "summary",
                                   "Durations of the recorded steps",
                                   false};

    for (size_t i = 0; i < results->rank_count; i++) {
        struct metric_column durations = metric_column(&results->ranks[i], METRIC_STEP_DURATION);

        if (!durations.table)
            continue;
        for (size_t k = 0; k < sizeof quantiles / sizeof *quantiles; k++) {
            struct value value = metric_number(&results->ranks[i], quantiles[k].metric);

            if (is_finite_number(&value))
                prometheus_write_sample(&metric, "", i,
                                        (struct label){"quantile", quantiles[k].quantile},
                                        base_number(&value));
        }
        prometheus_write_sample(&metric, "_sum", i, (struct label){0},
                                column_seconds(durations.table, durations.column));
        prometheus_write_sample(&metric, "_count", i, (struct label){0},
                                (double)durations.table->row_count);
    }
}

/* No sum over findings: they may overlap. */
static void prometheus_write_advice(FILE *output, const struct results *results)
{
    struct metric_output metric = {
        output,
        results,
        "flopledger_advice_cost_seconds",
        "gauge",
        "What a finding costs of each step, on average; findings may overlap",
        false};

    for (size_t i = 0; i < results->rank_count; i++) {
        const struct section *section = section_of_role(&results->ranks[i], SECTION_OF_ADVICE);

        for (size_t k = 0; section && k < section->finding_count; k++) {
            const struct finding *finding = &section->findings[k];

            if (finding->estimate && finding->cost_ns >= 0)
                prometheus_write_sample(&metric, "", i,
                                        (struct label){"advice", finding->estimate->id},
                                        (double)finding->cost_ns / 1e9);
        }
    }
}

/* What the traces are of: labels of metrics whose value is 1. */
static void write_infos(FILE *output, const struct results *results)
{
    struct metric_output metric = {
        output, results, "flopledger_trace_info", "gauge", "The device that the steps ran on",
        false};

    (void)fputs("# HELP flopledger_build_info The program that wrote this\n"
                "# TYPE flopledger_build_info gauge\n"
                "flopledger_build_info{version=\"" FLOPLEDGER_VERSION "\"} 1\n",
                output);
    for (size_t i = 0; i < results->rank_count; i++) {
        struct value name;

        if (!section_of_role(&results->ranks[i], SECTION_OF_RUN))
            continue; /* a job */
        name = name_of_reported_device(&results->ranks[i]);
        prometheus_write_sample(
            &metric, "", i,
            (struct label){"device", name.unit == UNIT_TEXT ? name.text : "not known"}, 1);
    }
}

/* ---- of a job -------------------------------------------------------------------------------- */

/* Rows that nothing is told below of, or that are of depth 1: each second is in one of them. */
enum account_rows { ROWS_OF_DEPTH_1, ROWS_WITHOUT_PARTS };

/* Has the row parts below it whose time is known? Rows of a table lie in the order of a tree
 * walked from the root, so that what is below a row follows it, deeper, up to the next that is
 * not. */
static bool prometheus_has_parts(const struct table *table, size_t row, enum metric metric)
{
    for (size_t i = row + 1; i < table->row_count && table->depths[i] > table->depths[row]; i++) {
        struct value value = metric_cell(table, i, metric);

        if (is_finite_number(&value))
            return true;
    }
    return false;
}

struct job_table {
    enum metric metric, account; /* the time, and what its rows are called */
    const char *name;
    enum account_rows rows;
    double factor; /* to base units */
};

/* Either all rows of depth 1 or all leaves: both are a partition, so that samples sum to the
 * whole and nothing counts twice. */
static void write_job_table(FILE *output, const struct results *results,
                            const struct job_table *line)
{
    struct metric_output metric = {
        output, results, line->name, "counter", metric_declarations[line->metric].help, false};

    for (size_t i = 0; i < results->rank_count; i++) {
        const struct table *table = metric_column(&results->ranks[i], line->metric).table;

        for (size_t row = 0; table && row < table->row_count; row++) {
            struct value value = metric_cell(table, row, line->metric);

            if (is_finite_number(&value) &&
                (line->rows == ROWS_OF_DEPTH_1 ? table->depths[row] == 1
                                               : !prometheus_has_parts(table, row, line->metric)))
                prometheus_write_sample(
                    &metric, "", i, (struct label){"account", label_at(table, row, line->account)},
                    base_number(&value) * line->factor);
        }
    }
}

/* A summary has the least and the largest as the quantiles 0 and 1. */
static void write_job_step_times(FILE *output, const struct results *results)
{
    static const struct {
        const char *quantile;
        enum metric metric;
    } quantiles[] = {{"0", METRIC_JOB_STEP_TIME_MIN},
                     {"0.5", METRIC_JOB_STEP_TIME_MEDIAN},
                     {"0.9", METRIC_JOB_STEP_TIME_P90},
                     {"0.99", METRIC_JOB_STEP_TIME_P99},
                     {"1", METRIC_JOB_STEP_TIME_MAX}};
    struct metric_output metric = {output,
                                   results,
                                   "flopledger_job_step_duration_seconds",
                                   "summary",
                                   "Durations of the job's steps, by quantile",
                                   false};

    for (size_t i = 0; i < results->rank_count; i++)
        for (size_t k = 0; k < sizeof quantiles / sizeof *quantiles; k++) {
            struct value value = metric_number(&results->ranks[i], quantiles[k].metric);

            if (is_finite_number(&value))
                prometheus_write_sample(&metric, "", i,
                                        (struct label){"quantile", quantiles[k].quantile},
                                        base_number(&value));
        }
}

/* Seconds are the base unit of Prometheus, hence the 3600 for what is counted in device-hours. */
static void prometheus_write_job(FILE *output, const struct results *results)
{
    static const struct job_table tables[] = {
        {METRIC_JOB_ACCOUNT_TIME, METRIC_JOB_ACCOUNT, "flopledger_job_account_seconds_total",
         ROWS_OF_DEPTH_1, 1.0},
        {METRIC_JOB_ACCOUNT_DEVICE_HOURS, METRIC_JOB_ACCOUNT,
         "flopledger_job_account_device_seconds_total", ROWS_OF_DEPTH_1, 3600.0},
        {METRIC_JOB_KEPT_TIME, METRIC_JOB_KEPT_ACCOUNT, "flopledger_job_kept_account_seconds_total",
         ROWS_WITHOUT_PARTS, 1.0},
    };

    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        write_job_table(output, results, &tables[i]);
    write_job_step_times(output, results);
}

/* All samples of a metric must stand together in this format, hence the loop over metrics is
 * outside and the one over ranks inside of each. */
static bool write_prometheus(FILE *output, const struct export_content *content,
                             struct error *error)
{
    const struct results *results = content->results;

    (void)error;
    write_infos(output, results);
    write_step_times(output, results);
    prometheus_write_accounts(output, results);
    for (size_t i = 0; i < sizeof number_metrics / sizeof *number_metrics; i++)
        write_number_metric(output, results, &number_metrics[i]);
    for (size_t i = 0; i < sizeof rows_metrics / sizeof *rows_metrics; i++)
        write_rows_metric(output, results, &rows_metrics[i]);
    prometheus_write_advice(output, results);
    prometheus_write_job(output, results);
    return true;
}

const struct export_format prometheus_export = {
    .name = "prometheus",
    .summary = "Prometheus' text format, for a textfile collector or a push gateway",
    .place = EXPORT_TEXT,
    .write = write_prometheus,
};
