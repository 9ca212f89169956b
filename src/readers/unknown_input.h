/* Says what an input seems to be that no reader knows. */
#ifndef FLOPLEDGER_READERS_UNKNOWN_INPUT_H
#define FLOPLEDGER_READERS_UNKNOWN_INPUT_H

#include <stddef.h>

/* A phrase for a message, with what to do: "a pickle of Python, as torch.save writes". NULL: not
 * known. */
const char *unknown_input_looks_like(const char *head, size_t length);

#endif
