/* What each block of memory was for. */
#ifndef FLOPLEDGER_MEMORY_MEMORY_ATTRIBUTION_H
#define FLOPLEDGER_MEMORY_MEMORY_ATTRIBUTION_H

#include "memory/memory_run.h"

/* Fills event, module, kind and phase of all blocks of `run`, whose other fields are filled.
 *
 * A block that a mark names has that tensor's kind and module. Of the others, what the forward
 * allocates and is alive where its backward begins is an activation, as is what a recomputation
 * allocates and leaves behind; what is prepared before a forward and alive at its beginning is an
 * input, unless it is kept for good; all else is temporary. */
void memory_attribute(struct memory_run *run);

#endif
