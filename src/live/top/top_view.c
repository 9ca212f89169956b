/* What the parts of `flopledger top`'s page write with. */
#include "live/top/top_view.h"

#include "base/core/invariant.h"
#include "base/text/text_wrap.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const char *top_text(struct arena *arena, const char *format, ...)
{
    char text[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return arena_copy_text(arena, text, strlen(text));
}

void top_write_wrapped(FILE *output, const struct top_view *view, int indent,
                       void (*write)(FILE *output, const struct top_view *view))
{
    struct text_margins margins = {.indent = indent, .width = view->style.width};
    char *text = NULL;
    size_t length = 0;
    FILE *memory = require_memory(open_memstream(&text, &length));

    write(memory, view);
    (void)fclose(memory);
    for (char *line = text; *line;) {
        size_t line_length = strcspn(line, "\n");
        bool is_last = line[line_length] == '\0';

        line[line_length] = '\0';
        write_wrapped(output, line, margins);
        line += line_length + !is_last;
    }
    free(text);
}
