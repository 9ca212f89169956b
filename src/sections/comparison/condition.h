/* Conditions on what changed, for a build that shall fail: 'step_time>+3%'. */
#ifndef FLOPLEDGER_SECTIONS_COMPARISON_CONDITION_H
#define FLOPLEDGER_SECTIONS_COMPARISON_CONDITION_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "output/results/results.h"
#include "sections/comparison/run_comparison.h"

#include <stdbool.h>

/* What the number of a condition is. */
enum limit_kind {
    LIMIT_RELATIVE, /* +3%: of A */
    LIMIT_CHANGE,   /* +5ms, -2points, +10: in the measure's unit (ns, bytes, 0...1, 1) */
    LIMIT_VALUE,    /* 200ms, 40%, 12GiB: of B itself */
};

struct condition {
    const char *text; /* as the user wrote it */
    char subject[256];
    bool is_above; /* > ; else < */
    enum limit_kind kind;
    enum unit unit; /* of the number: TIME_NS, BYTES, FRACTION; COUNT where it has none */
    double limit;
};

enum condition_state {
    CONDITION_NOT_MET,
    CONDITION_MET,
    CONDITION_UNDECIDED,
};

/* `text` must live as long as the condition. Errors (ERROR_USAGE) name the place in the text and
 * what is accepted there. */
MUST_USE bool condition_parse(struct condition *condition, const char *text, struct error *error);

struct condition_outcome {
    enum condition_state state;
    const char *said; /* a sentence that says why; lives as long as the results */
};

/* ERROR_USAGE where neither run has anything of the name: it lists the names. */
MUST_USE bool condition_decide(const struct condition *condition,
                               const struct run_comparison *comparison, struct results *results,
                               struct condition_outcome *outcome, struct error *error);

#endif
