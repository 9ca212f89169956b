/* Runs this program once more with other words, and keeps what it prints: so is an answer to a
 * client the very same that the command line gives, and a file that takes all memory, or for ever,
 * ends the child alone. */
#ifndef FLOPLEDGER_MCP_CHILD_PROGRAM_H
#define FLOPLEDGER_MCP_CHILD_PROGRAM_H

#include "base/core/error.h"

#include <stdbool.h>
#include <stddef.h>

struct child_answer {
    char *output; /* what it printed, with a NUL behind it */
    size_t length;
    char errors[2048]; /* the beginning of what it said is wrong */
};

/* `words` begins with the program's name and ends with NULL. False with `error` set where the child
 * cannot be run, was killed, printed too much, or took longer than `seconds`. Clear the answer in
 * any case. */
bool child_program_run(char *const words[], int seconds, struct child_answer *answer,
                       struct error *error);

void child_answer_clear(struct child_answer *answer);

#endif
