/* Reads files and prints one page of what was found in them. */
#ifndef FLOPLEDGER_COMMANDS_PRINT_FILES_H
#define FLOPLEDGER_COMMANDS_PRINT_FILES_H

#include "base/attributes.h"
#include "base/error.h"
#include "commands/input_files.h"
#include "commands/page_options.h"
#include "commands/read_files.h"

#include <stdint.h>

struct printed_page {
    int64_t rank; /* to print in full; -1: the first */
    const struct page_settings *page;
};

/* False where no file could be used, or as judge_files_read says. */
MUST_USE bool print_files(const struct input_files *files, const struct file_reading *reading,
                          const struct printed_page *printed, struct error *error);

#endif
