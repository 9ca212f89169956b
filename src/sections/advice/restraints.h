/* What the advice must not say of a trace: restraint_list.def has the list. */
#ifndef FLOPLEDGER_SECTIONS_ADVICE_RESTRAINTS_H
#define FLOPLEDGER_SECTIONS_ADVICE_RESTRAINTS_H

#include "sections/advice/advice_rule.h"

/* What a restraint is asked about beside the trace; zeroed but for what it looks at. */
struct restraint_subject {
    uint32_t range;   /* logging: index in trace->host */
    int64_t wide_ns;  /* halved_bytes: time on 32-bit numbers */
    int64_t all_ns;   /* halved_bytes: all of it; peak_ratio: time of all products */
    int64_t known_ns; /* peak_ratio: of products whose FLOPs are known */
    const struct optimizer_options *options; /* fused */
};

/* forbids_late_rank and so on. */
#define ADVICE_RESTRAINT(id, what, where) \
    bool forbids_##id(const struct advice_case *advice, const struct restraint_subject *subject);
#include "sections/advice/restraint_list.def"
#undef ADVICE_RESTRAINT

#endif
