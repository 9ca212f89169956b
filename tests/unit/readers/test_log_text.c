/* Words, numbers and times of a line of a log. */
#include "readers/logs/log_text.h"
#include "readers/logs/log_time.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct log_text text_of(const char *text)
{
    return (struct log_text){text, text + strlen(text)};
}

/* Seconds and nanoseconds of a time, or -1. */
static int64_t time_ns(const char *text, enum job_clock *clock)
{
    struct log_text line = text_of(text), rest;
    struct log_time time;

    if (!log_find_time(line, &time, &rest))
        return -1;
    *clock = time.clock;
    return time.ns;
}

static void times_are_read_as_logs_write_them(void **state)
{
    static const struct {
        const char *text;
        int64_t seconds;
        int64_t nanoseconds;
        enum job_clock clock;
    } times[] = {
        /* `date -u -d '2025-04-13 23:41:12' +%s` and the like */
        {"[2025-04-13 23:41:12] iteration", 1744587672, 0, JOB_CLOCK_LOCAL},
        {" [2025-04-13 23:41:12.123456] iteration", 1744587672, 123456000, JOB_CLOCK_LOCAL},
        {"[rank0]:[titan] 2025-06-04 08:51:48,074 - root - INFO", 1749027108, 74000000,
         JOB_CLOCK_LOCAL},
        {"2023-09-05T11:49:58.225+08:00 INFO", 1693885798, 225000000, JOB_CLOCK_UTC},
        {"2023-09-05T11:49:58Z x", 1693914598, 0, JOB_CLOCK_UTC},
        {"2023-09-05T11:49:58-0730 x", 1693941598, 0, JOB_CLOCK_UTC},
        {"[20251202 09:12:08][rank-7/8]", 1764666728, 0, JOB_CLOCK_LOCAL},
        {"03/15/2024 12:34:56 - INFO", 1710506096, 0, JOB_CLOCK_LOCAL},
        {"2024-10-11 04:27:13 PM", 1728664033, 0, JOB_CLOCK_LOCAL},
        {"2024-10-11 12:27:13 AM", 1728606433, 0, JOB_CLOCK_LOCAL},
        {"Thu Jul 31 09:48:56 UTC 2025", 1753955336, 0, JOB_CLOCK_UTC},
        {"Thu Jul  3 09:48:56 CEST 2025", 1751536136, 0, JOB_CLOCK_LOCAL},
        {"node12: 2024-02-29 00:00:00 x", 1709164800, 0, JOB_CLOCK_LOCAL},
        {"I0731 09:47:48.898259     514 a.cc:4] x", 81424068, 898259000, JOB_CLOCK_LOCAL},
        {"I20250731 09:47:48.898259 514 a.cc:4] x", 1753955268, 898259000, JOB_CLOCK_LOCAL},
        {"Jul 31 09:47:48 node12 python[7]: x", 81424068, 0, JOB_CLOCK_LOCAL},
        {"Jul  1 09:47:48 x", 78832068, 0, JOB_CLOCK_LOCAL},
        {"INFO 07-31 09:47:48 x", 81424068, 0, JOB_CLOCK_LOCAL},
        {"[07/31 09:47:48 train]: x", 81424068, 0, JOB_CLOCK_LOCAL},
        {"31.07.2025 09:47:48 x", 1753955268, 0, JOB_CLOCK_LOCAL},
        {"train_fp8/0  [2025-04-13 23:41:12] x", 1744587672, 0, JOB_CLOCK_LOCAL},
        {"worker-1  | [2025-04-13 23:41:12] x", 1744587672, 0, JOB_CLOCK_LOCAL},
        {"12:34:56.5 x", 45296, 500000000, JOB_CLOCK_LOCAL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        enum job_clock clock = JOB_CLOCK_LOCAL;
        int64_t ns = time_ns(times[i].text, &clock);

        if (ns != times[i].seconds * 1000000000 + times[i].nanoseconds)
            fail_msg("%s: %lld", times[i].text, (long long)ns);
        assert_int_equal(clock, times[i].clock);
    }
}

static void times_in_the_text_are_not_those_of_the_line(void **state)
{
    static const char *const lines[] = {
        "resumed the run of 2025-04-13 23:41:12",
        "run_name: 2025-04-13 23:41:12",
        "saved to data-2025-04-13-23:41:12",
        "2025-13-13 23:41:12",
        "9999-12-13 23:41:12",
        "resumed the run of Jul 31 09:47:48",
        "run7 begun 07-31 09:47:48",
        "31.13.2025 09:47:48",
        "Jul 32 09:47:48 x",
        "Jux 31 09:47:48 x",
        "worker-1 of 3 | [2025-04-13 23:41:12] x",
        "2025-04-13 24:41:12",
        "2025-04-13 23:41:123",
        "step 12:34:56",
        "",
        "2025",
    };
    enum job_clock clock;

    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (time_ns(lines[i], &clock) != -1)
            fail_msg("%s has a time", lines[i]);
}

static void numbers_are_read_without_rounding(void **state)
{
    struct log_text text = text_of("1147.6 x");
    int64_t number;
    double real;

    (void)state;
    assert_true(log_take_length(&text, 1000000, &number));
    assert_int_equal(number, 1147600000);
    assert_string_equal(text.at, " x");
    text = text_of("18.09756088256836");
    assert_true(log_take_length(&text, 1000000000, &number));
    assert_int_equal(number, 18097560883);
    text = text_of("1e30");
    assert_false(log_take_length(&text, 1000000000, &number));
    text = text_of("nan");
    assert_false(log_take_length(&text, 1000000000, &number));
    text = text_of("-3");
    assert_false(log_take_length(&text, 1000000000, &number));
    text = text_of(" 7,034  tflops");
    assert_true(log_take_integer(&text, true, &number));
    assert_int_equal(number, 7034);
    text = text_of("step=0,loss");
    assert_true(log_find(text, "step=", &text) && log_take_integer(&text, true, &number));
    assert_int_equal(number, 0);
    text = text_of("1.210588E+01 |");
    assert_true(log_take_real(&text, false, &real));
    assert_true(fabs(real - 12.10588) < 1e-12);
    text = text_of("nan ");
    assert_true(log_take_real(&text, false, &real) && isnan(real));
    text = text_of("-inf");
    assert_true(log_take_real(&text, false, &real) && isinf(real) && real < 0);
    text = text_of("99999999999999999999");
    assert_false(log_take_integer(&text, false, &number));
}

static void seconds_since_1970_are_read(void **state)
{
    struct log_text text = text_of("1739210331.717398\"");
    int64_t ns = 0;

    (void)state;
    assert_true(log_take_epoch(&text, &ns));
    assert_int_equal(ns, INT64_C(1739210331717398000));
    assert_string_equal(text.at, "\"");
    text = text_of("-1");
    assert_false(log_take_epoch(&text, &ns));
    text = text_of("99999999999");
    assert_false(log_take_epoch(&text, &ns));
}

static void bars_are_read(void **state)
{
    struct log_bar bar;

    (void)state;
    assert_true(log_take_bar(text_of("Epoch 3:  10%|#  | 100/1000 [1:01:40<15:00, 1it/s]"), &bar));
    assert_int_equal(bar.done, 100);
    assert_int_equal(bar.total, 1000);
    assert_int_equal(bar.elapsed_ns, INT64_C(3700000000000));
    assert_int_equal(log_text_length(bar.title), strlen("Epoch 3"));
    assert_true(log_take_bar(text_of("Epoch 80:  67% 10/15 [02:53<01:18, 15.76s/it]"), &bar));
    assert_int_equal(bar.done, 10);
    assert_int_equal(log_text_length(bar.title), strlen("Epoch 80"));
    assert_int_equal(bar.elapsed_ns, INT64_C(173000000000));
    assert_false(log_take_bar(text_of("10% of 3 10/15 [02:53<01:18]"), &bar));
    assert_true(log_take_bar(text_of(" 10%|  | 1/10 [00:07<?, ?it/s]"), &bar));
    assert_int_equal(log_text_length(bar.title), 0);
    assert_true(log_take_rich_bar(
        text_of("Epoch 2/9 \xe2\x94\x81\xe2\x95\xb8 30/40 0:00:10 \xe2\x80\xa2 0:00:03 3it/s"),
        &bar));
    assert_int_equal(bar.done, 30);
    assert_int_equal(bar.total, 40);
    assert_int_equal(bar.elapsed_ns, INT64_C(10000000000));
    assert_false(log_take_rich_bar(text_of("Epoch 2/9 done 30/40 0:00:10"), &bar));
    assert_false(log_take_bar(text_of("10% | 1/10 [00:07<?]"), &bar));
    assert_false(log_take_bar(text_of("%|  | 1/10 [00:07<?]"), &bar));
    assert_false(log_take_bar(text_of("5%|  | 1/10 [7<?]"), &bar));
}

static void words_stand_alone(void **state)
{
    struct log_text rest;

    (void)state;
    assert_true(log_find_word(text_of("substep: 1 step: 2"), "step: ", &rest));
    assert_string_equal(rest.at, "2");
    assert_true(log_find_word(text_of("[rank0]:step: 2"), "step: ", &rest));
    assert_false(log_find_word(text_of("substep: 1"), "step: ", &rest));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_read_as_logs_write_them),
        cmocka_unit_test(times_in_the_text_are_not_those_of_the_line),
        cmocka_unit_test(numbers_are_read_without_rounding),
        cmocka_unit_test(bars_are_read),
        cmocka_unit_test(seconds_since_1970_are_read),
        cmocka_unit_test(words_stand_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
