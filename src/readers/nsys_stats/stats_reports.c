/* The table of reports of nsys-stats. */
#include "base/text/spelling.h"
#include "readers/nsys_stats/stats_report.h"

#include <stddef.h>
#include <string.h>

#define STATS_REPORT(name) extern const struct stats_report name##_stats;
#include "readers/nsys_stats/list.def"
#undef STATS_REPORT

static const struct stats_report *const reports[] = {
#define STATS_REPORT(name) &name##_stats,
#include "readers/nsys_stats/list.def"
#undef STATS_REPORT
    NULL,
};

/* No ending is the full name, as in nsys; an ending that is none of these is refused, not
 * ignored. */
static bool read_form(const char *text, enum kernel_name_form *form)
{
    *form = KERNEL_NAME_FULL;
    if (strcmp(text, ":base") == 0)
        *form = KERNEL_NAME_BASE;
    else if (strcmp(text, ":mangled") == 0)
        *form = KERNEL_NAME_MANGLED;
    else
        return *text == '\0';
    return true;
}

/* The form of kernel names stands behind a colon, as nsys takes it; reports without kernels
 * take none. */
const struct stats_report *find_stats_report(const char *text, enum kernel_name_form *form,
                                             struct error *error)
{
    size_t length = strcspn(text, ":");
    struct spelling best = {0};

    for (size_t i = 0; reports[i]; i++) {
        spelling_consider(&best, text, reports[i]->name);
        if (strlen(reports[i]->name) != length || memcmp(reports[i]->name, text, length) != 0)
            continue;
        if (read_form(text + length, form) &&
            (*form == KERNEL_NAME_FULL || reports[i]->has_kernel_names))
            return reports[i];
        (void)error_set(error, ERROR_USAGE, "'%s': '%s' takes %s behind its name", text,
                        reports[i]->name,
                        reports[i]->has_kernel_names ? "':base' or ':mangled'" : "nothing");
        return NULL;
    }
    if (best.word)
        (void)error_set(error, ERROR_USAGE, "no report '%s': did you mean '%s'?", text, best.word);
    else
        (void)error_set(error, ERROR_USAGE,
                        "no report '%s': 'flopledger nsys-stats --help' lists them", text);
    return NULL;
}
