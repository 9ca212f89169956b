/* Replaces what is of CUDA alone, phrase by phrase. */
#include "sections/advice/platform_words.h"

#include <stddef.h>
#include <string.h>

static const struct platform_word {
    enum platform platform;
    const char *said;
    const char *instead;
} words[] = {
#define PLATFORM_WORD(platform_, said_, instead_) \
    {.platform = PLATFORM_##platform_, .said = (said_), .instead = (instead_)},
#include "sections/advice/platform_word_list.def"
#undef PLATFORM_WORD
};

const char *platform_words(struct results *results, const char *text, enum platform platform)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *found = words[i].platform == platform ? strstr(text, words[i].said) : NULL;

        if (found)
            text = results_format(results, "%.*s%s%s", (int)(found - text), text, words[i].instead,
                                  found + strlen(words[i].said));
    }
    return text;
}
