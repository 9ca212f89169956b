/* What capture.json says of a model. */
#include "base/core/attributes.h"
#include "cost/modules/model_description.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const char capture[] =
    "{\"parallel\": {\"world_size\": 8, \"data\": {\"size\": 4}, \"tensor\": {\"size\": 2}},"
    "\"models\": [{\"class\": \"Net\", \"parameters\": 42, \"trainable_parameters\": 36,"
    "\"modules\": ["
    "{\"name\": \"\", \"mark\": \"Net\", \"class\": \"Net\", \"parameters\": []},"
    "{\"name\": \"a\", \"mark\": \"a\", \"class\": \"Block\", \"parameters\": []},"
    "{\"name\": \"a.x\", \"mark\": \"a.x\", \"class\": \"Linear\", \"extra_repr\": \"in=6\","
    " \"parameters\": [{\"name\": \"weight\", \"shape\": [6, 6], \"frozen\": false}]},"
    "{\"name\": \"a.y\", \"mark\": \"a.y\", \"class\": \"Linear\", \"extra_repr\": \"\","
    " \"parameters\": [{\"name\": \"weight\", \"shape\": [6, 6], \"frozen\": false,"
    " \"shared_with\": \"a.x.weight\"}, {\"name\": \"bias\", \"shape\": [6], \"frozen\": true}]}"
    "]}],"
    "\"recorded\": [{\"steps\": [{\"step\": 4, \"micro_batches\": 2,"
    " \"samples\": 6, \"tokens\": 48}]},"
    "{\"steps\": [{\"step\": 9, \"micro_batches\": 2,"
    " \"samples\": null, \"tokens\": -3}]}, 7]}";

static void parameters_are_added_up(void **state)
{
    SCOPED(model_description) description = {0};
    struct error error = {0};

    assert_true(
        model_description_parse(&description, "capture.json", capture, strlen(capture), &error));
    assert_int_equal(description.count, 4);
    assert_int_equal(describe_module(&description, "a.x")->parameters, 36);
    assert_string_equal(describe_module(&description, "a.x")->extra_repr, "in=6");
    assert_int_equal(describe_module(&description, "a.y")->parameters, 42);
    assert_int_equal(describe_module(&description, "a.y")->trainable, 36);
    assert_int_equal(describe_module(&description, "a")->parameters, 42); /* shared: once */
    assert_int_equal(describe_module(&description, "a")->trainable, 36);
    assert_int_equal(describe_module(&description, "Net")->parameters, 42);
    assert_string_equal(describe_module(&description, "a.y")->root, "Net");
    assert_null(describe_module(&description, "b"));
    assert_int_equal(description.world_size, 8);
    assert_int_equal(description.data_size, 4);
    assert_int_equal(description.tensor_size, 2);
}

static void steps_of_all_windows(void **state)
{
    SCOPED(model_description) description = {0};
    struct error error = {0};

    assert_true(
        model_description_parse(&description, "capture.json", capture, strlen(capture), &error));
    assert_int_equal(describe_step(&description, 4)->samples, 6);
    assert_int_equal(describe_step(&description, 4)->micro_batches, 2);
    assert_int_equal(describe_step(&description, 4)->tokens, 48);
    assert_int_equal(describe_step(&description, 9)->samples, -1); /* not known */
    assert_int_equal(describe_step(&description, 9)->tokens, -1);
    assert_null(describe_step(&description, 5));
}

static void other_json_is_no_model(void **state)
{
    static const char *const others[] = {
        "{}",
        "[]",
        "{\"models\": 3}",
        "{\"recorded\": [3, {\"steps\": 1}, {\"steps\": [7, null]}]}",
        "{\"models\": [3, {}, {\"modules\": [1, {}]}]}",
        "{\"models\": [{\"modules\": [{\"parameters\": [{\"shape\": [\"x\", -3]}]}]}]}",
        NULL};

    for (size_t i = 0; others[i]; i++) {
        SCOPED(model_description) description = {0};
        struct error error = {0};

        assert_true(
            model_description_parse(&description, "x", others[i], strlen(others[i]), &error));
        assert_int_equal(description.world_size, -1);
    }
}

static void damage_is_told(void **state)
{
    SCOPED(model_description) description = {0};
    struct error error = {0};

    assert_false(model_description_parse(&description, "capture.json", capture, 100, &error));
    assert_non_null(strstr(error.message, "cannot read 'capture.json': byte"));
}

static void no_file_is_no_error(void **state)
{
    SCOPED(model_description) description = {0};
    struct error error = {0};

    assert_true(model_description_find(&description, "tests/unit/trace.json", &error));
    assert_int_equal(description.count, 0);
    assert_true(model_description_find(&description, "tests/traces/golden/modules/x.json", &error));
    assert_int_equal(describe_module(&description, "Tiny")->parameters, 2528);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_are_added_up), cmocka_unit_test(steps_of_all_windows),
        cmocka_unit_test(other_json_is_no_model),  cmocka_unit_test(damage_is_told),
        cmocka_unit_test(no_file_is_no_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
