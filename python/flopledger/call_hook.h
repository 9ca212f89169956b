/* What stands in the place of one of torch's functions or methods: calls it, and notes what that
 * took. It is what a function is to all who look: it binds as a method, has the attributes of what
 * it stands for, and is pickled by its name. */
#ifndef FLOPLEDGER_PYTHON_CALL_HOOK_H
#define FLOPLEDGER_PYTHON_CALL_HOOK_H

#include "running_step.h"

enum call_hook_kind { HOOK_FETCH, HOOK_BACKWARD, HOOK_ITEM, HOOK_COPY };

/* To be called once before call_hook_new; false with an exception. */
MUST_USE bool prepare_call_hooks(void);

/* A new reference; NULL with an exception. */
PyObject *call_hook_new(enum call_hook_kind kind, struct running_step *running, PyObject *original);

#endif
