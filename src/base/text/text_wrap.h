/* Running text, broken into lines between words. */
#ifndef FLOPLEDGER_BASE_TEXT_TEXT_WRAP_H
#define FLOPLEDGER_BASE_TEXT_TEXT_WRAP_H

#include <stdio.h>

struct text_margins {
    int column; /* where the text begins on the present line: that many columns are written already
                 */
    int indent; /* of the lines that follow */
    int width;  /* no line is longer, unless a single word is */
};

/* Writes `text` and a newline. Newlines in `text` are kept; a line of it that begins with spaces
 * keeps them. */
void write_wrapped(FILE *output, const char *text, struct text_margins margins);

/* Writes `text` as it is, but for lines: paragraphs and items of lists are broken anew, so that
 * none is wider than `width`, and of a table that is wider each row is written as a paragraph of
 * its first cell, with the others below. What stands between ``` stays, as does an indented line.
 */
void write_wrapped_markdown(FILE *output, const char *text, int width);

#endif
