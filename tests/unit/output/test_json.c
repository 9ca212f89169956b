/* The report for programs. */
#include "output/reports/report.h"
#include "support_output.h"
#include "support_results.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

extern const struct report json_report;

/* The page of `results`, which are cleared; captured_output_clear it. */
static struct captured_output print(const struct report *report, struct results *results,
                                    struct report_options options)
{
    struct captured_output output = {0};
    struct error error = {0};

    capture_begin(&output);
    assert_true(report->write(output.stream, results, &options, &error));
    capture_end(&output);
    results_clear(results);
    return output;
}

static const char expected_json[] =
    "{\n"
    "  \"schema\": \"flopledger.report\",\n"
    "  \"schema_version\": 1,\n"
    "  \"flopledger_version\": \"" FLOPLEDGER_VERSION "\",\n"
    "  \"problems\": [],\n"
    "  \"overview\": null,\n"
    "  \"ranks\": [\n"
    "    {\n"
    "      \"label\": \"rank 0\",\n"
    "      \"file\": \"r0.json\",\n"
    "      \"rank\": 0,\n"
    "      \"headline\": null,\n"
    "      \"sections\": {\n"
    "        \"kernels\": {\n"
    "          \"title\": \"Kernels\",\n"
    "          \"intro\": \"What ran.\",\n"
    "          \"numbers\": {\n"
    "            \"mean\": {\"value\": 1500000, \"unit\": \"ns\", "
    "\"title\": \"mean\", \"note\": \"per "
    "step\"},\n"
    "            \"mfu\": {\"value\": null, \"unit\": \"not_known\", "
    "\"title\": \"MFU\", \"not_known\": \"needs the "
    "model\"}\n"
    "          },\n"
    "          \"tables\": {\n"
    "            \"by_name\": {\n"
    "              \"title\": \"By name\",\n"
    "              \"rows_in_all\": 45,\n"
    "              \"columns\": [\n"
    "                {\"key\": \"kernel\", \"title\": \"kernel\", "
    "\"unit\": \"text\"},\n"
    "                {\"key\": \"time\", \"title\": \"time\", "
    "\"unit\": \"ns\"},\n"
    "                {\"key\": \"share\", \"title\": \"of the "
    "step\", \"unit\": \"fraction\"},\n"
    "                {\"key\": \"rate\", \"title\": \"rate\", "
    "\"unit\": \"bytes/s\"},\n"
    "                {\"key\": \"ranks\", \"title\": \"ranks\", "
    "\"unit\": \"count\"},\n"
    "                {\"key\": \"key\", \"title\": \"key\", \"unit\": "
    "\"text\"}\n"
    "              ],\n"
    "              \"rows\": [\n"
    "                {\"depth\": 0, \"kernel\": \"gemm\", \"time\": "
    "12345678, \"share\": 0.5, \"rate\": 2000000000, \"ranks\": null, "
    "\"key\": \"machine\", \"not_known\": {\"ranks\": \"needs "
    "metadata\"}},\n"
    "                {\"depth\": 1, \"kernel\": "
    "\"\\u001b[31mred�\", \"time\": 6172839, \"share\": 0.25, "
    "\"rate\": null, \"ranks\": null, \"key\": \"machine\", "
    "\"not_known\": {\"rate\": \"needs bytes\", \"ranks\": \"needs "
    "metadata\"}},\n"
    "                {\"depth\": 1, \"kernel\": \"a very long "
    "name of a kernel that does nothing\", \"time\": 4115226, "
    "\"share\": 0.16666666666666666, \"rate\": 2000000000, \"ranks\": "
    "null, \"key\": \"machine\", \"not_known\": {\"ranks\": \"needs "
    "metadata\"}}\n"
    "              ]\n"
    "            }\n"
    "          },\n"
    "          \"findings\": [\n"
    "            {\"what\": \"it is slow\", \"evidence\": \"see "
    "above\", \"try\": \"make it fast\", \"cost_ns_per_step\": "
    "2500000, \"is_warning\": false},\n"
    "            {\"what\": \"the file is cut\", \"evidence\": "
    "null, \"try\": null, \"cost_ns_per_step\": null, \"is_warning\": true}\n"
    "          ]\n"
    "        }\n"
    "      }\n"
    "    }\n"
    "  ]\n"
    "}\n";

static void one_rank(void **state)
{
    struct results results = {0};
    struct captured_output output;

    make_results(&results, 1);
    output = print(&json_report, &results, (struct report_options){.width = 80});
    assert_string_equal(output.text, expected_json);
    captured_output_clear(&output);
}

static void all_ranks_whichever_is_in_full(void **state)
{
    struct results results = {0};
    struct captured_output output;

    make_results(&results, 3);
    results.detailed_rank = 1;
    output = print(&json_report, &results, (struct report_options){.width = 80});
    assert_non_null(strstr(output.text, "\"overview\": {"));
    assert_non_null(strstr(output.text, "\"file\": \"r0.json\""));
    assert_non_null(strstr(output.text, "\"file\": \"r2.json\""));
    captured_output_clear(&output);
}

static void options_of_a_page_change_nothing(void **state)
{
    struct results results = {0};
    struct captured_output narrow;
    struct captured_output wide;

    make_results(&results, 2);
    narrow = print(&json_report, &results, (struct report_options){.width = 40});
    make_results(&results, 2);
    wide = print(&json_report, &results,
                 (struct report_options){.width = 200, .use_color = true, .use_unicode = true});
    assert_string_equal(narrow.text, wide.text);
    captured_output_clear(&narrow);
    captured_output_clear(&wide);
}

static void an_unknown_rank_is_null(void **state)
{
    struct results results = {0};
    struct captured_output output;

    make_results(&results, 1);
    results.ranks[0].rank = -1;
    output = print(&json_report, &results, (struct report_options){.width = 80});
    assert_non_null(strstr(output.text, "\"rank\": null"));
    captured_output_clear(&output);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_rank),
        cmocka_unit_test(all_ranks_whichever_is_in_full),
        cmocka_unit_test(options_of_a_page_change_nothing),
        cmocka_unit_test(an_unknown_rank_is_null),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
