/* All step records of a capture: one for each process that trained, in the order of ranks. */
#include "readers/step_record/job_records.h"

#include "base/core/array.h"
#include "base/core/invariant.h"
#include "base/text/owned_text.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_record_name(const char *name)
{
    size_t length = strlen(name);

    return strncmp(name, "rank", 4) == 0 && length > 6 && strcmp(name + length - 6, ".steps") == 0;
}

static DIR *open_folder(const char *capture)
{
    DIR *opened;
    char *folder = text_format("%s/steps", capture);

    opened = opendir(folder);
    free(folder);
    return opened;
}

bool has_step_records(const char *capture)
{
    DIR *folder = open_folder(capture);
    struct dirent *file;
    bool has_one = false;

    while (folder && !has_one && (file = readdir(folder)))
        has_one = is_record_name(file->d_name);
    if (folder)
        closedir(folder);
    return has_one;
}

static bool job_records_is_known(const struct job_records *records, const char *path)
{
    for (size_t i = 0; i < records->count; i++) {
        if (strcmp(records->records[i]->path, path) == 0)
            return true;
    }
    return false;
}

static void job_records_refuse(struct job_records *records, const char *why)
{
    for (size_t i = 0; i < records->refused_count; i++) {
        if (strcmp(records->refused[i], why) == 0)
            return;
    }
    ARRAY_ADD(records->refused, records->refused_count,
              arena_copy_text(&records->arena, why, strlen(why)));
}

static void job_records_add_record(struct job_records *records, const char *name)
{
    struct error error = {0};
    struct job_record *record;
    char *path = text_format("%s/steps/%s", records->capture, name);

    if (!job_records_is_known(records, path)) {
        record = require_memory(calloc(1, sizeof *record));
        if (rank_progress_open(&record->progress, path, &error)) {
            record->path = arena_copy_text(&records->arena, path, strlen(path));
            ARRAY_ADD(records->records, records->count, record);
        } else {
            free(record);
            job_records_refuse(records, error.message);
        }
    }
    free(path);
}

static int job_records_by_rank(const void *a, const void *b)
{
    const struct job_record *first = *(struct job_record *const *)a;
    const struct job_record *second = *(struct job_record *const *)b;
    const struct step_record_header *one = &first->progress.reader.header;
    const struct step_record_header *other = &second->progress.reader.header;

    if (one->rank != other->rank)
        return one->rank < other->rank ? -1 : 1;
    if (one->opened_unix_ns != other->opened_unix_ns)
        return one->opened_unix_ns < other->opened_unix_ns ? -1 : 1;
    return strcmp(first->path, second->path);
}

static void mark_newest(struct job_records *records)
{
    for (size_t i = 0; i < records->count; i++) {
        struct job_record *record = records->records[i];

        record->is_newest =
            i + 1 == records->count || records->records[i + 1]->progress.reader.header.rank !=
                                           record->progress.reader.header.rank;
    }
}

void job_records_update(struct job_records *records, const char *capture)
{
    DIR *folder = open_folder(capture);
    struct dirent *file;

    if (!records->capture)
        records->capture = arena_copy_text(&records->arena, capture, strlen(capture));
    while (folder && (file = readdir(folder))) {
        if (is_record_name(file->d_name))
            job_records_add_record(records, file->d_name);
    }
    if (folder)
        closedir(folder);
    if (records->count > 1)
        qsort(records->records, records->count, sizeof(void *), job_records_by_rank);
    for (size_t i = 0; i < records->count; i++) {
        records->records[i]->lives =
            step_reader_writer_lives(&records->records[i]->progress.reader);
        rank_progress_update(&records->records[i]->progress);
    }
    mark_newest(records);
}

void job_records_clear(struct job_records *records)
{
    for (size_t i = 0; i < records->count; i++) {
        rank_progress_clear(&records->records[i]->progress);
        free(records->records[i]);
    }
    free(records->records);
    free(records->refused);
    arena_clear(&records->arena);
    *records = (struct job_records){0};
}
