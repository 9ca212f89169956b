/* What stands beside traceEvents: what the run was. */
#ifndef FLOPLEDGER_READERS_TORCH_PROFILER_TORCH_PROFILER_HEADER_H
#define FLOPLEDGER_READERS_TORCH_PROFILER_TORCH_PROFILER_HEADER_H

#include "readers/torch_profiler/torch_profiler_store.h"

/* True for the keys that torch_header_member takes. */
bool torch_header_knows(const struct json_slice *key);

/* Takes one member of the outermost object; members of no interest are left alone. */
void torch_header_member(struct torch_store *store, const struct json_slice *key,
                         const struct json_slice *value);

#endif
