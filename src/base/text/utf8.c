/* Text from a trace, character by character. */
#include "base/text/utf8.h"

#include <string.h>

/* Length by the first byte, and the smallest code that needs that length; 0 for a byte that begins
 * none. 0xC0, 0xC1 would only begin overlong forms, 0xF5 and up codes beyond U+10FFFF (RFC
 * 3629). */
static size_t expected_length(unsigned char first)
{
    if (first < 0x80)
        return 1;
    if (first >= 0xC2 && first < 0xE0)
        return 2;
    if (first >= 0xE0 && first < 0xF0)
        return 3;
    if (first >= 0xF0 && first < 0xF5)
        return 4;
    return 0;
}

/* Overlong forms, surrogates and what is beyond U+10FFFF are refused: they are ways to smuggle
 * characters past checks. An invalid byte is one character, so that decoding goes on behind
 * it. */
struct utf8_character utf8_decode(const char *text, size_t length)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    static const unsigned char first_bits[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    const unsigned char *bytes = (const unsigned char *)text;
    const struct utf8_character invalid = {.code = bytes[0], .length = 1, .is_valid = false};
    size_t needed = expected_length(bytes[0]);
    uint32_t code;

    if (needed == 0 || needed > length)
        return invalid;
    code = bytes[0] & first_bits[needed];
    for (size_t i = 1; i < needed; i++) {
        if ((bytes[i] & 0xC0) != 0x80)
            return invalid;
        code = code << 6 | (bytes[i] & 0x3F);
    }
    if (code < smallest[needed] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF))
        return invalid;
    return (struct utf8_character){.code = code, .length = needed, .is_valid = true};
}

size_t utf8_encode(uint32_t code, char *to)
{
    if (code < 0x80) {
        to[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        to[0] = (char)(0xC0 | code >> 6);
        to[1] = (char)(0x80 | (code & 0x3F));
        return 2;
    }
    if (code < 0x10000) {
        to[0] = (char)(0xE0 | code >> 12);
        to[1] = (char)(0x80 | (code >> 6 & 0x3F));
        to[2] = (char)(0x80 | (code & 0x3F));
        return 3;
    }
    to[0] = (char)(0xF0 | code >> 18);
    to[1] = (char)(0x80 | (code >> 12 & 0x3F));
    to[2] = (char)(0x80 | (code >> 6 & 0x3F));
    to[3] = (char)(0x80 | (code & 0x3F));
    return 4;
}

/* Counted first: nearly all texts are whole, and are given back as they are. A replacement has
 * three bytes for one. */
const char *utf8_repaired(struct arena *arena, const char *text)
{
    static const char replacement[] = "\xEF\xBF\xBD";
    const char *end = text + strlen(text);
    size_t bad_count = 0;
    char *copy, *to;

    for (const char *at = text; at < end;) {
        struct utf8_character c = utf8_decode(at, (size_t)(end - at));

        bad_count += !c.is_valid;
        at += c.length;
    }
    if (bad_count == 0)
        return text;
    to = copy = arena_allocate(arena, (size_t)(end - text) + 2 * bad_count + 1);
    while (text < end) {
        struct utf8_character c = utf8_decode(text, (size_t)(end - text));
        size_t length = c.is_valid ? c.length : sizeof replacement - 1;

        memcpy(to, c.is_valid ? text : replacement, length);
        to += length;
        text += c.length;
    }
    return copy;
}

struct code_range {
    uint32_t first;
    uint32_t last;
};

static bool is_in(uint32_t code, const struct code_range *ranges, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (code >= ranges[i].first && code <= ranges[i].last)
            return true;
    }
    return false;
}

/* More than C0 and C1: characters that turn the direction of writing, that are invisible, or
 * that end lines (U+2028), which could make a name look like another. */
bool utf8_is_control(uint32_t code)
{
    static const struct code_range controls[] = {
        {0x0000, 0x001F}, {0x007F, 0x009F}, {0x061C, 0x061C}, {0x200B, 0x200F},   {0x2028, 0x202E},
        {0x2060, 0x206F}, {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB}, {0xE0000, 0xE007F},
    };

    return code < 0x80 ? code < 0x20 || code == 0x7F
                       : is_in(code, controls, sizeof controls / sizeof controls[0]);
}

/* Combining marks take none, East Asian wide characters and pictures two (Unicode Standard
 * Annex 11, in ranges). wcwidth depends on the locale, and gives -1 in "C". */
int utf8_columns(uint32_t code)
{
    static const struct code_range combining[] = {
        {0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x0610, 0x061A}, {0x064B, 0x065F},
        {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x200B, 0x200F}, {0x202A, 0x202E}, {0x2060, 0x2064},
        {0x20D0, 0x20F0}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}, {0xFEFF, 0xFEFF}, {0xE0100, 0xE01EF},
    };
    static const struct code_range wide[] = {
        {0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0x33FF},   {0x3400, 0x4DBF},
        {0x4E00, 0x9FFF},   {0xA000, 0xA4CF},   {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},
        {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},   {0x1F300, 0x1F64F},
        {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD},
    };

    if (code < 0x300)
        return 1;
    if (is_in(code, combining, sizeof combining / sizeof combining[0]))
        return 0;
    return is_in(code, wide, sizeof wide / sizeof wide[0]) ? 2 : 1;
}
