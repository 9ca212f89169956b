/* The documentation that the program holds: `flopledger help PAGE`. */
#ifndef FLOPLEDGER_COMMANDS_HELP_PAGES_H
#define FLOPLEDGER_COMMANDS_HELP_PAGES_H

#include "base/core/arena.h"
#include "base/text/spelling.h"

#include <stdbool.h>
#include <stdio.h>

/* All pages by folder, each with its title. */
void write_help_pages(FILE *output);

/* Writes the page of this name ("ettr", "how-to/ettr" or "docs/how-to/ettr.md"), its links to other
 * pages as names of theirs. False where there is none; the nearest name is then taken into `best`,
 * in the arena. Where several folders have a page of the name, the first of how-to, metrics,
 * formats. */
bool write_help_page(FILE *output, const char *name, struct arena *arena, struct spelling *best);

#endif
