/* The programs that ran, as the compiler wrote them (HloProto in the plane /host:metadata): what
 * their ops compute, where the profiler itself tells no FLOPs. Private to the reader. */
#ifndef FLOPLEDGER_READERS_XPLANE_XPLANE_HLO_H
#define FLOPLEDGER_READERS_XPLANE_XPLANE_HLO_H

#include "base/core/hash_map.h"
#include "base/proto/proto_walk.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An instruction of a program. Texts stand in the file. */
struct hlo_op {
    int64_t program;
    struct proto_bytes name;
    struct proto_bytes opcode; /* "all-reduce", whatever the name is */
    struct proto_bytes scope;  /* "jit(f)/Model/mlp/dot_general" */
    /* of the largest of its products and convolutions: a fusion has that of what is fused to them
     */
    struct proto_bytes product_scope;
    int64_t product_flops;     /* its own */
    struct proto_bytes source; /* the file; empty: not told */
    int64_t line;
    int64_t flops;                  /* of its products and convolutions; -1: not known */
    struct proto_bytes operands[2]; /* shapes of those of its first product or convolution */
    bool has_products;
    bool has_convolutions;
    bool has_several_phases; /* products of the forward beside some of the backward, say */
    bool runs_are_known;     /* another op runs between any two times that it runs */
};

/* Zeroed is empty. */
struct hlo_programs {
    struct hlo_op *ops;
    size_t count;
    struct hash_map by_key;    /* of program and name */
    struct hash_map by_kernel; /* of program and the name of a kernel made of it */
};

/* In which phase of training what has the scope is; NULL where it has none. */
const char *hlo_scope_phase(struct proto_bytes scope);

/* Adds a program, whose HloProto this is. What is damaged is left out. */
void hlo_programs_add(struct hlo_programs *programs, int64_t program, struct proto_bytes proto);
/* NULL where the programs have no such op. */
const struct hlo_op *hlo_op_of(const struct hlo_programs *programs, int64_t program,
                               struct proto_bytes name);
/* The op whose kernel has that name: "loop_add_fusion_8" is of "loop_add_fusion.8". Ops that
 * compute the same share a kernel, and are one here. NULL where none has. */
const struct hlo_op *hlo_op_of_kernel(const struct hlo_programs *programs, int64_t program,
                                      struct proto_bytes kernel);
/* "8,64" of a shape, and "f32"; false and NULL where it has no sizes, or a type of no name. */
bool hlo_sizes_text(struct proto_bytes shape, char *text, size_t size);
const char *hlo_element_type(struct proto_bytes shape);

void hlo_programs_clear(struct hlo_programs *programs);

#endif
