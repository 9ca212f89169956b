/* Tells what stands behind the end of a file that was read. */
#include "pipeline/file_rest.h"

bool note_file_rest(struct results *results, const char *path, const struct input_rest *rest)
{
    struct finding finding = {.cost_ns = -1, .is_warning = true};

    if (rest->kind == REST_NOTHING)
        return false;
    if (rest->kind == REST_BROKEN)
        finding.what = results_format(results, "'%s': %s: numbers read before it may be wrong, too",
                                      path, rest->message);
    else
        finding.what =
            results_format(results, "'%s': behind its end stands more: %s", path, rest->message);
    results_add_problem(results, finding);
    return true;
}
