/* Captures of CUDA graphs for the traces that replay them: those given, and those found beside. */
#ifndef FLOPLEDGER_PIPELINE_GRAPH_CAPTURES_H
#define FLOPLEDGER_PIPELINE_GRAPH_CAPTURES_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "output/results/results.h"
#include "trace/trace.h"

#include <stdbool.h>
#include <stddef.h>

enum { CAPTURES_GIVEN_MAX = 256 };

/* What the user gave: traces of captures, folders of them, or an execution_details.json. */
struct capture_choice {
    const char *paths[CAPTURES_GIVEN_MAX];
    size_t count; /* 0: what lies beside the trace is taken */
};

/* For an option table: keeps one more; `field` is a struct capture_choice. */
bool parse_capture(const char *text, void *field);
extern const char capture_accepted[];

/* Gives the kernels of the graphs that `trace` launches the operators of their captures; does
 * nothing where it launches none. What was found beside the trace and cannot be read becomes a
 * problem of `results`; of what was given it is an error (ERROR_INPUT). */
MUST_USE bool attribute_graphs_of(struct trace *trace, const struct capture_choice *choice,
                                  struct results *results, struct error *error);

#endif
