/* What the user asked `flopledger memory` for. */
#ifndef FLOPLEDGER_COMMANDS_MEMORY_SETTINGS_H
#define FLOPLEDGER_COMMANDS_MEMORY_SETTINGS_H

#include "commands/page_options.h"

#include <stdbool.h>
#include <stdint.h>

struct memory_settings {
    struct page_settings page;
    int64_t top;         /* rows of long tables; 0: all */
    int64_t device;      /* -1: all */
    int64_t depth;       /* of modules; -1: all */
    const char *compare; /* the file to compare with: what was before; NULL: none */
    int64_t threads;
    bool shows_progress;
};

#endif
