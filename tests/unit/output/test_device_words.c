/* Words of CUDA are replaced where they are words, and what a trace says stays. */
#include "ledger/account.h"
#include "output/results/device_words.h"
#include "output/results/metrics.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const char *words_of(struct results *results, const char *device, const char *text)
{
    return device_words(results->arena, text, speakers_by_device_name(device));
}

static void test_each_maker_has_its_words(void **state)
{
    SCOPED(results) results = {0};

    (void)state;
    results_init(&results);
    assert_string_equal(
        words_of(&results, "AMD Instinct MI300X", "Tensor Cores of SMs, Tensor Cores"),
        "Matrix Cores of CUs, Matrix Cores");
    assert_string_equal(words_of(&results, "Google TPU v5e", "the GPU's Tensor Cores"),
                        "the TPU's MXUs");
    assert_string_equal(words_of(&results, "Huawei Ascend 910B (bin not said)", "NCCL"), "HCCL");
    assert_string_equal(words_of(&results, "NVIDIA H100 SXM5", "NCCL"), "NCCL");
    assert_null(words_of(&results, "AMD Instinct MI300X", NULL));
}

static void test_parts_of_words_stay(void **state)
{
    SCOPED(results) results = {0};

    (void)state;
    results_init(&results);
    assert_string_equal(words_of(&results, "gfx942", "NCCL2 ncclSMs SMs_ RCCL NCCL's"),
                        "NCCL2 ncclSMs SMs_ RCCL RCCL's");
}

static void test_names_of_the_trace_stay(void **state)
{
    SCOPED(results) results = {0};
    struct section *section;
    struct rank_results *rank;
    struct table *table;
    struct value *cells;
    static const struct column columns[] = {{"a", "SMs", UNIT_TEXT, 0, BAR_NONE},
                                            {"b", "b", UNIT_TEXT, 0, BAR_NONE},
                                            {"c", "c", UNIT_NOT_KNOWN, 0, BAR_NONE}};

    (void)state;
    results_init(&results);
    section = section_new(&results, "graphs", "CUDA graphs", NULL);
    table = section_add_table(&results, section, "t", "t", columns, 3);
    cells = table_add_row(&results, table, 0);
    cells[0] = value_text("my CUDA graph");
    cells[1] = value_text(account_descriptions[ACCOUNT_IDLE_GRAPH].title);
    cells[2] = value_not_known("needs the NCCL metadata");
    rank = results_add_rank(&results, "rank 0", "file", 0,
                            speakers_by_device_name("AMD Instinct MI300X"));
    rank_add_section(&results, rank, section);
    results_use_device_words(&results);
    assert_string_equal(section->title, "HIP graphs");
    assert_string_equal(table->columns[0].title, "CUs");
    assert_string_equal(table->cells[0].text, "my CUDA graph");
    assert_string_equal(table->cells[1].text, "inside a HIP graph");
    assert_string_equal(table->cells[2].text, "needs the RCCL metadata");
}

/* Pages, exports and answers that are kept may each have them replaced. */
static void test_a_second_time_changes_nothing(void **state)
{
    static const char *const written[] = {
#define DEVICE_WORD(speakers, written_, said) written_,
#include "output/results/device_word_list.def"
#undef DEVICE_WORD
    };
    static const char *const devices[] = {"AMD Instinct MI300X", "Google TPU v5e", "Ascend 910B",
                                          "Intel Max 1550", "AWS Trainium2"};
    SCOPED(results) results = {0};

    (void)state;
    results_init(&results);
    for (size_t i = 0; i < sizeof written / sizeof *written; i++)
        for (size_t k = 0; k < sizeof devices / sizeof *devices; k++) {
            const char *once = words_of(&results, devices[k], written[i]);

            assert_ptr_equal(words_of(&results, devices[k], once), once);
        }
}

static void test_runs_of_two_makers_have_words_of_none(void **state)
{
    uint32_t amd = speakers_by_device_name("gfx942");
    uint32_t nvidia = speakers_by_device_name("NVIDIA H100 SXM5");
    SCOPED(results) results = {0};

    (void)state;
    results_init(&results);
    assert_int_equal(speakers_of_both(amd, amd), amd);
    assert_int_equal(speakers_of_both(NO_SPEAKERS, amd), amd);
    assert_string_equal(
        device_words(results.arena, "inside a CUDA graph", speakers_of_both(amd, nvidia)),
        "inside a graph");
    assert_string_equal(device_words(results.arena, "SMs", nvidia), "SMs");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_maker_has_its_words),
        cmocka_unit_test(test_parts_of_words_stay),
        cmocka_unit_test(test_names_of_the_trace_stay),
        cmocka_unit_test(test_a_second_time_changes_nothing),
        cmocka_unit_test(test_runs_of_two_makers_have_words_of_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
