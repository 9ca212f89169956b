/* The memory of one recorded trace. */
#include "pipeline/recorded_memory.h"

#include "base/core/invariant.h"
#include "ledger/step_window.h"
#include "trace/recorder_words.h"

#include <stdlib.h>

/* The steps of the trace; free() them. */
static struct memory_step *recorded_memory_find_steps(const struct trace *trace, uint32_t *count)
{
    SCOPED(step_windows) found = {0};
    struct memory_step *steps;

    find_step_windows(&found, trace, WINDOW_CHOICE_STEPS, -1);
    steps = require_memory(calloc(found.count + (size_t)1, sizeof *steps));
    for (uint32_t i = 0; i < found.count; i++)
        steps[i] = (struct memory_step){.number = found.windows[i].number,
                                        .start_ns = found.windows[i].start_ns,
                                        .end_ns = found.windows[i].end_ns};
    *count = found.count;
    return steps;
}

/* The description, side file and batch are looked for beside the trace; they may be missing,
 * but must not be damaged: names and kinds of tensors would be wrong then. */
bool recorded_memory_read(struct recorded_memory *memory, const struct trace *trace,
                          struct error *error)
{
    const char *path = trace_text(trace, trace->path);
    struct memory_step *steps;
    uint32_t step_count;

    memory->description =
        (struct model_description){.world_size = -1, .data_size = -1, .tensor_size = -1};
    memory->batch = memory_batch_none();
    if (trace->memory.count == 0)
        return error_set(error, ERROR_NO_DATA,
                         "no memory to tell of in '%s': it has no [memory] events: %s", path,
                         recorder_words_for(trace)->memory);
    if (!model_description_find(&memory->description, path, error) ||
        !memory_side_file_find(&memory->side, path, error) ||
        !memory_batch_find(&memory->batch, path, error))
        return false;
    steps = recorded_memory_find_steps(trace, &step_count);
    memory_run_build(&memory->run, &(struct memory_sources){.trace = trace,
                                                            .side = &memory->side,
                                                            .description = &memory->description,
                                                            .steps = steps,
                                                            .step_count = step_count});
    free(steps);
    return true;
}

/* A device that was asked for is looked for among the blocks: one that exists but holds
 * nothing has no memory to tell of. */
bool recorded_memory_device(const struct recorded_memory *memory, int64_t asked, int32_t *device,
                            struct error *error)
{
    const struct memory_blocks *blocks = &memory->run.blocks;

    *device = asked < 0 ? memory_main_device(&memory->run) : (int32_t)asked;
    for (uint32_t i = 0; i < blocks->count; i++)
        if (blocks->blocks[i].device == *device)
            return true;
    return error_set(error, ERROR_NO_DATA,
                     "nothing was allocated on device %d in '%s': leave --device out for the one "
                     "that holds most, or for the host",
                     *device, trace_text(memory->run.trace, memory->run.trace->path));
}

void recorded_memory_clear(struct recorded_memory *memory)
{
    if (!memory)
        return;
    memory_run_clear(&memory->run);
    memory_side_file_clear(&memory->side);
    model_description_clear(&memory->description);
}
