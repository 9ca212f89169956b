/* Help texts and man pages, made from the tables of commands and options. */
#ifndef FLOPLEDGER_COMMANDS_COMMAND_TEXT_H
#define FLOPLEDGER_COMMANDS_COMMAND_TEXT_H

#include "commands/command.h"

#include <stdio.h>

/* `flopledger --help`: what the program is for, and its commands. */
void write_program_help(FILE *output, int width);

/* `flopledger report --help` */
void write_command_help(FILE *output, const struct command *command, int width);

/* What the program is, in one line and in paragraphs. */
extern const char program_summary[];
extern const char program_description[];

/* Options of the program itself, of every command, and of commands without any. */
extern const struct option program_options[];
extern const struct option no_options[];

/* Options every command has; the table ends with an all-zero entry. */
extern const struct option common_options[];

/* "-n, --top N", "--no-progress": how an option is typed. */
void write_option_syntax(char *buffer, size_t size, const struct option *option);

/* What the program ends with; the table ends with an all-zero entry. */
struct exit_code {
    const char *number;
    const char *meaning;
};

extern const struct exit_code exit_codes[];

#endif
