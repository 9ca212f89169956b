/* The page of `flopledger top`: a running job and its machine at one look. */
#ifndef FLOPLEDGER_LIVE_TOP_TOP_PAGE_H
#define FLOPLEDGER_LIVE_TOP_TOP_PAGE_H

#include "base/text/text_table.h"
#include "live/live_sample.h"
#include "readers/step_record/job_records.h"

#include <stdio.h>

struct top_view {
    const struct job_records *records; /* NULL: no capture, the machine alone */
    const struct live_samples *before; /* rates are counted from these; NULL: the first look */
    const struct live_samples *now;
    const char *mfu_needs; /* why the MFU is not known; NULL where it is */
    int screen_lines;      /* that there is room for; 0: as many as it takes */
    struct text_style style;
};

void write_top_page(FILE *output, const struct top_view *view);

#endif
