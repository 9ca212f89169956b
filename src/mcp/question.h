/* What a client can ask for: a table of tools, the words of the command line that each stands for,
 * and what of the command's answer comes back: a page, never more than a client can hold. */
#ifndef FLOPLEDGER_MCP_QUESTION_H
#define FLOPLEDGER_MCP_QUESTION_H

#include "base/core/arena.h"
#include "base/core/error.h"
#include "base/json/json_tree.h"
#include "base/json/json_writer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mcp_tool;

/* What of an answer is asked for. */
struct mcp_wanted {
    const char *section; /* NULL: what there is, and all findings */
    const char *table;   /* NULL: the beginning of each */
    const char *rank;    /* its label; NULL: the first that has the section */
    int64_t first_row;
    int64_t limit;   /* rows or findings at most */
    bool is_one_row; /* asked for by its id: texts are whole */
};

/* A call of a tool, understood; zeroed at first, cleared in the end. */
struct mcp_call {
    struct arena arena; /* all of it, but what of the arguments it points to */
    char **words;       /* of the command line, "flopledger" first, NULL behind the last */
    struct mcp_wanted wanted;
    bool is_text; /* the command prints text, no JSON */
};

/* All tools, for tools/list. */
void mcp_write_tools(struct json_writer *writer);

/* NULL where there is none of the name. */
const struct mcp_tool *mcp_find_tool(const char *name);

/* What the arguments ask for; `root` is the folder, resolved, that paths must lie in. False with
 * `error` set, in words for who asked, where they do not fit. */
bool mcp_understand(struct mcp_call *call, const struct mcp_tool *tool,
                    const struct json_node *arguments, const char *root, struct error *error);

void mcp_call_clear(struct mcp_call *call);

/* ---- answers ------------------------------------------------------------------------------ */

/* Rows and findings stop when an answer is as long as this; "next_cursor" says where to go on. */
enum { MCP_ANSWER_BYTES = 32 * 1024 };

/* Writes one object: of `report`, what a command printed with --json, the part that is wanted.
 * `writer` writes into a stream that can tell its place (open_memstream). False with `error` set
 * where there is no such part. */
bool mcp_write_answer(struct json_writer *writer, const struct json_node *report,
                      const struct mcp_wanted *wanted, struct error *error);

/* The same of a text, from the byte `wanted->first_row` on. */
bool mcp_write_text_answer(struct json_writer *writer, const char *text, size_t length,
                           const struct mcp_wanted *wanted, struct error *error);

/* A value as it is read, but members that are null are left out, and texts longer than
 * `text_bytes_max` are cut, "…" behind them. */
void mcp_copy_value(struct json_writer *writer, const char *key, const struct json_node *value,
                    size_t text_bytes_max);

#endif
