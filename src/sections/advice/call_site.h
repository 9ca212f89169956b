/* Where in the program a host event happened: operator, Python frame, module. */
#ifndef FLOPLEDGER_SECTIONS_ADVICE_CALL_SITE_H
#define FLOPLEDGER_SECTIONS_ADVICE_CALL_SITE_H

#include "output/results/results.h"
#include "sections/advice/advice_rule.h"

#include <stdint.h>

/* Texts live as long as the trace or the results; NULL where the trace does not tell. */
struct call_site {
    uint32_t event;        /* index in trace->host */
    const char *operation; /* the outermost op of ATen that holds it (or is it), else the innermost
                              op or range */
    const char *frame;     /* the innermost Python frame that is not torch's own */
    const char *module;    /* the innermost module; in a backward that of the forward */
};

struct call_site find_call_site(const struct advice_case *advice, uint32_t event);

/* "aten::item in train.py(12): step, module decoder": lives as long as the results. */
const char *call_site_text(const struct advice_case *advice, const struct call_site *site);

/* A name of the trace, cut to what fits a line. */
const char *brief_name(const char *name, struct results *results);

/* Shapes as a trace writes them, "[[8, 64], [], [64]]", without the arguments that are no tensors,
 * and cut likewise. */
const char *brief_shapes(const char *shapes, struct results *results);

#endif
