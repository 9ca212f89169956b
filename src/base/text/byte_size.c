/* An amount of memory on the command line. */
#include "base/text/byte_size.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <strings.h>

const char byte_size_accepted[] = "a size with its unit: 80GiB, 24GB, 512MiB";

static const struct {
    const char *name;
    double bytes;
} units[] = {
    {"B", 1},         {"KB", 1e3},         {"MB", 1e6},
    {"GB", 1e9},      {"TB", 1e12},        {"KiB", 1024},
    {"MiB", 1048576}, {"GiB", 1073741824}, {"TiB", 1099511627776},
};

/* A unit is asked for: of "80" nobody could say what it is. */
bool parse_byte_size(const char *text, void *field)
{
    int64_t *result = field;
    char *end;
    double number;

    if (*text < '0' || *text > '9') /* strtod takes nan, inf and signs, too */
        return false;
    number = strtod(text, &end);
    while (*end == ' ')
        end++;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        double bytes = number * units[i].bytes;

        if (strcasecmp(end, units[i].name) != 0)
            continue;
        if (!(bytes >= 1) || bytes > 9e18)
            return false;
        *result = (int64_t)bytes;
        return true;
    }
    return false;
}
