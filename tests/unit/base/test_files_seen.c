/* Which files an answer is made from, and whether they are the same. */
#include "base/core/attributes.h"
#include "base/io/files_seen.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/flopledger-seen-XXXXXX";
static const struct content_hash secret = {{1, 2}};

static void write_text(const char *name, const char *text)
{
    FILE *file = fopen(name, "w");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static struct content_hash hash_now(const char *path, bool is_pattern)
{
    struct content_hash hash = {{0}};

    assert_true(seen_file_hash(
        &hash, &(struct seen_file){.path = (char *)(uintptr_t)path, .is_pattern = is_pattern},
        secret, 2));
    return hash;
}

static void noted_once_and_only_when_asked(void **state)
{
    SCOPED(files_seen) seen = {.count = 0};
    SCOPED(files_seen) later = {.count = 0};

    files_seen_note("before");
    files_seen_begin();
    files_seen_note("a");
    files_seen_note("b");
    files_seen_note("a");
    files_seen_end(&seen);
    files_seen_note("behind");
    assert_int_equal(seen.count, 2);
    assert_string_equal(seen.files[1].path, "b");
    assert_false(seen.is_incomplete);
    files_seen_begin();
    files_seen_note("-");
    files_seen_end(&later);
    assert_true(later.is_incomplete);
}

static void a_file_just_written_is_not_settled(void **state)
{
    struct timespec long_ago = {.tv_sec = 1};
    struct path_facts facts;

    write_text("fresh", "x");
    files_seen_begin();
    files_seen_note("fresh");
    {
        SCOPED(files_seen) seen = {.count = 0};

        files_seen_end(&seen);
        assert_false(seen_file_is_unchanged(&seen.files[0]));
        seen.files[0].noted.tv_sec += 5;
        assert_true(seen_file_is_unchanged(&seen.files[0]));
        assert_int_equal(truncate("fresh", 2), 0);
        assert_false(seen_file_is_unchanged(&seen.files[0]));
    }
    facts = path_facts_of("fresh");
    assert_false(path_facts_tell(&facts, &long_ago));
    facts = path_facts_of("nothing");
    assert_true(path_facts_tell(&facts, &long_ago)); /* there is nothing to be written to */
}

static void contents_differ(void **state)
{
    struct content_hash nothing = hash_now("file", false), text, names, matches;

    write_text("file", "text");
    text = hash_now("file", false);
    names = hash_now(".", false);
    matches = hash_now("*.log", true);
    assert_false(content_hash_equals(nothing, text));
    write_text("other.log", "");
    assert_false(content_hash_equals(names, hash_now(".", false)));
    assert_false(content_hash_equals(matches, hash_now("*.log", true)));
    write_text("file", "test");
    assert_false(content_hash_equals(text, hash_now("file", false)));
    write_text("file", "text");
    assert_true(content_hash_equals(text, hash_now("file", false)));
}

/* Larger than one piece: the same however many threads there are, and every piece counts. */
static void pieces_count(void **state)
{
    const long bytes = 9L << 20;
    struct seen_file file = {.path = (char[]){"large"}};
    struct content_hash one, many;

    write_text("large", "");
    assert_int_equal(truncate("large", bytes), 0);
    assert_true(seen_file_hash(&one, &file, secret, 1));
    assert_true(seen_file_hash(&many, &file, secret, 4));
    assert_true(content_hash_equals(one, many));
    for (long at = 0; at < bytes; at += bytes / 3) {
        int opened = open("large", O_WRONLY);

        assert_int_equal(pwrite(opened, "x", 1, at), 1);
        close(opened);
        assert_true(seen_file_hash(&many, &file, secret, 4));
        assert_false(content_hash_equals(one, many));
        one = many;
    }
}

static int enter_folder(void **state)
{
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int remove_folder(void **state)
{
    char command[64];

    (void)snprintf(command, sizeof command, "rm -r %s", folder);
    return chdir("/") == 0 ? system(command) : -1; /* NOLINT(cert-env33-c): a fixed word */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(noted_once_and_only_when_asked),
        cmocka_unit_test(a_file_just_written_is_not_settled),
        cmocka_unit_test(contents_differ),
        cmocka_unit_test(pieces_count),
    };

    return cmocka_run_group_tests(tests, enter_folder, remove_folder);
}
