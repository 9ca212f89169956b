/* Names of ranges that programs put around their training steps. */
#include "ledger/step_names.h"

#include <ctype.h>
#include <string.h>

/* Without spaces, '_' and '-'. What names the whole step stands before what may be a part of it. */
static const char *const words[] = {
    "trainstep",      "trainingstep",
    "trainiteration", "trainingiteration",
    "trainiter",      "runtrainingbatch",
    "iteration",      "iter",
    "globalstep",     "step",
    "batch",          "minibatch",
};
enum { WORD_COUNT = sizeof words / sizeof *words, LETTERS_MAX = 32 };

int step_word_count(void)
{
    return WORD_COUNT;
}

static char in_small_letters(char letter)
{
    return (char)tolower((unsigned char)letter);
}

/* The letters that `name` begins with, in small, without what stands between words. */
static void leading_letters(const char *name, char *to)
{
    size_t length = 0;

    for (; *name && length + 1 < LETTERS_MAX; name++) {
        if (isalpha((unsigned char)*name))
            to[length++] = in_small_letters(*name);
        else if (*name != ' ' && *name != '_' && *name != '-')
            break;
    }
    to[length] = '\0';
}

int step_word_of(const char *name)
{
    char letters[LETTERS_MAX];

    leading_letters(name, letters);
    for (int i = 0; i < WORD_COUNT; i++) {
        if (strcmp(letters, words[i]) == 0)
            return i;
    }
    return -1;
}

int64_t step_number_in(const char *name)
{
    int64_t number = 0;

    while (*name && !isdigit((unsigned char)*name))
        name++;
    if (!*name)
        return -1;
    for (; isdigit((unsigned char)*name); name++) {
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, *name - '0', &number))
            return -1;
    }
    return number;
}
