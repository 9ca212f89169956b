/* The program that is recorded: found, started, and waited for. */
#ifndef FLOPLEDGER_LIVE_RUN_RECORDED_PROGRAM_H
#define FLOPLEDGER_LIVE_RUN_RECORDED_PROGRAM_H

#include "base/core/attributes.h"
#include "base/core/error.h"

/* Runs `words` ([NULL-terminated], found on PATH) in this environment and waits. Signals that this
 * process gets meanwhile go to the program; those that a terminal sends reach it by themselves.
 * *status: its exit status, 128 + N where signal N ended it. */
MUST_USE bool run_program(char *const *words, int *status, struct error *error);

#endif
