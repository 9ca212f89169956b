/* Where in the program an allocation of a snapshot was made. */
#include "memory/snapshot_places.h"

#include "base/core/array.h"
#include "base/core/invariant.h"
#include "base/text/prefix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ID_NO_STACK, ID_BEFORE };

/* Parts of paths below which libraries are installed, and those of PyTorch wherever it was built.
 */
static const char *const library_paths[] = {
    "/site-packages/",   "/dist-packages/",   "/lib/python3",      "/torchinductor_",
    "/torch/nn/",        "/torch/optim/",     "/torch/autograd/",  "/torch/utils/",
    "/torch/_dynamo/",   "/torch/_functorch", "/torch/_inductor/", "/torch/distributed/",
    "/torch/cuda/",      "/torch/amp/",       "/torch/_ops.py",    "/torch/functional.py",
    "/torch/_tensor.py", "/torch/profiler/",
};

static bool is_python_frame(const struct memory_snapshot *snapshot,
                            const struct snapshot_frame *frame)
{
    const char *file = snapshot_text(snapshot, frame->file);
    size_t length = strlen(file);

    if (length > 3 && strcmp(file + length - 3, ".py") == 0)
        return true;
    /* a cell of a notebook, code given with -c */
    return has_prefix(file, "<ipython") || has_prefix(file, "<stdin") ||
           has_prefix(file, "<string>") || strstr(file, "ipykernel") != NULL;
}

/* By path, since a frame has nothing else: a program installed as a package looks like a
 * library, and its lines are then shown as a library's. */
bool is_user_frame(const struct memory_snapshot *snapshot, const struct snapshot_frame *frame)
{
    const char *file = snapshot_text(snapshot, frame->file);

    if (!is_python_frame(snapshot, frame))
        return false;
    for (size_t i = 0; i < sizeof library_paths / sizeof *library_paths; i++)
        if (strstr(file, library_paths[i]))
            return false;
    return true;
}

const char *file_name(const char *path)
{
    const char *last = strrchr(path, '/');

    return last ? last + 1 : path;
}

/* The file and the folder it is in: "model.py" alone stands in many places. */
const char *short_path(const char *path)
{
    const char *last = strrchr(path, '/');
    const char *from = last;

    while (from && from > path && from[-1] != '/')
        from--;
    return from ? from : path;
}

/* "SoftmaxBackward0" of "torch::autograd::generated::SoftmaxBackward0::apply(...)"; length 0 where
 * the function is no node's. */
static const char *backward_node(const char *function, size_t *length)
{
    const char *end = strstr(function, "::apply(");
    const char *from = end;

    *length = 0;
    if (!end || !strstr(function, "torch::autograd::"))
        return NULL;
    while (from > function && from[-1] != ':')
        from--;
    *length = (size_t)(end - from);
    return from;
}

/* "softmax" of "at::_ops::softmax::call(at::Tensor const&, long)": an operator on its way to its
 * kernel. Length 0 where it is none. */
static const char *snapshot_places_operator_of(const char *function, size_t *length)
{
    static const char before[] = "at::_ops::";

    *length = 0;
    if (!has_prefix(function, before))
        return NULL;
    function += sizeof before - 1;
    *length = strcspn(function, ":(");
    return function;
}

/* The place of that kind: of lines `id` is a frame, of others a name. Ids of frames and names
 * may be equal numbers, so the kind is in the key. */
static uint32_t add_place(struct snapshot_places *places, enum place_kind kind, uint32_t id)
{
    uint32_t known = hash_map_add(&places->ids, pair_key((uint32_t)kind, id), places->count);

    if (known < places->count)
        return known;
    ARRAY_ROOM(places->places, places->count);
    places->places[places->count] = (struct snapshot_place){
        .kind = kind,
        .frame = kind <= PLACE_LIBRARY_LINE ? id : SNAPSHOT_NONE,
        .name = kind <= PLACE_LIBRARY_LINE ? 0 : id,
    };
    return places->count++;
}

static uint32_t name_of_operator(struct snapshot_places *places, const char *name, size_t length)
{
    char text[128];
    int written =
        snprintf(text, sizeof text, "aten::%.*s", (int)(length < 100 ? length : 100), name);

    return string_pool_add(&places->names, text, written > 0 ? (size_t)written : 0);
}

/* Of a stack without Python: its node of autograd, else its outermost operator, else its outermost
 * function. Frames are innermost first, so the last operator that is seen is the outermost. */
static uint32_t native_place(struct snapshot_places *places, const uint32_t *frames, uint32_t count)
{
    const struct memory_snapshot *snapshot = places->snapshot;
    const char *operator_name = NULL;
    const char *outermost = "";
    size_t operator_length = 0;

    for (uint32_t i = 0; i < count; i++) {
        const char *function = snapshot_text(snapshot, snapshot->frames[frames[i]].name);
        size_t length;
        const char *name = backward_node(function, &length);

        if (length > 0)
            return add_place(places, PLACE_BACKWARD, string_pool_add(&places->names, name, length));
        name = snapshot_places_operator_of(function, &length);
        if (length > 0) {
            operator_name = name;
            operator_length = length;
        }
        /* Frames go on outward, so that the last one with a name is the outermost. */
        if (function[0])
            outermost = function;
    }
    if (operator_name)
        return add_place(places, PLACE_NATIVE,
                         name_of_operator(places, operator_name, operator_length));
    if (!outermost[0])
        return ID_NO_STACK;
    return add_place(places, PLACE_NATIVE,
                     string_pool_add(&places->names, outermost, strlen(outermost)));
}

/* The innermost line of the user's, else of any Python, else what C++ says: where somebody can
 * change something. */
static uint32_t snapshot_places_find_place(struct snapshot_places *places, const bool *is_user,
                                           const bool *is_python,
                                           const struct snapshot_stack *stack)
{
    const uint32_t *frames = places->snapshot->stack_frames + stack->first;

    for (uint32_t i = 0; i < stack->count; i++)
        if (is_user[frames[i]])
            return add_place(places, PLACE_USER_LINE, frames[i]);
    for (uint32_t i = 0; i < stack->count; i++)
        if (is_python[frames[i]])
            return add_place(places, PLACE_LIBRARY_LINE, frames[i]);
    return native_place(places, frames, stack->count);
}

/* Per stack, not per allocation: a snapshot has thousands of stacks and millions of
 * allocations. */
void find_snapshot_places(struct snapshot_places *places, const struct memory_snapshot *snapshot)
{
    bool *is_user = require_memory(calloc((size_t)snapshot->frame_count + 1, sizeof *is_user));
    bool *is_python = require_memory(calloc((size_t)snapshot->frame_count + 1, sizeof *is_python));

    places->snapshot = snapshot;
    (void)string_pool_add(&places->names, "", 0);
    (void)add_place(places, PLACE_NO_STACK, 0);
    (void)add_place(places, PLACE_BEFORE, 0);
    for (uint32_t i = 0; i < snapshot->frame_count; i++) {
        is_user[i] = is_user_frame(snapshot, &snapshot->frames[i]);
        is_python[i] = is_python_frame(snapshot, &snapshot->frames[i]);
    }
    places->of_stack =
        require_memory(calloc((size_t)snapshot->stack_count + 1, sizeof *places->of_stack));
    for (uint32_t i = 0; i < snapshot->stack_count; i++)
        places->of_stack[i] =
            snapshot_places_find_place(places, is_user, is_python, &snapshot->stacks[i]);
    free(is_user);
    free(is_python);
}

uint32_t place_of_life(const struct snapshot_places *places, const struct memory_life *life)
{
    if (life->stack != SNAPSHOT_NONE)
        return places->of_stack[life->stack];
    return life->born == 0 ? ID_BEFORE : ID_NO_STACK;
}

void snapshot_places_clear(struct snapshot_places *places)
{
    if (!places)
        return;
    free(places->places);
    free(places->of_stack);
    string_pool_clear(&places->names);
    hash_map_clear(&places->ids);
    *places = (struct snapshot_places){0};
}
