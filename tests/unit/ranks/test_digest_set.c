/* Digests as bytes: merged in any order, damaged, cut, of the first version. */
#include "base/core/bytes.h"
#include "base/io/input_stream.h"
#include "ranks/digest_file.h"
#include "ranks/digest_record.h"
#include "support_ranks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS = 12 };

static uint32_t draw(uint32_t *seed, uint32_t below)
{
    *seed = *seed * 1664525 + 1013904223;
    return (*seed >> 8) % below;
}

static void make_random(struct rank_digest *digest, int64_t rank, uint32_t *seed)
{
    uint32_t group;
    int64_t time_ns = 0;

    made_digest_init(digest, rank, 10000000);
    group = made_group(digest, "0", "[0, 1]", 2);
    for (uint32_t calls = draw(seed, 50); calls > 0; calls--) {
        int64_t length_ns = draw(seed, 5000);

        time_ns += draw(seed, 1000);
        made_call_add(digest, group, time_ns, time_ns + length_ns,
                      draw(seed, 3) ? (int64_t)calls : -1);
        time_ns += length_ns;
    }
    if (draw(seed, 2))
        digest->steps[0].tokens = draw(seed, 100000);
    digest->exchanges =
        arena_allocate(&digest->arena, (digest->call_count + 1) * sizeof *digest->exchanges);
    for (uint32_t call = draw(seed, 3); call < digest->call_count; call += 1 + draw(seed, 4))
        digest->exchanges[digest->exchange_count++] = (struct digest_exchange){
            .call = call, .sent_bytes = draw(seed, 1 << 20), .received_bytes = draw(seed, 3)};
    if (draw(seed, 3)) {
        digest->chain_count = digest->call_count + 1;
        digest->chains =
            arena_allocate(&digest->arena, digest->chain_count * sizeof *digest->chains);
        digest->path_end_ns = time_ns + draw(seed, 5000);
    }
    for (uint32_t i = 0; i < digest->chain_count; i++) {
        digest->chains[i] = (struct digest_chain){.call = (int32_t)i - 1};
        for (int part = 0; part < CHAIN_PART_COUNT; part++)
            digest->chains[i].parts_ns[part] = (int64_t)draw(seed, 5000) - 10;
    }
    digest->damaged_events = draw(seed, 2);
    digest->coordinates[AXIS_DATA] = (int32_t)draw(seed, 4);
    made_digest_shift(digest, 1700000000000000000 + draw(seed, 1000));
}

/* The same for the same seed. */
static void fill(struct digest_set sets[RANKS], uint32_t seed)
{
    for (int i = 0; i < RANKS; i++) {
        struct rank_digest digest;

        sets[i] = (struct digest_set){0};
        if (i == 5) {
            digest_set_add_problem(
                &sets[i], &(struct digest_problem){
                              .place = 5, .file = "x", .message = "gone", .class = ERROR_INPUT});
            continue;
        }
        make_random(&digest, i == 7 ? -1 : i, &seed);
        digest_set_add(&sets[i], &digest);
        if (i == 3) /* a digest that came twice */
            digest_set_add(&sets[i], &digest);
        rank_digest_clear(&digest);
    }
}

/* As processes and files do: by their bytes. `from` is then empty. */
static void merge(struct digest_set *set, struct digest_set *from)
{
    struct bytes writer = {0};

    digest_set_encode(&writer, from);
    assert_true(digest_set_decode(set, writer.bytes, writer.length, "a message", NULL));
    bytes_clear(&writer);
    digest_set_clear(from);
}

/* Merges the sets `from` ... `to` - 1 in the order of a random tree. */
static void merge_all(struct digest_set *result, struct digest_set *sets, int count, uint32_t *seed)
{
    while (count > 1) {
        int a = (int)draw(seed, (uint32_t)count);
        int b = (int)draw(seed, (uint32_t)count - 1);
        struct digest_set last;

        b += b >= a;
        merge(&sets[a], &sets[b]);
        if (draw(seed, 2))
            digest_set_sort(&sets[a]);
        last = sets[count - 1];
        sets[count - 1] = (struct digest_set){0};
        if (b != count - 1)
            sets[b] = last;
        else
            digest_set_clear(&last);
        count--;
    }
    *result = sets[0];
}

static void merging_is_associative_and_commutative(void **state)
{
    struct bytes expected = {0};

    for (uint32_t order = 0; order < 200; order++) {
        struct digest_set sets[RANKS], merged;
        struct bytes writer = {0};
        uint32_t seed = order;

        fill(sets, 11);
        merge_all(&merged, sets, RANKS, &seed);
        digest_set_encode(&writer, &merged);
        digest_set_sort(&merged);
        assert_int_equal(merged.count, RANKS);
        if (order == 0) {
            expected = writer;
        } else {
            assert_int_equal(writer.length, expected.length);
            assert_memory_equal(writer.bytes, expected.bytes, expected.length);
            bytes_clear(&writer);
        }
        digest_set_clear(&merged);
    }
    bytes_clear(&expected);
}

/* What is read back and written once more is the same. */
static void bytes_come_back(void **state)
{
    for (uint32_t seed = 0; seed < 50; seed++) {
        struct rank_digest digest, again = {0};
        struct bytes first = {0}, second = {0};
        struct digest_context context = {.version = DIGEST_VERSION};
        uint32_t drawn = seed;

        make_random(&digest, 3, &drawn);
        digest_encode(&first, &digest, NULL);
        assert_true(digest_decode(&again, first.bytes, first.length, &context));
        digest_encode(&second, &again, NULL);
        assert_int_equal(first.length, second.length);
        assert_memory_equal(first.bytes, second.bytes, first.length);
        assert_int_equal(again.call_count, digest.call_count);
        assert_int_equal(again.coordinates[AXIS_DATA], digest.coordinates[AXIS_DATA]);
        assert_string_equal(again.file, "rank3.json");
        rank_digest_clear(&digest);
        rank_digest_clear(&again);
        bytes_clear(&first);
        bytes_clear(&second);
    }
}

static void encode_two(struct bytes *writer)
{
    struct digest_set set = {0};
    uint32_t seed = 1;

    for (int i = 0; i < 2; i++) {
        struct rank_digest digest;

        make_random(&digest, i, &seed);
        digest_set_add(&set, &digest);
        rank_digest_clear(&digest);
    }
    digest_set_encode(writer, &set);
    digest_set_clear(&set);
}

/* The ranks of a group that the two have in common. */
static void make_group_of_two(struct bytes *writer)
{
    struct digest_set set = {0};

    for (int rank = 0; rank < 2; rank++) {
        struct rank_digest digest;

        made_digest_init(&digest, rank, 1000);
        made_call_add(&digest, made_group(&digest, "data", "[0, 1, 2, 3, 4, 5, 6, 7]", 8), 1, 2, 1);
        digest_set_add(&set, &digest);
        rank_digest_clear(&digest);
    }
    digest_set_encode(writer, &set);
    digest_set_clear(&set);
}

static size_t place_of_text(const struct bytes *file, const char *text)
{
    const unsigned char *found = memmem(file->bytes, file->length, text, strlen(text));

    assert_non_null(found);
    return (size_t)(found - file->bytes);
}

/* Whether what is said of the set's record, a problem, has these words in it. */
static void assert_said(const struct digest_record *record, const char *words)
{
    struct digest_problem problem;
    struct arena arena = {0};

    assert_true(digest_problem_decode(&problem, record, &arena));
    assert_non_null(strstr(problem.message, words));
    arena_clear(&arena);
}

static void a_damaged_record_is_named_and_the_rest_goes_on(void **state)
{
    struct bytes writer = {0};
    struct digest_set set = {0};
    struct error error = {0};

    encode_two(&writer);
    writer.bytes[place_of_text(&writer, "rank0.json")] ^= 1;
    assert_true(digest_set_decode(&set, writer.bytes, writer.length, "two.fld", &error));
    assert_int_equal(set.count, 2);
    digest_set_sort(&set);
    assert_int_equal(set.records[0].kind, RECORD_RANK);
    assert_int_equal(set.records[0].rank, 1);
    assert_said(&set.records[1], "'two.fld': the digest of rank 0 is damaged");
    digest_set_clear(&set);
    bytes_clear(&writer);
}

static void a_damaged_text_costs_those_that_use_it(void **state)
{
    struct bytes writer = {0};
    struct digest_set set = {0};
    struct error error = {0};

    make_group_of_two(&writer);
    writer.bytes[place_of_text(&writer, "[0, 1, 2") + 3] ^= 1;
    assert_true(digest_set_decode(&set, writer.bytes, writer.length, "two.fld", &error));
    assert_int_equal(set.count, 3);
    for (size_t i = 0; i < 3; i++) {
        static const char *const said[] = {"a digest is damaged in a text that it shares",
                                           "the digest of rank 0 is damaged",
                                           "the digest of rank 1 is damaged"};

        assert_said(&set.records[i], said[i]);
    }
    digest_set_clear(&set);
    bytes_clear(&writer);
}

/* They are those of this version. */
static void damaged_names_are_told_and_cost_nothing(void **state)
{
    struct bytes writer = {0};
    struct digest_set set = {0};
    struct error error = {0};
    size_t ranks = 0;

    make_group_of_two(&writer);
    writer.bytes[place_of_text(&writer, "idle_nothing") + 3] ^= 1;
    assert_true(digest_set_decode(&set, writer.bytes, writer.length, "two.fld", &error));
    assert_int_equal(set.count, 3);
    for (size_t i = 0; i < 3; i++)
        ranks += set.records[i].kind == RECORD_RANK;
    assert_int_equal(ranks, 2);
    digest_set_clear(&set);
    bytes_clear(&writer);
}

/* However few bytes come at a time. */
static void a_stream_gives_what_the_bytes_give(void **state)
{
    struct bytes writer = {0};

    encode_two(&writer);
    for (size_t piece = 1; piece < 300; piece += 7)
        for (size_t cut = 0; cut < 3; cut++) {
            size_t length = writer.length - cut * writer.length / 4;
            struct digest_set whole = {0}, read = {0};
            struct bytes expected = {0}, found = {0};
            struct input_stream stream = {0};
            struct error error = {0};

            input_stream_open_memory(&stream, writer.bytes, length);
            input_stream_set_piece(&stream, piece);
            assert_true(digest_set_read(&read, &stream, "two.fld", &error));
            assert_true(digest_set_decode(&whole, writer.bytes, length, "two.fld", &error));
            digest_set_encode(&expected, &whole);
            digest_set_encode(&found, &read);
            assert_int_equal(found.length, expected.length);
            assert_memory_equal(found.bytes, expected.bytes, expected.length);
            input_stream_clear(&stream);
            digest_set_clear(&whole);
            digest_set_clear(&read);
            bytes_clear(&expected);
            bytes_clear(&found);
        }
    bytes_clear(&writer);
}

/* Bytes of a file of so many ranks, all in one group of that size. */
static size_t bytes_of_ranks(int64_t count)
{
    struct digest_set set = {0};
    struct bytes writer = {0}, ranks = {0};
    size_t length;

    for (int64_t rank = 0; rank < count; rank++)
        bytes_add(&ranks, "123456, ", 8);
    bytes_add(&ranks, "", 1);
    for (int64_t rank = 0; rank < count; rank++) {
        struct rank_digest digest;

        made_digest_init(&digest, rank, 1000);
        made_call_add(&digest, made_group(&digest, "default", (char *)ranks.bytes, count), 10, 20,
                      1);
        digest_set_add(&set, &digest);
        rank_digest_clear(&digest);
    }
    digest_set_encode(&writer, &set);
    length = writer.length;
    digest_set_clear(&set);
    bytes_clear(&writer);
    bytes_clear(&ranks);
    return length;
}

static void a_group_is_kept_once_however_large(void **state)
{
    assert_true(bytes_of_ranks(4096) / 4096 <= bytes_of_ranks(512) / 512);
}

static void a_cut_file_keeps_what_is_whole(void **state)
{
    struct bytes writer = {0};
    struct error error = {0};
    size_t whole_seen = 0;

    encode_two(&writer);
    for (size_t length = 13; length < writer.length; length++) {
        struct digest_set set = {0};
        size_t ranks = 0, problems = 0;

        assert_true(digest_set_decode(&set, writer.bytes, length, "two.fld", &error));
        for (size_t i = 0; i < set.count; i++) {
            ranks += set.records[i].kind == RECORD_RANK;
            problems += set.records[i].kind == RECORD_PROBLEM;
        }
        assert_int_equal(problems, 1);
        assert_true(ranks == whole_seen || ranks == whole_seen + 1);
        whole_seen = ranks;
        digest_set_clear(&set);
    }
    assert_int_equal(whole_seen, 1);
    bytes_clear(&writer);
}

static void other_files_are_refused(void **state)
{
    struct bytes writer = {0};
    struct digest_set set = {0};
    struct error error = {0};

    assert_false(digest_set_decode(&set, "{\"traceEvents\": []}", 18, "a.json", &error));
    assert_non_null(strstr(error.message, "'a.json' is no file of digests"));
    encode_two(&writer);
    writer.bytes[8] = 9;
    assert_false(digest_set_decode(&set, writer.bytes, writer.length, "a.fld", &error));
    assert_non_null(strstr(error.message, "version 9"));
    assert_int_equal(set.count, 0);
    bytes_clear(&writer);
}

/* Accounts that do not sum to the step are no ledger. */
static void a_step_that_does_not_add_up_is_refused(void **state)
{
    struct digest_context context = {.version = DIGEST_VERSION};
    struct rank_digest digest, again = {0};
    struct bytes writer = {0};

    made_digest_init(&digest, 0, 1000);
    digest.steps[0].account_ns[ACCOUNT_MATRIX] = 1;
    digest_encode(&writer, &digest, NULL);
    assert_false(digest_decode(&again, writer.bytes, writer.length, &context));
    rank_digest_clear(&digest);
    bytes_clear(&writer);
}

/* A later version may add parts. */
static void unknown_parts_are_passed_over(void **state)
{
    static const unsigned char part[] = {99, 3, 1, 2, 3};
    struct digest_context context = {.version = DIGEST_VERSION};
    struct rank_digest digest, again = {0};
    struct bytes writer = {0};

    made_digest_init(&digest, 4, 1000);
    digest_encode(&writer, &digest, NULL);
    bytes_add(&writer, part, sizeof part);
    assert_true(digest_decode(&again, writer.bytes, writer.length, &context));
    assert_int_equal(again.rank, 4);
    rank_digest_clear(&digest);
    rank_digest_clear(&again);
    bytes_clear(&writer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merging_is_associative_and_commutative),
        cmocka_unit_test(bytes_come_back),
        cmocka_unit_test(a_damaged_record_is_named_and_the_rest_goes_on),
        cmocka_unit_test(a_damaged_text_costs_those_that_use_it),
        cmocka_unit_test(damaged_names_are_told_and_cost_nothing),
        cmocka_unit_test(a_stream_gives_what_the_bytes_give),
        cmocka_unit_test(a_group_is_kept_once_however_large),
        cmocka_unit_test(a_cut_file_keeps_what_is_whole),
        cmocka_unit_test(other_files_are_refused),
        cmocka_unit_test(a_step_that_does_not_add_up_is_refused),
        cmocka_unit_test(unknown_parts_are_passed_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
