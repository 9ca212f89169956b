/* The report for a browser: one file that holds the page, and the results as JSON inside it. The
 * page itself is written in web/; here only the data is put into it.
 */
#include "base/core/attributes.h"
#include "base/core/invariant.h"
#include "output/reports/first_screen_json.h"
#include "output/reports/html_page.h"
#include "output/reports/html_timeline.h"
#include "output/reports/report.h"
#include "output/reports/results_as_json.h"

#include <stdlib.h>
#include <zlib.h>

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

/* The whole page, unpacked; free() it. */
static unsigned char *unpack_page(void)
{
    unsigned char *page = require_memory(malloc(html_page_bytes));
    uLongf length = html_page_bytes;
    int status = uncompress(page, &length, html_page_compressed, html_page_compressed_bytes);

    if (status == Z_MEM_ERROR)
        end_out_of_memory();
    require_invariant(status == Z_OK && length == html_page_bytes,
                      "that the page is what the build wrote");
    return page;
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

static bool write_html(FILE *output, const struct results *results,
                       const struct report_options *options, struct error *error)
{
    unsigned char *page;

    (void)options;
    if (!can_write_html(false, error))
        return false;
    page = unpack_page();
    fwrite(page, 1, html_page_data_offset, output);
    write_report_block(output, results);
    write_screen_block(output, results);
    write_timeline_blocks(output, results);
    fwrite(page + html_page_data_offset, 1, html_page_bytes - html_page_data_offset, output);
    free(page);
    return true;
}

const struct report html_report = {
    .name = "html",
    .summary = "for a browser: one page that needs no network",
    .write = write_html,
    .can_write = can_write_html,
};
