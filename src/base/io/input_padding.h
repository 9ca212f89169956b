/* What a scanner may read behind the end of its text, so that it can go on by whole words. */
#ifndef FLOPLEDGER_BASE_IO_INPUT_PADDING_H
#define FLOPLEDGER_BASE_IO_INPUT_PADDING_H

/* So many zero bytes stand behind each window and may be read. */
enum { INPUT_PADDING = 64 };

#endif
