/* Short names for the compiler attributes the project uses. */
#ifndef FLOPLEDGER_BASE_CORE_ATTRIBUTES_H
#define FLOPLEDGER_BASE_CORE_ATTRIBUTES_H

/* The result must not be ignored: the function can fail. */
#define MUST_USE __attribute__((warn_unused_result))

/* Where a call costs as much as what it does: for each event of a trace. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* The argument number `format_index` is a printf format for the arguments from number `first` on.
 */
#define PRINTF_LIKE(format_index, first) __attribute__((format(printf, format_index, first)))

/* `SCOPED(arena) names = {0};` declares a `struct arena` that `arena_clear` empties at the end of
 * the block. */
#define SCOPED(type) __attribute__((cleanup(type##_clear))) struct type

/* A sanitizer maps terabytes beside the memory that it watches; compilers tell it differently. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SHADOW_MEMORY 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define HAS_SHADOW_MEMORY 1
#endif
#endif

#endif
