/* The progress bar: only on a terminal, only for work over a second, gone at the end. */
#include "base/io/progress.h"

#include <pty.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* What is printed on a standard error that is a terminal while `work` runs. */
static void capture_terminal(void (*work)(void), char *text, size_t size)
{
    int controller;
    int terminal;
    int old = dup(STDERR_FILENO);
    size_t length = 0;
    ssize_t got;

    if (openpty(&controller, &terminal, NULL, NULL, NULL) != 0)
        skip();
    dup2(terminal, STDERR_FILENO);
    work();
    fputs("end", stderr);
    fflush(stderr);
    dup2(old, STDERR_FILENO);
    text[0] = '\0';
    while (!strstr(text, "end")) { /* the kernel hands it over in parts */
        got = read(controller, text + length, size - 1 - length);
        if (got <= 0)
            break;
        length += (size_t)got;
        text[length] = '\0';
    }
    close(old);
    close(terminal);
    close(controller);
}

static void work_for_a_moment(void)
{
    struct progress *progress = progress_new("reading", 1000, true);

    for (int i = 0; i < 10; i++)
        progress_advance(progress, 100);
    progress_free(progress);
}

static void work_for_long(void)
{
    struct progress *progress = progress_new("reading", 1000, true);

    progress_advance(progress, 300);
    usleep(1050000);
    progress_advance(progress, 200);
    progress_free(progress);
}

static void work_on_a_pipe(void)
{
    struct progress *progress = progress_new("reading", -1, true);

    usleep(1050000);
    progress_title(progress, "still reading");
    progress_advance(progress, 2048);
    progress_free(progress);
}

static void short_work_shows_nothing(void **state)
{
    char text[256];

    capture_terminal(work_for_a_moment, text, sizeof text);
    assert_string_equal(text, "end");
}

static void long_work_shows_a_bar_and_removes_it(void **state)
{
    char text[256];

    capture_terminal(work_for_long, text, sizeof text);
    assert_string_equal(text, "\r\033[Kreading: [###############...............]  50 % of 1,000 B"
                              "\r\033[Kend");
}

static void without_a_size_it_shows_what_is_done(void **state)
{
    char text[256];

    capture_terminal(work_on_a_pipe, text, sizeof text);
    assert_string_equal(text, "\r\033[Kstill reading: 2.0 KiB\r\033[Kend");
}

static void no_bar_is_wanted(void **state)
{
    struct progress *progress = progress_new("reading", 1000, false);

    assert_null(progress);
    progress_advance(progress, 1);
    progress_title(progress, "other");
    progress_free(progress);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_work_shows_nothing),
        cmocka_unit_test(long_work_shows_a_bar_and_removes_it),
        cmocka_unit_test(without_a_size_it_shows_what_is_done),
        cmocka_unit_test(no_bar_is_wanted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
