/* What kind of work a kernel or an operator does, by tables of names. */
#include "ledger/kernel_class.h"

#include "base/core/invariant.h"
#include "base/core/large_array.h"
#include "base/text/prefix.h"
#include "trace/optimizer_time.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { CLASS_NOT_LOOKED_UP = UINT8_MAX };

struct class_description {
    const char *key;
    const char *title;
};

static const struct class_description class_descriptions[KERNEL_CLASS_COUNT] = {
    [KERNEL_MATMUL] = {"matmul", "matmuls"},
    [KERNEL_CONVOLUTION] = {"convolution", "convolutions"},
    [KERNEL_ATTENTION] = {"attention", "attention"},
    [KERNEL_RECURRENT] = {"recurrent", "recurrent cells"},
    [KERNEL_OPTIMIZER] = {"optimizer", "optimizer"},
    [KERNEL_NORMALIZATION] = {"normalization", "normalization"},
    [KERNEL_SOFTMAX] = {"softmax", "softmax and losses"},
    [KERNEL_EMBEDDING] = {"embedding", "embedding"},
    [KERNEL_REDUCTION] = {"reduction", "reductions"},
    [KERNEL_POOLING] = {"pooling", "pooling"},
    [KERNEL_SORT] = {"sort", "sorts and scans"},
    [KERNEL_INDEXING] = {"indexing", "indexing and layout"},
    [KERNEL_QUANTIZATION] = {"quantization", "quantisation"},
    [KERNEL_RANDOM] = {"random", "random numbers"},
    [KERNEL_SPIN] = {"spin", "waiting in a kernel"},
    [KERNEL_TRITON] = {"triton", "fused by a compiler"},
    [KERNEL_ELEMENTWISE] = {"elementwise", "elementwise"},
    [KERNEL_COMPUTE_OTHER] = {"other", "not classified"},
    [KERNEL_COMMUNICATION] = {"communication", "communication"},
    [KERNEL_COPY] = {"copy", "copies"},
    [KERNEL_MEMSET] = {"memset", "memsets"},
};

struct name_rule {
    const char *pattern;
    enum kernel_class class;
};

static const struct name_rule kernel_name_rules[] = {
#define KERNEL_NAME(class_, pattern_) {.pattern = (pattern_), .class = KERNEL_##class_},
#include "ledger/kernel_name_list.def"
#undef KERNEL_NAME
};

static const struct name_rule operator_name_rules[] = {
#define OPERATOR_NAME(class_, start_) {.pattern = (start_), .class = KERNEL_##class_},
#include "ledger/operator_name_list.def"
#undef OPERATOR_NAME
};

/* Libraries that move data between devices; anywhere in a kernel's name, in any case. */
static const char *const communication_patterns[] = {
    "nccl",
    "rccl",
    "msccl",
    "nvshmem",
    "deep_ep",
    "oneccl",
    "hccl",
    "hcom_",
    "aicpukernel", /* so HCCL's names end where the device's own cores run a collective */
    "aivkernel",
    "cross_device_reduce",
    "multimem",
    "custom_allreduce",
    "custom_all_reduce",
    "quickallreduce",
    "quick_allreduce",
    "quickall_reduce",
    "quick_all_reduce",
    "ep::internode::",
    "ep::intranode::",
    "ep::internode_ll::",
};

/* Starts of operator names that move data between processes. */
static const char *const communication_operators[] = {
    "nccl:",
    "gloo:",
    "mpi:",
    "ucc:",
    "xccl:",
    "hccl:",
    "c10d::",
    "_c10d_functional::",
    "c10d_functional::",
    "record_param_comms",
};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

const char *kernel_class_key(enum kernel_class class)
{
    return class_descriptions[class].key;
}

const char *kernel_class_title(enum kernel_class class)
{
    return class_descriptions[class].title;
}

enum kernel_class kernel_class_of_key(const char *key)
{
    for (int i = 0; i < KERNEL_CLASS_COUNT; i++) {
        if (strcmp(class_descriptions[i].key, key) == 0)
            return (enum kernel_class)i;
    }
    return KERNEL_COMPUTE_OTHER;
}

/* The enum is ordered: what does matrix work first, then other compute, then what moves data. */
bool kernel_class_is_matrix(enum kernel_class class)
{
    return class <= KERNEL_RECURRENT;
}

bool kernel_class_is_compute(enum kernel_class class)
{
    return class <= KERNEL_COMPUTE_OTHER;
}

static bool is_communication_name(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(communication_patterns); i++) {
        if (strcasestr(name, communication_patterns[i]))
            return true;
    }
    return false;
}

/* Communication first, since a fused kernel of such a library ("nvshmem_gemm...") is waited
 * for like one. Then the first rule that fits: the .def lists what is specific before what is
 * general. */
enum kernel_class kernel_class_of_name(const char *kernel_name)
{
    if (is_communication_name(kernel_name))
        return KERNEL_COMMUNICATION;
    for (size_t i = 0; i < COUNT_OF(kernel_name_rules); i++) {
        if (strstr(kernel_name, kernel_name_rules[i].pattern))
            return kernel_name_rules[i].class;
    }
    return KERNEL_COMPUTE_OTHER;
}

/* `pattern` as in operator_name_list.def. */
static bool operator_rule_fits(const char *name, const char *pattern)
{
    size_t length = strlen(pattern);

    if (pattern[length - 1] == '$')
        return strncmp(name, pattern, length - 1) == 0 &&
               (name[length - 1] == '\0' || strcmp(name + length - 1, "_out") == 0);
    return strncmp(name, pattern, length) == 0;
}

/* An autograd node encloses the operators that do its work; its own name would give all of
 * them one class. Behind the last "::" is the name that a person gave, whatever the library. */
enum kernel_class operator_class(const char *operator_name)
{
    const char *name = name_behind_shim(operator_name);

    name = name ? name : operator_name;
    for (size_t i = 0; i < COUNT_OF(communication_operators); i++) {
        if (has_prefix(operator_name, communication_operators[i]))
            return KERNEL_COMMUNICATION;
    }
    if (has_prefix(operator_name, "autograd::"))
        return KERNEL_COMPUTE_OTHER;
    for (const char *colons = strstr(name, "::"); colons; colons = strstr(name, "::"))
        name = colons + 2;
    for (size_t i = 0; i < COUNT_OF(operator_name_rules); i++) {
        if (operator_rule_fits(name, operator_name_rules[i].pattern))
            return operator_name_rules[i].class;
    }
    return KERNEL_COMPUTE_OTHER;
}

/* Names of generated code ("ynn_fusion.1") say nothing of the product in it, which its recorder may
 * know. */
enum kernel_class host_event_class(const struct trace *trace, const struct event *event)
{
    const uint32_t work = trace->details[event->detail].work;

    return work ? kernel_class_of_key(trace_text(trace, work))
                : operator_class(trace_text(trace, event->name));
}

/* "## next ##", "##data##": ranges that Megatron-like and DLRM-like loops put around their loaders.
 */
static bool is_hash_data_range(const char *name)
{
    static const char *const words[] = {"next", "data", "get_batch", "load"};
    const char *word;
    size_t length = strlen(name);

    if (!has_prefix(name, "##") || length < 4 || strcmp(name + length - 2, "##") != 0)
        return false;
    word = name[2] == ' ' ? name + 3 : name + 2;
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        if (strncasecmp(word, words[i], strlen(words[i])) == 0)
            return true;
    }
    return false;
}

/* The ranges of PyTorch's DataLoader and DataPipe, Python's frame of a loader's __next__, and
 * what Lightning's profiler calls its own. */
bool is_data_loading(const char *name)
{
    const char *loader;

    if (strncasecmp(name, "enumerate(DataLoader)#", 22) == 0 ||
        strncasecmp(name, "enumerate(DataPipe)#", 20) == 0)
        return true;
    loader = strcasestr(name, "DataLoader");
    if (loader && strcasestr(loader, "__next__"))
        return true;
    if (strncasecmp(name, "[pl]", 4) == 0 && strcasestr(name, "train_dataloader_next"))
        return true;
    return is_hash_data_range(name);
}

bool makes_batches_itself(const char *name)
{
    return strstr(name, "_SingleProcessDataLoaderIter") != NULL;
}

/* torch.compile marks each phase of its work so, wherever it does it, and some once more around
 * that. One of them is no compiling: the ranks ask each other, before each call, whether all have
 * the code. */
static bool is_phase_of_torch_compile(const char *name)
{
    static const char *const around[] = {"dynamo", "entire_frame_compile",
                                         "entire_backward_compile", "inductor_compile"};

    for (size_t i = 0; i < COUNT_OF(around); i++)
        if (strcmp(name, around[i]) == 0)
            return true;
    return has_suffix(name, " (dynamo_timed)") && !has_prefix(name, "guard_collective");
}

/* Ranges of JAX, and its frames of Python ("$compiler.py:387 compile_or_get_cached"). */
static bool is_compilation_of_jax(const char *name)
{
    static const char *const functions[] = {"backend_compile",    "lower_sharding_computation",
                                            "trace_to_jaxpr",     "compile_or_get_cached",
                                            "_resolve_and_lower", "_cached_compilation",
                                            "_trace_for_jit"};
    const char *function = *name == '$' ? strrchr(name, ' ') : NULL;

    name = function ? function + 1 : name;
    for (size_t i = 0; i < COUNT_OF(functions); i++)
        if (has_prefix(name, functions[i]))
            return true;
    return false;
}

bool is_compilation(const char *name)
{
    const char *triton = strstr(name, "triton/compiler/compiler.py(");

    return is_phase_of_torch_compile(name) || is_compilation_of_jax(name) ||
           has_prefix(name, "XlaCompile:") || strstr(name, "Client::Compile") ||
           (triton && strstr(triton, "): compile"));
}

struct class_cache {
    uint8_t *kernels;   /* by name id */
    uint8_t *operators; /* by name id */
};

static enum kernel_class cached_class(uint8_t *cache, const struct trace *trace, uint32_t name,
                                      enum kernel_class (*look_up)(const char *name))
{
    if (cache[name] == CLASS_NOT_LOOKED_UP)
        cache[name] = (uint8_t)look_up(trace_text(trace, name));
    return (enum kernel_class)cache[name];
}

/* What the recorder says of the kernel's work, else of that of its operator; KERNEL_COMPUTE_OTHER
 * where it says nothing. */
static enum kernel_class recorded_class(const struct trace *trace, const struct event *event,
                                        uint32_t op)
{
    uint32_t work = trace->details[event->detail].work;

    if (!work && op != NO_EVENT)
        work = trace->details[trace->host[op].detail].work;
    return work ? kernel_class_of_key(trace_text(trace, work)) : KERNEL_COMPUTE_OTHER;
}

/* Whom to believe, strongest first: NCCL's name or metadata, since a wrongly counted
 * collective moves time between accounts; what the recorder says; the operator, where it is a
 * matmul or the like, as names of generated kernels ("triton_poi_fused_12", "Cijk_...") say
 * little; then the name. */
static enum kernel_class classify_kernel(const struct trace *trace, uint32_t index,
                                         const struct class_cache *cache)
{
    const struct event *event = &trace->device[index];
    uint32_t op = trace_operator_of(trace, index);
    enum kernel_class by_name =
        cached_class(cache->kernels, trace, event->name, kernel_class_of_name);
    enum kernel_class recorded;

    if (trace->details[event->detail].collective_name)
        return KERNEL_COMMUNICATION;
    if (!kernel_class_is_compute(by_name))
        return by_name;
    recorded = recorded_class(trace, event, op);
    if (recorded != KERNEL_COMPUTE_OTHER)
        return recorded;
    if (trace->details[event->detail].work) /* told to be none of the operator's kind */
        return by_name;
    if (op != NO_EVENT) {
        enum kernel_class by_operator =
            cached_class(cache->operators, trace, trace->host[op].name, operator_class);

        if (kernel_class_is_matrix(by_operator))
            return by_operator;
    }
    return by_name;
}

/* Inside the optimizer's step all compute but matrix work is the optimizer's: its kernels are
 * the same elementwise ones as the model's, and only where they were launched tells them
 * apart. */
uint8_t *classify_device_events(const struct trace *trace)
{
    size_t names = string_pool_count(&trace->strings);
    struct optimizer_time optimizer = {0};
    struct class_cache cache = {.kernels = require_memory(malloc(names)),
                                .operators = require_memory(malloc(names))};
    uint8_t *classes = large_array_new((size_t)trace->device_count + 1);

    find_optimizer_time(&optimizer, trace);
    memset(cache.kernels, CLASS_NOT_LOOKED_UP, names);
    memset(cache.operators, CLASS_NOT_LOOKED_UP, names);
    for (uint32_t i = 0; i < trace->device_count; i++) {
        enum kernel_class class = KERNEL_COPY;

        if (trace->device[i].kind == EVENT_MEMSET)
            class = KERNEL_MEMSET;
        else if (trace->device[i].kind == EVENT_KERNEL)
            class = classify_kernel(trace, i, &cache);
        /* By the launch, not by the kernel's own time: the device may run it long after the
         * optimizer's range has ended. */
        if (kernel_class_is_compute(class) && !kernel_class_is_matrix(class) &&
            trace->launch[i] != NO_EVENT &&
            is_optimizer_time(&optimizer, trace->host[trace->launch[i]].track,
                              trace->host[trace->launch[i]].start_ns))
            class = KERNEL_OPTIMIZER;
        classes[i] = (uint8_t) class;
    }
    free(cache.kernels);
    free(cache.operators);
    optimizer_time_clear(&optimizer);
    return classes;
}
