/* `flopledger completion bash|zsh|fish`: shell completion, made from the tables of commands and
 * options. */
#include "commands/command.h"

#include <stdio.h>
#include <string.h>

/* Text inside single quotes of a shell. Inside single quotes nothing is special but the quote
 * itself: it ends them, stands escaped, and begins them anew. */
static void write_quoted(FILE *output, const char *text)
{
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", output);
        else
            fputc(*text, output);
    }
}

static bool completes_commands(const struct command *command)
{
    return strncmp(command->usage, "[COMMAND", 8) == 0;
}

/* All other operands are files. */
static bool completes_files(const struct command *command)
{
    return command->usage[0] != '\0' && !completes_commands(command);
}

/* The separator stands between and not behind: shells take a space at the end for an empty
 * word. */
static void write_command_names(FILE *output)
{
    const char *between = "";

    for (const struct command *const *command = all_commands(); *command; command++) {
        if (!(*command)->is_hidden) {
            fprintf(output, "%s%s", between, (*command)->name);
            between = " ";
        }
    }
}

static void write_words(FILE *output, const char *const *words)
{
    for (size_t i = 0; words[i]; i++)
        fprintf(output, "%s%s", i == 0 ? "" : " ", words[i]);
}

/* bash: what may stand behind an option that takes a value The values of an option come before
 * its command's words: `before` decides. */
static void write_bash_values(FILE *output, const struct option *options)
{
    for (const struct option *option = options; option && option->name; option++) {
        if (!option->metavar)
            continue;
        fprintf(output, "        --%s", option->name);
        if (option->letter)
            fprintf(output, " | -%c", option->letter);
        fputs(")\n", output);
        if (option->choices) {
            fputs("            COMPREPLY=($(compgen -W '", output);
            write_words(output, option->choices);
            fputs("' -- \"$word\"))\n", output);
        } else if (strcmp(option->metavar, "FILE") == 0) {
            fputs("            COMPREPLY=($(compgen -f -- \"$word\"))\n", output);
        } else {
            fputs("            COMPREPLY=()\n", output);
        }
        fputs("            return ;;\n", output);
    }
}

/* Values of the option before the cursor come first (the inner case returns); then options,
 * but only for a word that begins with a dash, so that plain words stay files. */
static void write_bash_command(FILE *output, const struct command *command)
{
    fprintf(output, "    %s)\n        case $before in\n", command->name);
    write_bash_values(output, command->options);
    fputs("        esac\n"
          "        if [[ $word == -* ]]; then\n"
          "            COMPREPLY=($(compgen -W '--help",
          output);
    for (const struct option *option = command->options; option && option->name; option++)
        fprintf(output, " --%s", option->name);
    fputs("' -- \"$word\"))\n            return\n        fi\n", output);
    if (completes_files(command))
        fputs("        COMPREPLY=($(compgen -f -- \"$word\"))\n", output);
    if (completes_commands(command)) {
        fputs("        COMPREPLY=($(compgen -W '", output);
        write_command_names(output);
        fputs("' -- \"$word\"))\n", output);
    }
    fputs("        ;;\n", output);
}

/* Written from the tables each time and nothing kept: a completion of an older version would
 * offer options that are gone. The shell's own completion of files stays for all else. */
static void write_bash(FILE *output)
{
    fputs("# bash completion of flopledger, written by 'flopledger completion bash'\n"
          "_flopledger() {\n"
          "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
          "    COMPREPLY=()\n"
          "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
          "        COMPREPLY=($(compgen -W '",
          output);
    write_command_names(output);
    fputs(
        " --help --version' -- \"$word\"))\n        return\n    fi\n    case ${COMP_WORDS[1]} in\n",
        output);
    for (const struct command *const *command = all_commands(); *command; command++) {
        if (!(*command)->is_hidden)
            write_bash_command(output, *command);
    }
    fputs("    esac\n}\ncomplete -o filenames -F _flopledger flopledger\n", output);
}

/* zsh: text inside an _arguments description _arguments takes brackets, colons and backslashes
 * for its own. */
static void write_zsh_text(FILE *output, const char *text)
{
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", output);
        else if (strchr("[]:\\", *text))
            fprintf(output, "\\%c", *text);
        else
            fputc(*text, output);
    }
}

/* Both forms of an option exclude each other in the first list, so that -o is not offered
 * behind --output. A value is completed by its choices, or as a file where its name says FILE. */
static void write_zsh_option(FILE *output, const struct option *option)
{
    if (option->letter)
        fprintf(output, "            '(-%c --%s)'{-%c,--%s%s}'[", option->letter, option->name,
                option->letter, option->name, option->metavar ? "=" : "");
    else
        fprintf(output, "            '--%s%s[", option->name, option->metavar ? "=" : "");
    write_zsh_text(output, option->help);
    fputc(']', output);
    if (option->metavar) {
        fprintf(output, ":%s:", option->metavar);
        if (option->choices) {
            fputc('(', output);
            write_words(output, option->choices);
            fputc(')', output);
        } else if (strcmp(option->metavar, "FILE") == 0) {
            fputs("_files", output);
        }
    }
    fputs("' \\\n", output);
}

/* What stands behind the options depends on the command: files, commands, or nothing, for
 * which zsh wants the line to end. */
static void write_zsh_command(FILE *output, const struct command *command)
{
    fprintf(output, "    %s)\n        _arguments -s \\\n", command->name);
    for (const struct option *option = command->options; option && option->name; option++)
        write_zsh_option(output, option);
    write_zsh_option(output, &common_options[0]);
    if (completes_files(command)) {
        fputs("            '*:file:_files'\n", output);
    } else if (completes_commands(command)) {
        fputs("            '1:command:(", output);
        write_command_names(output);
        fputs(")'\n", output);
    } else {
        fputs("            && return\n", output);
    }
    fputs("        ;;\n", output);
}

/* _arguments counts from the first word: the program's own name is shifted away, so that the
 * command stands there. */
static void write_zsh(FILE *output)
{
    fputs("#compdef flopledger\n"
          "# zsh completion of flopledger, written by 'flopledger completion zsh'\n"
          "_flopledger() {\n"
          "    local -a commands=(\n",
          output);
    for (const struct command *const *command = all_commands(); *command; command++) {
        if ((*command)->is_hidden)
            continue;
        fprintf(output, "        '%s:", (*command)->name);
        write_zsh_text(output, (*command)->summary);
        fputs("'\n", output);
    }
    fputs("    )\n"
          "    if (( CURRENT == 2 )); then\n"
          "        _describe command commands\n"
          "        return\n"
          "    fi\n"
          "    local command=$words[2]\n"
          "    shift words\n"
          "    (( CURRENT-- ))\n"
          "    case $command in\n",
          output);
    for (const struct command *const *command = all_commands(); *command; command++) {
        if (!(*command)->is_hidden)
            write_zsh_command(output, *command);
    }
    fputs("    esac\n}\n_flopledger \"$@\"\n", output);
}

/* fish must be told that a value is needed (-r or -x) and whether files are one: -x forbids
 * them, -F asks for them. */
static void write_fish_option(FILE *output, const struct command *command,
                              const struct option *option)
{
    fprintf(output, "complete -c flopledger -n '__fish_seen_subcommand_from %s' -l %s",
            command->name, option->name);
    if (option->letter)
        fprintf(output, " -s %c", option->letter);
    if (option->metavar)
        fputs(strcmp(option->metavar, "FILE") == 0 ? " -r -F" : " -x", output);
    if (option->choices) {
        fputs(" -a '", output);
        write_words(output, option->choices);
        fputc('\'', output);
    }
    fputs(" -d '", output);
    write_quoted(output, option->help);
    fputs("'\n", output);
}

/* fish has no function per command as the others have: each option says by a condition which
 * command it is of. -f keeps file names out where a command is expected. */
static void write_fish(FILE *output)
{
    fputs("# fish completion of flopledger, written by 'flopledger completion fish'\n", output);
    for (const struct command *const *each = all_commands(); *each; each++) {
        const struct command *command = *each;

        if (command->is_hidden)
            continue;
        fprintf(output, "complete -c flopledger -n __fish_use_subcommand -f -a %s -d '",
                command->name);
        write_quoted(output, command->summary);
        fputs("'\n", output);
        for (const struct option *option = command->options; option && option->name; option++)
            write_fish_option(output, command, option);
        write_fish_option(output, command, &common_options[0]);
        if (completes_commands(command)) {
            fprintf(output, "complete -c flopledger -n '__fish_seen_subcommand_from %s' -f -a '",
                    command->name);
            write_command_names(output);
            fputs("'\n", output);
        }
    }
}

static const struct shell {
    const char *name;
    void (*write)(FILE *output);
} shells[] = {{"bash", write_bash}, {"zsh", write_zsh}, {"fish", write_fish}};

/* The shells are a table, as a further one is one function; an unknown shell is told which
 * there are. */
static bool run_completion(int count, char **arguments, struct error *error)
{
    if (!parse_options(no_options, NULL, arguments, &count, error))
        return false;
    if (count != 1)
        return error_set(error, ERROR_USAGE, "completion takes one shell: bash, zsh or fish");
    for (size_t i = 0; i < sizeof shells / sizeof shells[0]; i++) {
        if (strcmp(shells[i].name, arguments[0]) == 0) {
            shells[i].write(stdout);
            return true;
        }
    }
    return error_set(error, ERROR_USAGE,
                     "no completion for the shell '%s': there is one for bash, zsh and fish",
                     arguments[0]);
}

const struct command completion_command = {
    .name = "completion",
    .summary = "print what a shell needs to complete command lines",
    .usage = "bash|zsh|fish",
    .examples = "source <(flopledger completion bash)\n    use it in this shell",
    .is_hidden = true,
    .run = run_completion,
};
