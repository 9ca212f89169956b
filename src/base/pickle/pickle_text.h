/* Texts as the first protocols of pickle write them: with escapes, on a line. Private to the pickle
 * reader. */
#ifndef FLOPLEDGER_BASE_PICKLE_PICKLE_TEXT_H
#define FLOPLEDGER_BASE_PICKLE_PICKLE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Both write UTF-8 (of quoted texts: the bytes they mean) to `to`, which has room for
 * 2 * length + 1; *used says how many bytes. False where an escape is wrong. */

/* \uXXXX and \UXXXXXXXX; all other bytes are Latin-1. */
bool pickle_decode_raw_unicode(const unsigned char *from, size_t length, char *to, size_t *used);

/* A literal of Python 2: in quotes, with \n, \x41, \101 and the like. */
bool pickle_decode_quoted(const unsigned char *from, size_t length, char *to, size_t *used);

#endif
