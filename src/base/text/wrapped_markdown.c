/* Pages in Markdown, for a terminal. */
#include "base/core/arena.h"
#include "base/core/attributes.h"
#include "base/text/display_text.h"
#include "base/text/owned_text.h"
#include "base/text/text_wrap.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---- lines ----------------------------------------------------------------------------------- */

static const char *line_after(const char *line)
{
    line += strcspn(line, "\n");
    return *line ? line + 1 : line;
}

/* Within an item of a list it is indented. */
static bool is_fence(const char *line)
{
    return strncmp(line + strspn(line, " "), "```", 3) == 0;
}

static bool is_blank_line(const char *line)
{
    line += strspn(line, " ");
    return *line == '\n' || *line == '\0';
}

/* "- ", "* ", "3. ": how wide, with the spaces around it; 0 where the line is no item. */
static size_t marker_width(const char *line)
{
    size_t start = strspn(line, " "), end = start;

    if (line[end] == '-' || line[end] == '*') {
        end++;
    } else {
        end += strspn(line + end, "0123456789");
        if (end == start || line[end++] != '.')
            return 0;
    }
    return line[end] == ' ' ? end + 1 : 0;
}

/* Heads with a rule below them: a line may begin with a '|' for another reason. */
static bool is_table(const char *line)
{
    const char *rule = line_after(line);
    size_t length = strspn(rule, "|-: ");

    return *line == '|' && *rule == '|' && length > 3 && (!rule[length] || rule[length] == '\n');
}

/* What ends a paragraph without an empty line between. */
static bool begins_block(const char *line)
{
    return is_blank_line(line) || is_fence(line) || is_table(line) || *line == '#' ||
           marker_width(line) > 0;
}

static const char *copy_lines(FILE *output, const char *from, const char *to)
{
    fwrite(from, 1, (size_t)(to - from), output);
    return to;
}

/* ---- tables ---------------------------------------------------------------------------------- */

enum { CELLS_MAX = 16, CELL_INDENT = 4 };

struct markdown_row {
    const char *cells[CELLS_MAX];
    int count;
};

/* A '|' within `code` is part of it, as is one behind a backslash. */
static size_t cell_length(const char *cell)
{
    bool is_code = false;
    size_t length = 0;

    while (cell[length] && cell[length] != '\n' && (is_code || cell[length] != '|')) {
        is_code ^= cell[length] == '`';
        length += cell[length] == '\\' && cell[length + 1] == '|' ? 2 : 1;
    }
    return length;
}

/* A row that does not end with a '|' is damaged: what its last cell holds is left out. Of more
 * cells than CELLS_MAX none of our pages has a row. */
static void split_table_row(struct markdown_row *row, struct arena *arena, const char *line)
{
    row->count = 0;
    while (*line == '|' && row->count < CELLS_MAX) {
        size_t length = cell_length(++line), spaces = strspn(line, " "), end = length;

        if (line[length] != '|')
            return;
        while (end > spaces && line[end - 1] == ' ')
            end--;
        row->cells[row->count++] =
            end > spaces ? arena_copy_text(arena, line + spaces, end - spaces) : "";
        line += length;
    }
}

/* The first cell is what the row is about, and needs no head; with two cells the second needs none
 * either, as it says what the first is. */
static void write_table_row(FILE *output, const struct markdown_row *heads,
                            const struct markdown_row *row, int width)
{
    if (row->count > 0)
        write_wrapped(output, row->cells[0], (struct text_margins){0, CELL_INDENT, width});
    for (int i = 1; i < row->count; i++) {
        const char *head = row->count > 2 && i < heads->count ? heads->cells[i] : "";
        char *text = text_format("%s%s%s", head, *head ? ": " : "", row->cells[i]);

        if (*row->cells[i]) {
            fprintf(output, "%*s", CELL_INDENT, "");
            write_wrapped(output, text, (struct text_margins){CELL_INDENT, 2 * CELL_INDENT, width});
        }
        free(text);
    }
}

/* The second line is the rule below the heads. */
static const char *write_markdown_table(FILE *output, const char *table, int width)
{
    SCOPED(arena) arena = {0};
    struct markdown_row heads, row;
    const char *end = table;
    bool fits = true;

    for (; *end == '|'; end = line_after(end))
        fits = fits && display_columns_of(end, strcspn(end, "\n")) <= width;
    if (fits)
        return copy_lines(output, table, end);
    split_table_row(&heads, &arena, table);
    for (const char *line = line_after(line_after(table)); line < end; line = line_after(line)) {
        split_table_row(&row, &arena, line);
        write_table_row(output, &heads, &row, width);
    }
    return end;
}

/* ---- pages ----------------------------------------------------------------------------------- */

/* Commands are to be copied: not even a line that is too wide is broken. */
static const char *write_fenced_code(FILE *output, const char *fence)
{
    const char *end = line_after(fence);

    while (*end && !is_fence(end))
        end = line_after(end);
    return copy_lines(output, fence, line_after(end));
}

/* A title, a paragraph or an item: its lines become one, and that is broken anew. */
static const char *write_running_text(FILE *output, const char *text, int width)
{
    SCOPED(arena) arena = {0};
    size_t marker = marker_width(text), length = 0;
    size_t indent = marker ? marker : strspn(text, " ");
    const char *end = line_after(text);
    bool is_title = *text == '#';
    char *joined;

    while (!is_title && !begins_block(end))
        end = line_after(end);
    joined = arena_allocate(&arena, (size_t)(end - text) + 1);
    for (const char *at = text; at < end; at++) {
        if (*at != '\n')
            joined[length++] = *at;
        else if (at + 1 < end)
            joined[length++] = ' ';
    }
    joined[length] = '\0';
    fwrite(joined, 1, indent, output);
    write_wrapped(output, joined + indent, (struct text_margins){(int)indent, (int)indent, width});
    return end;
}

void write_wrapped_markdown(FILE *output, const char *text, int width)
{
    while (*text) {
        if (is_fence(text))
            text = write_fenced_code(output, text);
        else if (is_table(text))
            text = write_markdown_table(output, text, width);
        else if (is_blank_line(text))
            text = copy_lines(output, text, line_after(text));
        else
            text = write_running_text(output, text, width);
    }
}
