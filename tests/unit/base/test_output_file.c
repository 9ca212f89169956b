/* A file that appears whole or not at all. */
#include "base/io/output_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/flopledger-test-XXXXXX";
static char path[64];

static int make_folder(void **state)
{
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/out", folder);
    return 0;
}

static int remove_folder(void **state)
{
    unlink(path);
    return rmdir(folder); /* fails where anything is left behind */
}

static int files_in_folder(void)
{
    DIR *listing = opendir(folder);
    int count = 0;

    while (readdir(listing))
        count++;
    closedir(listing);
    return count - 2;
}

static void assert_content(const char *expected)
{
    char text[64] = "";
    FILE *file = fopen(path, "r");

    assert_non_null(file);
    assert_int_equal(fread(text, 1, sizeof text - 1, file), strlen(expected));
    fclose(file);
    assert_string_equal(text, expected);
}

static void a_file_appears_when_it_is_closed(void **state)
{
    struct output_file file = {0};
    struct error error = {0};

    assert_true(output_file_open(&file, path, &error));
    fputs("first", file.stream);
    assert_int_equal(access(path, F_OK), -1);
    assert_true(output_file_close(&file, &error));
    assert_content("first");
    assert_int_equal(files_in_folder(), 1);
}

static void giving_up_leaves_the_old_file(void **state)
{
    struct output_file file = {0};
    struct error error = {0};

    assert_true(output_file_open(&file, path, &error));
    fputs("second", file.stream);
    output_file_clear(&file);
    assert_content("first");
    assert_int_equal(files_in_folder(), 1);
}

static void the_mode_and_a_link_stay(void **state)
{
    struct output_file file = {0};
    struct error error = {0};
    struct stat status;
    char link[64];

    snprintf(link, sizeof link, "%s/link", folder);
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(symlink(path, link), 0);
    assert_true(output_file_open(&file, link, &error));
    fputs("third", file.stream);
    assert_true(output_file_close(&file, &error));
    assert_content("third");
    assert_int_equal(lstat(link, &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_int_equal(unlink(link), 0);
}

static void signals_wait_until_the_file_is_whole(void **state)
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        struct output_file file = {0};
        struct error error = {0};

        if (!output_file_open(&file, path, &error))
            _exit(3);
        fputs("whole", file.stream);
        kill(getpid(), SIGINT);
        fputs(" still", file.stream);
        (void)!output_file_close(&file, &error);
        _exit(4); /* not reached: the signal ends the program once the file stands */
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGINT);
    assert_content("whole still");
    assert_int_equal(files_in_folder(), 1);
}

static void what_cannot_be_written_is_told(void **state)
{
    struct output_file file = {0};
    struct error error = {0};

    assert_false(output_file_open(&file, folder, &error));
    assert_int_equal(error.class, ERROR_FAILURE);
    assert_non_null(strstr(error.message, folder));
    assert_false(output_file_open(&file, "/nowhere/at/all", &error));
    assert_string_equal(error.message, "cannot write '/nowhere/at/all': No such file or directory");
    assert_null(file.path);
}

static void a_device_is_written_directly(void **state)
{
    struct output_file file = {0};
    struct error error = {0};

    assert_true(output_file_open(&file, "/dev/null", &error));
    fputs("gone", file.stream);
    assert_true(output_file_close(&file, &error));
    if (access("/dev/full", W_OK) != 0)
        return;
    assert_true(output_file_open(&file, "/dev/full", &error));
    fputs("no room", file.stream);
    assert_false(output_file_close(&file, &error));
    assert_string_equal(error.message, "cannot write '/dev/full': No space left on device");
}

static void what_stands_there_is_known(void **state)
{
    const struct timespec long_ago[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    static char text[200 * 1000]; /* more than one piece */
    struct output_file file = {0};
    struct error error = {0};
    struct stat status;

    memset(text, 'a', sizeof text);
    assert_true(output_file_open(&file, path, &error));
    assert_int_equal(fwrite(text, 1, sizeof text, file.stream), sizeof text);
    assert_true(output_file_close(&file, &error));
    assert_int_equal(utimensat(AT_FDCWD, path, long_ago, 0), 0);
    assert_false(output_file_holds(path, text, sizeof text - 1));
    text[sizeof text - 1] = 'b';
    assert_false(output_file_holds(path, text, sizeof text));
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mtim.tv_sec, 1000);
    text[sizeof text - 1] = 'a';
    assert_true(output_file_holds(path, text, sizeof text));
    assert_int_equal(stat(path, &status), 0);
    assert_true(status.st_mtim.tv_sec > 1000);
    assert_false(output_file_holds(folder, "", 0));
    assert_false(output_file_holds("/nowhere/at/all", text, sizeof text));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_appears_when_it_is_closed),
        cmocka_unit_test(giving_up_leaves_the_old_file),
        cmocka_unit_test(the_mode_and_a_link_stay),
        cmocka_unit_test(signals_wait_until_the_file_is_whole),
        cmocka_unit_test(what_cannot_be_written_is_told),
        cmocka_unit_test(a_device_is_written_directly),
        cmocka_unit_test(what_stands_there_is_known),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
