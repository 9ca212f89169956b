/* Which module a host thread was in when: the lane of modules of a timeline. */
#ifndef FLOPLEDGER_SECTIONS_TIMELINE_TIMELINE_MODULES_H
#define FLOPLEDGER_SECTIONS_TIMELINE_TIMELINE_MODULES_H

#include "sections/timeline/timeline_lanes.h"
#include "sections/timeline/timeline_plan.h"

#include <stdint.h>

/* Rows that the modules of a thread need; 0: it is in none. */
uint32_t timeline_module_rows(const struct timeline_lanes *lanes, uint32_t track);

/* The ranges of modules in the forward, and in the backward the stretches in which one autograd
 * node after another belongs to a module. Row: how deep the module lies in the model. The class of
 * a piece is `first_class` and the phase of training. */
void timeline_walk_modules(const struct timeline_lanes *lanes, uint32_t lane, uint32_t first_class,
                           const struct piece_sink *sink);

#endif
