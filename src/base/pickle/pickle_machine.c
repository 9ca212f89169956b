/* The stack machine that a pickle is a program for: its input, stack, marks and memo. */
#include "base/pickle/pickle_machine.h"

#include "base/core/array.h"
#include "base/io/input_stream.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The place is that of the opcode and not of its argument: it is where a disassembler
 * (pickletools) shows it. */
bool pickle_fail(const struct pickle_machine *machine, const char *format, ...)
{
    char text[512];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return error_set(machine->error, ERROR_INPUT, "byte %lld: %s",
                     (long long)machine->opcode_offset, text);
}

/* Where compression broke, its own reason is the better one: the pickle ends there as a
 * consequence. */
static bool fail_at_end(const struct pickle_machine *machine)
{
    int64_t length = machine->window_offset + (int64_t)machine->length;

    if (machine->input->is_broken)
        return pickle_fail(machine, "the pickle ends in the middle: %s", machine->input->breakage);
    return pickle_fail(machine,
                       "the pickle ends in the middle, after %lld bytes (was the program "
                       "killed while it wrote the file, or the disk full?)",
                       (long long)length);
}

/* The next window, which begins with what is not yet taken. What is left of the window goes to
 * the front of the next: operands are whole in one window. */
static bool refill(struct pickle_machine *machine)
{
    size_t keep = machine->length - machine->at;
    struct input_window window;

    machine->window_offset += (int64_t)machine->at;
    machine->at = 0;
    if (!input_stream_next(machine->input, keep, &window)) {
        machine->bytes = (const unsigned char *)window.text;
        machine->length = keep;
        return fail_at_end(machine);
    }
    machine->bytes = (const unsigned char *)window.text;
    machine->length = window.length;
    return true;
}

/* The bytes are those of the window, valid until the next refill; nothing is copied. */
bool pickle_take(struct pickle_machine *machine, size_t count, struct pickle_bytes *taken)
{
    while (machine->length - machine->at < count)
        if (!refill(machine))
            return false;
    *taken = (struct pickle_bytes){machine->bytes + machine->at, count};
    machine->at += count;
    return true;
}

/* Little-endian whatever the machine, as pickle is. */
bool pickle_take_size(struct pickle_machine *machine, size_t size, uint64_t *number)
{
    struct pickle_bytes taken;

    if (!pickle_take(machine, size, &taken))
        return false;
    *number = 0;
    for (size_t i = size; i > 0; i--)
        *number = (*number << 8) | taken.bytes[i - 1];
    return true;
}

/* A length is bounded before memory is asked for: eight bytes of a damaged file may say
 * anything. */
bool pickle_take_counted(struct pickle_machine *machine, size_t size, struct pickle_bytes *taken)
{
    uint64_t length;

    if (!pickle_take_size(machine, size, &length))
        return false;
    if (length > INT32_MAX)
        return pickle_fail(machine, "a text or number of %llu bytes: the file is damaged",
                           (unsigned long long)length);
    return pickle_take(machine, (size_t)length, taken);
}

/* Bytes looked at before are not looked at again when the window grows: linear, however long
 * the line. */
bool pickle_take_line(struct pickle_machine *machine, struct pickle_bytes *taken)
{
    size_t looked_at = 0;

    for (;;) {
        const unsigned char *from = machine->bytes + machine->at;
        size_t left = machine->length - machine->at;
        const unsigned char *end =
            left > looked_at ? memchr(from + looked_at, '\n', left - looked_at) : NULL;

        if (end) {
            *taken = (struct pickle_bytes){from, (size_t)(end - from)};
            machine->at += taken->length + 1;
            return true;
        }
        looked_at = left;
        if (left > INT32_MAX)
            return pickle_fail(machine, "a line of more than 2 GB: the file is damaged");
        if (!refill(machine))
            return false;
    }
}

bool pickle_push(struct pickle_machine *machine, struct pickle_value value)
{
    ARRAY_RESERVE(machine->stack, machine->stack_capacity, machine->depth + 1);
    machine->stack[machine->depth++] = value;
    return true;
}

/* What lies below the innermost mark belongs to a list that is not closed, and must not be
 * taken. */
static size_t floor_of(const struct pickle_machine *machine)
{
    return machine->mark_count ? machine->marks[machine->mark_count - 1] : 0;
}

bool pickle_top(struct pickle_machine *machine, struct pickle_value *value)
{
    if (machine->depth <= floor_of(machine))
        return pickle_fail(machine, "the pickle takes more values than it made: it is damaged");
    *value = machine->stack[machine->depth - 1];
    return true;
}

bool pickle_pop(struct pickle_machine *machine, struct pickle_value *value)
{
    if (!pickle_top(machine, value))
        return false;
    machine->depth--;
    return true;
}

bool pickle_push_mark(struct pickle_machine *machine)
{
    ARRAY_RESERVE(machine->marks, machine->mark_capacity, machine->mark_count + 1);
    machine->marks[machine->mark_count++] = machine->depth;
    return true;
}

bool pickle_pop_mark(struct pickle_machine *machine, size_t *first)
{
    if (machine->mark_count == 0)
        return pickle_fail(machine, "the pickle ends a list that it did not begin: it is damaged");
    *first = machine->marks[--machine->mark_count];
    return true;
}

/* A damaged index would make the memo as large as it says. */
bool pickle_memo_put(struct pickle_machine *machine, uint64_t index, struct pickle_value value)
{
    /* Each put takes a byte at least, so that a true index is no larger than the file so far. */
    if (index > (uint64_t)machine->opcode_offset)
        return pickle_fail(machine, "memo number %llu is out of range: the file is damaged",
                           (unsigned long long)index);
    ARRAY_RESERVE(machine->memo, machine->memo_capacity, (size_t)index + 1);
    while (machine->memo_count <= index)
        machine->memo[machine->memo_count++] = pickle_make(TAG_NOTHING, 0);
    machine->memo[index] = value;
    return true;
}

bool pickle_memo_get(const struct pickle_machine *machine, uint64_t index,
                     struct pickle_value *value)
{
    if (index >= machine->memo_count || pickle_tag(machine->memo[index]) == TAG_NOTHING)
        return pickle_fail(machine, "memo number %llu is not set: the file is damaged",
                           (unsigned long long)index);
    *value = machine->memo[index];
    return true;
}

void pickle_machine_clear(struct pickle_machine *machine)
{
    free(machine->stack);
    free(machine->marks);
    free(machine->memo);
}

/* ---- running it ---- */

enum { BINGET = 'h', LONG_BINGET = 'j' };

/* Values that were put before are most of what a snapshot of memory is made of: as many as follow
 * each other are pushed at once, as far as the window and the stack reach. Where one is not as it
 * should be its opcode says so. */
static void push_known_values(struct pickle_machine *machine)
{
    const unsigned char *at = machine->bytes + machine->at;
    const unsigned char *end = machine->bytes + machine->length;
    const struct pickle_value *memo = machine->memo;
    const size_t memo_count = machine->memo_count;
    struct pickle_value *stack = machine->stack;
    size_t depth = machine->depth;

    while (end - at > 4 && depth < machine->stack_capacity) {
        bool is_long = *at == LONG_BINGET;
        uint32_t index = at[1];

        if (is_long)
            index = index | (uint32_t)at[2] << 8 | (uint32_t)at[3] << 16 | (uint32_t)at[4] << 24;
        else if (*at != BINGET)
            break;
        if (index >= memo_count || pickle_tag(memo[index]) == TAG_NOTHING)
            break;
        stack[depth++] = memo[index];
        at += is_long ? 5 : 2;
    }
    machine->depth = depth;
    machine->at = (size_t)(at - machine->bytes);
}

/* One byte, one function. What asks for code is in the table as a refusal: nothing that a file
 * says is ever called. */
static bool pickle_machine_run(struct pickle_machine *machine)
{
    while (!machine->is_stopped) {
        struct pickle_bytes byte;
        const struct pickle_opcode *opcode;

        push_known_values(machine);
        machine->opcode_offset = machine->window_offset + (int64_t)machine->at;
        if (!pickle_take(machine, 1, &byte))
            return false;
        opcode = &pickle_opcodes[byte.bytes[0]];
        if (!opcode->run)
            return pickle_fail(machine,
                               "0x%02x is no instruction of a pickle: the file is damaged, or no "
                               "pickle",
                               byte.bytes[0]);
        if (!opcode->run(machine))
            return false;
    }
    return true;
}

/* Errors go to one of our own first, as a reader may ask without one. The tree is cleared on
 * failure: half of it would look like a small file. */
bool pickle_tree_read(struct pickle_tree *tree, struct input_stream *input, struct error *error)
{
    struct error failure = {0};
    struct pickle_machine machine = {.tree = tree, .input = input, .error = &failure};
    bool is_read;

    (void)string_pool_add(&tree->strings, "", 0);
    is_read = pickle_machine_run(&machine);
    if (is_read)
        tree->rest = input_read_rest(
            input, (struct input_left){(const char *)machine.bytes + machine.at,
                                       machine.length - machine.at,
                                       machine.window_offset + (int64_t)machine.at});
    pickle_machine_clear(&machine);
    if (is_read)
        return true;
    pickle_tree_clear(tree);
    if (error)
        *error = failure;
    return false;
}

/* "cos\nsystem\n": the first thing that the pickle asks for is code. A pickle that begins with
 * GLOBAL is one all the same, and is then refused by what it asks for, instead of as "no
 * pickle". */
static bool asks_for_code(const unsigned char *bytes, size_t length)
{
    size_t at = 1;

    for (int line = 0; line < 2; line++) {
        size_t from = at;

        while (at < length && (isalnum(bytes[at]) || bytes[at] == '_' || bytes[at] == '.'))
            at++;
        if (at == from || at == length || bytes[at] != '\n')
            return false;
        at++;
    }
    return true;
}

/* Protocol 2 and later begin with 0x80 and the number; older ones with what Python writes
 * first for a container. */
bool looks_like_pickle(const char *head, size_t length)
{
    const unsigned char *bytes = (const unsigned char *)head;

    if (length < 2)
        return false;
    if (bytes[0] == 0x80)
        return bytes[1] <= 5;
    /* Protocols 0 and 1 have no header: a list, tuple or dict is begun, and an item of it. */
    if (bytes[0] == '(' && (bytes[1] == 'd' || bytes[1] == 'l' || bytes[1] == 't'))
        return length < 3 || bytes[2] == 'p' || bytes[2] == 'q' || bytes[2] == '.';
    if (bytes[0] == 'c')
        return asks_for_code(bytes, length);
    return (bytes[0] == '}' || bytes[0] == ']') && (bytes[1] == 'q' || bytes[1] == '(');
}
