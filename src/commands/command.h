/* What a subcommand is, and the texts that come from its table: help, man page, completion.
 *
 * To add one: write commands/<name>.c with `const struct command <name>_command`, and one line
 * COMMAND(<name>) in list.def. */
#ifndef FLOPLEDGER_COMMANDS_COMMAND_H
#define FLOPLEDGER_COMMANDS_COMMAND_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "base/text/option.h"

#include <stdbool.h>
#include <stdio.h>

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

/* NULL-terminated, in the order of list.def. */
const struct command *const *all_commands(void);

/* NULL with `error` set (ERROR_USAGE, with the nearest name) where there is none. */
const struct command *find_command(const char *name, struct error *error);

/* Of commands that are about a running job, a PID or a CAPTURE: an error where several are given.
 */
MUST_USE bool check_one_running_job(int count, char **operands, struct error *error);

/* ---- texts that are made of the tables ---- */

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

/* What the program ends with; the table ends with an all-zero entry. */
struct exit_code {
    const char *number;
    const char *meaning;
};

extern const struct exit_code exit_codes[];

#endif
