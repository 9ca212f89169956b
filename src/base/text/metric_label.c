/* Text inside the quotes of Prometheus' formats. */
#include "base/text/metric_label.h"

#include "base/text/utf8.h"

#include <string.h>

/* Prometheus' text format asks for UTF-8, and for these three escapes. */
void metric_write_text(FILE *output, const char *text)
{
    const char *end = text + strlen(text);

    while (text < end) {
        struct utf8_character c = utf8_decode(text, (size_t)(end - text));

        if (!c.is_valid)
            (void)fputs("\xEF\xBF\xBD", output);
        else if (c.code == '\n')
            (void)fputs("\\n", output);
        else if (c.code == '"' || c.code == '\\')
            (void)fprintf(output, "\\%c", (int)c.code);
        else if (!utf8_is_control(c.code))
            (void)fwrite(text, 1, c.length, output);
        text += c.length;
    }
}
