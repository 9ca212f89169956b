/* Text from a trace made fit for a terminal: harmless, measured in columns, and shortened where it
 * is too wide. */
#ifndef FLOPLEDGER_BASE_TEXT_DISPLAY_TEXT_H
#define FLOPLEDGER_BASE_TEXT_DISPLAY_TEXT_H

#include "base/core/arena.h"

#include <stdbool.h>

/* A copy in which nothing can move the cursor, change colours or reorder the line: control
 * characters become \n or \x1b, bytes that are not UTF-8 a replacement character, and without
 * `use_unicode` all else that is not ASCII a '?', but the u of "µs". */
const char *display_text(struct arena *arena, const char *text, bool use_unicode);

/* Text that may be of a file, or the name of one, for a line of words on a terminal. */
struct shown_text {
    char text[2200];
};

/* The same for a line that printf writes, as the locale allows: cut where it is too long for any
 * line, "..." behind it. */
struct shown_text show_text(const char *text);

/* Columns of a terminal that the text, made by display_text, takes. */
int display_columns(const char *text);
/* The same of its first `length` bytes. */
int display_columns_of(const char *text, size_t length);

/* The text cut in its middle, where an ellipsis stands, to at most `columns` (at least 3). */
const char *shorten_middle(struct arena *arena, const char *text, int columns, bool use_unicode);

/* The same for names of operators and kernels: of a C++ name first goes what tells least (its
 * parameters, namespaces, the inner template arguments), and only then the middle. */
const char *shorten_name(struct arena *arena, const char *name, int columns, bool use_unicode);

/* The same of several that stand together, names[count], in their places, each to columns[i]: where
 * two different ones would look alike, what is left of them is where they differ. */
void shorten_names(struct arena *arena, const char **names, const int *columns, size_t count,
                   bool use_unicode);

#endif
