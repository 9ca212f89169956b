/* A table on a page of limited width. */
#include "base/text/text_table.h"

#include "base/text/display_text.h"

#include <math.h>
#include <string.h>

enum {
    GAP = 2,             /* columns between two columns */
    NAME_MINIMUM = 16,   /* a name is not cut below this while another column can be left out */
    FIRST_MINIMUM = 26,  /* the same for the first column */
    NAME_MAXIMUM = 60,   /* a name is cut to this even where there is room, */
    FIRST_MAXIMUM = 100, /* the first column to this */
    HEADER_LINES_MAX = 4,
    BAR_MINIMUM = 8,
    BAR_MAXIMUM = 30,
};

/* Widths of the columns; 0 = left out. */
struct layout {
    int *widths;  /* as shown */
    int *natural; /* of the widest cell */
    int header_lines;
    int room; /* columns of the page */
};

static int text_table_larger(int a, int b)
{
    return a > b ? a : b;
}

static int text_table_smaller(int a, int b)
{
    return a < b ? a : b;
}

static int depth_of(const struct text_table *table, size_t row)
{
    return table->depths ? table->depths[row] : 0;
}

/* Lines the title takes in `width` columns; breaks only between words. Words wider than that make
 * it HEADER_LINES_MAX + 1. Titles break between words only: a cut word is harder to read than a
 * wider column. */
static int title_lines(const char *title, int width)
{
    int lines = 1;
    int column = 0;

    while (*title) {
        size_t length = strcspn(title, " ");
        int word = display_columns_of(title, length);

        if (word > width)
            return HEADER_LINES_MAX + 1;
        if (column > 0 && column + 1 + word > width) {
            lines++;
            column = 0;
        }
        column += word + (column > 0);
        title += length;
        title += strspn(title, " ");
    }
    return lines;
}

/* A column is as wide as its cells, and wider only if its title needs more lines than there
 * may be. */
static int natural_width(const struct text_table *table, size_t column)
{
    const struct text_column *head = &table->columns[column];
    int width = 1;

    if (head->kind == TEXT_COLUMN_BAR)
        return BAR_MINIMUM;
    for (size_t row = 0; row < table->row_count; row++) {
        const char *text = table->cells[row * table->column_count + column].text;
        int indent = column == 0 ? 2 * depth_of(table, row) : 0;

        if (text)
            width = text_table_larger(width, display_columns(text) + indent);
    }
    if (head->kind == TEXT_COLUMN_NAME)
        width = text_table_smaller(width, column == 0 ? FIRST_MAXIMUM : NAME_MAXIMUM);
    while (title_lines(head->title, width) > (column == 0 ? 1 : HEADER_LINES_MAX - 1))
        width++;
    return width;
}

/* The least a column can be cut to. Numbers are never cut: half a number is a wrong one. The
 * first column keeps nearly half of the page, since it names the row. */
static int minimum_width(const struct text_table *table, const struct layout *layout, size_t column)
{
    int natural = layout->natural[column];

    if (table->columns[column].kind != TEXT_COLUMN_NAME)
        return natural;
    if (column == 0)
        return text_table_smaller(natural, text_table_larger(FIRST_MINIMUM, layout->room * 9 / 20));
    return text_table_smaller(natural, NAME_MINIMUM);
}

static int width_in_all(const struct text_table *table, const struct layout *layout)
{
    int width = -GAP;

    for (size_t i = 0; i < table->column_count; i++)
        width += layout->widths[i] > 0 ? layout->widths[i] + GAP : 0;
    return width;
}

/* Leaves out the least important column that is shown; false where all left are to be shown
 * always. Of the same priority the last: columns stand in the order of what matters. */
static bool leave_one_out(const struct text_table *table, struct layout *layout)
{
    size_t least = 0;

    for (size_t i = 1; i < table->column_count; i++) {
        if (layout->widths[i] > 0 && table->columns[i].priority > 0 &&
            table->columns[i].priority >= table->columns[least].priority)
            least = i;
    }
    if (least == 0)
        return false;
    layout->widths[least] = 0;
    return true;
}

/* The name that should get the next free column: the narrowest that is cut, where the first column
 * counts as narrower than it is. The number of columns where no name is cut. */
static size_t next_to_widen(const struct text_table *table, const struct layout *layout)
{
    size_t best = table->column_count;
    int best_width = 0;

    for (size_t i = 0; i < table->column_count; i++) {
        int width = i == 0 ? layout->widths[i] * 2 / 3 : layout->widths[i];

        if (table->columns[i].kind != TEXT_COLUMN_NAME || layout->widths[i] == 0 ||
            layout->widths[i] >= layout->natural[i])
            continue;
        if (best == table->column_count || width < best_width) {
            best = i;
            best_width = width;
        }
    }
    return best;
}

/* Gives what is free to the names, then to the bars. One column at a time to the narrowest name
 * that is cut: so all end up about as wide, without sorting. */
static void use_free_columns(const struct text_table *table, struct layout *layout)
{
    int free_columns = layout->room - width_in_all(table, layout);

    for (; free_columns > 0; free_columns--) {
        size_t next = next_to_widen(table, layout);

        if (next == table->column_count)
            break;
        layout->widths[next]++;
    }
    for (size_t i = 0; i < table->column_count && free_columns > 0; i++) {
        int added = text_table_smaller(free_columns, BAR_MAXIMUM - layout->widths[i]);

        if (table->columns[i].kind == TEXT_COLUMN_BAR && layout->widths[i] > 0 && added > 0) {
            layout->widths[i] += added;
            free_columns -= added;
        }
    }
}

/* Every name is cut to its least first; columns are left out while even that is too wide, and
 * only then the first column gives way. What is free goes back to the names. */
static struct layout make_layout(const struct text_table *table, int room, struct arena *arena)
{
    struct layout layout = {.room = room};

    layout.widths = arena_allocate(arena, table->column_count * sizeof *layout.widths);
    layout.natural = arena_allocate(arena, table->column_count * sizeof *layout.natural);
    for (size_t i = 0; i < table->column_count; i++)
        layout.natural[i] = natural_width(table, i);
    for (size_t i = 0; i < table->column_count; i++)
        layout.widths[i] = minimum_width(table, &layout, i);
    while (width_in_all(table, &layout) > room && leave_one_out(table, &layout))
        ;
    if (width_in_all(table, &layout) > room && table->columns[0].kind == TEXT_COLUMN_NAME)
        layout.widths[0] =
            text_table_larger(4, layout.widths[0] - (width_in_all(table, &layout) - room));
    use_free_columns(table, &layout);
    for (size_t i = 0; i < table->column_count; i++) {
        if (layout.widths[i] > 0)
            layout.header_lines = text_table_larger(
                layout.header_lines,
                text_table_smaller(HEADER_LINES_MAX,
                                   title_lines(table->columns[i].title, layout.widths[i])));
    }
    return layout;
}

/* Line `line` of the title broken to `width`: its beginning and length. Breaks as title_lines
 * counts: both have to agree. */
static const char *title_line(const char *title, int width, int line, int *length)
{
    for (;; line--) {
        int taken = 0;

        while (title[taken]) {
            int word = (int)strcspn(title + taken + (taken > 0), " ") + (taken > 0);

            if (taken > 0 && display_columns_of(title, (size_t)taken + (size_t)word) > width)
                break;
            taken += word;
        }
        if (line == 0 || taken == 0) {
            *length = taken;
            return title;
        }
        title += taken;
        title += strspn(title, " ");
    }
}

/* A table on its way to the page. */
struct printing {
    const struct text_table *table;
    struct layout layout;
    FILE *output;
    int indent;
    int pending; /* spaces that are due before the next text, and not at the end of a line */
    struct text_style style;
    struct arena *arena;
    const char **names; /* [row * column_count + column]: as they fit, of columns of names */
};

static void text_table_put(struct printing *printing, const char *text)
{
    if (text[0] == '\0')
        return;
    fprintf(printing->output, "%*s%s", printing->pending, "", text);
    printing->pending = 0;
}

static void put_escape(struct printing *printing, const char *code)
{
    if (printing->style.use_color)
        fputs(code, printing->output);
}

/* Spaces are only due until a text follows: lines never end with any. */
static void end_line(struct printing *printing)
{
    fputc('\n', printing->output);
    printing->pending = printing->indent;
}

/* Spaces are held back until something follows: lines do not end in spaces. */
static void put_aligned(struct printing *printing, const char *text, int width, bool is_right)
{
    int padding = width - display_columns(text);

    if (is_right)
        printing->pending += padding;
    text_table_put(printing, text);
    if (text[0] == '\0')
        printing->pending += width - (is_right ? padding : 0);
    else if (!is_right)
        printing->pending += padding;
}

/* Titles stand at the bottom of the header, next to their numbers. */
static void put_title(struct printing *printing, size_t index, int line)
{
    const struct text_column *column = &printing->table->columns[index];
    int width = printing->layout.widths[index];
    int lines = title_lines(column->title, width);
    int own_line = line - (printing->layout.header_lines - lines); /* titles stand at the bottom */
    int length = 0;
    const char *text = "";

    if (own_line >= 0 && column->kind != TEXT_COLUMN_BAR)
        text = title_line(column->title, width, own_line, &length);
    put_aligned(printing, arena_copy_text(printing->arena, text, (size_t)length), width,
                column->kind == TEXT_COLUMN_NUMBER);
}

/* From `start` (rounded to a column, so that its left edge can be drawn) to start + fraction.
 * The left edge can be drawn at whole columns only, the right one in eighths: so the bar is made
 * longer by what the edge was moved, and its end is where it belongs. Columns that a part of one
 * fills count as whole for what follows. */
static void text_table_put_bar(struct printing *printing, const struct text_cell *cell, int width)
{
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    int steps_per_column = printing->style.use_unicode ? 8 : 1;
    double length = fmin(fmax(cell->fraction, 0), 1);
    double start = fmin(fmax(cell->start, 0), 1 - length);
    int skipped = (int)floor(start * width + 1e-9);
    int end = (int)lround((start + length) * width * steps_per_column);
    int steps = (int)lround(length * width * steps_per_column);
    int columns;

    if (start > 0 && steps > 0 && end - skipped * steps_per_column > steps)
        steps = end - skipped * steps_per_column;
    columns = (steps + steps_per_column - 1) / steps_per_column;
    printing->pending += skipped;
    put_escape(printing, steps > 0 ? "\033[36m" : "");
    for (int i = 0; i < steps / steps_per_column; i++)
        text_table_put(printing, printing->style.use_unicode ? "█" : "#");
    text_table_put(printing, eighths[steps % steps_per_column]);
    put_escape(printing, steps > 0 ? "\033[0m" : "");
    printing->pending += width - skipped - columns;
}

/* Indented by depth in the first column; the name gets what is left. */
static void put_cell(struct printing *printing, size_t row, size_t index)
{
    const struct text_cell *cell =
        &printing->table->cells[row * printing->table->column_count + index];
    enum text_kind kind = printing->table->columns[index].kind;
    const char *name = printing->names[row * printing->table->column_count + index];
    int indent = index == 0 ? 2 * depth_of(printing->table, row) : 0;
    int width = printing->layout.widths[index] - indent;

    if (kind == TEXT_COLUMN_BAR) {
        text_table_put_bar(printing, cell, width);
        return;
    }
    printing->pending += indent;
    put_aligned(printing,
                name         ? name
                : cell->text ? cell->text
                             : "",
                width, kind == TEXT_COLUMN_NUMBER);
}

/* Those of one column together, so that different ones look different. */
static void shorten_column(struct printing *printing, size_t index)
{
    const struct text_table *table = printing->table;
    size_t rows = table->row_count;
    const char **names = arena_allocate(printing->arena, (rows + 1) * sizeof *names);
    int *columns = arena_allocate(printing->arena, (rows + 1) * sizeof *columns);

    for (size_t row = 0; row < rows; row++) {
        const char *text = table->cells[row * table->column_count + index].text;
        int indent = index == 0 ? 2 * depth_of(table, row) : 0;

        names[row] = text ? text : "";
        columns[row] = text_table_larger(3, printing->layout.widths[index] - indent);
    }
    shorten_names(printing->arena, names, columns, rows, printing->style.use_unicode);
    for (size_t row = 0; row < rows; row++)
        printing->names[row * table->column_count + index] = names[row];
}

/* Of columns that are shown: what is left out needs no names. Once for all rows, as a row alone
 * does not know which others look like it. */
static void shorten_columns(struct printing *printing)
{
    const struct text_table *table = printing->table;
    size_t cells = table->row_count * table->column_count;

    printing->names = arena_allocate(printing->arena, (cells + 1) * sizeof *printing->names);
    for (size_t i = 0; i < table->column_count; i++)
        if (table->columns[i].kind == TEXT_COLUMN_NAME && printing->layout.widths[i] > 0)
            shorten_column(printing, i);
}

/* A rule as wide as the table, but no wider than the room: a wrapped rule would look like an
 * empty row. */
static void put_header(struct printing *printing)
{
    const struct layout *layout = &printing->layout;
    int rule = text_table_smaller(width_in_all(printing->table, layout), layout->room);

    for (int line = 0; line < layout->header_lines; line++) {
        put_escape(printing, "\033[1m");
        for (size_t i = 0; i < printing->table->column_count; i++) {
            if (layout->widths[i] == 0)
                continue;
            put_title(printing, i, line);
            printing->pending += GAP;
        }
        put_escape(printing, "\033[0m");
        end_line(printing);
    }
    for (int i = 0; i < rule; i++)
        text_table_put(printing, printing->style.use_unicode ? "─" : "-");
    end_line(printing);
}

/* The widths are handed back for what is written below the table, in line with its columns. */
const int *text_table_write(const struct text_table *table, FILE *output, int indent,
                            struct text_style style, struct arena *arena)
{
    struct printing printing = {.table = table,
                                .output = output,
                                .indent = indent,
                                .pending = indent,
                                .style = style,
                                .arena = arena};

    printing.layout = make_layout(table, style.width - indent, arena);
    if (table->column_count == 0)
        return printing.layout.widths;
    put_header(&printing);
    shorten_columns(&printing);
    for (size_t row = 0; row < table->row_count; row++) {
        for (size_t i = 0; i < table->column_count; i++) {
            if (printing.layout.widths[i] == 0)
                continue;
            put_cell(&printing, row, i);
            printing.pending += GAP;
        }
        end_line(&printing);
    }
    return printing.layout.widths;
}
