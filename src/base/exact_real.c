/* Real numbers as text for programs. */
#include "base/exact_real.h"

#include <stdio.h>
#include <stdlib.h>

struct real_text exact_real(double number)
{
    struct real_text text;

    for (int precision = 6; precision <= 17; precision++) {
        (void)snprintf(text.text, sizeof text.text, "%.*g", precision, number);
        if (strtod(text.text, NULL) == number)
            break;
    }
    return text;
}
