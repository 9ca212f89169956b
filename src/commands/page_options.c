/* The settings of a page, and how it is printed. */
#include "commands/page_options.h"

#include "base/memory_limit.h"
#include "base/out_of_memory.h"
#include "base/output_file.h"
#include "base/terminal.h"
#include "commands/byte_size.h"
#include "reports/write_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Blocks of all timelines of a page together: some megabytes. */
enum { TIMELINE_BLOCKS = 300000, TIMELINE_BLOCKS_LEAST = 4000 };
enum { ROWS_USUAL = 10, ROWS_OF_HTML = 2000, ROWS_OF_HTML_LEAST = 50 };

enum color_choice { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

const char *const color_names[] = {"auto", "always", "never", NULL};

const char html_output_accepted[] = "the name of a file";

bool parse_html_output(const char *text, void *field)
{
    struct page_settings *settings = field;

    if (text[0] == '\0')
        return false;
    for (int i = 0; report_names[i]; i++) {
        if (strcmp(report_names[i], "html") == 0)
            settings->format = i;
    }
    settings->output = text;
    settings->output_option = "--html";
    return true;
}

const char memory_limit_accepted[] = "a size of at least 64 MiB with its unit: 2GiB, 512MiB";

bool parse_memory_limit(const char *text, void *unused)
{
    const int64_t bytes_min = 64 << 20;
    int64_t bytes = 0;

    (void)unused;
    if (!parse_byte_size(text, &bytes) || bytes < bytes_min)
        return false;
    memory_limit_set(bytes);
    return true;
}

static bool is_of_format(const struct page_settings *settings, const char *name)
{
    return strcmp(all_reports()[settings->format]->name, name) == 0;
}

bool page_has_timeline(const struct page_settings *settings)
{
    return is_of_format(settings, "html");
}

bool page_tells_all(const struct page_settings *settings)
{
    return is_of_format(settings, "html") || is_of_format(settings, "json");
}

int64_t rows_of_page(const struct page_settings *settings, int64_t top, size_t files)
{
    int64_t rows = ROWS_OF_HTML / (int64_t)(files ? files : 1);

    if (top >= 0)
        return top;
    if (!page_has_timeline(settings))
        return ROWS_USUAL;
    return rows > ROWS_OF_HTML_LEAST ? rows : ROWS_OF_HTML_LEAST;
}

int64_t timeline_blocks_of_page(const struct page_settings *settings, size_t files)
{
    int64_t blocks = TIMELINE_BLOCKS / (int64_t)(files ? files : 1);

    if (!page_has_timeline(settings))
        return 0;
    return blocks > TIMELINE_BLOCKS_LEAST ? blocks : TIMELINE_BLOCKS_LEAST;
}

static bool is_standard_output(const struct page_settings *settings)
{
    return !settings->output || strcmp(settings->output, "-") == 0;
}

static bool write_page(FILE *output, const struct results *results,
                       const struct page_settings *settings, struct error *error)
{
    struct report_options options = {
        .width = settings->width > 0 ? (int)settings->width : terminal_width(output),
        .use_color = settings->color == COLOR_ALWAYS ||
                     (settings->color == COLOR_AUTO && terminal_shows_color(output)),
        .use_unicode = locale_is_utf8(),
    };

    return all_reports()[settings->format]->write(output, results, &options, error);
}

bool print_page(const struct results *results, const struct page_settings *settings,
                struct error *error)
{
    SCOPED(output_file) file = {0};

    if (is_standard_output(settings))
        return write_page(stdout, results, settings, error);
    if (!output_file_open(&file, settings->output, error))
        return false;
    if (!write_page(file.stream, results, settings, error))
        return false;
    return output_file_close(&file, error);
}

struct output_place place_of_page(const struct page_settings *settings, const char *what)
{
    return (struct output_place){
        .path = settings->output,
        .option = settings->output_option ? settings->output_option : "--output",
        .what = what,
        .is_forced = settings->is_forced,
    };
}

bool check_output(const struct page_settings *settings, const struct output_inputs *inputs,
                  struct error *error)
{
    const struct report *report = all_reports()[settings->format];
    struct output_place place = place_of_page(settings, "page");

    if (report->can_write &&
        !report->can_write(is_standard_output(settings) && isatty(STDOUT_FILENO), error))
        return false;
    return check_output_place(&place, inputs, error);
}
