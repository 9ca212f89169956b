/* Rows of a database, taken from SQLite by the batch. */
#include "readers/sqlite/sqlite_batch.h"

#include "base/core/array.h"
#include "base/core/hash_mix.h"
#include "base/core/out_of_memory.h"
#include "readers/sqlite/sqlite_pages.h"

#include <endian.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A batch stays in the processor's nearest memory, but for what texts take. */
enum { BATCH_CELLS = 1024, BATCH_TEXT_BYTES = 64 << 10, NUMBER_TEXT_BYTES = 32 };
enum { SEEK_BATCHES_MAX = 4 };
/* Rows of a table have a few forms, as numbers take a byte more or less. */
enum { RECORD_TYPE_WORDS = 4, RECORD_FORM_BITS = 4, RECORD_FORMS = 1 << RECORD_FORM_BITS };

#define ROW_FUNCTION "flopledger_row"

/* Where a value is in a row. */
struct record_value {
    uint32_t place;
    uint32_t type;
    uint8_t cell;
    uint8_t shift; /* of the eight bytes there */
    bool is_plain; /* an integer, and to be one */
};

/* Of rows with equal types. */
struct record_form {
    uint64_t types[RECORD_TYPE_WORDS]; /* what stands before the values; zeros behind it */
    uint64_t masks[RECORD_TYPE_WORDS]; /* of these bytes */
    uint64_t bytes;                    /* a row has so many, or is damaged; 0: no form */
    struct record_value values[SQLITE_INPUT_COLUMNS_MAX];
};

struct sqlite_batch {
    struct sqlite_cell *cells; /* [cell_room], row by row */
    size_t cell_count;
    size_t cell_room;
    size_t column_count;
    char *texts; /* [text_room] */
    size_t text_bytes;
    size_t text_room;
    char (*numbers)[NUMBER_TEXT_BYTES]; /* [column_count]: numbers that are asked for as text */
    struct record_form forms[RECORD_FORMS + 1]; /* by types; the last of one that is not kept */
    struct record_form *form;                   /* that of the row before, if it is kept */
};

/* ---- filling -------------------------------------------------------------------------------- */

/* Behind what is there: the array may move, so that places in it are kept and no pointers. */
static void keep_bytes(struct sqlite_batch *batch, struct sqlite_cell *cell, const void *bytes,
                       size_t length)
{
    ARRAY_RESERVE(batch->texts, batch->text_room, batch->text_bytes + length + 1);
    if (length > 0)
        memcpy(batch->texts + batch->text_bytes, bytes, length);
    batch->texts[batch->text_bytes + length] = '\0';
    cell->is.text = batch->text_bytes;
    cell->bytes = (uint32_t)length; /* at most SQLITE_INPUT_VALUE_BYTES_MAX */
    batch->text_bytes += length + 1;
}

/* By the type that the value itself has, which need not be that of its column. */
static void keep_value(struct sqlite_batch *batch, struct sqlite_cell *cell, sqlite3_value *value)
{
    const void *bytes;

    switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER:
        cell->type = SQLITE_CELL_INTEGER;
        cell->is.integer = sqlite3_value_int64(value);
        break;
    case SQLITE_FLOAT:
        cell->type = SQLITE_CELL_REAL;
        cell->is.real = sqlite3_value_double(value);
        break;
    case SQLITE_TEXT:
        bytes = sqlite3_value_text(value); /* before its length, as it may change that */
        cell->type = bytes ? SQLITE_CELL_TEXT : SQLITE_CELL_NULL;
        if (bytes)
            keep_bytes(batch, cell, bytes, (size_t)sqlite3_value_bytes(value));
        break;
    case SQLITE_BLOB:
        bytes = sqlite3_value_blob(value);
        cell->type = SQLITE_CELL_BYTES;
        keep_bytes(batch, cell, bytes, bytes ? (size_t)sqlite3_value_bytes(value) : 0);
        break;
    default:
        cell->type = SQLITE_CELL_NULL;
        break;
    }
}

static bool batch_is_full(const struct sqlite_batch *batch)
{
    return batch->cell_count + batch->column_count > BATCH_CELLS ||
           batch->text_bytes > BATCH_TEXT_BYTES;
}

/* flopledger_row(a, b, ...): NULL, which is false, until the batch is full. A database cannot call
 * it: what is part of a schema may call none that is SQLITE_DIRECTONLY. */
static void keep_row(sqlite3_context *context, int count, sqlite3_value **values)
{
    const struct sqlite_input *input = sqlite3_user_data(context);
    struct sqlite_batch *batch = input->batch;

    if (!batch || (size_t)count != batch->column_count)
        return;
    ARRAY_RESERVE(batch->cells, batch->cell_room, batch->cell_count + batch->column_count);
    for (int i = 0; i < count; i++)
        keep_value(batch, &batch->cells[batch->cell_count++], values[i]);
    if (batch_is_full(batch))
        sqlite3_result_int(context, 1);
}

/* Once for a connection: most files that are looked at are of another format, and have no rows
 * asked for. */
static void give_row_function(struct sqlite_input *input)
{
    if (input->has_row_function)
        return;
    input->has_row_function = true;
    if (sqlite3_create_function(input->connection, ROW_FUNCTION, -1,
                                SQLITE_UTF8 | SQLITE_DIRECTONLY, input, keep_row, NULL,
                                NULL) != SQLITE_OK)
        end_out_of_memory(); /* nothing else can be wrong */
}

/* SQLite may ask for parts of a condition in any order: hence the row is kept where all else is
 * true. The condition stands before that, too, since then what is joined need not be looked for. */
void sqlite_append_rows_begin(sqlite3_str *text, struct sqlite_rows *rows, const char *condition)
{
    give_row_function(rows->input);
    sqlite3_str_appendall(text, " WHERE ");
    if (condition)
        sqlite3_str_appendf(text, "(%s) AND CASE WHEN %s THEN ", condition, condition);
    sqlite3_str_appendall(text, ROW_FUNCTION "(");
}

void sqlite_append_rows_end(sqlite3_str *text, const char *condition)
{
    sqlite3_str_appendall(text, condition ? ") END" : ")");
}

/* ---- from the pages of a table ----------------------------------------------------------------
 */

/* How many bytes a value of this type takes: integers of up to eight, real numbers, 0 and 1, and
 * from 12 on bytes and texts of any length. Sums of what no row has do not overflow. */
static uint64_t record_bytes(uint64_t type)
{
    static const uint8_t bytes[12] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0};

    return type < 12 ? bytes[type] : type < UINT32_MAX ? (type - 12) / 2 : UINT32_MAX;
}

/* Of one to eight bytes, the highest first, with a sign. */
static int64_t record_integer(const unsigned char *at, unsigned shift)
{
    uint64_t value;

    memcpy(&value, at, sizeof value); /* what is behind it is there, too: SQLITE_PAGES_SLACK */
    return (int64_t)be64toh(value) >> shift;
}

/* As SQLite hands on what is no number: NULL. */
static void record_keep_real(struct sqlite_cell *cell, int64_t bits)
{
    memcpy(&cell->is.real, &bits, sizeof bits);
    cell->type = isnan(cell->is.real) ? SQLITE_CELL_NULL : SQLITE_CELL_REAL;
}

static void record_keep(struct sqlite_batch *batch, struct sqlite_cell *cell,
                        const struct record_value *value, const unsigned char *row)
{
    const unsigned char *const at = row + value->place;

    if (value->type - 1 < 6) {
        cell->type = SQLITE_CELL_INTEGER;
        cell->is.integer = record_integer(at, value->shift);
    } else if (value->type == 8 || value->type == 9) {
        cell->type = SQLITE_CELL_INTEGER;
        cell->is.integer = value->type == 9;
    } else if (value->type >= 12) {
        cell->type = value->type % 2 ? SQLITE_CELL_TEXT : SQLITE_CELL_BYTES;
        keep_bytes(batch, cell, at, record_bytes(value->type));
    } else if (value->type == 7) {
        record_keep_real(cell, record_integer(at, 0));
    } else {
        cell->type = SQLITE_CELL_NULL;
    }
}

/* What SQLite makes of a value by its column. */
static void record_adapt(struct sqlite_cell *cell, const struct sqlite_wanted *wanted,
                         const unsigned char *number)
{
    uint64_t value;

    if (wanted->is_key && cell->type == SQLITE_CELL_NULL) {
        (void)sqlite_varint(number, &value);
        cell->type = SQLITE_CELL_INTEGER;
        cell->is.integer = (int64_t)value;
    } else if (wanted->is_real && cell->type == SQLITE_CELL_INTEGER) {
        cell->type = SQLITE_CELL_REAL;
        cell->is.real = (double)cell->is.integer;
    }
}

/* A row is the types of its values, then the values; columns that were added to the table behind
 * it are not in it, and those that the table lacks stay NULL. */
static void record_find_values(struct record_form *form, const struct sqlite_pages *pages)
{
    const unsigned char *at, *types_end;
    uint64_t type = 0, bytes = 0, place;

    at = sqlite_varint(pages->row, &place);
    form->bytes = UINT64_MAX;
    if (place == 0 || place > pages->row_bytes)
        return;
    types_end = pages->row + place;
    for (unsigned i = 0; i < pages->wanted_count; i++) {
        const struct sqlite_wanted *wanted = &pages->wanted[i];

        for (uint32_t left = wanted->columns; left > 0; left--) {
            place += bytes;
            type = bytes = 0;
            if (at >= types_end)
                break;
            at = sqlite_varint(at, &type);
            bytes = record_bytes(type);
        }
        form->values[i] = (struct record_value){
            .place = (uint32_t)place,
            .type = (uint32_t)type,
            .cell = (uint8_t)wanted->cell,
            .shift = (uint8_t)(64 - 8 * (bytes & 7)) & 63,
            .is_plain = type - 1 < 6 && !wanted->is_real,
        };
    }
    if (at <= types_end)
        form->bytes = place + bytes;
}

/* All words are compared, also where the first differs: rows that do not match are few, and what
 * is behind a row may be read (SQLITE_PAGES_SLACK). */
static bool record_is_of(const struct record_form *form, const unsigned char *row)
{
    uint64_t others = 0, word;

    for (size_t i = 0; i < RECORD_TYPE_WORDS; i++) {
        memcpy(&word, row + i * sizeof word, sizeof word);
        others |= (word ^ form->types[i]) & form->masks[i];
    }
    return others == 0;
}

/* The form of the present row, which is mostly that of the row before, or of another. Forms whose
 * types have one hash take each other's place: a file that plants these is read as slowly as if
 * none were kept. */
static const struct record_form *record_form_of(struct sqlite_batch *batch,
                                                const struct sqlite_pages *pages)
{
    struct record_form *form = batch->form;
    const unsigned length = *pages->row;
    uint64_t types[RECORD_TYPE_WORDS] = {0}, hash = 0;

    if (form && record_is_of(form, pages->row))
        return form;
    form = &batch->forms[RECORD_FORMS];
    if (length - 1 < sizeof types && length <= pages->row_bytes) {
        memcpy(types, pages->row, length);
        for (size_t i = 0; i < RECORD_TYPE_WORDS; i++)
            hash = hash_mix(hash ^ types[i], HASH_MULTIPLIER);
        form = batch->form = &batch->forms[hash >> (64 - RECORD_FORM_BITS)];
        if (memcmp(form->types, types, sizeof types) == 0)
            return form;
        memcpy(form->types, types, sizeof types);
        memset(form->masks, 0, sizeof form->masks);
        memset(form->masks, 0xff, length);
    }
    record_find_values(form, pages);
    return form;
}

/* False where its sizes are none. Nearly all values of a recorder's rows are integers, which is why
 * these take some instructions only. */
static bool keep_record(struct sqlite_batch *batch, const struct sqlite_pages *pages)
{
    const struct record_form *const form = record_form_of(batch, pages);
    const struct record_value *const limit = form->values + pages->wanted_count;
    struct sqlite_cell *const cells = batch->cells + batch->cell_count;
    const unsigned char *const row = pages->row;

    if (form->bytes > pages->row_bytes)
        return false;
    for (const struct record_value *value = form->values; value < limit; value++) {
        struct sqlite_cell *cell = &cells[value->cell];

        if (value->is_plain) {
            cell->type = SQLITE_CELL_INTEGER;
            cell->is.integer = record_integer(row + value->place, value->shift);
        } else {
            record_keep(batch, cell, value, row);
            record_adapt(cell, &pages->wanted[value - form->values], pages->number);
        }
    }
    batch->cell_count += batch->column_count;
    return true;
}

/* A zeroed cell is NULL. */
static struct sqlite_batch *sqlite_batch_new(size_t column_count)
{
    struct sqlite_batch *batch = require_memory(calloc(1, sizeof *batch));

    batch->column_count = column_count;
    batch->cell_room = BATCH_CELLS;
    batch->cells = require_memory(calloc(batch->cell_room, sizeof *batch->cells));
    return batch;
}

/* Damage is told in the words that SQLite has for it. */
static void rows_fill_from_pages(struct sqlite_rows *rows)
{
    struct sqlite_batch *batch = rows->batch;

    while (!rows->is_at_end && (batch->cell_count == 0 || !batch_is_full(batch))) {
        rows->is_at_end = !sqlite_pages_next(rows->pages, &rows->is_damaged) ||
                          (rows->is_damaged = !keep_record(batch, rows->pages));
    }
    if (rows->is_damaged && !rows->input->damage[0])
        (void)snprintf(rows->input->damage, sizeof rows->input->damage, "%s: %s", rows->table,
                       sqlite3_errstr(SQLITE_CORRUPT));
}

/* A full batch may come with more rows of SQLite than one, where a row is joined to several. What
 * went wrong is told at once, for SQLite's words are of its last call. */
static void rows_fill_from_query(struct sqlite_rows *rows)
{
    int result = SQLITE_ROW;

    rows->input->batch = rows->batch;
    while (rows->batch->cell_count == 0 && result == SQLITE_ROW)
        result = sqlite3_step(rows->statement);
    rows->input->batch = NULL;
    rows->is_at_end = result != SQLITE_ROW;
    rows->is_damaged = rows->is_at_end && result != SQLITE_DONE;
    if (rows->is_damaged)
        sqlite_input_note_damage(rows->input, rows->table);
}

bool sqlite_rows_fill(struct sqlite_rows *rows)
{
    struct sqlite_batch *batch;

    if (rows->is_at_end || (!rows->statement && !rows->pages))
        return false;
    if (!rows->batch)
        rows->batch = sqlite_batch_new(rows->column_count);
    batch = rows->batch;
    batch->cell_count = batch->text_bytes = 0;
    if (rows->pages)
        rows_fill_from_pages(rows);
    else
        rows_fill_from_query(rows);
    if (batch->cell_count == 0)
        return false;
    rows->row = batch->cells;
    rows->rows_left = batch->cell_count / batch->column_count - 1;
    return true;
}

/* What is left of the batch is of the value before. Where SQLite could not read on it is not asked
 * again: each such error sets all that is read beside it back to where it stands, by a row's
 * number, and the numbers of a damaged table may lead back for ever. */
void sqlite_rows_restart(struct sqlite_rows *rows, int64_t parameter)
{
    rows->rows_left = 0;
    rows->is_at_end = !rows->statement || rows->is_damaged;
    if (rows->is_at_end)
        return;
    (void)sqlite3_reset(rows->statement);
    (void)sqlite3_bind_int64(rows->statement, 1, parameter);
}

/* False where the key is no integer. */
static bool rows_key(const struct sqlite_rows *rows, int64_t *key)
{
    return rows->row && sqlite_is_integer(rows, 0, key);
}

/* Keys are mostly asked for in the order of the rows, or nearly. What would be far ahead is not
 * walked to, for then all before it would be behind. */
bool sqlite_rows_seek(struct sqlite_rows *rows, int64_t key)
{
    int64_t found;

    if (!rows->row && !sqlite_rows_fill(rows))
        return false;
    for (unsigned batches = 0; rows_key(rows, &found) && found < key;) {
        batches += rows->rows_left == 0;
        if (batches > SEEK_BATCHES_MAX || !sqlite_rows_next(rows))
            return false;
    }
    while (rows_key(rows, &found) && found > key && rows->row > rows->batch->cells) {
        rows->row -= rows->column_count;
        rows->rows_left++;
    }
    return rows_key(rows, &found) && found == key;
}

/* ---- values --------------------------------------------------------------------------------- */

/* A column without a type keeps numbers as the text that they were written as. */
static bool sqlite_input_is_number(const char *text)
{
    char *end;

    if (!*text)
        return false;
    (void)strtod(text, &end);
    return !*end;
}

/* NULL, or no number: that is damage. SQLite would turn text into 0 without a word, which would
 * then count as a time or a size. */
static bool is_no_number(const struct sqlite_rows *rows, int column)
{
    const struct sqlite_cell *cell = &rows->row[column];
    struct sqlite_input *input = rows->input;

    if (cell->type == SQLITE_CELL_INTEGER || cell->type == SQLITE_CELL_REAL)
        return false;
    if (cell->type == SQLITE_CELL_NULL)
        return true;
    if (cell->type == SQLITE_CELL_TEXT && sqlite_input_is_number(sqlite_text(rows, column)))
        return false;
    if (!input->damage[0])
        (void)snprintf(input->damage, sizeof input->damage,
                       "%s: text or bytes where a number was expected", rows->table);
    return true;
}

/* As SQLite has it: towards zero, and at most what an integer holds. */
int64_t sqlite_integer_of_other(const struct sqlite_rows *rows, int column, int64_t if_null)
{
    const double limit = 0x1p63;
    double real;

    if (is_no_number(rows, column))
        return if_null;
    if (rows->row[column].type == SQLITE_CELL_TEXT)
        return strtoll(sqlite_text(rows, column), NULL, 10);
    real = rows->row[column].is.real;
    return real >= limit ? INT64_MAX : real <= -limit ? INT64_MIN : (int64_t)real;
}

/* Text as strtod has it: what is no number at all was told before. */
double sqlite_real(const struct sqlite_rows *rows, int column, double if_null)
{
    const struct sqlite_cell *cell = &rows->row[column];

    if (is_no_number(rows, column))
        return if_null;
    if (cell->type == SQLITE_CELL_TEXT)
        return strtod(sqlite_text(rows, column), NULL);
    return cell->type == SQLITE_CELL_REAL ? cell->is.real : (double)cell->is.integer;
}

/* A number in SQLite's own words. */
static const char *number_text(const struct sqlite_rows *rows, int column)
{
    const struct sqlite_cell *cell = &rows->row[column];
    struct sqlite_batch *batch = rows->batch;
    char *to;

    if (!batch->numbers)
        batch->numbers = require_memory(calloc(batch->column_count, sizeof *batch->numbers));
    to = batch->numbers[column];
    if (cell->type == SQLITE_CELL_INTEGER)
        sqlite3_snprintf(NUMBER_TEXT_BYTES, to, "%lld", (long long)cell->is.integer);
    else
        sqlite3_snprintf(NUMBER_TEXT_BYTES, to, "%!.15g", cell->is.real);
    return to;
}

/* What was text stays as it is; bytes are looked at up to their first 0. */
const char *sqlite_text(const struct sqlite_rows *rows, int column)
{
    const struct sqlite_cell *cell = &rows->row[column];

    if (cell->type == SQLITE_CELL_TEXT || cell->type == SQLITE_CELL_BYTES)
        return rows->batch->texts + cell->is.text;
    return cell->type == SQLITE_CELL_NULL ? NULL : number_text(rows, column);
}

const unsigned char *sqlite_bytes(const struct sqlite_rows *rows, int column, size_t *length)
{
    const struct sqlite_cell *cell = &rows->row[column];
    const char *text = sqlite_text(rows, column);

    if (cell->type == SQLITE_CELL_TEXT || cell->type == SQLITE_CELL_BYTES)
        *length = cell->bytes;
    else
        *length = text ? strlen(text) : 0;
    return *length ? (const unsigned char *)text : NULL;
}

void sqlite_rows_clear(struct sqlite_rows *rows)
{
    if (!rows)
        return;
    sqlite3_finalize(rows->statement);
    sqlite_pages_clear(rows->pages);
    if (rows->batch) {
        free(rows->batch->cells);
        free(rows->batch->texts);
        free(rows->batch->numbers);
        free(rows->batch);
    }
    *rows = (struct sqlite_rows){0};
}
