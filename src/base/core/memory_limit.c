/* How much memory this process may take. */
#include "base/core/memory_limit.h"

#include "base/core/attributes.h"
#include "base/core/out_of_memory.h"
#include "base/core/page_size.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* With less, not even the program's own libraries work. */
static const int64_t limit_bytes_min = (int64_t)64 << 20;

static int64_t limit_bytes; /* 0: none */
static struct rlimit before;
static bool is_before_known;

/* ---- what is left --------------------------------------------------------------------------- */

/* The number behind `word` in a small file of the kernel; of an empty `word` the first. -1: none.
 */
static int64_t memory_limit_number_in(const char *path, const char *word)
{
    char line[512];
    int64_t number = -1;
    FILE *file = fopen(path, "re");

    if (!file)
        return -1;
    while (number < 0 && fgets(line, sizeof line, file)) {
        const char *digits = line + strlen(word);
        char *end;
        long long value;

        if (strncmp(line, word, strlen(word)) != 0)
            continue;
        value = strtoll(digits, &end, 10);
        number = end > digits && value >= 0 ? (int64_t)value : -1; /* "max" is no number */
    }
    (void)fclose(file);
    return number;
}

/* What the names of a version's files are. */
struct group_files {
    const char *mount; /* below which the group's folder lies */
    const char *limit;
    const char *used;
    const char *cache; /* in memory.stat: what is given back when memory is short */
};

/* Version 2 of control groups first, then version 1. What a group has in cached pages of files
 * (the last name) can be taken back by the kernel, so it counts as free. */
static const struct group_files group_versions[] = {
    {"/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file "},
    {"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
     "total_inactive_file "},
};

enum { GROUP_PATH_MAX = 1024 };

/* Pages of files that were read are counted as used, but are given back when memory is short:
 * they are added again. */
static int64_t left_in_group(const struct group_files *files, const char *folder)
{
    char path[GROUP_PATH_MAX + 64];
    int64_t limit, used, cache, left;

    (void)snprintf(path, sizeof path, "%s/%s", folder, files->limit);
    limit = memory_limit_number_in(path, "");
    (void)snprintf(path, sizeof path, "%s/%s", folder, files->used);
    used = memory_limit_number_in(path, "");
    (void)snprintf(path, sizeof path, "%s/memory.stat", folder);
    cache = memory_limit_number_in(path, files->cache);
    /* version 1's "none" is as many whole pages as a number holds */
    if (limit < 0 || used < 0 || limit > INT64_MAX - PAGE_BYTES_MOST)
        return -1;
    left = limit - used + (cache > 0 ? cache : 0);
    return left < 0 ? 0 : left > limit ? limit : left;
}

static int64_t smaller_known(int64_t a, int64_t b)
{
    return b < 0 ? a : a < 0 || b < a ? b : a;
}

/* The least of the group's and of those above it, which limit it too. Limits of the groups above
 * hold for all below them together. */
static int64_t left_up_to_root(const struct group_files *files, const char *root, const char *group)
{
    char folder[GROUP_PATH_MAX];
    size_t mount_length = strlen(root) + strlen(files->mount);
    int64_t left = -1;
    char *slash;

    if (snprintf(folder, sizeof folder, "%s%s%s", root, files->mount, group) >= (int)sizeof folder)
        return -1;
    for (;;) {
        left = smaller_known(left, left_in_group(files, folder));
        slash = strrchr(folder + mount_length, '/');
        if (!slash)
            return left;
        *slash = '\0';
    }
}

/* A line of /proc/self/cgroup: "0::/user.slice", or "4:cpu,memory:/job" of version 1. */
static int64_t left_by_line(char *line, const char *root)
{
    char *names = strchr(line, ':');
    char *group = names ? strchr(names + 1, ':') : NULL;
    bool is_second;

    if (!group)
        return -1;
    *group++ = '\0';
    group[strcspn(group, "\n")] = '\0';
    is_second = names[1] == '\0';
    if (!is_second && !strstr(names + 1, "memory"))
        return -1;
    return left_up_to_root(&group_versions[is_second ? 0 : 1], root,
                           strcmp(group, "/") == 0 ? "" : group);
}

/* The machine's own number and the group's: in a container /proc/meminfo is that of the whole
 * machine. */
int64_t memory_left_bytes(const char *root)
{
    char path[GROUP_PATH_MAX];
    char line[GROUP_PATH_MAX];
    int64_t available_kib;
    int64_t left = -1;
    FILE *groups;

    (void)snprintf(path, sizeof path, "%s/proc/meminfo", root);
    available_kib = memory_limit_number_in(path, "MemAvailable:");
    if (available_kib >= 0 && available_kib < INT64_MAX / 1024)
        left = available_kib * 1024;
    (void)snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    groups = fopen(path, "re");
    while (groups && fgets(line, sizeof line, groups))
        left = smaller_known(left, left_by_line(line, root));
    if (groups)
        (void)fclose(groups);
    return left;
}

/* ---- the limit ------------------------------------------------------------------------------ */

/* RLIMIT_DATA, not RLIMIT_AS: files that are mapped take address space, and no memory. */
static void put_in_force(void)
{
#ifndef HAS_SHADOW_MEMORY /* beside it nothing could be limited */
    struct rlimit wanted;

    if (!is_before_known && getrlimit(RLIMIT_DATA, &before) != 0)
        return;
    is_before_known = true;
    wanted = before;
    if ((rlim_t)limit_bytes < wanted.rlim_cur) /* RLIM_INFINITY is the largest */
        wanted.rlim_cur = (rlim_t)limit_bytes;
    (void)setrlimit(RLIMIT_DATA, &wanted);
#endif
}

void memory_limit_set(int64_t bytes)
{
    limit_bytes = bytes < limit_bytes_min ? limit_bytes_min : bytes;
    out_of_memory_limit(limit_bytes, true);
    put_in_force();
}

/* A tenth stays for others, and for what the kernel needs for this process. */
void memory_limit_set_usual(void)
{
    int64_t left = memory_left_bytes("");

    if (left < 0)
        return;
    limit_bytes = left / 10 * 9;
    if (limit_bytes < limit_bytes_min)
        limit_bytes = limit_bytes_min;
    out_of_memory_limit(limit_bytes, false);
    put_in_force();
}

int64_t memory_limit_bytes(void)
{
    return limit_bytes;
}

/* For a moment, while a program is started that inherits limits: a pager or Python shall not
 * have ours. */
void memory_limit_suspend(void)
{
    if (is_before_known)
        (void)setrlimit(RLIMIT_DATA, &before);
}

void memory_limit_resume(void)
{
    if (is_before_known)
        put_in_force();
}
