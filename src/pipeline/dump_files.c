/* The dumps of flight recorders that a command line names. */
#include "base/core/array.h"
#include "base/io/input_stream.h"
#include "base/text/owned_text.h"
#include "pipeline/subcommands.h"
#include "readers/flight_recorder/read_flight_dump.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void dump_files_add_file(struct dump_files *files, char *path, int64_t bytes)
{
    ARRAY_ADD(files->files, files->count, (struct dump_file){.path = path, .bytes = bytes});
    files->bytes += bytes;
}

static bool is_dump(const char *path)
{
    SCOPED(input_stream) input = {0};
    struct input_window head;
    uint32_t rank;

    if (!flight_rank_of_name(path, &rank) || !input_stream_open(&input, path, false, NULL))
        return false;
    head = input_stream_peek(&input);
    return head.length > 0 && looks_like_flight_dump(head.text, head.length);
}

static int dump_files_is_no_hidden_file(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static bool dump_files_add_folder(struct dump_files *files, const char *folder, struct error *error)
{
    struct dirent **entries = NULL;
    size_t count_before = files->count;
    int count = scandir(folder, &entries, dump_files_is_no_hidden_file, versionsort);

    if (count < 0)
        return error_set(error, ERROR_INPUT, "cannot read the folder '%s': %s", folder,
                         strerror(errno));
    for (int i = 0; i < count; i++) {
        struct stat status;
        char *path = path_join(folder, entries[i]->d_name);

        if (stat(path, &status) == 0 && S_ISREG(status.st_mode) && is_dump(path))
            dump_files_add_file(files, path, status.st_size);
        else
            free(path);
        free(entries[i]);
    }
    free(entries);
    return files->count > count_before ||
           error_set(error, ERROR_INPUT,
                     "no dump of a flight recorder in the folder '%s' (other files: %d): their "
                     "names end with the rank, as in nccl_trace_rank_3",
                     folder, count);
}

bool find_dump_files(struct dump_files *files, char **operands, int count, struct error *error)
{
    if (count == 0)
        return error_set(error, ERROR_USAGE,
                         "no dump given: name the files that PyTorch's flight recorder wrote, one "
                         "of each rank (by default /tmp/nccl_trace_rank_N), or their folder");
    for (int i = 0; i < count; i++) {
        struct stat status = {0};

        if (stat(operands[i], &status) == 0 && S_ISDIR(status.st_mode)) {
            if (!dump_files_add_folder(files, operands[i], error))
                return false;
            continue;
        }
        dump_files_add_file(files, text_copy(operands[i]), status.st_size);
    }
    return true;
}

void dump_files_clear(struct dump_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        free(files->files[i].path);
    free(files->files);
    memset(files, 0, sizeof *files);
}
