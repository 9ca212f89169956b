/* What the processor has beyond what every one of its kind has, asked when the program runs. Of
 * arm64, NEON is what every one has. */
#ifndef FLOPLEDGER_BASE_CORE_PROCESSOR_H
#define FLOPLEDGER_BASE_CORE_PROCESSOR_H

#include <stdbool.h>

/* Texts and databases are read as they lie in memory, and tested on machines like these two. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the low byte comes first");
_Static_assert((char)-1 < 0, "char has a sign: compile with -fsigned-char");

#ifdef __x86_64__
#include <cpuid.h>
#include <stdatomic.h>
#include <stdint.h>

/* By the instruction itself: not every compiler brings along what __builtin_cpu_supports asks. */
static inline bool ask_processor_for_avx2(void)
{
    const uint32_t saved = 6; /* the system saves the lower and the upper halves of the registers */
    uint32_t a, b, c, d, low, high;

    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE))
        return false;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & saved) == saved && __get_cpuid_count(7, 0, &a, &b, &c, &d) && b & bit_AVX2 &&
           b & bit_BMI && b & bit_BMI2;
}

/* AVX2, and with it BMI and BMI2. */
static inline bool processor_has_avx2(void)
{
    static _Atomic uint8_t known; /* 0: not asked */
    uint8_t answer = atomic_load_explicit(&known, memory_order_relaxed);

    if (!answer) {
        answer = ask_processor_for_avx2() ? 2 : 1;
        atomic_store_explicit(&known, answer, memory_order_relaxed);
    }
    return answer == 2;
}
#endif

/* Each byte of a row in a table of sixteen: row_look_up. */
static inline bool processor_looks_bytes_up(void)
{
#ifdef __x86_64__
    return processor_has_avx2();
#else
    return true;
#endif
}

#endif
