/* What each byte of a pickle does, for all protocols from 0 to 5. */
#include "base/core/invariant.h"
#include "base/pickle/pickle_machine.h"
#include "base/text/utf8.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers and texts ----------------------------------------------------------------------- */

/* Texts as the first protocols of pickle write them: with escapes, on a line. Private to the pickle
 * reader. */

/* Both write UTF-8 (of quoted texts: the bytes they mean) to `to`, which has room for
 * 2 * length + 1; *used says how many bytes. False where an escape is wrong. */

static int digit_value(unsigned char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return 16;
}

/* The number that `count` digits make; false where one is none. */
static bool pickle_text_take_digits(const unsigned char *from, size_t count, int base,
                                    uint32_t *number)
{
    *number = 0;
    for (size_t i = 0; i < count; i++) {
        int digit = digit_value(from[i]);

        if (digit >= base)
            return false;
        *number = *number * (uint32_t)base + (uint32_t)digit;
    }
    return true;
}

/* \uXXXX and \UXXXXXXXX; all other bytes are Latin-1. */
static bool pickle_decode_raw_unicode(const unsigned char *from, size_t length, char *to,
                                      size_t *used)
{
    size_t i = 0;

    *used = 0;
    while (i < length) {
        size_t digits = 0;
        uint32_t code = from[i];

        if (from[i] == '\\' && i + 1 < length)
            digits = from[i + 1] == 'u' ? 4 : from[i + 1] == 'U' ? 8 : 0;
        if (digits) {
            if (length - i - 2 < digits ||
                !pickle_text_take_digits(from + i + 2, digits, 16, &code) || code > 0x10ffff)
                return false;
            i += digits + 1;
        }
        i++;
        *used += utf8_encode(code, to + *used);
    }
    return true;
}

/* One escape at from[0], a backslash; returns how many bytes of `from` it takes, 0: wrong. */
static size_t decode_escape(const unsigned char *from, size_t length, char *to, size_t *used)
{
    static const char letters[] = "\\'\"abfnrtv";
    static const char meanings[] = "\\'\"\a\b\f\n\r\t\v";
    const char *letter;
    uint32_t code;

    if (length < 2)
        return 0;
    letter = from[1] ? strchr(letters, from[1]) : NULL;
    if (letter) {
        to[(*used)++] = meanings[letter - letters];
        return 2;
    }
    if (from[1] == 'x' && length >= 4 && pickle_text_take_digits(from + 2, 2, 16, &code)) {
        to[(*used)++] = (char)code;
        return 4;
    }
    if (from[1] == 'x')
        return 0;
    if (length >= 4 && pickle_text_take_digits(from + 1, 3, 8, &code)) {
        to[(*used)++] = (char)(code & 0xff);
        return 4;
    }
    to[(*used)++] = '\\'; /* as Python has it: an unknown escape stands for itself */
    to[(*used)++] = (char)from[1];
    return 2;
}

/* A literal of Python 2: in quotes, with \n, \x41, \101 and the like. */
static bool pickle_decode_quoted(const unsigned char *from, size_t length, char *to, size_t *used)
{
    size_t i = 1;

    *used = 0;
    while (length && (from[length - 1] == '\r' || from[length - 1] == ' '))
        length--;
    if (length < 2 || (from[0] != '\'' && from[0] != '"') || from[length - 1] != from[0])
        return false;
    while (i < length - 1) {
        size_t taken = 1;

        if (from[i] != '\\')
            to[(*used)++] = (char)from[i];
        else
            taken = decode_escape(from + i, length - 1 - i, to, used);
        if (taken == 0)
            return false;
        i += taken;
    }
    return true;
}

/* ---- pickle opcodes -------------------------------------------------------------------------- */

/* Protocol 5 is the newest that Python writes (since 3.8). */
enum { PROTOCOL_MAX = 5, NUMBER_LINE_MAX = 400 };

/* ---- numbers and constants ---- */

static bool run_none(struct pickle_machine *machine)
{
    return pickle_push(machine, pickle_make(TAG_NONE, 0));
}

static bool run_true(struct pickle_machine *machine)
{
    return pickle_push(machine, pickle_make(TAG_BOOLEAN, 1));
}

static bool run_false(struct pickle_machine *machine)
{
    return pickle_push(machine, pickle_make(TAG_BOOLEAN, 0));
}

static bool push_unsigned(struct pickle_machine *machine, size_t size)
{
    uint64_t number;

    return pickle_take_size(machine, size, &number) &&
           pickle_push(machine, pickle_make(TAG_INTEGER, number));
}

static bool run_binint1(struct pickle_machine *machine)
{
    return push_unsigned(machine, 1);
}

static bool run_binint2(struct pickle_machine *machine)
{
    return push_unsigned(machine, 2);
}

static bool run_binint(struct pickle_machine *machine)
{
    uint64_t number;

    return pickle_take_size(machine, 4, &number) &&
           pickle_push(machine, pickle_make_integer(machine->tree, (int32_t)(uint32_t)number));
}

static bool push_long(struct pickle_machine *machine, size_t size)
{
    struct pickle_bytes bytes;

    return pickle_take_counted(machine, size, &bytes) &&
           pickle_push(machine, pickle_make_long(machine->tree, bytes.bytes, bytes.length));
}

static bool run_long1(struct pickle_machine *machine)
{
    return push_long(machine, 1);
}

static bool run_long4(struct pickle_machine *machine)
{
    return push_long(machine, 4);
}

/* Protocol 0 writes numbers as lines of text. */
static bool run_long(struct pickle_machine *machine)
{
    struct pickle_bytes line;
    struct pickle_value value;

    if (!pickle_take_line(machine, &line))
        return false;
    value = pickle_make_decimal(machine->tree, (const char *)line.bytes, line.length);
    if (pickle_tag(value) == TAG_NOTHING)
        return pickle_fail(machine, "a number that is none: the file is damaged");
    return pickle_push(machine, value);
}

/* Protocol 0 writes booleans as "I00" and "I01" (pickletools). */
static bool run_int(struct pickle_machine *machine)
{
    struct pickle_bytes line;
    struct pickle_value value;

    if (!pickle_take_line(machine, &line))
        return false;
    if (line.length == 2 && line.bytes[0] == '0' && (line.bytes[1] == '0' || line.bytes[1] == '1'))
        return pickle_push(machine, pickle_make(TAG_BOOLEAN, line.bytes[1] == '1'));
    value = pickle_make_decimal(machine->tree, (const char *)line.bytes, line.length);
    if (pickle_tag(value) == TAG_NOTHING)
        return pickle_fail(machine, "a number that is none: the file is damaged");
    return pickle_push(machine, value);
}

static bool run_binfloat(struct pickle_machine *machine)
{
    struct pickle_bytes taken;
    uint64_t bits = 0;
    double real;

    if (!pickle_take(machine, 8, &taken))
        return false;
    for (size_t i = 0; i < 8; i++) /* the highest byte first */
        bits = (bits << 8) | taken.bytes[i];
    memcpy(&real, &bits, sizeof real);
    return pickle_push(machine, pickle_make_real(machine->tree, real));
}

/* The copy has an end: a line of the window has none that strtod would stop at. */
static bool run_float(struct pickle_machine *machine)
{
    char digits[NUMBER_LINE_MAX];
    struct pickle_bytes line;
    char *end;
    double real;

    if (!pickle_take_line(machine, &line))
        return false;
    if (line.length == 0 || line.length >= sizeof digits)
        return pickle_fail(machine, "a number that is none: the file is damaged");
    memcpy(digits, line.bytes, line.length);
    digits[line.length] = '\0';
    real = strtod(digits, &end);
    if (*end)
        return pickle_fail(machine, "a number that is none: the file is damaged");
    return pickle_push(machine, pickle_make_real(machine->tree, real));
}

/* ---- texts ---- */

static bool push_text(struct pickle_machine *machine, enum pickle_tag tag, const char *text,
                      size_t length)
{
    return pickle_push(machine,
                       pickle_make(tag, string_pool_add(&machine->tree->strings, text, length)));
}

static bool push_counted(struct pickle_machine *machine, enum pickle_tag tag, size_t size)
{
    struct pickle_bytes taken;

    return pickle_take_counted(machine, size, &taken) &&
           push_text(machine, tag, (const char *)taken.bytes, taken.length);
}

static bool run_text1(struct pickle_machine *machine)
{
    return push_counted(machine, TAG_TEXT, 1);
}

static bool run_text4(struct pickle_machine *machine)
{
    return push_counted(machine, TAG_TEXT, 4);
}

static bool run_text8(struct pickle_machine *machine)
{
    return push_counted(machine, TAG_TEXT, 8);
}

static bool run_bytes1(struct pickle_machine *machine)
{
    return push_counted(machine, TAG_BYTES, 1);
}

static bool run_bytes4(struct pickle_machine *machine)
{
    return push_counted(machine, TAG_BYTES, 4);
}

static bool run_bytes8(struct pickle_machine *machine)
{
    return push_counted(machine, TAG_BYTES, 8);
}

/* A line in which characters are written as escapes. Twice the length: an escape of two bytes
 * may stay two, and a Latin-1 byte becomes two of UTF-8. */
static bool push_escaped(struct pickle_machine *machine,
                         bool (*decode)(const unsigned char *from, size_t length, char *to,
                                        size_t *used))
{
    struct pickle_bytes line;
    size_t used = 0;
    char *text;
    bool is_done;

    if (!pickle_take_line(machine, &line))
        return false;
    text = require_memory(malloc(2 * line.length + 1));
    is_done = decode(line.bytes, line.length, text, &used)
                  ? push_text(machine, TAG_TEXT, text, used)
                  : pickle_fail(machine, "a text with a wrong escape: the file is damaged");
    free(text);
    return is_done;
}

static bool run_unicode(struct pickle_machine *machine)
{
    return push_escaped(machine, pickle_decode_raw_unicode);
}

static bool run_string(struct pickle_machine *machine)
{
    return push_escaped(machine, pickle_decode_quoted);
}

/* ---- lists, tuples, sets, dicts ---- */

static bool push_empty(struct pickle_machine *machine, enum pickle_tag tag)
{
    return pickle_push(machine, pickle_make_sequence(machine->tree, tag));
}

static bool run_empty_list(struct pickle_machine *machine)
{
    return push_empty(machine, TAG_LIST);
}

static bool run_empty_dict(struct pickle_machine *machine)
{
    return push_empty(machine, TAG_DICT);
}

static bool run_empty_tuple(struct pickle_machine *machine)
{
    return push_empty(machine, TAG_TUPLE);
}

static bool run_empty_set(struct pickle_machine *machine)
{
    return push_empty(machine, TAG_SET);
}

/* Moves what lies above `first` into `sequence`. Keys and values of a dict alternate. */
static bool move_into(struct pickle_machine *machine, struct pickle_value sequence, size_t first)
{
    size_t count = machine->depth - first;

    if (count == 0)
        return true; /* there may be no stack yet */
    if (pickle_tag(sequence) == TAG_DICT && count % 2)
        return pickle_fail(machine, "a key without a value: the file is damaged");
    if (!pickle_extend(machine->tree, sequence, machine->stack + first, count))
        return pickle_fail(machine, "more than two thousand million items: the file is damaged");
    machine->depth = first;
    return true;
}

/* All above the mark as a new sequence. The tuple is made although the mark may be missing: it
 * is then only an unused value. */
static bool make_of_marked(struct pickle_machine *machine, enum pickle_tag tag)
{
    struct pickle_value sequence = pickle_make_sequence(machine->tree, tag);
    size_t first;

    return pickle_pop_mark(machine, &first) && move_into(machine, sequence, first) &&
           pickle_push(machine, sequence);
}

static bool run_list(struct pickle_machine *machine)
{
    return make_of_marked(machine, TAG_LIST);
}

static bool run_dict(struct pickle_machine *machine)
{
    return make_of_marked(machine, TAG_DICT);
}

static bool run_tuple(struct pickle_machine *machine)
{
    return make_of_marked(machine, TAG_TUPLE);
}

static bool run_frozenset(struct pickle_machine *machine)
{
    return make_of_marked(machine, TAG_SET);
}

/* The `count` values on top as a tuple. */
static bool make_tuple(struct pickle_machine *machine, size_t count)
{
    struct pickle_value tuple = pickle_make_sequence(machine->tree, TAG_TUPLE);
    size_t floor = machine->mark_count ? machine->marks[machine->mark_count - 1] : 0;

    if (machine->depth - floor < count)
        return pickle_fail(machine, "the pickle takes more values than it made: it is damaged");
    return move_into(machine, tuple, machine->depth - count) && pickle_push(machine, tuple);
}

static bool run_tuple1(struct pickle_machine *machine)
{
    return make_tuple(machine, 1);
}

static bool run_tuple2(struct pickle_machine *machine)
{
    return make_tuple(machine, 2);
}

static bool run_tuple3(struct pickle_machine *machine)
{
    return make_tuple(machine, 3);
}

/* Moves what lies above `first` into the sequence below it, which must be of kind `tag`. The
 * sequence itself must lie above the mark before it, or a file could add to what is not its own. */
static bool pickle_opcodes_add_to(struct pickle_machine *machine, enum pickle_tag tag, size_t first)
{
    size_t floor = machine->mark_count ? machine->marks[machine->mark_count - 1] : 0;

    if (first <= floor || pickle_tag(machine->stack[first - 1]) != tag)
        return pickle_fail(machine, "items for a list or dict that is none: the file is damaged");
    return move_into(machine, machine->stack[first - 1], first);
}

static bool add_marked(struct pickle_machine *machine, enum pickle_tag tag)
{
    size_t first;

    return pickle_pop_mark(machine, &first) && pickle_opcodes_add_to(machine, tag, first);
}

static bool add_topmost(struct pickle_machine *machine, enum pickle_tag tag, size_t count)
{
    if (machine->depth < count)
        return pickle_fail(machine, "the pickle takes more values than it made: it is damaged");
    return pickle_opcodes_add_to(machine, tag, machine->depth - count);
}

static bool run_append(struct pickle_machine *machine)
{
    return add_topmost(machine, TAG_LIST, 1);
}

static bool run_appends(struct pickle_machine *machine)
{
    return add_marked(machine, TAG_LIST);
}

static bool run_setitem(struct pickle_machine *machine)
{
    return add_topmost(machine, TAG_DICT, 2);
}

static bool run_setitems(struct pickle_machine *machine)
{
    return add_marked(machine, TAG_DICT);
}

static bool run_additems(struct pickle_machine *machine)
{
    return add_marked(machine, TAG_SET);
}

/* ---- the stack and the memo ---- */

/* POP takes a mark off where that is on top (pickle.py, load_pop). */
static bool run_pop(struct pickle_machine *machine)
{
    struct pickle_value value;
    size_t first;

    if (machine->mark_count && machine->marks[machine->mark_count - 1] == machine->depth)
        return pickle_pop_mark(machine, &first);
    return pickle_pop(machine, &value);
}

static bool run_pop_mark(struct pickle_machine *machine)
{
    size_t first;

    if (!pickle_pop_mark(machine, &first))
        return false;
    machine->depth = first;
    return true;
}

static bool run_dup(struct pickle_machine *machine)
{
    struct pickle_value value;

    return pickle_top(machine, &value) && pickle_push(machine, value);
}

static bool memo_put(struct pickle_machine *machine, uint64_t index)
{
    struct pickle_value value;

    return pickle_top(machine, &value) && pickle_memo_put(machine, index, value);
}

static bool memo_get(struct pickle_machine *machine, uint64_t index)
{
    struct pickle_value value;

    return pickle_memo_get(machine, index, &value) && pickle_push(machine, value);
}

/* The next free number, as protocol 4 has it. */
static bool run_memoize(struct pickle_machine *machine)
{
    return memo_put(machine, machine->memo_count);
}

static bool run_binput(struct pickle_machine *machine)
{
    uint64_t index;

    return pickle_take_size(machine, 1, &index) && memo_put(machine, index);
}

static bool run_long_binput(struct pickle_machine *machine)
{
    uint64_t index;

    return pickle_take_size(machine, 4, &index) && memo_put(machine, index);
}

static bool run_binget(struct pickle_machine *machine)
{
    uint64_t index;

    return pickle_take_size(machine, 1, &index) && memo_get(machine, index);
}

static bool run_long_binget(struct pickle_machine *machine)
{
    uint64_t index;

    return pickle_take_size(machine, 4, &index) && memo_get(machine, index);
}

static bool pickle_opcodes_take_decimal(struct pickle_machine *machine, uint64_t *number)
{
    struct pickle_bytes line;

    if (!pickle_take_line(machine, &line))
        return false;
    if (!pickle_unsigned(machine->tree,
                         pickle_make_decimal(machine->tree, (const char *)line.bytes, line.length),
                         number))
        return pickle_fail(machine, "a memo number that is none: the file is damaged");
    return true;
}

static bool run_put(struct pickle_machine *machine)
{
    uint64_t index;

    return pickle_opcodes_take_decimal(machine, &index) && memo_put(machine, index);
}

static bool run_get(struct pickle_machine *machine)
{
    uint64_t index;

    return pickle_opcodes_take_decimal(machine, &index) && memo_get(machine, index);
}

/* ---- the frame around it ---- */

/* Later protocols may have opcodes that are not known here: refused at the first byte, not in
 * the middle. */
static bool run_proto(struct pickle_machine *machine)
{
    uint64_t protocol;

    if (!pickle_take_size(machine, 1, &protocol))
        return false;
    if (protocol > PROTOCOL_MAX)
        return pickle_fail(machine, "pickle protocol %llu is not known, protocols 0 to %d are",
                           (unsigned long long)protocol, PROTOCOL_MAX);
    return true;
}

static bool run_frame(struct pickle_machine *machine)
{
    uint64_t length; /* only a hint for reading ahead */

    return pickle_take_size(machine, 8, &length);
}

/* The value on top is the result; what lies below it is dropped. */
static bool run_stop(struct pickle_machine *machine)
{
    machine->is_stopped = true;
    return pickle_pop(machine, &machine->tree->root);
}

const struct pickle_opcode pickle_opcodes[256] = {
    ['('] = {"MARK", pickle_push_mark},
    ['.'] = {"STOP", run_stop},
    ['0'] = {"POP", run_pop},
    ['1'] = {"POP_MARK", run_pop_mark},
    ['2'] = {"DUP", run_dup},
    ['F'] = {"FLOAT", run_float},
    ['I'] = {"INT", run_int},
    ['J'] = {"BININT", run_binint},
    ['K'] = {"BININT1", run_binint1},
    ['L'] = {"LONG", run_long},
    ['M'] = {"BININT2", run_binint2},
    ['N'] = {"NONE", run_none},
    ['S'] = {"STRING", run_string},
    ['T'] = {"BINSTRING", run_text4},
    ['U'] = {"SHORT_BINSTRING", run_text1},
    ['V'] = {"UNICODE", run_unicode},
    ['X'] = {"BINUNICODE", run_text4},
    ['a'] = {"APPEND", run_append},
    ['d'] = {"DICT", run_dict},
    ['}'] = {"EMPTY_DICT", run_empty_dict},
    ['e'] = {"APPENDS", run_appends},
    ['g'] = {"GET", run_get},
    ['h'] = {"BINGET", run_binget},
    ['j'] = {"LONG_BINGET", run_long_binget},
    ['l'] = {"LIST", run_list},
    [']'] = {"EMPTY_LIST", run_empty_list},
    ['p'] = {"PUT", run_put},
    ['q'] = {"BINPUT", run_binput},
    ['r'] = {"LONG_BINPUT", run_long_binput},
    ['s'] = {"SETITEM", run_setitem},
    ['t'] = {"TUPLE", run_tuple},
    [')'] = {"EMPTY_TUPLE", run_empty_tuple},
    ['u'] = {"SETITEMS", run_setitems},
    ['G'] = {"BINFLOAT", run_binfloat},
    ['B'] = {"BINBYTES", run_bytes4},
    ['C'] = {"SHORT_BINBYTES", run_bytes1},
    [0x80] = {"PROTO", run_proto},
    [0x85] = {"TUPLE1", run_tuple1},
    [0x86] = {"TUPLE2", run_tuple2},
    [0x87] = {"TUPLE3", run_tuple3},
    [0x88] = {"NEWTRUE", run_true},
    [0x89] = {"NEWFALSE", run_false},
    [0x8a] = {"LONG1", run_long1},
    [0x8b] = {"LONG4", run_long4},
    [0x8c] = {"SHORT_BINUNICODE", run_text1},
    [0x8d] = {"BINUNICODE8", run_text8},
    [0x8e] = {"BINBYTES8", run_bytes8},
    [0x8f] = {"EMPTY_SET", run_empty_set},
    [0x90] = {"ADDITEMS", run_additems},
    [0x91] = {"FROZENSET", run_frozenset},
    [0x94] = {"MEMOIZE", run_memoize},
    [0x95] = {"FRAME", run_frame},
    [0x96] = {"BYTEARRAY8", run_bytes8},

    ['c'] = {"GLOBAL", pickle_refuse_global},
    ['i'] = {"INST", pickle_refuse_instance},
    [0x93] = {"STACK_GLOBAL", pickle_refuse_stack_global},
    ['o'] = {"OBJ", pickle_refuse_call},
    ['R'] = {"REDUCE", pickle_refuse_call},
    ['b'] = {"BUILD", pickle_refuse_call},
    [0x81] = {"NEWOBJ", pickle_refuse_call},
    [0x92] = {"NEWOBJ_EX", pickle_refuse_call},
    [0x82] = {"EXT1", pickle_refuse_extension},
    [0x83] = {"EXT2", pickle_refuse_extension},
    [0x84] = {"EXT4", pickle_refuse_extension},
    ['P'] = {"PERSID", pickle_refuse_persistent},
    ['Q'] = {"BINPERSID", pickle_refuse_persistent},
    [0x97] = {"NEXT_BUFFER", pickle_refuse_buffer},
    [0x98] = {"READONLY_BUFFER", pickle_refuse_buffer},
};
