/* Which device of the table a name means. Names are taken as torch.cuda.get_device_name,
 * nvidia-smi, rocm-smi, lspci and people write them. A name counts only as a whole: what the table
 * does not know for sure is not known, and never another device's figure. */
#ifndef FLOPLEDGER_COST_DEVICES_FIND_DEVICE_PEAK_H
#define FLOPLEDGER_COST_DEVICES_FIND_DEVICE_PEAK_H

#include "cost/devices/device_peak.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 0 or less where it is not known. */
struct device_hints {
    int64_t memory_bytes; /* as the driver reports it: up to a tenth less than on the box */
    int32_t multiprocessors;
    int32_t compute_major;
    int32_t compute_minor;
};

enum device_match_kind {
    DEVICE_UNKNOWN,      /* no rule takes the whole name */
    DEVICE_AMBIGUOUS,    /* several devices bear the name, and the hints do not tell them apart */
    DEVICE_CONTRADICTED, /* the name means a device, but the hints say that it is not (all of) it */
    DEVICE_BY_NAME,
    DEVICE_BY_HINTS, /* several bear the name; the hints left one */
    DEVICE_INFERRED, /* without a name: what fits its memory, multiprocessors and capability */
    DEVICE_NEAR,     /* another name: near devices of as many multiprocessors and its capability */
};

enum { DEVICE_CANDIDATES_MAX = 8 };

struct device_match {
    enum device_match_kind kind;
    const char *rule; /* the line of device_name_list.def that took the name; NULL: none did */
    const struct device_peak *candidates[DEVICE_CANDIDATES_MAX]; /* where it is not sure: those it
                                                                    may be; NULL behind the last */
    const struct device_peak *slowest; /* inferred or near: the candidate that computes least, where
                                          they differ; the one found computes most. NULL else */
    char how[512]; /* one sentence for people: how it was matched, or why not and what would tell */
};

/* NULL where the device is not known; `match` says how or why not. `name` may be NULL or "". With
 * hints a device that no rule names is inferred or taken for what it is near to, and `match` says
 * so: see device_is_approximate. */
const struct device_peak *find_device_peak(const char *name, const struct device_hints *hints,
                                           struct device_match *match);

/* "A, B or C": the candidates' names; "" without any. */
void list_device_candidates(const struct device_match *match, char *text, size_t size);

/* The figures of such a device are those of another one, or it is not sure of which. */
static inline bool device_is_approximate(const struct device_match *match)
{
    return match->kind == DEVICE_INFERRED || match->kind == DEVICE_NEAR;
}

#endif
