/* torch_event_scan_known for processors with AVX2, which this file is compiled for: joints are
 * compared by 32 bytes, and 16 digits are read at once. */
#include "readers/torch_profiler/torch_profiler_known.h"

const char *torch_event_scan_known_avx2(struct json_scan *scan, const char *at,
                                        struct torch_event *event, struct event_layouts *layouts)
{
    return scan_known_event(scan, at, event, layouts->joints);
}
