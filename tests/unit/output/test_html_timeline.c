/* Timelines as the page reads them: numbers of 7 bits a byte, in base64. */
#include "output/reports/html_page.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char *written(const struct timeline *timeline)
{
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    struct json_writer json = {.output = stream, .is_in_markup = true};

    assert_non_null(stream);
    write_timeline(&json, NULL, timeline);
    fclose(stream);
    return text;
}

static void no_timeline_is_null(void **state)
{
    char *text = written(NULL);

    assert_non_null(strstr(text, "null"));
    free(text);
}

/* 1 row; 2 blocks: at 5 for 300, alone, launched 7 before on lane 0; at 300 (5 before the end of
 * the other) for 10, three events of 9. */
static void blocks_are_packed(void **state)
{
    struct timeline_block blocks[] = {
        {.start_ns = 5, .duration_ns = 300, .launch_delay_ns = 7, .label = 1, .count = 1},
        {.start_ns = 300,
         .duration_ns = 10,
         .filled_ns = 9,
         .launch_delay_ns = TIMELINE_NO_LAUNCH,
         .label = 0,
         .count = 3},
    };
    struct timeline_row row = {.blocks = blocks, .count = 2};
    struct timeline_lane lane = {
        .kind = TIMELINE_STREAM, .title = "</script>", .rows = &row, .row_count = 1};
    struct timeline timeline = {.lanes = &lane, .lane_count = 1, .step_word = "step"};
    char *text = written(&timeline);

    /* 02 0a ac02 02 08 00 09 0a 01 03 09 */
    assert_non_null(strstr(text, "\"AgqsAgIIAAkKAQMJ\""));
    assert_null(strstr(text, "</script>"));
    free(text);
}

/* The same, packed by whoever made them. */
static void packed_blocks_are_written_as_they_are(void **state)
{
    struct packed_row packed = {.has_launches = true};
    struct timeline_row row = {.count = 2};
    struct timeline_lane lane = {.kind = TIMELINE_STREAM, .rows = &row, .row_count = 1};
    struct timeline timeline = {.lanes = &lane, .lane_count = 1, .step_word = "step"};
    char *text;

    timeline_pack(&packed, &(struct timeline_block){5, 300, 300, 7, 0, 1, 1});
    timeline_pack(&packed, &(struct timeline_block){300, 10, 9, TIMELINE_NO_LAUNCH, 0, 0, 3});
    assert_int_equal(packed.count, 2);
    row.packed = packed.bytes.bytes;
    row.packed_bytes = packed.bytes.length;
    text = written(&timeline);
    assert_non_null(strstr(text, "\"AgqsAgIIAAkKAQMJ\""));
    free(text);
    bytes_clear(&packed.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_timeline_is_null),
        cmocka_unit_test(blocks_are_packed),
        cmocka_unit_test(packed_blocks_are_written_as_they_are),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
