/* A folder of files that is part of the program, compressed. packaging/pack_folder.py writes it as
 * a C file. */
#ifndef FLOPLEDGER_BASE_IO_PACKED_FOLDER_H
#define FLOPLEDGER_BASE_IO_PACKED_FOLDER_H

#include <stddef.h>

struct packed_file {
    const char *name; /* "how-to/ettr.md" */
    size_t at;        /* where it begins in what is unpacked */
    size_t bytes;
};

struct packed_folder {
    const struct packed_file *files; /* sorted by name */
    size_t count;                    /* 0: left out when the program was built */
    size_t bytes;                    /* of all files together */
    const unsigned char *compressed; /* zlib */
    size_t compressed_bytes;
    const char *key; /* differs where the files do */
};

/* What all files hold, one behind the other, and a zero byte behind the last; free() it. */
char *packed_folder_unpack(const struct packed_folder *folder);

/* The documentation, docs/ of the source. */
extern const struct packed_folder packed_docs;

/* The Python package of the recorder, for a program that is copied around alone. */
extern const struct packed_folder packed_recorder;

#endif
