/* Timelines of memory: of a recorded run by kind, of a snapshot by line of code, and its map. */
#include "base/core/attributes.h"
#include "memory/snapshot_owners.h"
#include "memory/snapshot_places.h"
#include "sections/memory/memory_sections.h"
#include "sections/timeline/timeline_parts.h"
#include "support_memory.h"
#include "support_snapshot.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static size_t line_of(const struct timeline_series *series, const char *key)
{
    for (size_t i = 0; i < series->line_count; i++)
        if (strcmp(series->line_keys[i], key) == 0)
            return i;
    fail_msg("no line '%s'", key);
    return 0;
}

/* The largest sum of the lines that add up. */
static double most_of(const struct timeline_series *series)
{
    double most = 0;

    for (size_t i = 0; i < series->point_count; i++) {
        double sum = 0;

        for (size_t line = 0; line < series->summed_count; line++)
            sum += series->values[i * series->line_count + line];
        most = sum > most ? sum : most;
    }
    return most;
}

static void the_peak_of_a_run_is_in_its_series(void **state)
{
    struct made_memory made;
    SCOPED(results) results = {0};
    struct memory_view view = {.run = &made.run, .device = HOST_MEMORY};
    const struct timeline *timeline;
    const struct timeline_series *series;
    double activations = 0;

    results_init(&results);
    made_memory_init(&made, memory_trace_text, memory_side_text);
    timeline = make_memory_timeline(&results, &view);
    assert_non_null(timeline);
    assert_int_equal(timeline->series_count, 1);
    series = &timeline->series[0];
    assert_int_equal((int64_t)most_of(series), 2572);
    for (size_t i = 0; i < series->point_count; i++) {
        double value = series->values[i * series->line_count + line_of(series, "activations")];

        activations = value > activations ? value : activations;
        assert_true(i == 0 || series->times_ns[i] >= series->times_ns[i - 1]);
    }
    assert_true(activations >= 500);
    assert_int_equal(timeline->lane_count, 1);
    assert_int_equal(timeline->lanes[0].kind, TIMELINE_PHASES);
    assert_int_equal(timeline->step_count, made.run.step_count);
    made_memory_clear(&made);
}

/* Phases follow each other, from the start to the end. */
static void phases_cover_the_run(void **state)
{
    struct made_memory made;
    SCOPED(results) results = {0};
    struct memory_view view = {.run = &made.run, .device = HOST_MEMORY};
    const struct timeline *timeline;
    const struct timeline_row *row;
    int64_t end_ns = 0;

    results_init(&results);
    made_memory_init(&made, memory_trace_text, memory_side_text);
    timeline = make_memory_timeline(&results, &view);
    row = &timeline->lanes[0].rows[0];
    assert_true(row->count >= 3);
    for (size_t i = 0; i < row->count; i++) {
        assert_int_equal(row->blocks[i].start_ns, end_ns);
        end_ns += row->blocks[i].duration_ns;
    }
    assert_int_equal(end_ns, timeline->duration_ns);
    made_memory_clear(&made);
}

/* ---- snapshots ---- */

struct seen_snapshot {
    struct made_snapshot made;
    struct snapshot_replay replay;
    struct snapshot_places places;
    struct snapshot_owners owners;
    struct snapshot_view view;
    struct results results;
};

/* 1,000 bytes of loss.py live to the end, 3,000 of model.py are freed before; then a gap. */
static void make_snapshot(struct seen_snapshot *seen)
{
    struct made_snapshot *made = &seen->made;
    uint32_t model;
    uint32_t loss;

    made_snapshot_init(made);
    model = made_stack(made, made_frame(made, "forward", "/home/me/model.py", 7), NULL);
    loss = made_stack(made, made_frame(made, "loss", "/home/me/loss.py", 9), NULL);
    made_event(made, SNAPSHOT_SEGMENT_ALLOC, 0x100000, 8192);
    made_event(made, SNAPSHOT_ALLOC, 0x100000, 3000);
    made_owner(made, model, "");
    made_event(made, SNAPSHOT_ALLOC, 0x100c00, 1000);
    made_owner(made, loss, "");
    made_event(made, SNAPSHOT_FREE_COMPLETED, 0x100000, 3000);
    made_event(made, SNAPSHOT_ALLOC, 0x101000, 500);
    made_owner(made, loss, "");
    made_segment(made, 0x100000, 8192);
    made_block(made, SNAPSHOT_INACTIVE, 3072, 0);
    made_block(made, SNAPSHOT_ACTIVE, 1024, 1000);
    made->blocks[1].stack = loss;
    made_block(made, SNAPSHOT_ACTIVE, 512, 500);
    made->blocks[2].stack = loss;
    made_block(made, SNAPSHOT_INACTIVE, 3584, 0);
    replay_snapshot(&seen->replay, &made->snapshot, 0);
    find_snapshot_places(&seen->places, &made->snapshot);
    find_snapshot_owners(&seen->owners, &seen->replay);
    seen->view = (struct snapshot_view){
        .replay = &seen->replay, .places = &seen->places, .owners = &seen->owners, .top = 10};
    results_init(&seen->results);
}

static void clear_snapshot(struct seen_snapshot *seen)
{
    results_clear(&seen->results);
    snapshot_owners_clear(&seen->owners);
    snapshot_places_clear(&seen->places);
    snapshot_replay_clear(&seen->replay);
    made_snapshot_clear(&seen->made);
}

static void a_snapshot_is_drawn_by_line_of_code(void **state)
{
    struct seen_snapshot seen = {0};
    const struct timeline *timeline;
    const struct timeline_series *series;
    const struct timeline_lane *lane;

    make_snapshot(&seen);
    timeline = make_snapshot_timeline(&seen.results, &seen.view);
    assert_non_null(timeline);
    series = &timeline->series[0];
    assert_int_equal((int64_t)most_of(series), 4000);
    assert_string_equal(series->line_titles[0], "model.py:7 forward");
    assert_string_equal(series->line_titles[1], "loss.py:9 loss");
    assert_string_equal(series->line_keys[series->line_count - 1], "reserved");
    assert_int_equal((int64_t)series->values[series->line_count * series->point_count - 1], 8192);
    lane = &timeline->lanes[timeline->lane_count - 1];
    assert_int_equal(lane->kind, TIMELINE_ALLOCATIONS);
    assert_int_equal(lane->event_count, 3);
    assert_int_equal(lane->row_count, 2); /* the last one follows the one that was freed */
    assert_int_equal(lane->rows[0].count, 2);
    clear_snapshot(&seen);
}

static void a_map_covers_each_segment(void **state)
{
    static const int64_t expected_bytes[] = {3072, 1024, 512, 3584};
    struct seen_snapshot seen = {0};
    const struct timeline *map;
    const struct timeline_row *row;
    int64_t offset = 0;

    make_snapshot(&seen);
    map = make_snapshot_map(&seen.results, &seen.view);
    assert_non_null(map);
    assert_true(map->is_map);
    assert_int_equal(map->duration_ns, 8192);
    assert_int_equal(map->lane_count, 1);
    row = &map->lanes[0].rows[0];
    assert_int_equal(row->count, 4);
    for (size_t i = 0; i < row->count; i++) {
        assert_int_equal(row->blocks[i].start_ns, offset);
        assert_int_equal(row->blocks[i].duration_ns, expected_bytes[i]);
        offset += row->blocks[i].duration_ns;
    }
    assert_string_equal(map->classes[map->labels[row->blocks[0].label].class].key, "map_free");
    assert_string_equal(map->names[map->labels[row->blocks[1].label].name], "loss.py:9 loss");
    clear_snapshot(&seen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_peak_of_a_run_is_in_its_series),
        cmocka_unit_test(phases_cover_the_run),
        cmocka_unit_test(a_snapshot_is_drawn_by_line_of_code),
        cmocka_unit_test(a_map_covers_each_segment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
