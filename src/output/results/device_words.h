/* Results in the words of their device: AMD's have Matrix Cores and HIP graphs. The words are in
 * device_word_list.def, and nowhere else: whatever makes results writes those of CUDA, and says
 * with each rank whose they are (results_add_rank); what prints or keeps results has them replaced.
 */
#ifndef FLOPLEDGER_OUTPUT_RESULTS_DEVICE_WORDS_H
#define FLOPLEDGER_OUTPUT_RESULTS_DEVICE_WORDS_H

#include "base/core/arena.h"
#include "cost/efficiency/peak_choice.h"
#include "ledger/account.h"
#include "output/results/results.h"
#include "trace/memory_snapshot.h"
#include "trace/trace.h"

#include <stdint.h>

/* Whose words these are, as a mask: a device's, and those of JAX beside them. NO_SPEAKERS where
 * nothing tells; the words are NVIDIA's then. By the software that launched, else by the device
 * that --device names, which is in `peaks` (NULL: it is the trace's), or the trace. */
enum { NO_SPEAKERS = 0 };
uint32_t device_speakers(const struct trace *trace, const struct peak_choice *peaks);

/* By the device's name alone, which may be NULL. */
uint32_t speakers_by_device_name(const char *name);

/* By how PyTorch calls the backend of collectives: "xccl". */
uint32_t speakers_by_backend(const char *backend);

/* By the code that allocated, and what the allocator was told. */
uint32_t speakers_of_snapshot(const struct memory_snapshot *snapshot);

/* What is said of both: words of no maker where they differ. */
uint32_t speakers_of_both(uint32_t one, uint32_t other);

/* The text as they say it: itself where nothing of it is another there. */
const char *device_words(struct arena *arena, const char *text, uint32_t speakers);

/* The ledger's words, for what is written beside results. */
struct account_words {
    const char *titles[ACCOUNT_COUNT];
    const char *advice[ACCOUNT_COUNT];
};

void account_words_of(struct account_words *said, struct arena *arena, uint32_t speakers);

/* Titles, notes and advice of all ranks and of what stands over them; names of the trace (of
 * kernels, ranges, files) stay as they are. A second time changes nothing. */
void results_use_device_words(struct results *results);

#endif
