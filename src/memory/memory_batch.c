/* What a recorded step trained on. */
#include "base/core/arena.h"
#include "base/core/invariant.h"
#include "base/io/whole_file.h"
#include "base/json/json_tree.h"
#include "base/text/owned_text.h"
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
