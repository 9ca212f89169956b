/* The advice in the words of the device's own software: a rule speaks of CUDA, which is PyTorch's
 * name for ROCm's devices, too. */
#ifndef FLOPLEDGER_SECTIONS_ADVICE_PLATFORM_WORDS_H
#define FLOPLEDGER_SECTIONS_ADVICE_PLATFORM_WORDS_H

#include "output/results/results.h"
#include "trace/trace.h"

/* The text as it holds on that platform; itself where nothing of it is another there. */
const char *platform_words(struct results *results, const char *text, enum platform platform);

#endif
