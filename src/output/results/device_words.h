/* A rank's results in the words of its device: AMD's have Matrix Cores and HIP graphs. The words
 * are in device_word_list.def, and nowhere else: whatever makes or prints results writes those of
 * CUDA. */
#ifndef FLOPLEDGER_OUTPUT_RESULTS_DEVICE_WORDS_H
#define FLOPLEDGER_OUTPUT_RESULTS_DEVICE_WORDS_H

#include "base/core/arena.h"
#include "cost/efficiency/peak_choice.h"
#include "output/results/results.h"
#include "trace/trace.h"

#include <stdint.h>

/* Whose words these are, as a mask: a device's, and those of JAX beside them. 0: NVIDIA's, and
 * where nothing tells. By the software that launched, else by the device that --device or the trace
 * names.
 */
uint32_t device_speakers(const struct trace *trace, const struct peak_choice *peaks);

/* By the device's name alone. */
uint32_t speakers_by_device_name(const char *name);

/* The text as they say it: itself where nothing of it is another there. */
const char *device_words(struct arena *arena, const char *text, uint32_t speakers);

/* Titles, notes and advice; names of the trace (of kernels, ranges, files) stay as they are. */
void section_use_device_words(struct results *results, struct section *section, uint32_t speakers);

/* Of all that the rank has; kept with it for what is printed around its sections. */
void rank_use_device_words(struct results *results, struct rank_results *rank, uint32_t speakers);

#endif
