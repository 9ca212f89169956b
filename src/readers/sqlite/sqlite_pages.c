/* Walks over the tree of pages that an SQLite table is. Sizes and places are the file's, and each
 * is looked at before it is used. */
#include "readers/sqlite/sqlite_pages.h"

#include "base/core/array.h"
#include "base/core/out_of_memory.h"

#include <endian.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { HEADER_BYTES = 100, PAGE_OF_CHILDREN = 5, PAGE_OF_ROWS = 13, ENCODING_UTF_8 = 1 };
/* Pages are read one by one, or so many bytes of them at once. */
enum { WINDOW_BYTES = 64 << 10 }; /* as the largest page has */

static uint32_t pages_two_bytes(const unsigned char *at)
{
    return (uint32_t)at[0] << 8 | at[1];
}

static uint32_t pages_four_bytes(const unsigned char *at)
{
    return pages_two_bytes(at) << 16 | pages_two_bytes(at + 2);
}

/* The ninth byte has eight bits of the number, all before it seven: 64 in all. */
const unsigned char *sqlite_long_varint(const unsigned char *at, uint64_t *number)
{
    uint64_t value = 0;

    for (int i = 0; i < 8; i++) {
        value = value << 7 | (*at & 0x7f);
        if (*at++ < 0x80) {
            *number = value;
            return at;
        }
    }
    *number = value << 8 | *at;
    return at + 1;
}

/* ---- the tree ------------------------------------------------------------------------------- */

static unsigned char *pages_buffer(const struct sqlite_pages *pages)
{
    return require_memory(malloc(pages->page_bytes));
}

/* A tree that leads back to its own pages ends when each could have been read once. */
static bool pages_take(struct sqlite_pages *pages, uint32_t number)
{
    if (number == 0 || number > pages->page_count || pages->pages_left == 0)
        return false;
    pages->pages_left--;
    return true;
}

/* By SQLite's own hands, as it may have the file open only once: closing it again would give up the
 * locks that it holds. */
static bool pages_read(const struct sqlite_pages *pages, uint32_t number, uint32_t count,
                       unsigned char *to)
{
    return pages->file->pMethods->xRead(pages->file, to, (int)(count * pages->page_bytes),
                                        (sqlite3_int64)(number - 1) * pages->page_bytes) ==
           SQLITE_OK;
}

/* The page, until another is asked for; NULL: it cannot be read. Where pages of a table follow each
 * other, more are read with the second of them. */
static unsigned char *pages_get(struct sqlite_pages *pages, uint32_t number)
{
    uint32_t count = WINDOW_BYTES / pages->page_bytes;

    if (!pages_take(pages, number))
        return NULL;
    if (number - pages->window_first >= pages->window_count) {
        if (number != pages->window_first + pages->window_count ||
            number + count - 1 > pages->page_count ||
            !pages_read(pages, number, count, pages->window))
            count = pages_read(pages, number, 1, pages->window);
        pages->window_first = number;
        pages->window_count = count;
    }
    return count ? pages->window + (size_t)(number - pages->window_first) * pages->page_bytes
                 : NULL;
}

/* NULL where it is not on the page. */
static const unsigned char *pages_cell(const struct sqlite_pages *pages,
                                       const struct sqlite_page *page, uint32_t cell)
{
    const uint32_t place = pages_two_bytes(page->places + (size_t)2 * cell);

    return place + 4 <= pages->usable_bytes ? page->bytes + place : NULL;
}

/* 0: none is left. */
static uint32_t pages_next_child(const struct sqlite_pages *pages, struct sqlite_page *page)
{
    const uint32_t next = page->next++;
    const unsigned char *cell;

    if (next >= page->cell_count)
        return page->last_child;
    cell = pages_cell(pages, page, next);
    return cell ? pages_four_bytes(cell) : 0;
}

/* The page goes behind those on the way to it. One with children is kept apart from the window,
 * which its children will fill. */
static bool pages_push(struct sqlite_pages *pages, uint32_t number)
{
    struct sqlite_page *page = &pages->levels[pages->depth];
    const unsigned char *head;
    bool is_of_rows;

    page->bytes = pages_get(pages, number);
    if (!page->bytes)
        return false;
    is_of_rows = page->bytes[number == 1 ? HEADER_BYTES : 0] == PAGE_OF_ROWS;
    if (!is_of_rows) {
        if (!page->own)
            page->own = pages_buffer(pages);
        page->bytes = memcpy(page->own, page->bytes, pages->page_bytes);
    }
    head = page->bytes + (number == 1 ? HEADER_BYTES : 0);
    page->next = 0;
    page->cell_count = pages_two_bytes(head + 3);
    page->last_child = is_of_rows ? 0 : pages_four_bytes(head + 8);
    page->places = head + (is_of_rows ? 8 : 12);
    if ((!is_of_rows && (head[0] != PAGE_OF_CHILDREN || page->last_child == 0)) ||
        page->places + (size_t)2 * page->cell_count > page->bytes + pages->usable_bytes)
        return false;
    pages->depth++;
    return true;
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* How much of a row that is too long for one page stands on its own: as much as leaves the last of
 * its other pages full. */
static uint32_t pages_near_bytes(const struct sqlite_pages *pages, uint32_t length)
{
    const uint32_t usable = pages->usable_bytes, least = (usable - 12) * 32 / 255 - 23;
    const uint32_t near = least + (length - least) % (usable - 4);

    return near <= usable - 35 ? near : least;
}

/* The row, which begins with the `here` bytes that are left of its page, and goes on behind a chain
 * of others. */
static bool pages_join(struct sqlite_pages *pages, const unsigned char *at, size_t here)
{
    uint32_t done = pages_near_bytes(pages, pages->row_bytes), next;

    if (here < done + 4)
        return false;
    ARRAY_RESERVE(pages->joined, pages->joined_room, (size_t)pages->row_bytes + SQLITE_PAGES_SLACK);
    memcpy(pages->joined, at, done);
    memset(pages->joined + pages->row_bytes, 0, SQLITE_PAGES_SLACK);
    pages->row = pages->joined;
    if (!pages->far_page)
        pages->far_page = pages_buffer(pages);
    for (next = pages_four_bytes(at + done); done < pages->row_bytes;
         next = pages_four_bytes(pages->far_page)) {
        const uint32_t left = pages->row_bytes - done, most = pages->usable_bytes - 4;
        const uint32_t taken = left < most ? left : most;

        if (!pages_take(pages, next) || !pages_read(pages, next, 1, pages->far_page))
            return false;
        memcpy(pages->joined + done, pages->far_page + 4, taken);
        done += taken;
    }
    return true;
}

/* Behind a number that is looked at only where it is asked for. */
static const unsigned char *pages_behind_varint(const unsigned char *at)
{
    uint64_t bytes;

    memcpy(&bytes, at, sizeof bytes);
    bytes = ~le64toh(bytes) & 0x8080808080808080u;
    return at + (bytes ? __builtin_ctzll(bytes) / 8 + 1 : 9);
}

/* A length of more than a value may have is damage: SQLite would refuse it, too. */
static bool pages_take_row(struct sqlite_pages *pages, struct sqlite_page *page)
{
    const unsigned char *limit = page->bytes + pages->usable_bytes;
    const unsigned char *at = pages_cell(pages, page, page->next++);
    uint64_t length;

    if (!at)
        return false;
    pages->number = sqlite_varint(at, &length);
    at = pages_behind_varint(pages->number);
    if (at > limit || length > SQLITE_INPUT_VALUE_BYTES_MAX)
        return false;
    pages->row = at;
    pages->row_bytes = (uint32_t)length;
    return length <= pages->usable_bytes - 35 ? length <= (size_t)(limit - at)
                                              : pages_join(pages, at, (size_t)(limit - at));
}

/* Depth first, the leftmost child before the others: so rows come in the order of their numbers. A
 * page stays in memory while rows of its children are walked. NULL at the end. */
static struct sqlite_page *pages_next_of_rows(struct sqlite_pages *pages, bool *is_damaged)
{
    while (pages->depth > 0) {
        struct sqlite_page *page = &pages->levels[pages->depth - 1];
        const bool is_of_rows = page->last_child == 0;

        if (is_of_rows && page->next < page->cell_count)
            return page;
        if (is_of_rows || page->next > page->cell_count) {
            pages->depth--;
        } else if (pages->depth == SQLITE_TREE_LEVELS_MAX ||
                   !pages_push(pages, pages_next_child(pages, page))) {
            *is_damaged = true;
            return NULL;
        }
    }
    return NULL;
}

/* Most rows are behind another on their page. */
bool sqlite_pages_next(struct sqlite_pages *pages, bool *is_damaged)
{
    if (!pages->present || pages->present->next == pages->present->cell_count)
        pages->present = pages_next_of_rows(pages, is_damaged);
    if (!pages->present)
        return false;
    *is_damaged = !pages_take_row(pages, pages->present);
    return !*is_damaged;
}

/* ---- opening -------------------------------------------------------------------------------- */

/* The first page of the table, as the file is from now on. 0: there is none. */
static uint32_t pages_lock(struct sqlite_pages *pages, const struct sqlite_input *input,
                           const char *table)
{
    static const char query[] =
        "SELECT rootpage FROM sqlite_master WHERE type = 'table' AND name = ?1";

    if (sqlite3_prepare_v2(input->connection, query, -1, &pages->lock, NULL) != SQLITE_OK)
        return 0;
    sqlite3_bind_text(pages->lock, 1, table, -1, SQLITE_STATIC);
    return sqlite3_step(pages->lock) == SQLITE_ROW ? (uint32_t)sqlite3_column_int64(pages->lock, 0)
                                                   : 0;
}

/* Sizes are those of the header, and texts those of one form only. */
static bool pages_read_header(struct sqlite_pages *pages, const struct sqlite_input *input)
{
    unsigned char header[HEADER_BYTES];
    sqlite3_int64 file_bytes = 0;

    if (sqlite3_file_control(input->connection, "main", SQLITE_FCNTL_FILE_POINTER, &pages->file) !=
            SQLITE_OK ||
        !pages->file || !pages->file->pMethods ||
        pages->file->pMethods->xRead(pages->file, header, sizeof header, 0) != SQLITE_OK ||
        pages->file->pMethods->xFileSize(pages->file, &file_bytes) != SQLITE_OK)
        return false;
    pages->page_bytes = pages_two_bytes(header + 16);
    if (pages->page_bytes == 1)
        pages->page_bytes = 65536;
    if (pages->page_bytes < 512 || header[20] > 32 ||
        pages_four_bytes(header + 56) != ENCODING_UTF_8 ||
        file_bytes / pages->page_bytes >= UINT32_MAX)
        return false;
    pages->usable_bytes = pages->page_bytes - header[20];
    pages->page_count = pages->pages_left = (uint32_t)(file_bytes / pages->page_bytes);
    pages->window = require_memory(malloc(WINDOW_BYTES + SQLITE_PAGES_SLACK));
    memset(pages->window, 0, pages->page_bytes + SQLITE_PAGES_SLACK);
    memset(pages->window + WINDOW_BYTES, 0, SQLITE_PAGES_SLACK);
    return true;
}

/* As SQLite tells what a column holds by the words of its type. */
static bool pages_is_real(const char *type)
{
    static const char *const others[] = {"int", "char", "clob", "text", "blob", NULL};

    for (const char *const *other = others; *other; other++)
        if (strcasestr(type, *other))
            return false;
    return strcasestr(type, "real") || strcasestr(type, "floa") || strcasestr(type, "doub");
}

/* A column of the table, wherever it is asked for. False where its values are not all in the rows:
 * it is computed, or was added to the table with a value for rows that were there. */
static bool pages_want(struct sqlite_pages *pages, sqlite3_stmt *column, const char *const *columns)
{
    const char *name = (const char *)sqlite3_column_text(column, 0);
    const char *type = (const char *)sqlite3_column_text(column, 1);
    const bool is_key = sqlite3_column_int(column, 2) > 0;

    if (!name || !type || sqlite3_column_int(column, 4) != 0)
        return false;
    pages->key_columns += is_key;
    for (uint32_t i = 0; columns[i]; i++) {
        if (strcasecmp(columns[i], name) != 0)
            continue;
        if (sqlite3_column_type(column, 3) != SQLITE_NULL ||
            pages->wanted_count == SQLITE_INPUT_COLUMNS_MAX)
            return false;
        pages->wanted[pages->wanted_count++] = (struct sqlite_wanted){
            .column = (uint32_t)sqlite3_column_int(column, 5),
            .cell = i,
            .is_real = pages_is_real(type),
            .is_key = is_key && !strcasecmp(type, "integer") && !sqlite3_column_int(column, 6)};
    }
    return true;
}

/* One alone makes a primary key of integers the rows' own number; with another column, or declared
 * "INTEGER PRIMARY KEY DESC", it has an index beside the table, and values are in the rows. */
static bool pages_want_all(struct sqlite_pages *pages, const struct sqlite_input *input,
                           const char *table, const char *const *columns)
{
    sqlite3_stmt *list = NULL;
    bool is_good = sqlite3_prepare_v2(input->connection,
                                      "SELECT name, type, pk, dflt_value, hidden, cid, EXISTS("
                                      "SELECT 1 FROM pragma_index_list(?1) WHERE origin = 'pk')"
                                      " FROM pragma_table_xinfo(?1)",
                                      -1, &list, NULL) == SQLITE_OK &&
                   sqlite3_bind_text(list, 1, table, -1, SQLITE_STATIC) == SQLITE_OK;

    while (is_good && sqlite3_step(list) == SQLITE_ROW)
        is_good = pages_want(pages, list, columns);
    sqlite3_finalize(list);
    for (unsigned i = 0; i < pages->wanted_count; i++) {
        struct sqlite_wanted *wanted = &pages->wanted[i];

        wanted->columns = i > 0 ? wanted->column - wanted[-1].column : wanted->column + 1;
        wanted->is_key = wanted->is_key && pages->key_columns == 1;
    }
    return is_good;
}

/* Whether the table has numbers of rows shows in its first page: one without them is an index. */
struct sqlite_pages *sqlite_pages_open(struct sqlite_input *input, const char *table,
                                       const char *const *columns)
{
    struct sqlite_pages *pages = require_memory(calloc(1, sizeof *pages));
    const uint32_t root = pages_lock(pages, input, table);

    if (input->missing_bytes == 0 && root > 0 && pages_read_header(pages, input) &&
        pages_want_all(pages, input, table, columns) && pages_push(pages, root))
        return pages;
    sqlite_pages_clear(pages);
    return NULL;
}

void sqlite_pages_clear(struct sqlite_pages *pages)
{
    if (!pages)
        return;
    sqlite3_finalize(pages->lock);
    for (unsigned i = 0; i < SQLITE_TREE_LEVELS_MAX; i++)
        free(pages->levels[i].own);
    free(pages->window);
    free(pages->far_page);
    free(pages->joined);
    free(pages);
}
