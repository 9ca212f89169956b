/* Shapes of inputs with another batch or sequence. */
#include "cost/plan/scaled_shapes.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

/* A loss leaves out the last token, or the input has one more: their tensors are scaled, too. */
static const int64_t sequence_offsets[] = {0, -1, 1};

/* The first size that fits and no other: a batch and a width may happen to be equal, and the
 * batch stands first. */
static bool scale_first(int64_t *sizes, int rank, int64_t from, int64_t to)
{
    for (int i = 0; i < rank; i++)
        if (sizes[i] == from) {
            sizes[i] = to;
            return true;
        }
    return false;
}

/* Each `from` behind the first becomes `to`: scores have it twice, other tensors once. */
static bool scale_sequences(int64_t *sizes, int rank, int64_t from, int64_t to)
{
    int left = rank >= 4 || (rank == 3 && sizes[1] == sizes[2]) ? 2 : 1;
    bool is_found = false;

    for (int i = 1; i < rank && left > 0; i++)
        if (sizes[i] == from) {
            sizes[i] = to;
            is_found = true;
            left--;
        }
    return is_found;
}

/* Samples (or samples times heads) first, and tokens behind them. */
static bool scale_batched(int64_t *sizes, int rank, const struct pass_change *change,
                          int64_t offset)
{
    int64_t samples = change->from.samples;
    int64_t times = sizes[0] / samples;

    if (rank < 2 || sizes[0] % samples != 0 || (times > 1 && rank < 3) ||
        !scale_sequences(sizes, rank, change->from.sequence + offset, change->to.sequence + offset))
        return false;
    sizes[0] = times * change->to.samples;
    return true;
}

/* Tokens of all samples in one dimension. */
static bool scale_flattened(int64_t *sizes, int rank, const struct pass_change *change,
                            int64_t offset)
{
    int64_t from = change->from.samples * (change->from.sequence + offset);
    int64_t to = change->to.samples * (change->to.sequence + offset);

    return scale_first(sizes, rank, from, to);
}

/* Masks and positions: tokens without samples, at most behind sizes of 1. */
static bool scale_positions(int64_t *sizes, int rank, const struct pass_change *change)
{
    int first = 0;
    bool is_changed = false;

    while (first < rank - 1 && sizes[first] == 1)
        first++;
    if (rank == 0 || sizes[first] != change->from.sequence)
        return false;
    for (int i = first; i < rank; i++)
        if (sizes[i] == change->from.sequence) {
            sizes[i] = change->to.sequence;
            is_changed = true;
        }
    return is_changed;
}

/* Which dimension is batch and which sequence is not said by a shape: it is told from the
 * sizes of the recorded pass. The most certain reading comes first, both numbers in one
 * tensor; the batch alone comes last, for small numbers mean many things. A shape without
 * either does not change. */
bool scale_sizes(int64_t *sizes, int rank, const struct pass_change *change)
{
    for (size_t i = 0; change->from.sequence > 1 && i < 3; i++) {
        int64_t offset = sequence_offsets[i];

        if (rank > 0 && change->from.sequence + offset > 1 &&
            (scale_batched(sizes, rank, change, offset) ||
             scale_flattened(sizes, rank, change, offset)))
            return true;
    }
    if (change->from.sequence > 1 && scale_positions(sizes, rank, change))
        return true;
    if (rank > 0 && sizes[0] == change->from.samples && change->from.samples > 1) {
        sizes[0] = change->to.samples;
        return true;
    }
    return false;
}

/* While a text is written anew. */
struct shape_writing {
    const struct pass_change *change;
    char *to;
    size_t room;
    size_t length;
    struct scaled_elements *elements;
};

/* What does not fit is no shape at all: half a list of sizes would be read as another tensor. */
static bool write_shape_part(struct shape_writing *writing, const char *text, size_t length)
{
    if (writing->length + length + 1 > writing->room)
        return false;
    for (size_t i = 0; i < length; i++)
        writing->to[writing->length++] = text[i];
    writing->to[writing->length] = '\0';
    return true;
}

static double elements_in(const int64_t *sizes, int rank)
{
    double elements = 1.0;

    for (int i = 0; i < rank; i++)
        elements *= (double)sizes[i];
    return elements;
}

static bool write_sizes(struct shape_writing *writing, const int64_t *sizes, int rank)
{
    for (int i = 0; i < rank; i++) {
        char number[32];
        int length = snprintf(number, sizeof number, "%s%lld", i ? ", " : "", (long long)sizes[i]);

        if (length < 0 || !write_shape_part(writing, number, (size_t)length))
            return false;
    }
    return true;
}

/* The sizes at `*at`, up to the bracket that ends them. */
static bool scale_tensor(struct shape_writing *writing, const char **at)
{
    int64_t sizes[SCALED_DIMS_MAX];
    int rank = 0;

    while (**at != ']') {
        char *end;

        if (rank == SCALED_DIMS_MAX)
            return false;
        sizes[rank++] = strtoll(*at, &end, 10);
        if (end == *at)
            return false;
        for (*at = end; **at == ',' || **at == ' '; ++*at)
            continue;
    }
    writing->elements->before += elements_in(sizes, rank);
    (void)scale_sizes(sizes, rank, writing->change);
    writing->elements->after += elements_in(sizes, rank);
    return write_sizes(writing, sizes, rank);
}

/* What is no number is copied as it is, so that a scaled text has the form that formulas
 * parse. */
bool scale_shapes(const char *shapes, const struct pass_change *change, char *scaled, size_t room,
                  struct scaled_elements *elements)
{
    struct shape_writing writing = {change, scaled, room, 0, elements};

    *elements = (struct scaled_elements){0.0, 0.0};
    if (!shapes || *shapes != '[')
        return false;
    while (*shapes) {
        if (isdigit((unsigned char)*shapes) || *shapes == '-') {
            if (!scale_tensor(&writing, &shapes))
                return false;
        } else if (!write_shape_part(&writing, shapes++, 1)) {
            return false;
        }
    }
    return true;
}
