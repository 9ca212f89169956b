/* `flopledger help [COMMAND]` */
#include "base/terminal.h"
#include "commands/command.h"
#include "commands/command_text.h"

#include <stddef.h>
#include <stdio.h>

static bool run_help(int count, char **arguments, struct error *error)
{
    const struct command *command;

    if (!parse_options(no_options, NULL, arguments, &count, error))
        return false;
    if (count > 1)
        return error_set(error, ERROR_USAGE, "help takes one command, but '%s' was given too",
                         arguments[1]);
    if (count == 0) {
        write_program_help(stdout, terminal_width(stdout));
        return true;
    }
    command = find_command(arguments[0], error);
    if (!command)
        return false;
    write_command_help(stdout, command, terminal_width(stdout));
    return true;
}

const struct command help_command = {
    .name = "help",
    .summary = "print the help of a command",
    .usage = "[COMMAND]",
    .description = NULL,
    .options = NULL,
    .run = run_help,
};
