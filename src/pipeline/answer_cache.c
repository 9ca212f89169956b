/* Answers that are kept: one file for each question, which says what it was made from. */
#include "pipeline/answer_cache.h"

#include "base/core/array.h"
#include "base/io/files_seen.h"
#include "base/io/folders.h"
#include "base/io/half_written.h"
#include "base/io/output_file.h"
#include "base/io/whole_file.h"
#include "base/text/owned_text.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* The number at the end changes with the form of what is kept: an answer of another form is
 * none. */
static const char magic[16] = "flopledger ans2";
static const char name_of_secret[] = "secret";
static const char pattern_of_answers[] = "*.answer";

/* What stands before the results, or the page, in a file, all of fixed length but the message and
 * the inputs. */
struct answer_head {
    char magic[sizeof magic];
    struct content_hash key;
    uint32_t check_class;
    uint32_t input_count;
    uint32_t is_page;
};

/* What stands before the path of each input. */
struct answer_input {
    struct path_facts facts;
    struct content_hash hash;
    uint32_t is_pattern;
    uint32_t do_facts_tell; /* where they are the same, the content is */
};

/* ---- the folder ----------------------------------------------------------------------------- */

/* XDG says that a path which is not absolute is to be ignored. */
char *answer_cache_folder(void)
{
    const char *named = getenv(ANSWER_CACHE_FOLDER_VARIABLE);
    const char *caches = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");

    if (named && *named)
        return text_copy(named);
    if (caches && *caches == '/')
        return path_join(caches, "flopledger");
    return home && *home == '/' ? path_join(home, ".cache/flopledger") : NULL;
}

/* What is no number is taken as not set: a cache must not end a report. */
static int64_t bytes_allowed(void)
{
    const char *wanted = getenv(ANSWER_CACHE_SIZE_VARIABLE);
    long long mib = ANSWER_CACHE_USUAL_MIB;
    char *end;

    if (wanted && *wanted >= '0' && *wanted <= '9') {
        long long number = strtoll(wanted, &end, 10);

        if (!*end && number <= INT32_MAX)
            mib = number;
    }
    return mib << 20;
}

/* O_NOFOLLOW: whoever can put a link into the folder must not choose what is read as the
 * secret. */
static bool read_secret(struct content_hash *secret, const char *path)
{
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    bool is_read = file >= 0 && read(file, secret, sizeof *secret) == (ssize_t)sizeof *secret;

    if (file >= 0)
        close(file);
    return is_read;
}

/* Whoever comes first makes it: a link appears whole, and never over another. */
static bool make_secret(struct content_hash *secret, const char *path)
{
    char *temporary = half_written_name(path);
    bool is_made;
    int file;

    half_written_sweep(path);
    file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    is_made = file >= 0 && half_written_hold(file) &&
              getrandom(secret, sizeof *secret, 0) == (ssize_t)sizeof *secret &&
              write(file, secret, sizeof *secret) == (ssize_t)sizeof *secret;
    if (is_made && link(temporary, path) != 0)
        is_made = errno == EEXIST && read_secret(secret, path);
    if (file >= 0) {
        (void)unlink(temporary);
        close(file);
    }
    free(temporary);
    return is_made;
}

static bool answer_cache_cannot(const char *folder, const char *why, struct error *error)
{
    return error_set(error, ERROR_FAILURE,
                     "cannot keep answers in '%s': %s; name another folder in "
                     "$" ANSWER_CACHE_FOLDER_VARIABLE ", or ask with --no-cache",
                     folder, why);
}

/* What lies in a folder that others may write to is theirs. The mask is of this process for a
 * moment only, so that folders made on the way are closed to others whatever the user's own mask
 * is. */
static bool make_own_folder(char *folder, struct error *error)
{
    struct stat facts;
    mode_t mask = umask(077);
    bool is_made = make_folders(folder);

    (void)umask(mask);
    if (!is_made || stat(folder, &facts) != 0)
        return answer_cache_cannot(folder, strerror(errno), error);
    if (!S_ISDIR(facts.st_mode))
        return answer_cache_cannot(folder, strerror(ENOTDIR), error);
    if (facts.st_uid != geteuid() || (facts.st_mode & (S_IWGRP | S_IWOTH)))
        return answer_cache_cannot(folder, "other users may write to it", error);
    return true;
}

/* The secret is what every hash begins with. Without it anybody who knows the program could
 * make a file whose hash is right; with it, only who can read the folder, which belongs to the
 * user alone. */
bool answer_cache_open(struct answer_cache *cache, struct error *error)
{
    char *folder = answer_cache_folder();
    char *secret;
    bool is_open;

    if (!folder)
        return error_set(error, ERROR_USAGE,
                         "--cache needs a folder: name one in $" ANSWER_CACHE_FOLDER_VARIABLE);
    secret = path_join(folder, name_of_secret);
    is_open = make_own_folder(folder, error);
    if (is_open && !read_secret(&cache->secret, secret) && !make_secret(&cache->secret, secret))
        is_open = answer_cache_cannot(folder, strerror(errno), error);
    free(secret);
    if (is_open)
        cache->folder = folder;
    else
        free(folder);
    return is_open;
}

/* ---- the question --------------------------------------------------------------------------- */

/* The key is of everything that the answer depends on but the content of the files: the program
 * itself (by inode, size and times, so that a new build asks anew), the folder in which relative
 * paths are read, and the question. The inputs are checked when the answer is found, for which
 * of them are read is known only after it was made once. */
void answer_cache_ask(struct answer_cache *cache, const struct bytes *question, unsigned threads)
{
    const struct path_facts program = path_facts_of("/proc/self/exe");
    char folder[PATH_MAX] = "";

    if (!cache->folder)
        return;
    cache->threads = threads;
    if (program.kind == 0 || !getcwd(folder, sizeof folder)) {
        answer_cache_clear(cache);
        return;
    }
    cache->key = content_hash_of(&program, sizeof program, cache->secret);
    cache->key = content_hash_of(folder, strlen(folder) + 1, cache->key);
    cache->key = content_hash_of(question->bytes, question->length, cache->key);
}

static char *path_of_answer(const struct answer_cache *cache)
{
    return text_format("%s/%016llx%016llx.answer", cache->folder,
                       (unsigned long long)cache->key.words[0],
                       (unsigned long long)cache->key.words[1]);
}

/* All of it, and its hash behind it. Under another name first: nobody sees it half written, and of
 * two writers one stays. */
static void write_answer(const struct answer_cache *cache, const unsigned char *answer,
                         size_t length)
{
    struct content_hash end = content_hash_of(answer, length, cache->secret);
    char *path = path_of_answer(cache);
    SCOPED(output_file) file = {0};
    struct error ignored = {0};

    if (output_file_open(&file, path, &ignored) &&
        fwrite(answer, 1, length, file.stream) == length &&
        fwrite(&end, 1, sizeof end, file.stream) == sizeof end)
        (void)!output_file_close(&file, &ignored);
    free(path);
}

/* ---- finding -------------------------------------------------------------------------------- */

/* A file's bytes, and how far they are read. */
struct answer_reading {
    unsigned char *bytes; /* in the arena of the results: their texts lie in it */
    size_t length;
    size_t at;
};

/* The subtraction cannot wrap: `at` never passes `length`. */
static const void *next_bytes(struct answer_reading *reading, size_t length)
{
    const void *bytes = reading->bytes + reading->at;

    if (length > reading->length - reading->at)
        return NULL;
    reading->at += length;
    return bytes;
}

/* Up to its NUL. Without a NUL before the end, the length is one more than what is left, and
 * next_bytes refuses it. */
static const char *next_text(struct answer_reading *reading)
{
    const char *text = (const char *)reading->bytes + reading->at;
    size_t length = strnlen(text, reading->length - reading->at);

    return next_bytes(reading, length + 1);
}

/* All of it, where it is whole and made with this folder's secret. Looked at as a whole before
 * anything in it is believed: the hash behind it covers everything, so that a cut, damaged or
 * forged file is the same as none, and the answer is made again. */
static bool read_kept_answer(struct answer_reading *reading, const struct answer_cache *cache,
                             struct results *results)
{
    char *path = path_of_answer(cache);
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    const size_t end_bytes = sizeof(struct content_hash);
    struct content_hash written;
    struct stat facts;
    bool is_read = false;

    if (file >= 0 && fstat(file, &facts) == 0 && S_ISREG(facts.st_mode) &&
        facts.st_size >= (off_t)(sizeof(struct answer_head) + end_bytes) &&
        facts.st_size <= WHOLE_FILE_BYTES_MAX) {
        reading->length = (size_t)facts.st_size;
        reading->bytes = results_allocate(results, reading->length);
        is_read = read(file, reading->bytes, reading->length) == facts.st_size;
        (void)futimens(file, NULL); /* what was used last is removed last */
    }
    if (file >= 0)
        close(file);
    free(path);
    if (!is_read)
        return false;
    reading->length -= end_bytes;
    memcpy(&written, reading->bytes + reading->length, end_bytes);
    return content_hash_equals(written,
                               content_hash_of(reading->bytes, reading->length, cache->secret));
}

/* Whether the content at `path` is what it was; *input gets the facts of now where they are of use
 * from now on. Facts first (size, inode, times), which cost one system call; the content only
 * where facts do not tell. They do not where a file was changed so shortly before it was noted
 * that a second change could have left the same time. Once the content was compared and time has
 * passed, the facts of now are kept, so that the next look is a cheap one. */
static bool is_input_same(struct answer_input *input, const char *path,
                          const struct answer_cache *cache)
{
    struct seen_file file = {.path = (char *)(uintptr_t)path, .is_pattern = input->is_pattern};
    struct path_facts facts = {0};
    struct content_hash hash;
    struct timespec now = {0};

    if (!input->is_pattern) {
        clock_gettime(CLOCK_REALTIME, &now);
        facts = path_facts_of(path);
        if (input->do_facts_tell && memcmp(&facts, &input->facts, sizeof facts) == 0)
            return true;
    }
    if (!seen_file_hash(&hash, &file, cache->secret, cache->threads) ||
        !content_hash_equals(hash, input->hash))
        return false;
    if (!input->is_pattern && path_facts_tell(&facts, &now)) {
        input->facts = facts;
        input->do_facts_tell = true;
    }
    return true;
}

/* All that the answer was made from is as it was; *is_news where more is known of it now. */
static bool are_inputs_same(struct answer_reading *reading, uint32_t count,
                            const struct answer_cache *cache, bool *is_news)
{
    for (uint32_t i = 0; i < count; i++) {
        unsigned char *at = reading->bytes + reading->at;
        struct answer_input input;
        const char *path;

        if (!next_bytes(reading, sizeof input))
            return false;
        memcpy(&input, at, sizeof input);
        path = next_text(reading);
        if (!path || !is_input_same(&input, path, cache))
            return false;
        *is_news = *is_news || memcmp(at, &input, sizeof input) != 0;
        memcpy(at, &input, sizeof input);
    }
    return true;
}

/* A file with the right name may still be of another question, by a collision of the shortened
 * key: the whole key is compared. If results cannot be read from it, they are emptied again,
 * and the caller makes them as if nothing had been kept. */
bool answer_cache_find(struct answer_cache *cache, struct results *results,
                       struct finished_page *page, struct error *check)
{
    struct answer_reading reading = {.at = 0};
    struct answer_head head;
    const void *bytes;
    const char *message;
    bool is_news = false;

    if (!cache->folder || !read_kept_answer(&reading, cache, results))
        return false;
    bytes = next_bytes(&reading, sizeof head);
    message = bytes ? next_text(&reading) : NULL;
    if (!message)
        return false;
    memcpy(&head, bytes, sizeof head);
    if (memcmp(head.magic, magic, sizeof magic) != 0 ||
        !content_hash_equals(head.key, cache->key) ||
        !are_inputs_same(&reading, head.input_count, cache, &is_news))
        return false;
    /* Times of files changed and their content did not: noted, so that the next look need not
     * read them. */
    if (is_news)
        write_answer(cache, reading.bytes, reading.length);
    if (head.is_page) {
        page->text = (const char *)reading.bytes + reading.at;
        page->length = reading.length - reading.at;
    } else if (!results_from_bytes(results, reading.bytes + reading.at,
                                   reading.length - reading.at)) {
        *results = (struct results){.arena = results->arena};
        return false;
    }
    if (head.check_class != ERROR_NONE)
        (void)error_set(check, (enum error_class)head.check_class, "%s", message);
    return true;
}

/* ---- keeping -------------------------------------------------------------------------------- */

/* From here on each file that is opened is noted: an answer holds as long as they are the
 * same. */
void answer_cache_watch(struct answer_cache *cache)
{
    if (!cache->folder)
        return;
    cache->is_watching = true;
    files_seen_begin();
}

/* False where an input may have changed while it was read, or can't be looked at again. Each
 * input is hashed after it was read, and refused if it changed since it was first seen: an
 * answer of half the old and half the new content must never be kept. */
static bool add_inputs(struct bytes *to, const struct files_seen *seen,
                       const struct answer_cache *cache)
{
    for (size_t i = 0; i < seen->count; i++) {
        const struct seen_file *file = &seen->files[i];
        struct answer_input input = {.facts = file->facts,
                                     .is_pattern = file->is_pattern,
                                     .do_facts_tell = !file->is_pattern &&
                                                      path_facts_tell(&file->facts, &file->noted)};

        if (!seen_file_hash(&input.hash, file, cache->secret, cache->threads) ||
            !seen_file_is_unchanged(file))
            return false;
        bytes_add(to, &input, sizeof input);
        bytes_add(to, file->path, strlen(file->path) + 1);
    }
    return !seen->is_incomplete;
}

struct kept_file {
    char *path; /* of the list that it was found in */
    int64_t bytes;
    struct timespec used;
};

/* By the time of last use, which finding an answer sets. */
static int compare_use(const void *a, const void *b)
{
    const struct kept_file *first = a;
    const struct kept_file *second = b;

    if (first->used.tv_sec != second->used.tv_sec)
        return first->used.tv_sec < second->used.tv_sec ? -1 : 1;
    return (first->used.tv_nsec > second->used.tv_nsec) -
           (first->used.tv_nsec < second->used.tv_nsec);
}

/* What killed writers left. A name being written is "KEY.answer.PID…": cut back to the name
 * itself, whose leftovers are then swept. */
static void remove_half_written_answers(const char *folder)
{
    glob_t found;

    find_paths(&found, folder, "*.answer.*");
    for (size_t i = 0; i < found.gl_pathc; i++) {
        strstr(strrchr(found.gl_pathv[i], '/'), ".answer.")[sizeof ".answer" - 1] = '\0';
        half_written_sweep(found.gl_pathv[i]);
    }
    globfree(&found);
}

/* What is kept in the folder. `found` is to be freed by globfree, what is handed back by free. */
static struct kept_file *find_kept(const char *folder, glob_t *found,
                                   struct answer_cache_size *size)
{
    struct kept_file *files = NULL;

    *size = (struct answer_cache_size){.bytes_max = bytes_allowed()};
    find_paths(found, folder, pattern_of_answers);
    for (size_t i = 0; i < found->gl_pathc; i++) {
        struct stat facts;

        if (stat(found->gl_pathv[i], &facts) != 0)
            continue;
        ARRAY_ADD(files, size->count,
                  (struct kept_file){found->gl_pathv[i], facts.st_size, facts.st_mtim});
        size->bytes += facts.st_size;
    }
    return files;
}

/* Down to three quarters of the limit, so that not every answer has to do it. */
static void remove_oldest(const char *folder)
{
    struct answer_cache_size size;
    struct kept_file *files;
    glob_t found;

    remove_half_written_answers(folder);
    files = find_kept(folder, &found, &size);
    if (files && size.bytes > size.bytes_max) {
        qsort(files, size.count, sizeof *files, compare_use);
        for (size_t i = 0; i < size.count && size.bytes > size.bytes_max / 4 * 3; i++) {
            (void)unlink(files[i].path);
            size.bytes -= files[i].bytes;
        }
    }
    free(files);
    globfree(&found);
}

/* An answer of more than a quarter of the whole would push out all others. */
void answer_cache_keep(struct answer_cache *cache, const struct results *results,
                       const struct finished_page *page, const struct error *check)
{
    SCOPED(files_seen) seen = {.count = 0};
    struct bytes answer = {0};
    struct answer_head head = {
        .key = cache->key, .check_class = (uint32_t)check->class, .is_page = page->text != NULL};

    if (!cache->is_watching)
        return;
    cache->is_watching = false;
    files_seen_end(&seen);
    memcpy(head.magic, magic, sizeof magic);
    head.input_count = (uint32_t)seen.count;
    bytes_add(&answer, &head, sizeof head);
    bytes_add(&answer, check->message, strlen(check->message) + 1);
    if (add_inputs(&answer, &seen, cache)) {
        if (page->text)
            bytes_add(&answer, page->text, page->length);
        else
            results_to_bytes(&answer, results);
        if ((int64_t)answer.length <= bytes_allowed() / 4 && answer.length < WHOLE_FILE_BYTES_MAX) {
            write_answer(cache, answer.bytes, answer.length);
            remove_oldest(cache->folder);
        }
    }
    bytes_clear(&answer);
}

/* A question that ended early still watches: what was seen is taken over and forgotten, or the
 * next question would have it as well. */
void answer_cache_clear(struct answer_cache *cache)
{
    SCOPED(files_seen) seen = {.count = 0};

    if (!cache)
        return;
    if (cache->is_watching)
        files_seen_end(&seen);
    free(cache->folder);
    *cache = (struct answer_cache){0};
}

/* ---- looking after it ----------------------------------------------------------------------- */

struct answer_cache_size answer_cache_measure(const char *folder)
{
    struct answer_cache_size size;
    glob_t found;

    free(find_kept(folder, &found, &size));
    globfree(&found);
    return size;
}

/* The secret goes, too: what may still be written under the old one is worthless then. */
bool answer_cache_remove_all(const char *folder, struct answer_cache_size *size,
                             struct error *error)
{
    static const char *const patterns[] = {pattern_of_answers, name_of_secret};
    bool is_done = true;

    *size = answer_cache_measure(folder);
    remove_half_written_answers(folder);
    for (int p = 0; p < 2; p++) {
        glob_t found;

        find_paths(&found, folder, patterns[p]);
        for (size_t i = 0; i < found.gl_pathc && is_done; i++) {
            if (unlink(found.gl_pathv[i]) != 0 && errno != ENOENT)
                is_done = error_set(error, ERROR_FAILURE, "cannot remove '%s': %s",
                                    found.gl_pathv[i], strerror(errno));
        }
        globfree(&found);
    }
    return is_done;
}
