/* Input shapes as a narrow column shows them. */
#ifndef FLOPLEDGER_SECTIONS_SHAPE_TEXT_H
#define FLOPLEDGER_SECTIONS_SHAPE_TEXT_H

#include "output/results/results.h"

/* "[[512], [8, 512], [], []]" as "[512] [8,512]": without what is no tensor. Lives as long as the
 * results. */
const char *short_shapes(struct results *results, const char *shapes);

#endif
