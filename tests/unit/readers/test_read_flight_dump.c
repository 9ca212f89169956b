#include "base/core/attributes.h"
#include "base/pickle/pickle_tree.h"
#include "ranks/hang/flight_causes.h"
#include "readers/flight_recorder/read_flight_dump.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void names_end_with_the_rank(void **state)
{
    static const struct {
        const char *name;
        int64_t rank; /* -1: none */
    } cases[] = {
        {"/tmp/nccl_trace_rank_12", 12},
        {"fr_0.pkl", 0},
        {"nccl_trace_rank_3_1767225600", 3},
        {"hccl_trace_rank_12.json", 12},
        {"2026-01-01/rank[5]-0001.pkl", 5},
        {"ranks8_rank2.pkl", 2},
        {"job7/dump_3.json.gz", 3},
        {"a2b", 2},
        {"no_number", -1},
        {"7/none", -1},
        {"rank_99999999999999999999", -1},
        {"rank_4294967295", -1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t rank = 77;

        assert_int_equal(flight_rank_of_name(cases[i].name, &rank), cases[i].rank >= 0);
        if (cases[i].rank >= 0)
            assert_int_equal(rank, cases[i].rank);
    }
}

static bool add(struct flight_dumps *dumps, const char *json, uint32_t rank, struct error *error)
{
    SCOPED(pickle_tree) tree = {0};

    assert_true(pickle_tree_from_json(&tree, json, strlen(json), error));
    return add_flight_dump(dumps, &tree, "dump", rank, error);
}

#define HEAD "{\"version\": \"2.4\", \"entries\": ["

static void an_entry_is_read(void **state)
{
    SCOPED(flight_dumps) dumps = {0};
    struct error error = {0};
    const struct flight_entry *entry;

    (void)state;
    assert_true(add(&dumps,
                    HEAD "{\"profiling_name\": \"nccl:recv 0<-1\", \"p2p_seq_id\": 9, "
                         "\"record_id\": 4, \"is_p2p\": true, \"process_group\": [\"5\", \"pp\"], "
                         "\"input_sizes\": [[4, 8], []], \"output_sizes\": [[2]], "
                         "\"input_dtypes\": [\"Float\", \"Float\"], \"output_dtypes\": [\"Half\"], "
                         "\"state\": \"started\", \"time_created_ns\": 12, "
                         "\"frames\": [{\"name\": \"f\", \"filename\": \"a.py\", \"line\": 3}, "
                         "{\"name\": \"g\", \"filename\": \"b.py\", \"line\": 4}]}], "
                         "\"pg_config\": {\"5\": {\"ranks\": \"[2, 6]\"}}}",
                    2, &error));
    flight_dumps_finish(&dumps);
    assert_int_equal(dumps.dump_count, 1);
    assert_true(dumps.dumps[0].is_wrapped);
    entry = &dumps.dumps[0].entries[0];
    assert_string_equal(flight_text(&dumps, entry->name), "recv");
    assert_int_equal(entry->source, 1);
    assert_int_equal(entry->target, 0);
    assert_int_equal(entry->sequence, 9);
    assert_int_equal(entry->input_elements, 33);
    assert_int_equal(entry->output_elements, 2);
    assert_int_equal(entry->state, FLIGHT_STARTED);
    assert_string_equal(flight_text(&dumps, entry->shapes), "[4, 8] [] -> [2]");
    assert_string_equal(flight_text(&dumps, entry->dtypes), "Float -> Half");
    assert_string_equal(flight_text(&dumps, entry->frames), "a.py:3 f\nb.py:4 g");
    assert_int_equal(dumps.world_count, 2);
    assert_int_equal(dumps.world[1], 6);
    assert_int_equal(dumps.groups[0].rank_count, 2);
    assert_int_equal(dumps.groups[0].ranks[1], 6);
}

static void what_is_no_dump_is_refused(void **state)
{
    static const struct {
        const char *json;
        const char *said;
    } cases[] = {
        {"{}", "no dump of a flight recorder"},
        {"{\"version\": \"3.0\", \"entries\": []}", "version 3.0"},
        {HEAD "4]}", "entries[0]: the entry is an integer"},
        {HEAD "{\"profiling_name\": null}]}", "'profiling_name' is None"},
        {HEAD "{\"profiling_name\": \"nccl:barrier\", \"collective_seq_id\": \"3\"}]}",
         "'collective_seq_id' is a text"},
        {HEAD "{\"profiling_name\": \"nccl:barrier\", \"collective_seq_id\": -1}]}",
         "expected the number of the operation"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SCOPED(flight_dumps) dumps = {0};
        struct error error = {0};

        assert_false(add(&dumps, cases[i].json, 0, &error));
        assert_int_equal(error.class, ERROR_INPUT);
        assert_non_null(strstr(error.message, cases[i].said));
        assert_int_equal(dumps.dump_count, 0);
    }
}

/* A coalesced call has one state for all that it holds. */
static void coalesced_calls_share_their_state(void **state)
{
    static const char json[] =
        HEAD "{\"profiling_name\": \"nccl:send 0->1\", \"p2p_seq_id\": 1, \"is_p2p\": true, "
             "\"state\": \"scheduled\"}, "
             "{\"profiling_name\": \"nccl:recv 0<-1\", \"p2p_seq_id\": 1, \"is_p2p\": true, "
             "\"state\": \"scheduled\"}, "
             "{\"profiling_name\": \"nccl:coalesced\", \"p2p_seq_id\": 1, \"is_p2p\": true, "
             "\"state\": \"completed\"}]}";
    SCOPED(flight_dumps) dumps = {0};
    struct error error = {0};

    (void)state;
    assert_true(add(&dumps, json, 0, &error));
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(dumps.dumps[0].entries[i].state, FLIGHT_COMPLETED);
    assert_int_equal(dumps.dumps[0].entries[1].ordinal, 1);
}

/* gloo never says that an operation is complete: the count of the group does. */
static void the_count_of_a_group_completes_its_calls(void **state)
{
    static const char json[] =
        HEAD "{\"profiling_name\": \"gloo:all_reduce\", \"collective_seq_id\": 1, \"pg_id\": 0, "
             "\"process_group\": [\"0\", \"default_pg\"], \"state\": \"scheduled\"}, "
             "{\"profiling_name\": \"gloo:all_reduce\", \"collective_seq_id\": 2, \"pg_id\": 0, "
             "\"process_group\": [\"0\", \"default_pg\"], \"state\": \"scheduled\"}], "
             "\"pg_config\": {\"\": {\"ranks\": \"[0, 1]\"}}, "
             "\"pg_status\": {\"0\": {\"last_enqueued_collective\": \"2\", "
             "\"last_completed_collective\": \"1\"}}}";
    SCOPED(flight_dumps) dumps = {0};
    SCOPED(flight_join) join = {0};
    SCOPED(flight_stalls) stalls = {0};
    struct error error = {0};

    (void)state;
    assert_true(add(&dumps, json, 0, &error));
    flight_dumps_finish(&dumps);
    assert_int_equal(dumps.dumps[0].entries[0].state, FLIGHT_COMPLETED);
    assert_int_equal(dumps.dumps[0].entries[1].state, FLIGHT_SCHEDULED);
    flight_join_calls(&join, &dumps);
    flight_find_stalls(&stalls, &join);
    assert_int_equal(stalls.count, 1);
    assert_int_equal(stalls.stalls[0].missing_count, 1);
    assert_int_equal(stalls.stalls[0].missing[0].rank, 1);
    assert_false(stalls.stalls[0].missing[0].has_dump);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_end_with_the_rank),
        cmocka_unit_test(an_entry_is_read),
        cmocka_unit_test(what_is_no_dump_is_refused),
        cmocka_unit_test(coalesced_calls_share_their_state),
        cmocka_unit_test(the_count_of_a_group_completes_its_calls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
