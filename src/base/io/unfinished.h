/* Files and folders that are half written: they go where memory runs out, as they do after any
 * other error. */
#ifndef FLOPLEDGER_BASE_IO_UNFINISHED_H
#define FLOPLEDGER_BASE_IO_UNFINISHED_H

/* From now on the file or folder at `path` is removed when memory runs out, the newest one first; a
 * folder only if it is empty by then. */
void unfinished_begin(const char *path);

/* It is done, or gone. */
void unfinished_end(const char *path);

#endif
