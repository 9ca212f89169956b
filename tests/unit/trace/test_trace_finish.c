/* trace_finish: builders become one trace, sorted, with kernels linked to calls and operators. */
#include "support_read.h"
#include "trace/trace_builder.h"
#include "trace/trace_finish_parts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* An event in few words. */
struct note {
    enum event_kind kind;
    const char *name;
    int64_t start_ns;
    int64_t duration_ns;
    int64_t id; /* correlation; an operator's own id */
    int64_t external_id;
};

static uint32_t string_of(struct trace_builder *builder, const char *text)
{
    return string_pool_add(&builder->strings, text, strlen(text));
}

static void add(struct trace_builder *builder, const struct note *note)
{
    bool is_device = note->kind > EVENT_HOST_OTHER;
    const struct track_key key = {
        .process = string_of(builder, is_device ? "0" : "100"),
        .thread = string_of(builder, is_device ? "7" : "101"),
        .is_device = is_device,
        .device = is_device ? 0 : -1,
        .stream = is_device ? 7 : -1,
    };
    struct event_detail detail = event_detail_none();
    struct found_event event = {.kind = (uint8_t)note->kind};

    detail.input_shapes = string_of(builder, note->name);
    event.name = string_of(builder, note->name);
    event.start_ns = note->start_ns;
    event.duration_ns = note->duration_ns;
    event.correlation = note->kind == EVENT_OPERATOR ? NO_ID : note->id;
    event.external_id = note->external_id;
    event.track = trace_builder_track(builder, &key);
    event.detail = trace_builder_detail(builder, &detail);
    trace_builder_add(builder, &event);
    trace_builder_count(builder, string_of(builder, "cat"), 'X', event.start_ns,
                        event.start_ns + event.duration_ns);
    builder->read.events++;
}

static const struct note notes[] = {
    {EVENT_OPERATOR, "outer", 0, 100, NO_ID, 1},
    {EVENT_OPERATOR, "inner", 10, 20, NO_ID, 2},
    {EVENT_RUNTIME_CALL, "launch", 12, 3, 50, NO_ID},
    {EVENT_RUNTIME_CALL, "launch", 40, 3, 51, NO_ID},
    {EVENT_RUNTIME_CALL, "driver", 41, 1, 51, NO_ID},
    {EVENT_RUNTIME_CALL, "late", 200, 3, 52, NO_ID},
    {EVENT_KERNEL, "k inner", 20, 5, 50, 9},
    {EVENT_KERNEL, "k outer", 60, 5, 51, 9},
    {EVENT_KERNEL, "k early", 190, 1, 52, 2},
    {EVENT_KERNEL, "k unlinked", 300, 5, 99, 1},
    {EVENT_MEMSET, "m nothing", 310, 5, NO_ID, NO_ID},
    {EVENT_MEMCPY, "c correlation", 320, 5, 2, 2},
    {EVENT_MEMCPY, "Memcpy Unified DtoH (Unknown -> Unknown)", 330, 5, 0, NO_ID},
    {EVENT_DEVICE_ANNOTATION, "note", 20, 50, NO_ID, NO_ID},
};

enum { NOTES = sizeof notes / sizeof notes[0] };

static void make_trace(struct trace *trace, unsigned builders, unsigned threads)
{
    struct trace_builder parts[4];

    for (unsigned i = 0; i < builders; i++)
        trace_builder_init(&parts[i]);
    for (size_t i = 0; i < NOTES; i++)
        add(&parts[builders - 1 - i % builders], &notes[i]);
    trace_finish(trace, parts, builders, threads);
}

static const char *operator_name(const struct trace *trace, uint32_t device_event)
{
    uint32_t found = trace_operator_of(trace, device_event);

    return found == NO_EVENT ? "none" : trace_text(trace, trace->host[found].name);
}

static void kernels_find_their_calls_and_operators(void **state)
{
    SCOPED(trace) trace = {0};

    (void)state;
    make_trace(&trace, 1, 1);
    assert_int_equal(trace.host_count, 6);
    assert_int_equal(trace.device_count, 7);
    assert_int_equal(trace.device_note_count, 1);
    assert_int_equal(trace.host[trace.launch[0]].start_ns, 12);
    assert_string_equal(operator_name(&trace, 0), "inner");
    assert_int_equal(trace.host[trace.launch[1]].start_ns, 40); /* the first of two calls */
    assert_string_equal(operator_name(&trace, 1), "outer");
    assert_int_equal(trace.host[trace.launch[2]].start_ns, 200);
    assert_string_equal(operator_name(&trace, 2), "inner"); /* by its external id */
    assert_int_equal(trace.launch[3], NO_EVENT);
    assert_string_equal(operator_name(&trace, 3), "outer"); /* by its external id */
    assert_string_equal(operator_name(&trace, 4), "none");
    assert_string_equal(operator_name(&trace, 5), "none"); /* that id is the correlation */
    assert_int_equal(trace.read.unlinked_device_events, 2);
    assert_int_equal(trace.read.earlier_device_events, 1); /* its number is below the first call's
                                                            */
    assert_int_equal(trace.read.page_moves, 1);
    assert_int_equal(trace.read.early_device_events, 1);
}

static void it_does_not_matter_who_read_what(void **state)
{
    SCOPED(trace) whole = {0};

    (void)state;
    make_trace(&whole, 1, 1);
    for (unsigned builders = 2; builders <= 4; builders++) {
        for (unsigned threads = 1; threads <= 3; threads += 2) {
            SCOPED(trace) trace = {0};

            make_trace(&trace, builders, threads);
            assert_true(is_same_trace(&trace, &whole));
            assert_int_equal(trace.detail_count, whole.detail_count);
            assert_int_equal(trace.read.categories[0].events, NOTES);
            assert_int_equal(trace.read.categories[0].last_end_ns, 335);
        }
    }
}

static void nothing_at_all_is_a_trace(void **state)
{
    SCOPED(trace) trace = {0};
    struct trace_builder builder;

    (void)state;
    trace_builder_init(&builder);
    trace_finish(&trace, &builder, 1, 4);
    assert_int_equal(trace.host_count + trace.device_count + trace.track_count, 0);
    assert_int_equal(trace.detail_count, 1);
    assert_string_equal(trace_text(&trace, 0), "");
    assert_int_equal(trace.facts.rank, -1);
}

static void devices_are_listed_and_counted(void **state)
{
    SCOPED(trace) trace = {0};
    struct trace_builder builder;
    const struct device other = {.number = 3, .entry = DEVICE_ENTRY_OWN};

    (void)state;
    trace_builder_init(&builder);
    trace_builder_add_device(&builder, &other);
    for (size_t i = 0; i < NOTES; i++)
        add(&builder, &notes[i]);
    trace_finish(&trace, &builder, 1, 1);
    assert_int_equal(trace.device_list_count, 2);
    assert_int_equal(trace.devices[0].number, 0);
    assert_int_equal(trace.devices[0].event_count, 7);
    assert_int_equal(trace.devices[1].event_count, 0);
}

/* Work runs on device 0, which has no entry of its own; `names` are those of the entries 3, 4, ...
 */
static void check_entry(const char *const *names, enum device_entry entry, const char *name,
                        int32_t multiprocessors)
{
    SCOPED(trace) trace = {0};
    struct trace_builder builder;

    trace_builder_init(&builder);
    for (int32_t i = 0; names[i]; i++) {
        const struct device other = {.number = 3 + i,
                                     .name = string_of(&builder, names[i]),
                                     .memory_bytes = (int64_t)1 << 34,
                                     .compute_major = 9,
                                     .compute_minor = 4,
                                     .multiprocessors = 300 + (i > 0),
                                     .entry = DEVICE_ENTRY_OWN};

        trace_builder_add_device(&builder, &other);
    }
    for (size_t i = 0; i < NOTES; i++)
        add(&builder, &notes[i]);
    trace_finish(&trace, &builder, 1, 1);
    assert_int_equal(trace.devices[0].number, 0);
    assert_int_equal(trace.devices[0].event_count, 7);
    assert_int_equal(trace.devices[0].entry, entry);
    assert_string_equal(trace_text(&trace, trace.devices[0].name), name);
    assert_int_equal(trace.devices[0].multiprocessors, multiprocessors);
    assert_int_equal(trace.devices[1].entry, DEVICE_ENTRY_OWN);
    assert_int_equal(trace.devices[1].event_count, 0);
}

static void a_device_without_an_entry_is_what_all_entries_are(void **state)
{
    (void)state;
    check_entry((const char *const[]){"A", NULL}, DEVICE_ENTRY_ONLY, "A", 300);
    check_entry((const char *const[]){"A", "A", NULL}, DEVICE_ENTRY_SHARED, "A", -1);
    check_entry((const char *const[]){"", NULL}, DEVICE_ENTRY_ONLY, "", 300);
    check_entry((const char *const[]){"A", "B", NULL}, DEVICE_ENTRY_NONE, "", -1);
    check_entry((const char *const[]){"A", "", NULL}, DEVICE_ENTRY_NONE, "", -1);
}

/* As many threads, devices and names as a broken file may have: all of it in no time. */
static void many_tracks_take_no_time(void **state)
{
    enum { TRACKS = 100000 };
    SCOPED(trace) trace = {0};
    struct trace_builder builder;
    char text[16];

    (void)state;
    trace_builder_init(&builder);
    for (int32_t i = 0; i < TRACKS; i++) {
        uint32_t name =
            string_pool_add(&builder.strings, text, (size_t)snprintf(text, sizeof text, "%d", i));
        const struct track_key key = {
            .process = name, .thread = name, .is_device = true, .device = i, .stream = i};
        const struct found_event event = {.kind = EVENT_KERNEL,
                                          .start_ns = i,
                                          .correlation = (int64_t)i << 40,
                                          .track = trace_builder_track(&builder, &key)};
        const struct given_name given = {name, name, name, i % 2};

        trace_builder_add(&builder, &event);
        trace_builder_name(&builder, &given);
    }
    trace_finish(&trace, &builder, 1, 1);
    assert_int_equal(trace.device_list_count, TRACKS);
    for (uint32_t i = 0; i < TRACKS; i++) {
        assert_int_equal(trace.devices[i].number, i);
        assert_int_equal(trace.devices[i].event_count, 1);
        assert_true((i % 2 ? trace.tracks[i].thread_name : trace.tracks[i].process_name) != 0 ||
                    i == 0);
    }
}

static const int64_t ids[] = {INT64_MAX,
                              INT64_MAX - 1,
                              INT64_MIN,
                              (int64_t)1 << 30,
                              ((int64_t)1 << 31) - 1,
                              (int64_t)1 << 31,
                              7,
                              NO_ID - (int64_t)1};
enum { IDS = sizeof ids / sizeof *ids };

/* Of two pieces, the second reads the ids from `first` on, around: the first wide one decides which
 * lie near each other. The middle piece has no wide id. */
static void check_wide_ids(unsigned first, unsigned calls_piece)
{
    struct trace_builder builders[3];
    SCOPED(trace) trace = {0};

    for (int b = 0; b < 3; b++)
        trace_builder_init(&builders[b]);
    add(&builders[1], &(struct note){EVENT_OPERATOR, "none", 0, 1, 5, 6});
    for (int i = 0; i < IDS; i++)
        add(&builders[calls_piece],
            &(struct note){EVENT_RUNTIME_CALL, "call", INT64_C(10) * i, 5, ids[i], NO_ID});
    for (unsigned n = 0; n < IDS; n++) {
        int i = (int)((first + n) % IDS);

        add(&builders[2 - calls_piece],
            &(struct note){EVENT_KERNEL, "work", 1000 - i, 5, ids[i], ids[0]});
    }
    trace_finish(&trace, builders, 3, 1);
    assert_int_equal(trace.device_count, IDS);
    for (uint32_t i = 0; i < IDS; i++) {
        assert_true(event_id_number(&trace.wide_ids, trace.host[trace.launch[i]].correlation) ==
                    ids[IDS - 1 - i]);
        assert_true(event_id_number(&trace.wide_ids, trace.device[i].correlation) ==
                    ids[IDS - 1 - i]);
        assert_true(event_id_number(&trace.wide_ids, trace.device[i].external_id) == ids[0]);
        assert_int_equal(trace.device[i].correlation, trace.host[trace.launch[i]].correlation);
    }
}

/* Pieces of a file number their large ids apart, and a call of one launches work of another. */
static void wide_ids_join_across_pieces(void **state)
{
    (void)state;
    for (unsigned first = 0; first < IDS; first++) {
        check_wide_ids(first, 0);
        check_wide_ids(first, 2);
    }
}

static uint64_t next_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 20;
}

/* Sorts events whose times are below `limit`, with a few that lie far away; of `runs` each is
 * sorted already. */
static void check_order(int64_t limit, bool has_outliers, size_t runs)
{
    enum { COUNT = 20000 };
    static struct event events[COUNT];
    SCOPED(trace) trace = {0};
    uint64_t seed = 11;
    int64_t sum = 0;
    int64_t sorted_sum = 0;

    for (uint32_t i = 0; i < 10; i++) {
        char name[8];

        string_pool_add(&trace.strings, name, (size_t)snprintf(name, sizeof name, "n%u", 9 - i));
    }
    for (size_t i = 0; i < COUNT; i++) {
        events[i] = (struct event){
            .start_ns = (int64_t)(next_random(&seed) % (uint64_t)limit),
            .duration_ns = (int64_t)(next_random(&seed) % 5),
            .name = (uint32_t)(1 + next_random(&seed) % 10),
            .correlation = (int32_t)(next_random(&seed) % 100),
        };
        if (has_outliers && i % 1000 == 0)
            events[i].start_ns = i % 2000 ? INT64_MIN + 5 : INT64_MAX / 2;
        sum += events[i].correlation * events[i].duration_ns;
    }
    for (size_t i = 0; i < runs; i++)
        sort_events(&trace, events + i * COUNT / runs, (i + 1) * COUNT / runs - i * COUNT / runs,
                    compare_host_events);
    sort_events(&trace, events, COUNT, compare_host_events);
    for (size_t i = 0; i < COUNT; i++) {
        if (i)
            assert_true(compare_host_events(&trace, &events[i - 1], &events[i]) <= 0);
        sorted_sum += events[i].correlation * events[i].duration_ns;
    }
    assert_int_equal(sorted_sum, sum);
}

static void any_times_are_sorted(void **state)
{
    (void)state;
    for (size_t runs = 0; runs < 11; runs++) {
        check_order(10, false, runs); /* long runs of equal times */
        check_order(1000000, false, runs);
    }
    check_order(INT64_MAX, false, 0);
    check_order(1000000000, true, 0);
    check_order(1000000000, true, 5);
}

/* Events of any times and numbers, as `kind_of_ids` has these: 0: counting up, 1: in no order, 2:
 * far apart. */
static void add_random_events(struct trace_builder *builder, uint32_t kind_of_ids)
{
    static const enum event_kind kinds[] = {EVENT_RUNTIME_CALL, EVENT_KERNEL,
                                            EVENT_MEMCPY,       EVENT_ANNOTATION,
                                            EVENT_OPERATOR,     EVENT_DEVICE_ANNOTATION};
    uint32_t seed = kind_of_ids;

    for (int64_t i = 0; i < 3000; i++) {
        struct note note = {.kind = kinds[(seed >> 8) % 6], .name = "k", .id = 10 + i / 4};

        seed = seed * 1664525u + 1013904223u;
        if (note.kind == EVENT_MEMCPY && seed % 3 == 0)
            note.name = "Memcpy Unified HtoD";
        note.start_ns = 100 * (i / 4) + (seed >> 8) % 90;
        note.duration_ns = (seed >> 16) % 120;
        if (kind_of_ids > 0)
            note.id = (note.id * 7919) % 800 * (kind_of_ids == 2 ? INT64_C(1000000007) : 1);
        if (seed % 31 == 0)
            note.id = seed % 2 ? NO_ID : 3;
        add(builder, &note);
    }
}

/* Sums say the same as the events would. */
static void sums_are_those_of_the_events(void **state)
{
    (void)state;
    for (uint32_t kind_of_ids = 0; kind_of_ids < 3; kind_of_ids++) {
        struct trace_builder builders[2];
        struct trace kept = {0}, summed = {0};
        int64_t host = 0;

        for (int i = 0; i < 2; i++) {
            trace_builder_init(&builders[i]);
            builders[i].sums_events = i == 1;
            add_random_events(&builders[i], kind_of_ids);
        }
        trace_finish(&kept, &builders[0], 1, 1);
        trace_finish(&summed, &builders[1], 1, 1);
        assert_null(kept.sums);
        assert_int_equal(summed.host_count + summed.device_count + summed.device_note_count, 0);
        assert_int_equal(summed.track_count, 2);
        for (uint32_t i = 0; i < kept.host_count; i++)
            host += kept.host[i].kind < EVENT_MEMCPY;
        assert_int_equal(summed.sums[0].events, host);
        assert_int_equal(summed.sums[1].events, kept.device_count + kept.device_note_count);
        assert_int_equal(summed.sums[1].device_events, kept.device_count);
        assert_int_equal(summed.device_list_count, 1);
        assert_int_equal(summed.devices[0].event_count, kept.devices[0].event_count);
        assert_true(kept.read.unlinked_device_events > 0 && kept.read.early_device_events > 0);
        assert_true(kept.read.page_moves > 0);
        assert_int_equal(summed.read.unlinked_device_events, kept.read.unlinked_device_events);
        assert_int_equal(summed.read.earlier_device_events, kept.read.earlier_device_events);
        assert_int_equal(summed.read.early_device_events, kept.read.early_device_events);
        assert_int_equal(summed.read.page_moves, kept.read.page_moves);
        trace_clear(&kept);
        trace_clear(&summed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_find_their_calls_and_operators),
        cmocka_unit_test(it_does_not_matter_who_read_what),
        cmocka_unit_test(nothing_at_all_is_a_trace),
        cmocka_unit_test(devices_are_listed_and_counted),
        cmocka_unit_test(a_device_without_an_entry_is_what_all_entries_are),
        cmocka_unit_test(many_tracks_take_no_time),
        cmocka_unit_test(wide_ids_join_across_pieces),
        cmocka_unit_test(any_times_are_sorted),
        cmocka_unit_test(sums_are_those_of_the_events),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
