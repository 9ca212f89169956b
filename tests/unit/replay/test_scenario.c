/* Changes to try: what is read of them, and what is refused where. */
#include "replay/scenario.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void reads_changes(void **state)
{
    SCOPED(scenario) scenario = {.text = NULL};
    struct error error;

    assert_true(
        scenario_parse(&scenario, "data=0,communication/4,kernel:a{1,2}=b*0.5,device*2", &error));
    assert_int_equal(scenario.change_count, 4);
    assert_true(scenario_factor(&scenario, TARGET_DATA, -1) == 0);
    assert_true(scenario_factor(&scenario, TARGET_COMMUNICATION, -1) == 0.25);
    assert_true(scenario_factor(&scenario, TARGET_DEVICE, -1) == 2);
    assert_true(scenario_factor(&scenario, TARGET_HOST, -1) == 1);
    assert_true(scenario_kernel_factor(&scenario, "xaa=b", -1) == 0.5);
    assert_true(scenario_kernel_factor(&scenario, "b", -1) == 1);
}

static void reads_ranks_and_words(void **state)
{
    SCOPED(scenario) scenario = {.text = NULL};
    struct error error;

    assert_true(scenario_parse(
        &scenario, "data@3=workers,host=graphs,device@12*2,waiting@7=0,kernel:a@b@5/2", &error));
    assert_int_equal(scenario.change_count, 5);
    assert_true(scenario_factor(&scenario, TARGET_DATA, 3) == 0);
    assert_true(scenario_factor(&scenario, TARGET_DATA, 4) == 1);
    assert_true(scenario_has_word(&scenario, SCENARIO_WORD_WORKERS, 3));
    assert_false(scenario_takes(&scenario, TARGET_DATA, 3));
    assert_true(scenario_takes(&scenario, TARGET_WAITING, 7));
    assert_false(scenario_takes(&scenario, TARGET_WAITING, 6));
    assert_false(scenario_has_word(&scenario, SCENARIO_WORD_WORKERS, -1));
    assert_true(scenario_has_word(&scenario, SCENARIO_WORD_GRAPHS, -1));
    assert_true(scenario_factor(&scenario, TARGET_HOST, 0) == 1);
    assert_true(scenario_factor(&scenario, TARGET_DEVICE, 12) == 2);
    assert_true(scenario_factor(&scenario, TARGET_WAITING, 7) == 0);
    assert_true(scenario_factor(&scenario, TARGET_WAITING, 6) == 1);
    assert_true(scenario_has_target(&scenario, TARGET_WAITING));
    assert_false(scenario_has_target(&scenario, TARGET_SYNC));
    assert_true(scenario_kernel_factor(&scenario, "a@b", 5) == 0.5);
    assert_true(scenario_kernel_factor(&scenario, "a@b", 4) == 1);
}

static void refuses_with_the_place(void **state)
{
    static const char *const cases[][2] = {
        {"", "at character 1"},
        {"data", "at character 5"},
        {"data=", "at character 6"},
        {"data=5", "at character 6"},
        {"data*-1", "at character 6"},
        {"data*nan", "at character 6"},
        {"data*2x", "at character 6"},
        {"data/0", "at character 6"},
        {"data*1001", "at character 6"},
        {"data/1e-9", "at character 6"},
        {"date=0", "at character 1"},
        {"data=0,", "at character 8"},
        {"data=0,loader=0", "at character 8"},
        {"kernel:*2", "at character 8"},
        {"kernel:@3*2", "at character 8"},
        {"waiting*0.5", "at character 8"},
        {"waiting@3/2", "at character 10"},
        {"sync=workers", "at character 6"},
        {"host=graph", "at character 6"},
        {"host@=0", "at character 1"},
        {"host@x=0", "at character 1"},
        {"host@9999999999=0", "at character 6"},
        {"kernel:(*2", "at character 8"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SCOPED(scenario) scenario = {.text = NULL};
        struct error error;

        assert_false(scenario_parse(&scenario, cases[i][0], &error));
        assert_int_equal(error.class, ERROR_USAGE);
        if (!strstr(error.message, cases[i][1]))
            print_error("%s\n", error.message);
        assert_non_null(strstr(error.message, cases[i][1]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_changes),
        cmocka_unit_test(reads_ranks_and_words),
        cmocka_unit_test(refuses_with_the_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
