/* Runs a fuzz target over the files of the folders it is given: the corpus as a plain test. What is
 * a sample of other tests, too, is a link to it. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* See fuzz_parts.h; targets without it have none. */
extern unsigned fuzz_parts_read __attribute__((weak));

enum { INPUT_BYTES_MAX = 1 << 20 };

static int run_file(const char *path)
{
    static uint8_t bytes[INPUT_BYTES_MAX];
    FILE *file = fopen(path, "rb");
    uint8_t *exact;
    size_t size;

    if (!file) {
        perror(path);
        return 1;
    }
    size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    exact = malloc(size ? size : 1); /* of its exact size, so that AddressSanitizer sees a read
                                        behind it */
    if (!exact)
        abort();
    for (size_t i = 0; i < size; i++)
        exact[i] = bytes[i];
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
    return 0;
}

static int run_folder(const char *folder, int *count)
{
    DIR *entries = opendir(folder);
    int failures = 0;

    if (!entries) {
        perror(folder);
        return 1;
    }
    for (struct dirent *entry = readdir(entries); entry; entry = readdir(entries)) {
        char path[4096];

        if (entry->d_name[0] == '.')
            continue;
        (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        failures += run_file(path);
        ++*count;
    }
    closedir(entries);
    return failures;
}

int main(int argument_count, char **arguments)
{
    int failures = 0;
    int count = 0;

    for (int i = 1; i < argument_count; i++)
        failures += run_folder(arguments[i], &count);
    printf("%d inputs\n", count);
    if (&fuzz_parts_read && fuzz_parts_read == 0) {
        fprintf(stderr, "none of them was read\n");
        return 1;
    }
    return failures || count == 0;
}
