/* One step of an inference server, against the arithmetic by hand. */
#include "base/core/error.h"
#include "cost/architectures/read_architecture.h"
#include "cost/architectures/serving_cost.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

/* A model of tests/models. */
static struct architecture model(const char *name)
{
    struct architecture architecture;
    struct error error = {0};
    char path[512];

    (void)snprintf(path, sizeof path, "tests/models/%s.json", name);
    if (!architecture_read(&architecture, path, &error))
        fail_msg("%s", error.message);
    return architecture;
}

static void assert_close(double actual, double expected)
{
    if (actual < expected * (1 - 1e-9) || actual > expected * (1 + 1e-9))
        fail_msg("%.9g, not %.9g", actual, expected);
}

static void qwen3_8b_decode(void **state)
{
    struct architecture qwen = model("qwen3-8b");
    struct serving_batch batch = serving_batch_even(32, 1, 1025, true);
    struct serving_cost cost = serving_cost(&qwen, &batch, 1, 1);
    /* matrices of a layer: q and o 4096 x 4096, k and v 4096 x 1024, three of 4096 x 12288 */
    double attention = 2.0 * 4096 * 4096 + 2.0 * 4096 * 1024;
    double feed = 3.0 * 4096 * 12288;
    double logits = 4096.0 * 151936;
    /* two norms of 4096 and of queries and keys (128 each) in a layer, one behind them */
    double norms = 36.0 * (2 * 4096 + 2 * 128) + 4096;

    assert_null(why_no_serving_cost(&qwen));
    assert_close(cost.total.flops, 2 * 32 * (36 * (attention + feed) + logits) +
                                       36.0 * 32 * 1025 * 2 * 32 * (128 + 128));
    assert_close(cost.total.weight_bytes,
                 2 * (36 * (attention + feed) + logits + norms + 32.0 * 4096));
    assert_close(cost.total.cache_bytes, 36.0 * 32 * 1025 * 8 * (128 + 128) * 2);
    assert_close(cost.held_weight_bytes, 2 * 8190735360.0);
    assert_true(cost.has_cache);
    assert_false(cost.is_by_mean);
}

static void prefill_gives_logits_to_the_last_token(void **state)
{
    struct architecture qwen = model("qwen3-8b");
    struct serving_batch batch = serving_batch_even(15, 1024, 1024, false);
    struct serving_cost cost = serving_cost(&qwen, &batch, 1, 1);

    assert_close(cost.parts[PART_OUTPUT].flops, 2.0 * 15 * 4096 * 151936);
    assert_close(cost.parts[PART_SCORES].flops,
                 36.0 * 15 * (1024.0 * 1025 / 2) * 2 * 32 * (128 + 128));
}

static void new_tokens_behind_a_cache(void **state)
{
    struct serving_batch batch = serving_batch_even(2, 4, 10, false);

    /* the four new tokens see 7, 8, 9 and 10 */
    assert_close(batch.pairs, 2.0 * (7 + 8 + 9 + 10));
    assert_close(batch.keys, 20);
    assert_close(batch.queries, 8);
}

static void gpt_oss_decode(void **state)
{
    struct architecture oss = model("gpt-oss-20b");
    struct serving_batch batch = serving_batch_even(32, 1, 1721, true);
    struct serving_cost cost = serving_cost(&oss, &batch, 1, 1);
    double miss = 28.0 / 32; /* that a token does not choose an expert */
    double expert = 3.0 * 2880 * 2880 * 4.25 / 8 + (2.0 * 2880 + 2880) * 2;
    double read = 32 * (1 - __builtin_pow(miss, 32));

    assert_close(cost.experts_read, read);
    assert_close(cost.parts[PART_EXPERTS].weight_bytes, 24 * read * expert);
    assert_close(cost.parts[PART_EXPERTS].flops, 2.0 * 24 * 32 * 4 * 3 * 2880 * 2880);
    assert_int_equal(cost.parts[PART_EXPERTS].format, PEAK_BF16);
    /* every second layer sees 128 keys at most */
    assert_close(cost.parts[PART_SCORES].flops, 12.0 * 32 * (1721 + 128) * 2 * 64 * (64 + 64));
    assert_close(cost.parts[PART_SCORES].cache_bytes, 12.0 * 32 * (1721 + 128) * 8 * (64 + 64) * 2);
}

static void deepseek_v3_decode_on_the_compressed_cache(void **state)
{
    struct architecture deepseek = model("deepseek-v3");
    struct serving_batch batch = serving_batch_even(4, 1, 1000, true);
    struct serving_cost cost = serving_cost(&deepseek, &batch, 1, 1);
    struct serving_cost shared = serving_cost(&deepseek, &batch, 1, 8);

    assert_close(cost.parts[PART_SCORES].flops, 61.0 * 4 * 1000 * 2 * 128 * (512 + 64 + 512));
    assert_close(cost.parts[PART_SCORES].cache_bytes, 61.0 * 4 * 1000 * (512 + 64) * 2);
    /* fp8, and a scale of 32 bits for each block of 128 by 128 */
    assert_close(cost.parts[PART_SHARED_EXPERTS].weight_bytes,
                 58 * 3.0 * 7168 * 2048 * (1 + 4.0 / (128 * 128)));
    assert_int_equal(cost.parts[PART_SHARED_EXPERTS].format, PEAK_FP8);
    assert_int_equal(cost.parts[PART_OUTPUT].format, PEAK_BF16);
    /* of eight devices each has an eighth of the heads, and the whole compressed cache */
    assert_close(shared.parts[PART_SCORES].flops, cost.parts[PART_SCORES].flops / 8);
    assert_close(shared.parts[PART_SCORES].cache_bytes, cost.parts[PART_SCORES].cache_bytes);
}

static void a_window_of_a_prefill(void **state)
{
    struct architecture oss = model("gpt-oss-20b");
    struct serving_batch batch = serving_batch_even(1, 300, 1000, false);
    struct serving_cost cost = serving_cost(&oss, &batch, 1, 1);
    double in_full = 0;

    for (int key = 701; key <= 1000; key++)
        in_full += key;
    assert_close(cost.parts[PART_SCORES].flops,
                 12.0 * (in_full + 300.0 * 128) * 2 * 64 * (64 + 64));
    assert_close(cost.parts[PART_SCORES].cache_bytes,
                 12.0 * (1000 + 128 + 299) * 8 * (64 + 64) * 2);
}

static void chunks_of_llama_4(void **state)
{
    struct architecture scout = model("llama-4-scout-text");
    struct serving_batch batch = serving_batch_even(1, 1, 8192 * 2 + 100, true);
    struct serving_cost cost = serving_cost(&scout, &batch, 1, 1);
    double keys = 0;

    for (int i = 0; i < scout.kind_count; i++)
        keys += (double)scout.kinds[i].count * (scout.kinds[i].chunk > 0 ? 100 : 8192 * 2 + 100);
    assert_close(cost.parts[PART_SCORES].flops, keys * 2 * (double)scout.heads * (128 + 128));
}

static void peaks_of_formats_without_a_unit(void **state)
{
    double peaks[PEAK_TYPE_COUNT] = {[PEAK_BF16] = 100, [PEAK_FP8] = -1};

    assert_int_equal(format_with_peak(PEAK_FP4, peaks), PEAK_BF16);
    assert_int_equal(format_with_peak(PEAK_FP32, peaks), PEAK_TYPE_COUNT);
    peaks[PEAK_FP8] = 200;
    assert_int_equal(format_with_peak(PEAK_FP4, peaks), PEAK_FP8);
}

/* ---- quantization_config --------------------------------------------------------------------- */

/* As read from a config.json of a Qwen 3 with this text in it. */
static struct weight_storage stored(const char *text)
{
    struct architecture architecture;
    struct error error = {0};
    char path[] = "/tmp/flopledger-config-XXXXXX";
    int file = mkstemp(path);
    FILE *stream = fdopen(file, "w");

    assert_non_null(stream);
    (void)fprintf(stream,
                  "{\"model_type\": \"qwen3\", \"hidden_size\": 64, \"num_hidden_layers\": 4, "
                  "\"num_attention_heads\": 4, \"intermediate_size\": 128, \"vocab_size\": 1000, "
                  "%s}",
                  text);
    (void)fclose(stream);
    if (!architecture_read(&architecture, path, &error))
        fail_msg("%s", error.message);
    (void)remove(path);
    return architecture.storage;
}

static void methods_of_quantization(void **state)
{
    static const struct {
        const char *config;
        double bits;
        enum peak_type format;
    } known[] = {
        {"\"quant_method\": \"fp8\"", 8, PEAK_FP8},
        {"\"quant_method\": \"fp8\", \"weight_block_size\": [128, 128]", 8 + 32.0 / 16384,
         PEAK_FP8},
        {"\"quant_method\": \"awq\", \"bits\": 4, \"group_size\": 128", 4 + 20.0 / 128, PEAK_FP16},
        {"\"quant_method\": \"gptq\", \"bits\": 8, \"group_size\": -1", 8, PEAK_FP16},
        {"\"quant_method\": \"bitsandbytes\", \"load_in_8bit\": true", 8, PEAK_INT8},
        {"\"quant_method\": \"bitsandbytes\", \"load_in_4bit\": true", 4.5, PEAK_FP16},
        {"\"quant_method\": \"modelopt\", \"quant_algo\": \"NVFP4\"", 4.5, PEAK_FP4},
        {"\"quant_method\": \"modelopt\", \"quant_algo\": \"FP8\"", 8, PEAK_FP8},
        {"\"quant_method\": \"compressed-tensors\", \"config_groups\": {\"group_0\": {\"weights\": "
         "{\"num_bits\": 4, \"type\": \"float\", \"group_size\": 16}, \"input_activations\": "
         "{\"num_bits\": 4}}}",
         4.5, PEAK_FP4},
        {"\"quant_method\": \"compressed-tensors\", \"config_groups\": {\"group_0\": {\"weights\": "
         "{\"num_bits\": 4, \"type\": \"int\", \"group_size\": 128}, \"input_activations\": null}}",
         4.125, PEAK_FP16},
        {"\"quant_method\": \"compressed-tensors\", \"config_groups\": {\"group_0\": {\"weights\": "
         "{\"num_bits\": 8, \"type\": \"int\"}, \"input_activations\": {\"num_bits\": 8}}}",
         8, PEAK_INT8},
    };

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        char text[512];
        struct weight_storage storage;

        (void)snprintf(text, sizeof text,
                       "\"torch_dtype\": \"float16\", \"quantization_config\": {%s}",
                       known[i].config);
        storage = stored(text);
        assert_true(storage.is_known);
        assert_close(storage.parts[STORED_FEED].bytes, known[i].bits / 8);
        assert_int_equal(storage.parts[STORED_FEED].format, known[i].format);
        assert_close(storage.parts[STORED_OUTPUT].bytes, 2);
    }
}

static void modules_that_stay(void **state)
{
    struct weight_storage storage =
        stored("\"quantization_config\": {\"quant_method\": \"fp8\", \"ignore\": "
               "[\"re:.*self_attn.*\", \"model.layers.2.mlp*\", 7, \"\", \"re:((\"]}");

    assert_false(storage.has_type);
    assert_close(storage.parts[STORED_MIXER].bytes, 2);
    assert_int_equal(storage.parts[STORED_MIXER].format, PEAK_BF16);
    assert_close(storage.parts[STORED_FEED].bytes, 0.75 * 1 + 0.25 * 2);
    assert_int_equal(storage.parts[STORED_FEED].format, PEAK_FP8);
}

static void the_cache_in_fp8(void **state)
{
    struct weight_storage scheme =
        stored("\"dtype\": \"bfloat16\", \"quantization_config\": {\"quant_method\": \"fp8\", "
               "\"kv_cache_scheme\": {\"num_bits\": 8, \"type\": \"float\"}}");
    struct weight_storage plain = stored("\"dtype\": \"float32\"");

    assert_close(scheme.cache_bytes, 1);
    assert_close(plain.cache_bytes, 4);
    assert_close(plain.parts[STORED_MIXER].bytes, 4);
    assert_true(plain.has_type);
}

static void what_is_not_counted_is_said(void **state)
{
    struct architecture bert = model("bert-base");
    struct architecture t5 = model("t5-small");
    struct architecture qwen = model("qwen3-8b");

    assert_non_null(why_no_serving_cost(&bert));
    assert_non_null(why_no_serving_cost(&t5));
    qwen.storage = stored("\"quantization_config\": {\"quant_method\": \"new-method\"}");
    assert_false(qwen.storage.is_known);
    assert_string_equal(qwen.storage.method, "new-method");
    assert_non_null(why_no_serving_cost(&qwen));
    weight_storage_force(&qwen.storage, PEAK_FP8);
    assert_null(why_no_serving_cost(&qwen));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(qwen3_8b_decode),
        cmocka_unit_test(prefill_gives_logits_to_the_last_token),
        cmocka_unit_test(new_tokens_behind_a_cache),
        cmocka_unit_test(gpt_oss_decode),
        cmocka_unit_test(deepseek_v3_decode_on_the_compressed_cache),
        cmocka_unit_test(a_window_of_a_prefill),
        cmocka_unit_test(chunks_of_llama_4),
        cmocka_unit_test(peaks_of_formats_without_a_unit),
        cmocka_unit_test(methods_of_quantization),
        cmocka_unit_test(modules_that_stay),
        cmocka_unit_test(the_cache_in_fp8),
        cmocka_unit_test(what_is_not_counted_is_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
