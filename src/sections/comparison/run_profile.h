/* What was measured of a run, step by step: the ledger's accounts, kernels, operators, modules,
 * FLOPs, launches and memory, each as one number a step. Two of these can be compared. */
#ifndef FLOPLEDGER_SECTIONS_COMPARISON_RUN_PROFILE_H
#define FLOPLEDGER_SECTIONS_COMPARISON_RUN_PROFILE_H

#include "base/core/arena.h"
#include "base/core/hash_map.h"
#include "base/core/string_pool.h"
#include "output/results/value.h"

#include <stdbool.h>
#include <stdint.h>

/* Measures of one kind stand in one table. */
enum measure_kind {
    MEASURE_STEP,          /* step_time */
    MEASURE_ACCOUNT,       /* accounts of the ledger: add up to the step */
    MEASURE_GROUP,         /* accounts together: idle, compute, copies */
    MEASURE_WORK,          /* MFU, FLOPs, launches, bytes copied, ... */
    MEASURE_CLASS,         /* kernels of one class, durations summed */
    MEASURE_KERNEL,        /* kernels of one name */
    MEASURE_RENAMED,       /* see renamed_kernels.h */
    MEASURE_OPERATOR,      /* device time by operator and input shapes */
    MEASURE_HOST_OPERATOR, /* host time in the operator itself */
    MEASURE_MATMUL,        /* time of matrix products by their sizes, whatever computes them */
    MEASURE_MODULE,        /* device time (CPU only: host time) of a module and those in it */
    MEASURE_MEMORY,        /* most bytes in a step, and what they were for */
};
enum { MEASURE_KIND_COUNT = MEASURE_MEMORY + 1 };

/* One quantity. Sums over the ranks: divide by rank_count. */
struct measure {
    enum measure_kind kind;
    enum unit unit;     /* TIME_NS, COUNT, BYTES, FLOPS; FRACTION: values / wholes */
    const char *name;   /* "idle_data", "aten::mm" */
    const char *title;  /* for people; as a rule the name */
    const char *detail; /* input shapes of an operator, "" where there are none */
    const char *owner;  /* operator that launched most of a kernel; NULL: not known */
    uint8_t class;      /* enum kernel_class of a kernel or operator */
    int64_t *values;    /* [step_count] */
    int64_t *wholes;    /* [step_count] of a fraction; else NULL */
    int64_t *calls;     /* [step_count]; NULL where there are none to count */
};

/* Zeroed is empty. */
struct run_profile {
    const char *file;         /* the first one */
    const char *device_name;  /* NULL: not told */
    uint32_t speakers;        /* whose words its texts are: device_words.h */
    const char *window;       /* what its steps are: "ProfilerStep marks" */
    const char *needs_flops;  /* why FLOPs are not known; NULL: they are */
    const char *needs_mfu;    /* likewise */
    const char *needs_memory; /* likewise */
    const char *needs_modules;
    const char *needs_model;   /* its parameters: never NULL, as the next */
    const char *needs_batch;   /* samples and tokens */
    const char *torch_version; /* NULL: not told */
    int64_t world_size;        /* -1: not told */
    int64_t parameters;        /* of all models, on this rank; -1: not told */
    uint32_t device_count;     /* in all ranks: devices that worked; 0: CPU only */
    bool is_whole;             /* one window instead of steps */
    bool is_cpu_only;
    bool is_compiled; /* torch.compile made code that ran */
    uint32_t rank_count;
    uint32_t steps_left_out; /* cut by the end of a file, or not on all ranks */
    int64_t *numbers;        /* [step_count] of the steps */
    uint32_t step_count;
    struct measure *measures; /* [count] */
    uint32_t count;
    struct hash_map by_name; /* of kind, name and detail */
    struct string_pool names;
    struct arena arena; /* all above but measures */
};

/* The measure of the name, added with zeros where there is none. Texts are copied; `detail` may be
 * "". Valid until the next one is added. */
struct measure *profile_measure(struct run_profile *profile, enum measure_kind kind,
                                const char *name, const char *detail);

/* NULL where there is none. */
const struct measure *profile_find(const struct run_profile *profile, enum measure_kind kind,
                                   const char *name, const char *detail);

/* A copy that lives as long as the profile. */
const char *profile_text(struct run_profile *profile, const char *text);

/* Gives the measure room for wholes, for calls. */
void measure_has_wholes(struct run_profile *profile, struct measure *measure);
void measure_has_calls(struct run_profile *profile, struct measure *measure);

/* Sets `run`, zeroed, to the ranks together: steps that all of them have, by their numbers; where
 * no number is common to all, by their order. count >= 1; the ranks are left as they are and must
 * not be used with `run`. */
void profile_of_ranks(struct run_profile *run, struct run_profile *const *ranks, size_t count);

void run_profile_clear(struct run_profile *profile);

/* The value of one step, and of all: per rank; of a fraction 0...1. */
double measure_at(const struct run_profile *profile, const struct measure *measure, uint32_t step);
double measure_mean(const struct run_profile *profile, const struct measure *measure);
/* Sum over steps and ranks; saturates. `calls` may be NULL: 0. */
int64_t measure_sum(const int64_t *values, uint32_t count);
/* Calls of a step, per rank. */
double measure_mean_calls(const struct run_profile *profile, const struct measure *measure);

#endif
