/* The report for CI as test results (JUnit's XML): each condition of --fail-if is a test, which
 * fails where the condition is met, and is an error where it can't be told. Without conditions
 * there is one test for each rank, which passes: its report was made. */
#include "base/text/display_text.h"
#include "output/reports/report.h"
#include "output/results/results.h"

#include <stdio.h>

/* Control characters, which XML can't hold, are gone once the text is fit for a terminal. */
static void write_attribute(FILE *output, struct arena *arena, const char *name, const char *text)
{
    const char *shown = display_text(arena, text, true);

    (void)fprintf(output, " %s=\"", name);
    for (const char *at = shown; *at; at++) {
        if (*at == '<')
            fputs("&lt;", output);
        else if (*at == '&')
            fputs("&amp;", output);
        else if (*at == '"')
            fputs("&quot;", output);
        else
            (void)fputc(*at, output);
    }
    (void)fputc('"', output);
}

/* A failure is what the user asked to fail; an error is a test that could not be made. CI
 * servers show them apart. */
static void write_condition(FILE *output, struct arena *arena, const char *label,
                            struct condition_row row)
{
    fputs("    <testcase", output);
    write_attribute(output, arena, "classname", label);
    write_attribute(output, arena, "name", row.condition);
    if (row.state == ROW_HOLDS_NOT) {
        fputs("/>\n", output);
        return;
    }
    fputs(row.state == ROW_HOLDS ? ">\n      <failure" : ">\n      <error", output);
    write_attribute(output, arena, "message", row.said);
    fputs("/>\n    </testcase>\n", output);
}

/* The numbers of the suite come first in its element, so that conditions are counted before
 * they are written. */
static void junit_write_rank(FILE *output, struct arena *arena, const struct rank_results *rank)
{
    size_t count = condition_row_count(rank);
    size_t failures = 0;
    size_t errors = 0;

    for (size_t i = 0; i < count; i++) {
        failures += condition_row_at(rank, i).state == ROW_HOLDS;
        errors += condition_row_at(rank, i).state == ROW_UNDECIDED;
    }
    fputs("  <testsuite", output);
    write_attribute(output, arena, "name", rank->headline ? rank->headline : rank->label);
    (void)fprintf(output, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\">\n", count ? count : 1,
                  failures, errors);
    for (size_t i = 0; i < count; i++)
        write_condition(output, arena, rank->label, condition_row_at(rank, i));
    if (count == 0) {
        fputs("    <testcase", output);
        write_attribute(output, arena, "classname", rank->label);
        fputs(" name=\"report\"/>\n", output);
    }
    fputs("  </testsuite>\n", output);
}

/* No counts at the top: they are optional in JUnit's XML, and readers count for themselves. */
static bool write_junit(FILE *output, const struct results *results,
                        const struct report_options *options, struct error *error)
{
    SCOPED(arena) arena = {0};

    (void)options;
    (void)error;
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"flopledger\">\n", output);
    for (size_t i = 0; i < results->rank_count; i++)
        junit_write_rank(output, &arena, &results->ranks[i]);
    fputs("</testsuites>\n", output);
    return true;
}

const struct report junit_report = {
    .name = "junit",
    .summary = "for CI: each condition of --fail-if as a test",
    .write = write_junit,
};
