/* Where the steps of a trace begin and end. */
#ifndef FLOPLEDGER_LEDGER_STEP_WINDOW_H
#define FLOPLEDGER_LEDGER_STEP_WINDOW_H

#include "trace/trace.h"

#include <regex.h>
#include <stdbool.h>
#include <stdint.h>

enum window_source {
    WINDOW_PROFILER_STEP,  /* ProfilerStep#n annotations of the host */
    WINDOW_OPTIMIZER_STEP, /* from one Optimizer.step to the next */
    WINDOW_RANGES,         /* ranges that the program named as steps: "iteration 5" */
    WINDOW_WHOLE, /* no step found: all device work (CPU-only: all operators) as one window */
};

struct step_window {
    int64_t start_ns; /* what is booked to the step: by the host's clock its mark; else see
                         step_ledger.h */
    int64_t end_ns;
    int64_t mark_start_ns; /* the host's mark: what the host does in it, it does for this step */
    int64_t mark_end_ns;
    int64_t lead_ns; /* from the end of the mark to the end of the last work that was launched in
                        it; 0 where that ended before, -1 where none is seen */
    int64_t number;  /* the n of ProfilerStep#n or "iteration n"; else counted from 0 */
    uint32_t name;   /* in trace.strings; 0 for windows that no event names */
    uint32_t track;  /* host thread of the mark; NO_EVENT for WINDOW_WHOLE */
    uint8_t kind;    /* of a step of an inference server its phase and 1: steps of several kinds do
                        not do the same work; else 0 */
    bool is_cut;     /* the file was truncated and this is its last step: it may go on past what was
                        recorded */
};

struct step_windows {
    enum window_source source;
    struct step_window *windows; /* sorted by start; [count] */
    uint32_t count;
};

/* "auto" takes the first source that gives a window. */
enum window_choice {
    WINDOW_CHOICE_AUTO,
    WINDOW_CHOICE_STEPS,
    WINDOW_CHOICE_OPTIMIZER,
    WINDOW_CHOICE_RANGES,
    WINDOW_CHOICE_WHOLE
};

/* Windows never overlap. No windows at all (count 0) for a trace without timed events, or without
 * the marks that `choice` asks for. `device`: whose work makes the whole window; -1: the events of
 * the host do. `result` must be zeroed. */
void find_step_windows(struct step_windows *result, const struct trace *trace,
                       enum window_choice choice, int32_t device);

/* Each range of the host whose name the pattern (extended, as regcomp made it) matches is a step;
 * of overlapping ones see above. */
void find_steps_by_pattern(struct step_windows *result, const struct trace *trace,
                           const regex_t *pattern);

/* In words: "ProfilerStep marks of the profiler". */
const char *window_source_text(enum window_source source);

void step_windows_clear(struct step_windows *windows);

/* The place of the word that the name consists of, but for numbers and what follows them: of
 * "Iteration 12 of 90" that of "iteration". -1: it is no name of a step. Case does not matter. */
int step_word_of(const char *name);

/* The first number in a name, or -1. */
int64_t step_number_in(const char *name);

#endif
