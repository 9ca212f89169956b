/* Whether the advice tells of an optimizer that handles one tensor at a time: its range is no
 * finding of its own then. */
#ifndef FLOPLEDGER_SECTIONS_ADVICE_SINGLE_TENSORS_H
#define FLOPLEDGER_SECTIONS_ADVICE_SINGLE_TENSORS_H

#include "sections/advice/advice_rule.h"

#include <stdbool.h>

bool handles_single_tensors(struct advice_case *advice);

#endif
