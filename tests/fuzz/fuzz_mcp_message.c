/* Any bytes as a message to `flopledger mcp`: at most one line comes back, which is JSON. No path
 * lies below its root, so that no command is run. */
#include "base/core/arena.h"
#include "base/core/invariant.h"
#include "base/json/json_tree.h"
#include "mcp/mcp_server.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct mcp_server server = {.root = "/no/such/folder", .seconds_max = 1};
    struct arena arena = {0};
    char *text = NULL;
    size_t length = 0;
    FILE *output;

    if (memmem(data, size, "explain", 7)) /* the one tool that needs no path */
        return 0;
    output = require_memory(open_memstream(&text, &length));
    mcp_answer_message(&server, (const char *)data, size, output);
    (void)fclose(output);
    if (length > 0) {
        require_invariant(memchr(text, '\n', length) == text + length - 1,
                          "that an answer is one line");
        require_invariant(json_tree_parse(&arena, text, length, NULL) != NULL,
                          "that an answer is JSON");
    }
    arena_clear(&arena);
    free(text);
    return 0;
}
