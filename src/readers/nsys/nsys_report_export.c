/* Calls `nsys export`, and keeps what it made only as long as it is read. */
#include "readers/nsys/nsys_report_export.h"

#include "base/core/memory_limit.h"
#include "base/io/files_seen.h"
#include "base/text/owned_text.h"
#include "base/text/prefix.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

bool is_nsys_report(const char *path)
{
    return has_extension(path, ".nsys-rep") || has_extension(path, ".qdrep") ||
           has_extension(path, ".qdstrm");
}

/* "run.sqlite" beside "run.nsys-rep", where it holds something and is not older; else NULL. free()
 * it. */
static char *find_beside(const char *path)
{
    struct stat report;
    struct stat database;
    char *beside = text_format("%.*s.sqlite", (int)(strrchr(path, '.') - path), path);

    if (stat(path, &report) == 0 && stat(beside, &database) == 0 && S_ISREG(database.st_mode) &&
        database.st_size > 0 && access(beside, R_OK) == 0 &&
        (database.st_mtim.tv_sec > report.st_mtim.tv_sec ||
         (database.st_mtim.tv_sec == report.st_mtim.tv_sec &&
          database.st_mtim.tv_nsec >= report.st_mtim.tv_nsec)))
        return beside;
    free(beside);
    return NULL;
}

/* A new folder for the export; free() it. */
static char *new_folder(struct error *error)
{
    const char *parent = getenv("TMPDIR");
    char *folder = text_format("%s/flopledger-nsys-XXXXXX", parent && *parent ? parent : "/tmp");

    if (mkdtemp(folder))
        return folder;
    (void)error_set(error, ERROR_FAILURE,
                    "cannot make a folder for the export ('%s'): %s; let TMPDIR name one that can "
                    "be written",
                    folder, strerror(errno));
    free(folder);
    return NULL;
}

/* The last line of what nsys said that holds anything, without its newline. */
static void keep_last_line(char *text)
{
    size_t length = strlen(text);
    char *start;

    while (length > 0 && (unsigned char)text[length - 1] <= ' ')
        text[--length] = '\0';
    start = strrchr(text, '\n');
    if (start)
        memmove(text, start + 1, strlen(start + 1) + 1);
}

/* Runs `arguments`; what it says goes to `said` (its end, where that is too long). -1 where it
 * cannot be started, with errno set. Both outputs into one pipe that is read to its end: a child
 * that fills a pipe nobody reads would wait forever. */
static int nsys_report_export_run_program(char *const *arguments, char *said, size_t size)
{
    posix_spawn_file_actions_t actions;
    size_t used = 0;
    ssize_t length;
    int ends[2];
    int status = -1;
    pid_t child;
    int problem;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    memory_limit_suspend();
    problem = posix_spawnp(&child, arguments[0], &actions, NULL, arguments, environ);
    memory_limit_resume();
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    while (problem == 0 && (length = read(ends[0], said + used, size - 1 - used)) > 0) {
        used += (size_t)length;
        if (used > size / 2) { /* only the end matters */
            memmove(said, said + used - size / 4, size / 4);
            used = size / 4;
        }
    }
    said[used] = '\0';
    close(ends[0]);
    if (problem == 0)
        waitpid(child, &status, 0);
    errno = problem;
    return problem == 0 ? status : -1;
}

/* Exports with what NCCL says of its messages, which is left out where not asked for; `said` is
 * what nsys said. Versions that do not know the option export without. */
static int nsys_report_export_run_export(char *source, char *database, char *said, size_t size)
{
    char program[] = "nsys", command[] = "export", type[] = "--type=sqlite", output[] = "--output";
    char overwrite[] = "--force-overwrite=true", blobs[] = "--include-blobs=true";
    char *const with_blobs[] = {program, command,  type,   overwrite, blobs,
                                output,  database, source, NULL};
    char *const without[] = {program, command, type, overwrite, output, database, source, NULL};
    int status = nsys_report_export_run_program(with_blobs, said, size);

    return status > 0 && strstr(said, "include-blobs")
               ? nsys_report_export_run_program(without, said, size)
               : status;
}

/* A .nsys-rep is a format of NVIDIA's own that only its tool reads. Where the tool is newer
 * than the file all is well; the other way round it says "newer", and the message says what to
 * do. */
static bool export_to(const char *path, char *database, struct error *error)
{
    char said[4096];
    char *source = text_copy(path);
    int status = nsys_report_export_run_export(source, database, said, sizeof said);

    free(source);
    if (status == 0 && access(database, R_OK) == 0)
        return true;
    if (status == -1)
        return error_set(error, ERROR_INPUT,
                         "a report of Nsight Systems, which only its own 'nsys' can open, and that "
                         "cannot be run here (%s); where it is installed: nsys export --type "
                         "sqlite --include-blobs=true FILE, then name the .sqlite file",
                         strerror(errno));
    if (WIFSIGNALED(status))
        return error_set(error, ERROR_INPUT,
                         "'nsys export' was ended by signal %d (%s): is there memory and disk for "
                         "it? TMPDIR names where it writes",
                         WTERMSIG(status), strsignal(WTERMSIG(status)));
    keep_last_line(said);
    return error_set(error, ERROR_INPUT, "'nsys export' failed: %.600s%s",
                     *said ? said : "it said nothing",
                     strstr(said, "newer") ? " (use an nsys at least as new as the one that "
                                             "recorded it)"
                                           : "");
}

/* A database beside the report that is not older is used, as nsys itself does. */
bool nsys_report_export(struct nsys_export *made, const char *path, struct error *error)
{
    char *folder;

    files_seen_note_unnamed(); /* times of files decide, and what nsys writes is removed again */
    if (access(path, R_OK) != 0)
        return error_set(error, ERROR_INPUT, "cannot be opened: %s", strerror(errno));
    *made = (struct nsys_export){.database = find_beside(path)};
    if (made->database) {
        made->is_beside = true;
        return true;
    }
    if (has_extension(path, ".qdstrm"))
        return error_set(error, ERROR_INPUT,
                         "what Nsight Systems recorded, not yet made into a report: its "
                         "QdstrmImporter, of the version that recorded it, makes a .nsys-rep of "
                         "it");
    folder = new_folder(error);
    if (!folder)
        return false;
    made->database = text_format("%s/report.sqlite", folder);
    free(folder);
    if (export_to(path, made->database, error))
        return true;
    nsys_export_clear(made);
    return false;
}

/* Only a database in a folder of our own is removed; one beside the report is the user's to
 * keep. */
void nsys_export_clear(struct nsys_export *made)
{
    if (!made)
        return;
    if (made->database && !made->is_beside) {
        (void)unlink(made->database);
        *strrchr(made->database, '/') = '\0';
        (void)rmdir(made->database);
    }
    free(made->database);
    *made = (struct nsys_export){0};
}
