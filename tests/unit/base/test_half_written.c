/* What killed processes leave half written goes; what is being written, and what is others', stays.
 */
#include "base/io/half_written.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/flopledger-test-XXXXXX";

static int make_folder(void **state)
{
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int remove_folder(void **state)
{
    return rmdir(folder); /* fails where anything is left behind */
}

static void make_file(const char *path)
{
    int descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    assert_true(descriptor >= 0);
    close(descriptor);
}

static void what_is_left_goes(void **state)
{
    make_file("page.html.4711.flopledger-part");
    make_file("page.html.1.flopledger-part");
    assert_int_equal(mkdir("tables.12.flopledger-part", 0700), 0);
    assert_int_equal(mkdir("tables.12.flopledger-part/rank0", 0700), 0);
    make_file("tables.12.flopledger-part/rank0/steps.csv");
    half_written_sweep("page.html");
    half_written_sweep("./tables");
    assert_int_equal(access("page.html.4711.flopledger-part", F_OK), -1);
    assert_int_equal(access("page.html.1.flopledger-part", F_OK), -1);
    assert_int_equal(access("tables.12.flopledger-part", F_OK), -1);
    assert_int_equal(mkdir("there", 0700), 0);
    make_file("there/.7.flopledger-part");
    half_written_sweep("there/");
    assert_int_equal(rmdir("there"), 0);
}

static void what_is_written_now_stays(void **state)
{
    char *name = half_written_name("page.html");
    int descriptor = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    assert_true(half_written_hold(descriptor));
    half_written_sweep("page.html");
    assert_int_equal(access(name, F_OK), 0);
    close(descriptor);
    half_written_sweep("page.html");
    assert_int_equal(access(name, F_OK), -1);
    free(name);
}

static void what_is_gone_is_not_held(void **state)
{
    int descriptor = open("gone", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    assert_int_equal(unlink("gone"), 0);
    assert_false(half_written_hold(descriptor));
    close(descriptor);
}

static void what_is_of_others_stays(void **state)
{
    static const char *const names[] = {
        "page.html",
        "page.html.part",
        "page.html.12.part",
        "page.html.x.flopledger-part",
        "page.html.1x.flopledger-part",
        "page.html..flopledger-part",
        "page.html.1.flopledger-part2",
        "other.html.1.flopledger-part",
        "page.html.1.2.flopledger-part",
    };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        make_file(names[i]);
    assert_int_equal(symlink("page.html", "page.html.3.flopledger-part"), 0);
    half_written_sweep("page.html");
    assert_int_equal(unlink("page.html.3.flopledger-part"), 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(unlink(names[i]), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_left_goes),
        cmocka_unit_test(what_is_written_now_stays),
        cmocka_unit_test(what_is_gone_is_not_held),
        cmocka_unit_test(what_is_of_others_stays),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
