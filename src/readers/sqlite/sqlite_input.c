/* Opens an SQLite database without ever writing, and says what is wrong with it. */
#include "readers/sqlite/sqlite_input.h"

#include "base/core/out_of_memory.h"
#include "base/io/files_seen.h"
#include "base/text/owned_text.h"
#include "trace/trace_builder.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

/* The header has the size of a page and their number, which is how a cut file is known. A
 * recorder that still writes is waited for a moment, not for ever. */
enum { SQLITE_HEADER_BYTES = 100, BUSY_WAIT_MS = 200 };

static const char sqlite_magic[] = "SQLite format 3";

bool is_sqlite_head(const char *head, size_t length)
{
    return length >= sizeof sqlite_magic && memcmp(head, sqlite_magic, sizeof sqlite_magic) == 0;
}

/* ---- the file before SQLite sees it --------------------------------------------------------- */

struct file_state {
    int64_t bytes;
    int64_t expected_bytes; /* by the header; 0: not said */
    bool uses_log;          /* a write-ahead log */
};

static uint32_t big_endian_32(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* The format's first 100 bytes (sqlite.org/fileformat2.html): page size at 16, write-ahead log
 * at 18 and 19, pages at 28, which count only where the change counters at 24 and 92 agree.
 * Page size 1 means 65536. */
static bool read_header(struct file_state *state, const char *path, struct error *error)
{
    unsigned char header[SQLITE_HEADER_BYTES];
    struct stat status;
    ssize_t length;
    int64_t page_bytes;
    int file = open(path, O_RDONLY | O_CLOEXEC);

    files_seen_note(path);
    if (file < 0 || fstat(file, &status) != 0) {
        int problem = errno;

        if (file >= 0)
            close(file);
        return error_set(error, ERROR_INPUT, "cannot be opened: %s", strerror(problem));
    }
    length = S_ISREG(status.st_mode) ? read(file, header, sizeof header) : 0;
    close(file);
    if (S_ISDIR(status.st_mode))
        return error_set(error, ERROR_INPUT, "a folder, where an SQLite database was expected");
    if (!S_ISREG(status.st_mode))
        return error_set(
            error, ERROR_INPUT,
            "a pipe, where an SQLite database was expected: it is read at many places, "
            "write it to a file and name that");
    if (length == 0)
        return error_set(
            error, ERROR_INPUT,
            "empty: was 'nsys export', or what else wrote it, stopped before it had written "
            "anything?");
    if (length < (ssize_t)sizeof header || !is_sqlite_head((const char *)header, sizeof header))
        return error_set(
            error, ERROR_INPUT,
            "byte 0: expected 'SQLite format 3', as 'nsys export --type sqlite' writes%s",
            is_sqlite_head((const char *)header, (size_t)length)
                ? ", and the file ends in its header"
                : "");
    state->bytes = status.st_size;
    state->uses_log = header[18] == 2 || header[19] == 2;
    page_bytes = (int64_t)header[16] << 8 | header[17];
    page_bytes = page_bytes == 1 ? 65536 : page_bytes;
    if (big_endian_32(header + 24) == big_endian_32(header + 92)) /* else the count is stale */
        state->expected_bytes = page_bytes * big_endian_32(header + 28);
    return true;
}

/* True where `path` + `suffix` is there and holds something. */
static bool has_companion(const char *path, const char *suffix)
{
    struct stat status;
    bool is_there;
    char *companion = text_format("%s%s", path, suffix);

    files_seen_note(companion);
    is_there = stat(companion, &status) == 0 && status.st_size > 0;
    free(companion);
    return is_there;
}

/* A journal or log beside the file means that it is not whole without it; opening it would
 * replay them, and that is a write. */
static bool check_companions(const char *path, struct error *error)
{
    if (has_companion(path, "-journal"))
        return error_set(
            error, ERROR_INPUT,
            "'%s-journal' lies beside it: 'nsys export', or another recorder, still writes "
            "it or was killed; wait, or export or record again",
            path);
    if (has_companion(path, "-wal"))
        return error_set(error, ERROR_INPUT,
                         "'%s-wal' lies beside it: another program still writes it, or did not "
                         "close it; close it with: sqlite3 '%s' 'PRAGMA wal_checkpoint(TRUNCATE)'",
                         path, path);
    return true;
}

/* "file:...?mode=ro": all that means something in a URI is written as %XX. free() it. A database
 * that was closed with a write-ahead log can be read without writing only as an immutable one. */
static char *uri_of(const char *path, bool is_immutable)
{
    static const char options[] = "?mode=ro&immutable=1";
    char *uri = require_memory(malloc(3 * strlen(path) + sizeof options + 8));
    char *to = uri + sprintf(uri, "file:");

    for (; *path; path++) {
        unsigned char c = (unsigned char)*path;

        if (c == '%' || c == '?' || c == '#')
            to += sprintf(to, "%%%02x", c);
        else
            *to++ = (char)c;
    }
    (void)sprintf(to, "%s", is_immutable ? options : "?mode=ro");
    return uri;
}

/* ---- what SQLite says ----------------------------------------------------------------------- */

/* SQLite says that memory is out also where a damaged page tells of a size that cannot be: it is
 * out only where as much as the longest value takes is not to be had. */
static bool is_memory_out(const struct sqlite_input *input)
{
    void *volatile probe = NULL;
    bool is_out = (sqlite3_errcode(input->connection) & 0xff) == SQLITE_NOMEM;

    if (is_out) {
        probe = malloc((size_t)2 * SQLITE_INPUT_VALUE_BYTES_MAX); /* it may grow by doubling */
        is_out = probe == NULL;
        free(probe);
    }
    return is_out;
}

/* The first damage is kept: later ones follow from it. A damaged page may ask for more memory
 * than there can be, which is not our lack of it. */
void sqlite_input_note_damage(struct sqlite_input *input, const char *table)
{
    const char *what = sqlite3_errmsg(input->connection);

    if (is_memory_out(input))
        end_out_of_memory();
    if ((sqlite3_errcode(input->connection) & 0xff) == SQLITE_NOMEM)
        what = "a damaged page tells of a size that cannot be";
    if (!input->damage[0])
        (void)snprintf(input->damage, sizeof input->damage, "%s: %s", table, what);
}

/* Each failure has another remedy: wait, export again, or look for the full disk. The low byte
 * is SQLite's primary result code. */
static bool sqlite_input_refuse(struct sqlite_input *input, const struct file_state *state,
                                struct error *error)
{
    if (is_memory_out(input))
        end_out_of_memory();
    switch (sqlite3_errcode(input->connection) & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return error_set(
            error, ERROR_INPUT,
            "locked by another program: does 'nsys export', or another recorder, still "
            "write it? Wait until it is done, or read a copy");
    case SQLITE_NOTADB:
        return error_set(
            error, ERROR_INPUT,
            "begins as an SQLite database and is none (%s): export it again with 'nsys "
            "export --type sqlite', or record again",
            sqlite3_errmsg(input->connection));
    default:
        if (state->expected_bytes > state->bytes)
            return error_set(error, ERROR_INPUT,
                             "cut: its header tells of %lld bytes, and the file has %lld; nothing "
                             "in it can be read (%s). Was the export stopped, or the disk full?",
                             (long long)state->expected_bytes, (long long)state->bytes,
                             sqlite3_errmsg(input->connection));
        return error_set(
            error, ERROR_INPUT,
            "damaged, its list of tables cannot be read (%s): export it again with 'nsys "
            "export --type sqlite', or record again",
            sqlite3_errmsg(input->connection));
    }
}

void sqlite_name_tables(struct sqlite_input *input, char *to, size_t size)
{
    sqlite3_stmt *statement = NULL;
    size_t used = 0;

    to[0] = '\0';
    if (sqlite3_prepare_v2(input->connection,
                           "SELECT name FROM sqlite_master WHERE type = 'table' LIMIT 6", -1,
                           &statement, NULL) != SQLITE_OK)
        return;
    while (sqlite3_step(statement) == SQLITE_ROW && used + 2 < size) {
        const unsigned char *name = sqlite3_column_text(statement, 0);
        int length = snprintf(to + used, size - used, "%s'%.60s'", used ? ", " : "",
                              name ? (const char *)name : "");

        used += length > 0 ? (size_t)length : 0;
    }
    sqlite3_finalize(statement);
    if (!to[0])
        (void)snprintf(to, size, "none");
}

/* ---- what a stranger's file may make SQLite do -------------------------------------------------
 */

/* Steps of SQLite's machine between two looks at the work done, for any file, and for each of its
 * bytes: a row of a few bytes takes some 30 steps, and each of a hundred ranks reads it again. */
enum { LOOK_STEPS = 100000, STEPS_OF_ANY_FILE = 200000000, STEPS_A_BYTE = 2000 };

static int sqlite_input_is_one_of(const char *name, const char *const *names)
{
    for (; name && *names; names++)
        if (strcasecmp(name, *names) == 0)
            return 1;
    return 0;
}

/* A database is a program of strangers: views, triggers and functions could read other files or run
 * for hours. What is not on the list is denied, whatever later versions of SQLite add. `inner`: the
 * view or trigger that asks; NULL: a query of ours.
 * SQLite calls it so. NOLINTNEXTLINE(readability-function-size) */
static int authorize(void *unused, int action, const char *first, const char *second,
                     const char *schema, const char *inner)
{
    static const char *const functions[] = {"flopledger_row", "count", "min", "max", NULL};
    static const char *const lists_of_tables[] = {"sqlite_master", "sqlite_temp_master", NULL};
    static const char *const pragmas[] = {"table_info", "table_xinfo", "index_list", NULL};

    (void)unused;
    (void)schema;
    if (inner)
        return SQLITE_DENY;
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
        return SQLITE_OK;
    case SQLITE_UPDATE: /* so is asked when the list of tables is read; nothing can be written */
        return sqlite_input_is_one_of(first, lists_of_tables) ? SQLITE_OK : SQLITE_DENY;
    case SQLITE_FUNCTION:
        return sqlite_input_is_one_of(second, functions) ? SQLITE_OK : SQLITE_DENY;
    case SQLITE_PRAGMA:
        return sqlite_input_is_one_of(first, pragmas) ? SQLITE_OK : SQLITE_DENY;
    default:
        return SQLITE_DENY;
    }
}

/* Returning true ends the query as interrupted, which is told as damage. */
static int note_work(void *context)
{
    struct sqlite_work *work = context;

    work->done += LOOK_STEPS;
    return work->done > work->most;
}

/* Work is bounded by the file's size, so that a small file cannot take hours by a table that
 * names itself; the numbers are far above what reading takes. */
static void sqlite_guard(struct sqlite3 *connection, struct sqlite_work *work, int64_t file_bytes)
{
    static const int off[] = {SQLITE_DBCONFIG_TRUSTED_SCHEMA, SQLITE_DBCONFIG_ENABLE_VIEW,
                              SQLITE_DBCONFIG_ENABLE_TRIGGER, SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER,
                              SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION};
    static const int limits[][2] = {{SQLITE_LIMIT_LENGTH, SQLITE_INPUT_VALUE_BYTES_MAX},
                                    {SQLITE_LIMIT_SQL_LENGTH, 1 << 20},
                                    {SQLITE_LIMIT_EXPR_DEPTH, 50},
                                    {SQLITE_LIMIT_COMPOUND_SELECT, 4},
                                    {SQLITE_LIMIT_FUNCTION_ARG, SQLITE_INPUT_COLUMNS_MAX},
                                    {SQLITE_LIMIT_ATTACHED, 0},
                                    {SQLITE_LIMIT_TRIGGER_DEPTH, 1},
                                    {SQLITE_LIMIT_WORKER_THREADS, 0}};

    (void)sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    for (size_t i = 0; i < sizeof off / sizeof *off; i++)
        (void)sqlite3_db_config(connection, off[i], 0, NULL);
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        (void)sqlite3_limit(connection, limits[i][0], limits[i][1]);
    (void)sqlite3_exec(connection,
                       "PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 0; "
                       "PRAGMA cache_size = -256",
                       NULL, NULL, NULL);
    work->most = file_bytes < INT64_MAX / STEPS_A_BYTE - STEPS_OF_ANY_FILE
                     ? file_bytes * STEPS_A_BYTE + STEPS_OF_ANY_FILE
                     : INT64_MAX;
    (void)sqlite3_set_authorizer(connection, authorize, NULL);
    sqlite3_progress_handler(connection, LOOK_STEPS, note_work, work);
}

/* ---- open and close ------------------------------------------------------------------------- */

/* Pages that a cut file still has can be read only where SQLite does not check the header's count
 * of pages; this setting turns that check off. The connection stays read-only. */
static void accept_cut_file(struct sqlite_input *input)
{
    sqlite3_db_config(input->connection, SQLITE_DBCONFIG_DEFENSIVE, 0, NULL);
    sqlite3_exec(input->connection, "PRAGMA writable_schema = ON", NULL, NULL, NULL);
}

/* The authorizer would deny the pragma that a cut file needs, so that comes before it. */
static bool open_connection(struct sqlite_input *input, const char *path,
                            const struct file_state *state, struct error *error)
{
    char *uri = uri_of(path, state->uses_log);
    int result =
        sqlite3_open_v2(uri, &input->connection,
                        SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL);

    free(uri);
    if (!input->connection)
        end_out_of_memory();
    if (result != SQLITE_OK)
        return sqlite_input_refuse(input, state, error);
    sqlite3_busy_timeout(input->connection, BUSY_WAIT_MS);
    if (input->missing_bytes > 0)
        accept_cut_file(input);
    sqlite_guard(input->connection, &input->work, state->bytes);
    if (input->missing_bytes > 0)
        sqlite3_db_config(input->connection, SQLITE_DBCONFIG_DEFENSIVE, 0, NULL);
    if (sqlite3_exec(input->connection, "SELECT count(*) FROM sqlite_master", NULL, NULL, NULL) !=
        SQLITE_OK)
        return sqlite_input_refuse(input, state, error);
    return true;
}

bool sqlite_input_open(struct sqlite_input *input, const char *path, struct error *error)
{
    struct file_state state = {0};

    if (!read_header(&state, path, error) || !check_companions(path, error))
        return false;
    input->file_bytes = state.bytes;
    if (state.expected_bytes > state.bytes)
        input->missing_bytes = state.expected_bytes - state.bytes;
    else if (state.expected_bytes > 0)
        input->surplus_bytes = state.bytes - state.expected_bytes;
    if (!open_connection(input, path, &state, error)) {
        sqlite_input_clear(input);
        return false;
    }
    return true;
}

/* A cut file tells its cut only: that rows cannot be read follows from it. */
void sqlite_input_tell_damage(struct read_account *read, const struct sqlite_input *input)
{
    if (input->missing_bytes > 0) {
        read->is_truncated = true;
        (void)snprintf(read->truncation, sizeof read->truncation,
                       "the database is cut: %" PRId64 " bytes are missing (%.120s)",
                       input->missing_bytes,
                       input->damage[0] ? input->damage : "what is left could be read");
    } else if (input->surplus_bytes > 0) {
        read->ending = ENDING_FOLLOWED;
        (void)snprintf(read->ending_message, sizeof read->ending_message,
                       "%" PRId64 " bytes behind the last page of the database are not read",
                       input->surplus_bytes);
    }
    if (input->missing_bytes == 0 && input->damage[0]) {
        struct damage *damage = &read->damages[0];

        read->damage_count = 1;
        read->damaged_events++;
        *damage = (struct damage){.byte = -1};
        (void)snprintf(damage->message, sizeof damage->message,
                       "rows of a table cannot be read: %.120s", input->damage);
    }
}

void sqlite_input_clear(struct sqlite_input *input)
{
    if (!input)
        return;
    sqlite3_close(input->connection);
    string_pool_clear(&input->tables);
    string_pool_clear(&input->views);
    string_pool_clear(&input->opened);
    string_pool_clear(&input->columns);
    *input = (struct sqlite_input){0};
}
