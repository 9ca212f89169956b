/* What a terminal can show, as far as the environment says. */
#include "base/text/terminal.h"

#include <pty.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmocka.h>

static void columns_count_when_they_are_a_number(void **state)
{
    FILE *file = tmpfile();

    assert_non_null(file);
    setenv("COLUMNS", "123", 1);
    assert_int_equal(terminal_width(file), 123);
    setenv("COLUMNS", "wide", 1);
    assert_int_equal(terminal_width(file), TERMINAL_WIDTH_DEFAULT);
    setenv("COLUMNS", "-5", 1);
    assert_int_equal(terminal_width(file), TERMINAL_WIDTH_DEFAULT);
    unsetenv("COLUMNS");
    assert_int_equal(terminal_width(file), TERMINAL_WIDTH_DEFAULT);
    fclose(file);
}

static void a_terminal_has_its_own_width(void **state)
{
    struct winsize size = {.ws_row = 24, .ws_col = 97};
    int controller;
    int terminal;
    FILE *stream;

    if (openpty(&controller, &terminal, NULL, NULL, &size) != 0)
        skip();
    stream = fdopen(terminal, "w");
    unsetenv("COLUMNS");
    assert_int_equal(terminal_width(stream), 97);
    setenv("TERM", "xterm", 1);
    unsetenv("NO_COLOR");
    assert_true(terminal_shows_color(stream));
    setenv("NO_COLOR", "1", 1);
    assert_false(terminal_shows_color(stream));
    unsetenv("NO_COLOR");
    setenv("TERM", "dumb", 1);
    assert_false(terminal_shows_color(stream));
    fclose(stream);
    close(controller);
}

static void a_file_has_no_color(void **state)
{
    FILE *file = tmpfile();

    setenv("TERM", "xterm", 1);
    unsetenv("NO_COLOR");
    assert_false(terminal_shows_color(file));
    fclose(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_count_when_they_are_a_number),
        cmocka_unit_test(a_terminal_has_its_own_width),
        cmocka_unit_test(a_file_has_no_color),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
