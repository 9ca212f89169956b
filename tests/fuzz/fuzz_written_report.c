/* Any bytes as a trace, with all that is known of it written in every form: reports, the HTML page,
 * and exports. The first byte chooses the form. */
#include "base/core/attributes.h"
#include "base/core/invariant.h"
#include "base/io/input_stream.h"
#include "output/exports/export_format.h"
#include "output/reports/write_report.h"
#include "pipeline/exported_results.h"
#include "pipeline/rank_sections.h"
#include "readers/reader.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct reader torch_profiler_json_reader;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* As text that is thrown away once it is whole. */
static FILE *open_text(char **text, size_t *length)
{
    return require_memory(open_memstream(text, length));
}

static void write_export(struct results *results, const struct export_format *format)
{
    struct error error = {0};
    const char *report = print_rank_report(results, 0, &error);
    const struct export_content content = {.results = results, .reports = &report};
    char *text = NULL;
    size_t length = 0;
    FILE *output;

    if (!format->write || !report)
        return;
    output = open_text(&text, &length);
    (void)format->write(output, &content, &error);
    (void)fclose(output);
    free(text);
}

static void write_report(const struct results *results, const struct report *report, int choice)
{
    const struct report_options options = {.extent =
                                               choice & 1 ? REPORT_WHOLE : REPORT_FIRST_SCREEN,
                                           .width = choice & 2 ? 200 : 60,
                                           .use_color = choice & 4,
                                           .use_unicode = choice & 8};
    struct error error = {0};
    char *text = NULL;
    size_t length = 0;
    FILE *output = open_text(&text, &length);

    (void)report->write(output, results, &options, &error);
    (void)fclose(output);
    if (choice & 1 && !options.use_color && strcmp(report->name, "text") == 0)
        require_invariant(memchr(text, 0x1b, length) == NULL,
                          "that nothing of a file moves the cursor");
    free(text);
}

static void write_all(struct results *results, uint8_t choice)
{
    size_t reports = 0, exports = 0, chosen;

    while (all_reports()[reports])
        reports++;
    while (all_exports()[exports])
        exports++;
    chosen = choice % (reports + exports);
    if (chosen < reports)
        write_report(results, all_reports()[chosen], choice >> 4);
    else
        write_export(results, all_exports()[chosen - reports]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct read_options options = {.threads = 1};
    const struct analysis_plan plan = {.analysis = {.top = 5}};
    SCOPED(results) results = {0};
    SCOPED(analyzed_rank) analyzed = {0};
    SCOPED(trace) trace = {0};
    SCOPED(input_stream) input = {0};
    struct error error = {0};

    if (size < 1)
        return 0;
    input_stream_open_memory(&input, data + 1, size - 1);
    if (!torch_profiler_json_reader.read(&trace, &input, &options, &error) ||
        !analyze_rank(&analyzed, &trace, &plan.attribution, &error))
        return 0;
    results_init(&results);
    add_rank_sections(&results, &trace, &analyzed, &plan);
    write_all(&results, data[0]);
    return 0;
}
