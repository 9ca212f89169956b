/* Files and folders while they are written: their names, what a killed process left of them, and
 * that they go where memory runs out. */
#include "base/io/half_written.h"

#include "base/core/invariant.h"
#include "base/core/out_of_memory.h"
#include "base/text/owned_text.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* No other program ends names like this: whatever does is ours. */
static const char ending[] = ".flopledger-part";

enum { FOLDERS_OPEN_AT_ONCE = 16 };

char *half_written_name(const char *place)
{
    return text_format("%s.%ld%s", place, (long)getpid(), ending);
}

/* A lock belongs to the open file, and is gone with the process however it ends: what is not
 * locked is abandoned. Between the making and the locking another process may have swept it
 * away: then the link count is 0, and the caller makes it anew. */
bool half_written_hold(int descriptor)
{
    struct stat status;

    if (flock(descriptor, LOCK_EX | LOCK_NB) != 0)
        return errno != EWOULDBLOCK; /* no locks here: nobody takes it for abandoned, either */
    return fstat(descriptor, &status) != 0 || status.st_nlink > 0;
}

/* "page.html.4711.flopledger-part", where `stem` is "page.html". */
static bool is_half_written(const char *name, const char *stem)
{
    size_t length = strlen(stem);

    if (strncmp(name, stem, length) != 0 || name[length] != '.' ||
        !isdigit((unsigned char)name[length + 1]))
        return false;
    for (name += length + 1; isdigit((unsigned char)*name);)
        name++;
    return strcmp(name, ending) == 0;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place)
{
    (void)status;
    (void)type;
    (void)place;
    (void)remove(path);
    return 0;
}

/* Taking the lock is the test: who has it may remove. FTW_PHYS follows no link out of the
 * folder. */
static void remove_unheld(const char *path)
{
    int descriptor = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

    if (descriptor < 0 && errno == EISDIR)
        descriptor = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (descriptor < 0)
        return;
    if (flock(descriptor, LOCK_EX | LOCK_NB) == 0)
        (void)nftw(path, remove_one, FOLDERS_OPEN_AT_ONCE, FTW_DEPTH | FTW_PHYS);
    close(descriptor);
}

/* Left by programs that were killed: who still writes holds a lock on its file, so that only
 * files of nobody go. */
void half_written_sweep(const char *place)
{
    const char *slash = strrchr(place, '/');
    const char *stem = slash ? slash + 1 : place;
    char *folder = slash ? text_format("%.*s", (int)(slash - place) + 1, place) : text_copy("./");
    DIR *entries = opendir(folder);
    const struct dirent *entry;

    while (entries && (entry = readdir(entries)) != NULL)
        if (is_half_written(entry->d_name, stem)) {
            char *path = text_format("%s%s", folder, entry->d_name);

            remove_unheld(path);
            free(path);
        }
    if (entries)
        closedir(entries);
    free(folder);
}

struct unfinished {
    struct unfinished *earlier;
    char path[];
};

static struct unfinished *newest;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Takes no memory, and waits for nobody: a thread that holds the lock may be the one that ends. No
 * memory is taken under the lock, so that this is next to never so. */
static void remove_all(void)
{
    if (pthread_mutex_trylock(&lock) != 0)
        return;
    for (const struct unfinished *one = newest; one; one = one->earlier)
        (void)remove(one->path);
}

/* Noted before a file is written, so that a program that runs out of memory can remove what it
 * leaves. */
void unfinished_begin(const char *path)
{
    size_t bytes = strlen(path) + 1;
    struct unfinished *one = require_memory(malloc(sizeof *one + bytes));

    memcpy(one->path, path, bytes);
    pthread_mutex_lock(&lock);
    one->earlier = newest;
    newest = one;
    out_of_memory_cleanup(remove_all);
    pthread_mutex_unlock(&lock);
}

/* The list is short, a file or two, so that it is walked. */
void unfinished_end(const char *path)
{
    struct unfinished *found = NULL;

    pthread_mutex_lock(&lock);
    for (struct unfinished **one = &newest; *one && !found; one = &(*one)->earlier)
        if (strcmp((*one)->path, path) == 0) {
            found = *one;
            *one = found->earlier;
            break;
        }
    pthread_mutex_unlock(&lock);
    free(found);
}
