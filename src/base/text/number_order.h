/* The order of texts of which some are numbers: ids of processes and threads, as written. */
#ifndef FLOPLEDGER_BASE_TEXT_NUMBER_ORDER_H
#define FLOPLEDGER_BASE_TEXT_NUMBER_ORDER_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* As strcmp, but numbers by size and before texts. */
static inline int compare_numbers_first(const char *a, const char *b)
{
    char *a_end;
    char *b_end;
    long long left = strtoll(a, &a_end, 10);
    long long right = strtoll(b, &b_end, 10);
    bool a_is_number = *a && !*a_end;
    bool b_is_number = *b && !*b_end;

    if (a_is_number != b_is_number)
        return a_is_number ? -1 : 1;
    if (a_is_number && left != right)
        return left < right ? -1 : 1;
    return strcmp(a, b);
}

#endif
