/* The settings of `flopledger run`, from options and from a file. */
#include "live/run/run_parts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct arena arena;
static struct run_settings settings;
static struct error error;

static bool read_text(const char *text)
{
    char path[] = "/tmp/flopledger_run_settings_XXXXXX";
    int descriptor = mkstemp(path);
    bool is_read;

    assert_true(descriptor >= 0);
    assert_int_equal(write(descriptor, text, strlen(text)), strlen(text));
    close(descriptor);
    settings = default_run_settings;
    error = (struct error){0};
    is_read = read_run_config(&settings, path, &arena, &error);
    unlink(path);
    return is_read;
}

static void refuses(const char *text, const char *message)
{
    assert_false(read_text(text));
    assert_int_equal(error.class, ERROR_USAGE);
    if (!strstr(error.message, message))
        fail_msg("'%s' is not in '%s'", message, error.message);
}

static void test_step_windows(void **state)
{
    struct step_window_asked window = {0};

    assert_true(parse_step_window("10", &window));
    assert_int_equal(window.first, 10);
    assert_int_equal(window.last, 10);
    assert_true(parse_step_window("10-12", &window));
    assert_int_equal(window.last, 12);
    assert_false(parse_step_window("1", &window));
    assert_false(parse_step_window("12-10", &window));
    assert_false(parse_step_window("10-", &window));
    assert_false(parse_step_window("", &window));
    assert_false(parse_step_window("3 ", &window));
    assert_false(parse_step_window("99999999999999999999", &window));
    assert_int_equal(window.first, 10);
}

static void test_own_block(void **state)
{
    assert_true(
        read_text("{\"flopledger\": {\"steps\": \"10-12\", \"every\": 1000, \"memory\": true,"
                  "\"shapes\": false, \"modules\": \"a.*,b\", \"output\": \"x\\/y\"}}"));
    assert_int_equal(settings.steps.first, 10);
    assert_int_equal(settings.steps.last, 12);
    assert_int_equal(settings.every, 1000);
    assert_true(settings.records_memory);
    assert_false(settings.records_shapes);
    assert_string_equal(settings.modules, "a.*,b");
    assert_string_equal(settings.output, "x/y");
    assert_false(settings.has_deepspeed_block);
}

static void test_deepspeed_block(void **state)
{
    assert_true(read_text("{\"train_batch_size\": 8, \"zero\": {\"stage\": [1, {\"x\": null}]},"
                          " \"flops_profiler\": {\"enabled\": true, \"recompute_fwd_factor\": 0.0,"
                          " \"profile_step\": 3, \"module_depth\": 2, \"top_modules\": 5,"
                          " \"detailed\": false, \"output_file\": \"out.txt\"}}"));
    assert_true(settings.has_deepspeed_block);
    assert_true(settings.is_enabled);
    assert_int_equal(settings.steps.first, 4); /* DeepSpeed counts from 0 */
    assert_int_equal(settings.steps.last, 4);
    assert_int_equal(settings.module_depth, 2);
    assert_int_equal(settings.top_modules, 5);
    assert_false(settings.is_detailed);
    assert_string_equal(settings.output_file, "out.txt");
}

static void test_keys_of_deepspeed_alone(void **state)
{
    assert_true(read_text("{\"enabled\": false, \"output_file\": null}"));
    assert_true(settings.has_deepspeed_block);
    assert_false(settings.is_enabled);
    assert_null(settings.output_file);
    assert_true(read_text("{}\n"));
    assert_true(settings.is_enabled);
}

static void test_what_is_refused(void **state)
{
    refuses("{\"flopledger\": {\"stepz\": \"3\"}}", "did you mean \"steps\"");
    refuses("{\"flopledger\": {\"steps\": \"1\"}}", "\"steps\"");
    refuses("{\"flopledger\": {\"every\": 0}}", "\"every\"");
    refuses("{\"flopledger\": {\"memory\": 1}}", "true or false");
    refuses("{\"flopledger\": {\"output\": 3}}", "a text");
    refuses("{\"flopledger\": 3}", "'{'");
    refuses("{\"flops_profiler\": {\"profile_step\": \"one\"}}", "a whole number from 1 up");
    refuses("{\"flops_profiler\": {\"module_depth\": -2}}", "module_depth");
    refuses("{\"flops_profiler\": {\"enabled\": true", "expected");
    refuses("{\"enabled\": true} x", "nothing behind");
    refuses("", "'{'");
    refuses("[]", "'{'");
}

static void test_missing_file(void **state)
{
    settings = default_run_settings;
    assert_false(read_run_config(&settings, "/nonexistent/run.json", &arena, &error));
    assert_non_null(strstr(error.message, "cannot read '/nonexistent/run.json'"));
}

static int clear(void **state)
{
    arena_clear(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_step_windows),    cmocka_unit_test(test_own_block),
        cmocka_unit_test(test_deepspeed_block), cmocka_unit_test(test_keys_of_deepspeed_alone),
        cmocka_unit_test(test_what_is_refused), cmocka_unit_test(test_missing_file),
    };

    return cmocka_run_group_tests(tests, NULL, clear);
}
