/* What lies where in the memory of another process, as /proc/PID/maps tells. */
#include "live/inject/process_memory.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Beyond what the kernel allows a process by default (vm.max_map_count 65530), so that only a
 * broken file ends here. */
enum { REGIONS_MAX = 1 << 20 };

/* Where the process's root lies, without a slash at its end: "" unless it was moved by chroot. */
static void read_root(char root[static PATH_MAX], long pid)
{
    char entry[64];
    ssize_t length;

    snprintf(entry, sizeof entry, "/proc/%ld/root", pid);
    length = readlink(entry, root, PATH_MAX - 1);
    if (length < 0 || (length > 0 && root[length - 1] == '/'))
        length = length < 0 ? 0 : length - 1;
    root[length] = '\0';
}

/* maps tells paths from the root of all, and the process sees them from its own. */
static const char *below_root(const char *path, const char *root)
{
    size_t length = strlen(root);

    return strncmp(path, root, length) == 0 && path[length] == '/' ? path + length : path;
}

/* Behind the inode stands the path, which may have spaces: what %n counts is the place where
 * it begins. */
static bool parse_region(struct memory_region *region, struct arena *arena, char *line,
                         const char *root)
{
    const char *path;
    char rights[5];
    int at = 0;

    line[strcspn(line, "\n")] = '\0';
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s%n", &region->start,
               &region->end, rights, &region->offset, &at) < 4 ||
        at == 0)
        return false;
    line += at;
    line += strspn(line, " ");
    path = below_root(line, root);
    region->is_code = rights[2] == 'x';
    region->is_written = rights[1] == 'w';
    region->path = arena_copy_text(arena, path, strlen(path));
    return region->end > region->start;
}

/* Paths in maps are seen from the process's own root: in a container, files are opened through
 * that. */
bool process_memory_read(struct process_memory *memory, struct arena *arena, long pid)
{
    char root[PATH_MAX];
    char path[64];
    char *line = NULL;
    size_t room = 0;
    FILE *maps;

    *memory = (struct process_memory){.pid = pid};
    snprintf(path, sizeof path, "/proc/%ld/maps", pid);
    maps = fopen(path, "re");
    if (!maps)
        return false;
    read_root(root, pid);
    while (memory->count < REGIONS_MAX && getline(&line, &room, maps) > 0) {
        struct memory_region region = {0};

        if (parse_region(&region, arena, line, root))
            ARENA_LIST_ADD(arena, memory->regions, memory->count, region);
    }
    free(line);
    fclose(maps);
    return memory->count > 0;
}

const struct memory_region *memory_region_at(const struct process_memory *memory, uint64_t address)
{
    for (size_t i = 0; i < memory->count; i++) {
        if (address >= memory->regions[i].start && address < memory->regions[i].end)
            return &memory->regions[i];
    }
    return NULL;
}

/* start - offset is the same for all regions of a file, whichever comes first. */
uint64_t memory_file_base(const struct process_memory *memory, const char *path)
{
    for (size_t i = 0; i < memory->count; i++) {
        const struct memory_region *region = &memory->regions[i];

        if (strcmp(region->path, path) == 0)
            return region->start - region->offset;
    }
    return 0;
}

/* Only between libraries and other mappings, which the system puts far above the heap; the middle
 * of the largest hole is far from stacks as well. */
uint64_t memory_find_room(const struct process_memory *memory, uint64_t bytes)
{
    const uint64_t high = UINT64_C(1) << 46;
    uint64_t best = 0;
    uint64_t best_bytes = 0;

    for (size_t i = 1; i < memory->count; i++) {
        uint64_t from = memory->regions[i - 1].end;
        uint64_t hole = memory->regions[i].start - from;

        if (from < high || from >= UINT64_C(1) << 47 ||
            memory->regions[i].start > UINT64_C(1) << 47)
            continue;
        if (hole >= 3 * bytes && hole > best_bytes) {
            best_bytes = hole;
            best = from + hole / 2;
        }
    }
    return best - best % 65536;
}

/* /proc/PID/root leads into the file system that the process sees, be it in a container or
 * not. */
const char *process_path(struct arena *arena, long pid, const char *path)
{
    size_t size = strlen(path) + 48;
    char *joined = arena_allocate(arena, size);

    snprintf(joined, size, "/proc/%ld/root%s", pid, path);
    return joined;
}
