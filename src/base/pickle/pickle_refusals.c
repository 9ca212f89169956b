/* The instructions of a pickle that ask for code or for objects outside of it: each says what it
 * asks for, and is refused. */
#include "base/pickle/pickle_machine.h"

#include <stdio.h>

enum { SHOWN_MAX = 80 };

/* What pickle itself would do with such a file is run its code: whoever was sent one should
 * know before trying that. */
static const char plain_data[] =
    "only plain data (numbers, texts, lists, dicts) is read here and no code is run; do not open "
    "such a file with pickle.load unless you trust who made it";

/* Bytes of the file in a way that can be printed. */
static void pickle_refusals_show(char *to, size_t size, struct pickle_bytes bytes)
{
    size_t used = 0;

    for (size_t i = 0; i < bytes.length && used + 4 < size; i++)
        to[used++] = bytes.bytes[i] >= ' ' && bytes.bytes[i] <= '~' ? (char)bytes.bytes[i] : '?';
    if (used + 4 >= size && bytes.length > used)
        used += (size_t)snprintf(to + used, size - used, "...");
    to[used] = '\0';
}

static const char *opcode_name(const struct pickle_machine *machine)
{
    size_t at = (size_t)(machine->opcode_offset - machine->window_offset);

    /* the instruction is in the window still, but where its operands moved the window on */
    return machine->opcode_offset >= machine->window_offset && at < machine->length
               ? pickle_opcodes[machine->bytes[at]].name
               : "an instruction";
}

/* The name is shown, since it is what tells a reader whether the file is an attack
 * ("os.system") or only of another kind ("torch._utils._rebuild_tensor_v2"). */
static bool refuse_named(struct pickle_machine *machine, const char *opcode)
{
    struct pickle_bytes module;
    struct pickle_bytes name;
    char module_text[SHOWN_MAX];
    char name_text[SHOWN_MAX];

    if (!pickle_take_line(machine, &module))
        return false;
    pickle_refusals_show(module_text, sizeof module_text, module);
    if (!pickle_take_line(machine, &name))
        return false;
    pickle_refusals_show(name_text, sizeof name_text, name);
    return pickle_fail(machine, "the pickle asks for '%s.%s' (%s): %s", module_text, name_text,
                       opcode, plain_data);
}

bool pickle_refuse_global(struct pickle_machine *machine)
{
    return refuse_named(machine, "GLOBAL");
}

bool pickle_refuse_instance(struct pickle_machine *machine)
{
    return refuse_named(machine, "INST");
}

/* Module and name are the two values on top, if they are there. */
bool pickle_refuse_stack_global(struct pickle_machine *machine)
{
    char texts[2][SHOWN_MAX] = {"?", "?"};

    for (size_t i = 0; i < 2 && i < machine->depth; i++) {
        struct pickle_value value = machine->stack[machine->depth - 1 - i];
        uint32_t id = pickle_text_id(value);
        const char *text = string_pool_text(&machine->tree->strings, id);

        if (id)
            pickle_refusals_show(
                texts[i], sizeof texts[i],
                (struct pickle_bytes){(const unsigned char *)text,
                                      string_pool_length(&machine->tree->strings, id)});
    }
    return pickle_fail(machine, "the pickle asks for '%s.%s' (STACK_GLOBAL): %s", texts[1],
                       texts[0], plain_data);
}

bool pickle_refuse_call(struct pickle_machine *machine)
{
    return pickle_fail(machine, "the pickle asks to call or build an object (%s): %s",
                       opcode_name(machine), plain_data);
}

bool pickle_refuse_extension(struct pickle_machine *machine)
{
    return pickle_fail(machine, "the pickle asks for a registered extension (%s): %s",
                       opcode_name(machine), plain_data);
}

bool pickle_refuse_persistent(struct pickle_machine *machine)
{
    return pickle_fail(machine, "the pickle refers to an object outside of it (%s): %s",
                       opcode_name(machine), plain_data);
}

bool pickle_refuse_buffer(struct pickle_machine *machine)
{
    return pickle_fail(machine,
                       "the pickle refers to a buffer that is not in the file (%s): write it "
                       "without out-of-band buffers",
                       opcode_name(machine));
}
