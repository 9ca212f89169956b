/* The first screen on a terminal: every part has its number of lines, and what is longer is cut. */
#include "base/text/display_text.h"
#include "output/reports/first_screen.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    BAR_COLUMNS_MAX = 40,
    BAR_COLUMNS_MIN = 6,
    TITLE_COLUMNS_MAX = 44,
    TITLE_COLUMNS_MIN = 12,
    PAGE_COLUMNS_MAX = 120, /* beyond it a line is hard to follow */
    SUBJECT_LINES = 2,
    FIGURE_LINES = 3,
    VERDICT_LINES = 3,
    NARROW_COLUMNS = 100,
};

struct printer {
    FILE *output;
    struct text_style style;
    struct arena *arena;
    int width;
};

static void put_code(const struct printer *printer, const char *code)
{
    if (printer->style.use_color)
        fputs(code, printer->output);
}

static const char *const STRONG = "\033[1m";
static const char *const QUIET = "\033[2m";
static const char *const WARNING = "\033[33m";
static const char *const GOOD = "\033[32m";
static const char *const PLAIN = "\033[0m";

static const char *first_screen_text_safe(const struct printer *printer, const char *text)
{
    return display_text(printer->arena, text, printer->style.use_unicode);
}

static const char *dots(const struct printer *printer)
{
    return printer->style.use_unicode ? "…" : "...";
}

/* Whether the first `length` bytes of the text take at most `columns`. In columns, not bytes:
 * characters of other scripts may be two columns wide, and bytes within a character none. */
static bool first_screen_text_fits(const struct printer *printer, const char *text, size_t length,
                                   int columns)
{
    return display_columns(arena_copy_text(printer->arena, text, length)) <= columns;
}

static bool is_inside_character(char byte)
{
    return ((unsigned char)byte & 0xC0) == 0x80;
}

/* Bytes of the longest beginning of `text` that takes at most `columns` and ends at the end of a
 * word; where the first word is wider, as much of it as there is room for, at least a character.
 * The walk ends at the first byte that does not fit; the last end of a word before it is where
 * the line breaks. A word that is longer than the line is cut after as many characters as fit,
 * one at least, or the caller would never go on. */
static size_t fitting_bytes(const struct printer *printer, const char *text, int columns)
{
    size_t length = strlen(text), best = 0, end = 1;

    if (display_columns(text) <= columns)
        return length;
    for (size_t i = 1; i < length && first_screen_text_fits(printer, text, i, columns); i++)
        if (text[i] == ' ' && text[i - 1] != ' ')
            best = i;
    if (best > 0)
        return best;
    while (end < length && is_inside_character(text[end]))
        end++;
    for (size_t i = end + 1; i < length && first_screen_text_fits(printer, text, i, columns); i++)
        if (!is_inside_character(text[i]))
            end = i;
    return end;
}

/* `length`, or where a number in parentheses begins that would be cut: half of it misleads. */
static size_t before_open_number(const char *text, size_t length)
{
    size_t begin = length;

    for (size_t i = 1; i < length; i++) {
        if (text[i] == '(' && text[i - 1] == ' ' && text[i + 1] >= '0' && text[i + 1] <= '9')
            begin = i;
        else if (text[i] == ')')
            begin = length;
    }
    return begin;
}

/* The text in at most `columns`, "…" behind it where it is cut. Behind a cut no comma or bracket
 * stands before the dots. */
static const char *clipped(const struct printer *printer, const char *text, int columns)
{
    const char *end = dots(printer);
    int room = columns - display_columns(end);
    size_t length, size;
    char *result;

    if (display_columns(text) <= columns)
        return text;
    length = before_open_number(text, fitting_bytes(printer, text, room > 1 ? room : 1));
    while (length > 1 && strchr(" ,;:(", text[length - 1]))
        length--;
    size = length + strlen(end) + 1;
    result = arena_allocate(printer->arena, size);
    snprintf(result, size, "%.*s%s", (int)length, text, end);
    return result;
}

/* Bytes of the longest beginning that takes at most `columns` and ends before one of `ends` that
 * stands in no parentheses and in no quotes; 0 where there is none. Separators in brackets or
 * quotes belong to what is quoted. */
static size_t whole_clauses(const struct printer *printer, const char *text, const char *ends,
                            int columns)
{
    size_t best = 0;
    bool is_quoted = false;
    int depth = 0;

    for (size_t i = 0; text[i]; i++) {
        depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
        is_quoted ^= text[i] == '"';
        if (depth == 0 && !is_quoted && strchr(ends, text[i]) && text[i + 1] == ' ') {
            if (!first_screen_text_fits(printer, text, i, columns))
                break;
            best = i;
        }
    }
    return best;
}

/* The text in at most `columns`: clauses that have no room are left out, where at least a third of
 * the line stays; a clause that is longer than that is cut. Clauses end at one of `ends`. A
 * whole clause says something, half a one does not; but a line that is mostly empty says too
 * little, and then the cut is preferred. */
static const char *brief(const struct printer *printer, const char *text, const char *ends,
                         int columns)
{
    size_t length;

    if (display_columns(text) <= columns)
        return text;
    length = whole_clauses(printer, text, ends, columns);
    if (length > 0 && !first_screen_text_fits(printer, text, length, columns / 3))
        return arena_copy_text(printer->arena, text, length);
    return clipped(printer, text, columns);
}

/* What to do, in one line: of several things those that have room, of one its parts, and what is
 * said behind a colon goes last. From the strongest separator to the weakest: things to do,
 * their parts, what is said of them. */
static const char *advice_text(const struct printer *printer, const char *text)
{
    static const char *const ends[] = {";", ",", ":"};
    int columns = printer->width - 3;
    size_t kind = 0;

    while (kind < 2 &&
           first_screen_text_fits(printer, text, whole_clauses(printer, text, ends[kind], columns),
                                  columns / 3))
        kind++;
    return brief(printer, text, ends[kind], columns);
}

/* Writes the text in at most `lines` lines; those after the first begin at `indent`. All lines
 * but the last break at words; what is left is cut. */
static void put_lines(const struct printer *printer, const char *before, const char *text,
                      int indent, int lines)
{
    int column = display_columns(before);

    fputs(before, printer->output);
    for (; lines > 1 && display_columns(text) > printer->width - column; lines--) {
        size_t length = fitting_bytes(printer, text, printer->width - column);

        fprintf(printer->output, "%.*s\n%*s", (int)length, text, indent, "");
        text += length;
        text += strspn(text, " ");
        column = indent;
    }
    fprintf(printer->output, "%s\n", clipped(printer, text, printer->width - column));
}

/* The figures with room between them, none of them broken over two lines. Beyond FIGURE_LINES
 * the rest is left out: the screen has to stay one. */
static void put_figures(const struct printer *printer, const struct first_screen *screen)
{
    int column = 0, lines = 1;

    for (size_t i = 0; i < screen->figure_count; i++) {
        const char *text =
            clipped(printer, first_screen_text_safe(printer, screen->figures[i]), printer->width);
        int columns = display_columns(text);

        if (column > 0 && column + 3 + columns > printer->width) {
            if (lines++ == FIGURE_LINES)
                break;
            fputc('\n', printer->output);
            column = 0;
        }
        if (column > 0)
            fputs("   ", printer->output);
        fputs(text, printer->output);
        column += columns + (column > 0 ? 3 : 0);
    }
    if (screen->figure_count > 0)
        fputc('\n', printer->output);
}

/* Columns of the parts of a row. */
struct chart_layout {
    int group;
    int title;
    int amount;
    int percent;
    int remark;
    int bar;
};

static int first_screen_text_larger(int a, int b)
{
    return a > b ? a : b;
}

static int wider(int columns, const char *text)
{
    int own = text ? display_columns(text) : 0;

    return first_screen_text_larger(own, columns);
}

/* Widths are those of the widest cell. What is left of the line is shared: the title gets at
 * most TITLE_COLUMNS_MAX, but leaves the bar its least; the bar takes the rest. On a very
 * narrow screen the bar is dropped, as bar_steps tells. */
static struct chart_layout chart_layout(const struct printer *printer,
                                        const struct screen_chart *chart)
{
    struct chart_layout layout = {
        .amount = display_columns(first_screen_text_safe(printer, chart->unit)), .percent = 1};
    int fixed, room;

    for (size_t i = 0; i < chart->row_count; i++) {
        layout.group = wider(layout.group, first_screen_text_safe(printer, chart->rows[i].group));
        layout.title = wider(layout.title, first_screen_text_safe(printer, chart->rows[i].title));
        layout.amount = wider(layout.amount, chart->rows[i].amount);
        layout.percent = wider(layout.percent, chart->rows[i].percent);
        if (chart->remark_title)
            layout.remark = wider(layout.remark, chart->rows[i].remark);
    }
    layout.amount = wider(layout.amount, chart->total);
    layout.percent = wider(layout.percent, chart->total ? "100.0" : NULL);
    if (layout.remark > 0)
        layout.remark = wider(layout.remark, chart->remark_title);
    layout.group += layout.group > 0 ? 2 : 0;
    fixed = 2 + layout.group + 2 + layout.amount + 2 + layout.percent +
            (layout.remark > 0 ? 2 + layout.remark : 0);
    room = printer->width - fixed - 2 - BAR_COLUMNS_MIN;
    layout.title =
        first_screen_text_larger(layout.title, display_columns(chart->title) - 2 - layout.group);
    if (layout.title > TITLE_COLUMNS_MAX)
        layout.title = TITLE_COLUMNS_MAX;
    if (layout.title > room)
        layout.title = room > TITLE_COLUMNS_MIN ? room : TITLE_COLUMNS_MIN;
    layout.bar = printer->width - fixed - layout.title - 2;
    if (layout.bar > BAR_COLUMNS_MAX)
        layout.bar = BAR_COLUMNS_MAX;
    return layout;
}

static void put_right(const struct printer *printer, const char *text, int columns)
{
    fprintf(printer->output, "%*s%s", columns - display_columns(text), "", text);
}

static void put_left(const struct printer *printer, const char *text, int columns)
{
    int left = columns - display_columns(text);

    fprintf(printer->output, "%s%*s", text, left > 0 ? left : 0, "");
}

/* The account's color: what is useful is green. */
static const char *bar_color(const struct screen_row *row)
{
    return row->key && (strcmp(row->key, "model") == 0 || strstr(row->key, "kept")) ? GOOD
                                                                                    : "\033[36m";
}

/* Eighths of a column (without Unicode: columns) that the bar has; 0 where there is none. In
 * eighths of a column: Unicode has blocks of that width, so that a share of 1 % is seen. */
static int bar_steps(const struct printer *printer, const struct screen_row *row, double largest,
                     int columns)
{
    int per_column = printer->style.use_unicode ? 8 : 1;

    if (columns < BAR_COLUMNS_MIN)
        return 0;
    return (int)lround(fabs(row->share) / largest * columns * per_column);
}

/* Unicode has blocks of eighths, so that a bar is exact to an eighth of a column. */
static void first_screen_text_put_bar(const struct printer *printer, const struct screen_row *row,
                                      double largest, int columns)
{
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    int per_column = printer->style.use_unicode ? 8 : 1;
    int steps = bar_steps(printer, row, largest, columns);

    if (steps == 0)
        return;
    fputs("  ", printer->output);
    put_code(printer, bar_color(row));
    for (int i = 0; i < steps / per_column; i++)
        fputs(printer->style.use_unicode ? "█" : "#", printer->output);
    fputs(eighths[steps % per_column], printer->output);
    put_code(printer, PLAIN);
}

/* Above zero, as bars are divided by it. */
static double largest_share(const struct screen_chart *chart)
{
    double largest = 1e-9;

    for (size_t i = 0; i < chart->row_count; i++)
        largest = fmax(largest, fabs(chart->rows[i].share));
    return largest;
}

/* The name of a group stands in its first row only. Nothing is padded behind the last thing of
 * a line. */
static void put_row(const struct printer *printer, const struct screen_chart *chart,
                    const struct chart_layout *layout, size_t index)
{
    const struct screen_row *row = &chart->rows[index];
    bool is_first = index == 0 || strcmp(chart->rows[index - 1].group, row->group) != 0;

    fputs("  ", printer->output);
    put_left(printer, is_first ? first_screen_text_safe(printer, row->group) : "", layout->group);
    put_left(printer,
             shorten_name(printer->arena, first_screen_text_safe(printer, row->title),
                          layout->title, printer->style.use_unicode),
             layout->title);
    fputs("  ", printer->output);
    put_right(printer, row->amount, layout->amount);
    fputs("  ", printer->output);
    put_right(printer, row->percent, layout->percent);
    if (layout->remark > 0) {
        bool has_bar = bar_steps(printer, row, largest_share(chart), layout->bar) > 0;

        fputs(row->remark || has_bar ? "  " : "", printer->output);
        put_left(printer, row->remark ? first_screen_text_safe(printer, row->remark) : "",
                 row->remark || has_bar ? layout->remark : 0);
    }
    first_screen_text_put_bar(printer, row, largest_share(chart), layout->bar);
    fputc('\n', printer->output);
}

/* The title may be longer than the names below it and is cut to their width, so that the
 * amounts stay in one column. The total has no bar: it would be as wide as the page. */
static void put_chart(const struct printer *printer, const struct screen_chart *chart)
{
    struct chart_layout layout = chart_layout(printer, chart);
    int title_columns = 2 + layout.group + layout.title;
    const char *title =
        clipped(printer, first_screen_text_safe(printer, chart->title), title_columns);

    fputc('\n', printer->output);
    put_code(printer, STRONG);
    put_left(printer, title, title_columns + 2);
    put_right(printer, first_screen_text_safe(printer, chart->unit), layout.amount);
    fputs("  ", printer->output);
    put_right(printer, "%", layout.percent);
    if (layout.remark > 0)
        fprintf(printer->output, "  %s", chart->remark_title);
    put_code(printer, PLAIN);
    fputc('\n', printer->output);
    for (size_t i = 0; i < chart->row_count; i++)
        put_row(printer, chart, &layout, i);
    if (!chart->total)
        return;
    put_left(printer, "", 2 + layout.group);
    put_left(printer, "total", layout.title + 2);
    put_right(printer, chart->total, layout.amount);
    fputs("  ", printer->output);
    put_right(printer, "100.0", layout.percent);
    fputc('\n', printer->output);
}

/* "1 waiting for data: 58.7 ms of each step (33.6 %)     1.25-1.50x  high" and what to do. The
 * estimate and its confidence are columns of their own on the right; without any the text has
 * the whole line. */
static void put_finding(const struct printer *printer, const struct screen_finding *finding,
                        size_t number, int estimate_columns)
{
    int right = estimate_columns > 0 ? estimate_columns + 2 + 10 : 0;
    int room = printer->width - 3 - right - (right > 0 ? 2 : 0);
    const char *what = first_screen_text_safe(printer, finding->what);

    put_code(printer, STRONG);
    fprintf(printer->output, "%2zu ", number);
    if (finding->estimate || finding->confidence)
        put_left(printer, brief(printer, what, ";", room), room);
    else if (finding->try_this)
        fputs(brief(printer, what, ";", printer->width - 3), printer->output);
    else
        fputs(advice_text(printer, what), printer->output);
    put_code(printer, PLAIN);
    if (finding->estimate || finding->confidence) {
        fputs("  ", printer->output);
        put_left(printer, finding->estimate ? finding->estimate : "", estimate_columns);
        fprintf(printer->output, "  %s", finding->confidence ? finding->confidence : "");
    }
    fputc('\n', printer->output);
    if (finding->try_this)
        fprintf(printer->output, "   %s\n",
                advice_text(printer, first_screen_text_safe(printer, finding->try_this)));
}

/* The column is as wide as its widest estimate; where no finding has one, there is no column
 * and its head is left out. */
static void put_findings(const struct printer *printer, const struct first_screen *screen)
{
    int columns = 0;

    for (size_t i = 0; i < screen->finding_count; i++) {
        columns = wider(columns, screen->findings[i].estimate);
        if (screen->findings[i].confidence)
            columns = wider(columns, "estimate");
    }
    fputc('\n', printer->output);
    put_code(printer, STRONG);
    if (columns > 0) {
        put_left(printer, screen->findings_title, printer->width - columns - 12);
        put_left(printer, "estimate", columns);
        fputs("  confidence", printer->output);
    } else {
        fputs(screen->findings_title, printer->output);
    }
    put_code(printer, PLAIN);
    fputc('\n', printer->output);
    for (size_t i = 0; i < screen->finding_count; i++)
        put_finding(printer, &screen->findings[i], i + 1, columns);
}

/* Warnings stand above what they are about, in full: a cut sentence may lose the "not". */
static void put_warnings(const struct printer *printer, const struct first_screen *screen)
{
    for (size_t i = 0; i < screen->warning_count; i++) {
        put_code(printer, WARNING);
        put_lines(printer, "! ", first_screen_text_safe(printer, screen->warnings[i]), 2, 2);
        put_code(printer, PLAIN);
    }
    if (screen->further_warnings > 0)
        fprintf(printer->output, "! and %zu more: --all prints them\n", screen->further_warnings);
}

/* As many of the names, which have commas between them, as have room in `columns`. Names are cut
 * at a comma, so that each can be typed as it stands. */
static const char *fitting_names(const struct printer *printer, const char *names, int columns)
{
    size_t length = strlen(names);

    while (length > 0 && (int)length > columns)
        while (length > 0 && names[--length] != ',')
            ;
    return arena_copy_text(printer->arena, names, length);
}

/* The fixed text around the names is counted: three zeros of arrays are in the sizes, then
 * blanks and the dot between. */
static void put_end(const struct printer *printer, const struct first_screen *screen)
{
    static const char begin[] = "More: ", option[] = "--section ", rest[] = "--html page.html";
    const char *dot = printer->style.use_unicode ? "·" : "|";
    int fixed = (int)(sizeof begin + sizeof option + sizeof rest) - 3 + 3 + 5 + 3;
    const char *names = fitting_names(printer, screen->sections, printer->width - fixed);

    fputc('\n', printer->output);
    put_code(printer, QUIET);
    if (screen->not_known)
        put_lines(printer, "Not known: ", first_screen_text_safe(printer, screen->not_known), 2,
                  printer->width < NARROW_COLUMNS ? 3 : 2);
    fprintf(printer->output, "%s%s%s%s%s%s--all %s %s\n", begin, *names ? option : "", names,
            *names ? " " : "", *names ? dot : "", *names ? " " : "", dot, rest);
    put_code(printer, PLAIN);
}

/* Each part has its most lines, which bound the whole; a part that has nothing to say leaves no
 * empty line. */
void write_first_screen(FILE *output, const struct first_screen *screen, struct text_style style,
                        struct arena *arena)
{
    struct printer printer = {.output = output,
                              .style = style,
                              .arena = arena,
                              .width =
                                  style.width < PAGE_COLUMNS_MAX ? style.width : PAGE_COLUMNS_MAX};

    put_warnings(&printer, screen);
    put_lines(&printer, "", first_screen_text_safe(&printer, screen->subject), 2, SUBJECT_LINES);
    put_figures(&printer, screen);
    if (screen->verdict) {
        fputc('\n', output);
        put_code(&printer, STRONG);
        put_lines(&printer, "", first_screen_text_safe(&printer, screen->verdict), 0,
                  VERDICT_LINES);
        put_code(&printer, PLAIN);
    }
    if (screen->answer_count > 0)
        fputc('\n', output);
    for (size_t i = 0; i < screen->answer_count; i++)
        put_lines(&printer, "", first_screen_text_safe(&printer, screen->answers[i]), 2, 2);
    if (screen->chart.title && screen->chart.row_count > 0)
        put_chart(&printer, &screen->chart);
    if (screen->finding_count > 0)
        put_findings(&printer, screen);
    put_end(&printer, screen);
}
