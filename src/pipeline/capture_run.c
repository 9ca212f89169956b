/* The folder of a recorded run, the traces in it, and the Python package that writes them. */
#include "pipeline/capture_run.h"

#include "base/core/arena.h"
#include "base/core/attributes.h"
#include "base/core/error.h"
#include "base/core/out_of_memory.h"
#include "base/io/folders.h"
#include "base/io/packed_folder.h"
#include "base/text/owned_text.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- where this program is ------------------------------------------------------------------- */

/* Asks the kernel where this program was loaded from: /proc, or where that is not mounted (chroots,
 * some containers) what it was started as. */

/* The folder of this program, without links and without a slash at the end. False where the system
 * does not tell. */
static bool find_program_folder(char folder[PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", folder, PATH_MAX - 1);
    const char *started_as = (const char *)(uintptr_t)getauxval(AT_EXECFN);
    char *slash;

    if (length > 0)
        folder[length] = '\0';
    else if (!started_as || !realpath(started_as, folder))
        return false;
    slash = strrchr(folder, '/');
    if (!slash)
        return false;
    *slash = '\0';
    return true;
}

/* ---- the recorder, unpacked ------------------------------------------------------------------ */

/* Unpacks the recorder that is part of the program.
 *
 * Its folder is named by what it holds, so a newer program never meets an older recorder. Each file
 * is written beside its place and then put there at once: processes that start together do the same
 * work twice and end with the same files, and a file that is there in its full size is a whole one.
 * Nothing is taken from a folder that somebody else could have written to. */

/* True where this program holds a recorder: one that is installed has it beside itself. */
static bool has_packed_recorder(void)
{
    return packed_recorder.count > 0;
}

/* `name` below `folder`; false where that is too long for a path. */
static bool join(char path[PATH_MAX], const char *folder, const char *name)
{
    int length = snprintf(path, PATH_MAX, "%s/%s", folder, name);

    if (length > 0 && length < PATH_MAX)
        return true;
    errno = ENAMETOOLONG;
    return false;
}

/* Ours, and nobody else may write to it. lstat: a link to a folder of ours, in a place where
 * others write, could be turned elsewhere between the check and the use. */
static bool is_private(const char *folder)
{
    struct stat found;

    if (lstat(folder, &found) != 0)
        return false;
    if (S_ISDIR(found.st_mode) && found.st_uid == geteuid() && (found.st_mode & 022) == 0)
        return true;
    errno = EPERM;
    return false;
}

/* write() may take less than it was given, and a signal may interrupt it. */
static bool unpacked_recorder_write_bytes(int file, const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t written = write(file, bytes, count);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        bytes += written;
        count -= (size_t)written;
    }
    return true;
}

/* The size tells, since a file only ever appears whole, by rename, in a folder named by the
 * hash of what it holds. */
static bool unpacked_recorder_is_whole(const char *path, size_t bytes)
{
    struct stat found;

    return lstat(path, &found) == 0 && S_ISREG(found.st_mode) && (size_t)found.st_size == bytes;
}

/* The name beside it has the number of the process: of two that unpack at once each writes its
 * own, and the last rename wins with the same bytes. */
static bool unpacked_recorder_write_file(const char *path, const char *bytes, size_t count)
{
    char beside[PATH_MAX];
    int file;
    bool is_written;

    if (snprintf(beside, sizeof beside, "%s.%ld", path, (long)getpid()) >= PATH_MAX)
        return false;
    file = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (file < 0)
        return false;
    is_written = unpacked_recorder_write_bytes(file, bytes, count);
    if (close(file) != 0)
        is_written = false;
    if (is_written && rename(beside, path) == 0)
        return true;
    unlink(beside);
    return false;
}

static bool make_folder_of(const char *path)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');

    memcpy(folder, path, (size_t)(slash - path));
    folder[slash - path] = '\0';
    return make_folders(folder);
}

/* A file that is there whole is left alone: another process of the job may be importing it. */
static bool unpack_into(const char *folder)
{
    char *whole = packed_folder_unpack(&packed_recorder);
    bool is_done = true;

    for (size_t i = 0; is_done && i < packed_recorder.count; i++) {
        const struct packed_file *file = &packed_recorder.files[i];
        char path[PATH_MAX];

        is_done = join(path, folder, file->name) &&
                  (unpacked_recorder_is_whole(path, file->bytes) ||
                   (make_folder_of(path) &&
                    unpacked_recorder_write_file(path, whole + file->at, file->bytes)));
    }
    free(whole);
    return is_done;
}

/* A folder for it, by name; the places are tried in this order. Cache of the user, then home,
 * then a temporary folder named by the user's number: in that one others may have made the name
 * before, which is_private finds out. */
static bool name_place(int place, char path[PATH_MAX])
{
    const char *folder = getenv(place == 0 ? "XDG_CACHE_HOME" : place == 1 ? "HOME" : "TMPDIR");
    int length = 0;

    if (!folder || folder[0] != '/') {
        if (place < 2)
            return false;
        folder = "/tmp";
    }
    if (place < 2)
        length = snprintf(path, PATH_MAX, "%s%s/flopledger", folder, place == 0 ? "" : "/.cache");
    else
        length = snprintf(path, PATH_MAX, "%s/flopledger-%ld", folder, (long)geteuid());
    return length < PATH_MAX;
}

/* Parent and folder have to be private both: whoever may write to the parent could replace the
 * folder. */
static bool unpack_at(int place, char start[PATH_MAX])
{
    char parent[PATH_MAX];
    char folder[PATH_MAX];
    mode_t before;
    bool is_done;

    if (!name_place(place, parent) || !join(folder, parent, packed_recorder.key))
        return false;
    before = umask(022);
    is_done = make_folders(folder) && is_private(parent) && is_private(folder) &&
              unpack_into(folder) && join(start, folder, "flopledger/start");
    umask(before);
    return is_done;
}

/* The folder of sitecustomize.py, unpacked below the user's cache, or below /tmp where that cannot
 * be written. Complete when it comes back, however many processes do the same. NULL with `error`
 * set where there is no place for it. Homes of batch jobs are often read-only or missing: the
 * first place that works is taken. */
static const char *unpack_recorder(struct arena *arena, struct error *error)
{
    char start[PATH_MAX];

    for (int place = 0; place < 3; place++) {
        if (unpack_at(place, start))
            return arena_copy_text(arena, start, strlen(start));
    }
    error_set(error, ERROR_FAILURE,
              "cannot unpack the recorder below XDG_CACHE_HOME, HOME or TMPDIR: %s (set "
              "XDG_CACHE_HOME to a folder that can be written, or install flopledger by pip)",
              strerror(errno));
    return NULL;
}

/* ---- capture run ----------------------------------------------------------------------------- */

enum { NAMES_TRIED = 1000 };

static const char *capture_run_keep(struct arena *arena, char *text)
{
    const char *kept;

    if (!text)
        end_out_of_memory();
    kept = arena_copy_text(arena, text, strlen(text));
    free(text);
    return kept;
}

/* The name of a script may hold anything: what does not belong in a file name becomes '_'. */
static void clean_name(char *name)
{
    for (char *at = name; *at; at++) {
        if (*at == '/' || (unsigned char)*at <= ' ')
            *at = '_';
    }
}

/* A folder of the start time below `parent` that was not there; its full path, or NULL. mkdir is
 * the test and the taking in one: two runs that start in the same second never get the same
 * folder. Any error but "exists" would be the same for the next number. */
static char *make_start_folder(const char *parent)
{
    char stamp[32];
    time_t now = time(NULL);
    struct tm local;

    localtime_r(&now, &local);
    strftime(stamp, sizeof stamp, "%Y-%m-%d_%H-%M-%S", &local);
    for (int number = 1; number < NAMES_TRIED; number++) {
        char ending[16] = "";
        char *path;
        char *full;

        if (number > 1)
            snprintf(ending, sizeof ending, "_%d", number);
        path = text_format("%s/%s%s", parent, stamp, ending);
        if (mkdir(path, 0777) == 0) {
            /* The recorder runs in the program's folder, which may be another: the path must
             * not be relative. */
            full = realpath(path, NULL);
            free(path);
            return full;
        }
        free(path);
        if (errno != EEXIST)
            return NULL;
    }
    return NULL;
}

/* A name comes from the user or from a script's file and becomes one folder: characters that
 * would lead elsewhere are replaced before. Below it each start has a folder of its own. */
const char *make_capture_folder(struct arena *arena, const char *output, const char *name,
                                struct error *error)
{
    char *clean = text_copy(name);
    char *parent;
    char *folder = NULL;

    clean_name(clean);
    parent = path_join(output, clean);
    free(clean);
    if (make_folders(parent))
        folder = make_start_folder(parent);
    if (!folder)
        error_set(error, ERROR_FAILURE,
                  "cannot make a folder in '%s': %s (--output names another place)", parent,
                  strerror(errno));
    free(parent);
    return folder ? capture_run_keep(arena, folder) : NULL;
}

/* A file that cannot be looked at compares as equal; the order is then any, which is better
 * than an error in listing. */
static int capture_run_by_time(const void *a, const void *b)
{
    struct stat first;
    struct stat second;

    if (stat(*(char *const *)a, &first) != 0 || stat(*(char *const *)b, &second) != 0)
        return 0;
    if (first.st_mtim.tv_sec != second.st_mtim.tv_sec)
        return first.st_mtim.tv_sec < second.st_mtim.tv_sec ? -1 : 1;
    return (first.st_mtim.tv_nsec > second.st_mtim.tv_nsec) -
           (first.st_mtim.tv_nsec < second.st_mtim.tv_nsec);
}

/* glob sorts by name; what was recorded last must stand last, as it is the one that is shown
 * where one is wanted. */
static void capture_run_add_traces(struct capture_content *content, struct arena *arena,
                                   glob_t *found, bool is_newest_alone)
{
    size_t first = is_newest_alone && found->gl_pathc > 0 ? found->gl_pathc - 1 : 0;
    char **traces = arena_allocate(arena, ((size_t)content->trace_count + found->gl_pathc + 1) *
                                              sizeof(char *));

    if (content->trace_count > 0)
        memcpy(traces, content->traces, (size_t)content->trace_count * sizeof(char *));
    if (found->gl_pathc > 0)
        qsort(found->gl_pathv, found->gl_pathc, sizeof(char *), capture_run_by_time);
    for (size_t i = first; i < found->gl_pathc; i++)
        traces[content->trace_count++] =
            arena_copy_text(arena, found->gl_pathv[i], strlen(found->gl_pathv[i]));
    content->traces = traces;
}

/* Traces of a rank by time, of ranks by name: with is_newest_alone the last of each rank. */
static void list_traces(struct capture_content *content, struct arena *arena, const char *folder,
                        bool is_newest_alone)
{
    glob_t ranks;

    find_paths(&ranks, folder, "traces/rank*");
    *content = (struct capture_content){.rank_count = (int)ranks.gl_pathc};
    for (size_t i = 0; i < ranks.gl_pathc; i++) {
        glob_t traces = {0};

        find_paths(&traces, ranks.gl_pathv[i], "*.pt.trace.json.gz");
        capture_run_add_traces(content, arena, &traces, is_newest_alone);
        globfree(&traces);
    }
    globfree(&ranks);
}

void list_capture(struct capture_content *content, struct arena *arena, const char *folder)
{
    list_traces(content, arena, folder, true);
}

void list_all_traces(struct capture_content *content, struct arena *arena, const char *folder)
{
    list_traces(content, arena, folder, false);
}

/* rmdir does the checking: it fails where anything is in the folder. */
void remove_empty_capture(const char *folder)
{
    char *parent;

    if (rmdir(folder) != 0)
        return;
    parent = strndup(folder, (size_t)(strrchr(folder, '/') - folder));
    if (parent)
        rmdir(parent); /* where no other run is in it */
    free(parent);
}

/* A recorder writes beside the place and renames; what is left under the name of a part was
 * being written when the program died. Its name without the ending tells which window is lost. */
const char *remove_half_written(struct arena *arena, const char *folder)
{
    const char *lost = NULL;
    glob_t found = {0};

    find_paths(&found, folder, "traces/rank*/*.part*");
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const char *name = strrchr(found.gl_pathv[i], '/') + 1;
        const char *text = strstr(name, ".text.part");

        if (!lost)
            lost = arena_copy_text(arena, name,
                                   (size_t)((text ? text : strstr(name, ".part")) - name));
        (void)unlink(found.gl_pathv[i]);
    }
    globfree(&found);
    return lost;
}

/* Places of the package, seen from the folder of the program. */
static const char *const package_places[] = {
    "python/flopledger",                             /* a build folder */
    "../lib/flopledger/python/flopledger",           /* meson install */
    "../lib/python3*/site-packages/flopledger",      /* pip */
    "../lib/python3*/dist-packages/flopledger",      /* pip of Debian's Python, as root */
    "../../lib/python3*/site-packages/flopledger",   /* bin in a folder of its own */
    "../flopledger",                                 /* pip install --target */
    "../local/lib/python3*/dist-packages/flopledger" /* a package of the distribution */
};

/* Of several versions of Python that match, the last by name; a link is resolved, for a folder
 * of links would not hold the package's other parts. */
static const char *package_in(struct arena *arena, const char *folder, const char *place)
{
    glob_t found = {0};
    const char *start = NULL;
    char *pattern = text_format("%s/start/sitecustomize.py", place);

    find_paths(&found, folder, pattern);
    if (found.gl_pathc > 0) {
        char *path = realpath(found.gl_pathv[found.gl_pathc - 1], NULL);

        if (path) {
            *strrchr(path, '/') = '\0';
            start = capture_run_keep(arena, path);
        }
    }
    globfree(&found);
    free(pattern);
    return start;
}

/* What the user named goes first; then the places are tried from the folder of the program,
 * since a recorder of another version than the program could write what it does not read. */
const char *look_for_python_package(struct arena *arena)
{
    const char *named = getenv("FLOPLEDGER_PYTHON");
    const char *start = named && named[0] ? package_in(arena, named, "flopledger") : NULL;
    char program[PATH_MAX];
    bool is_found = find_program_folder(program);

    for (size_t i = 0; !start && is_found && i < sizeof package_places / sizeof *package_places;
         i++)
        start = package_in(arena, program, package_places[i]);
    return start;
}

/* Beside the program first: a package that was installed with it, and may have been changed by
 * its user. The packed copy is for a program that was copied alone. */
const char *find_python_package(struct arena *arena, struct error *error)
{
    const char *start = look_for_python_package(arena);

    if (start)
        return start;
    if (has_packed_recorder())
        return unpack_recorder(arena, error);
    error_set(
        error, ERROR_FAILURE,
        "cannot find the Python package of flopledger beside the program: install both together "
        "(pip install flopledger), or set FLOPLEDGER_PYTHON to the folder that holds it");
    return NULL;
}

/* The Python beside the program, as in a virtual environment that holds both: it has the
 * package's libraries; "python3" of the path may be another. */
const char *python_to_run(struct arena *arena)
{
    char program[PATH_MAX + sizeof "/python3"];

    if (find_program_folder(program)) {
        strcat(program, "/python3");
        if (access(program, X_OK) == 0)
            return arena_copy_text(arena, program, strlen(program));
    }
    return "python3";
}
