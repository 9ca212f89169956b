/* Energy of the ledger's steps, as far as each of them tells it. */
#include "support_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

extern const struct analysis energy_analysis;

enum { SECOND = 1000000000 };

/* Of two steps of a second, of which capture.json says what `described` does. */
static struct section *energy_section(struct made_trace *made, const char *described)
{
    char text[1024];
    struct error error = {0};
    int length = snprintf(text, sizeof text, "{\"recorded\": [{\"steps\": [%s]}]}", described);
    uint32_t thread;

    made_trace_init(made);
    thread = made_thread(made, "main");
    made_host_event(made, thread, EVENT_ANNOTATION,
                    (struct made_event){"ProfilerStep#0", 0, SECOND});
    made_host_event(made, thread, EVENT_ANNOTATION,
                    (struct made_event){"ProfilerStep#1", SECOND, 2LL * SECOND});
    made_host_event(made, thread, EVENT_OPERATOR, (struct made_event){"aten::mm", 10, SECOND});
    made_trace_finish(made, WINDOW_CHOICE_AUTO);
    assert_true(
        model_description_parse(&made->description, "capture.json", text, (size_t)length, &error));
    return made_section(made, &energy_analysis);
}

static void energy_clear(struct made_trace *made)
{
    model_description_clear(&made->description);
    made_trace_clear(made);
}

static void joules_are_divided_by_steps_time_and_tokens(void **state)
{
    struct made_trace made;
    const struct section *section = energy_section(
        &made, "{\"step\": 0, \"tokens\": 100, \"energy\": {\"time_ns\": 1000000000, \"gpu_uj\": "
               "300000000, \"cpu_uj\": null}}, {\"step\": 1, \"tokens\": 300, \"energy\": "
               "{\"time_ns\": 1500000000, \"gpu_uj\": 500000000, \"cpu_uj\": 7}}");

    assert_true(is_close(section_value(section, "gpu_joules_per_step").real, 400));
    assert_true(is_close(section_value(section, "gpu_watts").real, 320));
    assert_true(is_close(section_value(section, "gpu_joules_per_token").real, 2));
    assert_true(is_close(section_value(section, "tokens_per_gpu_joule").real, 0.5));
    assert_int_equal(section->number_count, 4); /* one step does not tell of the processors */
    energy_clear(&made);
}

static void what_one_step_does_not_tell_is_not_known(void **state)
{
    static const char *const described[] = {
        "{\"step\": 0, \"energy\": {\"time_ns\": 1000000000, \"gpu_uj\": 3, \"cpu_uj\": null}}",
        "{\"step\": 0, \"energy\": {\"time_ns\": 400000000, \"gpu_uj\": 3}}, {\"step\": 1, "
        "\"energy\": {\"time_ns\": 599999999, \"gpu_uj\": 3}}",
        "{\"step\": 0, \"energy\": {\"time_ns\": 1000000000, \"gpu_uj\": -3}}, {\"step\": 1, "
        "\"energy\": {\"time_ns\": 1000000000, \"gpu_uj\": \"3\"}}",
        "{\"step\": 0, \"energy\": {\"time_ns\": 9223372036854775807, \"gpu_uj\": 1}}, "
        "{\"step\": 1, \"energy\": {\"time_ns\": 9223372036854775807, \"gpu_uj\": 1}}",
    };
    struct made_trace made;

    for (size_t i = 0; i < sizeof described / sizeof *described; i++) {
        const struct section *section = energy_section(&made, described[i]);

        assert_int_equal(section->number_count, 1);
        assert_int_equal(section_value(section, "gpu_joules_per_step").unit, UNIT_NOT_KNOWN);
        energy_clear(&made);
    }
}

static void without_a_look_there_is_no_section(void **state)
{
    struct made_trace made;

    assert_null(energy_section(&made, "{\"step\": 0, \"energy\": null}, {\"step\": 1}"));
    energy_clear(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joules_are_divided_by_steps_time_and_tokens),
        cmocka_unit_test(what_one_step_does_not_tell_is_not_known),
        cmocka_unit_test(without_a_look_there_is_no_section),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
