/* What RPD writes of ops and calls means, in its databases and in the JSON made of them. */
#include "base/core/sort.h"
#include "base/text/prefix.h"
#include "readers/rocprof/rpd_reading.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- ops ------------------------------------------------------------------------------------ */

/* Each recorder behind RPD has words of its own: roctracer, rocprofiler-sdk, HIP, CUPTI. */
enum rocprof_content rpd_content_of(const char *type)
{
    static const struct {
        const char *word;
        enum rocprof_content content;
    } words[] = {
        {"Fill", ROCPROF_FILLS},     {"Memset", ROCPROF_FILLS},  {"FILL", ROCPROF_FILLS},
        {"Copy", ROCPROF_COPIES},    {"COPY", ROCPROF_COPIES},   {"Memcpy", ROCPROF_COPIES},
        {"Barrier", ROCPROF_UNUSED}, {"Marker", ROCPROF_UNUSED},
    };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(type, words[i].word))
            return words[i].content;
    return ROCPROF_KERNELS;
}

/* RPD records through CUPTI where there is one: "cudaLaunchKernel", "cuLaunchKernel". */
bool rpd_is_of_cuda(const char *call)
{
    return has_prefix(call, "cu");
}

/* By the type, else by the kind that the call gave: hipMemcpyKind, which is cudaMemcpyKind; but
 * HIP's own profiler counts kinds of its own, rectangles and images apart. */
const char *rpd_way_of(const char *type, const char *call, int64_t kind)
{
    static const char *const types[][2] = {
        {"HostToDevice", "HOST_TO_DEVICE"},
        {"DeviceToHost", "DEVICE_TO_HOST"},
        {"DeviceToDevice", "DEVICE_TO_DEVICE"},
    };
    const bool has_own_kinds = strcmp(type, "Memcpy") == 0 && !rpd_is_of_cuda(call);
    const int64_t way = has_own_kinds ? (kind + 2) / 3 : kind;

    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strstr(type, types[i][0]) || strstr(type, types[i][1]))
            return types[i][1];
    if (strstr(type, "HOST_TO_HOST"))
        return "HOST_TO_HOST";
    return way >= 1 && way <= 3 ? types[way - 1][1] : "?";
}

/* ---- calls ---------------------------------------------------------------------------------- */

/* The tracer writes down its own work as calls; before schema 3 its names are all that tells. */
static bool rpd_is_overhead(const char *domain, const char *name)
{
    static const char *const names[] = {"rpdflush", "hcc_activity_callback", "BLOCKING", NULL};

    if (strcmp(domain, "rpd_tracer") == 0 || strstr(name, "::writeRows") ||
        strstr(name, "::buffer_callback"))
        return true;
    for (const char *const *one = names; *one; one++)
        if (strcmp(name, *one) == 0)
            return true;
    return false;
}

/* Domains are free: HIP's and CUDA's are calls, all others are ranges that a program or library
 * names. Before schema 3 there were none. */
enum rocprof_content rpd_content_of_call(const char *domain, const char *name)
{
    static const char *const calls[] = {"hip", "cuda", "hsa_", "nccl", "__hip", NULL};

    if (strcmp(name, "UserMarker") == 0)
        return ROCPROF_MARKERS;
    if (rpd_is_overhead(domain, name))
        return ROCPROF_OVERHEAD;
    if (strcmp(domain, "hip") == 0 || strcmp(domain, "cuda") == 0)
        return ROCPROF_CALLS;
    for (const char *const *start = calls; *start; start++)
        if (has_prefix(name, *start))
            return ROCPROF_CALLS;
    return name[0] == 'c' && name[1] == 'u' && isupper((unsigned char)name[2]) ? ROCPROF_CALLS
                                                                               : ROCPROF_MARKERS;
}

/* Whose device it is, no column tells: the names of the calls do. */
void rpd_add_call(struct rocprof_run *run, enum rocprof_content content,
                  const struct rocprof_record *record)
{
    static const char *const categories[] = {[ROCPROF_CALLS] = "calls",
                                             [ROCPROF_OVERHEAD] = "rpd_tracer",
                                             [ROCPROF_MARKERS] = "UserMarker"};
    const char *name =
        string_pool_text(&run->builder.strings, (uint32_t)record->values[ROCPROF_OPERATION]);

    if (content == ROCPROF_CALLS && rpd_is_of_cuda(name))
        run->builder.facts.is_rocm = 0;
    rocprof_run_set_category(run, categories[content]);
    rocprof_run_add(run, content, record);
}

/* ---- processes ------------------------------------------------------------------------------ */

/* There are few, since each is a pass over the file. */
bool rpd_is_part(const struct rpd_parts *parts, int64_t pid)
{
    for (uint32_t i = 0; i < parts->count; i++)
        if (parts->parts[i].pid == pid)
            return true;
    return false;
}

/* In the order in which they are met, until all are there. */
void rpd_parts_add(struct rpd_parts *parts, const struct rpd_part *part)
{
    if (rpd_is_part(parts, part->pid))
        return;
    if (parts->count == READER_PARTS_MAX)
        parts->are_too_many = true;
    else
        parts->parts[parts->count++] = *part;
}

/* Workers of one machine use its devices in the order of their ranks, as a rule. */
static int rpd_part_order(const void *a, const void *b)
{
    const struct rpd_part *left = a, *right = b;

    return left->device != right->device ? ORDER_OF(left->device, right->device)
                                         : ORDER_OF(left->pid, right->pid);
}

void rpd_parts_sort(struct rpd_parts *parts)
{
    qsort(parts->parts, parts->count, sizeof *parts->parts, rpd_part_order);
}
