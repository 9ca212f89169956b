/* merged_processes: of recordings that were merged into one file each is told apart, or none is. */
#include "trace/trace_builder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* One call and the kernel that it launches. */
struct launched {
    const char *host, *host_name; /* pid, and what the process is called */
    const char *device, *device_name;
    int64_t correlation;
    bool has_operator;
};

static uint32_t string_of(struct trace_builder *builder, const char *text)
{
    return string_pool_add(&builder->strings, text, strlen(text));
}

static void add_event(struct trace_builder *builder, enum event_kind kind, const char *pid,
                      const char *name, int64_t correlation)
{
    bool is_device = event_kind_is_on_device(kind);
    struct track_key key = {.process = string_of(builder, pid),
                            .is_device = is_device,
                            .device = is_device ? 0 : -1,
                            .stream = is_device ? 7 : -1};
    struct given_name given = {.process = key.process, .name = string_of(builder, name)};
    struct found_event event = {.kind = (uint8_t)kind,
                                .start_ns = 100,
                                .duration_ns = 10,
                                .correlation = correlation,
                                .external_id = NO_ID,
                                .name = string_of(builder, pid)};

    event.track = trace_builder_track(builder, &key);
    trace_builder_add(builder, &event);
    if (*name)
        trace_builder_name(builder, &given);
}

/* What part number `part` of it is: "rank of recordings: host device". */
static void check_part(const struct launched *all, size_t count, uint32_t part,
                       const char *expected)
{
    struct trace_builder builder;
    struct trace trace = {0};
    char got[256];
    size_t used;

    trace_builder_init(&builder);
    (void)string_of(&builder, "");
    builder.may_be_merged = true;
    builder.part = part;
    for (size_t i = 0; i < count; i++) {
        if (all[i].has_operator)
            add_event(&builder, EVENT_OPERATOR, all[i].host, all[i].host_name, NO_ID);
        if (all[i].host)
            add_event(&builder, EVENT_RUNTIME_CALL, all[i].host, all[i].host_name,
                      all[i].correlation);
        if (all[i].device)
            add_event(&builder, EVENT_KERNEL, all[i].device, all[i].device_name,
                      all[i].correlation);
    }
    trace_finish(&trace, &builder, 1, 1);
    used = (size_t)snprintf(got, sizeof got, "%lld of %u%s:", (long long)trace.facts.rank,
                            trace.read.merged_processes, trace.read.are_not_parted ? "?" : "");
    for (uint32_t i = 0; i < trace.host_count; i++)
        if (trace.host[i].kind == EVENT_RUNTIME_CALL)
            used += (size_t)snprintf(got + used, sizeof got - used, " %s",
                                     trace_text(&trace, trace.host[i].name));
    for (uint32_t i = 0; i < trace.device_count; i++)
        used += (size_t)snprintf(got + used, sizeof got - used, " %s",
                                 trace_text(&trace, trace.device[i].name));
    assert_string_equal(got, expected);
    trace_clear(&trace);
}

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static void a_label_before_the_number_of_a_device_tells(void **state)
{
    const struct launched all[] = {{"[TP10] 42", "", "[TP10] 0", "", 1, true},
                                   {"[TP02] 42", "", "[TP02] 0", "", 1, true}};

    (void)state;
    check_part(all, COUNT(all), 0, "0 of 2: [TP02] 42 [TP02] 0");
    check_part(all, COUNT(all), 1, "1 of 2: [TP10] 42 [TP10] 0");
}

static void a_rank_in_the_names_of_processes_tells(void **state)
{
    const struct launched all[] = {
        {"42", "rank 10: python", "0", "rank 10: GPU", 1, true},
        {"1000042", "rank 9: python", "1000000", "rank 9: GPU", 1, true}};

    (void)state;
    check_part(all, COUNT(all), 0, "9 of 2: 1000042 1000000");
    check_part(all, COUNT(all), 1, "10 of 2: 42 0");
}

static void the_pid_of_the_calls_tells(void **state)
{
    const struct launched all[] = {{"50", "", "50", "", 1, false},
                                   {"6", "", "6", "", 1, false},
                                   {"7", "", NULL, "", 1, false}};

    (void)state;
    check_part(all, COUNT(all), 0, "0 of 2: 6 6");
    check_part(all, COUNT(all), 1, "1 of 2: 50 50");
}

static void calls_tell_where_correlations_differ(void **state)
{
    const struct launched all[] = {{"50", "", "0", "", 1, true}, {"60", "", "1", "", 2, true}};
    const struct launched same[] = {{"50", "", "0", "", 1, true}, {"60", "", "1", "", 1, true}};

    (void)state;
    check_part(all, COUNT(all), 1, "1 of 2: 60 1");
    check_part(same, COUNT(same), 0, "-1 of 2?: 50 60 0 1");
}

static void devices_of_one_process_are_not_told_apart(void **state)
{
    const struct launched devices[] = {{"50", "python", "0", "GPU 0", 1, true},
                                       {"50", "python", "1", "GPU 1", 2, true}};
    const struct launched calls_of_a_device[] = {{"50", "", "17", "", 1, true},
                                                 {"17", "", "17", "", 2, false}};
    const struct launched beside[] = {{"50", "", "0", "", 1, true}, {"60", "", NULL, "", 2, true}};

    (void)state;
    check_part(devices, COUNT(devices), 0, "-1 of 0: 50 50 0 1");
    check_part(calls_of_a_device, COUNT(calls_of_a_device), 0, "-1 of 0: 17 50 17 17");
    check_part(beside, COUNT(beside), 0, "-1 of 0: 50 60 0");
}

static void the_end_of_a_word_is_no_rank(void **state)
{
    const struct launched all[] = {{"50", "frank 3", "0", "frank 3", 1, true},
                                   {"60", "frank 4", "1", "frank 4", 1, true}};

    (void)state;
    check_part(all, COUNT(all), 0, "-1 of 2?: 50 60 0 1");
}

static void a_rank_within_a_node_is_none_of_the_run(void **state)
{
    const struct launched all[] = {{"a 1", "local rank 0", "a 0", "local_rank 0", 1, true},
                                   {"a' 1", "local rank 1", "a' 1", "local_rank 1", 1, true},
                                   {"b 1", "local rank 0", "b 0", "local_rank 0", 1, true},
                                   {"b' 1", "local rank 1", "b' 1", "local_rank 1", 1, true}};

    (void)state;
    check_part(all, COUNT(all), 2, "2 of 4: b 1 b 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_label_before_the_number_of_a_device_tells),
        cmocka_unit_test(a_rank_in_the_names_of_processes_tells),
        cmocka_unit_test(the_pid_of_the_calls_tells),
        cmocka_unit_test(calls_tell_where_correlations_differ),
        cmocka_unit_test(devices_of_one_process_are_not_told_apart),
        cmocka_unit_test(the_end_of_a_word_is_no_rank),
        cmocka_unit_test(a_rank_within_a_node_is_none_of_the_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
