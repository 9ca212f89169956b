/* What `flopledger top` shows of the machine. */
#ifndef FLOPLEDGER_LIVE_TOP_TOP_SECTIONS_H
#define FLOPLEDGER_LIVE_TOP_TOP_SECTIONS_H

#include "base/core/arena.h"
#include "base/core/attributes.h"
#include "live/top/top_page.h"

/* GPUs, processors, pressure, disks, networks; and what could not be measured. */
void write_top_machine(FILE *output, struct arena *arena, const struct top_view *view);

/* Writes what `write` writes, broken into lines of the page's width. */
void top_write_wrapped(FILE *output, const struct top_view *view, int indent,
                       void (*write)(FILE *output, const struct top_view *view));

/* In `arena`; at most 511 characters. */
const char *top_text(struct arena *arena, const char *format, ...) PRINTF_LIKE(2, 3);

#endif
