/* Ranks of files whose names have a number and no word for it. */
#include "ranks/numbered_paths.h"

#include "base/core/invariant.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* No path has more numbers that are looked at. */
enum { NUMBERS_MAX = 32 };

/* The numbers of a path, and where their digits are. */
struct path_numbers {
    int64_t values[NUMBERS_MAX]; /* -1: too large */
    const char *starts[NUMBERS_MAX];
    size_t count;
};

static bool numbered_paths_is_digit(char c)
{
    return isdigit((unsigned char)c) != 0;
}

static void find_numbers(struct path_numbers *numbers, const char *path)
{
    numbers->count = 0;
    while (*path && numbers->count < NUMBERS_MAX) {
        int64_t value = 0;

        if (!numbered_paths_is_digit(*path)) {
            path++;
            continue;
        }
        numbers->starts[numbers->count] = path;
        for (; numbered_paths_is_digit(*path); path++)
            value = value > INT32_MAX ? value : value * 10 + (*path - '0');
        numbers->values[numbers->count++] = value > INT32_MAX ? -1 : value;
    }
}

/* Are the paths the same but for the digits in them? */
static bool are_alike(const char *one, const char *other)
{
    while (*one || *other) {
        if (numbered_paths_is_digit(*one) != numbered_paths_is_digit(*other))
            return false;
        if (numbered_paths_is_digit(*one)) {
            one += strspn(one, "0123456789");
            other += strspn(other, "0123456789");
        } else if (*one++ != *other++) {
            return false;
        }
    }
    return true;
}

/* Does a word before the number say that it counts something else than ranks? */
static bool counts_something_else(const char *path, const char *number)
{
    static const char *const words[] = {"step",  "steps", "iter",  "iteration", "epoch", "cycle",
                                        "batch", "run",   "trial", "attempt",   "node",  "part"};
    const char *end = number;

    while (end > path && strchr("_-=.[: ", end[-1]))
        end--;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t length = strlen(words[i]);

        if ((size_t)(end - path) >= length && strncasecmp(end - length, words[i], length) == 0)
            return true;
    }
    return false;
}

/* Is number `place` of the paths 0 to count - 1, each once? Then fills ranks. `seen` is zeroed. */
static bool numbered_paths_take_place(int64_t *ranks, const char *const *paths, size_t count,
                                      size_t place, bool *seen)
{
    for (size_t i = 0; i < count; i++) {
        struct path_numbers numbers;
        int64_t value;

        find_numbers(&numbers, paths[i]);
        if (place >= numbers.count)
            return false;
        value = numbers.values[place];
        if (value < 0 || (size_t)value >= count || seen[value] ||
            counts_something_else(paths[i], numbers.starts[place]))
            return false;
        seen[value] = true;
        ranks[i] = value;
    }
    return true;
}

bool ranks_in_numbered_paths(int64_t *ranks, const char *const *paths, size_t count)
{
    int64_t *found = require_memory(calloc(count + 1, sizeof *found));
    bool *seen = require_memory(calloc(count + 1, sizeof *seen));
    size_t places = 0, chosen = 0;
    bool is_alike = count > 1;

    for (size_t i = 1; i < count; i++)
        is_alike = is_alike && are_alike(paths[0], paths[i]);
    for (size_t place = 0; is_alike && place < NUMBERS_MAX; place++) {
        memset(seen, 0, count * sizeof *seen);
        if (!numbered_paths_take_place(found, paths, count, place, seen))
            continue;
        places++;
        chosen = place;
    }
    memset(seen, 0, count * sizeof *seen);
    if (places == 1)
        (void)numbered_paths_take_place(ranks, paths, count, chosen, seen);
    free(found);
    free(seen);
    return places == 1;
}
