/* What a link of the critical path is: which work, or which wait. */
#include "critical_path/path_kind.h"

const struct path_kind_description path_kinds[PATH_KIND_COUNT] = {
#define PATH_KIND(id, group_, key_, title_, account_) \
    [PATH_##id] = {.group = PATH_GROUP_##group_,      \
                   .key = (key_),                     \
                   .title = (title_),                 \
                   .account = ACCOUNT_##account_},
#include "critical_path/path_kind_list.def"
#undef PATH_KIND
};

const struct path_group_description path_groups[PATH_GROUP_COUNT] = {
#define PATH_GROUP(id, key_, words_) [PATH_GROUP_##id] = {.key = (key_), .words = (words_)},
#include "critical_path/path_kind_list.def"
#undef PATH_GROUP
};

enum path_kind path_kind_of_device(enum kernel_class class)
{
    if (class == KERNEL_COMMUNICATION)
        return PATH_COMMUNICATION;
    if (class == KERNEL_COPY || class == KERNEL_MEMSET)
        return PATH_COPY;
    return kernel_class_is_matrix(class) ? PATH_MATRIX : PATH_OTHER_COMPUTE;
}

enum path_kind path_kind_of_host(enum host_class class)
{
    static const enum path_kind kinds[HOST_CLASS_COUNT] = {
        [HOST_DATA] = PATH_DATA,
        [HOST_SYNC] = PATH_SYNC,
        [HOST_ALLOCATOR] = PATH_ALLOCATOR,
        [HOST_GARBAGE] = PATH_GARBAGE,
        [HOST_CAPTURE] = PATH_RUNTIME,
        [HOST_RUNTIME] = PATH_RUNTIME,
        [HOST_SYSTEM] = PATH_SYSTEM,
        [HOST_OPERATOR] = PATH_OPERATOR,
        [HOST_ANNOTATION] = PATH_ANNOTATION,
        [HOST_PYTHON] = PATH_PYTHON,
        [HOST_NOTHING] = PATH_NOTHING,
    };

    return kinds[class];
}
