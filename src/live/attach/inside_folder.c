/* Where the recorder inside of a process and `flopledger attach` leave each other messages. */
#include "base/io/folders.h"
#include "base/io/processes.h"
#include "base/io/whole_file.h"
#include "base/json/json_tree.h"
#include "base/json/json_writer.h"
#include "base/text/owned_text.h"
#include "live/attach/attach_inside.h"
#include "live/inject/injection.h"
#include "live/inject/process_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A folder that was made within the last minute may be of an attachment that is just
 * beginning, and is left. */
enum { FOLDERS_OPEN = 16, MESSAGE_BYTES_MAX = 16 << 10, MADE_WITHIN_S = 60 };

#define FOLDER_NAME "flopledger-attach-"

/* ---- files ---------------------------------------------------------------------------------- */

static const char *join_kept(struct arena *arena, const char *folder, const char *name)
{
    char *path = path_join(folder, name);
    const char *kept = arena_copy_text(arena, path, strlen(path));

    free(path);
    return kept;
}

/* Whole, by way of a file beside it. rename() is atomic: the other side sees the old text or the
 * new one. */
static bool write_text_file(const char *folder, const char *name, const char *text)
{
    char *path = path_join(folder, name);
    char *part = text_format("%s.part", path);
    FILE *file = fopen(part, "we");
    bool is_written = file && fputs(text, file) >= 0;

    if (file)
        is_written &= fclose(file) == 0;
    is_written = is_written && rename(part, path) == 0;
    free(part);
    free(path);
    return is_written;
}

/* A copy, not a move: the two ends may lie on different file systems (a container's, the
 * host's). */
static bool copy_file(const char *from, const char *to)
{
    struct error ignored;
    bool is_missing;
    size_t length = 0;
    char *content = read_whole_file(from, &length, &is_missing, &ignored);
    FILE *file = content ? fopen(to, "we") : NULL;
    bool is_copied = file && fwrite(content, 1, length, file) == length;

    if (file)
        is_copied &= fclose(file) == 0;
    free(content);
    return is_copied;
}

/* What cannot be removed is left: the walk goes on, as the rest can. */
static int remove_entry(const char *path, const struct stat *about, int kind, struct FTW *place)
{
    (void)about;
    (void)kind;
    (void)place;
    (void)remove(path);
    return 0;
}

/* FTW_PHYS and FTW_MOUNT: no link is followed and no other file system is entered while
 * deleting. */
static void remove_tree(const char *path)
{
    (void)nftw(path, remove_entry, FOLDERS_OPEN, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

/* The files of `from` that match, into folder `to`, which is made. */
static bool copy_matching(const char *from, const char *pattern, char *to)
{
    bool is_copied = make_folders(to);
    glob_t found;

    find_paths(&found, from, pattern);
    for (size_t i = 0; i < found.gl_pathc && is_copied; i++) {
        const char *name = strrchr(found.gl_pathv[i], '/') + 1;
        char *target = path_join(to, name);

        is_copied = copy_file(found.gl_pathv[i], target);
        free(target);
    }
    globfree(&found);
    return is_copied;
}

/* ---- what others left ----------------------------------------------------------------------- */

/* An attachment that was killed leaves its folder. The recorder removes it where it has begun, and
 * the next attachment to that process where it never did. Once the process is gone, any does. */

/* The process, by its number and by when it began. */
static void write_name_of_process(char text[64], long pid)
{
    struct process_state state;

    (void)process_state_read(&state, pid);
    snprintf(text, 64, "%ld %llu", pid, state.began);
}

/* Whether the process that the folder is for lives: what was sent to it may still be run. */
static bool is_for_living(int folder)
{
    char noted[64] = "";
    char now[64];
    int file = openat(folder, "process", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

    if (file < 0)
        return false; /* nothing was sent */
    (void)!read(file, noted, sizeof noted - 1);
    close(file);
    write_name_of_process(now, strtol(noted, NULL, 10));
    return strcmp(noted, now) == 0;
}

static bool is_old(int folder)
{
    struct stat about;

    return fstat(folder, &about) == 0 && time(NULL) - about.st_mtime > MADE_WITHIN_S;
}

/* Nobody holds its lock, which each has from its first moment on. What was recorded in a container
 * stays. */
static bool is_left_behind(int folder)
{
    struct stat about;
    bool is_left = false;
    int lock;

    if (fstat(folder, &about) != 0 || about.st_uid != geteuid() ||
        faccessat(folder, "capture", F_OK, 0) == 0)
        return false;
    lock = openat(folder, "lock", O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (lock < 0)
        return errno == ENOENT && is_old(folder);
    is_left = flock(lock, LOCK_EX | LOCK_NB) == 0 && !is_for_living(folder);
    close(lock);
    return is_left;
}

/* The place is writable by all. O_NOFOLLOW: a link that somebody put there under our name must
 * not lead the removal elsewhere; O_NONBLOCK: nor may a pipe of that name block us. */
static void remove_left_folders(const char *place)
{
    glob_t found;

    find_folders(&found, place, FOLDER_NAME "*");
    for (size_t i = 0; i < found.gl_pathc; i++) {
        int folder =
            open(found.gl_pathv[i], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

        if (folder < 0)
            continue;
        if (is_left_behind(folder))
            remove_tree(found.gl_pathv[i]);
        close(folder);
    }
    globfree(&found);
}

/* ---- what both see -------------------------------------------------------------------------- */

/* By device and inode: paths of two mount namespaces may be equal and mean different files. */
static bool is_one_file(const char *path, const char *other)
{
    struct stat one;
    struct stat two;

    return stat(path, &one) == 0 && stat(other, &two) == 0 && one.st_dev == two.st_dev &&
           one.st_ino == two.st_ino;
}

/* Whether the process has the same file under this full path. */
static bool is_seen_inside(struct arena *arena, long pid, const char *path)
{
    return path[0] == '/' && is_one_file(path, process_path(arena, pid, path));
}

/* The folder is made from outside, through /proc/PID/root, and named to the process by the
 * path that it has inside. It is held open, so that the outer path stays right if the process
 * ends. */
static bool make_shared_folder(struct inside_folder *folder, struct arena *arena,
                               struct error *error)
{
    /* One after the other: containers often have a /tmp that cannot be written. */
    static const char *const places[] = {"/tmp", "/dev/shm", "/var/tmp"};
    int problem = 0;

    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char *place;
        char *made;

        folder->place =
            open(process_path(arena, folder->pid, places[i]), O_PATH | O_DIRECTORY | O_CLOEXEC);
        place = text_format("/proc/self/fd/%d", folder->place);
        made = text_format("%s/" FOLDER_NAME "XXXXXX", place);
        if (folder->place >= 0)
            remove_left_folders(place);
        free(place);
        if (folder->place >= 0 && mkdtemp(made)) {
            folder->path = arena_copy_text(arena, made, strlen(made));
            folder->inside = join_kept(arena, places[i], strrchr(made, '/') + 1);
            free(made);
            return true;
        }
        problem = errno;
        free(made);
        if (folder->place >= 0)
            close(folder->place);
        folder->place = -1;
    }
    return error_set(error, ERROR_FAILURE,
                     "no folder can be made that process %ld sees, in its /tmp, /dev/shm or "
                     "/var/tmp: %s",
                     folder->pid, strerror(problem));
}

/* Where the process finds the recorder: a copy where it has other files. */
static bool share_package(struct inside_folder *folder, struct arena *arena, const char *package,
                          struct error *error)
{
    static const char *const parts[] = {"", "/gnu", "/musl"};
    const char *seen = package;
    bool is_shared = true;

    if (!is_seen_inside(arena, folder->pid, join_kept(arena, package, "attached.py"))) {
        seen = join_kept(arena, folder->inside, "recorder/flopledger");
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
            char *from = text_format("%s%s", package, parts[i]);
            char *to = text_format("%s/recorder/flopledger%s", folder->path, parts[i]);

            if (access(from, X_OK) == 0)
                is_shared =
                    is_shared && copy_matching(from, "*.py", to) && copy_matching(from, "*.so", to);
            free(from);
            free(to);
        }
    }
    if (is_shared && write_text_file(folder->path, "package", seen))
        return true;
    return error_set(error, ERROR_FAILURE, "cannot write into '%s': %s", folder->path,
                     strerror(errno));
}

/* Where the process sees our capture folder it writes there at once, else into the shared one,
 * which is copied afterwards. */
static const char *capture_inside(struct inside_folder *folder, struct arena *arena,
                                  const char *capture)
{
    folder->is_own_capture = is_seen_inside(arena, folder->pid, capture);
    folder->capture = folder->is_own_capture ? capture : join_kept(arena, folder->path, "capture");
    return folder->is_own_capture ? capture : join_kept(arena, folder->inside, "capture");
}

/* A file and not an environment: the process runs already. It is complete before the recorder
 * is told of the folder. */
static bool write_settings_file(const struct inside_folder *folder, const char *capture,
                                const struct inside_wish *wish, struct error *error)
{
    const struct attach_wish *asked = wish->wish;
    char *path = path_join(folder->path, "settings.json");
    FILE *file = fopen(path, "we");
    struct json_writer writer = {.output = file};

    free(path);
    if (file) {
        json_begin_object(&writer, NULL, JSON_ON_ONE_LINE);
        json_text(&writer, "capture", capture);
        json_integer(&writer, "steps", asked->steps);
        json_boolean(&writer, "shapes", asked->records_shapes);
        json_boolean(&writer, "stacks", asked->records_stacks);
        json_boolean(&writer, "memory", asked->records_memory);
        json_boolean(&writer, "markers", asked->marks_modules);
        json_text(&writer, "modules", asked->modules ? asked->modules : "");
        json_text(&writer, "step_of", asked->step_of ? asked->step_of : "");
        json_text(&writer, "on", asked->triggers.rules ? asked->triggers.rules : "");
        json_integer(&writer, "on_windows", asked->triggers.windows);
        json_integer(&writer, "on_bytes", asked->triggers.bytes);
        json_boolean(&writer, "watch", asked->watches);
        json_boolean(&writer, "awaits_begin", wish->awaits_begin);
        json_end_object(&writer);
        if (fclose(file) == 0)
            return true;
    }
    return error_set(error, ERROR_FAILURE, "cannot write into '%s': %s", folder->path,
                     strerror(errno));
}

/* The recorder inside looks at this lock: where it is free, whoever attached has died, and the
 * recorder leaves by itself. It is there once it is held. */
static bool hold_lock(struct inside_folder *folder, struct error *error)
{
    char *path = path_join(folder->path, "lock");
    char *part = path_join(folder->path, "lock.part");
    char text[64];
    bool is_held;

    folder->lock = open(part, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    is_held =
        folder->lock >= 0 && flock(folder->lock, LOCK_EX | LOCK_NB) == 0 && rename(part, path) == 0;
    free(part);
    free(path);
    write_name_of_process(text, folder->pid);
    return (is_held && write_text_file(folder->path, "process", text)) ||
           error_set(error, ERROR_FAILURE, "cannot lock a file in '%s': %s", folder->path,
                     strerror(errno));
}

/* Names of builtins may mean something else in the program's own module; Ctrl-C is the program's.
 */
static bool write_text_to_run(struct inside_folder *folder, struct arena *arena,
                              struct error *error)
{
    char *text =
        text_format("try:\n"
                    " __import__('builtins').exec(__import__('builtins').open('%s/start.py'"
                    ",encoding='utf-8').read(),{'FOLDER':'%s'})\n"
                    "except KeyboardInterrupt:\n"
                    " __import__('_thread').interrupt_main()\n"
                    "except BaseException:\n"
                    " pass\n",
                    folder->inside, folder->inside);

    folder->text = arena_copy_text(arena, text, strlen(text));
    free(text);
    folder->script = join_kept(arena, folder->inside, "run.py");
    return write_text_file(folder->path, "run.py", folder->text) ||
           error_set(error, ERROR_FAILURE, "cannot write into '%s': %s", folder->path,
                     strerror(errno));
}

/* start.py is copied last: the text that is run opens it, so until then nothing happens
 * inside. */
static bool fill_folder(struct inside_folder *folder, struct arena *arena,
                        const struct inside_wish *wish, struct error *error)
{
    const char *start = join_kept(arena, folder->path, "start.py");

    if (!hold_lock(folder, error) || !write_text_to_run(folder, arena, error) ||
        !share_package(folder, arena, wish->places->package, error) ||
        !write_settings_file(folder, capture_inside(folder, arena, wish->places->capture), wish,
                             error))
        return false;
    return copy_file(join_kept(arena, wish->places->package, "attach_start.py"), start) ||
           error_set(error, ERROR_FAILURE, "cannot write '%s': %s", start, strerror(errno));
}

/* A folder that is half filled is taken away again: the recorder would read settings that are
 * not all there. */
bool inside_folder_make(struct inside_folder *folder, struct arena *arena, long pid,
                        const struct inside_wish *wish, struct error *error)
{
    *folder = (struct inside_folder){.pid = pid, .lock = -1, .place = -1};
    if (!make_shared_folder(folder, arena, error))
        return false;
    if (fill_folder(folder, arena, wish, error))
        return true;
    inside_folder_clear(folder);
    return false;
}

/* ---- messages ------------------------------------------------------------------------------- */

void inside_folder_note_room(const struct inside_folder *folder, uint64_t address, size_t sent)
{
    char text[80];

    snprintf(text, sizeof text, "%" PRIu64 " %d %zu", address, INJECTION_ROOM_BYTES, sent);
    (void)write_text_file(folder->path, "room", text);
}

bool inside_folder_has_run(const struct inside_folder *folder, size_t sent)
{
    char *path = path_join(folder->path, "ran"); /* a byte for each time */
    struct stat about;
    size_t ran = stat(path, &about) == 0 ? (size_t)about.st_size : 0;

    free(path);
    return ran >= sent;
}

/* What has come since, as far as there is room for it; its bytes. */
static size_t read_new_messages(const struct inside_folder *folder, char *text, size_t room)
{
    char *path = path_join(folder->path, "state");
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = descriptor < 0 ? -1 : pread(descriptor, text, room, (off_t)folder->read_bytes);

    if (descriptor >= 0)
        close(descriptor);
    free(path);
    return length > 0 ? (size_t)length : 0;
}

/* Whole lines only, as the writer may be within one. A line that is no JSON is passed over;
 * one longer than the buffer, too. */
const struct json_node *inside_folder_next(struct inside_folder *folder, struct arena *arena)
{
    char text[MESSAGE_BYTES_MAX];
    const struct json_node *message = NULL;
    struct error ignored;

    while (!message) {
        size_t length = read_new_messages(folder, text, sizeof text);
        const char *end = memchr(text, '\n', length);

        if (!end && length < sizeof text)
            break; /* the rest comes */
        folder->read_bytes += end ? (size_t)(end - text) + 1 : length;
        if (end)
            message = json_tree_parse(arena, arena_copy_text(arena, text, (size_t)(end - text)),
                                      (size_t)(end - text), &ignored);
    }
    return message;
}

void inside_folder_begin(const struct inside_folder *folder, const char *what, int64_t number)
{
    char text[64];

    snprintf(text, sizeof text, "%s %" PRId64, what, number);
    (void)write_text_file(folder->path, "begin", text);
}

void inside_folder_withdraw(struct inside_folder *folder)
{
    if (folder->lock >= 0)
        close(folder->lock);
    folder->lock = -1;
}

void inside_folder_ask_to_stop(const struct inside_folder *folder)
{
    (void)write_text_file(folder->path, "stop", "");
}

/* ---- the end -------------------------------------------------------------------------------- */

/* What nftw() is to copy, as it hands nothing on. */
static struct {
    const char *from;
    const char *to;
    bool has_failed;
} collecting;

/* nftw hands on no context, hence `collecting` of the file. An answer other than zero ends the
 * walk. */
static int copy_captured_entry(const char *path, const struct stat *about, int kind,
                               struct FTW *place)
{
    char *target = text_format("%s%s", collecting.to, path + strlen(collecting.from));

    (void)about;
    (void)place;
    if (kind == FTW_D)
        collecting.has_failed |= !make_folders(target);
    else if (kind == FTW_F)
        collecting.has_failed |= !copy_file(path, target);
    free(target);
    return collecting.has_failed;
}

/* nftw hands its callback nothing of the caller's, hence the static place of what is being
 * copied. */
bool inside_folder_collect(const struct inside_folder *folder, const char *capture,
                           struct error *error)
{
    if (folder->is_own_capture || access(folder->capture, R_OK) != 0)
        return true;
    collecting.from = folder->capture;
    collecting.to = capture;
    collecting.has_failed = false;
    (void)nftw(folder->capture, copy_captured_entry, FOLDERS_OPEN, FTW_PHYS);
    return !collecting.has_failed ||
           error_set(error, ERROR_FAILURE, "cannot copy '%s' into '%s': %s", folder->capture,
                     capture, strerror(errno));
}

void inside_folder_clear(struct inside_folder *folder)
{
    if (folder->path && !folder->is_of_process)
        remove_tree(folder->path);
    else if (folder->path && !folder->is_own_capture)
        remove_tree(folder->capture); /* it has been brought here */
    if (folder->lock >= 0)
        close(folder->lock);
    if (folder->place >= 0)
        close(folder->place);
    *folder = (struct inside_folder){.lock = -1, .place = -1};
}
