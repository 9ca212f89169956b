/* How a profiler lays its events out: what stands between two values of an event (`,\n  "dur": `)
 * is the same in thousands of them, so it is compared as a whole and not read letter by letter.
 *
 * A joint is such a text, with what is to be done with the value behind it. Values that are the
 * same in many events (the phase, the category, the thread) are part of its text. Joints make a
 * tree: those that followed a joint before hang below it. An event whose joints are all known is
 * read by them alone; any other is read letter by letter (torch_profiler_scan.c), and leaves its
 * joints here. */
#ifndef FLOPLEDGER_READERS_TORCH_PROFILER_TORCH_PROFILER_LAYOUT_H
#define FLOPLEDGER_READERS_TORCH_PROFILER_TORCH_PROFILER_LAYOUT_H

#include "base/json/json_scan.h"
#include "readers/torch_profiler/torch_profiler_event.h"
#include "readers/torch_profiler/torch_profiler_memo.h"

/* What is done with the value behind a joint. */
enum joint_action {
    JOINT_SKIP,
    JOINT_CATEGORY,
    JOINT_NAME,
    JOINT_ID,
    JOINT_PID,
    JOINT_TID,
    JOINT_TS,
    JOINT_DUR,
    JOINT_NUMBER, /* an integer of args; layout_joint.arg says which */
    JOINT_ARG,    /* any other of them */
    JOINT_ARGS,   /* which are not looked into */
    JOINT_END,    /* none: the event ends */
};

/* Values that may be part of a joint's text. */
enum joint_constant { CONSTANT_CATEGORY, CONSTANT_PID, CONSTANT_TID, CONSTANT_COUNT };

/* What stands in a joint's text. */
enum joint_mark { JOINT_HAS_FIELDS = 1, JOINT_BEGINS_ARGS = 2, JOINT_ENDS_ARGS = 4 };

enum {
    JOINT_BYTES_MAX = 64, /* a scanner may read so far behind its text */
    LAYOUT_JOINTS_MAX = 1024,
    LAYOUT_VALUES_MAX = 64,
};

struct layout_joint {
    char text[JOINT_BYTES_MAX];  /* zeros behind its length */
    uint64_t bytes;              /* a bit for each byte of it */
    struct layout_joint *first;  /* of those that followed it */
    struct layout_joint *last;   /* the one that did so last */
    struct layout_joint *behind; /* beside it, below the same joint */
    struct layout_joint *then;   /* the one there that followed when this one had followed before */
    uint8_t length;
    uint8_t action;     /* enum joint_action */
    uint8_t arg;        /* enum event_arg */
    uint8_t marks;      /* bits of enum joint_mark: which of the next are there */
    char phase;         /* the value of "ph", where it stands in the text; '\0': it does not */
    uint8_t args_start; /* offset in the text behind the '{' of args; 0: it has none */
    uint8_t args_end;   /* behind their '}' */
    uint32_t has;       /* as of torch_event: the phase, and the constants */
    struct json_slice constants[CONSTANT_COUNT]; /* in `text` */
    struct category_memo category;               /* of the constant one, where it is used */
    struct track_memo track;                     /* of the constant process and thread */
};

/* Of one thread; a zeroed one knows nothing. */
struct event_layouts {
    struct layout_joint *joints; /* [0] is the root: the beginning of an event */
    uint32_t count;
    uint32_t misses; /* events that were not read by joints although there was nothing to learn */
    uint64_t unasked_args; /* bits by enum event_arg; they are passed over */
    bool is_plain;         /* there are too many threads or categories to be part of joints */
};

/* A value of an event that was read letter by letter. */
struct layout_value {
    const char *start;
    const char *end;
    const char *args_start; /* behind the '{' or '}' where one stands before the value; or NULL */
    const char *args_end;
    uint8_t action;
    uint8_t arg;
    char phase;
};

struct layout_trail {
    bool is_unusual; /* it cannot be told by joints */
    unsigned count;
    struct layout_value values[LAYOUT_VALUES_MAX + 1]; /* [count] is being made */
};

static inline void layout_trail_begin(struct layout_trail *trail)
{
    trail->is_unusual = false;
    trail->count = 0;
    trail->values[0] = (struct layout_value){0};
}

/* The value that is being made begins and ends here; the next one is behind it. */
static inline void layout_trail_add(struct layout_trail *trail, const char *start, const char *end)
{
    struct layout_value *value = &trail->values[trail->count];

    value->start = start;
    value->end = end;
    if (trail->count == LAYOUT_VALUES_MAX)
        trail->is_unusual = true;
    else
        trail->values[++trail->count] = (struct layout_value){0};
}

/* Whether the text at `at` is the joint's; JOINT_BYTES_MAX bytes can be read there. */
static inline bool layout_joint_is_at(const struct layout_joint *joint, const char *at)
{
    uint64_t others = joint->bytes & ~(uint64_t)same_of_32(at, joint->text);

    if (!others)
        return true;
    if ((uint32_t)others)
        return false;
    return !(others & ~((uint64_t)same_of_32(at + 32, joint->text + 32) << 32));
}

/* The same for joints that followed neither the last time nor after it: NULL where there is none.
 */
struct layout_joint *layout_find_other(struct layout_joint *joint, const char *at);

/* The joint that follows at `at`; NULL where none is known. */
static inline struct layout_joint *layout_follow(struct layout_joint *joint, const char *at)
{
    struct layout_joint *last = joint->last;
    struct layout_joint *next;

    if (!last || layout_joint_is_at(last, at))
        return last;
    next = last->then; /* kinds of events often take turns */
    if (!next || !layout_joint_is_at(next, at))
        return layout_find_other(joint, at);
    joint->last = next;
    return next;
}

/* Keeps the joints of an event that begins at `start`. */
void layout_learn(struct event_layouts *layouts, const char *start,
                  const struct layout_trail *trail);

void event_layouts_clear(struct event_layouts *layouts);

#endif
