/* Tells at one look whether any of some words stands in a line. */
#include "readers/logs/log_words.h"

#include <assert.h>
#include <string.h>

/* Pairs of characters in 8 bytes that are looked at together. */
enum { PAIRS_AT_ONCE = 7 };

static unsigned log_words_pair_at(const char *at)
{
    return (unsigned)(unsigned char)at[0] | (unsigned)(unsigned char)at[1] << 8;
}

/* How often a character stands in a log, more or less. */
static int commonness(char c)
{
    static const char letters[] = "zqjxkvbywgpfmucdlhrsnioate "; /* the rarest first */
    const char *found = c ? strchr(letters, c) : NULL;

    if (found)
        return 6 + (int)(found - letters);
    return c >= '0' && c <= '9' ? 20 : 5;
}

/* Where the two characters stand that are the rarest. */
static int rarest_pair(const char *text)
{
    int best = 0;

    for (int i = 1; text[i] && text[i + 1]; i++)
        if (commonness(text[i]) * commonness(text[i + 1]) <
            commonness(text[best]) * commonness(text[best + 1]))
            best = i;
    return best;
}

/* By its rarest pair of characters: the common ones would stop at every other place of a line. */
void log_words_add(struct log_words *words, const char *text)
{
    struct log_word *word = &words->words[words->count];
    unsigned pair;

    assert(words->count < LOG_WORDS_MAX && text[0] && text[1]);
    *word = (struct log_word){.text = text, .place = rarest_pair(text)};
    pair = log_words_pair_at(text + word->place);
    word->next = words->first[pair];
    words->first[pair] = (uint8_t)++words->count;
}

/* Does a word stand in the line whose pair is at `at`? */
static bool is_word_at(const struct log_words *words, struct log_text line, const char *at)
{
    for (int i = words->first[log_words_pair_at(at)]; i; i = words->words[i - 1].next) {
        const struct log_word *word = &words->words[i - 1];
        struct log_text rest = {at - word->place, line.end};

        if (at - line.at >= word->place && log_skip(&rest, word->text))
            return true;
    }
    return false;
}

/* Seven pairs at a look: a table of 64 KiB says for each whether any word has it, and most
 * looks find none. O(bytes of the line / 7). */
bool log_words_find_any(const struct log_words *words, struct log_text line)
{
    const uint8_t *first = words->first;
    const char *at = line.at;

    for (; line.end - at > PAIRS_AT_ONCE; at += PAIRS_AT_ONCE) {
        uint64_t bytes;

        memcpy(&bytes, at, sizeof bytes);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
        if (!(first[bytes & 0xffff] | first[bytes >> 8 & 0xffff] | first[bytes >> 16 & 0xffff] |
              first[bytes >> 24 & 0xffff] | first[bytes >> 32 & 0xffff] |
              first[bytes >> 40 & 0xffff] | first[bytes >> 48 & 0xffff]))
            continue;
#endif
        for (int i = 0; i < PAIRS_AT_ONCE; i++)
            if (is_word_at(words, line, at + i))
                return true;
    }
    for (; line.end - at >= 2; at++)
        if (is_word_at(words, line, at))
            return true;
    return false;
}
