/* What the recorder's compiled.json says of the code that torch.compile made: the calls that each
 * graph's code makes, in their order, and what of the program each of them stands for. */
#ifndef FLOPLEDGER_COST_MODULES_COMPILED_CODE_H
#define FLOPLEDGER_COST_MODULES_COMPILED_CODE_H

#include "base/core/arena.h"
#include "base/core/attributes.h"
#include "base/core/error.h"
#include "base/core/hash_map.h"
#include "base/core/string_pool.h"

#include <stdint.h>

/* A module as the code knows it. */
struct compiled_place {
    const char *module; /* seen from the module whose code was compiled; "": that itself */
    const char *root;   /* the class of the outermost module that the code calls; "": not known */
    const char *inner;  /* seen from there */
};

/* A product that a generated kernel computes itself. */
struct compiled_product {
    struct compiled_place place;
    int64_t flops;     /* -1: those of each run */
    const char *sizes; /* then what they are the product of, "2*s77*64"; NULL */
    bool is_again;     /* of the forward, in a backward */
};

enum compiled_phase { COMPILED_PHASE_UNKNOWN, COMPILED_ONCE, COMPILED_AGAIN };

/* Of arguments: "s77,3" of a tensor, "=s77" of a number, "" of what says nothing. */
struct compiled_shapes {
    const char **sizes; /* [count] */
    uint32_t count;
};

struct compiled_call {
    const char *op; /* as a profiler names it: "aten::addmm", "cpp_fused_gelu_view_2" */
    struct compiled_place place;
    const char *aten;  /* the operators fused, with commas between */
    const char *lines; /* of the program, likewise */
    int64_t flops;     /* of products that a generated kernel computes itself; -1: not known */
    int64_t bytes;     /* that a kernel in C++ reads and writes; -1: not known */
    struct compiled_product *products; /* [product_count], whose FLOPs sum to it; 0: of the module
                                        */
    uint32_t product_count;
    struct compiled_shapes shapes; /* where symbols stand in them */
    const char *input_shapes;      /* of a call into a library, as a profiler writes them; NULL */
    const char *input_types;
    enum compiled_phase phase; /* of a backward: whether it computes the forward again */
};

struct compiled_graph {
    const char *key; /* "## Call CompiledFxGraph KEY ##" */
    struct compiled_call *calls;
    uint32_t count;                /* 0: not known */
    struct compiled_shapes inputs; /* of the code, where symbols stand in them */
};

/* Zeroed is empty. */
struct compiled_code {
    struct compiled_graph *graphs; /* [count]; they live in an arena */
    uint32_t count;
    struct compiled_graph unranged; /* AOTInductor's, of which no range tells where it runs */
    struct string_pool keys;
    struct hash_map graph_of; /* key of a graph, in `keys` -> the first of it */
};

/* Reads the text of a compiled.json; texts and graphs live in `arena`. */
MUST_USE bool compiled_code_parse(struct compiled_code *code, struct arena *arena, const char *text,
                                  size_t length, struct error *error);

/* The same of a log that torch wrote (TORCH_TRACE); what is damaged in it is left out. `code` must
 * be empty. */
void compiled_code_parse_log(struct compiled_code *code, struct arena *arena, const char *text,
                             size_t length);

/* The calls of a kernel_information.json of AOTInductor, in their order: `unranged`. */
MUST_USE bool compiled_code_parse_kernels(struct compiled_code *code, struct arena *arena,
                                          const char *text, size_t length, struct error *error);

/* NULL where it is not known. `key` is `length` bytes. */
const struct compiled_graph *compiled_code_find(const struct compiled_code *code, const char *key,
                                                size_t length);

/* Does the code call a module of this class? */
bool compiled_code_calls(const struct compiled_code *code, const char *class_name);

void compiled_code_clear(struct compiled_code *code);

#endif
