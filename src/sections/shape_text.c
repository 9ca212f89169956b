/* Leaves out of recorded shapes what says nothing. */
#include "sections/shape_text.h"

#include <string.h>

/* The profiler writes "[[8, 128], [], [128, 64]]": brackets around the list and the empty
 * shapes of scalars say nothing. One pass with the depth: commas of depth 1 separate inputs
 * and become a space, deeper ones belong to a shape. It only ever leaves out, so that the text
 * has room in a copy of its length. Text that is no list of lists passes without harm. */
const char *short_shapes(struct results *results, const char *shapes)
{
    size_t length = strlen(shapes);
    char *text = results_allocate(results, length + 1);
    size_t at = 0;
    int depth = 0;

    for (size_t i = 0; i < length; i++) {
        char c = shapes[i];

        depth += c == '[' ? 1 : c == ']' ? -1 : 0;
        if (c == ' ' || (c == '[' && depth == 1) || (c == ']' && depth == 0))
            continue;
        if (c == ']' && at > 0 && text[at - 1] == '[') { /* empty: with the space before it */
            at--;
            continue;
        }
        if (c == ',' && depth == 1)
            c = ' ';
        if (c == ' ' && (at == 0 || text[at - 1] == ' '))
            continue;
        text[at++] = c;
    }
    while (at > 0 && text[at - 1] == ' ')
        at--;
    text[at] = '\0';
    return text;
}
