/* Names of ranges that programs put around their training steps: "iteration 12", "step_3",
 * "train_step". */
#ifndef FLOPLEDGER_LEDGER_STEP_NAMES_H
#define FLOPLEDGER_LEDGER_STEP_NAMES_H

#include <stdint.h>

/* How many words are known; the first that a trace has twice or more is taken for its steps. */
int step_word_count(void);

/* The place of the word that the name consists of, but for numbers and what follows them: of
 * "Iteration 12 of 90" that of "iteration". -1: it is no name of a step. Case does not matter. */
int step_word_of(const char *name);

/* The first number in a name, or -1. */
int64_t step_number_in(const char *name);

#endif
