/* The table of subcommands, and the help texts made from it and from their options. */
#include "commands/command.h"

#include "base/text/spelling.h"
#include "base/text/text_wrap.h"

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

/* Hidden commands are found by their name and never offered. A word with a dot or a slash is
 * most likely a file. */
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

bool check_one_running_job(int count, char **operands, struct error *error)
{
    return count <= 1 ||
           error_set(error, ERROR_USAGE, "one PID or CAPTURE is wanted, and '%s' is a second",
                     operands[1]);
}

enum { HELP_WIDTH_MAX = 100, OPTION_COLUMN = 26 };

const struct option common_options[] = {
    {.name = "help", .letter = 'h', .kind = OPTION_FLAG, .help = "print this help and end"},
    {0},
};

const struct option program_options[] = {
    {.name = "help",
     .letter = 'h',
     .kind = OPTION_FLAG,
     .help = "print this help and end; behind a command: the help of that command"},
    {.name = "version",
     .letter = 'V',
     .kind = OPTION_FLAG,
     .help = "print the version and end; with --verbose behind it, the parts, too"},
    {0},
};

const struct option no_options[] = {{0}};

const char program_summary[] =
    "attributes every nanosecond of a training run, and says where the time went";

const char program_description[] =
    "flopledger reads the traces that torch.profiler writes, and attributes each nanosecond of "
    "each training step to exactly one account: matmul time, other compute, exposed communication, "
    "exposed copies, and idle time by its cause. All accounts of a step add up to the step.\n\n"
    "The command to begin with is: flopledger report trace.json.gz";

const struct exit_code exit_codes[] = {
    {"0", "all went well"},
    {"1", "something failed that is not the input's fault: memory, disk, a pipe"},
    {"2", "the command line is wrong"},
    {"3", "no input could be read, or it is not a trace"},
    {"4", "the input is fine, but holds nothing of what was asked for"},
    {"5", "the report was made, but part of the input is unreadable, cut or damaged"},
    {NULL, NULL},
};

/* Not beyond what can be read, nor below what options need. */
static int help_width(int width)
{
    return width > HELP_WIDTH_MAX ? HELP_WIDTH_MAX : width < 40 ? 40 : width;
}

/* "-n, --top N", "--no-progress": how an option is typed. */
static void write_option_syntax(char *buffer, size_t size, const struct option *option)
{
    char letter[8] = "";

    if (option->letter)
        snprintf(letter, sizeof letter, "-%c, ", option->letter);
    snprintf(buffer, size, "%s--%s%s%s", letter, option->name, option->metavar ? " " : "",
             option->metavar ? option->metavar : "");
}

/* "  NAME      text text text", the text from column `at` on A name that reaches into the text's
 * column gets a line of its own. */
static void write_entry(FILE *output, const char *name, const char *text, int at, int width)
{
    int written = fprintf(output, "  %s", name);

    if (written + 2 > at) {
        fputc('\n', output);
        written = 0;
    }
    fprintf(output, "%*s", at - written, "");
    write_wrapped(output, text, (struct text_margins){.column = at, .indent = at, .width = width});
}

static void command_text_write_options(FILE *output, const struct option *options, int width)
{
    char syntax[96];

    for (const struct option *option = options; option && option->name; option++) {
        write_option_syntax(syntax, sizeof syntax, option);
        write_entry(output, syntax, option->help, OPTION_COLUMN, width);
    }
}

/* `text` indented by two. */
static void write_block(FILE *output, const char *text, int width)
{
    fputs("  ", output);
    write_wrapped(output, text, (struct text_margins){.column = 2, .indent = 2, .width = width});
}

/* Written from the table that options are parsed by; the man page and the completions are made
 * from the same one, so that none of them falls behind. */
void write_command_help(FILE *output, const struct command *command, int width)
{
    bool has_options = command->options && command->options[0].name;

    width = help_width(width);
    fprintf(output, "flopledger %s: %s\n\n", command->name, command->summary);
    fprintf(output, "Usage: flopledger %s%s%s%s\n", command->name,
            has_options ? " [OPTION]..." : "", command->usage[0] ? " " : "", command->usage);
    if (command->description) {
        fputc('\n', output);
        write_wrapped(output, command->description, (struct text_margins){.width = width});
    }
    fputs("\nOptions:\n", output);
    command_text_write_options(output, command->options, width);
    command_text_write_options(output, common_options, width);
    if (command->examples) {
        fputs("\nExamples:\n", output);
        write_block(output, command->examples, width);
    }
    fputs("\nExit codes:\n", output);
    for (const struct exit_code *code = exit_codes; code->meaning; code++)
        write_entry(output, code->number, code->meaning, 5, width);
}

/* Made from the same table that runs the commands, so that no command can be left out; hidden
 * ones are for other programs. */
void write_program_help(FILE *output, int width)
{
    width = help_width(width);
    fprintf(output, "flopledger: %s\n", program_summary);
    fputs("\nUsage: flopledger COMMAND [OPTION]... [ARGUMENT]...\n\nCommands:\n", output);
    for (const struct command *const *command = all_commands(); *command; command++) {
        if (!(*command)->is_hidden)
            write_entry(output, (*command)->name, (*command)->summary, 14, width);
    }
    fputs("\nOptions:\n", output);
    command_text_write_options(output, program_options, width);
    fputs("\nTo begin with:\n  flopledger report trace.json.gz\n", output);
}
