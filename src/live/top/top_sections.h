/* What `flopledger top` shows of the machine. */
#ifndef FLOPLEDGER_LIVE_TOP_TOP_SECTIONS_H
#define FLOPLEDGER_LIVE_TOP_TOP_SECTIONS_H

#include "base/core/arena.h"
#include "live/top/top_view.h"

/* GPUs, processors, pressure, disks, networks; and what could not be measured. */
void write_top_machine(FILE *output, struct arena *arena, const struct top_view *view);

#endif
