/* answer: what a client gets fits, and the rest is had by going on. */
#include "base/core/arena.h"
#include "mcp/question.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* What is written, read again. */
struct written {
    char *text;
    size_t length;
    struct arena arena;
    const struct json_node *tree;
};

static void written_clear(struct written *written)
{
    free(written->text);
    arena_clear(&written->arena);
}

static struct written text_answer(const char *text, int64_t from)
{
    struct mcp_wanted wanted = {.first_row = from};
    struct written written = {0};
    FILE *memory = open_memstream(&written.text, &written.length);
    struct json_writer writer = {.output = memory};

    assert_non_null(memory);
    assert_true(mcp_write_text_answer(&writer, text, strlen(text), &wanted, NULL));
    assert_int_equal(fclose(memory), 0);
    written.tree = json_tree_parse(&written.arena, written.text, written.length, NULL);
    assert_non_null(written.tree);
    return written;
}

/* A page of the two-byte character, so that a cut at any odd byte would part one. */
static void long_texts_come_whole_in_pages(void **state)
{
    enum { CHARACTERS = 50000 };
    char *text = malloc(2 * CHARACTERS + 2);
    int64_t from = 0;
    int pages = 0;

    assert_non_null(text);
    text[0] = 'a';
    for (size_t i = 0; i < CHARACTERS; i++)
        memcpy(text + 1 + 2 * i, "ü", 2);
    text[2 * CHARACTERS + 1] = '\0';
    while (from >= 0) {
        struct written page = text_answer(text, from);
        const char *part = json_text_of(page.tree, "text", "");
        const char *cursor = json_text_of(page.tree, "next_cursor", NULL);
        size_t length = strlen(part) - (cursor ? sizeof "…" - 1 : 0);

        assert_true(length <= MCP_ANSWER_BYTES);
        assert_memory_equal(part, text + from, length);
        from = cursor ? strtoll(cursor, NULL, 10) : -1;
        assert_true(cursor || text + 2 * CHARACTERS + 1 - length >= text);
        pages++;
        written_clear(&page);
    }
    assert_int_equal(pages, 4);
    free(text);
}

static void a_place_behind_the_end_is_an_error(void **state)
{
    struct mcp_wanted wanted = {.first_row = 4};
    struct json_writer writer = {.output = stdout};
    struct error error = {0};

    assert_false(mcp_write_text_answer(&writer, "abc", 3, &wanted, &error));
    assert_non_null(strstr(error.message, "3 bytes"));
}

/* Rows of 1 kB: an answer holds some 32, whatever the limit, and says where to go on. */
static void rows_stop_where_an_answer_is_full(void **state)
{
    struct mcp_wanted wanted = {.section = "s", .table = "t", .limit = 200};
    struct written written = {0};
    struct arena arena = {0};
    char *text = NULL;
    size_t length = 0;
    FILE *report = open_memstream(&text, &length);
    FILE *memory = open_memstream(&written.text, &written.length);
    struct json_writer writer = {.output = memory};

    fprintf(report, "{\"ranks\": [{\"label\": \"r\", \"sections\": {\"s\": {\"tables\": {\"t\": "
                    "{\"rows_in_all\": 100, \"rows\": [");
    for (int i = 0; i < 100; i++)
        fprintf(report, "%s{\"depth\": 0, \"a\": \"%0500d\", \"b\": \"%0500d\"}", i ? "," : "", i,
                i);
    fprintf(report, "]}}}}}]}");
    assert_int_equal(fclose(report), 0);
    assert_true(
        mcp_write_answer(&writer, json_tree_parse(&arena, text, length, NULL), &wanted, NULL));
    assert_int_equal(fclose(memory), 0);
    assert_in_range(written.length, MCP_ANSWER_BYTES - 2048, MCP_ANSWER_BYTES + 2048);
    assert_non_null(strstr(written.text, "\"next_cursor\": \"3"));
    assert_null(strstr(written.text, "depth"));
    arena_clear(&arena);
    free(text);
    written_clear(&written);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_texts_come_whole_in_pages),
        cmocka_unit_test(a_place_behind_the_end_is_an_error),
        cmocka_unit_test(rows_stop_where_an_answer_is_full),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
