/* The step record of this process, which running steps and Python code write to. */
#include "process_record.h"

#include <sys/resource.h>

struct process_record process_record;

/* Asked for at each 64th entry: a call of the system would be a good part of an entry's price. */
static int64_t resident_high_water(void)
{
    static int64_t bytes = -1;
    static unsigned calls;
    struct rusage usage;

    if (calls++ % 64 == 0)
        bytes = getrusage(RUSAGE_SELF, &usage) == 0 ? (int64_t)usage.ru_maxrss * 1024 : -1;
    return bytes;
}

bool process_record_append(struct step_entry *entry, struct error *error)
{
    entry->host_bytes = resident_high_water();
    process_record.is_full = !step_writer_append(&process_record.writer, entry, error);
    return !process_record.is_full;
}
