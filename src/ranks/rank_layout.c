/* How the ranks of a run divide the work. */
#include "ranks/rank_layout.h"

#include "trace/rank_name.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE_MAX_OF_AXIS = 1 << 20 };

static const struct {
    const char *key;
} axes[AXIS_COUNT] = {
    [AXIS_TENSOR] = {"tp"},
    [AXIS_CONTEXT] = {"cp"},
    [AXIS_DATA] = {"dp"},
    [AXIS_PIPELINE] = {"pp"},
};

static const char expected[] = "write it like tp=8,pp=4,dp=16; also cp, m (micro-batches), v "
                               "(chunks on a rank) and order=tp-cp-dp-pp";

const char *layout_axis_key(enum layout_axis axis)
{
    return axes[axis].key;
}

/* AXIS_COUNT where the text begins with no axis. Keys have two letters each, and none begins
 * another. */
static unsigned axis_at(const char *text)
{
    unsigned axis = 0;

    while (axis < AXIS_COUNT && strncmp(text, axes[axis].key, 2) != 0)
        axis++;
    return axis;
}

/* "tp-cp-dp-pp"; axes that are not named follow in their usual order. Axes stand at every third
 * character ("tp-cp-dp-pp"), hence at += 3; one that is named twice is refused. */
static bool parse_order(struct rank_layout *layout, const char *text, size_t length)
{
    unsigned count = 0;
    unsigned seen = 0;

    for (size_t at = 0; at < length; at += 3) {
        unsigned axis = axis_at(text + at);

        if (axis == AXIS_COUNT || at + 2 > length || seen >> axis & 1 ||
            (at + 2 < length && text[at + 2] != '-') || at + 3 == length)
            return false;
        seen |= 1U << axis;
        layout->order[count++] = (uint8_t)axis;
    }
    for (unsigned axis = 0; axis < AXIS_COUNT; axis++)
        if (!(seen >> axis & 1))
            layout->order[count++] = (uint8_t)axis;
    return length > 0;
}

/* "tp=8" */
static bool parse_part(struct rank_layout *layout, const char *text, size_t length)
{
    unsigned axis = axis_at(text);
    int32_t *size = NULL;
    const char *number;
    char *end;
    long value;

    if (length > 6 && strncmp(text, "order=", 6) == 0)
        return parse_order(layout, text + 6, length - 6);
    if (axis < AXIS_COUNT && length > 3 && text[2] == '=') {
        size = &layout->sizes[axis];
        number = text + 3;
    } else if (length > 2 && text[1] == '=' && (text[0] == 'm' || text[0] == 'v')) {
        size = text[0] == 'm' ? &layout->micro_batches : &layout->chunks_per_rank;
        number = text + 2;
    } else {
        return false;
    }
    if (!isdigit((unsigned char)*number))
        return false;
    value = strtol(number, &end, 10);
    /* A zero would be a job without ranks. */
    if (end != text + length || value < 1 || value > SIZE_MAX_OF_AXIS)
        return false;
    *size = (int32_t)value;
    return true;
}

/* Into a copy, which is handed out at the end: on an error the caller's layout is untouched.
 * The product of the sizes is checked after each factor, so it cannot overflow: each is at
 * most 2^20. */
bool rank_layout_parse(struct rank_layout *layout, const char *text, struct error *error)
{
    struct rank_layout parsed = {.is_given = true, .chunks_per_rank = 1};
    int64_t ranks = 1;

    for (unsigned axis = 0; axis < AXIS_COUNT; axis++) {
        parsed.sizes[axis] = 1;
        parsed.order[axis] = (uint8_t)axis;
    }
    for (const char *part = text;; part++) {
        size_t length = strcspn(part, ",");

        if (!parse_part(&parsed, part, length))
            return error_set(error, ERROR_USAGE, "'%.*s' is no part of a layout: %s", (int)length,
                             part, expected);
        part += length;
        if (!*part)
            break;
    }
    for (unsigned axis = 0; axis < AXIS_COUNT; axis++) {
        ranks *= parsed.sizes[axis];
        if (ranks > INT32_MAX)
            return error_set(error, ERROR_USAGE, "the layout '%s' has too many ranks", text);
    }
    *layout = parsed;
    return true;
}

int64_t rank_layout_ranks(const struct rank_layout *layout)
{
    int64_t ranks = 1;

    for (unsigned axis = 0; axis < AXIS_COUNT; axis++)
        ranks *= layout->sizes[axis];
    return ranks;
}

/* Mixed radix: the first axis of the order varies fastest, as in Megatron-LM's rank generator
 * (order "tp-cp-ep-dp-pp"). */
bool rank_layout_place(const struct rank_layout *layout, int64_t rank,
                       int32_t coordinates[AXIS_COUNT])
{
    if (!layout->is_given || rank < 0 || rank >= rank_layout_ranks(layout))
        return false;
    for (unsigned i = 0; i < AXIS_COUNT; i++) {
        unsigned axis = layout->order[i];

        coordinates[axis] = (int32_t)(rank % layout->sizes[axis]);
        rank /= layout->sizes[axis];
    }
    return true;
}

/* ---- names ---------------------------------------------------------------------------------- */

/* Where the name that ends at `end` begins. */
static const char *name_start(const char *path, const char *end)
{
    while (end > path && end[-1] != '/')
        end--;
    return end;
}

/* The file's own name first, then its folders, upwards: "rank_3/trace.json" names a rank as
 * well as "trace_rank3.json", and of both the nearer one counts. */
int64_t rank_in_path(const char *path)
{
    /* TensorBoard's trace handler names files "HOST_PID.worker0...", others "rank0". */
    static const char *const words[] = {"rank", "worker"};
    const char *end = path + strlen(path);

    for (;;) {
        const char *start = name_start(path, end);

        for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
            int32_t rank = rank_in_name(start, end, words[i]);

            if (rank >= 0)
                return rank;
        }
        if (start == path)
            return -1;
        end = start - 1;
    }
}

/* All from one name: coordinates from two levels of folders might be of different things. */
void coordinates_in_path(int32_t coordinates[AXIS_COUNT], const char *path)
{
    const char *end = path + strlen(path);

    for (;;) {
        const char *start = name_start(path, end);
        unsigned count = 0;

        for (unsigned axis = 0; axis < AXIS_COUNT; axis++) {
            coordinates[axis] = number_behind_word(start, end, axes[axis].key, NULL);
            count += coordinates[axis] >= 0;
        }
        if (count >= 2) /* one alone may mean anything */
            return;
        for (unsigned axis = 0; axis < AXIS_COUNT; axis++)
            coordinates[axis] = -1;
        if (start == path)
            return;
        end = start - 1;
    }
}
