/* Running text, broken into lines between words. */
#include "base/text/text_wrap.h"

#include "base/text/display_text.h"

#include <stdbool.h>
#include <string.h>

static void write_spaces(FILE *output, int count)
{
    if (count > 0)
        fprintf(output, "%*s", count, "");
}

/* One line of the text, which has no newline in it. Greedy: a word goes on the line if it fits.
 * Leading spaces are kept, and lines that follow are indented by as much, so that examples keep
 * their form. A word that is wider than the page stands alone and is not cut. */
static void text_wrap_write_paragraph(FILE *output, const char *text, size_t length,
                                      struct text_margins margins)
{
    const char *end = text + length;
    int column = margins.column;
    size_t spaces = strspn(text, " ");
    bool is_first = true;

    if (spaces > length)
        spaces = length;
    write_spaces(output, (int)spaces);
    column += (int)spaces;
    text += spaces;
    while (text < end) {
        size_t word = strcspn(text, " \n");
        int columns;

        if (word > (size_t)(end - text))
            word = (size_t)(end - text);
        /* Measured in columns, not in bytes: a name with characters beyond ASCII is shorter
         * than its bytes. */
        columns = display_columns_of(text, word);
        if (!is_first && column + 1 + columns > margins.width) {
            fputc('\n', output);
            write_spaces(output, margins.indent + (int)spaces);
            column = margins.indent + (int)spaces;
        } else if (!is_first) {
            fputc(' ', output);
            column++;
        }
        fwrite(text, 1, word, output);
        column += columns;
        is_first = false;
        text += word;
        /* Spaces between words become one, or the line's end. */
        while (text < end && *text == ' ')
            text++;
    }
    fputc('\n', output);
}

/* Line ends of the text stay; what follows one begins at the indent, except at the end and
 * before an empty line, where blanks would trail. */
void write_wrapped(FILE *output, const char *text, struct text_margins margins)
{
    for (;;) {
        size_t length = strcspn(text, "\n");

        text_wrap_write_paragraph(output, text, length, margins);
        text += length;
        if (*text == '\0')
            return;
        text++;
        if (*text != '\0' && *text != '\n')
            write_spaces(output, margins.indent);
        margins.column = margins.indent;
    }
}
