/* What a client can ask for, and the words of the command line that each stands for. */
#include "mcp/question.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rows of an answer, unless asked for more; the page that they are cut from is made with more
 * of them, so that a next page needs no new reading. */
enum { USUAL_ROWS = 20, ROWS_MAX = 200, ROWS_ASKED = 1000, PATHS_MAX = 1024 };

enum parameter_kind { PARAMETER_PATHS, PARAMETER_PATH, PARAMETER_TEXT, PARAMETER_COUNT };

enum {
    TAKES_PATHS = 1 << 0,
    TAKES_PAIR = 1 << 1,
    TAKES_CHANGE = 1 << 2,
    TAKES_STEPS = 1 << 3,
    TAKES_PAGE = 1 << 4, /* the name of one of the documentation */
    TAKES_SECTION = 1 << 5,
};

struct parameter {
    unsigned taken_by; /* TAKES_... */
    enum parameter_kind kind;
    bool is_required;
    const char *name;
    const char *option; /* that it becomes; NULL: none */
    const char *description;
};

static const struct parameter parameters[] = {
    {TAKES_PATHS, PARAMETER_PATHS, true, "paths", NULL,
     "files or folders below the server's root: a trace, the traces of all ranks, a capture"},
    {TAKES_PAIR, PARAMETER_PATH, true, "a", NULL, "the run before: a trace, a folder, a capture"},
    {TAKES_PAIR, PARAMETER_PATH, true, "b", NULL, "the run after"},
    {TAKES_CHANGE, PARAMETER_TEXT, true, "change", "--what-if",
     "what is changed, as NAME=FACTOR[,NAME=FACTOR...]: data=0 (no wait for data), sync=0, "
     "copies=0, communication=0.5; names that a run has are in the answer to a wrong one"},
    {TAKES_STEPS, PARAMETER_TEXT, false, "steps", "--steps", "only these steps: \"3-7\", \"5,6\""},
    {TAKES_STEPS, PARAMETER_TEXT, false, "step_range", "--step-range",
     "a regular expression for the ranges that are the steps, where the trace marks none"},
    {TAKES_STEPS, PARAMETER_TEXT, false, "device_name", "--device-name",
     "the device, where the trace does not name it: \"H100 SXM\""},
    {TAKES_PAGE, PARAMETER_TEXT, true, "name", NULL,
     "a page of the documentation, \"mfu\" or \"gpu-idle\"; \"pages\" lists all"},
    {TAKES_SECTION, PARAMETER_TEXT, false, "section", NULL,
     "one section of the answer, by the name that the answer without a section lists"},
    {TAKES_SECTION, PARAMETER_TEXT, false, "table", NULL, "one table of that section, row by row"},
    {TAKES_SECTION, PARAMETER_TEXT, false, "rank", NULL,
     "the label of the rank whose section it is (default: the first)"},
    {TAKES_SECTION, PARAMETER_TEXT, false, "id", NULL,
     "one row or finding by the id that an answer gave it; texts are then whole"},
    {TAKES_SECTION | TAKES_PAGE, PARAMETER_TEXT, false, "cursor", NULL,
     "where to go on: next_cursor of the answer before"},
    {TAKES_SECTION, PARAMETER_COUNT, false, "limit", NULL,
     "rows or findings at most, 1 to 200 (default: 20)"},
};
enum { PARAMETER_COUNT_OF_ALL = sizeof parameters / sizeof *parameters };

struct mcp_tool {
    const char *name;
    const char *command;
    unsigned takes;
    const char *section; /* NULL: the answer begins with an overview */
    const char *title;
    const char *description;
};

#define TAKES_TRACES (TAKES_PATHS | TAKES_STEPS | TAKES_SECTION)

static const struct mcp_tool tools[] = {
    {"report", "report", TAKES_TRACES, NULL, "Where the time of a run went",
     "Reads traces of torch.profiler or Nsight Systems, or captures of flopledger run. Without a "
     "section: the headline, all findings with their cost, estimate and confidence (most expensive "
     "first), and the sections there are. With one: its numbers, and its tables row by row. Every "
     "device-second is on exactly one line of the ledger (section step_ledger)."},
    {"explain", "help", TAKES_PAGE, NULL, "What a number means",
     "A page of the documentation: how a number is defined and measured, where it is not known, "
     "what to do about it. \"pages\" lists all."},
    {"what_if", "report", TAKES_TRACES | TAKES_CHANGE, "what_if", "What a change would bring",
     "Replays the recorded steps with some of their time changed, waits and overlap included, and "
     "says how long a step is then. It is an upper limit of what the change brings."},
    {"compare", "compare", TAKES_PAIR | TAKES_STEPS | TAKES_SECTION, NULL, "What changed",
     "Two runs: which step time, kernels, operators, modules and lines of the ledger differ, and "
     "whether by more than noise."},
    {"memory", "memory", TAKES_PATHS | TAKES_SECTION, NULL, "Where device memory went",
     "A memory snapshot of PyTorch (pickle) or a recorded run: the peak and what was held then, by "
     "kind, module, phase and line; fragmentation; why it ran out."},
    {"ranks", "ranks", TAKES_PATHS | TAKES_SECTION, NULL, "Who holds up the job",
     "Dumps of NCCL's flight recorder of a job that hangs: the rank and the collective that the "
     "others wait for."},
    {"ettr", "ettr", TAKES_PATHS | TAKES_SECTION, NULL, "Goodput of a job",
     "Logs of training: attempts, restarts, checkpoints, steps lost; effective training time ratio "
     "(ETTR) and goodput."},
    {"inspect", "inspect", TAKES_PATHS | TAKES_SECTION, NULL, "What a file is",
     "The format, recorder, devices, threads and damage of trace files, without analyzing them. "
     "Ask it first where a file is not known."},
};
enum { TOOL_COUNT = sizeof tools / sizeof *tools };

const struct mcp_tool *mcp_find_tool(const char *name)
{
    for (size_t i = 0; i < TOOL_COUNT; i++)
        if (strcmp(tools[i].name, name) == 0)
            return &tools[i];
    return NULL;
}

/* ---- tools/list ----------------------------------------------------------------------------- */

/* Limits stand in the schema, so that a client knows them before it asks. */
static void write_parameter(struct json_writer *writer, const struct parameter *parameter)
{
    json_begin_object(writer, parameter->name, JSON_ON_ONE_LINE);
    json_text(writer, "type",
              parameter->kind == PARAMETER_PATHS   ? "array"
              : parameter->kind == PARAMETER_COUNT ? "integer"
                                                   : "string");
    if (parameter->kind == PARAMETER_PATHS) {
        json_begin_object(writer, "items", JSON_ON_ONE_LINE);
        json_text(writer, "type", "string");
        json_end_object(writer);
        json_integer(writer, "minItems", 1);
    }
    if (parameter->kind == PARAMETER_COUNT) {
        json_integer(writer, "minimum", 1);
        json_integer(writer, "maximum", ROWS_MAX);
    }
    json_text(writer, "description", parameter->description);
    json_end_object(writer);
}

/* "additionalProperties": false: a misspelt parameter is refused instead of ignored. */
static void write_schema(struct json_writer *writer, const struct mcp_tool *tool)
{
    json_begin_object(writer, "inputSchema", JSON_ON_ONE_LINE);
    json_text(writer, "type", "object");
    json_begin_object(writer, "properties", JSON_ON_ONE_LINE);
    for (size_t i = 0; i < PARAMETER_COUNT_OF_ALL; i++)
        if (parameters[i].taken_by & tool->takes)
            write_parameter(writer, &parameters[i]);
    json_end_object(writer);
    json_begin_array(writer, "required", JSON_ON_ONE_LINE);
    for (size_t i = 0; i < PARAMETER_COUNT_OF_ALL; i++)
        if ((parameters[i].taken_by & tool->takes) && parameters[i].is_required)
            json_text(writer, NULL, parameters[i].name);
    json_end_array(writer);
    json_boolean(writer, "additionalProperties", false);
    json_end_object(writer);
}

/* The hints are promises: no question writes a file, and none asks anything beyond this
 * machine. */
void mcp_write_tools(struct json_writer *writer)
{
    json_begin_array(writer, "tools", JSON_ON_ONE_LINE);
    for (size_t i = 0; i < TOOL_COUNT; i++) {
        json_begin_object(writer, NULL, JSON_ON_ONE_LINE);
        json_text(writer, "name", tools[i].name);
        json_text(writer, "title", tools[i].title);
        json_text(writer, "description", tools[i].description);
        write_schema(writer, &tools[i]);
        json_begin_object(writer, "annotations", JSON_ON_ONE_LINE);
        json_boolean(writer, "readOnlyHint", true);
        json_boolean(writer, "openWorldHint", false);
        json_end_object(writer);
        json_end_object(writer);
    }
    json_end_array(writer);
}

/* ---- tools/call ----------------------------------------------------------------------------- */

/* The words of a call as they come together. */
struct word_list {
    struct arena *arena;
    char **words;
    size_t count;
};

static void add_word(struct word_list *list, const char *word)
{
    ARENA_LIST_ADD(list->arena, list->words, list->count,
                   arena_copy_text(list->arena, word, strlen(word)));
}

/* The root has to end at a slash of the path, or "/data-private" would be below "/data". */
static bool is_below(const char *path, const char *root)
{
    size_t length = strcmp(root, "/") == 0 ? 0 : strlen(root);

    return strncmp(path, root, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

/* Relative paths begin at the root; links are resolved before it is looked where the file lies. */
static bool add_path(struct word_list *list, const char *path, const char *root,
                     struct error *error)
{
    char joined[PATH_MAX], resolved[PATH_MAX];
    int length = snprintf(joined, sizeof joined, "%s%s%s", path[0] == '/' ? "" : root,
                          path[0] == '/' ? "" : "/", path);

    if (length >= (int)sizeof joined || !realpath(joined, resolved))
        return error_set(error, ERROR_INPUT, "'%.512s': %s (paths begin at %s)", path,
                         length >= (int)sizeof joined ? "too long" : strerror(errno), root);
    if (!is_below(resolved, root))
        return error_set(error, ERROR_INPUT,
                         "'%.512s' does not lie below %s, the root that this server reads "
                         "(flopledger mcp --root FOLDER takes another)",
                         path, root);
    add_word(list, resolved);
    return true;
}

static const struct parameter *parameter_named(const struct mcp_tool *tool, const char *name)
{
    for (size_t i = 0; i < PARAMETER_COUNT_OF_ALL; i++)
        if ((parameters[i].taken_by & tool->takes) && strcmp(parameters[i].name, name) == 0)
            return &parameters[i];
    return NULL;
}

/* The schema says the same, but a client need not hold its model to it. */
static bool fits_kind(const struct parameter *parameter, const struct json_node *value)
{
    size_t count = 0;

    if (parameter->kind == PARAMETER_COUNT)
        return value->kind == JSON_NUMBER && value->is_integer && value->integer >= 1 &&
               value->integer <= ROWS_MAX;
    if (parameter->kind != PARAMETER_PATHS)
        return value->kind == JSON_STRING;
    for (const struct json_node *item = value->first; item; item = item->next, count++)
        if (item->kind != JSON_STRING)
            return false;
    return value->kind == JSON_ARRAY && count > 0 && count <= PATHS_MAX;
}

/* Every argument is one of the tool's and of its kind, and none that it needs is missing. */
static bool check_arguments(const struct mcp_tool *tool, const struct json_node *arguments,
                            struct error *error)
{
    static const char *const kinds[] = {[PARAMETER_PATHS] = "a list of 1 to 1,024 texts",
                                        [PARAMETER_PATH] = "a text",
                                        [PARAMETER_TEXT] = "a text",
                                        [PARAMETER_COUNT] = "a number from 1 to 200"};

    for (const struct json_node *given = arguments ? arguments->first : NULL; given;
         given = given->next) {
        const struct parameter *parameter = parameter_named(tool, given->key);

        if (!parameter)
            return error_set(error, ERROR_USAGE, "%s has no argument '%.64s'", tool->name,
                             given->key);
        if (given->kind != JSON_NULL && !fits_kind(parameter, given))
            return error_set(error, ERROR_USAGE, "'%s' must be %s", given->key,
                             kinds[parameter->kind]);
    }
    for (size_t i = 0; i < PARAMETER_COUNT_OF_ALL; i++) {
        const struct json_node *given = json_member(arguments, parameters[i].name);

        if ((parameters[i].taken_by & tool->takes) && parameters[i].is_required &&
            (!given || given->kind == JSON_NULL))
            return error_set(error, ERROR_USAGE, "%s needs '%s': %s", tool->name,
                             parameters[i].name, parameters[i].description);
    }
    return true;
}

/* "rank 0/kernels/by_name/12": the part behind the last slash, which is cut off. */
static char *cut_last_part(char *id)
{
    char *slash = strrchr(id, '/');

    if (!slash)
        return NULL;
    *slash = '\0';
    return slash + 1;
}

static bool parse_row(const char *text, int64_t *row)
{
    char *end;

    errno = 0;
    *row = strtoll(text, &end, 10);
    return errno == 0 && end != text && *end == '\0' && *row >= 0 && *row < INT32_MAX;
}

/* Cut from behind: table, section and number hold no slash, the label of a rank may. */
static bool parse_id(const char *given, struct arena *arena, struct mcp_wanted *wanted,
                     struct error *error)
{
    char *id = arena_copy_text(arena, given, strlen(given));
    const char *row = cut_last_part(id);

    wanted->table = row ? cut_last_part(id) : NULL;
    wanted->section = wanted->table ? cut_last_part(id) : NULL;
    wanted->rank = id[0] ? id : NULL;
    wanted->limit = 1;
    wanted->is_one_row = true;
    if (wanted->section && parse_row(row, &wanted->first_row))
        return true;
    return error_set(error, ERROR_USAGE, "'%.512s' is no id of a row or finding", given);
}

/* An id names section, table and row at once, so what else was given is not looked at. */
static bool parse_wanted(const struct mcp_tool *tool, const struct json_node *arguments,
                         struct arena *arena, struct mcp_wanted *wanted, struct error *error)
{
    const char *cursor = json_text_of(arguments, "cursor", NULL);
    const char *id = json_text_of(arguments, "id", NULL);

    *wanted = (struct mcp_wanted){
        .section = json_text_of(arguments, "section", tool->section),
        .table = json_text_of(arguments, "table", NULL),
        .rank = json_text_of(arguments, "rank", NULL),
        .limit = json_integer_of(arguments, "limit", USUAL_ROWS),
    };
    if (id)
        return parse_id(id, arena, wanted, error);
    if (wanted->table && !wanted->section)
        return error_set(error, ERROR_USAGE, "'table' needs the section that it is in");
    if (cursor && !parse_row(cursor, &wanted->first_row))
        return error_set(error, ERROR_USAGE, "'%.64s' is no cursor that an answer gave", cursor);
    return true;
}

/* Rows to ask the command for. More than a page, so that the next pages and other limits are the
 * same question, which a kept answer has. */
static int64_t rows_to_ask(int64_t rows_end)
{
    int64_t rows = ROWS_ASKED;

    while (rows < rows_end && rows < INT32_MAX)
        rows *= 10;
    return rows < INT32_MAX ? rows : INT32_MAX;
}

/* The options of the command line that arguments become. */
static void add_options(struct word_list *list, const struct mcp_tool *tool,
                        const struct json_node *arguments, const struct mcp_wanted *wanted)
{
    char rows[32];

    (void)snprintf(rows, sizeof rows, "%" PRId64, rows_to_ask(wanted->first_row + wanted->limit));
    add_word(list, "--json");
    add_word(list, "--no-progress");
    add_word(list, "--top");
    add_word(list, rows);
    for (size_t i = 0; i < PARAMETER_COUNT_OF_ALL; i++) {
        const char *given = json_text_of(arguments, parameters[i].name, NULL);

        if (!parameters[i].option || !(parameters[i].taken_by & tool->takes) || !given)
            continue;
        add_word(list, parameters[i].option);
        add_word(list, given);
    }
    add_word(list, "--");
}

/* Paths come behind "--", so that a file whose name begins with a dash is no option; other
 * values are words behind their option, and are never seen by a shell. */
bool mcp_understand(struct mcp_call *call, const struct mcp_tool *tool,
                    const struct json_node *arguments, const char *root, struct error *error)
{
    struct word_list list = {.arena = &call->arena};
    bool is_right = check_arguments(tool, arguments, error) &&
                    parse_wanted(tool, arguments, &call->arena, &call->wanted, error);

    add_word(&list, "flopledger");
    add_word(&list, tool->command);
    call->is_text = (tool->takes & TAKES_PAGE) != 0;
    if (is_right && call->is_text) {
        add_word(&list, "--");
        add_word(&list, json_text_of(arguments, "name", ""));
    } else if (is_right) {
        add_options(&list, tool, arguments, &call->wanted);
        for (const struct json_node *path = json_items_of(arguments, "paths"); path && is_right;
             path = path->next)
            is_right = add_path(&list, path->text, root, error);
        for (size_t i = 0; i < 2 && is_right && (tool->takes & TAKES_PAIR); i++)
            is_right = add_path(&list, json_text_of(arguments, i ? "b" : "a", ""), root, error);
    }
    ARENA_LIST_ADD(list.arena, list.words, list.count, NULL);
    call->words = list.words;
    return is_right;
}

void mcp_call_clear(struct mcp_call *call)
{
    arena_clear(&call->arena);
}
