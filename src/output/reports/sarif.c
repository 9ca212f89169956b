/* The report as SARIF 2.1.0, which code hosts show as annotations: conditions of --fail-if that are
 * met are errors, what can't be told is a warning, advice and remarks are notes. Each result is
 * about the trace that it was found in. */
#include "base/json/json_writer.h"
#include "output/reports/report.h"
#include "output/results/results.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static const char schema[] = "https://json.schemastore.org/sarif-2.1.0.json";

/* Viewers show the message alone, so that evidence and remedy are in it. */
static void write_message(struct json_writer *json, const char *text, const char *more,
                          const char *try_this)
{
    char whole[4096];

    (void)snprintf(whole, sizeof whole, "%s%s%s%s%s", text, more ? ": " : "", more ? more : "",
                   try_this ? ". Try: " : "", try_this ? try_this : "");
    json_begin_object(json, "message", JSON_ON_ONE_LINE);
    json_text(json, "text", whole);
    json_end_object(json);
}

/* A path as a URI: what else could be read as part of one is written %XX. Cut where it is too long
 * for any path. RFC 3986: letters, digits and "-._~" are unreserved, and '/' parts a path;
 * everything else is written as %XX. Four bytes of room are left for the longest and the end. */
static void write_uri(struct json_writer *json, const char *path)
{
    char uri[3 * PATH_MAX + 1];
    size_t length = 0;

    for (const char *at = path; *at && length + 4 <= sizeof uri; at++) {
        bool is_plain = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
                        (*at >= '0' && *at <= '9') || strchr("/._-~", *at);

        length += (size_t)snprintf(uri + length, sizeof uri - length, is_plain ? "%c" : "%%%02X",
                                   (unsigned char)*at);
    }
    uri[length] = '\0';
    json_text(json, "uri", uri);
}

/* A location without a line: a trace has none that an editor could open, and code hosts take
 * the file alone. */
static void write_location(struct json_writer *json, const char *file)
{
    json_begin_array(json, "locations", JSON_ON_ONE_LINE);
    json_begin_object(json, NULL, JSON_ON_ONE_LINE);
    json_begin_object(json, "physicalLocation", JSON_ON_ONE_LINE);
    json_begin_object(json, "artifactLocation", JSON_ON_ONE_LINE);
    write_uri(json, file);
    json_end_object(json);
    json_end_object(json);
    json_end_object(json);
    json_end_array(json);
}

static void begin_result(struct json_writer *json, const char *rule, const char *level)
{
    json_begin_object(json, NULL, JSON_ONE_PER_LINE);
    json_text(json, "ruleId", rule);
    json_text(json, "level", level);
}

/* The rule of a finding is its advice's; of problems of the input it is one for all. */
static void sarif_write_finding(struct json_writer *json, const struct finding *finding,
                                const char *file)
{
    begin_result(json, finding->estimate ? finding->estimate->id : "input",
                 finding->is_warning ? "warning" : "note");
    write_message(json, finding->what, finding->evidence, finding->try_this);
    if (file)
        write_location(json, file);
    json_end_object(json);
}

/* Conditions that are not met are no results: SARIF lists what was found. */
static void write_conditions(struct json_writer *json, const struct rank_results *rank)
{
    for (size_t i = 0; i < condition_row_count(rank); i++) {
        struct condition_row row = condition_row_at(rank, i);

        if (row.state == ROW_HOLDS_NOT)
            continue;
        begin_result(json, "fail-if", row.state == ROW_HOLDS ? "error" : "warning");
        write_message(json, row.condition, row.said, NULL);
        write_location(json, rank->file);
        json_end_object(json);
    }
}

static void sarif_write_rank(struct json_writer *json, const struct rank_results *rank)
{
    write_conditions(json, rank);
    for (size_t i = 0; i < rank->section_count; i++) {
        for (size_t k = 0; k < rank->sections[i]->finding_count; k++)
            sarif_write_finding(json, &rank->sections[i]->findings[k], rank->file);
    }
}

static void write_tool(struct json_writer *json)
{
    json_begin_object(json, "tool", JSON_ONE_PER_LINE);
    json_begin_object(json, "driver", JSON_ONE_PER_LINE);
    json_text(json, "name", "flopledger");
    json_text(json, "version", FLOPLEDGER_VERSION);
    json_end_object(json);
    json_end_object(json);
}

/* One run with all ranks in it: code hosts show the results of a run together. Problems of
 * reading come first, since what follows may lack what they lost. */
static bool write_sarif(FILE *output, const struct results *results,
                        const struct report_options *options, struct error *error)
{
    struct json_writer json = {.output = output};

    (void)options;
    (void)error;
    json_begin_object(&json, NULL, JSON_ONE_PER_LINE);
    json_text(&json, "$schema", schema);
    json_text(&json, "version", "2.1.0");
    json_begin_array(&json, "runs", JSON_ONE_PER_LINE);
    json_begin_object(&json, NULL, JSON_ONE_PER_LINE);
    write_tool(&json);
    json_begin_array(&json, "results", JSON_ONE_PER_LINE);
    for (size_t i = 0; i < results->problem_count; i++)
        sarif_write_finding(&json, &results->problems[i], NULL);
    for (size_t i = 0; i < results->rank_count; i++)
        sarif_write_rank(&json, &results->ranks[i]);
    json_end_array(&json);
    json_end_object(&json);
    json_end_array(&json);
    json_end_object(&json);
    return true;
}

const struct report sarif_report = {
    .name = "sarif",
    .summary = "for code hosts: findings as annotations",
    .write = write_sarif,
};
