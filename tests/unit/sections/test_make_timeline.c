/* Timelines: what lies in which lane, what is merged, and that no event is lost. */
#include "sections/timeline/timeline_parts.h"
#include "support_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const struct analysis_options plain_options = {.top = UINT32_MAX};

static int64_t next_number(const unsigned char **at)
{
    int64_t number = 0;
    unsigned shift = 0;

    for (; **at >= 0x80; shift += 7)
        number |= (int64_t)(*(*at)++ & 0x7f) << shift;
    return number | (int64_t)(*(*at)++) << shift;
}

/* As web/src/timeline/ does it. */
static void unpack(struct results *results, struct timeline_row *row, bool has_launches)
{
    const unsigned char *at = row->packed;
    int64_t end_ns = 0;

    row->blocks = results_allocate(results, (row->count + 1) * sizeof *row->blocks);
    for (size_t i = 0; i < row->count; i++) {
        struct timeline_block *block = &row->blocks[i];
        int64_t distance = next_number(&at);
        int64_t label;

        block->start_ns = end_ns + (distance & 1 ? -(distance >> 1) - 1 : distance >> 1);
        block->duration_ns = next_number(&at);
        label = next_number(&at);
        block->label = (uint32_t)(label >> 1);
        block->count = label & 1 ? (uint32_t)next_number(&at) : 1;
        block->filled_ns = label & 1 ? next_number(&at) : block->duration_ns;
        block->launch_delay_ns = !(label & 1) && has_launches ? next_number(&at) - 1 : -1;
        if (block->launch_delay_ns >= 0)
            block->launch_lane = (uint32_t)next_number(&at);
        end_ns = block->start_ns + block->duration_ns;
    }
    assert_ptr_equal(at, row->packed + row->packed_bytes);
}

static struct timeline *timeline_of(struct made_trace *made, int64_t block_budget)
{
    struct analysis_input input = made_input(made, &plain_options);
    struct timeline *timeline = make_timeline(&made->results, &input, NULL, block_budget);

    for (size_t i = 0; i < timeline->lane_count; i++)
        for (size_t j = 0; j < timeline->lanes[i].row_count; j++)
            unpack(&made->results, &timeline->lanes[i].rows[j],
                   timeline->lanes[i].kind == TIMELINE_STREAM);
    return timeline;
}

static const struct timeline_lane *lane_of_kind(const struct timeline *timeline,
                                                enum timeline_lane_kind kind)
{
    for (size_t i = 0; i < timeline->lane_count; i++)
        if (timeline->lanes[i].kind == kind)
            return &timeline->lanes[i];
    fail_msg("no lane of kind %d", (int)kind);
    return NULL;
}

static const char *name_of(const struct timeline *timeline, const struct timeline_block *block)
{
    return timeline->names[timeline->labels[block->label].name];
}

static const char *class_of(const struct timeline *timeline, const struct timeline_block *block)
{
    return timeline->classes[timeline->labels[block->label].class].key;
}

enum { STEPS = 8, KERNELS = 500, STEP_NS = 2000000 };

/* Steps of many short kernels and one long one; step 5 takes longer than the others. */
static void make_trace(struct made_trace *made)
{
    uint32_t thread;
    uint32_t stream;
    int64_t start_ns = 1000;

    made_trace_init(made);
    thread = made_thread(made, "11");
    stream = made_stream(made, 0, 7);
    for (int step = 0; step < STEPS; step++) {
        int64_t length_ns = step == 5 ? 2 * STEP_NS : STEP_NS;
        char name[32];

        snprintf(name, sizeof name, "ProfilerStep#%d", step);
        made_host_event(made, thread, EVENT_ANNOTATION,
                        (struct made_event){name, start_ns, start_ns + length_ns});
        made_host_event(made, thread, EVENT_OPERATOR,
                        (struct made_event){"aten::mm", start_ns + 10, start_ns + 900000});
        for (int i = 0; i < KERNELS; i++) {
            int64_t at_ns = start_ns + 2000 * i + 2000;

            made_kernel(made, thread, stream,
                        (struct made_event){"cudaLaunchKernel", at_ns - 1500, at_ns - 1000},
                        (struct made_event){i % 5 ? "gemm" : "elementwise", at_ns, at_ns + 500});
        }
        made_kernel(made, thread, stream,
                    (struct made_event){"cudaLaunchKernel", start_ns + 1100000, start_ns + 1101000},
                    (struct made_event){"long gemm", start_ns + 1200000, start_ns + 1900000});
        start_ns += length_ns + 1000;
    }
    made_trace_finish(made, WINDOW_CHOICE_AUTO);
}

static void all_events_are_shown_where_they_fit(void **state)
{
    struct made_trace made;
    const struct timeline *timeline;
    const struct timeline_lane *stream;
    const struct timeline_lane *thread;

    make_trace(&made);
    timeline = timeline_of(&made, 1000000);
    stream = lane_of_kind(timeline, TIMELINE_STREAM);
    thread = lane_of_kind(timeline, TIMELINE_THREAD);
    assert_int_equal(timeline->region_count, 1);
    assert_int_equal(timeline->regions[0].resolution_ns, 0);
    assert_int_equal(timeline->event_count, timeline->block_count);
    assert_int_equal(stream->rows[0].count, STEPS * (KERNELS + 1));
    assert_string_equal(stream->title, "stream 7 of device 0");
    assert_int_equal(thread->row_count, 3); /* the step, the operator, its calls */
    assert_int_equal(thread->rows[0].count, STEPS);
    assert_int_equal(thread->rows[1].count + thread->rows[2].count, STEPS * (KERNELS + 2));
    made_trace_clear(&made);
}

static void a_kernel_knows_its_launch(void **state)
{
    struct made_trace made;
    const struct timeline *timeline;
    const struct timeline_block *kernel;

    make_trace(&made);
    timeline = timeline_of(&made, 1000000);
    kernel = &lane_of_kind(timeline, TIMELINE_STREAM)->rows[0].blocks[1];
    assert_string_equal(name_of(timeline, kernel), "gemm");
    assert_string_equal(class_of(timeline, kernel), "matmul");
    assert_int_equal(kernel->launch_delay_ns, 1500);
    assert_int_equal(timeline->lanes[kernel->launch_lane].kind, TIMELINE_THREAD);
    made_trace_clear(&made);
}

/* Of the budget most goes to whole steps, the typical one before all others. */
static void short_events_are_merged_outside_of_chosen_steps(void **state)
{
    struct made_trace made;
    const struct timeline *timeline;
    const struct timeline_row *row;
    int64_t kernels = 0;
    size_t long_ones = 0;

    make_trace(&made);
    timeline = timeline_of(&made, 4400);
    assert_true(timeline->block_count <= 4400);
    assert_true(timeline->region_count >= 2);
    for (size_t i = 0; i < timeline->step_count; i++)
        for (size_t j = 0; j < timeline->region_count; j++)
            if (timeline->steps[i].is_typical &&
                timeline->regions[j].start_ns <= timeline->steps[i].start_ns &&
                timeline->regions[j].end_ns >= timeline->steps[i].end_ns)
                assert_int_equal(timeline->regions[j].resolution_ns, 0);
    row = &lane_of_kind(timeline, TIMELINE_STREAM)->rows[0];
    for (size_t i = 0; i < row->count; i++) {
        kernels += row->blocks[i].count;
        if (row->blocks[i].count == 1 &&
            strcmp(name_of(timeline, &row->blocks[i]), "long gemm") == 0)
            long_ones++;
        if (row->blocks[i].count > 1)
            assert_true(row->blocks[i].filled_ns == 500 * (int64_t)row->blocks[i].count);
        if (row->blocks[i].count > 4) /* of four parts gemm and one elementwise */
            assert_string_equal(class_of(timeline, &row->blocks[i]), "matmul");
    }
    assert_int_equal(kernels, STEPS * (KERNELS + 1));
    assert_int_equal(long_ones, STEPS);
    made_trace_clear(&made);
}

/* Whether all fits is tried before it is counted: either way no event is lost, and the budget
 * holds. */
static void any_budget_holds_all_events(void **state)
{
    static const int64_t budgets[] = {1500, 4000, 6000, 8000, 10000, 12000, 14000, 16000};
    struct made_trace made;
    int64_t events;

    make_trace(&made);
    events = timeline_of(&made, 1000000)->event_count;
    for (size_t i = 0; i < sizeof budgets / sizeof *budgets; i++) {
        const struct timeline *timeline = timeline_of(&made, budgets[i]);

        assert_int_equal(timeline->event_count, events);
        assert_true(timeline->block_count <= budgets[i]);
        assert_true((timeline->block_count == events) == (events <= budgets[i]));
    }
    made_trace_clear(&made);
}

/* One step alone is larger than the budget: a slice of it is shown in full. */
static void a_slice_is_shown_where_no_step_fits(void **state)
{
    struct made_trace made;
    const struct timeline *timeline;
    bool has_detail = false;

    make_trace(&made);
    timeline = timeline_of(&made, 900);
    for (size_t i = 0; i < timeline->region_count; i++) {
        const struct timeline_region *region = &timeline->regions[i];

        if (i > 0)
            assert_int_equal(region->start_ns, timeline->regions[i - 1].end_ns);
        if (region->resolution_ns == 0) {
            has_detail = true;
            assert_true(region->end_ns - region->start_ns < STEP_NS);
        }
    }
    assert_true(has_detail);
    assert_int_equal(timeline->regions[timeline->region_count - 1].end_ns,
                     timeline->duration_ns + 1);
    made_trace_clear(&made);
}

static void modules_have_a_lane_of_their_own(void **state)
{
    struct made_trace made;
    const struct timeline *timeline;
    const struct timeline_lane *lane;
    uint32_t thread;

    made_trace_init(&made);
    thread = made_thread(&made, "11");
    made_host_event(&made, thread, EVENT_ANNOTATION, (struct made_event){"nn:Model", 0, 1000});
    made_host_event(&made, thread, EVENT_ANNOTATION, (struct made_event){"nn:mlp", 100, 900});
    made_numbered_operator(&made, thread, (struct made_event){"aten::mm", 200, 300}, 5);
    made_numbered_operator(
        &made, thread,
        (struct made_event){"autograd::engine::evaluate_function: MmBackward0", 2000, 2500}, 5);
    made_trace_finish(&made, WINDOW_CHOICE_WHOLE);
    timeline = timeline_of(&made, 1000);
    lane = lane_of_kind(timeline, TIMELINE_MODULES);
    assert_int_equal(lane->row_count, 2);
    assert_int_equal(lane->rows[1].count, 2);
    assert_string_equal(class_of(timeline, &lane->rows[1].blocks[0]), "phase_forward");
    assert_string_equal(class_of(timeline, &lane->rows[1].blocks[1]), "phase_backward");
    assert_int_equal(lane->rows[1].blocks[1].start_ns, 2000);
    assert_string_equal(timeline->modules[timeline->labels[lane->rows[1].blocks[1].label].module],
                        "mlp");
    assert_int_equal(lane_of_kind(timeline, TIMELINE_THREAD)->row_count, 1); /* no marks in it */
    made_trace_clear(&made);
}

static void the_largest_of_a_stretch_stays_in_a_series(void **state)
{
    struct results results = {0};
    struct timeline timeline = {.duration_ns = 1000000};
    static const char *const keys[] = {"a", "b"};
    struct series_thinner thinner = {.end_ns = 1000000};
    double largest = 0;

    results_init(&results);
    thinner.series = timeline_add_series(
        &results, &timeline,
        &(struct timeline_series){
            .line_keys = keys, .line_titles = keys, .line_count = 2, .summed_count = 2});
    for (int i = 0; i < 100000; i++)
        series_thinner_take(&thinner, 10 * i, (double[2]){i == 54321 ? 7 : 1, 2});
    assert_true(thinner.series->point_count <= SERIES_POINTS_MAX);
    assert_int_equal(thinner.series->merged_count, 100000);
    for (size_t i = 0; i < thinner.series->point_count; i++)
        if (thinner.series->values[2 * i] > largest)
            largest = thinner.series->values[2 * i];
    assert_true(largest > 6);
    results_clear(&results);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_events_are_shown_where_they_fit),
        cmocka_unit_test(a_kernel_knows_its_launch),
        cmocka_unit_test(short_events_are_merged_outside_of_chosen_steps),
        cmocka_unit_test(any_budget_holds_all_events),
        cmocka_unit_test(a_slice_is_shown_where_no_step_fits),
        cmocka_unit_test(modules_have_a_lane_of_their_own),
        cmocka_unit_test(the_largest_of_a_stretch_stays_in_a_series),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
