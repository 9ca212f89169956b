/* The report on one rank as a text. */
#include "pipeline/printed_report.h"

#include "base/core/invariant.h"
#include "base/core/out_of_memory.h"
#include "output/reports/write_report.h"

#include <stdio.h>
#include <stdlib.h>

enum { REPORT_WIDTH = 100 };

/* A view of one rank: ranks and texts stay where they are, and nothing is copied. */
const char *print_rank_report(struct results *results, size_t index, struct error *error)
{
    struct report_options options = {.width = REPORT_WIDTH, .use_unicode = true};
    struct results alone = {.ranks = &results->ranks[index], .rank_count = 1};
    char *text = NULL;
    const char *kept = NULL;
    size_t size;
    FILE *stream = require_memory(open_memstream(&text, &size));
    bool is_done = all_reports()[0]->write(stream, &alone, &options, error);

    if (fclose(stream) != 0)
        end_out_of_memory();
    if (is_done)
        kept = results_text(results, text);
    free(text);
    return kept;
}
