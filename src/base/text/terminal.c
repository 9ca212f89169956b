/* What the terminal can show. */
#include "base/text/terminal.h"

#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* mpirun gives its processes a terminal that several of them write to: no bars or colors
 * there. */
bool is_terminal(FILE *stream)
{
    return !getenv("OMPI_COMM_WORLD_SIZE") && isatty(fileno(stream));
}

/* COLUMNS goes first, as a user may set it; the terminal itself is asked next. */
int terminal_width(FILE *stream)
{
    const char *columns = getenv("COLUMNS");
    struct winsize size;
    char *end;
    long width;

    if (columns && *columns) {
        width = strtol(columns, &end, 10);
        if (*end == '\0' && width > 0 && width <= 10000)
            return (int)width;
    }
    if (is_terminal(stream) && ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return TERMINAL_WIDTH_DEFAULT;
}

/* NO_COLOR: no-color.org. */
bool terminal_shows_color(FILE *stream)
{
    const char *no_color = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");

    if ((no_color && *no_color) || !terminal || strcmp(terminal, "dumb") == 0)
        return false;
    return is_terminal(stream);
}

bool locale_is_utf8(void)
{
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}
