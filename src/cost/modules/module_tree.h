/* The modules of a traced model, found by the ranges `nn:DOTTED.NAME` around their calls. */
#ifndef FLOPLEDGER_COST_MODULES_MODULE_TREE_H
#define FLOPLEDGER_COST_MODULES_MODULE_TREE_H

#include "base/core/string_pool.h"
#include "cost/modules/model_description.h"
#include "trace/trace.h"

#include <stdbool.h>
#include <stdint.h>

#define NO_MODULE UINT32_MAX

struct module {
    const char *name;     /* dotted: "model.layers.0.mlp"; of the outermost one its mark, as a rule
                             its class */
    const char *own_name; /* the last part of it: "mlp" */
    uint32_t parent;      /* NO_MODULE: a root */
    uint32_t above;       /* one that it is in, the outermost when last looked for; NO_MODULE */
    uint32_t depth;       /* 0 for a root */
    uint32_t first_child; /* in the order of their first calls; NO_MODULE: none */
    uint32_t last_child;
    uint32_t next_sibling;
    bool is_called; /* has ranges of its own; else only modules inside it do (a ModuleList) */
};

/* A parent's index may be higher or lower than its children's; use `order` to go from parents to
 * children. A zeroed tree is an empty one. */
struct module_tree {
    struct module *modules; /* [count] */
    uint32_t count;
    uint32_t *order; /* [count]: each module before those in it, children in the order of calls */
    uint32_t *by_event_name; /* [string_count]: for each of trace->strings: the module that a range
                                of this name is, or NO_MODULE */
    struct string_pool names;
    bool is_of_frames; /* modules are the profiler's Python frames, "Linear_0", for want of marks */
};

/* True for a range that marks a module: operators and annotations named "nn:...". */
bool is_module_mark(const struct trace *trace, const struct event *event);

/* The module whose call the event is: a mark, or in a trace without any a frame "nn.Module: ...";
 * NO_MODULE for all other events. */
uint32_t module_of_mark(const struct module_tree *tree, const struct event *event);

/* `tree` must be zeroed; it is left empty where the trace has no marks. `parents` as
 * find_host_parents gives it. Modules that are described (may be NULL) stand in that order, called
 * or not, if one of them is called. Of nested marks without a common beginning ("model" inside
 * "LlamaForCausalLM") the inner module is a child of the outermost; frames, whose names have no
 * path, are children of the frame around them. Texts live as long as the trace and the tree. */
void module_tree_build(struct module_tree *tree, const struct trace *trace, const uint32_t *parents,
                       const struct model_description *description);

/* NO_MODULE where there is none of the name. */
uint32_t module_tree_find(const struct module_tree *tree, const char *name);

void module_tree_clear(struct module_tree *tree);

#endif
