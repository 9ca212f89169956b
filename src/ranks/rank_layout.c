/* How the ranks of a run divide the work. */
#include "ranks/rank_layout.h"

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

/* The number at `text`; -1 where there is none, or no small one. */
static int32_t rank_layout_number_at(const char *text)
{
    char *end;
    long number;

    if (!isdigit((unsigned char)*text))
        return -1;
    number = strtol(text, &end, 10);
    return number <= SIZE_MAX_OF_AXIS ? (int32_t)number : -1;
}

/* Where the name that ends at `end` begins. */
static const char *name_start(const char *path, const char *end)
{
    while (end > path && end[-1] != '/')
        end--;
    return end;
}

/* Behind what may stand between a word and its number: "rank_3", "rank[3]", "rank.3". */
static const char *behind_separator(const char *text)
{
    return *text && strchr("_-=.[: ", *text) ? text + 1 : text;
}

/* Does a word begin at `at`: no letter stands before it, or a small one before a capital? */
static bool is_word_start(const char *start, const char *at)
{
    if (at == start || !isalpha((unsigned char)at[-1]))
        return true;
    return islower((unsigned char)at[-1]) && isupper((unsigned char)*at);
}

/* The number behind the first `word` in the name, with nothing or one separator between them; for
 * an axis also as "tp_rank_3". `after`, where not NULL, is set to where to go on from. */
static int32_t rank_layout_number_behind(const char *start, const char *end, const char *word,
                                         const char **after)
{
    size_t length = strlen(word);

    for (const char *at = start; at + length < end; at++) {
        const char *number = at + length;
        int32_t value;

        if (strncasecmp(at, word, length) != 0 || !is_word_start(start, at))
            continue;
        value = rank_layout_number_at(behind_separator(number));
        number = behind_separator(number);
        if (value < 0 && strncasecmp(number, "rank", 4) == 0)
            value = rank_layout_number_at(behind_separator(number + 4));
        if (value < 0)
            continue;
        if (after)
            *after = at;
        return value;
    }
    return -1;
}

/* Does the text end, before a separator, with the word? "local_" before "rank_3" */
static bool rank_layout_ends_with(const char *start, const char *end, const char *word)
{
    size_t length = strlen(word);

    if (end > start && strchr("_-.", end[-1]))
        end--;
    return (size_t)(end - start) >= length && strncasecmp(end - length, word, length) == 0 &&
           ((size_t)(end - start) == length || !isalpha((unsigned char)end[-1 - (int)length]));
}

/* Axes that are known without being ours ("ep", "dcp") also end a name: their group is of none
 * of ours. */
static bool names_an_axis(const char *start, const char *at)
{
    static const char *const others[] = {"ep", "dcp", "etp", "vp"};

    for (unsigned axis = 0; axis < AXIS_COUNT; axis++)
        if (rank_layout_ends_with(start, at, axes[axis].key))
            return true;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (rank_layout_ends_with(start, at, others[i]))
            return true;
    return false;
}

/* The rank in one name: neither that within a node nor that of a node, and that along an axis only
 * where the name has no other. */
static int32_t rank_in_name(const char *start, const char *end, const char *word)
{
    int32_t along_axis = -1;
    unsigned axis_count = 0;

    for (const char *at = start, *found; at < end; at = found + 1) {
        int32_t rank = rank_layout_number_behind(at, end, word, &found);

        if (rank < 0)
            break;
        if (rank_layout_ends_with(start, found, "local") ||
            rank_layout_ends_with(start, found, "node"))
            continue;
        if (!names_an_axis(start, found))
            return rank;
        along_axis = rank;
        axis_count++;
    }
    return axis_count == 1 ? along_axis : -1;
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
            coordinates[axis] = rank_layout_number_behind(start, end, axes[axis].key, NULL);
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
