/* Shortened names that stand together are still different ones. */
#include "base/core/arena.h"
#include "base/text/display_text.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A name, and what it is cut to. */
struct cut_name {
    const char *name;
    const char *cut;
    size_t place;
};

static int compare_cut_names(const void *left, const void *right)
{
    const struct cut_name *a = left;
    const struct cut_name *b = right;
    int order = strcmp(a->cut, b->cut);

    return order ? order : strcmp(a->name, b->name);
}

/* Where two names begin to differ, at the start of a character; 0 where they do not. */
static size_t place_of_difference(const char *name, const char *other)
{
    size_t at = 0;

    while (name[at] && name[at] == other[at])
        at++;
    if (!name[at] && !other[at])
        return 0;
    while (at > 0 && ((unsigned char)name[at] & 0xC0) == 0x80)
        at--;
    return at;
}

/* The first `columns` of a text, or its last. */
static const char *end_of_text(const char *text, int columns)
{
    while (*text && display_columns(text) > columns)
        for (text++; ((unsigned char)*text & 0xC0) == 0x80; text++)
            continue;
    return text;
}

/* Of characters that are whole within so many columns. */
static int bytes_of_columns(const char *text, int columns)
{
    int bytes = 0;

    while (text[bytes]) {
        int next = bytes + 1;

        while (((unsigned char)text[next] & 0xC0) == 0x80)
            next++;
        if (display_columns_of(text, (size_t)next) > columns)
            break;
        bytes = next;
    }
    return bytes;
}

/* "ampere_sgemm…128x64_nn": a third is the name's beginning, and then it goes on where it differs
 * from the others. Where all from there on fits, it is as much of the end as fits. */
static const char *cut_to_difference(struct arena *arena, const char *name, size_t at, int columns,
                                     bool use_unicode)
{
    const char *ellipsis = use_unicode ? "…" : "..";
    int dots = use_unicode ? 1 : 2;
    int head = (columns - 2 * dots) / 3, rest = columns - head - dots;
    int head_bytes = bytes_of_columns(name, head), tail_bytes;
    const char *tail = name + at, *end = end_of_text(name, rest);
    size_t size = strlen(name) + 2 * sizeof "…";
    char *text = arena_allocate(arena, size);

    if (at <= (size_t)head_bytes) {
        head_bytes = bytes_of_columns(name, columns - dots);
        (void)snprintf(text, size, "%.*s%s", head_bytes, name, ellipsis);
        return text;
    }
    if (end <= tail) {
        (void)snprintf(text, size, "%.*s%s%s", head_bytes, name, ellipsis, end);
        return text;
    }
    tail_bytes = bytes_of_columns(tail, rest - dots);
    (void)snprintf(text, size, "%.*s%s%.*s%s", head_bytes, name, ellipsis, tail_bytes, tail,
                   ellipsis);
    return text;
}

struct shortening {
    const char **names;
    const int *columns;
    struct arena *arena;
    bool use_unicode;
};

/* Sorted, each name differs latest from one of its neighbors. */
static void tell_apart(struct shortening *made, const struct cut_name *alike, size_t count)
{
    /* Names of kernels often agree far into their arguments: where a name differs from the one
     * before it and from the one behind it, it differs from all that are alike. */
    int least = made->use_unicode ? 3 : 5; /* one character between two ellipses */

    for (size_t i = 0; i < count; i++) {
        size_t before = i > 0 ? place_of_difference(alike[i].name, alike[i - 1].name) : 0;
        size_t behind = i + 1 < count ? place_of_difference(alike[i].name, alike[i + 1].name) : 0;
        size_t place = alike[i].place;

        if (made->columns[place] >= least && strcmp(alike[0].name, alike[count - 1].name) != 0)
            made->names[place] =
                cut_to_difference(made->arena, alike[i].name, before > behind ? before : behind,
                                  made->columns[place], made->use_unicode);
    }
}

/* Only cut names can have become alike by it: those that stand whole are told apart by being so.
 * Names of one look that are all the same name stay. */
void shorten_names(struct arena *arena, const char **names, const int *columns, size_t count,
                   bool use_unicode)
{
    struct shortening made = {names, columns, arena, use_unicode};
    struct cut_name *cut = arena_allocate(arena, (count + 1) * sizeof *cut);
    size_t cut_count = 0, end;

    for (size_t i = 0; i < count; i++) {
        const char *name = names[i];

        names[i] = shorten_name(arena, name, columns[i], use_unicode);
        if (names[i] != name)
            cut[cut_count++] = (struct cut_name){.name = name, .cut = names[i], .place = i};
    }
    qsort(cut, cut_count, sizeof *cut, compare_cut_names);
    for (size_t i = 0; i < cut_count; i = end) {
        for (end = i + 1; end < cut_count && strcmp(cut[i].cut, cut[end].cut) == 0; end++)
            continue;
        tell_apart(&made, &cut[i], end - i);
    }
}
