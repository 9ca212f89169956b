/* What the profiler's own work took from the program: at the end of the recording, and in calls. */
#ifndef FLOPLEDGER_SECTIONS_ADVICE_RECORDING_RULES_H
#define FLOPLEDGER_SECTIONS_ADVICE_RECORDING_RULES_H

#include "sections/advice/advice_rule.h"

#include <stdbool.h>
#include <stdint.h>

/* The end of the last step, where nothing is recorded any more: the loop has ended and the profiler
 * stops, but the step's mark is closed only then. Less what the other steps idle at their ends;
 * empty
 * ([0] == [1]) where something is recorded behind it, or too few steps tell what is usual. */
void find_recording_end(const struct advice_case *advice, int64_t range_ns[2]);

/* Its length where `step` is the last one, else 0. */
int64_t recording_end_ns(const struct advice_case *advice, uint32_t step);

/* How long a step takes that is not recorded, by the run's own clock, where recorded ones take
 * clearly longer; 0 else. */
int64_t plain_step_of(const struct advice_case *advice);

/* How much of a step, which is idle then, it takes longer than one that is not recorded. */
int64_t dilation_ns(const struct advice_case *advice, uint32_t step);

/* An overhead event that is the profiler's own: not the first use of a kernel, nor a full command
 * buffer of the device. */
bool is_profilers_work(const char *name);
bool is_module_loading(const char *name);

/* Most of the call's time the profiler, in the same process, is at work on its own. */
bool is_held_by_profiler(const struct advice_case *advice, const struct event *call);

#endif
