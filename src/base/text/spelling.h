/* Which word was meant when one is misspelt. */
#ifndef FLOPLEDGER_BASE_TEXT_SPELLING_H
#define FLOPLEDGER_BASE_TEXT_SPELLING_H

/* The nearest word seen so far; zeroed before the first. */
struct spelling {
    const char *word; /* NULL: none is near enough to be meant */
    int distance;
};

/* Takes `word` as the best where it is nearer to `typed` than the one before. */
void spelling_consider(struct spelling *best, const char *typed, const char *word);

/* The word of `words` (NULL-terminated) that `typed` most likely means; NULL where none is near. */
const char *nearest_word(const char *typed, const char *const *words);

#endif
