/* Unpacks a folder that is part of the program. */
#include "base/io/packed_folder.h"

#include "base/core/invariant.h"

#include <stdlib.h>
#include <zlib.h>

/* The bytes are in the program itself: if they do not unpack, the build is broken, and that is
 * no error of a user. */
char *packed_folder_unpack(const struct packed_folder *folder)
{
    char *whole = require_memory(malloc(folder->bytes + 1));
    uLongf length = folder->bytes;
    int status = Z_OK;

    if (folder->bytes > 0)
        status = uncompress((unsigned char *)whole, &length, folder->compressed,
                            folder->compressed_bytes);
    if (status == Z_MEM_ERROR)
        end_out_of_memory();
    require_invariant(status == Z_OK && length == folder->bytes,
                      "that a packed folder is what the build wrote");
    whole[length] = '\0';
    return whole;
}
