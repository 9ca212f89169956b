/* How a profiler lays its events out. */
#include "readers/torch_profiler/torch_profiler_layout.h"

#include "base/core/array.h"

#include <stdlib.h>

enum {
    /* Of so many joints below one it is tried whether they follow. */
    TRIES_MAX = 16,
    /* So many events are read letter by letter again before all is forgotten: a file may go on in
     * another way, or have more threads than can be tried. */
    MISSES_MAX = 1024,
    /* Of an event, not of its args: "s": "t" and "bp": "e", with quotes. */
    WORD_BYTES_MAX = 4,
};

/* What followed last is tried first next time: profilers write runs of events of one kind.
 * `then` remembers for each joint which came after it. */
struct layout_joint *layout_find_other(struct layout_joint *joint, const char *at)
{
    struct layout_joint *found = joint->first;
    unsigned tries = 0;

    while (found && tries < TRIES_MAX && !layout_joint_is_at(found, at)) {
        found = found->behind;
        tries++;
    }
    if (!found || tries == TRIES_MAX)
        return NULL;
    joint->last->then = found;
    joint->last = found;
    return found;
}

static const uint32_t bit_of_constant[CONSTANT_COUNT + 1] = {
    [CONSTANT_CATEGORY] = HAS_CATEGORY, [CONSTANT_PID] = HAS_PID, [CONSTANT_TID] = HAS_TID};

/* Which constant the value is, as part of a joint; CONSTANT_COUNT: none. Only values that seldom
 * change become part of the text that is compared; escapes would make two texts of one value. */
static enum joint_constant constant_of(const struct layout_value *value)
{
    size_t length = (size_t)(value->end - value->start);

    if (length > TEXT_KEY_MAX || memchr(value->start, '\\', length) ||
        (*value->start != '"' && (*value->start < '0' || *value->start > '9')))
        return CONSTANT_COUNT;
    return value->action == JOINT_CATEGORY ? CONSTANT_CATEGORY
           : value->action == JOINT_PID    ? CONSTANT_PID
           : value->action == JOINT_TID    ? CONSTANT_TID
                                           : CONSTANT_COUNT;
}

/* A short word that nobody asks for may be part of a joint, too. */
static bool is_idle_word(const struct layout_value *value)
{
    size_t length = (size_t)(value->end - value->start);

    return value->action == JOINT_SKIP && value->arg == 0 && *value->start == '"' &&
           length <= WORD_BYTES_MAX && !memchr(value->start, '\\', length);
}

/* The constant becomes part of the joint that is made, whose text begins at `from`. */
static void joint_add_constant(struct layout_joint *joint, const struct layout_value *value,
                               const char *from)
{
    enum joint_constant constant = constant_of(value);
    bool is_string = *value->start == '"';

    joint->has |= bit_of_constant[constant];
    joint->constants[constant] = (struct json_slice){
        .text = joint->text + (value->start - from) + is_string,
        .length = (uint32_t)(value->end - value->start - (is_string ? 2 : 0)),
        .is_string = is_string,
    };
}

/* What stands in the text before a value is marked in the joint; false where it is there twice. */
static bool joint_add_marks(struct layout_joint *joint, const struct layout_value *value,
                            const char *from)
{
    if (((value->args_start || value->args_end) && (joint->args_start || joint->args_end)) ||
        (value->phase && joint->phase))
        return false;
    if (value->phase)
        joint->phase = value->phase;
    if (value->args_start)
        joint->args_start = (uint8_t)(value->args_start - from);
    if (value->args_end)
        joint->args_end = (uint8_t)(value->args_end - from);
    return true;
}

/* True where the value before the next one can be part of the joint that begins at `from`. */
static bool is_part_of_joint(const struct layout_joint *joint, const struct layout_value *value,
                             const char *from)
{
    enum joint_constant constant = constant_of(value);
    bool is_constant = constant != CONSTANT_COUNT && !(joint->has & bit_of_constant[constant]);

    return (is_constant || is_idle_word(value)) && value[1].start - from <= JOINT_BYTES_MAX;
}

/* The joint before the values from `value` on, of which those that are constant become part of it;
 * `from` is where it begins. The value behind it; NULL where there can be no such joint: its text
 * is too long, or has a zero (no joint reaches behind a window). */
static const struct layout_value *make_joint(const struct event_layouts *layouts,
                                             struct layout_joint *joint, const char *from,
                                             const struct layout_value *value)
{
    size_t length;

    *joint = (struct layout_joint){0};
    if (value->start - from > JOINT_BYTES_MAX || !joint_add_marks(joint, value, from))
        return NULL;
    while (!layouts->is_plain && is_part_of_joint(joint, value, from)) {
        if (value->action != JOINT_SKIP)
            joint_add_constant(joint, value, from);
        value++;
        if (!joint_add_marks(joint, value, from))
            return NULL;
    }
    length = (size_t)(value->start - from);
    if (length == 0 || memchr(from, '\0', length))
        return NULL;
    memcpy(joint->text, from, length);
    joint->length = (uint8_t)length;
    /* One bit for each byte of the joint, for comparisons of whole vectors. */
    joint->bytes = ~(uint64_t)0 >> (64 - length);
    joint->action = value->action;
    joint->arg = value->arg;
    if ((joint->action == JOINT_NUMBER || joint->action == JOINT_ARG) &&
        layouts->unasked_args >> joint->arg & 1)
        joint->action = JOINT_SKIP;
    if (joint->phase)
        joint->has |= HAS_PHASE;
    joint->marks = (uint8_t)((joint->has ? JOINT_HAS_FIELDS : 0) |
                             (joint->args_start ? JOINT_BEGINS_ARGS : 0) |
                             (joint->args_end ? JOINT_ENDS_ARGS : 0));
    return value;
}

static bool is_same_joint(const struct layout_joint *a, const struct layout_joint *b)
{
    return a->length == b->length && memcmp(a->text, b->text, a->length) == 0 &&
           a->action == b->action && a->arg == b->arg && a->phase == b->phase &&
           a->args_start == b->args_start && a->args_end == b->args_end && a->has == b->has;
}

/* The joint below `parent`, added where it is new. Joints that are the same are shared, so
 * layouts are a tree whose branches are where events differ. */
static struct layout_joint *add_joint(struct event_layouts *layouts, struct layout_joint *parent,
                                      const struct layout_joint *joint)
{
    struct layout_joint *added = parent->first;

    while (added && !is_same_joint(added, joint))
        added = added->behind;
    if (added)
        return added;
    added = &layouts->joints[layouts->count++];
    *added = *joint;
    for (unsigned i = 0; i < CONSTANT_COUNT; i++)
        if (joint->has & bit_of_constant[i])
            added->constants[i].text = added->text + (joint->constants[i].text - joint->text);
    added->behind = parent->first;
    parent->first = added;
    parent->last = added;
    return added;
}

/* Room for the joints of one more event. When it is full, all is forgotten and learned again
 * without constants: a file with more threads than fit would else never be fast. */
static bool layouts_make_room(struct event_layouts *layouts, unsigned count)
{
    if (!layouts->joints)
        layouts->joints = require_memory(calloc(LAYOUT_JOINTS_MAX, sizeof *layouts->joints));
    if (layouts->count && layouts->misses < MISSES_MAX) {
        layouts->misses += layouts->count + count > LAYOUT_JOINTS_MAX;
        return layouts->count + count <= LAYOUT_JOINTS_MAX;
    }
    layouts->is_plain = layouts->count > 0;
    layouts->joints[0] = (struct layout_joint){0};
    layouts->count = 1;
    layouts->misses = 0;
    return true;
}

/* An event's text is a row of joints and values: the fixed text between two values is a joint.
 * The next event with the same fixed text is read by comparing joints and reading values,
 * without looking at keys; what does not compare equal is read the slow way, so a wrong guess
 * costs time and never changes what is read. */
void layout_learn(struct event_layouts *layouts, const char *start,
                  const struct layout_trail *trail)
{
    struct layout_joint joints[LAYOUT_VALUES_MAX];
    const struct layout_value *value = trail->values;
    const struct layout_value *end = value + trail->count;
    struct layout_joint *parent;
    unsigned count = 0;
    uint32_t known;

    if (trail->is_unusual)
        return;
    while (value < end) {
        value = make_joint(layouts, &joints[count++], start, value);
        if (!value)
            return;
        start = value++->end;
    }
    if (!layouts_make_room(layouts, count))
        return;
    known = layouts->count;
    parent = layouts->joints;
    for (unsigned i = 0; i < count; i++)
        parent = add_joint(layouts, parent, &joints[i]);
    layouts->misses += layouts->count == known;
}

void event_layouts_clear(struct event_layouts *layouts)
{
    free(layouts->joints);
    *layouts = (struct event_layouts){0};
}
