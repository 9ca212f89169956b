/* `flopledger help [COMMAND | PAGE]` */
#include "base/core/arena.h"
#include "base/core/attributes.h"
#include "base/text/display_text.h"
#include "base/text/spelling.h"
#include "base/text/terminal.h"
#include "commands/command.h"
#include "pipeline/subcommands.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Commands first, then pages, then the nearest of both. */
static bool help_with(const char *name, struct error *error)
{
    SCOPED(arena) arena = {0};
    struct spelling best = {0};
    const struct command *command;

    for (size_t i = 0; all_commands()[i]; i++) {
        command = all_commands()[i];
        if (strcmp(command->name, name) == 0) {
            write_command_help(stdout, command, terminal_width(stdout));
            return true;
        }
        if (!command->is_hidden)
            spelling_consider(&best, name, command->name);
    }
    if (strcmp(name, "pages") == 0) {
        write_help_pages(stdout);
        return true;
    }
    if (write_help_page(stdout, name, &arena, &best))
        return true;
    if (best.word)
        return error_set(error, ERROR_USAGE,
                         "there is no help with '%s': did you mean '%s'? ('flopledger help pages' "
                         "lists all)",
                         show_text(name).text, best.word);
    return error_set(error, ERROR_USAGE,
                     "there is no help with '%s': 'flopledger help' lists the commands, "
                     "'flopledger help pages' what else there is to read",
                     show_text(name).text);
}

/* One name is either a command or a page; two would have no order in which to print them. */
static bool run_help(int count, char **arguments, struct error *error)
{
    if (!parse_options(no_options, NULL, arguments, &count, error))
        return false;
    if (count > 1)
        return error_set(error, ERROR_USAGE,
                         "help takes one command or page, but '%s' was given too", arguments[1]);
    if (count == 0) {
        write_program_help(stdout, terminal_width(stdout));
        return true;
    }
    return help_with(arguments[0], error);
}

const struct command help_command = {
    .name = "help",
    .summary = "print the help of a command, or a page of the documentation",
    .usage = "[COMMAND | PAGE]",
    .description =
        "Without a word: the list of commands. With the name of a command: its help. 'pages' lists "
        "the pages of the documentation, which are part of the program: how to do things, what "
        "each number means, and the formats that are read and written. A word of the field leads "
        "to the metric that it means: goodput, bubble, busbw.",
    .examples = "flopledger help run\n"
                "    the options of 'flopledger run'\n"
                "flopledger help mfu\n"
                "    what MFU is, and how it is computed\n"
                "flopledger help goodput\n"
                "    the page of the metric that others call so\n"
                "flopledger help pages\n"
                "    all pages",
    .options = NULL,
    .run = run_help,
};
