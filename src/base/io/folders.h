/* Folders that are made where they are missing. */
#ifndef FLOPLEDGER_BASE_IO_FOLDERS_H
#define FLOPLEDGER_BASE_IO_FOLDERS_H

#include <stdbool.h>

/* Makes the folder and those it is in. False with errno set where one cannot be made. `path` is
 * written to meanwhile, and comes back as it was. */
bool make_folders(char *path);

#endif
