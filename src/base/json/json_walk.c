/* Walks over the members of an object or the elements of an array that is complete in memory. */
#include "base/json/json_walk.h"

/* A value of another kind gives a walk without members: a caller need not ask what a file
 * holds before it walks. */
struct json_walk json_walk_begin(const struct json_slice *value, char bracket)
{
    struct json_walk walk = {.is_object = bracket == '{'};

    if (value->is_string || *value->text != bracket)
        return walk;
    walk.scan.limit = value->text + value->length;
    walk.at = value->text + 1;
    return walk;
}

/* The text was scanned whole before, so that nothing can be wrong in it but its end. */
bool json_walk_next(struct json_walk *walk, struct json_slice *key, struct json_slice *value)
{
    const char *at = walk->at ? scan_space(walk->at) : NULL;

    if (!at || *at == '}' || *at == ']')
        return false;
    if (*at == ',')
        at = scan_space(at + 1);
    if (walk->is_object)
        at = scan_key(&walk->scan, at, key);
    if (at)
        at = scan_value(&walk->scan, at, value);
    walk->at = at;
    return at != NULL;
}

int64_t json_walk_integer(const struct json_slice *value, int64_t if_none)
{
    int64_t number;

    return slice_integer(value, &number) ? number : if_none;
}
