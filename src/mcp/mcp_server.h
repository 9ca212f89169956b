/* A server of the Model Context Protocol on standard input and output: a message a line, JSON-RPC
 * 2.0. The protocol: modelcontextprotocol.io, versions 2024-11-05 to 2025-11-25. */
#ifndef FLOPLEDGER_MCP_MCP_SERVER_H
#define FLOPLEDGER_MCP_MCP_SERVER_H

#include <stddef.h>
#include <stdio.h>

struct mcp_server {
    const char *root; /* a folder without links in its path: nothing else is read */
    int seconds_max;  /* that a call may take */
};

/* Answers one message of `length` bytes, if it wants an answer, by one line on `output`. */
void mcp_answer_message(const struct mcp_server *server, const char *message, size_t length,
                        FILE *output);

/* Answers the messages of `input` until its end. */
void mcp_serve(const struct mcp_server *server, FILE *input, FILE *output);

#endif
