/* Reads what torch itself logs of the code that torch.compile made (TORCH_TRACE, with inductor's
 * provenance on).
 *
 * A record is a line of its own, and its content the next one, behind a tab. Of each graph there
 * are three that matter, in this order: which nodes each call of the code was fused from, where the
 * program has these, and the key by which a profiler's ranges name the code. */
#include "base/json/json_tree.h"
#include "base/text/prefix.h"
#include "cost/modules/compiled_code.h"

#include <stdio.h>
#include <string.h>

enum record_kind { RECORD_OTHER, RECORD_NODES, RECORD_STACKS, RECORD_KEY };
enum { LINES_MAX = 16 }; /* of one call */

struct compiled_log {
    struct compiled_code *code;
    struct arena *arena;
    struct arena scratch;
    const struct json_node *nodes; /* of the graph whose key comes next, or NULL */
    const struct json_node *stacks;
    uint32_t room; /* for graphs */
};

/* Lines of torch's structured log that begin with a tab belong to the record before. The name
 * is looked for anywhere in the line, for JSON has no order of keys. */
static enum record_kind kind_of_record(const char *line, size_t length)
{
    static const struct {
        const char *name;
        enum record_kind kind;
    } kinds[] = {
        {"\"inductor_provenance_tracking_node_mappings\"", RECORD_NODES},
        {"\"inductor_provenance_tracking_kernel_stack_traces\"", RECORD_STACKS},
        {"\"fx_graph_cache_", RECORD_KEY},
    };

    if (length == 0 || *line == '\t' || !memmem(line, length, "{\"artifact\"", 11))
        return RECORD_OTHER;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (memmem(line, length, kinds[i].name, strlen(kinds[i].name)))
            return kinds[i].kind;
    return RECORD_OTHER;
}

/* "aten::mm" of "extern_kernels.mm:3", "cpp_fused_add_0" of "cpp_fused_add_0:1". Names of the
 * log as the profiler writes them: extern_kernels.mm is aten::mm, torch.ops.ns.op is ns::op. */
static const char *logged_operator(struct arena *arena, const char *name)
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

/* "model.py:12" of the last frame in a text of frames; false where there is none. The last frame
 * is the innermost one, the line in the model. */
static bool last_logged_frame(const char *stack, char *place, size_t size)
{
    static const char file[] = "File \"", line[] = "\", line ";
    const char *frame = NULL, *end, *name;

    for (const char *at = strstr(stack, file); at; at = strstr(at + 1, file))
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
static const char *logged_lines(struct compiled_log *log, const struct json_node *stacks)
{
    const char *lines = "";
    char place[512];
    int count = 0;

    for (const struct json_node *stack = stacks->first; stack && count < LINES_MAX;
         stack = stack->next) {
        if (stack->kind != JSON_STRING || !last_logged_frame(stack->text, place, sizeof place))
            continue;
        add_logged_word(log->arena, &lines, place, strlen(place));
        count++;
    }
    return lines;
}

/* Nodes go by the operators that they call, with a number behind. */
static const char *logged_nodes(struct compiled_log *log, const char *call)
{
    const char *words = "";
    const struct json_node *nodes = json_items_of(json_member(log->nodes, "cppCodeToPost"), call);

    for (; nodes; nodes = nodes->next) {
        size_t length = nodes->kind == JSON_STRING ? strlen(nodes->text) : 0;
        size_t digits = length;
        char name[256];

        while (digits > 0 && nodes->text[digits - 1] >= '0' && nodes->text[digits - 1] <= '9')
            digits--;
        if (digits > 1 && digits < length && nodes->text[digits - 1] == '_')
            length = digits - 1;
        if (length == 0 || length >= sizeof name - sizeof "aten.")
            continue;
        snprintf(name, sizeof name, "aten.%.*s", (int)length, nodes->text);
        add_logged_word(log->arena, &words, name, strlen(name));
    }
    return words;
}

/* The first record of a key counts: a graph is compiled once and may be logged by several
 * ranks. */
static void add_logged_graph(struct compiled_log *log, const char *key)
{
    struct compiled_code *code = log->code;
    struct compiled_graph *graph = &code->graphs[code->count];
    const struct json_node *call = log->stacks->first;
    size_t count = 0;

    if (code->count == log->room || compiled_code_find(code, key, strlen(key)))
        return;
    for (const struct json_node *each = call; each; each = each->next)
        count++;
    *graph = (struct compiled_graph){
        .key = arena_copy_text(log->arena, key, strlen(key)),
        .calls = arena_allocate(log->arena, (count + 1) * sizeof *graph->calls)};
    (void)hash_map_add(&code->graph_of,
                       string_pool_add(&code->keys, graph->key, strlen(graph->key)), code->count++);
    for (; call; call = call->next)
        if (call->key && call->kind == JSON_ARRAY)
            graph->calls[graph->count++] =
                (struct compiled_call){.op = logged_operator(log->arena, call->key),
                                       .place = {"", "", ""},
                                       .aten = logged_nodes(log, call->key),
                                       .lines = logged_lines(log, call),
                                       .flops = -1,
                                       .bytes = -1};
}

/* Broken records are passed over: the log is of a running program, and its last line may be
 * half. */
static void read_logged_record(struct compiled_log *log, enum record_kind kind, const char *text,
                               size_t length)
{
    struct error ignored = {0};
    const struct json_node *root = json_tree_parse(&log->scratch, text, length, &ignored);

    if (kind == RECORD_NODES)
        log->nodes = root;
    if (kind == RECORD_STACKS)
        log->stacks = root;
    if (kind != RECORD_KEY)
        return;
    if (root && log->stacks)
        add_logged_graph(log, json_text_of(root, "key", ""));
    log->nodes = log->stacks = NULL;
}

/* Keys are counted first, which bounds the number of graphs. Records of one graph follow each
 * other, so the latest nodes and stacks belong to the next key. */
void compiled_code_parse_log(struct compiled_code *code, struct arena *arena, const char *text,
                             size_t length)
{
    struct compiled_log log = {.code = code, .arena = arena};
    enum record_kind kind = RECORD_OTHER;
    const char *end = text + length;

    for (const char *at = text; (at = memmem(at, (size_t)(end - at), "\"fx_graph_cache_", 16));
         at++)
        log.room++;
    code->graphs = arena_allocate(arena, (log.room + (size_t)1) * sizeof *code->graphs);
    for (const char *line = text; line < end;) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        size_t size = (size_t)((stop ? stop : end) - line);

        if (kind != RECORD_OTHER && size > 1 && *line == '\t') {
            read_logged_record(&log, kind, line + 1, size - 1);
            kind = RECORD_OTHER;
        } else {
            kind = kind_of_record(line, size);
        }
        line += size + 1;
    }
    arena_clear(&log.scratch);
}
