/* Pickles of plain data are read, at every protocol; what asks for code is refused by name. */
#include "base/core/attributes.h"
#include "base/io/input_stream.h"
#include "base/pickle/pickle_tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* A literal with NUL bytes inside. */
#define PICKLE(literal) literal, sizeof(literal) - 1

/* `piece` bytes at a time; 0: as usual. */
static bool read_in_pieces(struct pickle_tree *tree, const char *bytes, size_t length, size_t piece,
                           struct error *error)
{
    SCOPED(input_stream) input = {0};

    input_stream_open_memory(&input, bytes, length);
    if (piece)
        input_stream_set_piece(&input, piece);
    return pickle_tree_read(tree, &input, error);
}

static void read_well(struct pickle_tree *tree, const char *bytes, size_t length)
{
    struct error error = {0};

    if (!read_in_pieces(tree, bytes, length, 1, &error))
        fail_msg("%s", error.message);
}

static void refuse(const char *bytes, size_t length, const char *wanted)
{
    struct pickle_tree tree = {0};
    struct error error = {0};

    assert_false(read_in_pieces(&tree, bytes, length, 0, &error));
    assert_int_equal(error.class, ERROR_INPUT);
    if (!strstr(error.message, wanted))
        fail_msg("'%s' is not in: %s", wanted, error.message);
    assert_null(tree.sequences); /* left empty */
}

static int64_t integer_of(const struct pickle_tree *tree, struct pickle_value value)
{
    int64_t integer = -77;

    assert_true(pickle_integer(tree, value, &integer));
    return integer;
}

/* {'a': [1, -2, 300, 70000, 2**63, -5.5], 'b': (True, None), 'c': 'x'} */
static void expect_sample(const char *bytes, size_t length)
{
    SCOPED(pickle_tree) tree = {0};
    struct pickle_items list;
    struct pickle_items pair;
    uint64_t address = 0;
    int64_t integer;

    read_well(&tree, bytes, length);
    assert_int_equal(pickle_kind(tree.root), PICKLE_DICT);
    assert_int_equal(pickle_items(&tree, tree.root).count, 3);
    list = pickle_items(&tree, pickle_named(&tree, tree.root, "a"));
    assert_int_equal(list.count, 6);
    assert_int_equal(integer_of(&tree, list.cells[0]), 1);
    assert_int_equal(integer_of(&tree, list.cells[1]), -2);
    assert_int_equal(integer_of(&tree, list.cells[2]), 300);
    assert_int_equal(integer_of(&tree, list.cells[3]), 70000);
    assert_false(pickle_integer(&tree, list.cells[4], &integer));
    assert_true(pickle_unsigned(&tree, list.cells[4], &address));
    assert_true(address == (uint64_t)1 << 63);
    assert_true(pickle_real(&tree, list.cells[5]) == -5.5);
    pair = pickle_items(&tree, pickle_named(&tree, tree.root, "b"));
    assert_int_equal(pair.count, 2);
    assert_int_equal(integer_of(&tree, pair.cells[0]), 1);
    assert_int_equal(pickle_kind(pair.cells[1]), PICKLE_NONE);
    assert_string_equal(
        string_pool_text(&tree.strings, pickle_text_id(pickle_named(&tree, tree.root, "c"))), "x");
    assert_int_equal(pickle_kind(pickle_named(&tree, tree.root, "d")), PICKLE_NOTHING);
}

static void every_protocol_gives_the_same(void **state)
{
    /* as pickle.dumps of Python 3.11 writes protocols 0, 2 and 4 */
    expect_sample(PICKLE("(dp0\nVa\np1\n(lp2\nI1\naI-2\naI300\naI70000\naL9223372036854775808L\n"
                         "aF-5.5\nasVb\np3\n(I01\nNtp4\nsVc\np5\nVx\np6\ns."));
    expect_sample(PICKLE("\x80\x02}q\x00(X\x01\x00\x00\x00"
                         "aq\x01]q\x02(K\x01J\xfe\xff\xff\xffM,\x01Jp\x11\x01\x00\x8a\t"
                         "\x00\x00\x00\x00\x00\x00\x00\x80\x00G\xc0\x16\x00\x00\x00\x00\x00\x00"
                         "eX\x01\x00\x00\x00"
                         "bq\x03\x88N\x86q\x04X\x01\x00\x00\x00"
                         "cq\x05X\x01\x00\x00\x00xq\x06u."));
    expect_sample(PICKLE("\x80\x04\x95@\x00\x00\x00\x00\x00\x00\x00}\x94(\x8c\x01"
                         "a\x94]\x94(K\x01J\xfe\xff\xff\xffM,\x01Jp\x11\x01\x00\x8a\t"
                         "\x00\x00\x00\x00\x00\x00\x00\x80\x00G\xc0\x16\x00\x00\x00\x00\x00\x00"
                         "e\x8c\x01"
                         "b\x94\x88N\x86\x94\x8c\x01"
                         "c\x94\x8c\x01x\x94u."));
}

static void memo_shares_values(void **state)
{
    SCOPED(pickle_tree) tree = {0};
    struct pickle_items items;

    read_well(&tree, PICKLE("\x80\x04(]\x94h\x00h\x00l."));
    items = pickle_items(&tree, tree.root);
    assert_int_equal(items.count, 3);
    assert_int_equal(pickle_sequence_id(items.cells[0]), pickle_sequence_id(items.cells[2]));
}

static void a_list_may_hold_itself(void **state)
{
    SCOPED(pickle_tree) tree = {0};
    struct pickle_items items;

    read_well(&tree, PICKLE("\x80\x04]\x94h\x00"
                            "a."));
    items = pickle_items(&tree, tree.root);
    assert_int_equal(items.count, 1);
    assert_int_equal(pickle_sequence_id(items.cells[0]), pickle_sequence_id(tree.root));
}

static void integers_keep_every_bit(void **state)
{
    SCOPED(pickle_tree) tree = {0};
    struct pickle_items items;
    uint64_t number = 0;
    int64_t integer;

    read_well(&tree, PICKLE("(L9223372036854775807\nL-9223372036854775807\nL18446744073709551615\n"
                            "L18446744073709551616\n\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80"
                            "\x8a\x00\x8a\x01\xff\x8a\x0a\x01\x00\x00\x00\x00\x00\x00\x00\x00\x01"
                            "L576460752303423488\nL-576460752303423489\nl."));
    items = pickle_items(&tree, tree.root);
    assert_int_equal(items.count, 10);
    assert_true(integer_of(&tree, items.cells[0]) == INT64_MAX);
    assert_true(integer_of(&tree, items.cells[1]) == -INT64_MAX);
    assert_true(pickle_unsigned(&tree, items.cells[2], &number));
    assert_true(number == UINT64_MAX);
    assert_false(pickle_unsigned(&tree, items.cells[3], &number));
    assert_int_equal(pickle_kind(items.cells[3]), PICKLE_INTEGER);
    assert_false(pickle_integer(&tree, items.cells[4], &integer)); /* -2^63: one too few */
    assert_int_equal(integer_of(&tree, items.cells[5]), 0);
    assert_int_equal(integer_of(&tree, items.cells[6]), -1);
    assert_false(pickle_unsigned(&tree, items.cells[6], &number));
    assert_false(pickle_unsigned(&tree, items.cells[7], &number));
    assert_true(integer_of(&tree, items.cells[8]) == (int64_t)1 << 59);
    assert_true(integer_of(&tree, items.cells[9]) == -((int64_t)1 << 59) - 1);
}

static void texts_of_old_protocols_have_escapes(void **state)
{
    SCOPED(pickle_tree) tree = {0};
    struct pickle_items items;

    read_well(&tree, PICKLE("(Va\\u20acb\\u005c\nS'it\\'s\\x41\\n\\101'\nVcaf\xe9\nl."));
    items = pickle_items(&tree, tree.root);
    assert_string_equal(string_pool_text(&tree.strings, pickle_text_id(items.cells[0])),
                        "a\xe2\x82\xac"
                        "b\\");
    assert_string_equal(string_pool_text(&tree.strings, pickle_text_id(items.cells[1])),
                        "it'sA\nA");
    assert_string_equal(string_pool_text(&tree.strings, pickle_text_id(items.cells[2])),
                        "caf\xc3\xa9");
}

static void sets_bytes_and_the_stack(void **state)
{
    SCOPED(pickle_tree) tree = {0};
    struct pickle_items items;

    read_well(&tree, PICKLE("\x80\x05(\x8f(K\x01K\x02\x90(K\x03\x91"
                            "C\x02"
                            "ab\x96\x01\x00\x00\x00\x00\x00\x00\x00z"
                            "K\x05"
                            "2(K\x06"
                            "1K\x07"
                            "0N\x85\x89\x88\x87l."));
    items = pickle_items(&tree, tree.root);
    assert_int_equal(items.count, 6 + 1);
    assert_int_equal(pickle_kind(items.cells[0]), PICKLE_SET);
    assert_int_equal(pickle_items(&tree, items.cells[0]).count, 2);
    assert_int_equal(pickle_items(&tree, items.cells[1]).count, 1);
    assert_int_equal(pickle_kind(items.cells[2]), PICKLE_BYTES);
    assert_string_equal(string_pool_text(&tree.strings, pickle_text_id(items.cells[3])), "z");
    assert_int_equal(integer_of(&tree, items.cells[5]), 5); /* DUP */
}

static void the_last_twin_counts(void **state)
{
    SCOPED(pickle_tree) tree = {0};

    read_well(&tree, PICKLE("\x80\x04}\x94(\x8c\x01kK\x01\x8c\x01kK\x02u."));
    assert_int_equal(integer_of(&tree, pickle_named(&tree, tree.root, "k")), 2);
}

static void code_is_refused_by_name(void **state)
{
    refuse(PICKLE("cos\nsystem\n(S'echo ran'\ntR."), "byte 0: the pickle asks for 'os.system'");
    refuse(PICKLE("\x80\x04\x8c\x05posix\x8c\x06system\x93\x8c\x02id\x85R."),
           "byte 17: the pickle asks for 'posix.system' (STACK_GLOBAL)");
    refuse(PICKLE("(S'x'\nios\nsystem\n."), "'os.system' (INST)");
    refuse(PICKLE("\x80\x02)R."), "REDUCE");
    refuse(PICKLE("\x80\x02})b."), "BUILD");
    refuse(PICKLE("\x80\x02(o."), "OBJ");
    refuse(PICKLE("\x80\x02)\x81."), "NEWOBJ");
    refuse(PICKLE("\x80\x04)}\x92."), "NEWOBJ_EX");
    refuse(PICKLE("\x80\x02\x82\x01."), "EXT1");
    refuse(PICKLE("\x80\x02\x83\x01\x01."), "EXT2");
    refuse(PICKLE("\x80\x02\x84\x01\x01\x01\x01."), "EXT4");
    refuse(PICKLE("Pname\n."), "object outside of it (PERSID)");
    refuse(PICKLE("\x80\x02K\x01Q."), "BINPERSID");
    refuse(PICKLE("\x80\x05\x97."), "buffer");
    refuse(PICKLE("\x80\x05\x98."), "buffer");
    refuse(PICKLE("c\x1b[31m\nx\n."), "'?[31m.x'");
}

static void damage_is_named_by_its_byte(void **state)
{
    refuse(PICKLE("\x80\x04]\x94"), "byte 4: the pickle ends in the middle, after 4 bytes");
    refuse(PICKLE("\x80\x04X\xff\xff\xff\x7f"
                  "abc"),
           "ends in the middle");
    refuse(PICKLE("\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\xff"
                  "abc"),
           "byte 2: a text or number of 18446744073709551615 bytes");
    refuse(PICKLE("\x80\x09."), "protocol 9 is not known");
    refuse(PICKLE("\x80\x04\xfe."), "byte 2: 0xfe is no instruction");
    refuse(PICKLE("\x80\x04."), "takes more values than it made");
    refuse(PICKLE("\x80\x04u."), "ends a list that it did not begin");
    refuse(PICKLE("\x80\x04}(K\x01u."), "a key without a value");
    refuse(PICKLE("\x80\x04K\x01(K\x01"
                  "e."),
           "items for a list or dict that is none");
    refuse(PICKLE("\x80\x04h\x05."), "memo number 5 is not set");
    refuse(PICKLE("\x80\x04K\x01r\xff\xff\xff\x7f."), "memo number 2147483647 is out of range");
    refuse(PICKLE("Iabc\n."), "a number that is none");
    refuse(PICKLE("F1.5x\n."), "a number that is none");
    refuse(PICKLE("S'abc\n."), "wrong escape");
    refuse(PICKLE("V\\u12\n."), "wrong escape");
    refuse(PICKLE(""), "ends in the middle");
}

/* [[1, 2, 3, 4], [1, 2, 3, 4, 5], [1, 2, 3, 4]]: each is a list of its own, whatever they share. */
static void equal_lists_do_not_grow_together(void **state)
{
    SCOPED(pickle_tree) tree = {0};
    struct pickle_items lists, second, third;

    read_well(&tree, PICKLE("\x80\x02](](K\x01K\x02K\x03K\x04"
                            "e](K\x01K\x02K\x03K\x04"
                            "eK\x05"
                            "a](K\x01K\x02K\x03K\x04"
                            "ee."));
    lists = pickle_items(&tree, tree.root);
    assert_int_equal(lists.count, 3);
    assert_int_equal(pickle_items(&tree, lists.cells[0]).count, 4);
    second = pickle_items(&tree, lists.cells[1]);
    third = pickle_items(&tree, lists.cells[2]);
    assert_int_equal(second.count, 5);
    assert_int_equal(integer_of(&tree, second.cells[3]), 4);
    assert_int_equal(integer_of(&tree, second.cells[4]), 5);
    assert_int_equal(third.count, 4);
    assert_true(pickle_sequence_id(lists.cells[0]) != pickle_sequence_id(lists.cells[2]));
}

/* One after the other they are pushed at once where the window has them whole. */
static void known_values_are_the_same_in_any_window(void **state)
{
    static const char text[] =
        "\x80\x02K\x07q\x00K\x08r\x01\x00\x00\x00(h\x00h\x01j\x01\x00\x00\x00"
        "h\x00j\x00\x00\x00\x00h\x01K\x09h\x00j\x01\x00\x00\x00l.";
    static const int64_t wanted[] = {7, 8, 8, 7, 7, 8, 9, 7, 8};

    for (size_t piece = 0; piece < 12; piece++) {
        SCOPED(pickle_tree) tree = {0};
        struct pickle_items items;

        assert_true(read_in_pieces(&tree, text, sizeof text - 1, piece, NULL));
        items = pickle_items(&tree, tree.root);
        assert_int_equal(items.count, sizeof wanted / sizeof *wanted);
        for (size_t i = 0; i < items.count; i++)
            assert_int_equal(integer_of(&tree, items.cells[i]), wanted[i]);
    }
    refuse(PICKLE("\x80\x02K\x07q\x00(h\x00h\x00h\x05l."), "byte 11: memo number 5 is not set");
    refuse(PICKLE("\x80\x02K\x07q\x00(h\x00j\x00\x00\x00"), "ends in the middle");
}

static void pickles_are_told_by_their_head(void **state)
{
    assert_true(looks_like_pickle(PICKLE("\x80\x04\x95")));
    assert_true(looks_like_pickle(PICKLE("(dp0\n")));
    assert_true(looks_like_pickle(PICKLE("}q\x00")));
    assert_true(looks_like_pickle(PICKLE("cos\nsystem\n(")));
    assert_false(looks_like_pickle(PICKLE("category,name\n1,2\n")));
    assert_false(looks_like_pickle(PICKLE("{\"traceEvents\"")));
    assert_false(looks_like_pickle(PICKLE("\x80\x09")));
    assert_false(looks_like_pickle(PICKLE("[{")));
    assert_false(looks_like_pickle("", 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_protocol_gives_the_same),
        cmocka_unit_test(memo_shares_values),
        cmocka_unit_test(a_list_may_hold_itself),
        cmocka_unit_test(integers_keep_every_bit),
        cmocka_unit_test(texts_of_old_protocols_have_escapes),
        cmocka_unit_test(sets_bytes_and_the_stack),
        cmocka_unit_test(the_last_twin_counts),
        cmocka_unit_test(code_is_refused_by_name),
        cmocka_unit_test(damage_is_named_by_its_byte),
        cmocka_unit_test(equal_lists_do_not_grow_together),
        cmocka_unit_test(known_values_are_the_same_in_any_window),
        cmocka_unit_test(pickles_are_told_by_their_head),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
