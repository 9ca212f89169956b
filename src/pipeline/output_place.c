/* Where a command line puts its output, and what must not be replaced there. */
#include "pipeline/output_place.h"

#include "base/io/output_file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool output_place_is_standard_output(const char *path)
{
    return !path || strcmp(path, "-") == 0;
}

/* ---- is it read, too? ------------------------------------------------------------------------ */

/* By device and inode, not by name: the same file may be named in two ways, or by a link. */
static bool is_same_file(const struct stat *one, const char *path)
{
    struct stat other;

    return path && stat(path, &other) == 0 && one->st_dev == other.st_dev &&
           one->st_ino == other.st_ino;
}

/* Is the file, which has a trace's name, in the folder or two below it? What is read of a folder
 * are its traces, the damaged ones, too. The paths are resolved first, and the folder's has to
 * end at a slash of the file's: "/a/bc" is not in "/a/b". A file that does not exist yet cannot
 * be read and is in no folder here. */
static bool output_place_is_in_folder(const char *path, const char *folder)
{
    char *file = realpath(path, NULL);
    char *above = realpath(folder, NULL);
    size_t length = above ? strlen(above) : 0;
    bool is_in = file && above && strncmp(file, above, length) == 0 && file[length] == '/' &&
                 has_trace_name(file);

    free(file);
    free(above);
    return is_in;
}

/* An earlier report as JSON has a trace's name, and is none. */
static bool is_own_report_file(const char *path)
{
    return content_of_file(path) == CONTENT_REPORT;
}

/* A folder among the inputs reads every trace in it: writing one there would replace a
 * recording with a report. A report that was written there before may be replaced. */
static bool is_read(const char *path, const struct stat *status, const struct output_inputs *inputs)
{
    for (int i = 0; i < inputs->count; i++) {
        struct stat folder;

        if (is_same_file(status, inputs->operands[i]))
            return true;
        if (stat(inputs->operands[i], &folder) == 0 && S_ISDIR(folder.st_mode) &&
            output_place_is_in_folder(path, inputs->operands[i]) && !is_own_report_file(path))
            return true;
    }
    for (size_t i = 0; i < sizeof inputs->others / sizeof inputs->others[0]; i++)
        if (is_same_file(status, inputs->others[i]))
            return true;
    return false;
}

/* ---- the checks ------------------------------------------------------------------------------ */

/* What the user said he wants to read goes before what the file is: the first message names
 * the mistake (a word taken for the value of an option). Then data of any kind are kept,
 * unless the command writes that kind itself. */
static bool check_replaced(const struct output_place *place, const struct output_inputs *inputs,
                           struct error *error)
{
    struct stat status;
    enum file_content content;

    if (stat(place->path, &status) != 0 || !S_ISREG(status.st_mode))
        return true;
    if (is_read(place->path, &status, inputs))
        return error_set(error, ERROR_USAGE,
                         "'%s' stands behind %s, so it was taken for the %s to write; it is to be "
                         "read, too, and is left as it is: name another file behind %s",
                         place->path, place->option, place->what, place->option);
    content = place->is_forced ? CONTENT_OTHER : content_of_file(place->path);
    if (is_data(content) && content != place->replaces)
        return error_set(error, ERROR_USAGE,
                         "'%s' stands behind %s, so it was taken for the %s to write; it is %s, "
                         "and is left as it is: name another file behind %s, or give --force, too",
                         place->path, place->option, place->what, file_content_words(content),
                         place->option);
    return true;
}

/* All of it before the work begins: a report of an hour must not end at its last step. */
bool check_output_place(const struct output_place *place, const struct output_inputs *inputs,
                        struct error *error)
{
    return output_place_is_standard_output(place->path) ||
           (check_replaced(place, inputs, error) && output_file_check(place->path, error));
}

/* A folder that is not there is made later. A file at that place is most often an input behind
 * the wrong option, hence it is never touched. */
bool check_output_folder(const struct output_place *place, struct error *error)
{
    struct stat status;

    if (stat(place->path, &status) != 0 || S_ISDIR(status.st_mode))
        return true;
    return error_set(error, ERROR_USAGE,
                     "'%s' stands behind %s, so it was taken for the folder to write to; it is a "
                     "file, and is left as it is: name a folder behind %s",
                     place->path, place->option, place->option);
}

const char *data_that_file_holds(const char *path)
{
    enum file_content content = content_of_file(path);

    return is_data(content) ? file_content_words(content) : NULL;
}
