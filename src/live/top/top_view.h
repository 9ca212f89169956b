/* What the page of `flopledger top` shows, and what its parts write with. */
#ifndef FLOPLEDGER_LIVE_TOP_TOP_VIEW_H
#define FLOPLEDGER_LIVE_TOP_TOP_VIEW_H

#include "base/core/arena.h"
#include "base/core/attributes.h"
#include "base/text/text_table.h"
#include "live/live_sample.h"
#include "readers/step_record/job_records.h"

#include <stdio.h>

struct top_view {
    const struct job_records *records; /* NULL: no capture, the machine alone */
    const struct live_samples *before; /* rates are counted from these; NULL: the first look */
    const struct live_samples *now;
    int64_t planned_steps; /* of the job, as the user says; 0: not said */
    const char *mfu_needs; /* why the MFU is not known; NULL where it is */
    int screen_lines;      /* that there is room for; 0: as many as it takes */
    struct text_style style;
};

/* Writes what `write` writes, broken into lines of the page's width. */
void top_write_wrapped(FILE *output, const struct top_view *view, int indent,
                       void (*write)(FILE *output, const struct top_view *view));

/* In `arena`; at most 511 characters. */
const char *top_text(struct arena *arena, const char *format, ...) PRINTF_LIKE(2, 3);

/* ---- the page of `flopledger top`: a running job and its machine at one look ---- */

void write_top_page(FILE *output, const struct top_view *view);

/* ---- what `flopledger top` shows of the machine ---- */

/* GPUs, processors, pressure, disks, networks; and what could not be measured. */
void write_top_machine(FILE *output, struct arena *arena, const struct top_view *view);

#endif
