/* Reads what torch itself logs of the code that torch.compile made (TORCH_TRACE, with inductor's
 * provenance on).
 *
 * A record is a line of its own, and its content the next one, behind a tab. Of each graph there
 * are three that matter, in this order: which nodes each call of the code was fused from, where the
 * program has these, and the key by which a profiler's ranges name the code. */
#include "base/json/json_tree.h"
#include "cost/modules/compiled_code.h"
#include "cost/modules/compiled_words.h"

#include <stdio.h>
#include <string.h>

enum record_kind { RECORD_OTHER, RECORD_NODES, RECORD_STACKS, RECORD_KEY };

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

/* The first record of a key counts: a graph is compiled once and may be logged by several
 * ranks. */
static void add_logged_graph(struct compiled_log *log, const char *key)
{
    struct compiled_code *code = log->code;
    struct compiled_graph *graph = &code->graphs[code->count];
    const struct json_node *call = log->stacks->first;
    const struct json_node *nodes = json_member(log->nodes, "cppCodeToPost");
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
            graph->calls[graph->count++] = (struct compiled_call){
                .op = compiled_operator_word(log->arena, call->key),
                .place = {"", "", ""},
                .aten = compiled_node_words(log->arena, json_items_of(nodes, call->key)),
                .lines = compiled_line_words(log->arena, call->first),
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
