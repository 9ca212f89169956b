/* What an inference server says in the name of the range around a step: how many requests it
 * serves, in which phase, and sums over their lengths. docs/metrics/serving-phases.md has the
 * names. */
#ifndef FLOPLEDGER_LEDGER_SERVING_RANGE_H
#define FLOPLEDGER_LEDGER_SERVING_RANGE_H

#include <stdbool.h>
#include <stdint.h>

enum serving_phase {
    SERVING_PREFILL,
    SERVING_DECODE,
    SERVING_MIXED, /* some requests are prefilled, others decoded */
    SERVING_PHASE_COUNT,
};

/* Over the requests of one kind; 0 where there are none. */
struct request_sums {
    int64_t requests;
    int64_t queries;         /* new tokens */
    int64_t keys;            /* tokens that they see at most: those before, and themselves */
    int64_t queries_squared; /* of each request, summed */
    int64_t pairs;           /* queries x keys of each request, summed */
};

struct serving_range {
    enum serving_phase phase;
    int64_t requests;               /* -1: not said */
    int64_t tokens;                 /* new ones; -1: not said */
    bool has_sums;                  /* the two below are known */
    struct request_sums context;    /* requests that are prefilled */
    struct request_sums generation; /* requests that are decoded */
};

/* Of vLLM "execute_37_context_1(sq5sk5sqsq25sqsk25)_generation_32(sq32sk900sqsq32sqsk900)", and
 * without the sums; of SGLang "step[DECODE bs=32]", "step[EXTEND bs=15 toks=15360]". False where
 * the name is none of these, or its numbers contradict each other. */
bool serving_range_parse(struct serving_range *range, const char *name);

/* Pairs of a query and a key that a causal mask leaves: a request's queries are its last tokens. */
int64_t causal_pairs(const struct request_sums *sums);

/* "prefill" */
const char *serving_phase_name(enum serving_phase phase);

#endif
