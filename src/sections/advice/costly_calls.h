/* Calls of the host that cost idle time, summed by the place in the program they come from. */
#ifndef FLOPLEDGER_SECTIONS_ADVICE_COSTLY_CALLS_H
#define FLOPLEDGER_SECTIONS_ADVICE_COSTLY_CALLS_H

#include "sections/advice/advice_rule.h"
#include "sections/advice/call_site.h"

enum { CALL_SITES_MAX = 64 };

/* Calls of one operator and frame. */
struct site_sum {
    struct call_site site; /* of the first of them */
    int64_t count;
    int64_t idle_ns;
};

struct costly_calls {
    struct site_sum sites[CALL_SITES_MAX]; /* most idle time first; more places than these are left
                                              out */
    uint32_t site_count;
    int64_t count; /* calls that cost time */
};

/* `idle_ns`: what each of `list` costs. */
void sum_costly_calls(struct costly_calls *calls, const struct advice_case *advice,
                      const struct host_call_list *list, const int64_t *idle_ns);

/* "calls that leave the device idle, 2 a step: aten::item in train.py(12): step 1.200 ms;
 * aten::nonzero 0.300 ms". */
const char *costly_calls_text(const struct costly_calls *calls, const struct advice_case *advice);

#endif
