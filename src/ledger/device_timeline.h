/* What a device runs when, by kernel class. */
#ifndef FLOPLEDGER_LEDGER_DEVICE_TIMELINE_H
#define FLOPLEDGER_LEDGER_DEVICE_TIMELINE_H

#include "ledger/class_timeline.h"
#include "ledger/host_activity.h"
#include "trace/trace.h"

#include <stdint.h>

/* Kernels, copies and memsets of `device`. `classes`: of each of trace->device. Copies to the
 * device that were launched inside data loading (on their own thread or on `step_thread`) get the
 * class LEDGER_DATA_COPY. */
void build_device_timeline(struct class_timeline *timeline, struct host_activity *activity,
                           const uint8_t *classes, int32_t device, uint32_t step_thread);

/* CPU only: the threads that execute operators are the device. Each instant of a thread has the
 * class of its innermost operator; operators inside data loading are no work of the step and leave
 * it idle. */
void build_cpu_timeline(struct class_timeline *timeline, const struct trace *trace);

#endif
