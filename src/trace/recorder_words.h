/* What to do about what a recording lacks, in the words of the program that made it. */
#ifndef FLOPLEDGER_TRACE_RECORDER_WORDS_H
#define FLOPLEDGER_TRACE_RECORDER_WORDS_H

#include "trace/trace.h"

/* How each recorder is made to record what is missing. */
struct recorder_words {
    const char *format; /* read_account.format; NULL: any other */
    const char *cut;
    const char *warm_up;
    const char *less_overhead;
    const char *marks; /* of steps */
    const char *few_steps;
    const char *device;
    const char *no_device; /* nor any call of one: may be right */
    const char *host;      /* where nothing of it is recorded; NULL: as operators */
    const char *operators;
    const char *shapes;
    const char *needs_shapes; /* of a figure: "needs ...", as element_type and the like */
    const char *flops;        /* what tells shapes, as FLOPs need them */
    const char *modules;
    const char *model; /* its parameters: "needs ...", as the samples and tokens of a batch */
    const char *batch;
    const char *stacks;
    const char *collectives;
    const char *message_size; /* of a collective: "needs ...", as its group and type */
    const char *group_size;
    const char *element_type;
    const char *memory;
};

/* NULL: of a model alone; as for a recorder that is not known. */
const struct recorder_words *recorder_words_for(const struct trace *trace);

#endif
