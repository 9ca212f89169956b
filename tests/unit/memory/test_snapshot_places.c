/* Stacks folded to places, owners by tag and annotation, growth, and what changed. */
#include "base/core/attributes.h"
#include "memory/snapshot_growth.h"
#include "memory/snapshot_owners.h"
#include "memory/snapshot_places.h"
#include "support_snapshot.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char library[] = "/usr/lib/python3/site-packages/torch/nn/functional.py";

static enum place_kind kind_of(const struct snapshot_places *places, uint32_t stack)
{
    return places->places[places->of_stack[stack]].kind;
}

static const char *name_of(const struct snapshot_places *places, uint32_t stack)
{
    return string_pool_text(&places->names, places->places[places->of_stack[stack]].name);
}

static void the_innermost_line_of_the_user_counts(void **state)
{
    SCOPED(snapshot_places) places = {0};
    struct made_snapshot made;
    struct snapshot_frame user;
    uint32_t through_library;
    uint32_t direct;
    uint32_t only_library;
    uint32_t notebook;

    made_snapshot_init(&made);
    user = made_frame(&made, "forward", "/home/me/project/model.py", 7);
    through_library = made_stack(&made, made_frame(&made, "linear", library, 3), &user);
    direct = made_stack(&made, user, NULL);
    only_library = made_stack(&made, made_frame(&made, "linear", library, 3), NULL);
    notebook = made_stack(&made, made_frame(&made, "<module>", "/tmp/ipykernel_7/1.py", 1), NULL);
    find_snapshot_places(&places, &made.snapshot);
    assert_int_equal(kind_of(&places, through_library), PLACE_USER_LINE);
    assert_int_equal(kind_of(&places, direct), PLACE_USER_LINE);
    assert_int_equal(kind_of(&places, only_library), PLACE_LIBRARY_LINE);
    assert_int_equal(kind_of(&places, notebook), PLACE_USER_LINE);
    assert_string_equal(short_path("/home/me/project/model.py"), "project/model.py");
    assert_string_equal(short_path("model.py"), "model.py");
    assert_string_equal(short_path("/model.py"), "/model.py");
    made_snapshot_clear(&made);
}

static void a_backward_is_named_by_its_node(void **state)
{
    SCOPED(snapshot_places) places = {0};
    struct made_snapshot made;
    struct snapshot_frame node;
    uint32_t backward;
    uint32_t op;
    uint32_t unnamed;

    made_snapshot_init(&made);
    node = made_frame(&made,
                      "torch::autograd::generated::SoftmaxBackward0::apply(std::vector<at::Tensor,"
                      " std::allocator<at::Tensor> >&&)",
                      "", 0);
    backward = made_stack(
        &made, made_frame(&made, "at::_ops::empty::call(c10::ArrayRef<long>)", "??", 0), &node);
    op = made_stack(
        &made, made_frame(&made, "at::_ops::softmax_int::call(at::Tensor const&)", "??", 0), NULL);
    unnamed = made_stack(&made, made_frame(&made, "", "??", 0), NULL);
    find_snapshot_places(&places, &made.snapshot);
    assert_int_equal(kind_of(&places, backward), PLACE_BACKWARD);
    assert_string_equal(name_of(&places, backward), "SoftmaxBackward0");
    assert_int_equal(kind_of(&places, op), PLACE_NATIVE);
    assert_string_equal(name_of(&places, op), "aten::softmax_int");
    assert_int_equal(kind_of(&places, unnamed), PLACE_NO_STACK);
    made_snapshot_clear(&made);
}

static const char *function_of(const struct made_snapshot *made, const struct call_tree *tree,
                               const struct call_row *row)
{
    return snapshot_text(&made->snapshot, made->frames[tree->nodes[row->node].frame].name);
}

static void calls_make_a_tree(void **state)
{
    SCOPED(snapshot_replay) replay = {0};
    SCOPED(snapshot_places) places = {0};
    SCOPED(call_tree) tree = {0};
    struct made_snapshot made;
    struct snapshot_frame outer;
    struct call_row *rows;
    uint32_t count;
    uint32_t one;
    uint32_t two;

    made_snapshot_init(&made);
    outer = made_frame(&made, "main", "a.py", 1);
    one = made_stack(&made, made_frame(&made, "one", "a.py", 2), &outer);
    two = made_stack(&made, made_frame(&made, "two", "a.py", 3), &outer);
    made.stack_frames[3] = made.stack_frames[1]; /* frames are kept once */
    made_event(&made, SNAPSHOT_ALLOC, 0x1000, 10);
    made_owner(&made, one, "");
    made_event(&made, SNAPSHOT_ALLOC, 0x2000, 30);
    made_owner(&made, two, "");
    made_event(&made, SNAPSHOT_ALLOC, 0x3000, 5); /* no stack */
    replay_snapshot(&replay, &made.snapshot, 0);
    find_snapshot_places(&places, &made.snapshot);
    build_call_tree(&tree, &replay, &places, 3);
    assert_int_equal(tree.bytes, 45);
    rows = call_tree_rows(&tree, 0, &count);
    assert_int_equal(count, 4);
    assert_string_equal(function_of(&made, &tree, &rows[0]), "main");
    assert_int_equal(tree.nodes[rows[0].node].bytes, 40);
    assert_int_equal(tree.nodes[rows[0].node].blocks, 2);
    assert_string_equal(function_of(&made, &tree, &rows[1]), "two"); /* the larger one first */
    assert_int_equal(rows[1].depth, 1);
    assert_string_equal(function_of(&made, &tree, &rows[2]), "one");
    assert_int_equal(tree.nodes[rows[3].node].frame, SNAPSHOT_NONE);
    free(rows);
    rows = call_tree_rows(&tree, 20, &count);
    assert_int_equal(count, 2);
    free(rows);
    made_snapshot_clear(&made);
}

static void a_call_of_one_call_is_passed_over(void **state)
{
    SCOPED(snapshot_replay) replay = {0};
    SCOPED(snapshot_places) places = {0};
    SCOPED(call_tree) tree = {0};
    struct made_snapshot made;
    struct snapshot_frame outer;
    struct call_row *rows;
    uint32_t count;
    uint32_t stack;

    made_snapshot_init(&made);
    outer = made_frame(&made, "main", "a.py", 1);
    stack = made_stack(&made, made_frame(&made, "one", "a.py", 2), &outer);
    made_event(&made, SNAPSHOT_ALLOC, 0x1000, 10);
    made_owner(&made, stack, "");
    replay_snapshot(&replay, &made.snapshot, 0);
    find_snapshot_places(&places, &made.snapshot);
    build_call_tree(&tree, &replay, &places, 1);
    rows = call_tree_rows(&tree, 0, &count);
    assert_int_equal(count, 1);
    assert_string_equal(function_of(&made, &tree, &rows[0]), "one");
    assert_int_equal(rows[0].depth, 0);
    free(rows);
    made_snapshot_clear(&made);
}

static uint32_t tag_module(const struct memory_life *life, const void *context)
{
    const struct snapshot_owners *owners = context;

    return owners->module_of_tag[life->tag];
}

static void tags_are_phase_and_module(void **state)
{
    SCOPED(snapshot_replay) replay = {0};
    SCOPED(snapshot_owners) owners = {0};
    SCOPED(memory_shares) shares = {0};
    struct made_snapshot made;

    made_snapshot_init(&made);
    made_event(&made, SNAPSHOT_ALLOC, 0x1000, 10);
    made_owner(&made, SNAPSHOT_NONE, "forward|layers.0");
    made_event(&made, SNAPSHOT_ALLOC, 0x2000, 20);
    made_owner(&made, SNAPSHOT_NONE, "backward|layers.0");
    made_event(&made, SNAPSHOT_ALLOC, 0x3000, 5);
    made_owner(&made, SNAPSHOT_NONE, "just a text");
    replay_snapshot(&replay, &made.snapshot, 0);
    find_snapshot_owners(&owners, &replay);
    assert_true(owners.has_tags);
    assert_true(owners.has_phases);
    share_memory(
        &shares, &replay, 3,
        (struct share_key){tag_module, &owners, (uint32_t)string_pool_count(&owners.names)});
    assert_int_equal(shares.count, 2);
    assert_string_equal(owner_name(&owners, shares.shares[0].key), "layers.0");
    assert_int_equal(shares.shares[0].bytes, 30);
    assert_int_equal(shares.shares[0].blocks, 2);
    assert_int_equal(shares.shares[0].largest_bytes, 20);
    assert_string_equal(owner_name(&owners, shares.shares[1].key), "just a text");
    assert_string_equal(owner_name(&owners, owners.phase_of_tag[replay.lives[1].tag]), "backward");
    made_snapshot_clear(&made);
}

static void annotate(struct made_snapshot *made, int64_t time_ns, const char *name, bool is_end)
{
    made->annotations[made->snapshot.annotation_count++] = (struct snapshot_annotation){
        .time_ns = time_ns,
        .name = string_pool_add(&made->snapshot.strings, name, strlen(name)),
        .is_end = is_end};
}

static void the_innermost_annotation_counts(void **state)
{
    SCOPED(snapshot_replay) replay = {0};
    SCOPED(snapshot_owners) owners = {0};
    struct made_snapshot made;

    made_snapshot_init(&made);
    for (int i = 0; i < 5; i++) /* at 5, 6, 7, 8 and 9 µs */
        made_event(&made, SNAPSHOT_ALLOC, (uint64_t)i * 0x1000, 1);
    annotate(&made, 8500, "step", true); /* in any order */
    annotate(&made, 5500, "step", false);
    annotate(&made, 6500, "optimizer", false);
    annotate(&made, 7500, "optimizer", true);
    replay_snapshot(&replay, &made.snapshot, 0);
    find_snapshot_owners(&owners, &replay);
    assert_string_equal(owner_name(&owners, owners.annotation_of_moment[1]), "");
    assert_string_equal(owner_name(&owners, owners.annotation_of_moment[2]), "step");
    assert_string_equal(owner_name(&owners, owners.annotation_of_moment[3]), "optimizer");
    assert_string_equal(owner_name(&owners, owners.annotation_of_moment[4]), "step");
    assert_string_equal(owner_name(&owners, owners.annotation_of_moment[5]), "");
    made_snapshot_clear(&made);
}

static void what_rises_in_each_quarter_is_steady(void **state)
{
    SCOPED(snapshot_replay) replay = {0};
    SCOPED(snapshot_places) places = {0};
    SCOPED(memory_growth) growth = {0};
    struct made_snapshot made;
    uint32_t leak;
    uint32_t once;

    made_snapshot_init(&made);
    leak = made_stack(&made, made_frame(&made, "leak", "a.py", 1), NULL);
    once = made_stack(&made, made_frame(&made, "once", "a.py", 2), NULL);
    for (int i = 0; i < 16; i++) {
        made_event(&made, SNAPSHOT_ALLOC, 0x1000 * (uint64_t)(2 * i + 1), 100);
        made_owner(&made, leak, "");
        made_event(&made, SNAPSHOT_ALLOC, 0x1000 * (uint64_t)(2 * i + 2), 7);
        made_owner(&made, once, "");
        made_event(&made, SNAPSHOT_FREE_COMPLETED, 0x1000 * (uint64_t)(2 * i + 2), 7);
    }
    replay_snapshot(&replay, &made.snapshot, 0);
    find_snapshot_places(&places, &made.snapshot);
    measure_growth(&growth, &replay, &places);
    assert_int_equal(growth.count, 1);
    assert_int_equal(growth.places[0].place, places.of_stack[leak]);
    assert_true(growth.places[0].is_steady);
    assert_int_equal(growth.places[0].least_bytes[0], 0);
    assert_int_equal(growth_bytes(&growth.places[0]), 1200);
    made_snapshot_clear(&made);
}

static void the_largest_changes_come_first(void **state)
{
    SCOPED(memory_change) change = {0};

    memory_change_add(&change, CHANGE_BEFORE, "same", 50, 1);
    memory_change_add(&change, CHANGE_AFTER, "same", 50, 1);
    memory_change_add(&change, CHANGE_BEFORE, "gone", 30, 1);
    memory_change_add(&change, CHANGE_AFTER, "new", 40, 1);
    memory_change_add(&change, CHANGE_AFTER, "new", 2, 1);
    memory_change_sort(&change);
    assert_int_equal(change.count, 3);
    assert_string_equal(string_pool_text(&change.names, change.shares[0].name), "new");
    assert_int_equal(change.shares[0].after_bytes, 42);
    assert_int_equal(change.shares[0].after_blocks, 2);
    assert_string_equal(string_pool_text(&change.names, change.shares[1].name), "gone");
    assert_int_equal(change.shares[1].before_bytes, 30);
    assert_string_equal(string_pool_text(&change.names, change.shares[2].name), "same");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_innermost_line_of_the_user_counts),
        cmocka_unit_test(a_backward_is_named_by_its_node),
        cmocka_unit_test(calls_make_a_tree),
        cmocka_unit_test(a_call_of_one_call_is_passed_over),
        cmocka_unit_test(tags_are_phase_and_module),
        cmocka_unit_test(the_innermost_annotation_counts),
        cmocka_unit_test(what_rises_in_each_quarter_is_steady),
        cmocka_unit_test(the_largest_changes_come_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
