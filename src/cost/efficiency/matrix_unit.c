/* Which kernels run on matrix units: a table of names. */
#include "cost/efficiency/matrix_unit.h"

#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct unit_rule {
    const char *pattern;
    enum matrix_unit_use use;
};

static const struct unit_rule unit_rules[] = {
#define MATRIX_UNIT(use_, pattern_) {.pattern = (pattern_), .use = MATRIX_UNIT_##use_},
#include "cost/efficiency/matrix_unit_list.def"
#undef MATRIX_UNIT
};

static const struct {
    const char *word;
    int capability;
} generations[] = {
    {"volta_", 70}, {"turing_", 75}, {"ampere_", 80}, {"hopper_", 90}, {"blackwell_", 100},
};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

enum matrix_unit_use matrix_unit_of_name(const char *kernel_name)
{
    for (size_t i = 0; i < COUNT_OF(unit_rules); i++)
        if (strstr(kernel_name, unit_rules[i].pattern))
            return unit_rules[i].use;
    return MATRIX_UNIT_NOT_TOLD;
}

/* The number behind `prefix`, where it is followed by an underscore: "sm90_", "cutlass_80_". */
static int matrix_unit_number_behind(const char *name, const char *prefix)
{
    const char *at = strstr(name, prefix);
    char *end;
    long number;

    if (!at || !isdigit((unsigned char)at[strlen(prefix)]))
        return 0;
    number = strtol(at + strlen(prefix), &end, 10);
    return *end == '_' && number >= 50 && number < 200 ? (int)number : 0;
}

int instruction_generation(const char *kernel_name)
{
    int number = matrix_unit_number_behind(kernel_name, "cutlass_");

    if (number == 0)
        number = matrix_unit_number_behind(kernel_name, "sm");
    for (size_t i = 0; number == 0 && i < COUNT_OF(generations); i++)
        if (strstr(kernel_name, generations[i].word))
            number = generations[i].capability;
    return number;
}
