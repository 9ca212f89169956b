/* What the terminal can show. */
#ifndef FLOPLEDGER_BASE_TEXT_TERMINAL_H
#define FLOPLEDGER_BASE_TEXT_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

enum { TERMINAL_WIDTH_DEFAULT = 80 };

/* False under Open MPI's mpirun, where every output looks like a terminal, wherever it goes. */
bool is_terminal(FILE *stream);

/* Columns: COLUMNS if it holds a number, else the terminal's width, else 80 (a file, a pipe). */
int terminal_width(FILE *stream);

/* A terminal, and neither NO_COLOR nor TERM=dumb forbids colour. */
bool terminal_shows_color(FILE *stream);

/* The locale's characters are UTF-8; setlocale(LC_CTYPE, "") must have been called. */
bool locale_is_utf8(void);

#endif
