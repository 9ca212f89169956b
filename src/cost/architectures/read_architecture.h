/* From a config.json to an architecture. */
#ifndef FLOPLEDGER_COST_ARCHITECTURES_READ_ARCHITECTURE_H
#define FLOPLEDGER_COST_ARCHITECTURES_READ_ARCHITECTURE_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "base/json/json_tree.h"
#include "cost/architectures/architecture.h"

/* The file at `path`: a config.json, or a capture.json whose main model has one. Errors are
 * ERROR_INPUT and name the file, the key and what is known. */
MUST_USE bool architecture_read(struct architecture *architecture, const char *path,
                                struct error *error);

/* The same from a tree already read; `where` stands for the file in messages. Keeps nothing of
 * the tree. */
MUST_USE bool architecture_from_config(struct architecture *architecture,
                                       const struct json_node *config, const char *where,
                                       struct error *error);

/* ERROR_USAGE where a sample of `tokens`, as `option` has it, is longer than the positions that the
 * model has learned: it could not run so. */
MUST_USE bool architecture_check_tokens(const struct architecture *architecture, const char *option,
                                        int64_t tokens, struct error *error);

/* Longer than what rotary positions were trained on, and nothing stretches them: it runs, but what
 * it says is worth little. */
bool architecture_lacks_positions(const struct architecture *architecture, int64_t tokens);

#endif
