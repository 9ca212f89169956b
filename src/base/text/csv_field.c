/* Quotes: fields of CSV, and labels of metrics. */
#include "base/text/csv_field.h"

#include "base/text/utf8.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A spreadsheet takes text that begins so for a formula, and runs it. A number is none. */
static bool is_formula(const char *text)
{
    char *end;

    if (!*text || !strchr("=+-@\t\r", *text))
        return false;
    (void)strtod(text, &end);
    return end == text || *end != '\0' || strchr("=@\t\r", *text);
}

/* Line ends stay: they stand in quotes. */
static void write_character(FILE *output, const char *text, struct utf8_character c)
{
    bool is_space = c.code == '\n' || c.code == '\t' || c.code == '\r';

    if (c.is_valid && utf8_is_control(c.code) && !is_space)
        (void)fprintf(output, c.code < 0xA0 ? "\\x%02x" : "\\u%04x", (unsigned)c.code);
    else
        (void)fwrite(text, 1, c.length, output);
}

/* RFC 4180: quotes around what has a comma, quote or line end, and a quote is doubled. The
 * apostrophe before a formula is what OWASP advises against CSV injection: names in a trace
 * come from strangers. */
void csv_write_text(FILE *output, const char *text)
{
    const char *end = text + strlen(text);
    bool is_quoted = strpbrk(text, ",\"\r\n") != NULL;

    if (is_quoted)
        (void)fputc('"', output);
    if (is_formula(text))
        (void)fputc('\'', output);
    while (text < end) {
        struct utf8_character c = utf8_decode(text, (size_t)(end - text));

        if (*text == '"')
            (void)fputc('"', output);
        write_character(output, text, c);
        text += c.length;
    }
    if (is_quoted)
        (void)fputc('"', output);
}

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
