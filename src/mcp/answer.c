/* What a client gets of a report: a page of it, never more than it can hold. */
#include "base/core/arena.h"
#include "base/core/attributes.h"
#include "mcp/question.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An agent's context is small: texts are cut where many stand together, and whole where one is
 * asked for by its id. */
enum { USUAL_TEXT_BYTES = 600, WHOLE_TEXT_BYTES = 16 * 1024, FIRST_ROWS = 5 };

/* A section of the page of all ranks, or of one. */
struct part {
    const char *rank; /* NULL: of all */
    const char *name;
    const struct json_node *section;
};

/* Calls `use` for each section, those of all ranks first, until it returns false. One order for
 * all that is listed, counted or looked for: a cursor into findings means the same in each call. */
static void for_each_part(const struct json_node *report,
                          bool (*use)(void *context, const struct part *part), void *context)
{
    const struct json_node *overview = json_member(report, "overview");
    bool goes_on = true;

    if (overview && overview->kind == JSON_OBJECT)
        goes_on = use(context, &(struct part){.name = "overview", .section = overview});
    for (const struct json_node *rank = json_items_of(report, "ranks"); rank && goes_on;
         rank = rank->next) {
        const struct json_node *sections = json_member(rank, "sections");

        for (const struct json_node *section = sections ? sections->first : NULL;
             section && goes_on; section = section->next)
            goes_on = use(context, &(struct part){.rank = json_text_of(rank, "label", ""),
                                                  .name = section->key,
                                                  .section = section});
    }
}

/* ---- values --------------------------------------------------------------------------------- */

/* At most so many bytes of it, without a character cut in two. Back to the first byte of a
 * character. */
static size_t length_of_cut(const char *text, size_t bytes_max)
{
    size_t length = strnlen(text, bytes_max + 1);

    if (length <= bytes_max)
        return length;
    length = bytes_max;
    while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80)
        length--;
    return length;
}

/* The ellipsis tells the agent that there is more to ask for. */
static void copy_cut_text(struct json_writer *writer, const char *key, const char *text,
                          size_t bytes_max)
{
    SCOPED(arena) arena = {0};
    size_t length = length_of_cut(text, bytes_max);
    char *cut;

    if (!text[length]) {
        json_text(writer, key, text);
        return;
    }
    cut = arena_allocate(&arena, length + sizeof "…");
    memcpy(cut, text, length);
    memcpy(cut + length, "…", sizeof "…");
    json_text(writer, key, cut);
}

/* Null members are left out: they say nothing, and answers are short of room. */
void mcp_copy_value(struct json_writer *writer, const char *key, const struct json_node *value,
                    size_t text_bytes_max)
{
    switch (value->kind) {
    case JSON_NULL:
        if (!key) /* in a list its place counts */
            json_null(writer, NULL);
        break;
    case JSON_BOOLEAN:
        json_boolean(writer, key, value->integer != 0);
        break;
    case JSON_NUMBER:
        if (value->is_integer)
            json_integer(writer, key, value->integer);
        else
            json_real(writer, key, strtod(value->text, NULL));
        break;
    case JSON_STRING:
        copy_cut_text(writer, key, value->text, text_bytes_max);
        break;
    case JSON_ARRAY:
        json_begin_array(writer, key, JSON_ON_ONE_LINE);
        for (const struct json_node *item = value->first; item; item = item->next)
            mcp_copy_value(writer, NULL, item, text_bytes_max);
        json_end_array(writer);
        break;
    case JSON_OBJECT:
        json_begin_object(writer, key, JSON_ON_ONE_LINE);
        for (const struct json_node *item = value->first; item; item = item->next)
            mcp_copy_value(writer, item->key, item, text_bytes_max);
        json_end_object(writer);
        break;
    }
}

static void write_member(struct json_writer *writer, const struct json_node *of, const char *name)
{
    const struct json_node *value = json_member(of, name);

    if (value)
        mcp_copy_value(writer, name, value, USUAL_TEXT_BYTES);
}

/* What waits in the writer's buffer counts, too. */
static bool is_beyond(const struct json_writer *writer, long bytes)
{
    return ftell(writer->output) + (long)writer->held > bytes;
}

static void write_cursor(struct json_writer *writer, int64_t row)
{
    char text[32];

    (void)snprintf(text, sizeof text, "%lld", (long long)row);
    json_text(writer, "next_cursor", text);
}

/* By what a row or a finding is asked for again. */
static void write_id(struct json_writer *writer, const struct part *part, const char *table,
                     int64_t row)
{
    SCOPED(arena) arena = {0};
    const char *rank = part->rank ? part->rank : "";
    size_t bytes = strlen(rank) + strlen(part->name) + strlen(table) + 32;
    char *id = arena_allocate(&arena, bytes);

    (void)snprintf(id, bytes, "%s/%s/%s/%lld", rank, part->name, table, (long long)row);
    json_text(writer, "id", id);
}

/* Where a row or a finding stands. */
struct row_place {
    const struct part *part;
    const char *table; /* "findings" */
    int64_t number;
};

/* A row or a finding, its id first. "depth": 0 is what a reader assumes. */
static void write_row_or_finding(struct json_writer *writer, const struct row_place *place,
                                 const struct json_node *row, size_t text_bytes_max)
{
    json_begin_object(writer, NULL, JSON_ON_ONE_LINE);
    write_id(writer, place->part, place->table, place->number);
    for (const struct json_node *cell = row->first; cell; cell = cell->next) {
        bool is_plain = strcmp(cell->key, "depth") == 0 && cell->integer == 0;

        if (strcmp(cell->key, "id") == 0) /* of a kind of finding */
            mcp_copy_value(writer, "kind", cell, text_bytes_max);
        else if (!is_plain)
            mcp_copy_value(writer, cell->key, cell, text_bytes_max);
    }
    json_end_object(writer);
}

/* ---- what there is -------------------------------------------------------------------------- */

struct findings {
    struct json_writer *writer;
    const struct mcp_wanted *wanted;
    int64_t seen;
    bool is_cut;
};

/* At least what was asked from is skipped, then as many as fit: `seen` is the number of the
 * next one when it ends. */
static bool write_findings_of(void *context, const struct part *part)
{
    struct findings *findings = context;
    const struct mcp_wanted *wanted = findings->wanted;
    int64_t number = 0;

    for (const struct json_node *finding = json_items_of(part->section, "findings"); finding;
         finding = finding->next, number++) {
        if (findings->seen++ < wanted->first_row)
            continue;
        if (findings->seen > wanted->first_row + wanted->limit ||
            is_beyond(findings->writer, MCP_ANSWER_BYTES)) {
            findings->seen--;
            findings->is_cut = true;
            return false;
        }
        write_row_or_finding(findings->writer, &(struct row_place){part, "findings", number},
                             finding, USUAL_TEXT_BYTES);
    }
    return true;
}

/* Twice the bound: the list of sections is what the client goes on with, and must not fall to
 * a long list of findings. */
static bool write_contents_of(void *context, const struct part *part)
{
    struct json_writer *writer = context;
    const struct json_node *tables = json_member(part->section, "tables");

    if (is_beyond(writer, 2L * MCP_ANSWER_BYTES))
        return false;
    json_begin_object(writer, NULL, JSON_ON_ONE_LINE);
    json_text(writer, "section", part->name);
    if (part->rank)
        json_text(writer, "rank", part->rank);
    write_member(writer, part->section, "title");
    json_begin_object(writer, "rows_of_tables", JSON_ON_ONE_LINE);
    for (const struct json_node *table = tables ? tables->first : NULL; table; table = table->next)
        json_integer(writer, table->key, json_integer_of(table, "rows_in_all", 0));
    json_end_object(writer);
    json_end_object(writer);
    return true;
}

/* The headlines, all findings, and what sections there are. */
static void write_overview(struct json_writer *writer, const struct json_node *report,
                           const struct mcp_wanted *wanted)
{
    const struct json_node *overview = json_member(report, "overview");
    struct findings findings = {.writer = writer, .wanted = wanted};

    write_member(writer, report, "headline");
    write_member(writer, report, "problems");
    if (overview && overview->kind == JSON_OBJECT)
        write_member(writer, overview, "numbers");
    json_begin_array(writer, "ranks", JSON_ON_ONE_LINE);
    for (const struct json_node *rank = json_items_of(report, "ranks");
         rank && !is_beyond(writer, MCP_ANSWER_BYTES); rank = rank->next) {
        json_begin_object(writer, NULL, JSON_ON_ONE_LINE);
        write_member(writer, rank, "label");
        write_member(writer, rank, "file");
        write_member(writer, rank, "headline");
        json_end_object(writer);
    }
    json_end_array(writer);
    json_begin_array(writer, "findings", JSON_ON_ONE_LINE);
    for_each_part(report, write_findings_of, &findings);
    json_end_array(writer);
    if (findings.is_cut)
        write_cursor(writer, findings.seen);
    json_begin_array(writer, "sections", JSON_ON_ONE_LINE);
    for_each_part(report, write_contents_of, writer);
    json_end_array(writer);
}

/* ---- one section ---------------------------------------------------------------------------- */

struct search {
    const struct mcp_wanted *wanted;
    struct part found;
    bool is_found;
    const char *first_rank; /* whose sections are named where there is none of the name */
    char names[1024];
};

/* Names are collected on the way, for the message if nothing is found: those of one rank, as
 * ranks have the same sections. */
static bool look_at_part(void *context, const struct part *part)
{
    struct search *search = context;
    const char *rank = search->wanted->rank;
    size_t length = strlen(search->names);
    bool is_of_rank = !rank || (part->rank && strcmp(part->rank, rank) == 0);

    if (is_of_rank && strcmp(part->name, search->wanted->section) == 0) {
        search->found = *part;
        search->is_found = true;
        return false;
    }
    if (part->rank && !search->first_rank)
        search->first_rank = part->rank;
    if (is_of_rank && part->rank == search->first_rank)
        (void)snprintf(search->names + length, sizeof search->names - length, "%s%s",
                       length ? ", " : "", part->name);
    return true;
}

/* Rows of a table from `first` on; says where to go on if there are more. At least one row,
 * however large: else a client that follows the cursor would never get on. */
static void write_rows(struct json_writer *writer, const struct part *part,
                       const struct json_node *table, const struct mcp_wanted *wanted,
                       int64_t limit)
{
    size_t text_bytes = wanted->is_one_row ? WHOLE_TEXT_BYTES : USUAL_TEXT_BYTES;
    int64_t rows_in_all = json_integer_of(table, "rows_in_all", 0);
    int64_t first = wanted->first_row, number = 0;

    json_begin_object(writer, table->key, JSON_ON_ONE_LINE);
    write_member(writer, table, "title");
    write_member(writer, table, "note");
    json_integer(writer, "rows_in_all", rows_in_all);
    write_member(writer, table, "columns");
    json_begin_array(writer, "rows", JSON_ON_ONE_LINE);
    for (const struct json_node *row = json_items_of(table, "rows");
         row && number < first + limit && !(number > first && is_beyond(writer, MCP_ANSWER_BYTES));
         row = row->next, number++)
        if (number >= first)
            write_row_or_finding(writer, &(struct row_place){part, table->key, number}, row,
                                 text_bytes);
    json_end_array(writer);
    if (number < rows_in_all && !wanted->is_one_row)
        write_cursor(writer, number);
    json_end_object(writer);
}

/* A single finding is written nearly whole, while lists cut long texts: this is how a client
 * gets at the rest. */
static bool write_one_finding(struct json_writer *writer, const struct part *part,
                              const struct mcp_wanted *wanted, struct error *error)
{
    int64_t number = 0;

    for (const struct json_node *finding = json_items_of(part->section, "findings"); finding;
         finding = finding->next, number++) {
        if (number != wanted->first_row)
            continue;
        json_begin_array(writer, "findings", JSON_ON_ONE_LINE);
        write_row_or_finding(writer, &(struct row_place){part, "findings", number}, finding,
                             WHOLE_TEXT_BYTES);
        json_end_array(writer);
        return true;
    }
    return error_set(error, ERROR_USAGE, "section '%s' has %lld findings", part->name,
                     (long long)number);
}

/* The name comes from the client and is cut in the message. */
static bool write_table(struct json_writer *writer, const struct part *part,
                        const struct mcp_wanted *wanted, struct error *error)
{
    const struct json_node *tables = json_member(part->section, "tables");
    const struct json_node *table = json_member(tables, wanted->table);

    if (!table)
        return error_set(error, ERROR_USAGE, "section '%s' has no table '%.128s'", part->name,
                         wanted->table);
    json_begin_object(writer, "tables", JSON_ON_ONE_LINE);
    write_rows(writer, part, table, wanted, wanted->limit);
    json_end_object(writer);
    return true;
}

/* The section as a whole: all but the rows behind the first of each table. Each table with its
 * first rows, which are its most important ones. */
static void write_whole(struct json_writer *writer, const struct part *part,
                        const struct mcp_wanted *wanted)
{
    const struct json_node *tables = json_member(part->section, "tables");
    int64_t number = 0, limit = wanted->limit < FIRST_ROWS ? wanted->limit : FIRST_ROWS;

    write_member(writer, part->section, "intro");
    write_member(writer, part->section, "numbers");
    json_begin_array(writer, "findings", JSON_ON_ONE_LINE);
    for (const struct json_node *finding = json_items_of(part->section, "findings");
         finding && !is_beyond(writer, MCP_ANSWER_BYTES); finding = finding->next, number++)
        write_row_or_finding(writer, &(struct row_place){part, "findings", number}, finding,
                             USUAL_TEXT_BYTES);
    json_end_array(writer);
    json_begin_object(writer, "tables", JSON_ON_ONE_LINE);
    for (const struct json_node *table = tables ? tables->first : NULL; table; table = table->next)
        write_rows(writer, part, table, wanted, is_beyond(writer, MCP_ANSWER_BYTES) ? 0 : limit);
    json_end_object(writer);
}

/* An agent that guessed a name gets those that are there, so that its next question can be
 * right. */
static bool write_section(struct json_writer *writer, const struct json_node *report,
                          const struct mcp_wanted *wanted, struct error *error)
{
    struct search search = {.wanted = wanted};

    for_each_part(report, look_at_part, &search);
    if (!search.is_found)
        return error_set(error, ERROR_USAGE, "there is no section '%.128s'%s%.128s: there are %s",
                         wanted->section, wanted->rank ? " of " : "",
                         wanted->rank ? wanted->rank : "", search.names[0] ? search.names : "none");
    json_text(writer, "section", search.found.name);
    if (search.found.rank)
        json_text(writer, "rank", search.found.rank);
    write_member(writer, search.found.section, "title");
    if (wanted->table && strcmp(wanted->table, "findings") == 0)
        return write_one_finding(writer, &search.found, wanted, error);
    if (wanted->table)
        return write_table(writer, &search.found, wanted, error);
    write_whole(writer, &search.found, wanted);
    return true;
}

bool mcp_write_answer(struct json_writer *writer, const struct json_node *report,
                      const struct mcp_wanted *wanted, struct error *error)
{
    bool is_there = true;

    json_begin_object(writer, NULL, JSON_ON_ONE_LINE);
    if (wanted->section)
        is_there = write_section(writer, report, wanted, error);
    else
        write_overview(writer, report, wanted);
    json_end_object(writer);
    return is_there;
}

/* A page of text goes on at a byte, which a cut never puts inside a character. */
bool mcp_write_text_answer(struct json_writer *writer, const char *text, size_t length,
                           const struct mcp_wanted *wanted, struct error *error)
{
    size_t first = (size_t)wanted->first_row;
    size_t cut;

    if (first > length)
        return error_set(error, ERROR_USAGE, "the page has %zu bytes, so none from %zu on", length,
                         first);
    cut = length_of_cut(text + first, MCP_ANSWER_BYTES);
    json_begin_object(writer, NULL, JSON_ON_ONE_LINE);
    copy_cut_text(writer, "text", text + first, cut);
    if (text[first + cut])
        write_cursor(writer, (int64_t)(first + cut));
    json_end_object(writer);
    return true;
}
