/* Texts as the first protocols of pickle write them: with escapes, on a line. */
#include "base/pickle/pickle_text.h"

#include "base/text/utf8.h"

#include <stdint.h>
#include <string.h>

static int digit_value(unsigned char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return 16;
}

/* The number that `count` digits make; false where one is none. */
static bool pickle_text_take_digits(const unsigned char *from, size_t count, int base,
                                    uint32_t *number)
{
    *number = 0;
    for (size_t i = 0; i < count; i++) {
        int digit = digit_value(from[i]);

        if (digit >= base)
            return false;
        *number = *number * (uint32_t)base + (uint32_t)digit;
    }
    return true;
}

bool pickle_decode_raw_unicode(const unsigned char *from, size_t length, char *to, size_t *used)
{
    size_t i = 0;

    *used = 0;
    while (i < length) {
        size_t digits = 0;
        uint32_t code = from[i];

        if (from[i] == '\\' && i + 1 < length)
            digits = from[i + 1] == 'u' ? 4 : from[i + 1] == 'U' ? 8 : 0;
        if (digits) {
            if (length - i - 2 < digits ||
                !pickle_text_take_digits(from + i + 2, digits, 16, &code) || code > 0x10ffff)
                return false;
            i += digits + 1;
        }
        i++;
        *used += utf8_encode(code, to + *used);
    }
    return true;
}

/* One escape at from[0], a backslash; returns how many bytes of `from` it takes, 0: wrong. */
static size_t decode_escape(const unsigned char *from, size_t length, char *to, size_t *used)
{
    static const char letters[] = "\\'\"abfnrtv";
    static const char meanings[] = "\\'\"\a\b\f\n\r\t\v";
    const char *letter;
    uint32_t code;

    if (length < 2)
        return 0;
    letter = from[1] ? strchr(letters, from[1]) : NULL;
    if (letter) {
        to[(*used)++] = meanings[letter - letters];
        return 2;
    }
    if (from[1] == 'x' && length >= 4 && pickle_text_take_digits(from + 2, 2, 16, &code)) {
        to[(*used)++] = (char)code;
        return 4;
    }
    if (from[1] == 'x')
        return 0;
    if (length >= 4 && pickle_text_take_digits(from + 1, 3, 8, &code)) {
        to[(*used)++] = (char)(code & 0xff);
        return 4;
    }
    to[(*used)++] = '\\'; /* as Python has it: an unknown escape stands for itself */
    to[(*used)++] = (char)from[1];
    return 2;
}

bool pickle_decode_quoted(const unsigned char *from, size_t length, char *to, size_t *used)
{
    size_t i = 1;

    *used = 0;
    while (length && (from[length - 1] == '\r' || from[length - 1] == ' '))
        length--;
    if (length < 2 || (from[0] != '\'' && from[0] != '"') || from[length - 1] != from[0])
        return false;
    while (i < length - 1) {
        size_t taken = 1;

        if (from[i] != '\\')
            to[(*used)++] = (char)from[i];
        else
            taken = decode_escape(from + i, length - 1 - i, to, used);
        if (taken == 0)
            return false;
        i += taken;
    }
    return true;
}
