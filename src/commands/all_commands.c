/* The table of subcommands. */
#include "base/text/spelling.h"
#include "commands/command.h"

#include <stddef.h>
#include <string.h>

#define COMMAND(name) extern const struct command name##_command;
#include "commands/list.def"
#undef COMMAND

static const struct command *const commands[] = {
#define COMMAND(name) &name##_command,
#include "commands/list.def"
#undef COMMAND
    NULL,
};

const struct command *const *all_commands(void)
{
    return commands;
}

const struct command *find_command(const char *name, struct error *error)
{
    struct spelling best = {0};

    for (size_t i = 0; commands[i]; i++) {
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
        if (!commands[i]->is_hidden)
            spelling_consider(&best, name, commands[i]->name);
    }
    if (best.word)
        error_set(error, ERROR_USAGE, "unknown command '%s': did you mean '%s'?", name, best.word);
    else if (strchr(name, '.') || strchr(name, '/'))
        error_set(error, ERROR_USAGE,
                  "unknown command '%s': for a trace type 'flopledger report %s'", name, name);
    else
        error_set(error, ERROR_USAGE, "unknown command '%s': 'flopledger help' lists the commands",
                  name);
    return NULL;
}
