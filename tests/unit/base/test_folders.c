/* Finding what lies in folders, whatever they are called. */
#include "base/io/folders.h"
#include "base/text/owned_text.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* A folder called "run[1]*" with the folders rank0 and rank1 and the file rank2. */
static char *made_folder(void **state)
{
    char place[] = "/tmp/flopledger-folders-XXXXXX";
    static const char *const ranks[] = {"rank0", "rank1"};
    char *folder;
    char *file;

    assert_non_null(mkdtemp(place));
    folder = path_join(place, "run[1]*");
    for (size_t i = 0; i < 2; i++) {
        char *rank = path_join(folder, ranks[i]);

        assert_true(make_folders(rank));
        free(rank);
    }
    file = path_join(folder, "rank2");
    assert_return_code(close(open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)), 0);
    free(file);
    return folder;
}

static void removed(char *folder)
{
    glob_t found;

    find_paths(&found, folder, "*");
    for (size_t i = 0; i < found.gl_pathc; i++)
        if (rmdir(found.gl_pathv[i]) != 0)
            assert_return_code(unlink(found.gl_pathv[i]), 0);
    globfree(&found);
    assert_return_code(rmdir(folder), 0);
    *strrchr(folder, '/') = '\0';
    assert_return_code(rmdir(folder), 0);
    free(folder);
}

static void test_paths_below_a_folder_whose_name_looks_like_a_pattern(void **state)
{
    char *folder = made_folder(state);
    glob_t found;

    find_paths(&found, folder, "rank*");
    assert_int_equal(found.gl_pathc, 3);
    assert_string_equal(strrchr(found.gl_pathv[2], '/'), "/rank2");
    globfree(&found);
    removed(folder);
}

static void test_only_folders_without_a_slash_behind(void **state)
{
    char *folder = made_folder(state);
    glob_t found;

    find_folders(&found, folder, "rank*");
    assert_int_equal(found.gl_pathc, 2);
    assert_string_equal(strrchr(found.gl_pathv[1], '/'), "/rank1");
    globfree(&found);
    removed(folder);
}

static void test_nothing_matches(void **state)
{
    char *folder = made_folder(state);
    glob_t found;

    find_paths(&found, folder, "*.json");
    assert_int_equal(found.gl_pathc, 0);
    globfree(&found);
    find_folders(&found, "/no/such/folder", "*");
    assert_int_equal(found.gl_pathc, 0);
    globfree(&found);
    removed(folder);
}

static void assert_only_path(const char *folder, const char *name)
{
    char *path = find_only_path(folder, "rank[2-9]");

    if (name)
        assert_string_equal(strrchr(path, '/') + 1, name);
    else
        assert_null(path);
    free(path);
}

/* Written to long ago, so that what was found counts for as long as nothing changes. */
static void test_the_only_path_asked_for_again_and_again(void **state)
{
    static const struct timespec long_ago[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    char *folder = made_folder(state);
    char *file = path_join(folder, "rank2");
    char *other = path_join(folder, "rank3");

    assert_return_code(utimensat(AT_FDCWD, folder, long_ago, 0), 0);
    for (int again = 0; again < 3; again++)
        assert_only_path(folder, "rank2");
    assert_return_code(link(file, other), 0);
    assert_only_path(folder, NULL);
    assert_return_code(unlink(file), 0);
    assert_only_path(folder, "rank3");
    assert_return_code(utimensat(AT_FDCWD, folder, long_ago, 0), 0);
    assert_only_path(folder, "rank3");
    assert_return_code(rename(other, file), 0);
    assert_only_path(folder, "rank2");
    assert_null(find_only_path("/no/such/folder", "*"));
    free(file);
    free(other);
    removed(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths_below_a_folder_whose_name_looks_like_a_pattern),
        cmocka_unit_test(test_only_folders_without_a_slash_behind),
        cmocka_unit_test(test_nothing_matches),
        cmocka_unit_test(test_the_only_path_asked_for_again_and_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
