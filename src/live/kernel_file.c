/* Files in which the kernel tells its counters. */
#include "live/kernel_file.h"

#include "base/core/attributes.h"
#include "base/io/whole_file.h"
#include "base/text/owned_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool kernel_file_read(struct kernel_file *file, const char *root, const char *path)
{
    struct error ignored;
    bool is_missing;
    size_t length;
    char *whole;

    *file = (struct kernel_file){0};
    whole = text_format("%s%s", root, path);
    file->text = read_whole_file(whole, &length, &is_missing, &ignored);
    if (file->text)
        file->text[length] = '\0'; /* there is room */
    file->rest = file->text;
    free(whole);
    return file->text != NULL;
}

/* Cut in place, without a copy; a last line without its end counts, too. */
char *kernel_file_line(struct kernel_file *file)
{
    char *line = file->rest;
    char *end;

    if (!line || !*line)
        return NULL;
    end = line + strcspn(line, "\n");
    file->rest = *end ? end + 1 : end;
    *end = '\0';
    return line;
}

void kernel_file_clear(struct kernel_file *file)
{
    free(file->text);
    *file = (struct kernel_file){0};
}

/* -1 for what is missing or negative: counters of the kernel are neither. */
int64_t kernel_number(const char *root, const char *path)
{
    SCOPED(kernel_file) file = {0};
    char *end;
    long long number;

    if (!kernel_file_read(&file, root, path))
        return -1;
    number = strtoll(file.text, &end, 10);
    return end == file.text || number < 0 ? -1 : (int64_t)number;
}
