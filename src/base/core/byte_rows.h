/* Bytes by rows of sixteen, by what the processor has: SSE2 (AVX2 in files that are compiled for
 * it, *_avx2.c), NEON, or words of 64 bits. Each way answers the same, so that what is written with
 * these functions is written once. Rows are the compilers' vectors: ==, |, & and the like work on
 * each byte; only what they have no word for has a function here. */
#ifndef FLOPLEDGER_BASE_CORE_BYTE_ROWS_H
#define FLOPLEDGER_BASE_CORE_BYTE_ROWS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#ifndef BYTE_ROWS_PORTABLE /* which a test defines */
#if defined __SSE2__
#include <immintrin.h>
#define BYTE_ROWS_X86
#ifdef __AVX2__
#define BYTE_ROWS_AVX2
#endif
#elif defined __ARM_NEON
#include <arm_neon.h>
#define BYTE_ROWS_NEON
#endif
#endif

/* Before a function that is only called where processor_has_avx2(); nothing on other machines. */
#ifdef BYTE_ROWS_X86
#define FOR_AVX2 __attribute__((target("avx2,bmi,bmi2")))
#else
#define FOR_AVX2
#endif

typedef uint8_t byte_row __attribute__((vector_size(16)));
typedef int8_t signed_row __attribute__((vector_size(16)));

static inline byte_row row_load(const void *at)
{
    byte_row row;

    memcpy(&row, at, sizeof row);
    return row;
}

static inline byte_row row_of(char c)
{
    return (byte_row){0} + (uint8_t)c;
}

/* 255 for each byte that is `c`, else 0: what the functions below call a hit and a miss. */
static inline byte_row row_equal(byte_row row, char c)
{
    return (byte_row)(row == row_of(c));
}

/* ---- which bytes ---------------------------------------------------------------------------- */

/* So many bits for each hit, the first lowest. NEON has no instruction that takes one bit of each
 * byte, but one that takes four of each. */
#ifdef BYTE_ROWS_NEON
enum { HIT_BITS = 4 };
typedef uint64_t row_hits;

static inline row_hits row_find(byte_row hits)
{
    return vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16((uint16x8_t)hits, 4)), 0);
}

static inline row_hits row_find_misses(byte_row hits)
{
    return ~row_find(hits);
}

/* The place of the first; there is one. */
static inline unsigned row_first(row_hits hits)
{
    return (unsigned)__builtin_ctzll(hits) / HIT_BITS;
}

static inline unsigned row_first_miss(byte_row hits)
{
    row_hits misses = row_find_misses(hits);

    return misses ? row_first(misses) : 16;
}
#else
typedef unsigned row_hits;

static inline row_hits row_find(byte_row hits)
{
#ifdef BYTE_ROWS_X86
    return (unsigned)_mm_movemask_epi8((__m128i)hits);
#else
    const uint64_t highest = 0x8080808080808080u;
    const uint64_t gather = 0x0002040810204081u; /* moves bit 7 of byte i to bit 56 + i */
    uint64_t halves[2];

    memcpy(halves, &hits, sizeof halves);
    return (unsigned)((halves[0] & highest) * gather >> 56 |
                      (halves[1] & highest) * gather >> 56 << 8);
#endif
}

static inline row_hits row_find_misses(byte_row hits)
{
    return row_find(hits) ^ 0xffff;
}

/* The place of the first; there is one. */
static inline unsigned row_first(row_hits hits)
{
    return (unsigned)__builtin_ctz(hits);
}

/* 16: none. */
static inline unsigned row_first_miss(byte_row hits)
{
    return row_first(~row_find(hits));
}
#endif

/* ---- a bit for each of many bytes ----------------------------------------------------------- */

#ifdef BYTE_ROWS_AVX2
enum { WIDE_BYTES = 32 }; /* of one look */
typedef uint8_t wide_row __attribute__((vector_size(32)));

static inline wide_row wide_load(const char *at)
{
    wide_row row;

    memcpy(&row, at, sizeof row);
    return row;
}

static inline wide_row wide_equal(wide_row row, char c)
{
    return (wide_row)(row == (wide_row){0} + (uint8_t)c);
}

static inline uint32_t wide_bits(wide_row hits)
{
    return (uint32_t)_mm256_movemask_epi8((__m256i)hits);
}

/* Either character in WIDE_BYTES. */
static inline row_hits find_either(const char *at, char a, char b)
{
    wide_row row = wide_load(at);

    return wide_bits(wide_equal(row, a) | wide_equal(row, b));
}

/* Which of 32 bytes are the same in both texts. */
static inline uint32_t same_of_32(const char *a, const char *b)
{
    return wide_bits((wide_row)(wide_load(a) == wide_load(b)));
}

/* Which of 64 bytes are `c` once the bits of `also` are set in them. */
static inline uint64_t find_in_64(const char *at, char also, char c)
{
    wide_row bits = (wide_row){0} + (uint8_t)also;

    return wide_bits(wide_equal(wide_load(at) | bits, c)) |
           (uint64_t)wide_bits(wide_equal(wide_load(at + 32) | bits, c)) << 32;
}

static inline bool is_in_64(const char *at, char c)
{
    return wide_bits(wide_equal(wide_load(at), c) | wide_equal(wide_load(at + 32), c));
}
#else
enum { WIDE_BYTES = 16 };

#ifdef BYTE_ROWS_NEON
/* A bit of its own in each hit; sums of neighbors then put those of eight into a byte. */
static inline byte_row row_weighted(byte_row hits)
{
    return hits & (byte_row){1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
}

static inline byte_row row_sums(byte_row a, byte_row b)
{
    return (byte_row)vpaddq_u8((uint8x16_t)a, (uint8x16_t)b);
}

static inline uint64_t bits_of_rows(byte_row a, byte_row b, byte_row c, byte_row d)
{
    byte_row sums = row_sums(row_sums(row_weighted(a), row_weighted(b)),
                             row_sums(row_weighted(c), row_weighted(d)));

    return vgetq_lane_u64((uint64x2_t)row_sums(sums, sums), 0);
}

static inline uint32_t bits_of_two_rows(byte_row a, byte_row b)
{
    byte_row sums = row_sums(row_weighted(a), row_weighted(b));

    sums = row_sums(sums, sums);
    return vgetq_lane_u32((uint32x4_t)row_sums(sums, sums), 0);
}
#else
static inline uint32_t bits_of_two_rows(byte_row a, byte_row b)
{
    return row_find(a) | (uint32_t)row_find(b) << 16;
}

static inline uint64_t bits_of_rows(byte_row a, byte_row b, byte_row c, byte_row d)
{
    return bits_of_two_rows(a, b) | (uint64_t)bits_of_two_rows(c, d) << 32;
}
#endif

static inline row_hits find_either(const char *at, char a, char b)
{
    byte_row row = row_load(at);

    return row_find(row_equal(row, a) | row_equal(row, b));
}

static inline uint32_t same_of_32(const char *a, const char *b)
{
    return bits_of_two_rows((byte_row)(row_load(a) == row_load(b)),
                            (byte_row)(row_load(a + 16) == row_load(b + 16)));
}

static inline uint64_t find_in_64(const char *at, char also, char c)
{
    byte_row bits = row_of(also);

    return bits_of_rows(row_equal(row_load(at) | bits, c), row_equal(row_load(at + 16) | bits, c),
                        row_equal(row_load(at + 32) | bits, c),
                        row_equal(row_load(at + 48) | bits, c));
}

static inline bool is_in_64(const char *at, char c)
{
    return row_find(row_equal(row_load(at), c) | row_equal(row_load(at + 16), c) |
                    row_equal(row_load(at + 32), c) | row_equal(row_load(at + 48), c));
}
#endif

/* ---- what NEON has, and of x86 what has AVX2 ------------------------------------------------ */

#if defined BYTE_ROWS_NEON || defined BYTE_ROWS_AVX2
#define BYTE_ROWS_LOOK_UP /* in all functions, not only in those FOR_AVX2 */
#endif

#if defined BYTE_ROWS_NEON || defined BYTE_ROWS_X86
/* table[place] for each place of 0 to 15, and 0 for 255. */
FOR_AVX2 static inline byte_row row_look_up(byte_row table, byte_row places)
{
#ifdef BYTE_ROWS_NEON
    return (byte_row)vqtbl1q_u8((uint8x16_t)table, (uint8x16_t)places);
#else
    return (byte_row)_mm_shuffle_epi8((__m128i)table, (__m128i)places);
#endif
}

/* The number that sixteen digits of 0 to 9 make, the first the highest: pairs of them, of pairs,
 * and of those are joined. */
FOR_AVX2 static inline uint64_t row_decimal(byte_row digits)
{
#ifdef BYTE_ROWS_NEON
    uint8x16_t all = (uint8x16_t)digits;
    uint8x8_t tens = vget_low_u8(vuzp1q_u8(all, all));
    uint8x8_t pairs = vmla_u8(vget_low_u8(vuzp2q_u8(all, all)), tens, vdup_n_u8(10));
    uint16x4_t hundreds = vget_low_u16(vmull_u8(vuzp1_u8(pairs, pairs), vdup_n_u8(100)));
    uint16x4_t fours = vadd_u16(hundreds, vget_low_u16(vmovl_u8(vuzp2_u8(pairs, pairs))));
    uint32x4_t ten_thousands = vmull_n_u16(vuzp1_u16(fours, fours), 10000);
    uint32x4_t eights = vaddw_u16(ten_thousands, vuzp2_u16(fours, fours));
    uint64_t halves = vgetq_lane_u64((uint64x2_t)eights, 0);
#else
    const __m128i tens = _mm_set1_epi16(0x010a); /* 10, 1 */
    const __m128i hundreds = _mm_set1_epi32(0x00010064);
    const __m128i ten_thousands = _mm_set1_epi32(0x00012710);
    __m128i fours = _mm_madd_epi16(_mm_maddubs_epi16((__m128i)digits, tens), hundreds);
    __m128i eights = _mm_madd_epi16(_mm_packus_epi32(fours, fours), ten_thousands);
    uint64_t halves = (uint64_t)_mm_cvtsi128_si64(eights);
#endif

    return (halves & UINT32_MAX) * 100000000 + (halves >> 32);
}
#endif

#endif
