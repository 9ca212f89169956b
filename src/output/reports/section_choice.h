/* Which sections of a report are printed: the names of --section. */
#ifndef FLOPLEDGER_OUTPUT_REPORTS_SECTION_CHOICE_H
#define FLOPLEDGER_OUTPUT_REPORTS_SECTION_CHOICE_H

#include "base/core/attributes.h"
#include "base/core/error.h"

#include <stdbool.h>

/* What the section of this key is called on the command line: "critical-path". */
const char *section_name(const char *key);

/* NULL, or the group it belongs to: "memory". */
const char *section_group(const char *key);

/* Whether `names` (with commas between) name the section: by its name, its key or its group. */
bool section_is_chosen(const char *names, const char *key);

/* False with `error` set (ERROR_USAGE, with the nearest name) where one of them is of no report. */
MUST_USE bool check_section_names(const char *names, struct error *error);

#endif
