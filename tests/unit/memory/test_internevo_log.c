/* memory.log and the pages, as InternEvo's SimpleMemoryProfiler has them. */
#include "base/core/attributes.h"
#include "memory/internevo.h"
#include "support_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* With a mark that the program asked for, between the backward and the end of the step. */
static const char side_with_point[] =
    "{\"schema\": \"flopledger.memory\", \"schema_version\": 1, \"tensors\": ["
    "[\"parameter\", \"lin\", \"weight\"], [\"gradient\", \"lin\", \"weight\"],"
    "[\"input\", \"\", \"0\"]], \"marks\": ["
    "{\"point\": \"start\", \"step\": 3, \"live\": [0, 1, 1000, -1, 1, 2, 1000, -1]},"
    "{\"point\": \"forward start\", \"step\": 3, \"gone\": [1], \"live\": [2, 3, 64, -1]},"
    "{\"point\": \"forward end\", \"step\": 3, \"live\": []},"
    "{\"point\": \"asked\", \"options\": \"grads,params\", \"step\": 3, "
    "\"live\": [1, 2, 1000, -1]},"
    "{\"point\": \"step end\", \"step\": 3, \"live\": []}]}";

static void paths_are_nodes(void **state)
{
    struct made_memory made;
    SCOPED(internevo_tree) tree = {0};

    made_memory_init(&made, memory_trace_text, memory_side_text);
    internevo_tree_fill(&tree, &made.run, HOST_MEMORY, INTERNEVO_ACTIVATIONS,
                        made.run.blocks.moments[2].change_count);
    assert_int_equal(tree.count, 3);
    assert_string_equal(tree.nodes[0].path, "activations_0");
    assert_string_equal(tree.nodes[2].path, "activations_0.(loss)");
    assert_int_equal(tree.nodes[2].own_bytes, 8);
    assert_int_equal(internevo_tree_bytes(&tree), 508);
    assert_string_equal(tree.nodes[1].path, "activations_0.lin");
    assert_int_equal(tree.nodes[1].total_bytes, 500);
    made_memory_clear(&made);
}

/* free() it. */
static char *written(const struct memory_run *run, int page)
{
    char *text = NULL;
    size_t length = 0;
    FILE *output = open_memstream(&text, &length);

    if (page < 0)
        internevo_log_write(output, run, HOST_MEMORY);
    else
        internevo_page_write(output, run, HOST_MEMORY, (enum internevo_page)page);
    fclose(output);
    return text;
}

static void log_has_a_record_at_each_moment(void **state)
{
    static const char expected_start[] =
        "Memory State:\n"
        "time: 0.0\n"
        "---summary---\n"
        "total_memory: 0.00 MB\n"
        "params_memory: 0.00 MB, grads_memory: 0.00 MB, os_params_memory: 0.00 MB, "
        "os_state_memory: 0.00 MB, activation_memory: 0.00 MB\n"
        "---Layout---\n"
        "params_layout:\n"
        "layer: param_mem, layer_mem: 0.00 MB, total_mem: 0.00 MB\n"
        "layer: param_mem.lin, layer_mem: 0.00 MB, total_mem: 0.00 MB\n"
        "layer: param_mem.lin.weight, layer_mem: 0.00 MB, total_mem: 0.00 MB\n"
        "grads_layout:\n";
    static const char expected_asked[] = "Memory State:\ntime: 6e-05\n---summary---\n";
    struct made_memory made;
    char *text;

    made_memory_init(&made, memory_trace_text, side_with_point);
    text = written(&made.run, -1);
    assert_memory_equal(text, expected_start, sizeof expected_start - 1);
    assert_non_null(strstr(text, "time: 4e-05\n"));
    assert_non_null(strstr(text, expected_asked));
    assert_null(strstr(strstr(text, expected_asked), "os_params_layout:\nlayer: os_params_mem, "
                                                     "layer_mem: 0.00 MB, total_mem: 0.00 MB\n\n"));
    assert_non_null(strstr(text, "activation_base_layout:\nlayer: activations_0, "));
    free(text);
    made_memory_clear(&made);
}

static void pages_have_the_exact_bytes(void **state)
{
    static const char *const expected[INTERNEVO_PAGE_COUNT] = {
        "<td>params</td><td>1,000</td>", "<td>param_mem.lin.weight</td><td>1,000</td>",
        "<td>grad_mem.lin.weight</td><td>1,000</td>", "Nothing of this kind was alive.",
        "<td>activations_0.lin</td><td>500</td>"};
    struct made_memory made;

    made_memory_init(&made, memory_trace_text, memory_side_text);
    for (int page = 0; page < INTERNEVO_PAGE_COUNT; page++) {
        char *text = written(&made.run, page);

        if (!strstr(text, expected[page]))
            fail_msg("page %d lacks '%s'", page, expected[page]);
        assert_null(strstr(text, "http"));
        free(text);
    }
    made_memory_clear(&made);
}

/* Names of a module may hold anything. */
static void names_are_escaped(void **state)
{
    static const char side[] =
        "{\"schema\": \"flopledger.memory\", \"tensors\": [[\"parameter\", \"<b>&\\\"\", \"w\"]], "
        "\"marks\": [{\"point\": \"start\", \"step\": 3, \"live\": [0, 1, 1000, -1]}]}";
    struct made_memory made;
    char *text;

    made_memory_init(&made, memory_trace_text, side);
    text = written(&made.run, INTERNEVO_PAGE_PARAMS);
    assert_null(strstr(text, "<b>"));
    assert_non_null(strstr(text, "&lt;b&gt;&amp;&quot;"));
    free(text);
    made_memory_clear(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_are_nodes),
        cmocka_unit_test(log_has_a_record_at_each_moment),
        cmocka_unit_test(pages_have_the_exact_bytes),
        cmocka_unit_test(names_are_escaped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
