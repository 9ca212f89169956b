/* Metrics are read by what they are, whatever else has the same text for a key. */
#include "output/results/metrics.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void a_metric_is_its_declaration_and_no_text(void **state)
{
    char copy[sizeof metric_declarations[0].key];

    for (int i = 0; i < METRIC_COUNT; i++) {
        assert_int_equal(metric_of_key(metric_declarations[i].key), i);
        assert_true(*metric_declarations[i].key && *metric_declarations[i].title);
        memcpy(copy, metric_declarations[i].key, sizeof copy);
        assert_int_equal(metric_of_key(copy), NO_METRIC);
    }
    assert_int_equal(metric_of_key(METRIC_TITLE(MFU)), NO_METRIC);
    assert_int_equal(METRIC_UNIT(MFU), UNIT_FRACTION);
}

static void numbers_and_columns_are_found_by_their_metric(void **state)
{
    struct results results = {0};
    struct rank_results *rank;
    struct section *other, *section;
    struct table *table;
    const struct column columns[] = {
        {"duration", "another duration", UNIT_COUNT, 0, BAR_NONE},
        {METRIC_NAMES(STEP), METRIC_UNIT(STEP), 0, BAR_NONE},
        {METRIC_NAMES(STEP_DURATION), METRIC_UNIT(STEP_DURATION), 0, BAR_NONE},
    };

    results_init(&results);
    rank = results_add_rank(&results, "rank 0", "file", 0, 0);
    assert_int_equal(metric_number(rank, METRIC_MFU).unit, UNIT_NONE);
    assert_null(metric_column(rank, METRIC_STEP).table);
    other = section_new(&results, "other", "", NULL);
    section_add_number(&results, other, (struct number){"mfu", "MFU", value_fraction(0.9), NULL});
    rank_add_section(&results, rank, other);
    section = section_new(&results, "steps", "", NULL);
    section->role = SECTION_OF_ADVICE;
    section_add_number(&results, section,
                       (struct number){METRIC_NAMES(MFU), value_fraction(0.5), NULL});
    section_add_number(&results, section,
                       (struct number){METRIC_NAMES(MFU), value_fraction(0.1), NULL});
    table = section_add_table(&results, section, "steps", "", columns, 3);
    table_add_row(&results, table, 0)[2] = value_time_ns(7);
    rank_add_section(&results, rank, section);
    assert_true(metric_number(rank, METRIC_MFU).real == 0.5); /* the first one, and not the text */
    assert_ptr_equal(metric_column(rank, METRIC_STEP_DURATION).table, table);
    assert_int_equal(metric_cell(table, 0, METRIC_STEP_DURATION).integer, 7);
    assert_int_equal(metric_cell(table, 1, METRIC_STEP_DURATION).unit, UNIT_NONE);
    assert_int_equal(metric_cell(table, 0, METRIC_MFU).unit, UNIT_NONE);
    assert_ptr_equal(section_of_role(rank, SECTION_OF_ADVICE), section);
    assert_null(section_of_role(rank, SECTION_OF_RUN));
    assert_int_equal(metric_number(NULL, METRIC_MFU).unit, UNIT_NONE);
    assert_null(section_of_role(NULL, SECTION_OF_RUN));
    results_clear(&results);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_metric_is_its_declaration_and_no_text),
        cmocka_unit_test(numbers_and_columns_are_found_by_their_metric),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
