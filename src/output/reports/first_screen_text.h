/* The first screen on a terminal. */
#ifndef FLOPLEDGER_OUTPUT_REPORTS_FIRST_SCREEN_TEXT_H
#define FLOPLEDGER_OUTPUT_REPORTS_FIRST_SCREEN_TEXT_H

#include "base/core/arena.h"
#include "base/text/text_table.h"
#include "output/reports/first_screen.h"

#include <stdio.h>

/* At most 48 lines where a page has 80 columns or more; nothing is wider than the page. */
void write_first_screen(FILE *output, const struct first_screen *screen, struct text_style style,
                        struct arena *arena);

#endif
