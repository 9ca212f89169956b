/* Where in the program a host event happened: operator, Python frame, module, named range. */
#ifndef FLOPLEDGER_ADVICE_CALL_SITE_H
#define FLOPLEDGER_ADVICE_CALL_SITE_H

#include "results/results.h"
#include "trace/trace.h"

#include <stdint.h>

/* Texts live as long as the trace or the results; NULL where the trace does not tell. */
struct call_site {
    uint32_t event;        /* index in trace->host */
    const char *operation; /* the outermost op of ATen around it, else the innermost op or range */
    const char *frame;     /* the innermost Python frame that is not torch's own */
    const char *module;    /* the innermost module */
};

/* `events`: ascending indices in trace->host. Fills sites[count]. One pass over the threads they
 * are of. */
void find_call_sites(struct call_site *sites, const uint32_t *events, uint32_t count,
                     const struct trace *trace, struct results *results);

/* "aten::item in train.py(12): step, module decoder": lives as long as the results. */
const char *call_site_text(const struct call_site *site, const struct trace *trace,
                           struct results *results);

/* A name of the trace, cut to what fits a line. */
const char *brief_name(const char *name, struct results *results);

#endif
