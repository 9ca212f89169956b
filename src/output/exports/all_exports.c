/* The table of exports. */
#include "output/exports/export_format.h"

#define EXPORT(name) extern const struct export_format name##_export;
#include "output/exports/list.def"
#undef EXPORT

static const struct export_format *const exports[] = {
#define EXPORT(name) &name##_export,
#include "output/exports/list.def"
#undef EXPORT
    NULL,
};

const struct export_format *const *all_exports(void)
{
    return exports;
}
