/* Text from a trace made fit for a terminal. */
#include "base/text/display_text.h"

#include "base/text/terminal.h"
#include "base/text/utf8.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* A longer name is only cut in its middle: taking it apart would take too long. */
enum { CPP_NAME_MAX = 8192, ESCAPED_BYTES_MAX = 12, MICRO_SIGN = 0xB5 };

/* Writes what stands for the character; at most ESCAPED_BYTES_MAX. Control characters would move
 * the cursor or change the terminal: they are shown, never sent. */
static int escape(char *output, const char *bytes, struct utf8_character c, bool use_unicode)
{
    if (!c.is_valid)
        return sprintf(output, "%s", use_unicode ? "\xEF\xBF\xBD" : "?");
    if (c.code == '\n')
        return sprintf(output, "\\n");
    if (c.code == '\t')
        return sprintf(output, "\\t");
    if (utf8_is_control(c.code))
        return sprintf(output, c.code < 0xA0 ? "\\x%02x" : "\\u%04x", (unsigned)c.code);
    if (c.code >= 0x80 && !use_unicode)
        return sprintf(output, "%s", c.code == MICRO_SIGN ? "u" : "?");
    memcpy(output, bytes, c.length);
    return (int)c.length;
}

const char *display_text(struct arena *arena, const char *text, bool use_unicode)
{
    const char *end = text + strlen(text);
    char *copy = arena_allocate(arena, (size_t)(end - text) * 4 + 9); /* "\x1b" for one byte is the
                                                                         worst */
    size_t used = 0;

    while (text < end) {
        struct utf8_character c = utf8_decode(text, (size_t)(end - text));

        used += (size_t)escape(copy + used, text, c, use_unicode);
        text += c.length;
    }
    copy[used] = '\0';
    return copy;
}

/* For messages of errors, in memory of its own: no arena may be at hand. */
struct shown_text show_text(const char *text)
{
    struct shown_text shown;
    const char *end = text + strlen(text);
    bool use_unicode = locale_is_utf8();
    size_t used = 0;

    while (text < end && used + ESCAPED_BYTES_MAX + sizeof "..." < sizeof shown.text) {
        struct utf8_character c = utf8_decode(text, (size_t)(end - text));

        used += (size_t)escape(shown.text + used, text, c, use_unicode);
        text += c.length;
    }
    strcpy(shown.text + used, text < end ? "..." : "");
    return shown;
}

int display_columns(const char *text)
{
    return display_columns_of(text, strlen(text));
}

/* What is no UTF-8 is shown as one character. */
int display_columns_of(const char *text, size_t length)
{
    const char *end = text + length;
    int columns = 0;

    while (text < end) {
        struct utf8_character c = utf8_decode(text, (size_t)(end - text));

        columns += c.is_valid ? utf8_columns(c.code) : 1;
        text += c.length;
    }
    return columns;
}

/* How many bytes of `text` fit into `columns`. */
static size_t bytes_within(const char *text, int columns)
{
    const char *end = text + strlen(text);
    const char *at = text;

    while (at < end) {
        struct utf8_character c = utf8_decode(at, (size_t)(end - at));

        columns -= c.is_valid ? utf8_columns(c.code) : 1;
        if (columns < 0)
            break;
        at += c.length;
    }
    return (size_t)(at - text);
}

/* Beginning and end tell names apart: what lies between is most often shared. If one column is
 * left over it goes to the beginning. */
const char *shorten_middle(struct arena *arena, const char *text, int columns, bool use_unicode)
{
    const char *ellipsis = use_unicode ? "\xE2\x80\xA6" : "..";
    int in_all = display_columns(text);
    int for_text = columns - (use_unicode ? 1 : 2);
    const char *tail = text;
    size_t head_bytes;
    char *result;
    size_t size;

    if (in_all <= columns)
        return text;
    head_bytes = bytes_within(text, (for_text + 1) / 2);
    tail = text + bytes_within(text, in_all - for_text / 2);
    while (display_columns(tail) > for_text / 2) /* half of a wide character */
        tail += utf8_decode(tail, strlen(tail)).length;
    size = head_bytes + strlen(ellipsis) + strlen(tail) + 1;
    result = arena_allocate(arena, size);
    snprintf(result, size, "%.*s%s%s", (int)head_bytes, text, ellipsis, tail);
    return result;
}

static bool is_name_character(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || c == '~';
}

/* The name without its return type "void " and without the parameters "(int, ...)" at its end.
 * The brackets at the end are walked backwards, since template arguments may have brackets, too.
 * A name like "operator()" or "(anonymous class)" keeps its own. */
static char *without_parameters(struct arena *arena, const char *name)
{
    size_t length;
    int depth = 0;

    if (strncmp(name, "void ", 5) == 0)
        name += 5;
    length = strlen(name);
    if (strstr(name, " [clone") && strrchr(name, ')'))
        length = (size_t)(strrchr(name, ')') - name) + 1;
    for (size_t i = length; i-- > 0 && name[length - 1] == ')';) {
        depth += (name[i] == ')') - (name[i] == '(');
        if (depth == 0) {
            if (i > 0 && name[i - 1] != ' ' && name[i - 1] != ':')
                length = i;
            break;
        }
    }
    return arena_copy_text(arena, name, length);
}

/* Drops "at::native::" and "(anonymous namespace)::" before each name, in place. Written over
 * itself: the output is never ahead of the input. A word that is followed by "::" is taken back. */
static void drop_namespaces(char *name)
{
    static const char anonymous[] = "(anonymous namespace)::";
    char *out = name;
    char *word = name; /* where the word that may be a namespace began, in the output */

    for (const char *in = name; *in;) {
        if (strncmp(in, anonymous, sizeof anonymous - 1) == 0) {
            in += sizeof anonymous - 1;
            out = word;
        } else if (in[0] == ':' && in[1] == ':' && out > word &&
                   is_name_character(in[2] == '(' ? 'a' : in[2])) {
            in += 2;
            out = word;
        } else {
            bool is_name = is_name_character(*in);

            *out++ = *in++;
            if (!is_name)
                word = out;
        }
    }
    *out = '\0';
}

/* Where the bracket group that `text` begins with ends: behind its closing bracket, or at the end
 * of the text. All brackets count as one kind: names of kernels are balanced, and a '>' of an
 * operator only makes the group end early. */
static const char *behind_group(const char *text)
{
    int depth = 0;

    for (; *text; text++) {
        depth += strchr("(<{[", *text) != NULL;
        depth -= strchr(")>}]", *text) != NULL;
        if (depth == 0)
            return text + 1;
    }
    return text;
}

/* Of a function that is named by what lies inside it,
 * "log_kernel(Iterator&)::{lambda()#1}::operator()() const", leaves "log_kernel", in place. */
static void drop_lambdas(char *name)
{
    char *out = name;

    for (const char *in = name; *in;) {
        bool may_name = out > name && (is_name_character(out[-1]) || out[-1] == '>');
        const char *behind = *in == '(' && may_name ? behind_group(in) : in;

        if (behind == in || strncmp(behind, "::", 2) != 0) {
            *out++ = *in++;
            continue;
        }
        in = behind;
        while (*in && !strchr(",>)", *in))
            in = strchr("(<{[", *in) ? behind_group(in) : in + 1;
    }
    *out = '\0';
}

/* Template arguments that hardly ever tell two kernels apart: numbers, and the containers of the
 * arguments. */
static bool has_little(const char *argument, size_t length)
{
    static const char *const dull[] = {"Array<",
                                       "TrivialOffsetCalculator<",
                                       "OffsetCalculator<",
                                       "LoadWithoutCast",
                                       "StoreWithoutCast",
                                       "array<",
                                       "true",
                                       "false"};

    if (argument[0] >= '0' && argument[0] <= '9')
        return true;
    for (size_t i = 0; i < sizeof dull / sizeof dull[0]; i++) {
        if (length >= strlen(dull[i]) && strncmp(argument, dull[i], strlen(dull[i])) == 0)
            return true;
    }
    return false;
}

/* Where the template argument that `text` begins with ends: at its ',' or '>'. */
static const char *behind_argument(const char *text)
{
    while (*text && *text != ',' && *text != '>')
        text = strchr("(<{[", *text) ? behind_group(text) : text + 1;
    return text;
}

/* Of the outermost template arguments leaves those that tell something, unless none does; in place.
 */
static void drop_dull_arguments(char *name)
{
    char *open = strchr(name, '<');
    char *out;
    const char *in;

    if (!open)
        return;
    out = open + 1;
    for (in = out; *in && *in != '>';) {
        const char *end = behind_argument(in);
        size_t length = (size_t)(end - in);

        if (!has_little(in, length)) {
            bool has_space = in[-1] == ' '; /* nothing may grow */

            if (out > open + 1)
                *out++ = ',';
            if (out > open + 1 && has_space)
                *out++ = ' ';
            memmove(out, in, length);
            out += length;
        }
        in = end + (*end == ',');
        in += strspn(in, " ");
    }
    if (out == open + 1)
        out = open; /* none: without brackets */
    else if (*in == '>')
        *out++ = '>';
    in += *in == '>';
    memmove(out, in, strlen(in) + 1);
}

/* Puts the last template argument of each `wrapper` ("gpu_kernel_impl<") in its place; in place.
 * The last argument is what the wrapper calls, which tells the kernel. */
static void unwrap(char *name, const char *wrapper)
{
    char *found = strstr(name, wrapper);
    char *last;
    char *end;

    if (!found || (found > name && is_name_character(found[-1])))
        return;
    last = found + strlen(wrapper);
    for (end = last; *end && *end != '>';) {
        last = end + strspn(end, " ");
        end = last + (behind_argument(last) - last);
        if (*end == ',')
            end++;
    }
    memmove(found, last, (size_t)(end - last));
    found += end - last;
    while (found > name && found[-1] == ' ')
        found--;
    end += *end == '>';
    memmove(found, end, strlen(end) + 1);
}

/* "elementwise_kernel<gpu_kernel_impl<X>>" is "elementwise_kernel<X>", and so for functions made of
 * others; in place. */
static void unwrap_functions(char *name)
{
    static const char *const wrappers[] = {"gpu_kernel_impl<", "gpu_kernel_impl_nocast<",
                                           "BinaryFunctor<", "AUnaryFunctor<", "BUnaryFunctor<"};

    for (size_t i = 0; i < sizeof wrappers / sizeof wrappers[0]; i++)
        unwrap(name, wrappers[i]);
}

/* A copy without what is nested `depth` template arguments deep or deeper: depth 1 leaves "kernel".
 */
static const char *without_inner_arguments(struct arena *arena, const char *name, int depth)
{
    char *copy = arena_allocate(arena, strlen(name) + 1);
    size_t used = 0;
    int open = 0;

    for (; *name; name++) {
        if (*name == '<')
            open++;
        if (open < depth && !(*name == ' ' && name[1] == '>'))
            copy[used++] = *name;
        if (*name == '>' && open > 0)
            open--;
    }
    copy[used] = '\0';
    return copy;
}

/* From what costs least to what costs most: parameters, namespaces and lambdas, dull
 * arguments, deep arguments, and then the middle. Each only if the name is still too long. */
const char *shorten_name(struct arena *arena, const char *name, int columns, bool use_unicode)
{
    const char *shorter;
    char *plain;

    if (display_columns(name) <= columns)
        return name;
    if (strlen(name) > CPP_NAME_MAX || !strpbrk(name, "<(:"))
        return shorten_middle(arena, name, columns, use_unicode);
    plain = without_parameters(arena, name);
    if (display_columns(plain) <= columns)
        return plain;
    drop_namespaces(plain);
    drop_lambdas(plain);
    if (display_columns(plain) > columns) {
        drop_dull_arguments(plain);
        unwrap_functions(plain);
    }
    shorter = plain;
    for (int depth = 4; depth >= 2 && display_columns(shorter) > columns; depth--)
        shorter = without_inner_arguments(arena, plain, depth);
    return shorten_middle(arena, shorter, columns, use_unicode);
}
