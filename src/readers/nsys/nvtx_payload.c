/* Finds the fields of NCCL's payloads by what their schemas say of them. */
#include "readers/nsys/nvtx_payload.h"

#include "base/core/array.h"

#include <stdlib.h>
#include <string.h>

enum { HEADER_BYTES = 32, PAYLOAD_TYPE_MAX = 23 };

/* NVTX's numbers of its types; 0: no whole number. long and size_t as on 64-bit Linux. */
static const uint8_t type_bytes[PAYLOAD_TYPE_MAX + 1] = {
    [1] = 1,  /* char, then unsigned char */[2] = 1,
    [3] = 2,  /* short */[4] = 2,
    [5] = 4,  /* int */[6] = 4,
    [7] = 8,  /* long */[8] = 8,
    [9] = 8,  /* long long */[10] = 8,
    [11] = 1, /* int8_t, then uint8_t and so on */[12] = 1,
    [13] = 2, [14] = 2,
    [15] = 4, [16] = 4,
    [17] = 8, [18] = 8,
    [19] = 4,                       /* float: counts for the place of what follows */
    [20] = 8,                       /* double */
    [22] = 8, /* size_t */[23] = 8, /* address */
};

static const char *const field_names[NVTX_FIELD_COUNT] = {
    [NVTX_COMMUNICATOR] = "NCCL communicator ID",
    [NVTX_MESSAGE_BYTES] = "Message size [bytes]",
    [NVTX_RANKS] = "No. of ranks",
};

/* Enums of the program (their types are numbers of schemas) are as large as an int. */
static uint8_t bytes_of_type(int64_t type)
{
    return type >= 0 && type <= PAYLOAD_TYPE_MAX ? type_bytes[type] : 4;
}

static bool is_whole_number(int64_t type)
{
    return type > 0 && type <= PAYLOAD_TYPE_MAX && type != 19 && type != 20 && type_bytes[type] > 0;
}

static void nvtx_payload_add_entry(struct nvtx_payload_schemas *schemas,
                                   const struct nvtx_payload_entry *entry)
{
    ARRAY_ADD(schemas->entries, schemas->count, *entry);
}

static bool has_entry(const struct nvtx_payload_schemas *schemas,
                      const struct nvtx_payload_entry *wanted)
{
    for (size_t i = 0; i < schemas->count; i++) {
        const struct nvtx_payload_entry *entry = &schemas->entries[i];

        if (entry->domain == wanted->domain && entry->schema == wanted->schema &&
            entry->field == wanted->field)
            return true;
    }
    return false;
}

/* NVTX_FIELD_COUNT: none of those looked for. */
static size_t field_of_name(const char *name)
{
    size_t field = 0;

    while (name && field < NVTX_FIELD_COUNT && strcmp(name, field_names[field]) != 0)
        field++;
    return name ? field : NVTX_FIELD_COUNT;
}

void nvtx_payload_schemas_read(struct nvtx_payload_schemas *schemas, struct nsys_database *database)
{
    static const char *const columns[] = {"domainId", "schemaId", "type", "name", "offset", NULL};
    struct nsys_rows rows = {0};
    struct nvtx_payload_entry last = {.domain = -1};

    nsys_rows_open(&rows, database, "NVTX_PAYLOAD_SCHEMA_ENTRIES", columns);
    while (nsys_rows_next(&rows)) {
        int64_t type = nsys_integer(&rows, 2, 0);
        int64_t offset = nsys_integer(&rows, 4, 0);
        size_t field = field_of_name(nsys_text(&rows, 3));
        struct nvtx_payload_entry entry = {.domain = nsys_integer(&rows, 0, 0),
                                           .schema = nsys_integer(&rows, 1, 0),
                                           .bytes = bytes_of_type(type)};
        bool is_next = entry.domain == last.domain && entry.schema == last.schema;
        uint64_t size = entry.bytes ? entry.bytes : 1;

        if (offset > 0 && offset < INT32_MAX)
            entry.offset = (uint64_t)offset;
        else if (is_next) /* not given: behind the one before, aligned to its own size */
            entry.offset = (last.offset + last.bytes + size - 1) / size * size;
        last = entry;
        if (field == NVTX_FIELD_COUNT || !is_whole_number(type))
            continue;
        entry.field = (uint8_t)field;
        if (!has_entry(schemas, &entry)) /* each process of a run brings its own copy */
            nvtx_payload_add_entry(schemas, &entry);
    }
    nsys_rows_clear(&rows);
}

void nvtx_payload_schemas_clear(struct nvtx_payload_schemas *schemas)
{
    free(schemas->entries);
    *schemas = (struct nvtx_payload_schemas){0};
}

/* Little-endian. */
static uint64_t nvtx_payload_number_at(const unsigned char *bytes, size_t count)
{
    uint64_t number = 0;

    for (size_t i = count; i-- > 0;)
        number = number << 8 | bytes[i];
    return number;
}

/* Where the payload begins; 0 where sizes and length do not agree. */
static size_t payload_start(const unsigned char *bytes, size_t length)
{
    uint64_t size = nvtx_payload_number_at(bytes + 16, 8);
    uint64_t place = nvtx_payload_number_at(bytes + 24, 8);

    if (size > length - HEADER_BYTES)
        return 0;
    if (place >= HEADER_BYTES && place <= length && length - place == size)
        return (size_t)place;
    return length - HEADER_BYTES == size || place == HEADER_BYTES + size ? HEADER_BYTES : 0;
}

bool nvtx_payload_decode(struct nvtx_payload *payload, const struct nvtx_payload_schemas *schemas,
                         const unsigned char *bytes, size_t length)
{
    struct nvtx_payload found = {.values = {0}};
    size_t start = length < HEADER_BYTES ? 0 : payload_start(bytes, length);
    bool has_any = false;

    for (size_t i = 0; start > 0 && i < schemas->count; i++) {
        const struct nvtx_payload_entry *entry = &schemas->entries[i];

        if ((uint64_t)entry->domain != nvtx_payload_number_at(bytes, 8) ||
            (uint64_t)entry->schema != nvtx_payload_number_at(bytes + 8, 8) ||
            entry->offset + entry->bytes > length - start)
            continue;
        found.values[entry->field] =
            nvtx_payload_number_at(bytes + start + entry->offset, entry->bytes);
        found.has[entry->field] = true;
        has_any = true;
    }
    if (has_any)
        *payload = found;
    return has_any;
}

/* The number behind `"name":`, which may stand in quotes itself. */
static bool parse_field(uint64_t *value, const char *json, const char *name)
{
    size_t length = strlen(name);
    const char *at = json;
    char *end;

    while ((at = strstr(at, name)) && (at == json || at[-1] != '"' || at[length] != '"'))
        at += length;
    if (!at)
        return false;
    at += length + 1;
    at += strspn(at, " \t:\"");
    if (*at < '0' || *at > '9')
        return false;
    *value = strtoull(at, &end, 0);
    return *end != '.' && *end != 'e';
}

bool nvtx_payload_parse(struct nvtx_payload *payload, const char *json)
{
    struct nvtx_payload found = {.values = {0}};
    bool has_any = false;

    for (size_t field = 0; field < NVTX_FIELD_COUNT; field++) {
        found.has[field] = parse_field(&found.values[field], json, field_names[field]);
        has_any = has_any || found.has[field];
    }
    if (has_any)
        *payload = found;
    return has_any;
}
