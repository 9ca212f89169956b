/* The page of `flopledger top`: a running job and its machine at one look. */
#ifndef FLOPLEDGER_LIVE_TOP_TOP_PAGE_H
#define FLOPLEDGER_LIVE_TOP_TOP_PAGE_H

#include "live/top/top_view.h"

#include <stdio.h>

void write_top_page(FILE *output, const struct top_view *view);

#endif
