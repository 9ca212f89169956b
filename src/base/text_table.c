/* A table on a page of limited width. */
#include "base/text_table.h"

#include "base/display_text.h"

#include <math.h>
#include <string.h>

enum {
    GAP = 2,            /* columns between two columns */
    NAME_MINIMUM = 12,  /* a name is not cut below this while another column can be left out */
    FIRST_MINIMUM = 26, /* the same for the first column */
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

static int larger(int a, int b)
{
    return a > b ? a : b;
}

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

static int depth_of(const struct text_table *table, size_t row)
{
    return table->depths ? table->depths[row] : 0;
}

/* Lines the title takes in `width` columns; breaks only between words. Words wider than that make
 * it HEADER_LINES_MAX + 1. */
static int title_lines(const char *title, int width)
{
    int lines = 1;
    int column = 0;

    while (*title) {
        int word = (int)strcspn(title, " ");

        if (word > width)
            return HEADER_LINES_MAX + 1;
        if (column > 0 && column + 1 + word > width) {
            lines++;
            column = 0;
        }
        column += word + (column > 0);
        title += word;
        title += strspn(title, " ");
    }
    return lines;
}

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
            width = larger(width, display_columns(text) + indent);
    }
    while (title_lines(head->title, width) > (column == 0 ? 1 : HEADER_LINES_MAX - 1))
        width++;
    return width;
}

/* The least a column can be cut to. */
static int minimum_width(const struct text_table *table, const struct layout *layout, size_t column)
{
    int natural = layout->natural[column];

    if (table->columns[column].kind != TEXT_COLUMN_NAME)
        return natural;
    if (column == 0)
        return smaller(natural, larger(FIRST_MINIMUM, layout->room / 3));
    return smaller(natural, NAME_MINIMUM);
}

static int width_in_all(const struct text_table *table, const struct layout *layout)
{
    int width = -GAP;

    for (size_t i = 0; i < table->column_count; i++)
        width += layout->widths[i] > 0 ? layout->widths[i] + GAP : 0;
    return width;
}

/* Leaves out the least important column that is shown; false where all left are to be shown always.
 */
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

/* Gives the columns of `kind` what is free, up to `maximum` or (0) their natural width, the first
 * ones first. */
static void widen(const struct text_table *table, struct layout *layout, enum text_kind kind,
                  int maximum)
{
    for (size_t i = 0; i < table->column_count; i++) {
        int free_columns = layout->room - width_in_all(table, layout);
        int wanted = maximum > 0 ? maximum : layout->natural[i];

        if (table->columns[i].kind == kind && layout->widths[i] > 0 && layout->widths[i] < wanted &&
            free_columns > 0)
            layout->widths[i] = smaller(wanted, layout->widths[i] + free_columns);
    }
}

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
        layout.widths[0] = larger(4, layout.widths[0] - (width_in_all(table, &layout) - room));
    widen(table, &layout, TEXT_COLUMN_NAME, 0);
    widen(table, &layout, TEXT_COLUMN_BAR, BAR_MAXIMUM);
    for (size_t i = 0; i < table->column_count; i++) {
        if (layout.widths[i] > 0)
            layout.header_lines = larger(
                layout.header_lines,
                smaller(HEADER_LINES_MAX, title_lines(table->columns[i].title, layout.widths[i])));
    }
    return layout;
}

static void write_spaces(FILE *output, int count)
{
    if (count > 0)
        fprintf(output, "%*s", count, "");
}

/* Line `line` of the title broken to `width`: its beginning and length. */
static const char *title_line(const char *title, int width, int line, int *length)
{
    for (;; line--) {
        int taken = 0;

        while (title[taken]) {
            int word = (int)strcspn(title + taken + (taken > 0), " ") + (taken > 0);

            if (taken > 0 && taken + word > width)
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

/* Where a text stands. */
struct field {
    int columns; /* that the text takes */
    int width;   /* that it is given */
    bool is_right;
    bool is_last; /* of its line: no spaces behind it */
};

static void write_aligned(FILE *output, const char *text, struct field field)
{
    if (field.is_right)
        write_spaces(output, field.width - field.columns);
    fputs(text, output);
    if (!field.is_right && !field.is_last)
        write_spaces(output, field.width - field.columns);
}

/* A table on its way to the page. */
struct printing {
    const struct text_table *table;
    struct layout layout;
    size_t last; /* the last column shown */
    FILE *output;
    int indent;
    struct text_style style;
    struct arena *arena;
};

static size_t last_shown(const struct text_table *table, const struct layout *layout)
{
    size_t last = 0;

    for (size_t i = 0; i < table->column_count; i++) {
        if (layout->widths[i] > 0)
            last = i;
    }
    return last;
}

static void write_title(const struct printing *printing, size_t index, int line)
{
    const struct text_column *column = &printing->table->columns[index];
    int width = printing->layout.widths[index];
    int lines = title_lines(column->title, width);
    int own_line = line - (printing->layout.header_lines - lines); /* titles stand at the bottom */
    int length = 0;
    const char *text = "";

    if (own_line >= 0 && column->kind != TEXT_COLUMN_BAR)
        text = title_line(column->title, width, own_line, &length);
    text = arena_copy_text(printing->arena, text, (size_t)length);
    write_aligned(printing->output, text,
                  (struct field){.columns = display_columns(text),
                                 .width = width,
                                 .is_right = column->kind == TEXT_COLUMN_NUMBER,
                                 .is_last = index == printing->last});
}

static void write_bar(const struct printing *printing, double fraction, int width, bool is_last)
{
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    int steps_per_column = printing->style.use_unicode ? 8 : 1;
    int steps = fraction > 0 ? (int)lround(fmin(fraction, 1) * width * steps_per_column) : 0;
    int columns = (steps + steps_per_column - 1) / steps_per_column;
    FILE *output = printing->output;

    fputs(printing->style.use_color && steps > 0 ? "\033[36m" : "", output);
    for (int i = 0; i < steps / steps_per_column; i++)
        fputs(printing->style.use_unicode ? "█" : "#", output);
    fputs(eighths[steps % steps_per_column], output);
    fputs(printing->style.use_color && steps > 0 ? "\033[0m" : "", output);
    write_spaces(output, is_last ? 0 : width - columns);
}

static void write_cell(const struct printing *printing, size_t row, size_t index)
{
    const struct text_cell *cell =
        &printing->table->cells[row * printing->table->column_count + index];
    enum text_kind kind = printing->table->columns[index].kind;
    const char *text = cell->text ? cell->text : "";
    int indent = index == 0 ? 2 * depth_of(printing->table, row) : 0;
    int width = printing->layout.widths[index] - indent;

    if (kind == TEXT_COLUMN_BAR) {
        write_bar(printing, cell->fraction, width, index == printing->last);
        return;
    }
    write_spaces(printing->output, indent);
    if (kind == TEXT_COLUMN_NAME)
        text = shorten_name(printing->arena, text, larger(3, width), printing->style.use_unicode);
    write_aligned(printing->output, text,
                  (struct field){.columns = display_columns(text),
                                 .width = width,
                                 .is_right = kind == TEXT_COLUMN_NUMBER,
                                 .is_last = index == printing->last});
}

static void write_header(const struct printing *printing)
{
    const struct layout *layout = &printing->layout;
    FILE *output = printing->output;
    int rule = smaller(width_in_all(printing->table, layout), layout->room);

    for (int line = 0; line < layout->header_lines; line++) {
        write_spaces(output, printing->indent);
        fputs(printing->style.use_color ? "\033[1m" : "", output);
        for (size_t i = 0; i <= printing->last; i++) {
            if (layout->widths[i] == 0)
                continue;
            write_title(printing, i, line);
            write_spaces(output, i < printing->last ? GAP : 0);
        }
        fputs(printing->style.use_color ? "\033[0m\n" : "\n", output);
    }
    write_spaces(output, printing->indent);
    for (int i = 0; i < rule; i++)
        fputs(printing->style.use_unicode ? "─" : "-", output);
    fputc('\n', output);
}

void text_table_write(const struct text_table *table, FILE *output, int indent,
                      struct text_style style, struct arena *arena)
{
    struct printing printing = {
        .table = table, .output = output, .indent = indent, .style = style, .arena = arena};

    if (table->column_count == 0)
        return;
    printing.layout = make_layout(table, style.width - indent, arena);
    printing.last = last_shown(table, &printing.layout);
    write_header(&printing);
    for (size_t row = 0; row < table->row_count; row++) {
        write_spaces(output, indent);
        for (size_t i = 0; i <= printing.last; i++) {
            if (printing.layout.widths[i] == 0)
                continue;
            write_cell(&printing, row, i);
            write_spaces(output, i < printing.last ? GAP : 0);
        }
        fputc('\n', output);
    }
}
