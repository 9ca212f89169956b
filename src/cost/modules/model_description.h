/* What the recorder's capture.json says of the modules: classes, parameters, and modules that no
 * trace shows because they are not called. */
#ifndef FLOPLEDGER_COST_MODULES_MODEL_DESCRIPTION_H
#define FLOPLEDGER_COST_MODULES_MODEL_DESCRIPTION_H

#include "base/core/arena.h"
#include "base/core/attributes.h"
#include "base/core/error.h"
#include "base/core/hash_map.h"
#include "base/core/string_pool.h"
#include "cost/architectures/architecture.h"
#include "cost/modules/compiled_code.h"
#include "ledger/step_ledger.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct described_module {
    const char *name; /* as in the trace's marks */
    const char *root; /* the name of the model's outermost module */
    const char *class_name;
    const char *extra_repr;
    int64_t parameters; /* of it and the modules in it, shared ones once */
    int64_t trainable;  /* of those, not frozen */
};

/* What a step took of the processor on the thread that launches it, and what it did not get; ns,
 * -1: not known. Waited: ready to run, and no core was free. */
struct processor_time {
    int64_t wall_ns;
    int64_t thread_cpu_ns;
    int64_t process_cpu_ns;
    int64_t thread_waited_ns;
    int64_t process_waited_ns;
    int64_t voluntary_switches;
    int64_t involuntary_switches;
};

/* What was drawn from one step's end to the next; -1: not known. */
struct step_energy {
    int64_t sm_clock_mhz; /* of the GPU's multiprocessors, at the end of the step */
    int64_t gpu_uj;       /* of the GPU that the rank uses, in microjoules */
    int64_t cpu_uj;       /* of all processors of the machine */
    int64_t time_ns;      /* in which it was drawn */
    bool is_asked;        /* the recorder has looked */
};

/* What a recorded step trained on, on this rank; -1: not known. */
struct described_step {
    int64_t number;
    int64_t micro_batches; /* forward passes of the model */
    int64_t samples;       /* of all of these */
    int64_t tokens;
    struct processor_time processor;
    struct step_energy energy;
    const char *recorded_for; /* why its window was recorded: "step 57 took ..."; NULL: asked for */
};

/* What a host's processor can compute at most, as the recorder derived it; NULL: not said. */
struct described_processor {
    const char *how; /* "derived: 2 cores x 32 FLOPs a cycle x 2.60 GHz" */
    double fp32_flops_per_second;
    double fp64_flops_per_second;
    double bf16_flops_per_second; /* 0: no instruction for it */
};

/* The steps of the run that no window holds, without those beside a window, in which the profiler
 * starts and stops. */
enum { PLAIN_STEPS_MIN = 2, PLAIN_LONGER_PER_CENT = 110 /* recorded ones that are clearly so */ };
struct plain_steps {
    int64_t median_ns;
    uint32_t count; /* 0: the file does not tell, or of fewer than PLAIN_STEPS_MIN */
};

/* Zeroed is empty. Sizes: -1 where the file does not say. */
struct model_description {
    int64_t world_size;
    int64_t data_size; /* ranks that train the same parameters on other data */
    int64_t tensor_size;
    struct described_module *modules; /* [count], as model.named_modules() gives them */
    uint32_t count;
    const struct architecture *architecture; /* of the main model, by its config; NULL: not said */
    struct described_step *steps;            /* [step_count], of all traces in the folder */
    uint32_t step_count;
    struct plain_steps plain;
    struct described_processor processor; /* of the host */
    struct compiled_code compiled;        /* of compiled.json */
    const char *command; /* what ran, its words with a space between; NULL: not said */
    const char *script;  /* of it the file or module of Python, without folders; NULL: none */
    struct string_pool names;
    struct hash_map module_places; /* name of a module, in `names` -> its first index */
    struct hash_map step_places;   /* number of a step -> its first index */
    struct arena arena;
};

/* Reads the text of a capture.json. `name` is the file's, for messages. */
MUST_USE bool model_description_parse(struct model_description *description, const char *name,
                                      const char *text, size_t length, struct error *error);

/* Reads capture.json and compiled.json in the folder of `trace_path`; leaves out what is not there,
 * and all of it for standard input ("-"). */
MUST_USE bool model_description_find(struct model_description *description, const char *trace_path,
                                     struct error *error);

/* NULL where it is not described. */
const struct described_module *describe_module(const struct model_description *description,
                                               const char *name);

/* NULL where it is not described. */
const struct described_step *describe_step(const struct model_description *description,
                                           int64_t number);

/* A step of the ledger, which has the recorder's numbers only where the profiler marked it. NULL
 * where it is not described, as without a description. */
const struct described_step *describe_ledger_step(const struct model_description *description,
                                                  const struct ledger *ledger,
                                                  const struct step_ledger *step);

void model_description_clear(struct model_description *description);

#endif
