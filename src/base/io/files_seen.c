/* Which files and folders an answer is made from. */
#include "base/io/files_seen.h"

#include "base/core/array.h"
#include "base/core/bytes.h"
#include "base/core/string_pool.h"
#include "base/core/worker_threads.h"
#include "base/text/owned_text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static atomic_bool is_asked;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct files_seen noted;
static struct string_pool noted_paths;

/* Names, not content: what a pattern finds is an input of its own, and each file found is
 * noted by whoever reads it. */
static struct content_hash hash_matches(const char *pattern, struct content_hash secret)
{
    struct bytes names = {0};
    struct content_hash hash;
    glob_t found = {0};

    if (glob(pattern, 0, NULL, &found) != 0)
        found.gl_pathc = 0;
    for (size_t i = 0; i < found.gl_pathc; i++)
        bytes_add(&names, found.gl_pathv[i], strlen(found.gl_pathv[i]) + 1);
    hash = content_hash_of(names.bytes, names.length, secret);
    bytes_clear(&names);
    globfree(&found);
    return hash;
}

/* ---- noting --------------------------------------------------------------------------------- */

void files_seen_begin(void)
{
    files_seen_clear(&noted);
    string_pool_clear(&noted_paths);
    atomic_store(&is_asked, true);
}

/* Under the lock to its end: another thread may be about to note a file, and must find either
 * the old list or none. */
void files_seen_end(struct files_seen *seen)
{
    pthread_mutex_lock(&lock);
    atomic_store(&is_asked, false);
    *seen = noted;
    noted = (struct files_seen){0};
    string_pool_clear(&noted_paths);
    pthread_mutex_unlock(&lock);
}

/* Each path once, at its first look: later ones may see what has changed since. */
static void note_seen(const char *path, bool is_pattern)
{
    struct seen_file file = {.is_pattern = is_pattern};
    size_t known_count;

    if (!atomic_load(&is_asked))
        return;
    pthread_mutex_lock(&lock);
    known_count = string_pool_count(&noted_paths);
    (void)string_pool_add(&noted_paths, path, strlen(path));
    if (strcmp(path, "-") == 0) {
        noted.is_incomplete = true;
    } else if (string_pool_count(&noted_paths) > known_count) {
        file.path = text_copy(path);
        if (is_pattern)
            file.matches = hash_matches(path, (struct content_hash){{0}});
        file.facts = path_facts_of(path);
        clock_gettime(CLOCK_REALTIME, &file.noted);
        ARRAY_ADD(noted.files, noted.count, file);
    }
    pthread_mutex_unlock(&lock);
}

void files_seen_note(const char *path)
{
    note_seen(path, false);
}

void files_seen_note_pattern(const char *pattern)
{
    note_seen(pattern, true);
}

void files_seen_note_unnamed(void)
{
    if (!atomic_load(&is_asked))
        return;
    pthread_mutex_lock(&lock);
    noted.is_incomplete = true;
    pthread_mutex_unlock(&lock);
}

/* ---- what a file system says ---------------------------------------------------------------- */

struct path_facts path_facts_of(const char *path)
{
    struct path_facts facts = {0};
    struct stat status;
    int file = -1;

    if (stat(path, &status) != 0)
        return facts;
    /* across a network, what stat() says may be minutes old; open() asks */
    if (S_ISREG(status.st_mode))
        file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file >= 0) {
        (void)fstat(file, &status);
        close(file);
    }
    facts = (struct path_facts){.kind = status.st_mode & S_IFMT,
                                .inode = status.st_ino,
                                .bytes = status.st_size,
                                .written_s = status.st_mtim.tv_sec,
                                .written_ns = status.st_mtim.tv_nsec,
                                .changed_s = status.st_ctim.tv_sec,
                                .changed_ns = status.st_ctim.tv_nsec};
    return facts;
}

/* By the time of change (ctime), which no program can set, as it can the time of writing. */
static double since_change_s(const struct path_facts *facts, const struct timespec *seen)
{
    return (double)(seen->tv_sec - facts->changed_s) +
           (double)(seen->tv_nsec - facts->changed_ns) * 1e-9;
}

bool path_facts_tell(const struct path_facts *facts, const struct timespec *seen)
{
    /* the kernel writes mapped pages back after 30 s, and sees the next store to them */
    const double written_back_s = 60;

    return facts->kind == 0 || since_change_s(facts, seen) > written_back_s;
}

bool seen_file_is_unchanged(const struct seen_file *file)
{
    /* File systems keep times in ticks of the kernel's clock, some in seconds: what was written
     * within the tick in which it was read shows no other time. */
    const double tick_s = file->facts.changed_ns == 0 ? 2 : 0.02;
    struct path_facts facts;

    if (file->is_pattern)
        return content_hash_equals(hash_matches(file->path, (struct content_hash){{0}}),
                                   file->matches);
    facts = path_facts_of(file->path);
    return memcmp(&facts, &file->facts, sizeof facts) == 0 &&
           (facts.kind == 0 || since_change_s(&facts, &file->noted) > tick_s);
}

void files_seen_clear(struct files_seen *seen)
{
    if (!seen)
        return;
    for (size_t i = 0; i < seen->count; i++)
        free(seen->files[i].path);
    free(seen->files);
    *seen = (struct files_seen){0};
}

/* ---- what stands at a path ------------------------------------------------------------------ */

enum { PIECE_BYTES = 1 << 20, READ_BYTES = 128 << 10 };

/* A file whose pieces are hashed side by side. */
struct hashed_file {
    int file;
    size_t bytes;
    struct content_hash secret;
    struct content_hash *pieces; /* [so many as there are] */
    atomic_bool has_failed;
};

/* Pieces are hashed by several threads, and their hashes as one list then: the result does not
 * depend on which thread took which. */
static void hash_piece(void *argument, size_t index)
{
    struct hashed_file *hashed = argument;
    size_t first = index * PIECE_BYTES;
    size_t end = hashed->bytes - first < PIECE_BYTES ? hashed->bytes : first + PIECE_BYTES;
    struct content_hash hash = hashed->secret;
    unsigned char buffer[READ_BYTES];

    while (first < end) {
        size_t wanted = end - first < sizeof buffer ? end - first : sizeof buffer;
        ssize_t count = pread(hashed->file, buffer, wanted, (off_t)first);

        if (count != (ssize_t)wanted) { /* files are read in full, unless they became shorter */
            atomic_store(&hashed->has_failed, true);
            return;
        }
        hash = content_hash_of(buffer, wanted, hash);
        first += wanted;
    }
    hashed->pieces[index] = hash;
}

/* Below eight pieces threads would cost more than they save. The size is hashed as well. */
static bool hash_file(struct content_hash *hash, const char *path, struct content_hash secret,
                      unsigned threads)
{
    struct hashed_file hashed = {.file = open(path, O_RDONLY | O_CLOEXEC), .secret = secret};
    struct stat facts;
    size_t count;

    if (hashed.file < 0)
        return false;
    if (fstat(hashed.file, &facts) != 0 || !S_ISREG(facts.st_mode)) {
        close(hashed.file);
        return false;
    }
    hashed.bytes = (size_t)facts.st_size;
    count = (hashed.bytes + PIECE_BYTES - 1) / PIECE_BYTES;
    hashed.pieces = require_memory(calloc(count + 1, sizeof *hashed.pieces));
    hashed.pieces[count].words[0] = hashed.bytes;
    run_side_by_side(count < 8 ? 1 : threads, count, hash_piece, &hashed);
    *hash = content_hash_of(hashed.pieces, (count + 1) * sizeof *hashed.pieces, secret);
    free(hashed.pieces);
    close(hashed.file);
    return !atomic_load(&hashed.has_failed);
}

/* Names in order, each with its end: two folders have one hash only where they have the same
 * names. What the files hold has hashes of its own. */
static bool hash_folder(struct content_hash *hash, const char *path, struct content_hash secret)
{
    struct bytes names = {0};
    struct dirent **entries;
    int count = scandir(path, &entries, NULL, alphasort);

    if (count < 0)
        return false;
    for (int i = 0; i < count; i++) {
        bytes_add(&names, entries[i]->d_name, strlen(entries[i]->d_name) + 1);
        free(entries[i]);
    }
    free(entries);
    bytes_add(&names, "folder", sizeof "folder");
    *hash = content_hash_of(names.bytes, names.length, secret);
    bytes_clear(&names);
    return true;
}

/* A missing file has a hash, too: that it is still missing is what is asked. Any other error
 * is no answer. */
bool seen_file_hash(struct content_hash *hash, const struct seen_file *file,
                    struct content_hash secret, unsigned threads)
{
    struct stat facts;

    if (file->is_pattern) {
        *hash = hash_matches(file->path, secret);
        return true;
    }
    if (stat(file->path, &facts) != 0) {
        *hash = content_hash_of("missing", sizeof "missing", secret);
        return errno == ENOENT || errno == ENOTDIR;
    }
    return S_ISDIR(facts.st_mode) ? hash_folder(hash, file->path, secret)
                                  : hash_file(hash, file->path, secret, threads);
}
