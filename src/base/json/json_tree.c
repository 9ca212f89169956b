/* Parses JSON into a tree, without recursion. */
#include "base/json/json_tree.h"

#include "base/text/utf8.h"

#include <string.h>

/* Of the values: a gibibyte as a tree. */
enum { DEPTH_MAX = 1024, VALUES_MAX = 12 << 20 };

struct json_parse {
    struct arena *arena;
    struct error *error;
    const char *start;
    const char *at;
    const char *end;
    struct json_node *open[DEPTH_MAX]; /* arrays and objects around */
    struct json_node *last[DEPTH_MAX]; /* the newest thing in each */
    int depth;
    int values;
};

static bool json_tree_expected(struct json_parse *parse, const char *what)
{
    return error_set(parse->error, ERROR_INPUT, "byte %zu: expected %s",
                     (size_t)(parse->at - parse->start), what);
}

static char json_tree_peek(struct json_parse *parse)
{
    while (parse->at < parse->end &&
           (*parse->at == ' ' || *parse->at == '\n' || *parse->at == '\t' || *parse->at == '\r'))
        parse->at++;
    return parse->at < parse->end ? *parse->at : '\0';
}

/* Four hexadecimal digits; false where they are none. */
static bool parse_hex(struct json_parse *parse, uint32_t *code)
{
    *code = 0;
    if (parse->end - parse->at < 4)
        return json_tree_expected(parse, "four hexadecimal digits");
    for (int i = 0; i < 4; i++, parse->at++) {
        static const char digits[] = "0123456789abcdef0123456789ABCDEF";
        const char *digit = *parse->at ? strchr(digits, *parse->at) : NULL;

        if (!digit)
            return json_tree_expected(parse, "a hexadecimal digit");
        *code = *code * 16 + (uint32_t)((digit - digits) % 16);
    }
    return true;
}

/* \uXXXX, or two of them for what lies past U+FFFF; a lone half becomes U+FFFD. */
static bool parse_unicode(struct json_parse *parse, char **to)
{
    uint32_t code;
    uint32_t low;

    if (!parse_hex(parse, &code))
        return false;
    if (code >= 0xd800 && code < 0xdc00 && parse->end - parse->at >= 6 && parse->at[0] == '\\' &&
        parse->at[1] == 'u') {
        parse->at += 2;
        if (!parse_hex(parse, &low))
            return false;
        code = low >= 0xdc00 && low < 0xe000 ? 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00)
                                             : 0xfffd;
    } else if (code >= 0xd800 && code < 0xe000) {
        code = 0xfffd;
    }
    *to += utf8_encode(code ? code : 0xfffd, *to);
    return true;
}

/* A zero byte ends `letters` for strchr, so it is asked for before. */
static bool json_tree_take_escape(struct json_parse *parse, char **to)
{
    static const char letters[] = "\"\\/bfnrt";
    static const char meanings[] = "\"\\/\b\f\n\r\t";
    char letter = parse->at < parse->end ? *parse->at : '\0';
    const char *found = letter ? strchr(letters, letter) : NULL;

    if (letter == 'u') {
        parse->at++;
        return parse_unicode(parse, to);
    }
    if (!found)
        return json_tree_expected(parse, "an escape that JSON knows");
    parse->at++;
    *(*to)++ = meanings[found - letters];
    return true;
}

/* `at` is at the opening quote. Two passes: the end first, so that memory is taken once; the
 * text without escapes is no longer. */
static const char *json_tree_take_string(struct json_parse *parse)
{
    const char *close = ++parse->at;
    char *text;
    char *to;

    while (close < parse->end && *close != '"')
        close += *close == '\\' ? 2 : 1;
    if (close >= parse->end) {
        (void)json_tree_expected(parse, "the end of a string");
        return NULL;
    }
    to = text = arena_allocate(parse->arena, (size_t)(close - parse->at) + 1);
    while (parse->at < close) {
        if (*parse->at != '\\') {
            *to++ = *parse->at++;
            continue;
        }
        parse->at++;
        if (!json_tree_take_escape(parse, &to))
            return NULL;
    }
    parse->at = close + 1;
    return text;
}

/* Whole numbers are kept exact; all others are kept as their text, and who needs one converts
 * it. */
static bool json_tree_take_number(struct json_parse *parse, struct json_node *node)
{
    const char *start = parse->at;
    bool is_negative = *parse->at == '-';
    bool fits = true;
    int64_t number = 0;

    for (parse->at += is_negative; parse->at < parse->end && *parse->at >= '0' && *parse->at <= '9';
         parse->at++)
        fits = fits && !__builtin_mul_overflow(number, (int64_t)10, &number) &&
               !__builtin_add_overflow(number, (int64_t)(*parse->at - '0'), &number);
    if (parse->at == start + is_negative)
        return json_tree_expected(parse, "a value");
    if (parse->at < parse->end && (*parse->at == '.' || *parse->at == 'e' || *parse->at == 'E')) {
        fits = false;
        while (parse->at < parse->end && strchr("+-.eE0123456789", *parse->at) && *parse->at)
            parse->at++;
    }
    node->kind = JSON_NUMBER;
    node->text = arena_copy_text(parse->arena, start, (size_t)(parse->at - start));
    node->is_integer = fits;
    node->integer = !fits ? 0 : is_negative ? -number : number;
    return true;
}

static bool json_tree_take_word(struct json_parse *parse, const char *word)
{
    size_t length = strlen(word);

    if ((size_t)(parse->end - parse->at) < length || memcmp(parse->at, word, length) != 0)
        return false;
    parse->at += length;
    return true;
}

static bool parse_scalar(struct json_parse *parse, struct json_node *node)
{
    if (*parse->at == '"') {
        node->kind = JSON_STRING;
        node->text = json_tree_take_string(parse);
        return node->text != NULL;
    }
    /* the last three: not JSON, but Python writes them (a loss of NaN, a limit of Infinity) */
    if (json_tree_take_word(parse, "null") || json_tree_take_word(parse, "NaN") ||
        json_tree_take_word(parse, "Infinity") || json_tree_take_word(parse, "-Infinity"))
        return true;
    node->kind = JSON_BOOLEAN;
    node->integer = json_tree_take_word(parse, "true");
    if (node->integer || json_tree_take_word(parse, "false"))
        return true;
    return json_tree_take_number(parse, node);
}

/* Puts a new node behind the newest one of the innermost array or object. The newest of each
 * depth is known, so that adding is O(1). */
static struct json_node *json_tree_add_node(struct json_parse *parse)
{
    struct json_node *node = arena_allocate(parse->arena, sizeof *node);
    int inner = parse->depth - 1;

    if (inner < 0)
        return node;
    if (parse->last[inner])
        parse->last[inner]->next = node;
    else
        parse->open[inner]->first = node;
    parse->last[inner] = node;
    return node;
}

/* Depth is bounded by the list of open nodes and not by the stack of calls, so that a file of
 * a million brackets is refused and no fault. */
static bool open_node(struct json_parse *parse, struct json_node *node)
{
    if (parse->depth == DEPTH_MAX)
        return json_tree_expected(parse, "less nesting");
    node->kind = *parse->at++ == '{' ? JSON_OBJECT : JSON_ARRAY;
    parse->open[parse->depth] = node;
    parse->last[parse->depth++] = NULL;
    return true;
}

/* Closes arrays and objects that end here, up to the comma before the next thing; false at an
 * error. Everything that ends at one place is closed in one go. */
static bool close_nodes(struct json_parse *parse)
{
    while (parse->depth > 0) {
        const struct json_node *inner = parse->open[parse->depth - 1];
        char next = json_tree_peek(parse);

        if (next == (inner->kind == JSON_OBJECT ? '}' : ']')) {
            parse->at++;
            parse->depth--;
            continue;
        }
        if (!inner->first)
            return true;
        if (next != ',')
            return json_tree_expected(parse, "',' or the end of an array or object");
        parse->at++;
        return true;
    }
    return true;
}

/* One value, with its key inside an object; of an array or object only its beginning. */
static bool json_tree_take_value(struct json_parse *parse, struct json_node **root)
{
    const char *key = NULL;
    struct json_node *node;

    if (parse->depth > 0 && parse->open[parse->depth - 1]->kind == JSON_OBJECT) {
        if (json_tree_peek(parse) != '"')
            return json_tree_expected(parse, "a key in quotes");
        key = json_tree_take_string(parse);
        if (!key)
            return false;
        if (json_tree_peek(parse) != ':')
            return json_tree_expected(parse, "':'");
        parse->at++;
    }
    if (json_tree_peek(parse) == '\0')
        return json_tree_expected(parse, "a value");
    if (parse->values++ == VALUES_MAX)
        return json_tree_expected(parse,
                                  "the end: it holds more values than are read of such a file");
    node = json_tree_add_node(parse);
    node->key = key;
    if (!*root)
        *root = node;
    if (*parse->at == '{' || *parse->at == '[')
        return open_node(parse, node);
    return parse_scalar(parse, node);
}

/* A stack of its own and not recursion: depth comes from the file, and a stack overflow could
 * not be told as an error. */
const struct json_node *json_tree_parse(struct arena *arena, const char *text, size_t length,
                                        struct error *error)
{
    struct json_parse parse = {
        .arena = arena, .error = error, .start = text, .at = text, .end = text + length};
    struct json_node *root = NULL;

    do {
        if (!json_tree_take_value(&parse, &root) || !close_nodes(&parse))
            return NULL;
    } while (parse.depth > 0);
    if (json_tree_peek(&parse) != '\0' || parse.at != parse.end) {
        (void)json_tree_expected(&parse, "the end");
        return NULL;
    }
    return root;
}

/* The first of a key that stands twice. */
const struct json_node *json_member(const struct json_node *node, const char *key)
{
    if (!node || node->kind != JSON_OBJECT)
        return NULL;
    for (const struct json_node *member = node->first; member; member = member->next)
        if (strcmp(member->key, key) == 0)
            return member;
    return NULL;
}

const char *json_text_of(const struct json_node *node, const char *key, const char *otherwise)
{
    const struct json_node *member = json_member(node, key);

    return member && member->kind == JSON_STRING ? member->text : otherwise;
}

int64_t json_integer_of(const struct json_node *node, const char *key, int64_t otherwise)
{
    const struct json_node *member = json_member(node, key);

    if (!member || (member->kind != JSON_BOOLEAN && !member->is_integer))
        return otherwise;
    return member->integer;
}

const struct json_node *json_items_of(const struct json_node *node, const char *key)
{
    const struct json_node *member = json_member(node, key);

    return member && member->kind == JSON_ARRAY ? member->first : NULL;
}
