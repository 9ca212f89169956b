/* What data a file holds, by its name and its first bytes. */
#include "pipeline/file_content.h"

#include "base/core/attributes.h"
#include "base/io/input_stream.h"
#include "base/text/prefix.h"
#include "output/exports/export_format.h"
#include "ranks/digest_file.h"
#include "readers/logs/read_log.h"
#include "readers/memory_snapshot/cuda_memory_snapshot.h"
#include "readers/nsys/nsys_report_export.h"
#include "readers/open_trace.h"
#include "readers/reader.h"
#include "readers/step_record/read_step_record.h"

#include <string.h>
#include <sys/stat.h>

enum {
    HEAD_BYTES = 65536, /* what a reader gets to see when it is asked whether it knows a file */
    MARK_BYTES = 128,   /* in which what we write says so */
    SQLITE_APPLICATION_AT = 68,
    LOG_HEAD_BYTES = 8 << 20, /* a log may begin with pages of other words */
};

bool has_trace_name(const char *name)
{
    return has_extension(name, ".json") || has_extension(name, ".json.gz") ||
           has_extension(name, ".json.zst");
}

/* JSON that holds no event this early is something else: settings, a summary. Only for text that
 * begins as JSON: other formats have marks of their own. The marks are those of the readers'
 * formats; settings in JSON have none of them. */
static bool may_hold_events(const char *head, size_t length)
{
    return (head[0] != '{' && head[0] != '[') || memmem(head, length, "\"traceEvents\"", 13) ||
           memmem(head, length, "\"ph\"", 4) || memmem(head, length, "\"fwd_start\"", 11) ||
           memmem(head, length, "\"rocprofiler-sdk-tool\"", 22);
}

bool is_trace_head(const char *head, size_t length)
{
    for (const struct reader *const *reader = all_readers(); *reader; reader++)
        if ((*reader)->recognises(head, length < HEAD_BYTES ? length : HEAD_BYTES))
            return may_hold_events(head, length);
    return false;
}

/* An SQLite file has four bytes at offset 68 for the application that made it (sqlite.org,
 * "Database File Format", application_id), in big-endian order. */
static bool is_own_database(const char *head, size_t length)
{
    unsigned char id[4];

    if (length < SQLITE_APPLICATION_AT + sizeof id)
        return false;
    memcpy(id, head + SQLITE_APPLICATION_AT, sizeof id);
    return ((uint32_t)id[0] << 24 | (uint32_t)id[1] << 16 | (uint32_t)id[2] << 8 | id[3]) ==
           EXPORT_APPLICATION_ID;
}

static bool begins_with(const char *head, size_t length, const char *text, size_t text_length)
{
    return length >= text_length && memcmp(head, text, text_length) == 0;
}

static bool says(const char *head, size_t length, const char *mark)
{
    return memmem(head, length < MARK_BYTES ? length : MARK_BYTES, mark, strlen(mark)) != NULL;
}

static bool is_own_report(const char *head, size_t length)
{
    return says(head, length, "\"schema\": \"flopledger.") || says(head, length, "<!doctype html>");
}

/* From the surest to the weakest mark: magic numbers, then texts. A Perfetto file of ours
 * begins with the same byte as any message of that field, so that the name of our process has
 * to be in it, too. */
static enum file_content content_of_head(const char *head, size_t length)
{
    if (digest_set_recognises(head, length))
        return CONTENT_DIGEST;
    if (looks_like_step_record(head, length))
        return CONTENT_STEP_RECORD;
    if (looks_like_memory_snapshot(head, length))
        return CONTENT_PICKLE;
    if (begins_with(head, length, "PK\3\4", 4))
        return CONTENT_ARCHIVE;
    if (begins_with(head, length, "SQLite format 3", 16))
        return is_own_database(head, length) ? CONTENT_EXPORTED_DATABASE : CONTENT_DATABASE;
    if (says(head, length, "\"" EXPORT_MARK "\": ") ||
        (begins_with(head, length, "\n", 1) && says(head, length, PERFETTO_OWN_PROCESS)))
        return CONTENT_EXPORTED_TRACE;
    return is_trace_head(head, length) ? CONTENT_TRACE : CONTENT_OTHER;
}

/* Logs may begin with megabytes of other output before the first line of a step; the window
 * grows until a format is recognized or the limit is reached. */
static bool file_content_is_log(const char *path)
{
    SCOPED(input_stream) stream = {0};
    struct input_window window = {0};

    if (!input_stream_open(&stream, path, false, NULL))
        return false;
    while (window.length < LOG_HEAD_BYTES && input_stream_next(&stream, window.length, &window))
        continue;
    return log_format_of_head(window) != NULL;
}

/* Decompressed on the way: the content decides, not the name. A log is looked for last, for it
 * needs the most reading. */
enum file_content content_of_file(const char *path)
{
    SCOPED(input_stream) stream = {0};
    struct input_window head;
    struct stat status;
    enum file_content content;

    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0)
        return CONTENT_OTHER;
    if (is_nsys_report(path))
        return CONTENT_PROFILE;
    if (!input_stream_open(&stream, path, false, NULL))
        return CONTENT_OTHER;
    head = input_stream_peek(&stream);
    if (head.length == 0)
        return CONTENT_OTHER;
    content = content_of_head(head.text, head.length);
    if (content != CONTENT_OTHER)
        return content;
    if (is_own_report(head.text, head.length))
        return CONTENT_REPORT;
    return file_content_is_log(path) ? CONTENT_LOG : CONTENT_OTHER;
}

bool is_data(enum file_content content)
{
    return content != CONTENT_OTHER && content != CONTENT_REPORT;
}

const char *file_content_words(enum file_content content)
{
    switch (content) {
    case CONTENT_TRACE:
    case CONTENT_EXPORTED_TRACE:
        return "a trace";
    case CONTENT_DATABASE:
    case CONTENT_EXPORTED_DATABASE:
        return "a database";
    case CONTENT_DIGEST:
        return "a digest of ranks";
    case CONTENT_STEP_RECORD:
        return "the record of a run's steps";
    case CONTENT_PICKLE:
        return "a pickle (of a snapshot or a dump)";
    case CONTENT_ARCHIVE:
        return "an archive (of a checkpoint?)";
    case CONTENT_PROFILE:
        return "a profile of Nsight Systems";
    case CONTENT_LOG:
        return "a log of training";
    case CONTENT_REPORT:
        return "a report";
    case CONTENT_OTHER:
        break;
    }
    return "a file";
}
