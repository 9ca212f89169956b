/* `flopledger mcp`: a server for agents, which ask by the Model Context Protocol. */
#include "commands/command.h"
#include "mcp/mcp_server.h"
#include "pipeline/answer_cache.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { USUAL_SECONDS = 120 };

struct mcp_settings {
    const char *root;
    bool is_cached;
    int64_t seconds;
};

static const struct option mcp_options[] = {
    TEXT_OPTION(
        "root", offsetof(struct mcp_settings, root), "FOLDER",
        "answer of files below this folder alone (default: the folder that it is started in)"),
    FLAG_OPTION("cache", offsetof(struct mcp_settings, is_cached),
                "keep answers, and give them again while the files are the same: 'flopledger help "
                "cache' (default: only where $FLOPLEDGER_CACHE names a folder for it)"),
    INTEGER_OPTION("time-limit", offsetof(struct mcp_settings, seconds), "SECONDS", 1, 86400,
                   "end a question that takes longer (default: 120)"),
    {0},
};

/* Each question is a command of its own, which looks for the folder in its environment. */
static bool keep_answers(struct error *error)
{
    SCOPED(answer_cache) cache = {.folder = NULL};

    if (!answer_cache_open(&cache, error))
        return false;
    (void)setenv(ANSWER_CACHE_FOLDER_VARIABLE, cache.folder, true);
    return true;
}

/* The root is resolved once: every question compares real paths with it. */
static bool run_mcp(int count, char **arguments, struct error *error)
{
    struct mcp_settings settings = {.root = ".", .seconds = USUAL_SECONDS};
    struct mcp_server server;
    char root[PATH_MAX];

    if (!parse_options(mcp_options, &settings, arguments, &count, error))
        return false;
    if (count > 0)
        return error_set(error, ERROR_USAGE,
                         "mcp takes no file, but '%s' was given: clients name files in their "
                         "questions, below --root",
                         arguments[0]);
    if (!realpath(settings.root, root))
        return error_set(error, ERROR_INPUT, "'%s' (--root): %s", settings.root, strerror(errno));
    if (settings.is_cached && !keep_answers(error))
        return false;
    server = (struct mcp_server){.root = root, .seconds_max = (int)settings.seconds};
    mcp_serve(&server, stdin, stdout);
    return true;
}

const struct command mcp_command = {
    .name = "mcp",
    .summary = "answer an agent's questions about runs (Model Context Protocol)",
    .usage = "",
    .description =
        "A server of the Model Context Protocol on standard input and output, for programs that "
        "tune models: they start it themselves. Its tools are report, explain, what_if, compare, "
        "memory, ranks, ettr and inspect; its resources are the pages of the documentation. "
        "Answers are what the command of that name prints with --json, a page at a time: they "
        "begin with what matters and say where to go on. It reads files below one folder, writes "
        "none (but for answers, with --cache), and talks to nobody else.",
    .examples = "flopledger mcp --root captures\n"
                "    what a client is told to start",
    .options = mcp_options,
    .run = run_mcp,
};
