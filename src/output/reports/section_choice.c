/* Which sections of a report are printed. */
#include "output/reports/section_choice.h"

#include "base/text/spelling.h"

#include <stdio.h>
#include <string.h>

struct section_name {
    const char *key;
    const char *name;
    const char *group;
};

static const struct section_name section_names[] = {
#define SECTION_NAME(section_key, section_title, section_of) \
    {#section_key, section_title, section_of},
#include "output/reports/section_name_list.def"
#undef SECTION_NAME
};

enum { SECTION_NAME_COUNT = sizeof section_names / sizeof *section_names, WORD_SIZE = 64 };

static const struct section_name *section_choice_name_of(const char *key)
{
    for (size_t i = 0; i < SECTION_NAME_COUNT; i++)
        if (strcmp(section_names[i].key, key) == 0)
            return &section_names[i];
    return NULL;
}

const char *section_name(const char *key)
{
    const struct section_name *name = section_choice_name_of(key);

    return name ? name->name : key;
}

const char *section_group(const char *key)
{
    const struct section_name *name = section_choice_name_of(key);

    return name && name->group[0] ? name->group : NULL;
}

/* The next of the names, cut where it is too long for one; false behind the last. Cut at
 * WORD_SIZE - 1: longer than any name, so that it matches none. */
static bool next_word(const char **names, char word[WORD_SIZE])
{
    size_t length;

    *names += strspn(*names, ", ");
    length = strcspn(*names, ", ");
    snprintf(word, WORD_SIZE, "%.*s", (int)length, *names);
    *names += length;
    return length > 0;
}

/* '-' and '_' are the same. */
static bool is_same_word(const char *a, const char *b)
{
    for (; *a && *b; a++, b++)
        if (*a != *b && !(strchr("-_", *a) && strchr("-_", *b)))
            return false;
    return *a == *b;
}

static bool means(const struct section_name *name, const char *word)
{
    return is_same_word(word, name->key) || is_same_word(word, name->name) ||
           (name->group[0] && is_same_word(word, name->group));
}

/* A key that the table of names does not have is its own name, so that a new section can be
 * asked for at once. */
bool section_is_chosen(const char *names, const char *key)
{
    const struct section_name own = {key, key, ""};
    const struct section_name *name = section_choice_name_of(key);
    char word[WORD_SIZE];

    while (next_word(&names, word))
        if (means(name ? name : &own, word))
            return true;
    return false;
}

static bool section_choice_is_known(const char *word)
{
    for (size_t i = 0; i < SECTION_NAME_COUNT; i++)
        if (means(&section_names[i], word))
            return true;
    return false;
}

/* Every word has to be known: a mistyped one would else print a page without it, and nobody
 * would notice. */
bool check_section_names(const char *names, struct error *error)
{
    char word[WORD_SIZE];

    if (names[strspn(names, ", ")] == '\0')
        return error_set(error, ERROR_USAGE,
                         "--section names no section: --list-sections prints their names");
    while (next_word(&names, word)) {
        struct spelling best = {0};

        if (section_choice_is_known(word))
            continue;
        for (size_t i = 0; i < SECTION_NAME_COUNT; i++) {
            spelling_consider(&best, word, section_names[i].name);
            spelling_consider(&best, word, section_names[i].group);
        }
        return error_set(error, ERROR_USAGE,
                         "no section is called '%s'%s%s%s: --list-sections prints their names",
                         word, best.word ? ": did you mean '" : "", best.word ? best.word : "",
                         best.word ? "'?" : "");
    }
    return true;
}
