/* The option table of a command: parsing, help, man page and shell completion all come from it. */
#ifndef FLOPLEDGER_BASE_TEXT_OPTION_H
#define FLOPLEDGER_BASE_TEXT_OPTION_H

#include "base/core/attributes.h"
#include "base/core/bytes.h"
#include "base/core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum option_kind {
    OPTION_FLAG,    /* --name: sets a bool to true */
    OPTION_NEGATED, /* --no-name (name holds "no-name"): sets a bool to false; --name without the no
                       sets it to true */
    OPTION_INTEGER, /* --name N: an int64_t from minimum to maximum */
    OPTION_CHOICE,  /* --name WORD: an int, the index of the word in choices */
    OPTION_TEXT,    /* --name TEXT: a const char *, as given */
    OPTION_PARSED,  /* --name TEXT: `parse` fills the field */
    OPTION_ALIAS,   /* --name stands for another option with a value: alias_of "format", alias_value
                       "json" */
};

/* One line of a table, which ends with an all-zero entry. */
struct option {
    const char *name; /* "top"; without the dashes */
    char letter;      /* 'n' for -n; 0 for none */
    bool is_of_page;  /* how an answer is shown or read: the answer is the same whatever it says */
    enum option_kind kind;
    const char *metavar; /* "N"; NULL where there is no value */
    const char *help;    /* a phrase, lower case, no full stop; its default in brackets */
    size_t offset;       /* of the field in the command's struct of settings */
    int64_t minimum;
    int64_t maximum;
    const char *const *choices; /* NULL-terminated; for OPTION_CHOICE */
    /* Fills *field; false where `text` is not acceptable. */
    bool (*parse)(const char *text, void *field);
    const char *accepts; /* for OPTION_PARSED: "a step (3), a range (3-5) or an open one (3-)" */
    const char *alias_of;
    const char *alias_value;
};

/* How a line of a table is written: the name, the offset of the field, what its kind needs, the
 * help; behind the help what few have: .letter = 'n', .is_of_page = true. PARSED_OPTION(…,
 * step_range, …) parses by parse_step_range, and step_range_accepted says what is accepted. */
#define FLAG_OPTION(name_, field, ...)                                           \
    {                                                                            \
        .name = name_, .kind = OPTION_FLAG, .offset = field, .help = __VA_ARGS__ \
    }
#define NEGATED_OPTION(name_, field, ...)                                           \
    {                                                                               \
        .name = name_, .kind = OPTION_NEGATED, .offset = field, .help = __VA_ARGS__ \
    }
#define TEXT_OPTION(name_, field, what, ...)                                                      \
    {                                                                                             \
        .name = name_, .kind = OPTION_TEXT, .metavar = what, .offset = field, .help = __VA_ARGS__ \
    }
#define INTEGER_OPTION(name_, field, what, least, most, ...)                                       \
    {                                                                                              \
        .name = name_, .kind = OPTION_INTEGER, .metavar = what, .offset = field, .minimum = least, \
        .maximum = most, .help = __VA_ARGS__                                                       \
    }
#define CHOICE_OPTION(name_, field, what, words, ...)                                             \
    {                                                                                             \
        .name = name_, .kind = OPTION_CHOICE, .metavar = what, .offset = field, .choices = words, \
        .help = __VA_ARGS__                                                                       \
    }
#define ALIAS_OPTION(name_, option, value, ...)                                        \
    {                                                                                  \
        .name = name_, .kind = OPTION_ALIAS, .alias_of = option, .alias_value = value, \
        .help = __VA_ARGS__                                                            \
    }
#define PARSED_OPTION(name_, field, what, parsed, ...)                             \
    {                                                                              \
        .name = name_, .kind = OPTION_PARSED, .metavar = what, .offset = field,    \
        .parse = parse_##parsed, .accepts = parsed##_accepted, .help = __VA_ARGS__ \
    }

/* Takes the options out of `arguments` ([*count], as in main without the program's name) and stores
 * them in `settings`, a struct whose fields options[].offset names; what is left, the operands, is
 * moved to the front and counted in *count. "--" ends the options, "-" is an operand. Errors are
 * ERROR_USAGE and name what is accepted. */
MUST_USE bool parse_options(const struct option *options, void *settings, char **arguments,
                            int *count, struct error *error);

/* What is parsed, and what of it makes two questions of a command differ. */
struct noted_arguments {
    char **arguments;
    int *count;
    struct bytes *asked; /* NULL: nobody wants to know */
};

/* The same; adds what was given, but for options that are of the page, to arguments->asked. */
MUST_USE bool parse_options_noting(const struct option *options, void *settings,
                                   const struct noted_arguments *arguments, struct error *error);

/* For OPTION_PARSED into a double: a finite number of more than 0, with k, M, B or T (15T). */
bool parse_positive_number(const char *text, void *field);

#endif
