/* Folders that are made where they are missing, and what lies in them. */
#ifndef FLOPLEDGER_BASE_IO_FOLDERS_H
#define FLOPLEDGER_BASE_IO_FOLDERS_H

#include <glob.h>
#include <stdbool.h>

/* Makes the folder and those it is in. False with errno set where one cannot be made. `path` is
 * written to meanwhile, and comes back as it was. */
bool make_folders(char *path);

/* Paths below `folder`, which is taken as it is, that match `pattern`, which is glob's; sorted by
 * name, none where nothing matches or can be read. Freed by globfree(). */
void find_paths(glob_t *found, const char *folder, const char *pattern);
/* The only one of them, to be freed; NULL where there is none, or more than one. A folder that is
 * asked for again and again is listed once, as long as nothing in it changes. Any thread may call
 * it. */
char *find_only_path(const char *folder, const char *pattern);
/* Of them only the folders. */
void find_folders(glob_t *found, const char *folder, const char *pattern);

#endif
