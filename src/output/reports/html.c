/* The report for a browser: one file that holds the page, and the results as JSON inside it. The
 * page itself is written in web/; here only the data is put into it.
 */
#include "base/core/arena.h"
#include "base/core/attributes.h"
#include "base/json/json_writer.h"
#include "output/reports/first_screen.h"
#include "output/reports/html_page.h"
#include "output/reports/report.h"
#include "output/results/results.h"

/* ---- the first screen ------------------------------------------------------------------------ */

/* First screens as JSON, for the page: it shows the same words and numbers as a terminal. */

/* A screen without a chart has null and not an empty object, so that the page asks one thing
 * only. */
static void write_chart(struct json_writer *json, const struct screen_chart *chart)
{
    if (!chart->title || chart->row_count == 0) {
        json_null(json, "chart");
        return;
    }
    json_begin_object(json, "chart", JSON_ONE_PER_LINE);
    json_text(json, "title", chart->title);
    json_text(json, "unit", chart->unit);
    json_text(json, "remark_title", chart->remark_title);
    json_text(json, "total", chart->total);
    json_begin_array(json, "rows", JSON_ONE_PER_LINE);
    for (size_t i = 0; i < chart->row_count; i++) {
        const struct screen_row *row = &chart->rows[i];

        json_begin_object(json, NULL, JSON_ON_ONE_LINE);
        json_text(json, "group", row->group);
        json_text(json, "title", row->title);
        json_text(json, "amount", row->amount);
        json_text(json, "percent", row->percent);
        json_real(json, "share", row->share);
        json_text(json, "remark", row->remark);
        json_text(json, "key", row->key);
        json_end_object(json);
    }
    json_end_array(json);
    json_end_object(json);
}

/* The texts of the first screen of a terminal, so that the page says the same in the same
 * words. */
static void write_findings(struct json_writer *json, const struct first_screen *screen)
{
    json_text(json, "findings_title", screen->findings_title);
    json_begin_array(json, "findings", JSON_ONE_PER_LINE);
    for (size_t i = 0; i < screen->finding_count; i++) {
        const struct screen_finding *finding = &screen->findings[i];

        json_begin_object(json, NULL, JSON_ON_ONE_LINE);
        json_text(json, "what", finding->what);
        json_text(json, "try", finding->try_this);
        json_text(json, "estimate", finding->estimate);
        json_text(json, "confidence", finding->confidence);
        json_text(json, "id", finding->id);
        json_end_object(json);
    }
    json_end_array(json);
}

static void first_screen_json_write_texts(struct json_writer *json, const char *key,
                                          const char *const *texts, size_t count)
{
    json_begin_array(json, key, JSON_ON_ONE_LINE);
    for (size_t i = 0; i < count; i++)
        json_text(json, NULL, texts[i]);
    json_end_array(json);
}

/* Made as for a terminal that knows Unicode: what the browser shows is not bound by this
 * machine's locale. */
static void first_screen_json_write_screen(struct json_writer *json, const char *key,
                                           const struct results *results)
{
    SCOPED(arena) arena = {0};
    struct first_screen screen;

    make_first_screen(&screen, &arena, results, true);
    json_begin_object(json, key, JSON_ONE_PER_LINE);
    json_text(json, "subject", screen.subject);
    first_screen_json_write_texts(json, "figures", screen.figures, screen.figure_count);
    json_text(json, "verdict", screen.verdict);
    first_screen_json_write_texts(json, "answers", screen.answers, screen.answer_count);
    first_screen_json_write_texts(json, "warnings", screen.warnings, screen.warning_count);
    json_integer(json, "further_warnings", (int64_t)screen.further_warnings);
    write_chart(json, &screen.chart);
    write_findings(json, &screen);
    json_text(json, "not_known", screen.not_known);
    json_end_object(json);
}

/* An object: "job", of all ranks together, null where there is one; and "ranks", one of each. A
 * view of the results without the overview gives the screen of a single rank: the page shows
 * either, and both are made by the same function as a terminal's. */
static void write_first_screens(struct json_writer *json, const struct results *results)
{
    struct results shown = *results;

    json_begin_object(json, NULL, JSON_ONE_PER_LINE);
    shown.detailed_rank = 0;
    if (results->overview)
        first_screen_json_write_screen(json, "job", &shown);
    else
        json_null(json, "job");
    json_begin_array(json, "ranks", JSON_ONE_PER_LINE);
    shown.overview = NULL;
    shown.headline = NULL;
    for (size_t i = 0; i < results->rank_count; i++) {
        shown.detailed_rank = i;
        first_screen_json_write_screen(json, NULL, &shown);
    }
    json_end_array(json);
    json_end_object(json);
}

/* ---- html ------------------------------------------------------------------------------------ */

/* Asked before a trace is read. The page is built from TypeScript; a build without Node has
 * none, and the message says how to get it. */
static bool can_write_html(bool is_terminal, struct error *error)
{
    if (html_page_bytes == 0)
        return error_set(error, ERROR_FAILURE,
                         "this program was built without the HTML page: install Node.js 18 or "
                         "later and npm, run 'npm ci' in the folder web of the source, then build "
                         "again (--json has the same numbers)");
    if (is_terminal)
        return error_set(error, ERROR_USAGE,
                         "an HTML page is not for a terminal: name a file, --html report.html");
    return true;
}

/* A block of data: the browser does not run it, and nothing in it can end it, as JSON in markup
 * holds no '<'. */
static void write_report_block(FILE *output, const struct results *results)
{
    struct json_writer json = {.output = output, .is_in_markup = true};

    fputs("<script type=\"application/json\" id=\"report\">\n", output);
    write_results_as_json(&json, results);
    fputs("</script>\n", output);
}

static void write_screen_block(FILE *output, const struct results *results)
{
    struct json_writer json = {.output = output, .is_in_markup = true};

    fputs("<script type=\"application/json\" id=\"screens\">\n", output);
    write_first_screens(&json, results);
    fputs("\n</script>\n", output);
}

/* A block of its own for each rank: one that nobody opens need not be parsed. */
static void write_timeline_block(FILE *output, const char *id, size_t rank,
                                 const struct timeline *timeline)
{
    struct json_writer json = {.output = output, .is_in_markup = true};

    if (!timeline)
        return;
    fprintf(output, "<script type=\"application/json\" id=\"%s-%zu\">\n", id, rank);
    write_timeline(&json, NULL, timeline);
    fputs("</script>\n", output);
}

/* Each in a block of its own: read when it is to be drawn. */
static void write_timeline_blocks(FILE *output, const struct results *results)
{
    for (size_t i = 0; i < results->rank_count; i++) {
        write_timeline_block(output, "timeline", i, results->ranks[i].timeline);
        write_timeline_block(output, "memory-map", i, results->ranks[i].memory_map);
    }
}

/* The page was built beforehand with a gap for its data, which is filled here. */
static bool write_html(FILE *output, const struct results *results,
                       const struct report_options *options, struct error *error)
{
    (void)options;
    if (!can_write_html(false, error))
        return false;
    fwrite(html_page, 1, html_page_data_offset, output);
    write_report_block(output, results);
    write_screen_block(output, results);
    write_timeline_blocks(output, results);
    fwrite(html_page + html_page_data_offset, 1, html_page_bytes - html_page_data_offset, output);
    return true;
}

const struct report html_report = {
    .name = "html",
    .summary = "for a browser: one page that needs no network",
    .write = write_html,
    .can_write = can_write_html,
};
