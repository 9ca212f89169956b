/* An SQLite database that `nsys export --type sqlite` wrote. */
#ifndef FLOPLEDGER_READERS_NSYS_NSYS_DATABASE_H
#define FLOPLEDGER_READERS_NSYS_NSYS_DATABASE_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "base/core/hash_map.h"
#include "base/core/string_pool.h"
#include "readers/sqlite/sqlite_input.h"

#include <stdbool.h>
#include <stdint.h>

/* A zeroed one is closed. */
struct nsys_database {
    struct sqlite_input file;
    char schema[32];            /* EXPORT_SCHEMA_VERSION: "3.25.0"; empty where not said */
    char product[64];           /* "2026.2.1.210"; empty where not said */
    struct string_pool strings; /* the values of StringIds */
    struct hash_map string_ids; /* id in StringIds: id in `strings` */
};

bool is_of_nsight_systems(struct sqlite_input *database);

/* As sqlite_input_open; an error, too, where it is not one of Nsight Systems: then `others` tells
 * whose databases would be read, too (", rocprofv3 ('rocpd_...')"; NULL: none). */
MUST_USE bool nsys_database_open(struct nsys_database *database, const char *path,
                                 const char *others, struct error *error);
void nsys_database_clear(struct nsys_database *database);

/* The text of StringIds with this id; NULL where there is none. */
const char *nsys_string(const struct nsys_database *database, int64_t id);

#endif
