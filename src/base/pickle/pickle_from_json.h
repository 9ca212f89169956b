/* JSON as a tree of plain data, for formats that are written as pickle and as JSON alike. */
#ifndef FLOPLEDGER_BASE_PICKLE_PICKLE_FROM_JSON_H
#define FLOPLEDGER_BASE_PICKLE_PICKLE_FROM_JSON_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "base/pickle/pickle_tree.h"

#include <stddef.h>

/* Reads `length` bytes of JSON; `tree` must be zeroed: objects are dicts, arrays lists, null None.
 * Errors (ERROR_INPUT): no JSON, nested too deep. */
MUST_USE bool pickle_tree_from_json(struct pickle_tree *tree, const char *text, size_t length,
                                    struct error *error);

#endif
