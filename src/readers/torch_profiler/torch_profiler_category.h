/* Which kind of event each `cat` of a torch-profiler trace is, in all generations of the format. */
#ifndef FLOPLEDGER_READERS_TORCH_PROFILER_TORCH_PROFILER_CATEGORY_H
#define FLOPLEDGER_READERS_TORCH_PROFILER_TORCH_PROFILER_CATEGORY_H

#include "trace/trace.h"

#include <stddef.h>

/* The `cat` of what this program adds to a trace (`flopledger export chrome`): nothing that was
 * recorded, so that it is passed over. */
#define OWN_CATEGORY "flopledger"

/* The kind of a timed event with this `cat`; EVENT_HOST_OTHER where it is not known. Letter case
 * does not matter. */
enum event_kind torch_profiler_category_kind(const char *category, size_t length);

/* Whose software writes this `cat`; PLATFORM_CUDA where others do, too. */
enum platform torch_profiler_category_platform(const char *category, size_t length);

#endif
