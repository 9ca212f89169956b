/* The [memory] events of a trace: one for each allocation and each release. */
#ifndef FLOPLEDGER_READERS_TORCH_PROFILER_TORCH_PROFILER_MEMORY_H
#define FLOPLEDGER_READERS_TORCH_PROFILER_TORCH_PROFILER_MEMORY_H

#include "readers/torch_profiler/torch_profiler_event.h"
#include "trace/memory_event.h"

#include <stdbool.h>

/* Whether the event is one of them: an instant called "[memory]". */
bool is_torch_memory_event(const struct torch_event *event);

/* All but the track. False where address or bytes are not given, or bytes or time are of no
 * possible size. */
bool torch_memory_event_read(struct memory_event *memory, const struct torch_event *event);

#endif
