/* torch_event_scan_known for processors with AVX2: joints are compared by 32 bytes, and 16 digits
 * are read at once. */
#ifdef __x86_64__
#define SCANS_BY_AVX2
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,bmi,bmi2"))), apply_to = function)
#else
#pragma GCC target("avx2,bmi,bmi2")
#endif
#include "readers/torch_profiler/torch_profiler_known.h"

const char *torch_event_scan_known_avx2(struct json_scan *scan, const char *at,
                                        struct torch_event *event, struct event_layouts *layouts)
{
    return scan_known_event(scan, at, event, layouts->joints);
}
#ifdef __clang__
#pragma clang attribute pop
#endif
#endif
