/* `flopledger cache`: what --cache has kept, and where. */
#include "base/text/format.h"
#include "commands/command.h"
#include "pipeline/answer_cache.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

struct cache_settings {
    bool clears;
};

static const struct option cache_options[] = {
    FLAG_OPTION("clear", offsetof(struct cache_settings, clears),
                "remove all answers that are kept"),
    {0},
};

/* The sizes are told after removing as well: they are then of what was removed. Nothing is
 * made by asking: a folder that is not there has no answers. */
static bool run_cache(int count, char **arguments, struct error *error)
{
    struct cache_settings settings = {.clears = false};
    struct answer_cache_size size;
    char *folder;
    bool is_done = true;

    if (!parse_options(cache_options, &settings, arguments, &count, error))
        return false;
    if (count > 0)
        return error_set(error, ERROR_USAGE, "cache takes no file, but '%s' was given",
                         arguments[0]);
    folder = answer_cache_folder();
    if (!folder)
        return error_set(error, ERROR_USAGE, "no folder for answers: name one in $%s",
                         ANSWER_CACHE_FOLDER_VARIABLE);
    if (settings.clears)
        is_done = answer_cache_remove_all(folder, &size, error);
    else
        size = answer_cache_measure(folder);
    if (is_done)
        printf("%s: %zu answer%s, %s of %s%s\n", folder, size.count, size.count == 1 ? "" : "s",
               format_bytes(size.bytes).text, format_bytes(size.bytes_max).text,
               settings.clears ? ": removed" : "");
    free(folder);
    return is_done;
}

const struct command cache_command = {
    .name = "cache",
    .summary = "show or remove the answers that --cache has kept",
    .usage = "",
    .description =
        "Commands with --cache keep what they answered, and answer the same question about the "
        "same files from there: a report then takes a few milliseconds. So does every command "
        "that is started with $FLOPLEDGER_CACHE, the folder of the answers, set; without it they "
        "lie in flopledger in $XDG_CACHE_HOME or ~/.cache.\n\n"
        "An answer is given again only where each file that it was made from still is the same, "
        "and by the same program; what is damaged or somebody else's is not read. The oldest "
        "are removed beyond 512 MiB ($FLOPLEDGER_CACHE_MIB). This command prints where they lie "
        "and how much they take.",
    .examples = "flopledger cache\n"
                "    where answers are kept, and how much they take\n"
                "flopledger cache --clear\n"
                "    remove them",
    .options = cache_options,
    .run = run_cache,
};
