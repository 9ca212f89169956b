/* Bytes as text (RFC 4648): by sixteen digits at once where the processor can look bytes up, else
 * by a table of pairs of digits. */
#include "base/text/base64.h"

#include "base/core/byte_rows.h"
#include "base/core/processor.h"

#include <endian.h>

/* Two digits for each twelve bits: [2 * bits]. Filled at the first use; the last byte tells whether
 * it is. */
static const char *digit_pairs(void)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    static char pairs[2 << 12];

    for (size_t bits = 0; !pairs[sizeof pairs - 1] && bits < sizeof pairs / 2; bits++) {
        pairs[2 * bits] = digits[bits >> 6];
        pairs[2 * bits + 1] = digits[bits & 63];
    }
    return pairs;
}

/* Two look-ups for three bytes instead of four: a page has megabytes of this. */
static char *put_four(char *out, const char *pairs, const unsigned char three[3])
{
    uint32_t group = (uint32_t)three[0] << 16 | (uint32_t)three[1] << 8 | three[2];

    memcpy(out, &pairs[2 * (size_t)(group >> 12)], 2);
    memcpy(out + 2, &pairs[2 * (size_t)(group & 4095)], 2);
    return out + 4;
}

/* Six of eight bytes that may be read, their first in the highest bits. */
static char *put_eight(char *out, const char *pairs, const unsigned char eight[8])
{
    uint64_t group;

    memcpy(&group, eight, sizeof group);
    group = be64toh(group) >> 16;
    memcpy(out, &pairs[2 * (size_t)(group >> 36)], 2);
    memcpy(out + 2, &pairs[2 * (size_t)(group >> 24 & 4095)], 2);
    memcpy(out + 4, &pairs[2 * (size_t)(group >> 12 & 4095)], 2);
    memcpy(out + 6, &pairs[2 * (size_t)(group & 4095)], 2);
    return out + 8;
}

#if defined BYTE_ROWS_X86 || defined BYTE_ROWS_NEON
/* Of each four bytes, which hold the second, first, third and second of three, six bits each become
 * bytes of their own. */
FOR_AVX2 static inline byte_row six_bits_apart(byte_row bytes)
{
#ifdef BYTE_ROWS_NEON
    /* the first and the third go down by 10 and 6 bits, the second and the fourth up by 4 and 8 */
    const int16x8_t down = {-10, -6, -10, -6, -10, -6, -10, -6};
    const int16x8_t up = {4, 8, 4, 8, 4, 8, 4, 8};
    uint16x8_t odd = vandq_u16((uint16x8_t)bytes, (uint16x8_t)vdupq_n_u32(0x0fc0fc00));
    uint16x8_t even = vandq_u16((uint16x8_t)bytes, (uint16x8_t)vdupq_n_u32(0x003f03f0));

    return (byte_row)vorrq_u16(vshlq_u16(odd, down), vshlq_u16(even, up));
#else
    /* shifts by different numbers of bits are products */
    __m128i odd = _mm_mulhi_epu16(_mm_and_si128((__m128i)bytes, _mm_set1_epi32(0x0fc0fc00)),
                                  _mm_set1_epi32(0x04000040));
    __m128i even = _mm_mullo_epi16(_mm_and_si128((__m128i)bytes, _mm_set1_epi32(0x003f03f0)),
                                   _mm_set1_epi32(0x01000010));

    return (byte_row)_mm_or_si128(odd, even);
#endif
}

/* What each number has above 51, and 0 below. */
FOR_AVX2 static inline byte_row above_51(byte_row numbers)
{
#ifdef BYTE_ROWS_NEON
    return (byte_row)vqsubq_u8((uint8x16_t)numbers, vdupq_n_u8(51));
#else
    return (byte_row)_mm_subs_epu8((__m128i)numbers, _mm_set1_epi8(51));
#endif
}

/* Twelve bytes of sixteen that may be read become sixteen digits: a number of six bits becomes its
 * digit by what lies between the two (W. Muła, D. Lemire, "Faster Base64 encoding and decoding
 * using AVX2 instructions", 2018). */
FOR_AVX2 static inline char *put_sixteen(char *out, const unsigned char *sixteen)
{
    const byte_row places = {1, 0, 2, 1, 4, 3, 5, 4, 7, 6, 8, 7, 10, 9, 11, 10};
    /* By what remains of the number above 51, and 13 for those below 26. */
    const signed_row distances = {'a' - 26, '0' - 52, '0' - 52, '0' - 52, '0' - 52, '0' - 52,
                                  '0' - 52, '0' - 52, '0' - 52, '0' - 52, '0' - 52, '+' - 62,
                                  '/' - 63, 'A',      0,        0};
    byte_row numbers = six_bits_apart(row_look_up(row_load(sixteen), places));
    byte_row is_upper = (byte_row)((signed_row)numbers < (signed_row)row_of(26));
    byte_row ranges = above_51(numbers) | (is_upper & row_of(13));
    byte_row digits = numbers + row_look_up((byte_row)distances, ranges);

    memcpy(out, &digits, sizeof digits);
    return out + 16;
}

/* Returns how many bytes are written as digits. */
FOR_AVX2 static size_t put_most(char *out, const unsigned char *bytes, size_t length)
{
    size_t at = 0;

    for (; at + 16 <= length; at += 12)
        out = put_sixteen(out, bytes + at);
    return at;
}
#endif

/* '=' stands for what the last group has too few. */
size_t base64_encode(char *out, const unsigned char *bytes, size_t length)
{
    const char *pairs = digit_pairs();
    const char *start = out;
    size_t rest = length % 3;
    size_t whole = length - rest;
    unsigned char last[3] = {0};
    size_t at = 0;

#if defined BYTE_ROWS_X86 || defined BYTE_ROWS_NEON
    if (processor_looks_bytes_up())
        at = put_most(out, bytes, length);
    out += at / 3 * 4;
#endif
    for (; at + 8 <= length; at += 6)
        out = put_eight(out, pairs, bytes + at);
    for (; at < whole; at += 3)
        out = put_four(out, pairs, bytes + at);
    if (rest) {
        memcpy(last, bytes + whole, rest);
        out = put_four(out, pairs, last);
    }
    for (size_t i = rest; i > 0 && i < 3; i++) /* what the last group has too few */
        out[(ptrdiff_t)i - 3] = '=';
    return (size_t)(out - start);
}
