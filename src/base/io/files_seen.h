/* Which files and folders an answer is made from: those that were looked at, and those that were
 * looked for and are not there. Each place that opens, lists or looks for a file whose content can
 * change an answer notes it; tests/lint/check_files_seen.py holds that. */
#ifndef FLOPLEDGER_BASE_IO_FILES_SEEN_H
#define FLOPLEDGER_BASE_IO_FILES_SEEN_H

#include "base/core/content_hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <time.h>

/* What a file system says of a path; compared byte by byte, so its padding is zeroed. The change
 * time is the kernel's own: every write sets it, and no program can set it back. */
struct path_facts {
    uint64_t kind; /* S_IFMT of the mode; 0: there is nothing */
    uint64_t inode;
    int64_t bytes;
    int64_t written_s;
    int64_t written_ns;
    int64_t changed_s;
    int64_t changed_ns;
};

struct seen_file {
    char *path;                  /* or a pattern as glob() takes it */
    struct path_facts facts;     /* of a path, when it was noted first */
    struct timespec noted;       /* when that was */
    struct content_hash matches; /* of a pattern, likewise */
    bool is_pattern;
};

/* Zeroed is empty. */
struct files_seen {
    struct seen_file *files; /* [count], each path once */
    size_t count;
    bool is_incomplete; /* something was read that can't be read again: a pipe */
};

/* From now on what files_seen_note() is told is kept, until files_seen_end() takes it. One at a
 * time in a process. */
void files_seen_begin(void);
void files_seen_end(struct files_seen *seen);

/* `path` is looked at now. May be called by several threads; does nothing where nobody asked. */
void files_seen_note(const char *path);
/* Likewise what matches the pattern. */
void files_seen_note_pattern(const char *pattern);

/* Something is read that no path names, or not for good. */
void files_seen_note_unnamed(void);

/* What stands at file->path now: of a file its bytes, of a folder the names in it, of a pattern the
 * names that match, or that there is nothing. False where it is none of these, or can't be read. */
bool seen_file_hash(struct content_hash *hash, const struct seen_file *file,
                    struct content_hash secret, unsigned threads);

struct path_facts path_facts_of(const char *path);

/* Whether nothing has happened to it since it was noted, as far as its times can tell: it was not
 * being written just then, either. */
bool seen_file_is_unchanged(const struct seen_file *file);

/* Whether equal facts tell from `seen` on that the content is equal: no page of it, mapped into a
 * program, could then still be written without a new change time. */
bool path_facts_tell(const struct path_facts *facts, const struct timespec *seen);

void files_seen_clear(struct files_seen *seen);

#endif
