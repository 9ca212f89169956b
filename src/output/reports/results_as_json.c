/* The report for programs: the results as one JSON object with a versioned schema, described in
 * docs/formats/report-json.md. */
#include "output/reports/report.h"

enum { SCHEMA_VERSION = 1 };

/* Whole numbers as such: a reader that keeps doubles may lose digits of nanoseconds, one that
 * keeps integers does not. */
static void results_as_json_write_value(struct json_writer *json, const char *key,
                                        const struct value *value)
{
    switch (value->unit) {
    case UNIT_TEXT:
        json_text(json, key, value->text);
        break;
    case UNIT_COUNT:
    case UNIT_TIME_NS:
    case UNIT_BYTES:
        json_integer(json, key, value->integer);
        break;
    case UNIT_FRACTION:
    case UNIT_NUMBER:
    case UNIT_BYTES_PER_SECOND:
    case UNIT_FLOPS:
    case UNIT_FLOPS_PER_SECOND:
        json_real(json, key, value->real);
        break;
    case UNIT_NONE:
    case UNIT_NOT_KNOWN:
        json_null(json, key);
        break;
    }
}

/* The unit stands beside each value and never in its text, so that a program needs to parse
 * none. What is not known has a reason where it would have a value. */
static void results_as_json_write_numbers(struct json_writer *json, const struct section *section)
{
    json_begin_object(json, "numbers", JSON_ONE_PER_LINE);
    for (size_t i = 0; i < section->number_count; i++) {
        const struct number *number = &section->numbers[i];

        json_begin_object(json, number->key, JSON_ON_ONE_LINE);
        results_as_json_write_value(json, "value", &number->value);
        json_text(json, "unit", unit_key(number->value.unit));
        json_text(json, "title", number->title);
        if (number->value.unit == UNIT_NOT_KNOWN)
            json_text(json, "not_known", number->value.text);
        if (number->note)
            json_text(json, "note", number->note);
        json_end_object(json);
    }
    json_end_object(json);
}

/* Priority and bar are for the page only, and no part of the schema. */
static void write_columns(struct json_writer *json, const struct table *table)
{
    json_begin_array(json, "columns", JSON_ONE_PER_LINE);
    for (size_t i = 0; i < table->column_count; i++) {
        const struct column *column = &table->columns[i];

        json_begin_object(json, NULL, JSON_ON_ONE_LINE);
        json_text(json, "key", column->key);
        json_text(json, "title", column->title);
        json_text(json, "unit", unit_key(column->unit));
        if (json->is_in_markup && column->priority > 0)
            json_integer(json, "priority", column->priority);
        if (json->is_in_markup && column->bar != BAR_NONE)
            json_text(json, "bar", column->bar == BAR ? "bar" : "waterfall");
        json_end_object(json);
    }
    json_end_array(json);
}

/* {"COLUMN": "needs ..."} for the cells of a row that are not known, nothing where all are. A
 * null says that there is no number; this says what would tell it, only in rows where one is
 * missing. */
static void write_not_known_cells(struct json_writer *json, const struct table *table,
                                  const struct value *cells)
{
    bool is_open = false;

    for (size_t i = 0; i < table->column_count; i++) {
        if (cells[i].unit != UNIT_NOT_KNOWN)
            continue;
        if (!is_open)
            json_begin_object(json, "not_known", JSON_ON_ONE_LINE);
        is_open = true;
        json_text(json, table->columns[i].key, cells[i].text);
    }
    if (is_open)
        json_end_object(json);
}

/* Rows are objects by the keys of columns, not arrays: a column may be added in the middle
 * without a reader noticing. The depth tells what a row is a part of, as order and depth alone
 * make the tree. */
static void results_as_json_write_rows(struct json_writer *json, const struct table *table)
{
    json_begin_array(json, "rows", JSON_ONE_PER_LINE);
    for (size_t row = 0; row < table->row_count; row++) {
        const struct value *cells = &table->cells[row * table->column_count];

        json_begin_object(json, NULL, JSON_ON_ONE_LINE);
        json_integer(json, "depth", table->depths[row]);
        for (size_t i = 0; i < table->column_count; i++)
            results_as_json_write_value(json, table->columns[i].key, &cells[i]);
        write_not_known_cells(json, table, cells);
        json_end_object(json);
    }
    json_end_array(json);
}

/* rows_in_all is never less than the rows that are there, whatever the section counted. */
static void write_tables(struct json_writer *json, const struct section *section)
{
    json_begin_object(json, "tables", JSON_ONE_PER_LINE);
    for (size_t i = 0; i < section->table_count; i++) {
        const struct table *table = section->tables[i];
        size_t rows_in_all =
            table->rows_in_all > table->row_count ? table->rows_in_all : table->row_count;

        json_begin_object(json, table->key, JSON_ONE_PER_LINE);
        json_text(json, "title", table->title);
        if (table->note)
            json_text(json, "note", table->note);
        json_integer(json, "rows_in_all", (int64_t)rows_in_all);
        write_columns(json, table);
        results_as_json_write_rows(json, table);
        json_end_object(json);
    }
    json_end_object(json);
}

/* What advice has beyond other findings. Keys are there even where their value is null, but for
 * the replay, which exists only for findings with a change. */
static void write_cost(struct json_writer *json, const struct advice_estimate *estimate)
{
    json_text(json, "id", estimate->id);
    if (estimate->account_count)
        json_text(json, "account", estimate->accounts[0]);
    else
        json_null(json, "account");
    json_begin_array(json, "accounts", JSON_ON_ONE_LINE);
    for (size_t i = 0; i < estimate->account_count; i++)
        json_text(json, NULL, estimate->accounts[i]);
    json_end_array(json);
    /* A share of 0 is one that nobody has estimated, so null and not a figure; so with the
     * speedup. */
    if (estimate->share > 0)
        json_real(json, "share_of_step", estimate->share);
    else
        json_null(json, "share_of_step");
    if (estimate->ceiling_speedup > 0)
        json_real(json, "ceiling_speedup", estimate->ceiling_speedup);
    else
        json_null(json, "ceiling_speedup");
    if (estimate->change) {
        json_text(json, "change", estimate->change);
        if (estimate->replayed_step_ns >= 0)
            json_integer(json, "replayed_step_ns", estimate->replayed_step_ns);
        else
            json_null(json, "replayed_step_ns");
        if (estimate->replayed_speedup > 0)
            json_real(json, "replayed_speedup", estimate->replayed_speedup);
        else
            json_null(json, "replayed_speedup");
        /* A range only where the trace leaves open what the change would do; else the one
         * figure is all. */
        if (estimate->most_speedup > 0) {
            json_real(json, "replayed_least_speedup", estimate->least_speedup);
            json_real(json, "replayed_most_speedup", estimate->most_speedup);
        }
    }
    json_begin_array(json, "steps", JSON_ON_ONE_LINE);
    for (size_t i = 0; i < estimate->step_count; i++)
        json_integer(json, NULL, estimate->steps[i]);
    json_end_array(json);
    json_text(json, "confidence", estimate->confidence);
    json_text(json, "confidence_reason", estimate->reason);
}

/* A cost that is not known is null, not zero: zero would sort it as harmless. */
static void results_as_json_write_findings(struct json_writer *json, const char *key,
                                           const struct finding *findings, size_t count)
{
    json_begin_array(json, key, JSON_ONE_PER_LINE);
    for (size_t i = 0; i < count; i++) {
        const struct finding *finding = &findings[i];

        json_begin_object(json, NULL, JSON_ON_ONE_LINE);
        json_text(json, "what", finding->what);
        json_text(json, "evidence", finding->evidence);
        json_text(json, "try", finding->try_this);
        if (finding->cost_ns >= 0)
            json_integer(json, "cost_ns_per_step", finding->cost_ns);
        else
            json_null(json, "cost_ns_per_step");
        json_boolean(json, "is_warning", finding->is_warning);
        if (finding->estimate)
            write_cost(json, finding->estimate);
        json_end_object(json);
    }
    json_end_array(json);
}

/* Tables and findings are always there, empty or not; only the intro, which is for people, may
 * be missing. */
static void results_as_json_write_section(struct json_writer *json, const char *key,
                                          const struct section *section)
{
    json_begin_object(json, key, JSON_ONE_PER_LINE);
    json_text(json, "title", section->title);
    if (section->intro)
        json_text(json, "intro", section->intro);
    results_as_json_write_numbers(json, section);
    write_tables(json, section);
    results_as_json_write_findings(json, "findings", section->findings, section->finding_count);
    json_end_object(json);
}

/* null where the file tells no rank: 0 is one. Sections are an object by key, so that a
 * program asks for one without a search. */
static void results_as_json_write_rank(struct json_writer *json, const struct rank_results *rank)
{
    json_begin_object(json, NULL, JSON_ONE_PER_LINE);
    json_text(json, "label", rank->label);
    json_text(json, "file", rank->file);
    if (rank->rank >= 0)
        json_integer(json, "rank", rank->rank);
    else
        json_null(json, "rank");
    if (rank->headline)
        json_text(json, "headline", rank->headline);
    else
        json_null(json, "headline");
    json_begin_object(json, "sections", JSON_ONE_PER_LINE);
    for (size_t i = 0; i < rank->section_count; i++)
        results_as_json_write_section(json, rank->sections[i]->key, rank->sections[i]);
    json_end_object(json);
    json_end_object(json);
}

/* Within a version of the schema keys may come, and none goes or changes its meaning:
 * docs/formats/report-json.md promises that. */
void write_results_as_json(struct json_writer *json, const struct results *results)
{
    json_begin_object(json, NULL, JSON_ONE_PER_LINE);
    json_text(json, "schema", "flopledger.report");
    json_integer(json, "schema_version", SCHEMA_VERSION);
    json_text(json, "flopledger_version", FLOPLEDGER_VERSION);
    results_as_json_write_findings(json, "problems", results->problems, results->problem_count);
    if (results->headline)
        json_text(json, "headline", results->headline);
    if (results->overview)
        results_as_json_write_section(json, "overview", results->overview);
    else
        json_null(json, "overview");
    json_begin_array(json, "ranks", JSON_ONE_PER_LINE);
    for (size_t i = 0; i < results->rank_count; i++)
        results_as_json_write_rank(json, &results->ranks[i]);
    json_end_array(json);
    json_end_object(json);
}

static bool write_json(FILE *output, const struct results *results,
                       const struct report_options *options, struct error *error)
{
    struct json_writer json = {.output = output};

    (void)options;
    (void)error;
    write_results_as_json(&json, results);
    return true;
}

const struct report json_report = {
    .name = "json",
    .summary = "for programs: exact numbers, a documented schema",
    .write = write_json,
};
