/* A program through which a terminal shows a long page. */
#ifndef FLOPLEDGER_BASE_IO_PAGER_H
#define FLOPLEDGER_BASE_IO_PAGER_H

#include "base/core/attributes.h"

#include <stdio.h>
#include <sys/types.h>

/* A zeroed pager is none. */
struct pager {
    FILE *stream; /* what is written here is shown; NULL: there is no pager */
    pid_t process;
};

/* Starts the command of PAGER, or less: as git does, with LESS=FRX where LESS is not set, so that a
 * page that fits the screen is just printed. Leaves `pager` empty where PAGER is empty or "cat", on
 * a terminal that can't do it, and where there is no such program. */
void pager_start(struct pager *pager);

/* Waits until the reader has closed the pager. */
void pager_clear(struct pager *pager);

#endif
