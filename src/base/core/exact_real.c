/* Real numbers as text for programs. */
#include "base/core/exact_real.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A count that went through arithmetic of doubles is written as the count that it is. Above it a
 * double has gaps. */
static const double largest_whole = 9007199254740992.0; /* 2^53 */

struct real_text exact_real(double number)
{
    struct real_text text;

    if (fabs(number) <= largest_whole && trunc(number) == number) {
        (void)snprintf(text.text, sizeof text.text, "%.0f", number);
        return text;
    }
    for (int precision = 6; precision <= 17; precision++) {
        (void)snprintf(text.text, sizeof text.text, "%.*g", precision, number);
        if (strtod(text.text, NULL) == number)
            break;
    }
    return text;
}
