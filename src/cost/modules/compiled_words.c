/* Turns what torch itself writes of compiled code into words for a table. */
#include "cost/modules/compiled_words.h"

#include "base/text/prefix.h"
#include "cost/flops/count_flops.h"

#include <stdio.h>
#include <string.h>

enum { LINES_MAX = 16 }; /* of one call */

const char *compiled_kernel_name(const char *name)
{
    const char *rest = name;

    if (!has_prefix(name, "graph_"))
        return name;
    rest += sizeof "graph_" - 1;
    while (*rest >= '0' && *rest <= '9')
        rest++;
    return has_prefix(rest, "_cpp_") || strcmp(rest, "_kernel") == 0 ? rest + 1 : name;
}

/* "aten::mm" of "extern_kernels.mm:3", "cpp_fused_add_0" of "cpp_fused_add_0:1". Names of the
 * log as the profiler writes them: extern_kernels.mm is aten::mm, torch.ops.ns.op is ns::op. */
const char *compiled_operator_word(struct arena *arena, const char *name)
{
    static const char external[] = "extern_kernels.", any[] = "torch.ops.";
    const char *colon = strrchr(name, ':'), *dot;
    size_t length = colon ? (size_t)(colon - name) : strlen(name);
    char *text = arena_allocate(arena, length + sizeof "aten::");

    text[0] = '\0';
    if (has_prefix(name, external)) {
        memcpy(text, "aten::", sizeof "aten::");
        strncat(text, name + sizeof external - 1, length - (sizeof external - 1));
    } else if (has_prefix(name, any) && (dot = strchr(name + sizeof any - 1, '.'))) {
        size_t room = (size_t)(dot - name) - (sizeof any - 1);

        strncat(text, name + sizeof any - 1, room);
        strcat(text, "::");
        strncat(text, dot + 1, strcspn(dot + 1, ".:"));
    } else {
        strncat(text, name, length);
    }
    return text;
}

static bool is_in_torch(const char *frame, const char *end)
{
    static const char torch[] = "-packages/torch/";

    return end && memmem(frame, (size_t)(end - frame), torch, sizeof torch - 1);
}

/* "model.py:12" of the innermost frame in a text of frames that is not torch's own, else of the
 * innermost; false where there is none. */
static bool last_logged_frame(const char *stack, char *place, size_t size)
{
    static const char file[] = "File \"", line[] = "\", line ";
    const char *frame = NULL, *end, *name;

    for (const char *at = strstr(stack, file); at; at = strstr(at + 1, file))
        if (!frame || !is_in_torch(at, strstr(at, line)))
            frame = at + sizeof file - 1;
    end = frame ? strstr(frame, line) : NULL;
    if (!end)
        return false;
    name = frame;
    for (const char *at = frame; at < end; at++)
        if (*at == '/' || *at == '\\')
            name = at + 1;
    end += sizeof line - 1;
    return (size_t)snprintf(place, size, "%.*s:%.*s", (int)(end - (sizeof line - 1) - name), name,
                            (int)strspn(end, "0123456789"), end) < size;
}

/* With commas between, each once. */
static void add_logged_word(struct arena *arena, const char **words, const char *word,
                            size_t length)
{
    size_t before = strlen(*words);
    char *joined;

    for (const char *at = strstr(*words, word); at; at = strstr(at + 1, word))
        if ((at == *words || at[-1] == ' ') && (at[length] == '\0' || at[length] == ','))
            return;
    joined = arena_allocate(arena, before + length + sizeof ", ");
    snprintf(joined, before + length + sizeof ", ", "%s%s%.*s", *words, before ? ", " : "",
             (int)length, word);
    *words = joined;
}

/* Some lines say where a kernel comes from as well as all would: a kernel of a hundred fused
 * operators has as many stacks. */
const char *compiled_line_words(struct arena *arena, const struct json_node *stack)
{
    const char *lines = "";
    char place[512];
    int count = 0;

    for (; stack && count < LINES_MAX; stack = stack->next) {
        if (stack->kind != JSON_STRING || !last_logged_frame(stack->text, place, sizeof place))
            continue;
        add_logged_word(arena, &lines, place, strlen(place));
        count++;
    }
    return lines;
}

/* Nodes go by the operators that they call, with a number behind. */
const char *compiled_node_words(struct arena *arena, const struct json_node *nodes)
{
    const char *words = "";

    for (; nodes; nodes = nodes->next) {
        size_t length = nodes->kind == JSON_STRING ? length_without_number(nodes->text) : 0;
        char name[256];

        if (length == 0 || length >= sizeof name - sizeof "aten.")
            continue;
        snprintf(name, sizeof name, "aten.%.*s", (int)length, nodes->text);
        add_logged_word(arena, &words, name, strlen(name));
    }
    return words;
}
