/* What a file is, whichever command it was given to.
 *
 * Looked at only once a command has failed, so that it costs nothing where all is well. A new kind
 * is a line of the table below and, where no text in its first bytes tells it, a function. */
#include "pipeline/file_kind.h"

#include "base/core/attributes.h"
#include "base/io/folders.h"
#include "base/io/input_stream.h"
#include "base/text/owned_text.h"
#include "base/text/prefix.h"
#include "pipeline/file_content.h"
#include "ranks/digest_file.h"
#include "readers/logs/read_log.h"
#include "trace/step_record/step_record.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    HEAD_BYTES = 64 * 1024,
    LOG_BYTES_MAX = 256 * 1024 * 1024, /* of a larger file it is not found out whether it is a log
                                        */
    FOLDER_FILES_MAX = 64,             /* so many files of a folder are looked at */
};

/* The commands that read a trace, each with a space before and behind it. */
static const char trace_commands[] =
    " report inspect compare memory flops digest export trace plan ";

struct file_kind {
    const char *what;
    const char *commands; /* which read it; the first of them is named */
    const char *advice; /* what to do, in place of "'flopledger COMMAND FILE' reads it"; or NULL */
    const char *mark;   /* stands in the first bytes of text; NULL: told otherwise */
    const char *mark_too; /* this, too; or NULL */
};

static const struct file_kind log_kind = {"a log of training", " ettr ", NULL, NULL, NULL};
static const struct file_kind record_kind = {
    "the step record of a run", " top ettr serve ",
    "give the folder of its capture to 'flopledger ettr' or 'flopledger top'", NULL, NULL};
static const struct file_kind digest_kind = {"a digest of ranks", " report digest export ", NULL,
                                             NULL, NULL};
static const struct file_kind database_kind = {
    "an SQLite database",
    " report inspect compare memory flops digest export trace plan nsys-stats ", NULL, NULL, NULL};
static const struct file_kind script_kind = {
    "a program in Python", " run ", "'flopledger run FILE' runs and records it", NULL, NULL};
static const struct file_kind protobuf_kind = {"a profiler trace", trace_commands, NULL, NULL,
                                               NULL};

/* Text kinds, the surest mark first. */
static const struct file_kind text_kinds[] = {
    {"a profiler trace", trace_commands, NULL, "\"traceEvents\"", NULL},
    {"a profiler trace", trace_commands, NULL, "\"ph\"", "\"ts\""},
    {"a profile of Proton", " report inspect ", NULL, "\"time (ns)\"", "\"metrics\""},
    {"a report that flopledger wrote", " ", "give the trace it was made of",
     "\"flopledger.report\"", NULL},
    {"the state of a Trainer of transformers", " ettr ", NULL, "\"log_history\"", NULL},
    {"a memory snapshot", " memory ", NULL, "segments", "device_traces"},
    {"a memory snapshot", " memory ", NULL, "segments", "allocated_size"},
    {"a dump of PyTorch's flight recorder", " ranks ", NULL, "pg_config", "entries"},
    {"a dump of PyTorch's flight recorder", " ranks ", NULL, "nccl_version", "version"},
    {"the configuration of a model", " ", "'flopledger flops --model FILE' counts its FLOPs",
     "\"model_type\"", "\"vocab_size\""},
    {"the configuration of a model", " ", "'flopledger flops --model FILE' counts its FLOPs",
     "\"hidden_size\"", "\"num_hidden_layers\""},
};

static bool file_kind_holds(struct input_window head, const char *text)
{
    return !text || memmem(head.text, head.length, text, strlen(text)) != NULL;
}

static bool begins(struct input_window head, const char *bytes)
{
    return head.length >= strlen(bytes) && memcmp(head.text, bytes, strlen(bytes)) == 0;
}

/* No first bytes tell a log: it is one where a known line stands in it. */
static bool file_kind_is_log(const char *path)
{
    SCOPED(input_stream) input = {0};
    SCOPED(job) job = {0};
    struct log_carry carry = {0};
    struct log_outcome outcome = {0};
    struct error error = {0};

    return input_stream_open(&input, path, false, &error) &&
           read_log(&job, &input, &carry, &outcome, &error) && outcome.format;
}

/* NULL where it is nothing that any command reads. Order of certainty again: a magic number
 * decides alone; of the texts the first line of the table whose marks are both there. A log is
 * found by reading it as one, which is why large files are not tried. */
static const struct file_kind *kind_of_file(const char *path, int64_t bytes)
{
    SCOPED(input_stream) input = {0};
    struct input_window head;

    if (!input_stream_open(&input, path, false, NULL))
        return NULL;
    head = input_stream_peek(&input);
    /* Marks of texts stand at the beginning; further on they may be part of anything. */
    if (head.length > HEAD_BYTES)
        head.length = HEAD_BYTES;
    if (head.length == 0)
        return NULL;
    if (begins(head, STEP_RECORD_MAGIC))
        return &record_kind;
    if (digest_set_recognises(head.text, head.length))
        return &digest_kind;
    if (begins(head, "SQLite format 3"))
        return &database_kind;
    for (size_t i = 0; i < sizeof text_kinds / sizeof *text_kinds; i++)
        if (file_kind_holds(head, text_kinds[i].mark) &&
            file_kind_holds(head, text_kinds[i].mark_too))
            return &text_kinds[i];
    if (begins(head, "\n") && is_trace_head(head.text, head.length))
        return &protobuf_kind;
    if (has_extension(path, ".py"))
        return &script_kind;
    return bytes <= LOG_BYTES_MAX && file_kind_is_log(path) ? &log_kind : NULL;
}

static int file_kind_is_no_hidden_file(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* The kind of the first file in the folder that has one; *first is its path, to be freed. In the
 * order of names, so that the message is the same each time. */
static const struct file_kind *kind_of_folder(const char *folder, char **first)
{
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, file_kind_is_no_hidden_file, alphasort);
    const struct file_kind *kind = NULL;

    for (int i = 0; i < count; i++) {
        struct stat status;
        char *path = path_join(folder, entries[i]->d_name);

        if (i < FOLDER_FILES_MAX && !kind && stat(path, &status) == 0 && S_ISREG(status.st_mode))
            kind = kind_of_file(path, status.st_size);
        if (kind && !*first)
            *first = path;
        else
            free(path);
        free(entries[i]);
    }
    free(entries);
    return kind;
}

static const struct file_kind capture_kind = {
    "a run that flopledger recorded",
    " report inspect compare memory flops digest export top ettr ", NULL, NULL, NULL};

/* captures, captures/NAME or captures/NAME/START TIME: the steps of its ranks lie in a folder.
 * Three depths, as `flopledger run` lays its folders out: a run, the runs of a program, all
 * programs. */
static bool holds_capture(const char *folder)
{
    static const char *const patterns[] = {"steps", "*/steps", "*/*/steps"};
    bool is_one = false;

    for (size_t i = 0; i < sizeof patterns / sizeof *patterns && !is_one; i++) {
        glob_t found = {0};

        find_folders(&found, folder, patterns[i]);
        is_one = found.gl_pathc > 0;
        globfree(&found);
    }
    return is_one;
}

/* Names are set between spaces, so that no command is found inside another's. */
static bool reads(const struct file_kind *kind, const char *command)
{
    char word[64];

    (void)snprintf(word, sizeof word, " %s ", command);
    return strstr(kind->commands, word) != NULL;
}

/* Writes the message about paths[0], which "is" or "holds" such a file; paths[1] is what the
 * command reads. */
static void file_kind_explain(const struct file_kind *kind, const char *of,
                              const char *const paths[2], struct error *error)
{
    const char *path = paths[0], *file = paths[1];
    int length = (int)strcspn(kind->commands + 1, " ");

    if (kind->advice)
        (void)error_set(error, error->class, "'%s' %s %s: %s", path, of, kind->what, kind->advice);
    else
        (void)error_set(error, error->class, "'%s' %s %s: 'flopledger %.*s %s' reads it", path, of,
                        kind->what, length, kind->commands + 1, file);
}

/* These take a folder of such files; of profiles of Proton each is read by itself. */
static bool takes_folder(const struct file_kind *kind)
{
    return strstr(kind->commands, " digest ") != NULL || strncmp(kind->commands, " ranks ", 7) == 0;
}

/* A folder that the command takes and whose files it reads has failed for another reason:
 * nothing is explained away then. Programs in a folder say nothing of it. */
static bool explain_folder(const char *path, const char *command, struct error *error)
{
    char *first = NULL;
    const struct file_kind *kind = kind_of_folder(path, &first);
    bool is_explained;

    if (!kind && holds_capture(path))
        kind = &capture_kind;
    is_explained = kind && kind != &script_kind && !(takes_folder(kind) && reads(kind, command));

    if (is_explained)
        file_kind_explain(kind, "holds", (const char *[]){path, takes_folder(kind) ? path : first},
                          error);
    free(first);
    return is_explained;
}

/* Called after a command failed on the file, so that reading it once more costs nobody who
 * made no mistake. */
bool explain_file_kind(const char *path, const char *command, struct error *error)
{
    const struct file_kind *kind = NULL;
    struct stat status;

    if (stat(path, &status) != 0 || (error->class != ERROR_INPUT && error->class != ERROR_NO_DATA))
        return false;
    if (S_ISDIR(status.st_mode))
        return explain_folder(path, command, error);
    if (S_ISREG(status.st_mode))
        kind = kind_of_file(path, status.st_size);
    if (!kind || reads(kind, command))
        return false;
    file_kind_explain(kind, "is", (const char *[]){path, path}, error);
    return true;
}

/* Words behind --output and --model are no inputs; any other word that is a file might be the
 * one that was meant. */
bool explain_arguments(int count, char **arguments, const char *command, struct error *error)
{
    if (strcmp(command, "attach") == 0)
        return false; /* it reads no file: what it names is where it records */
    for (int i = 0; i < count; i++) {
        const char *option = i > 0 ? arguments[i - 1] : "";
        bool is_named = strcmp(option, "-o") == 0 || strcmp(option, "--output") == 0 ||
                        strcmp(option, "--model") == 0;

        if (arguments[i][0] != '-' && !is_named && explain_file_kind(arguments[i], command, error))
            return true;
    }
    return false;
}
