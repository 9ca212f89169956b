/* An event that is laid out as others before it, read joint by joint. All time that the program
 * spends on a large trace is spent here first. */
#ifndef FLOPLEDGER_READERS_TORCH_PROFILER_TORCH_PROFILER_KNOWN_H
#define FLOPLEDGER_READERS_TORCH_PROFILER_TORCH_PROFILER_KNOWN_H

#include "readers/torch_profiler/torch_profiler_values.h"

/* What stands in the text of a joint: the phase, constants, where args begin and end. */
static inline void read_marks(struct layout_joint *joint, const char *at, struct torch_event *event)
{
    unsigned marks = joint->marks;

    if (marks & JOINT_HAS_FIELDS) {
        event->has |= joint->has;
        event->phase = joint->has & HAS_PHASE ? joint->phase : event->phase;
        if (joint->has & HAS_CATEGORY) {
            event->category = joint->constants[CONSTANT_CATEGORY];
            event->category_memo = &joint->category;
        }
        if (joint->has & HAS_PID) {
            event->pid = joint->constants[CONSTANT_PID];
            event->track_memo = NULL;
        }
        if (joint->has & HAS_TID) {
            event->tid = joint->constants[CONSTANT_TID];
            event->track_memo = joint->has & HAS_PID ? &joint->track : NULL;
        }
    }
    if (marks & JOINT_BEGINS_ARGS) {
        event->args.text = at + joint->args_start - 1;
        event->has_args = 0;
    }
    if (marks & JOINT_ENDS_ARGS)
        event->args.length = (uint32_t)(at + joint->args_end - event->args.text);
}

/* By the joints below the root; NULL where one is not known, or a value is not as it should be. */
static inline const char *scan_known_event(struct json_scan *scan, const char *at,
                                           struct torch_event *event, struct layout_joint *joint)
{
    struct layout_joint *next;

    if (!joint)
        return NULL;
    torch_event_clear(event);
    while ((next = layout_follow(joint, at))) {
        joint = next;
        if (joint->marks)
            read_marks(joint, at, event);
        at = scan_by_action(scan, at + joint->length, event, joint);
        if (!at)
            return NULL;
    }
    return joint->action == JOINT_END ? at : NULL; /* behind which nothing follows */
}

/* torch_event_scan_known where the processor has AVX2. */
const char *torch_event_scan_known_avx2(struct json_scan *scan, const char *at,
                                        struct torch_event *event, struct event_layouts *layouts);

#endif
