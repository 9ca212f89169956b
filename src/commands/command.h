/* What a subcommand is.
 *
 * To add one: write commands/<name>.c with `const struct command <name>_command`, and one line
 * COMMAND(<name>) in list.def. */
#ifndef FLOPLEDGER_COMMANDS_COMMAND_H
#define FLOPLEDGER_COMMANDS_COMMAND_H

#include "base/core/error.h"
#include "base/text/option.h"

#include <stdbool.h>

struct command {
    const char *name;             /* "report" */
    const char *summary;          /* one line */
    const char *usage;            /* "TRACE..." : what follows the options */
    const char *description;      /* paragraphs for --help and the man page */
    const char *examples;         /* lines "command\n    what it does" */
    const struct option *options; /* ends with an all-zero entry; help, man page and completion come
                                     from it */
    bool is_hidden;               /* not in the list of commands */
    /* `arguments`: what follows the command's name. Returns false with `error` set on failure. */
    bool (*run)(int argument_count, char **arguments, struct error *error);
};

/* NULL-terminated, in the order of list.def; the table stands in all_commands.c. */
const struct command *const *all_commands(void);

/* NULL with `error` set (ERROR_USAGE, with the nearest name) where there is none. */
const struct command *find_command(const char *name, struct error *error);

#endif
