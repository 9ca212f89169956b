/* Rows that several reports of nsys-stats are made of. */
#include "readers/nsys_stats/stats_rows.h"

#include "readers/nsys/nsys_ids.h"

#include <stdio.h>
#include <string.h>

const char *kernel_name_column(struct nsys_database *database, enum kernel_name_form form)
{
    const char *column = "demangledName";

    if (form == KERNEL_NAME_BASE)
        column = "shortName";
    if (form == KERNEL_NAME_MANGLED)
        column = "mangledName";
    /* Files of older versions lack the others. */
    return sqlite_has_column(&database->file, "CUPTI_ACTIVITY_KIND_KERNEL", column)
               ? column
               : "demangledName";
}

static void set_label(struct kind_labels *labels, int64_t kind, const char *label)
{
    if (kind >= 0 && kind < LABELS_MAX && label)
        (void)snprintf(labels->labels[kind], sizeof labels->labels[kind], "%s", label);
}

static void read_labels(struct kind_labels *labels, struct nsys_database *database,
                        const char *table, const char *const *known)
{
    static const char *const columns[] = {"id", "label", NULL};
    struct sqlite_rows rows = {0};

    *labels = (struct kind_labels){0};
    /* An export without names for its numbers: they are those of CUPTI's enumerations, listed in
     * order below. */
    if (!sqlite_has_table(&database->file, table)) {
        for (int64_t kind = 0; known[kind]; kind++)
            set_label(labels, kind, known[kind]);
        return;
    }
    sqlite_rows_open(&rows, &database->file, table, columns);
    while (sqlite_rows_next(&rows))
        set_label(labels, sqlite_integer(&rows, 0, -1), sqlite_text(&rows, 1));
    sqlite_rows_clear(&rows);
}

/* In the order of CUPTI's numbers from 0 on: only an export without names for them needs the
 * list. */
void read_copy_labels(struct kind_labels *labels, struct nsys_database *database)
{
    static const char *const known[] = {"Unknown",
                                        "Host-to-Device",
                                        "Device-to-Host",
                                        "Host-to-Array",
                                        "Array-to-Host",
                                        "Array-to-Array",
                                        "Array-to-Device",
                                        "Device-to-Array",
                                        "Device-to-Device",
                                        "Host-to-Host",
                                        "Peer-to-Peer",
                                        "Unified Host-to-Device",
                                        "Unified Device-to-Host",
                                        "Unified Device-to-Device",
                                        NULL};

    read_labels(labels, database, "ENUM_CUDA_MEMCPY_OPER", known);
}

void read_memory_labels(struct kind_labels *labels, struct nsys_database *database)
{
    static const char *const known[] = {"Pageable",       "Pinned",  "Device",
                                        "Array",          "Managed", "Device Static",
                                        "Managed Static", "Unknown", NULL};

    read_labels(labels, database, "ENUM_CUDA_MEM_KIND", known);
}

const char *kind_label(const struct kind_labels *labels, int64_t kind)
{
    return kind >= 0 && kind < LABELS_MAX && labels->labels[kind][0] ? labels->labels[kind] : NULL;
}

bool copy_operation_name(const struct kind_labels *labels, int64_t kind, char *to, size_t size)
{
    const char *label = kind_label(labels, kind);

    (void)snprintf(to, size, "[CUDA memcpy %s]", label ? label : "");
    return label != NULL;
}

const char *api_name(const struct nsys_database *database, int64_t name_id, char *to, size_t size)
{
    const char *name = nsys_string(database, name_id);

    if (!name)
        return NULL;
    (void)snprintf(to, size, "%.*s", (int)nsys_api_name_length(name), name);
    return to;
}
