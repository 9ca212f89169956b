/* What is measured of a running job and of its machine: numbers with names and labels, as both the
 * live page and /metrics show them. */
#ifndef FLOPLEDGER_LIVE_LIVE_SAMPLE_H
#define FLOPLEDGER_LIVE_LIVE_SAMPLE_H

#include "base/core/arena.h"
#include "base/core/attributes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum live_kind { LIVE_GAUGE, LIVE_COUNTER };

enum { LIVE_LABELS_MAX = 3, LIVE_NOTES_MAX = 16 };

/* Of a number; `name` holds its unit, and no "_total". */
struct live_family {
    const char *name; /* "flopledger_host_cpu_seconds" */
    const char *help;
    enum live_kind kind;
};

struct live_label {
    const char *name;
    const char *value;
};

struct live_sample {
    const struct live_family *family;
    struct live_label labels[LIVE_LABELS_MAX]; /* those not used have no name */
    double value;
};

/* All of one instant. A zeroed one is empty. */
struct live_samples {
    struct arena arena; /* label values and notes */
    struct live_sample *samples;
    size_t count;
    int64_t taken_ns;                  /* monotonic */
    const char *notes[LIVE_NOTES_MAX]; /* what could not be measured, and why */
    size_t note_count;
};

/* Label values are copied. Where a name is NULL there is no such label. */
void live_add(struct live_samples *samples, const struct live_family *family, double value,
              struct live_label first, struct live_label second);

/* Once each. */
void live_note(struct live_samples *samples, const char *format, ...) PRINTF_LIKE(2, 3);

void live_samples_clear(struct live_samples *samples);

/* The value of a label of the sample; "" where it has no such label. */
const char *live_label_of(const struct live_sample *sample, const char *name);

/* The sample of that family whose label `name` is `value` (any one where `name` is NULL); NULL
 * where there is none. */
const struct live_sample *live_find(const struct live_samples *samples, const char *family,
                                    const char *name, const char *value);

/* The same family and labels in `samples`; NULL where there is none. */
const struct live_sample *live_find_same(const struct live_samples *samples,
                                         const struct live_sample *like);

#endif
