/* Words for a table, of what torch itself writes of compiled code: in its log (TORCH_TRACE), in
 * kernel_information.json, in `stack` of a kernel. */
#ifndef FLOPLEDGER_COST_MODULES_COMPILED_WORDS_H
#define FLOPLEDGER_COST_MODULES_COMPILED_WORDS_H

#include "base/core/arena.h"
#include "base/json/json_tree.h"

/* "aten::mm" of "extern_kernels.mm:3", "cpp_fused_add_0" of "cpp_fused_add_0:1". */
const char *compiled_operator_word(struct arena *arena, const char *name);

/* "cpp_fused_add_0" of "graph_3_cpp_fused_add_0", as profiled C++ kernels are named. */
const char *compiled_kernel_name(const char *name);

/* "aten.mul, aten.add" of the nodes "mul_2", "add", "mul", from the first one on. */
const char *compiled_node_words(struct arena *arena, const struct json_node *nodes);

/* "model.py:12, model.py:14" of texts of frames, the innermost of each; from the first one on. */
const char *compiled_line_words(struct arena *arena, const struct json_node *stack);

#endif
