/* Whether any of some words stands in a line, and that no line is passed over that tells something.
 */
#include "readers/logs/log_format.h"
#include "readers/logs/log_signs.h"
#include "readers/logs/log_time.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

extern const struct log_format megatron_log_format, torchtitan_log_format, hf_trainer_log_format,
    internevo_log_lines_format, mlperf_log_format, maxtext_log_format;

static struct log_text text_of(const char *text)
{
    return (struct log_text){text, text + strlen(text)};
}

static struct log_words *words_of(const char *const *list)
{
    struct log_words *words = calloc(1, sizeof *words);

    assert_non_null(words);
    for (; *list; list++)
        log_words_add(words, *list);
    return words;
}

static void words_are_found_wherever_they_stand(void **state)
{
    static const char *const list[] = {"iteration", "step=", "% ", NULL};
    struct log_words *words = words_of(list);
    char line[64];

    (void)state;
    for (size_t place = 0; place + 5 <= 40; place++) {
        memset(line, 'x', sizeof line);
        for (size_t i = 0; i < strlen("step="); i++)
            line[place + i] = "step="[i];
        assert_true(log_words_find_any(words, (struct log_text){line, line + 40}));
        assert_false(log_words_find_any(words, (struct log_text){line, line + place + 4}));
    }
    assert_false(log_words_find_any(words, text_of("")));
    assert_false(log_words_find_any(words, text_of("s")));
    assert_false(log_words_find_any(words, text_of("100%")));
    assert_true(log_words_find_any(words, text_of("100% ")));
    assert_false(log_words_find_any(words, text_of("almost: iteratio")));
    free(words);
}

/* Against strstr, on lines of few letters, in which words nearly stand all the time. */
static void it_is_as_strstr_says(void **state)
{
    static const char *const list[] = {"abca", "ab", "caab", "bbcb\xc3\xa9", "aXb", "%|", NULL};
    static const char letters[] = "aabbcX%|\xc3\xa9";
    struct log_words *words[6];

    (void)state;
    for (size_t i = 0; i < 6; i++)
        words[i] = words_of((const char *const[]){list[i], NULL});
    srand(5);
    for (int round = 0; round < 20000; round++) {
        char line[40];
        size_t length = (size_t)(rand() % 39);

        for (size_t i = 0; i < length; i++)
            line[i] = letters[rand() % 10];
        line[length] = '\0';
        for (size_t i = 0; i < 6; i++)
            assert_true(log_words_find_any(words[i], text_of(line)) ==
                        (strstr(line, list[i]) != NULL));
    }
    for (size_t i = 0; i < 6; i++)
        free(words[i]);
}

/* Each of these tells something. */
static const struct {
    const struct log_format *format;
    const char *line;
} telling_lines[] = {
    {&megatron_log_format,
     " iteration 10/ 1000 | elapsed time per iteration (ms): 1.5 | nan iterations: 0 |"},
    {&megatron_log_format, "    evaluate .......: (2052.52, 2053.00)"},
    {&megatron_log_format, "    save-checkpoint ....: (10.1, 10.2)"},
    {&megatron_log_format, "    load-checkpoint ....: (10.1, 10.2)"},
    {&megatron_log_format, "[after training is done] datetime: 2025-04-13 23:41:00"},
    {&megatron_log_format, "saving checkpoint at iteration 10 to x"},
    {&megatron_log_format, "scheduled an async checkpoint save at iteration 10"},
    {&megatron_log_format, "successfully saved checkpoint from iteration 10"},
    {&megatron_log_format, " loading checkpoint from x at iteration 10"},
    {&megatron_log_format, " loading distributed checkpoint from x at iteration 10"},
    {&megatron_log_format, " successfully loaded checkpoint from x at iteration 10"},
    {&megatron_log_format, " validation loss at iteration 10 | 2.5"},
    {&megatron_log_format, "exiting program at iteration 10"},
    {&megatron_log_format, "exiting program after 10 minutes"},
    {&megatron_log_format, "[2023-07-25 21:03:21,037] [Rank 0] step=35, skipped=0, lr=1"},
    {&torchtitan_log_format, "step: 10  loss: 10.7  memory: 1GiB  tps: 7,034"},
    {&torchtitan_log_format, "Building 1-D device mesh with ['dp'], [8]"},
    {&torchtitan_log_format, "Starting job: llama"},
    {&torchtitan_log_format, "Loading the checkpoint at step 5."},
    {&torchtitan_log_format, "Finished loading the checkpoint in 3.2 seconds"},
    {&torchtitan_log_format, "Saving the checkpoint (or staging if async is enabled)."},
    {&torchtitan_log_format, "Saving a full checkpoint at last step, step 10."},
    {&torchtitan_log_format, "Saving a model only checkpoint in float32 at last step, step 10."},
    {&torchtitan_log_format, "Saving a model weights only checkpoint at step 10."},
    {&torchtitan_log_format, "Finished saving the checkpoint in 3.2 seconds"},
    {&torchtitan_log_format, "validate step: 10  loss: 10.7"},
    {&torchtitan_log_format, "Training completed"},
    {&torchtitan_log_format, "Training starts at step 101, with local batch size 8"},
    {&hf_trainer_log_format, "{'loss': 2.1, 'grad_norm': 1.0, 'epoch': 0.1}"},
    {&hf_trainer_log_format, "{\"learning_rate\": 4.8e-05, \"loss\": 0.5, \"step\": 50}"},
    {&hf_trainer_log_format, " 10%|#   | 100/1000 [01:40<15:00,  1.0it/s]"},
    {&hf_trainer_log_format, " 10% 100/1000 [01:40<15:00,  1.0it/s]"},
    {&hf_trainer_log_format, "  Continuing training from global step 500"},
    {&hf_trainer_log_format, "***** Running training *****"},
    {&hf_trainer_log_format, "Saving model checkpoint to x/checkpoint-500"},
    {&hf_trainer_log_format, "Training completed. Do not forget to share your model"},
    {&internevo_log_lines_format, "tflops=1 step=0 loss=11.6 tgs (tokens/gpu/second)=1424.6 lr=1"},
    {&internevo_log_lines_format, "Distributed environment is initialized, data parallel size: 4"},
    {&internevo_log_lines_format, "Saving checkpoint to `x` at batch count:`10` from rank:0"},
    {&internevo_log_lines_format, "save ckpt use 12.5 s"},
    {&internevo_log_lines_format, "===Resume training from `x`"},
    {&internevo_log_lines_format, "===New Run x"},
    {&mlperf_log_format, "0: :::MLLOG {\"time_ms\": 1, \"key\": \"run_start\", \"value\": null}"},
    {&maxtext_log_format, "completed step: 3, seconds: 1.5, TFLOP/s/device: 300, loss: 2.5"},
    {&maxtext_log_format, "eval metrics after step: 30, loss=2.5"},
    {&maxtext_log_format, "saved a checkpoint at step 30"},
    {&maxtext_log_format, "EXIT_CODE=0"},
};

/* Each line tells something: it has a word, or it would be passed over. */
static void lines_that_tell_something_have_a_word(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof telling_lines / sizeof *telling_lines; i++) {
        struct log_words *words = words_of(telling_lines[i].format->words);
        struct log_reading *reading = calloc(1, sizeof *reading);
        struct job job = {0};

        assert_non_null(reading);
        reading->job = &job;
        job_begin_source(&job, "a.log");
        if (telling_lines[i].format->read(reading, text_of(telling_lines[i].line)) == LOG_LINE_NONE)
            fail_msg("%s takes nothing from: %s", telling_lines[i].format->name,
                     telling_lines[i].line);
        if (!log_words_find_any(words, text_of(telling_lines[i].line)))
            fail_msg("%s would pass over: %s", telling_lines[i].format->name,
                     telling_lines[i].line);
        job_clear(&job);
        free(reading);
        free(words);
    }
}

/* What the signs are looked for in is not passed over, nor the names of exceptions. */
static void signs_have_their_words(void **state)
{
    static const char *const lines[] = {"> initializing torch distributed ...",
                                        "torch.OutOfMemoryError: CUDA out of memory",
                                        "ValueError: x",
                                        "my.Timeout: x",
                                        "slurmstepd: *** JOB 1 ON n1 CANCELLED AT 2021-05-23",
                                        "Bus error (core dumped)",
                                        "KeyboardInterrupt"};
    struct log_words *words = calloc(1, sizeof *words);

    (void)state;
    assert_non_null(words);
    log_signs_add_words(words);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        assert_true(log_words_find_any(words, text_of(lines[i])));
    assert_false(log_words_find_any(words, text_of("NCCL INFO Channel 03/0 : 12[4] -> 13[5]")));
    free(words);
}

static void no_time_is_passed_over(void **state)
{
    static const char *const lines[] = {"2025-04-13 23:41:12 x",   "[2025-04-13 23:41:12] x",
                                        "I0731 09:47:48.898259 x", "Thu Jul 31 09:48:56 UTC 2025",
                                        "Jul 31 09:48:56 host x",  "23:41:12 x",
                                        "20250731 09:47:48",       "03/15/2024 12:34:56 PM",
                                        "07-31 09:47:48"};
    static const char *const others[] = {"a: b: c:d", "12:3", "1:2:3", "x 12:34 y", ""};
    struct log_time time;
    struct log_text rest;

    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        assert_true(log_find_time(text_of(lines[i]), &time, &rest));
        assert_true(log_may_have_time(text_of(lines[i])));
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_false(log_find_time(text_of(others[i]), &time, &rest));
        assert_false(log_may_have_time(text_of(others[i])));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_found_wherever_they_stand),
        cmocka_unit_test(it_is_as_strstr_says),
        cmocka_unit_test(lines_that_tell_something_have_a_word),
        cmocka_unit_test(signs_have_their_words),
        cmocka_unit_test(no_time_is_passed_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
