/* Puts the memory of a run together, and asks it for peaks and sums; and what a recorded step
 * trained on. */
#include "base/core/arena.h"
#include "base/core/hash_map.h"
#include "base/core/invariant.h"
#include "base/core/search.h"
#include "base/io/whole_file.h"
#include "base/json/json_tree.h"
#include "base/text/owned_text.h"
#include "base/text/prefix.h"
#include "cost/modules/host_context.h"
#include "memory/memory_run.h"

#include <stdlib.h>
#include <string.h>

static const char side_file[] = "capture.json";

/* -1 stands for not known everywhere: 0 is a rank. */
struct memory_batch memory_batch_none(void)
{
    return (struct memory_batch){.samples = -1,
                                 .length = -1,
                                 .data_size = -1,
                                 .rank = -1,
                                 .data_rank = -1,
                                 .tensor_rank = -1};
}

static void memory_batch_take_last_step(struct memory_batch *batch, const struct json_node *entry)
{
    const struct json_node *step = json_items_of(entry, "steps");
    int64_t micro_batches;
    int64_t samples;
    int64_t tokens;

    while (step && step->next)
        step = step->next;
    micro_batches = json_integer_of(step, "micro_batches", -1);
    samples = json_integer_of(step, "samples", -1);
    tokens = json_integer_of(step, "tokens", -1);
    /* With gradients that are accumulated, memory is that of one micro-batch. */
    if (micro_batches > 0 && samples >= micro_batches)
        batch->samples = samples / micro_batches;
    if (samples > 0 && tokens >= samples)
        batch->length = tokens / samples;
}

/* One type alone: with several, what bf16 would save is not told by halving. */
static bool has_only_float32(const struct json_node *root)
{
    const struct json_node *types = json_member(json_member(root, "precision"), "parameters");

    return types && types->first && !types->first->next &&
           strcmp(types->first->key ? types->first->key : "", "float32") == 0;
}

bool memory_batch_parse(struct memory_batch *batch, const char *trace_name, const char *text,
                        size_t length, struct error *error)
{
    SCOPED(arena) arena = {0};
    const struct json_node *root = json_tree_parse(&arena, text, length, error);
    const struct json_node *parallel = json_member(root, "parallel");

    if (!root)
        return false;
    /* A capture holds several windows, and each trace is one of them. */
    for (const struct json_node *entry = json_items_of(root, "recorded"); entry;
         entry = entry->next)
        if (strcmp(json_text_of(entry, "trace", ""), trace_name) == 0)
            memory_batch_take_last_step(batch, entry);
    batch->is_float32 = has_only_float32(root);
    batch->rank = json_integer_of(parallel, "rank", -1);
    batch->data_size = json_integer_of(json_member(parallel, "data"), "size", -1);
    batch->data_rank = json_integer_of(json_member(parallel, "data"), "rank", -1);
    batch->tensor_rank = json_integer_of(json_member(parallel, "tensor"), "rank", -1);
    return true;
}

/* A missing file is no error: runs that another recorder wrote have none. */
bool memory_batch_find(struct memory_batch *batch, const char *trace_path, struct error *error)
{
    const char *name = path_name(trace_path);
    size_t folder = (size_t)(name - trace_path);
    char *path = require_memory(malloc(folder + sizeof side_file));
    bool is_missing = strcmp(trace_path, "-") == 0;
    size_t length = 0;
    char *text;
    bool is_read;

    memcpy(path, trace_path, folder);
    memcpy(path + folder, side_file, sizeof side_file);
    text = is_missing ? NULL : read_whole_file(path, &length, &is_missing, error);
    is_read = is_missing;
    if (text)
        is_read = memory_batch_parse(batch, name, text, length, error) ||
                  error_in(error, "cannot read '%s'", path);
    free(text);
    free(path);
    return is_read;
}

/* ---- attribution ----------------------------------------------------------------------------- */

/* Finds what each block of memory was for, from the marks and from the op that allocated it. */

/* The innermost host event of each thread as time goes on. */
struct thread_cursor {
    uint32_t next; /* in trace->host */
    uint32_t open; /* the latest that has begun, or NO_EVENT */
};

struct attribution {
    struct memory_run *run;
    struct thread_cursor *cursors; /* [track_count] */
    uint32_t *modules;             /* [tensor_count]: of the side file's tensors, or NO_MODULE */
    uint32_t moment;               /* how many moments are before the block at hand */
    bool has_forward_starts;
};

/* ---- the event around ------------------------------------------------------------------------ */

/* Blocks come in the order of time, so each thread's cursor moves forward only; then parents
 * lead out to what is still open. */
static uint32_t event_around(struct attribution *attribution, uint32_t track_index, int64_t time_ns)
{
    const struct trace *trace = attribution->run->trace;
    const struct track *track = &trace->tracks[track_index];
    struct thread_cursor *cursor = &attribution->cursors[track_index];
    uint32_t last = track->first_event + track->event_count;
    uint32_t event;

    while (cursor->next < last && trace->host[cursor->next].start_ns <= time_ns)
        cursor->open = cursor->next++;
    event = cursor->open;
    while (event != NO_EVENT && event_end_ns(&trace->host[event]) < time_ns)
        event = attribution->run->contexts.parents[event];
    return event;
}

/* ---- phases ---------------------------------------------------------------------------------- */

static enum memory_point point_of(const struct memory_run *run, uint32_t moment)
{
    return run->side->marks[run->blocks.moments[moment].mark].point;
}

/* By the marks alone, where `moment` of them are before. From the last mark before: a mark that
 * the program asked for changes no phase. */
static enum memory_phase marked_phase(const struct memory_run *run, uint32_t moment,
                                      bool has_forward_starts)
{
    bool is_next_forward;

    while (moment > 0 && point_of(run, moment - 1) == POINT_ASKED)
        moment--;
    is_next_forward =
        moment < run->blocks.moment_count && point_of(run, moment) == POINT_FORWARD_START;

    /* Without marks all that is known to run is the model. */
    if (moment == 0)
        return run->blocks.moment_count ? MEMORY_OUTSIDE : MEMORY_FORWARD;
    switch (point_of(run, moment - 1)) {
    case POINT_START:
    case POINT_STEP_END:
        return has_forward_starts ? MEMORY_OUTSIDE : MEMORY_FORWARD;
    case POINT_FORWARD_START:
        return MEMORY_FORWARD;
    case POINT_FORWARD_END:
        return MEMORY_BACKWARD;
    case POINT_BACKWARD_END:
    case POINT_OPTIMIZER_END:
    case POINT_ASKED:
        break;
    }
    return is_next_forward ? MEMORY_OUTSIDE : MEMORY_OPTIMIZER;
}

/* What lies around the allocation goes before marks: autograd's threads run beside the main
 * one, whose marks say another phase. */
static enum memory_phase phase_of(const struct attribution *attribution, uint32_t event)
{
    const struct memory_run *run = attribution->run;
    uint8_t phase = event == NO_EVENT ? PHASE_FORWARD : run->contexts.phases[event];
    enum memory_phase marked =
        marked_phase(run, attribution->moment, attribution->has_forward_starts);

    if (phase == PHASE_RECOMPUTE)
        return MEMORY_RECOMPUTE;
    if (phase == PHASE_BACKWARD)
        return MEMORY_BACKWARD;
    if (phase == PHASE_OPTIMIZER)
        return MEMORY_OPTIMIZER;
    if (marked == MEMORY_OUTSIDE && event != NO_EVENT &&
        module_of_host(&run->contexts, event) != NO_MODULE)
        return MEMORY_FORWARD; /* a forward that no mark tells of: of evaluation */
    return marked;
}

/* A release has no phase of its own: that of the last allocation before it. */
enum memory_phase memory_phase_at(const struct memory_run *run, uint32_t change)
{
    while (change > 0 && run->blocks.changes[change].is_free)
        change--;
    return change < run->blocks.change_count
               ? (enum memory_phase)run->blocks.blocks[run->blocks.changes[change].block].phase
               : MEMORY_OUTSIDE;
}

/* ---- kinds ----------------------------------------------------------------------------------- */

/* Alive at the next mark of this point, if no mark before it begins something else. */
static bool is_alive_at_next(const struct attribution *attribution,
                             const struct memory_block *block, enum memory_point point)
{
    const struct memory_blocks *blocks = &attribution->run->blocks;

    for (uint32_t i = attribution->moment; i < blocks->moment_count; i++) {
        enum memory_point met = point_of(attribution->run, i);

        if (met == point)
            return memory_block_is_alive(block, blocks->moments[i].change_count);
        if (met != POINT_FORWARD_START && met != POINT_START && met != POINT_ASKED)
            return false;
    }
    return false;
}

/* Of a recomputation: alive where the outermost module that is computed again ends. */
static bool survives_recomputation(const struct memory_run *run, const struct memory_block *block)
{
    const struct host_contexts *contexts = &run->contexts;
    uint32_t event = block->event;

    while (contexts->parents[event] != NO_EVENT &&
           contexts->phases[contexts->parents[event]] == PHASE_RECOMPUTE)
        event = contexts->parents[event];
    return block->end_ns > event_end_ns(&run->trace->host[event]);
}

/* Kept for good: alive at the ends of two steps after its allocation. */
static bool outlives_steps(const struct attribution *attribution, const struct memory_block *block)
{
    const struct memory_blocks *blocks = &attribution->run->blocks;
    int ends = 0;

    for (uint32_t i = attribution->moment; i < blocks->moment_count && ends < 2; i++) {
        if (!memory_block_is_alive(block, blocks->moments[i].change_count))
            return false;
        ends += point_of(attribution->run, i) == POINT_STEP_END;
    }
    return ends == 2;
}

/* The mark's word first. Then by life: what outlives the phase that made it was made to be
 * kept. */
static enum memory_kind memory_attribution_kind_of(const struct attribution *attribution,
                                                   const struct memory_block *block)
{
    const struct memory_run *run = attribution->run;

    if (block->tensor != NO_TENSOR)
        return run->side->tensors[block->tensor].kind;
    if (block->start_ns == INT64_MIN)
        return MEMORY_OTHER;
    if (block->phase == MEMORY_FORWARD && is_alive_at_next(attribution, block, POINT_FORWARD_END))
        return MEMORY_ACTIVATION;
    if (block->phase == MEMORY_RECOMPUTE && survives_recomputation(run, block))
        return MEMORY_ACTIVATION;
    if (block->phase == MEMORY_OUTSIDE && is_alive_at_next(attribution, block, POINT_FORWARD_START))
        return outlives_steps(attribution, block) ? MEMORY_OTHER : MEMORY_INPUT;
    return MEMORY_TEMPORARY;
}

/* ---- all ------------------------------------------------------------------------------------- */

static void find_tensor_modules(struct attribution *attribution)
{
    const struct memory_run *run = attribution->run;

    for (uint32_t i = 0; i < run->side->tensor_count; i++) {
        const char *name = run->side->tensors[i].module;

        attribution->modules[i] = *name ? module_tree_find(&run->tree, name) : NO_MODULE;
    }
}

/* A mark says most of a tensor; where there is none, the event that was open on the thread at
 * that time tells the module and the phase. Moments only go forward, as blocks come by start. */
static void attribute_block(struct attribution *attribution, struct memory_block *block)
{
    const struct memory_run *run = attribution->run;
    const struct memory_blocks *blocks = &run->blocks;

    while (attribution->moment < blocks->moment_count &&
           blocks->moments[attribution->moment].change_count <= block->start &&
           blocks->moments[attribution->moment].time_ns <= block->start_ns)
        attribution->moment++;
    block->event = block->track == NO_EVENT
                       ? NO_EVENT
                       : event_around(attribution, block->track, block->start_ns);
    block->module =
        block->event == NO_EVENT ? NO_MODULE : module_of_host(&run->contexts, block->event);
    if (block->tensor != NO_TENSOR && *run->side->tensors[block->tensor].module)
        block->module = attribution->modules[block->tensor];
    block->phase = (uint8_t)(block->start_ns == INT64_MIN ? MEMORY_OUTSIDE
                                                          : phase_of(attribution, block->event));
    block->kind = (uint8_t)memory_attribution_kind_of(attribution, block);
}

/* Fills event, module, kind and phase of all blocks of `run`, whose other fields are filled.
 *
 * A block that a mark names has that tensor's kind and module. Of the others, what the forward
 * allocates and is alive where its backward begins is an activation, as is what a recomputation
 * allocates and leaves behind; what is prepared before a forward and alive at its beginning is an
 * input, unless it is kept for good; all else is temporary. */
static void memory_attribute(struct memory_run *run)
{
    struct attribution attribution = {.run = run};

    attribution.cursors =
        require_memory(calloc(run->trace->track_count + (size_t)1, sizeof *attribution.cursors));
    attribution.modules =
        require_memory(malloc((run->side->tensor_count + (size_t)1) * sizeof *attribution.modules));
    for (uint32_t i = 0; i < run->trace->track_count; i++)
        attribution.cursors[i] =
            (struct thread_cursor){.next = run->trace->tracks[i].first_event, .open = NO_EVENT};
    for (uint32_t i = 0; i < run->blocks.moment_count; i++)
        attribution.has_forward_starts |= point_of(run, i) == POINT_FORWARD_START;
    find_tensor_modules(&attribution);
    for (uint32_t i = 0; i < run->blocks.count; i++)
        attribute_block(&attribution, &run->blocks.blocks[i]);
    free(attribution.cursors);
    free(attribution.modules);
}

/* ---- memory recording ------------------------------------------------------------------------ */

static const char *const kind_titles[MEMORY_KIND_COUNT] = {
    "parameters", "buffers",     "gradients",   "optimizer state",
    "inputs",     "activations", "temporaries", "other",
};
static const char *const kind_keys[MEMORY_KIND_COUNT] = {
    "parameters", "buffers",     "gradients",   "optimizer_state",
    "inputs",     "activations", "temporaries", "other",
};
static const char *const phase_titles[MEMORY_PHASE_COUNT] = {"outside", "forward", "backward",
                                                             "recompute", "optimizer"};

const char *memory_kind_title(enum memory_kind kind)
{
    return kind_titles[kind];
}

const char *memory_kind_key(enum memory_kind kind)
{
    return kind_keys[kind];
}

const char *memory_phase_title(enum memory_phase phase)
{
    return phase_titles[phase];
}

/* ---- building -------------------------------------------------------------------------------- */

/* Number of changes before `time_ns`. */
static uint32_t changes_before(const struct memory_run *run, int64_t time_ns)
{
    return LOWER_BOUND(i, 0, run->blocks.change_count, run->blocks.changes[i].time_ns < time_ns);
}

/* Changes are in order of time, so a step is a range of them: sums over it need no search. */
static void copy_steps(struct memory_run *run, const struct memory_step *steps, uint32_t count)
{
    run->steps = require_memory(calloc(count + (size_t)1, sizeof *run->steps));
    run->step_count = count;
    for (uint32_t i = 0; i < count; i++) {
        run->steps[i] = steps[i];
        run->steps[i].first_change = changes_before(run, steps[i].start_ns);
        run->steps[i].last_change = changes_before(run, steps[i].end_ns);
    }
}

/* In the order of what needs what: the tree of modules, the context of each operator, the
 * blocks, and then what each block is for. */
void memory_run_build(struct memory_run *run, const struct memory_sources *sources)
{
    uint32_t *parents = find_host_parents(sources->trace);

    run->trace = sources->trace;
    run->side = sources->side;
    module_tree_build(&run->tree, run->trace, parents, sources->description);
    find_host_contexts(&run->contexts, run->trace, &run->tree, parents);
    memory_blocks_find(&run->blocks, run->trace, run->side);
    copy_steps(run, sources->steps, sources->step_count);
    memory_attribute(run);
}

void memory_run_clear(struct memory_run *run)
{
    if (!run)
        return;
    memory_blocks_clear(&run->blocks);
    module_tree_clear(&run->tree);
    host_contexts_clear(&run->contexts);
    free(run->steps);
    *run = (struct memory_run){0};
}

/* ---- asking ---------------------------------------------------------------------------------- */

/* One walk of changes; at equal bytes the first moment. */
struct memory_peak memory_peak_between(const struct memory_run *run, int32_t device, uint32_t first,
                                       uint32_t last)
{
    struct memory_peak peak = {.bytes = -1, .block = NO_VALUE};
    int64_t bytes = 0;

    for (uint32_t i = 0; i < last; i++) {
        const struct memory_change *change = &run->blocks.changes[i];
        const struct memory_block *block = &run->blocks.blocks[change->block];

        if (i == first) /* what was alive before counts, too */
            peak = (struct memory_peak){bytes, i, NO_VALUE};
        if (block->device != device)
            continue;
        bytes += change->is_free ? -block->bytes : block->bytes;
        if (i >= first && bytes > peak.bytes)
            peak = (struct memory_peak){bytes, i + 1, change->block};
    }
    if (first >= last)
        peak = (struct memory_peak){bytes, last, NO_VALUE};
    return peak;
}

/* A walk over all blocks: asked for a few moments only. */
struct memory_sums memory_alive(const struct memory_run *run, int32_t device, uint32_t change_count)
{
    struct memory_sums sums = {.total = 0};

    for (uint32_t i = 0; i < run->blocks.count; i++) {
        const struct memory_block *block = &run->blocks.blocks[i];

        if (block->device != device || !memory_block_is_alive(block, change_count))
            continue;
        sums.bytes[block->kind] += block->bytes;
        sums.total += block->bytes;
    }
    return sums;
}

/* The device with the largest peak, as other devices may hold a few buffers. */
int32_t memory_main_device(const struct memory_run *run)
{
    int32_t best = HOST_MEMORY;
    int64_t most = -1;
    struct hash_map seen = {0};

    for (uint32_t i = 0; i < run->blocks.count; i++) {
        int32_t device = run->blocks.blocks[i].device;
        size_t known = seen.count;
        int64_t bytes;

        if (device == HOST_MEMORY)
            continue;
        (void)hash_map_add(&seen, (uint64_t)device, 1);
        if (seen.count == known)
            continue;
        bytes = memory_peak_between(run, device, 0, run->blocks.change_count).bytes;
        if (bytes > most) {
            most = bytes;
            best = device;
        }
    }
    hash_map_clear(&seen);
    return best;
}

/* Ops that only hand out memory: who called them is of interest. */
static bool is_allocating_op(const char *name)
{
    static const char *const names[] = {"aten::empty", "aten::new_empty", "aten::resize_",
                                        "aten::_to_copy", "aten::set_"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (has_prefix(name, names[i]))
            return true;
    return false;
}

/* From the inside outwards past ops that only hand out memory, but not past a module's mark. */
const char *memory_block_op(const struct memory_run *run, const struct memory_block *block)
{
    uint32_t event = block->event;

    while (event != NO_EVENT) {
        const char *name = trace_text(run->trace, run->trace->host[event].name);
        uint32_t parent = run->contexts.parents[event];

        if (run->trace->host[event].kind != EVENT_OPERATOR ||
            is_module_mark(run->trace, &run->trace->host[event]))
            return "";
        if (!is_allocating_op(name) || parent == NO_EVENT ||
            run->trace->host[parent].kind != EVENT_OPERATOR ||
            is_module_mark(run->trace, &run->trace->host[parent]))
            return name;
        event = parent;
    }
    return "";
}

bool memory_block_is_of_loss(const struct memory_block *block)
{
    return block->module == NO_MODULE && block->tensor == NO_TENSOR &&
           block->phase == MEMORY_FORWARD;
}

/* A block of the loss lies in no module; a tensor's own module is next where the call tells
 * none. */
const char *memory_block_module(const struct memory_run *run, const struct memory_block *block)
{
    if (block->module != NO_MODULE)
        return run->tree.modules[block->module].name;
    if (memory_block_is_of_loss(block))
        return "(loss)";
    return block->tensor == NO_TENSOR ? "" : run->side->tensors[block->tensor].module;
}
