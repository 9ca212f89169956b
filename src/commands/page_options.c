/* How the options of a page are read. */
#include "commands/page_options.h"

#include "base/core/memory_limit.h"
#include "base/text/byte_size.h"
#include "output/reports/write_report.h"

#include <string.h>

const char html_output_accepted[] = "the name of a file";

/* --html FILE is --format html --output FILE in one; the option's name is kept, so that a
 * message about the file names what was typed. */
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

/* The limit is one of the process and no field of a command, hence set at once. */
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
