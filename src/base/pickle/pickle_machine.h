/* The stack machine that a pickle is a program for: its input, stack, marks and memo. Private to
 * the pickle reader. */
#ifndef FLOPLEDGER_BASE_PICKLE_PICKLE_MACHINE_H
#define FLOPLEDGER_BASE_PICKLE_PICKLE_MACHINE_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "base/pickle/pickle_build.h"
#include "base/pickle/pickle_tree.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct input_stream;

struct pickle_machine {
    struct pickle_tree *tree;
    struct error *error; /* set where a function below returns false */

    struct input_stream *input;
    const unsigned char *bytes; /* of the window */
    size_t at;                  /* the next one */
    size_t length;
    int64_t window_offset; /* of the window's first byte in the unpacked input */
    int64_t opcode_offset;

    struct pickle_value *stack; /* [depth] */
    size_t depth;
    size_t stack_capacity;
    size_t *marks; /* [mark_count]: depths of the stack */
    size_t mark_count;
    size_t mark_capacity;
    struct pickle_value *memo; /* [memo_count]; TAG_NOTHING where nothing was put */
    size_t memo_count;
    size_t memo_capacity;
    bool is_stopped;
};

/* A text inside the window, valid until the next byte is asked for. */
struct pickle_bytes {
    const unsigned char *bytes;
    size_t length;
};

/* Sets the error: "byte 812: ..."; returns false. */
bool pickle_fail(const struct pickle_machine *machine, const char *format, ...) PRINTF_LIKE(2, 3);

/* Takes `count` bytes of the input. */
MUST_USE bool pickle_take(struct pickle_machine *machine, size_t count, struct pickle_bytes *taken);
/* An integer of `size` (at most 8) bytes, the lowest first; and as many bytes as it says. */
MUST_USE bool pickle_take_size(struct pickle_machine *machine, size_t size, uint64_t *number);
MUST_USE bool pickle_take_counted(struct pickle_machine *machine, size_t size,
                                  struct pickle_bytes *taken);
/* What stands before the next newline, which is taken, too. */
MUST_USE bool pickle_take_line(struct pickle_machine *machine, struct pickle_bytes *taken);

MUST_USE bool pickle_push(struct pickle_machine *machine, struct pickle_value value);
/* Never goes below the topmost mark. */
MUST_USE bool pickle_pop(struct pickle_machine *machine, struct pickle_value *value);
/* The value on top, which stays. */
MUST_USE bool pickle_top(struct pickle_machine *machine, struct pickle_value *value);
MUST_USE bool pickle_push_mark(struct pickle_machine *machine);
/* Takes the topmost mark away: what lay above it begins at *first and goes to the stack's end. */
MUST_USE bool pickle_pop_mark(struct pickle_machine *machine, size_t *first);

MUST_USE bool pickle_memo_put(struct pickle_machine *machine, uint64_t index,
                              struct pickle_value value);
MUST_USE bool pickle_memo_get(const struct pickle_machine *machine, uint64_t index,
                              struct pickle_value *value);

void pickle_machine_clear(struct pickle_machine *machine);

/* What a byte of the program does. */
struct pickle_opcode {
    const char *name;
    bool (*run)(struct pickle_machine *machine); /* NULL: there is no such opcode */
};

/* [256] */
extern const struct pickle_opcode pickle_opcodes[];

/* Opcodes that ask for code: each says what for, and fails. */
bool pickle_refuse_global(struct pickle_machine *machine);
bool pickle_refuse_instance(struct pickle_machine *machine);
bool pickle_refuse_stack_global(struct pickle_machine *machine);
bool pickle_refuse_call(struct pickle_machine *machine);
bool pickle_refuse_extension(struct pickle_machine *machine);
bool pickle_refuse_persistent(struct pickle_machine *machine);
bool pickle_refuse_buffer(struct pickle_machine *machine);

#endif
