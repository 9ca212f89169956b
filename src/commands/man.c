/* `flopledger man [COMMAND]`: the man page, made from the tables of commands and options. */
#include "commands/command.h"

#include <stdio.h>
#include <string.h>

/* Text with what troff takes for its own escaped; a line of it never begins a request. A dot or
 * an apostrophe at the start of a line is a request to troff; a hyphen that is to be typed has
 * to be "\-", or it is printed as another character (man-pages(7), groff_char(7)). */
static void write_troff(FILE *output, const char *text)
{
    bool is_line_start = true;

    for (; *text; text++) {
        if (is_line_start && (*text == '.' || *text == '\''))
            fputs("\\&", output);
        is_line_start = *text == '\n';
        if (*text == '\\')
            fputs("\\e", output);
        else if (*text == '-')
            fputs("\\-", output);
        else if (*text == '\'')
            fputs("\\(aq", output);
        else if (strncmp(text, "...", 3) == 0) {
            fputs("\\&...", output);
            text += 2;
        } else
            fputc(*text, output);
    }
}

/* Paragraphs, which blank lines part. Texts of help are shorter than the buffer. */
static void write_paragraphs(FILE *output, const char *text)
{
    while (*text) {
        const char *end = strstr(text, "\n\n");
        size_t length = end ? (size_t)(end - text) : strlen(text);
        char paragraph[4096];

        snprintf(paragraph, sizeof paragraph, "%.*s", (int)length, text);
        fputs(".PP\n", output);
        write_troff(output, paragraph);
        fputc('\n', output);
        text += length + (end ? 2 : 0);
    }
}

/* Dashes are escaped, since troff would print a hyphen that cannot be copied into a shell. */
static void man_write_options(FILE *output, const struct option *options)
{
    for (const struct option *option = options; option && option->name; option++) {
        fputs(".TP\n", output);
        if (option->letter)
            fprintf(output, "\\fB\\-%c\\fR, ", option->letter);
        fputs("\\fB\\-\\-", output);
        write_troff(output, option->name);
        fputs("\\fR", output);
        if (option->metavar)
            fprintf(output, " \\fI%s\\fR", option->metavar);
        fputc('\n', output);
        write_troff(output, option->help);
        fputc('\n', output);
    }
}

/* Lines "command" and "    what it does", or "0  meaning": the first word or line as the term.
 * As the help has them: the command at the margin, what it does indented. */
static void write_examples(FILE *output, const char *text)
{
    while (*text) {
        size_t length = strcspn(text, "\n");
        size_t spaces = strspn(text, " ");
        char line[256];

        snprintf(line, sizeof line, "%.*s", (int)(length - spaces), text + spaces);
        if (spaces == 0)
            fputs(".TP\n\\fB", output);
        write_troff(output, line);
        fputs(spaces == 0 ? "\\fR\n" : "\n", output);
        text += length + (text[length] == '\n');
    }
}

static void write_exit_codes(FILE *output)
{
    fputs(".SH \"EXIT STATUS\"\n", output);
    for (const struct exit_code *code = exit_codes; code->meaning; code++) {
        fprintf(output, ".TP\n\\fB%s\\fR\n", code->number);
        write_troff(output, code->meaning);
        fputc('\n', output);
    }
}

/* Upper case by ASCII alone: toupper follows the locale, and a page must not depend on who
 * built it. */
static void man_write_head(FILE *output, const char *page, const char *summary)
{
    char upper[64];
    size_t length = 0;

    for (; page[length] && length < sizeof upper - 1; length++)
        upper[length] = page[length] >= 'a' && page[length] <= 'z'
                            ? (char)(page[length] - 'a' + 'A')
                            : page[length];
    upper[length] = '\0';
    fprintf(output, ".TH %s 1 \"\" \"flopledger %s\" \"flopledger manual\"\n", upper,
            FLOPLEDGER_VERSION);
    fputs(".SH NAME\n", output);
    write_troff(output, page);
    fputs(" \\- ", output);
    write_troff(output, summary);
    fputc('\n', output);
}

/* From the same table as --help, with the options that all commands share behind its own. */
static void write_command_page(FILE *output, const struct command *command)
{
    char page[64];

    snprintf(page, sizeof page, "flopledger-%s", command->name);
    man_write_head(output, page, command->summary);
    fprintf(output, ".SH SYNOPSIS\n\\fBflopledger %s\\fR%s ", command->name,
            command->options ? " [\\fIOPTION\\fR]\\&..." : "");
    write_troff(output, command->usage);
    fputs("\n.SH DESCRIPTION\n", output);
    write_paragraphs(output, command->description ? command->description : command->summary);
    fputs(".SH OPTIONS\n", output);
    man_write_options(output, command->options);
    man_write_options(output, common_options);
    if (command->examples) {
        fputs(".SH EXAMPLES\n", output);
        write_examples(output, command->examples);
    }
    write_exit_codes(output);
    fputs(".SH \"SEE ALSO\"\n.BR flopledger (1)\n", output);
}

struct variable {
    const char *name;
    const char *meaning;
};

/* Only variables that a user of the program may want to set. */
static void write_environment(FILE *output)
{
    static const struct variable variables[] = {
        {"FLOPLEDGER_MEMORY_MIB",
         "how many MiB of what is kept for each event stay in memory (default: half of what is "
         "free); the rest goes to files without a name in $TMPDIR, /var/tmp or /tmp"},
        {"FLOPLEDGER_PYTHON",
         "the folder in which the recorder's Python package is looked for first"},
        {"FLOPLEDGER_GPM", "0: 'top' and 'serve' leave GPM's activity counters to other tools"},
        {"FLOPLEDGER_INFLATE", "zlib: gzip files are unpacked by zlib, not by ISA-L"},
        {"NO_COLOR", "set: no colors"},
        {"COLUMNS", "the width of the page"},
    };

    fputs(".SH ENVIRONMENT\n", output);
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        fprintf(output, ".TP\n\\fB%s\\fR\n", variables[i].name);
        write_troff(output, variables[i].meaning);
        fputc('\n', output);
    }
}

static void write_program_page(FILE *output)
{
    man_write_head(output, "flopledger", program_summary);
    fputs(".SH SYNOPSIS\n\\fBflopledger\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR]\\&... "
          "[\\fIARGUMENT\\fR]\\&...\n",
          output);
    fputs(".SH DESCRIPTION\n", output);
    write_paragraphs(output, program_description);
    fputs(".SH COMMANDS\n", output);
    for (const struct command *const *command = all_commands(); *command; command++) {
        if ((*command)->is_hidden)
            continue;
        fprintf(output, ".TP\n\\fB%s\\fR\n", (*command)->name);
        write_troff(output, (*command)->summary);
        fputc('\n', output);
    }
    fputs(".SH OPTIONS\n", output);
    man_write_options(output, program_options);
    write_environment(output);
    write_exit_codes(output);
    fputs(".SH \"SEE ALSO\"\n", output);
    for (const struct command *const *command = all_commands(); *command; command++) {
        if (!(*command)->is_hidden && (*command)->options)
            fprintf(output, ".BR flopledger\\-%s (1)\n", (*command)->name);
    }
}

/* The page goes to standard output and not into a folder: where pages belong differs between
 * systems. */
static bool run_man(int count, char **arguments, struct error *error)
{
    const struct command *command;

    if (!parse_options(no_options, NULL, arguments, &count, error))
        return false;
    if (count > 1)
        return error_set(error, ERROR_USAGE, "man takes one command, but '%s' was given too",
                         arguments[1]);
    if (count == 0) {
        write_program_page(stdout);
        return true;
    }
    command = find_command(arguments[0], error);
    if (!command)
        return false;
    write_command_page(stdout, command);
    return true;
}

const struct command man_command = {
    .name = "man",
    .summary = "print the man page of a command, in troff",
    .usage = "[COMMAND]",
    .examples = "flopledger man report | man -l -\n    show it",
    .is_hidden = true,
    .run = run_man,
};
