/* Which word was meant when one is misspelt: the fewest letters changed, added, left out or
 * swapped. */
#include "base/text/spelling.h"

#include <string.h>

enum { WORD_MAX = 32 };

static int spelling_smaller(int a, int b)
{
    return a < b ? a : b;
}

/* Number of edits from `a` to `b`; both shorter than WORD_MAX. Two neighbours swapped count as
 * one. Optimal string alignment: Levenshtein's table, with one more case for two letters
 * swapped, the most common slip. 32 x 32 at most. */
static int edit_distance(const char *a, const char *b)
{
    int rows[WORD_MAX + 1][WORD_MAX + 1];
    int a_length = (int)strlen(a);
    int b_length = (int)strlen(b);

    for (int i = 0; i <= a_length; i++)
        rows[i][0] = i;
    for (int j = 0; j <= b_length; j++)
        rows[0][j] = j;
    for (int i = 1; i <= a_length; i++) {
        for (int j = 1; j <= b_length; j++) {
            int change = rows[i - 1][j - 1] + (a[i - 1] != b[j - 1]);

            rows[i][j] =
                spelling_smaller(change, 1 + spelling_smaller(rows[i - 1][j], rows[i][j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                rows[i][j] = spelling_smaller(rows[i][j], rows[i - 2][j - 2] + 1);
        }
    }
    return rows[a_length][b_length];
}

/* More edits are allowed for longer words, but never as many as the word has letters: then
 * anything would fit. A beginning counts as near, as "--thr" for "--threads". */
void spelling_consider(struct spelling *best, const char *typed, const char *word)
{
    size_t typed_length = strlen(typed);
    size_t word_length = strlen(word);
    int allowed = typed_length <= 3 ? 1 : 2 + (int)(typed_length / 6);
    int distance;

    if (typed_length == 0 || typed_length >= WORD_MAX || word_length >= WORD_MAX)
        return;
    distance = edit_distance(typed, word);
    if (typed_length >= 3 && word_length > typed_length && strncmp(typed, word, typed_length) == 0)
        distance = 1; /* the beginning of the word */
    if (distance <= allowed && distance < (int)word_length &&
        (!best->word || distance < best->distance)) {
        best->word = word;
        best->distance = distance;
    }
}

const char *nearest_word(const char *typed, const char *const *words)
{
    struct spelling best = {0};

    for (size_t i = 0; words[i]; i++)
        spelling_consider(&best, typed, words[i]);
    return best.word;
}
