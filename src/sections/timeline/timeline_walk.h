/* What lies in the lanes of a timeline, piece by piece: in line, so that where every event of a
 * trace is drawn no call stands between finding a piece and packing it. */
#ifndef FLOPLEDGER_SECTIONS_TIMELINE_TIMELINE_WALK_H
#define FLOPLEDGER_SECTIONS_TIMELINE_TIMELINE_WALK_H

#include "base/core/attributes.h"
#include "cost/modules/host_context.h"
#include "cost/modules/module_tree.h"
#include "sections/timeline/timeline_parts.h"

#include <stdbool.h>
#include <stdint.h>

enum { DEPTH_OF_MARK = UINT8_MAX }; /* in timeline_lanes.depths: beyond all rows */

/* Classes, one group behind the other. */
enum {
    CLASS_OF_ACCOUNTS = 0,
    CLASS_OF_KERNELS = ACCOUNT_COUNT,
    CLASS_OF_HOST = CLASS_OF_KERNELS + KERNEL_CLASS_COUNT,
    CLASS_OF_PHASES = CLASS_OF_HOST + HOST_CLASS_COUNT,
    CLASSES_IN_ALL = CLASS_OF_PHASES + PHASE_COUNT,
};

/* As piece_sink.take. */
typedef void (*piece_visitor)(void *context, const struct timeline_piece *piece);

/* The ranges of modules in the forward, and in the backward the stretches in which one autograd
 * node after another belongs to a module. Row: how deep the module lies in the model. The class of
 * a piece is `first_class` and the phase of training. */
void timeline_walk_modules(const struct timeline_lanes *lanes, uint32_t lane, uint32_t first_class,
                           const struct piece_sink *sink);

ALWAYS_INLINE bool timeline_lanes_is_python(const struct event *event)
{
    return event->kind == EVENT_PYTHON_FUNCTION;
}

/* Accounts already divide the time without overlap, so one row is enough and no piece needs a
 * module or a launch to point at. */
ALWAYS_INLINE void walk_accounts(const struct timeline_lanes *lanes, uint32_t lane,
                                 piece_visitor take, void *context)
{
    struct timeline_piece piece = {.module = NO_MODULE, .launch = NO_EVENT, .lane = lane};

    for (size_t i = 0; i < lanes->accounts->count; i++) {
        const struct account_piece *account = &lanes->accounts->pieces[i];

        piece.start_ns = account->start_ns;
        piece.duration_ns = account->end_ns - account->start_ns;
        piece.class = CLASS_OF_ACCOUNTS + (uint32_t)account->account;
        take(context, &piece);
    }
}

/* Tracks without a lane (too many, or of another device) are passed over before a module is
 * looked for, which costs most. */
ALWAYS_INLINE void walk_devices(const struct timeline_lanes *lanes, piece_visitor take,
                                void *context)
{
    const struct trace *trace = lanes->trace;
    const struct host_contexts *contexts = &lanes->costs->contexts;
    struct timeline_piece piece;

    for (uint32_t i = 0; i < trace->device_count; i++) {
        const struct event *event = &trace->device[i];

        piece.lane = lanes->lane_of_track[event->track];
        if (piece.lane == NO_EVENT)
            continue;
        piece.start_ns = event->start_ns;
        piece.duration_ns = event->duration_ns;
        piece.name = event->name;
        piece.class = CLASS_OF_KERNELS + lanes->ledger->classes[i];
        piece.launch = trace->launch[i];
        piece.row = lanes->device_rows[i];
        piece.module = find_device_context(contexts, trace, i).module;
        take(context, &piece);
    }
}

/* Deeper events than the lane has rows are counted as hidden; the count is set anew in each
 * walk, for a timeline may be walked twice. */
ALWAYS_INLINE void walk_thread(struct timeline_lanes *lanes, uint32_t index, piece_visitor take,
                               void *context)
{
    struct lane_source *lane = &lanes->lanes[index];
    const struct trace *trace = lanes->trace;
    const struct track *track = &trace->tracks[lane->track];
    uint32_t end = track->first_event + track->event_count;
    bool wants_python = lane->kind == TIMELINE_PYTHON;
    struct timeline_piece piece = {.launch = NO_EVENT, .lane = index};

    lane->hidden_count = 0;
    for (uint32_t i = track->first_event; i < end; i++) {
        const struct event *event = &trace->host[i];

        if (timeline_lanes_is_python(event) != wants_python || lanes->depths[i] == DEPTH_OF_MARK)
            continue;
        if (lanes->depths[i] >= lane->row_count) {
            lane->hidden_count++;
            continue;
        }
        piece.start_ns = event->start_ns;
        piece.duration_ns = event->duration_ns;
        piece.name = event->name;
        piece.module = module_of_host(&lanes->costs->contexts, i);
        piece.class = CLASS_OF_HOST + (uint32_t)host_activity_class(&lanes->activity, event);
        piece.row = lanes->depths[i];
        take(context, &piece);
    }
}

/* The events of the device are one list by start, of all streams mixed: one walk fills all
 * their lanes, in the order that rows need. */
ALWAYS_INLINE void walk_lanes(struct timeline_lanes *lanes, piece_visitor take, void *context)
{
    walk_devices(lanes, take, context);
    for (uint32_t i = 0; i < lanes->count; i++) {
        switch (lanes->lanes[i].kind) {
        case TIMELINE_ACCOUNTS:
            walk_accounts(lanes, i, take, context);
            break;
        case TIMELINE_MODULES:
            timeline_walk_modules(lanes, i, CLASS_OF_PHASES,
                                  &(struct piece_sink){.take = take, .context = context});
            break;
        case TIMELINE_THREAD:
        case TIMELINE_PYTHON:
            walk_thread(lanes, i, take, context);
            break;
        case TIMELINE_STREAM: /* all streams are walked at once */
        case TIMELINE_PHASES:
        case TIMELINE_RANGES:
        case TIMELINE_ALLOCATIONS:
        case TIMELINE_SEGMENTS: /* of timelines of memory */
            break;
        }
    }
}

#endif
