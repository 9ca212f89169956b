/* Fields of comma-separated values. */
#include "base/csv_field.h"

#include <string.h>

void csv_write_text(FILE *output, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        (void)fputs(text, output);
        return;
    }
    (void)fputc('"', output);
    for (; *text; text++) {
        if (*text == '"')
            (void)fputc('"', output);
        (void)fputc(*text, output);
    }
    (void)fputc('"', output);
}
