/* flopledger: finds the command in its table and runs it; the only place that prints an error. */
#include "base/core/memory_limit.h"
#include "base/io/output_file.h"
#include "base/text/display_text.h"
#include "base/text/terminal.h"
#include "commands/command.h"
#include "pipeline/file_kind.h"
#include "pipeline/subcommands.h"

#include <errno.h>
#include <locale.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static bool main_is_one_of(const char *argument, const char *name, const char *letter)
{
    return strcmp(argument, name) == 0 || strcmp(argument, letter) == 0;
}

/* Up to "--", behind which words belong to another program. */
static bool asks_for_help(int count, char **arguments)
{
    for (int i = 0; i < count && strcmp(arguments[i], "--") != 0; i++) {
        if (main_is_one_of(arguments[i], "--help", "-h"))
            return true;
    }
    return false;
}

/* A failure is explained by what the file is only after the command has said what is wrong:
 * nothing is looked at where all is well. */
static bool run_command_line(int count, char **arguments, struct error *error)
{
    const struct command *command;

    if (count == 0)
        return error_set(
            error, ERROR_USAGE,
            "no command given: 'flopledger report trace.json.gz' is the one to begin with, "
            "'flopledger help' lists them all");
    if (main_is_one_of(arguments[0], "--help", "-h")) {
        write_program_help(stdout, terminal_width(stdout));
        return true;
    }
    if (main_is_one_of(arguments[0], "--version", "-V")) {
        printf("flopledger %s\n", FLOPLEDGER_VERSION);
        if (count > 1 && main_is_one_of(arguments[1], "--verbose", "-v"))
            write_program_parts(stdout);
        return true;
    }
    /* A lone "-" is no option: it stands for standard input, and is no command either. */
    if (arguments[0][0] == '-' && arguments[0][1] != '\0')
        return error_set(
            error, ERROR_USAGE,
            "option '%s' stands before any command: 'flopledger help' lists the commands",
            arguments[0]);
    command = find_command(arguments[0], error);
    if (!command)
        return false;
    /* Before the command parses its options: help must not fail for what else is on the line. */
    if (asks_for_help(count - 1, arguments + 1)) {
        write_command_help(stdout, command, terminal_width(stdout));
        return true;
    }
    if (command->run(count - 1, arguments + 1, error))
        return true;
    (void)explain_arguments(count - 1, arguments + 1, command->name, error);
    return false;
}

/* What was printed may still wait in a buffer, and the disk may be full. */
static bool finish_output(struct error *error)
{
    if (!stream_has_arrived(stdout, NULL, error))
        return false;
    return fclose(stdout) == 0 ||
           error_set(error, ERROR_FAILURE, "cannot write to standard output: %s", strerror(errno));
}

/* Large arrays each get memory of their own, and give it back when they are freed. Left to itself,
 * the library takes them from the heap after the first has been freed, and what is freed below
 * another stays. */
static void give_memory_back(void)
{
#ifdef M_MMAP_THRESHOLD /* glibc; musl gives large arrays memory of their own by itself */
    const int threshold_bytes = 1 << 20;

    (void)mallopt(M_MMAP_THRESHOLD, threshold_bytes);
#endif
}

/* The limit of memory is set first, before anything can take much. SIGPIPE ends the program
 * quietly, as `head` expects. The locale only for the characters of a terminal: numbers are
 * printed alike everywhere. */
int main(int argc, char **argv)
{
    struct error error = {0};
    bool is_done;

    give_memory_back();
    memory_limit_set_usual();
    setlocale(LC_CTYPE, "");
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_IGN); /* a file at its limit is an error of a write, with words */
    is_done = run_command_line(argc - 1, argv + 1, &error);
    if (!finish_output(&error))
        is_done = false;
    if (is_done)
        return 0;
    fprintf(stderr, "flopledger: %s\n", show_text(error.message).text);
    return (int)error.class;
}
