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

#endif
