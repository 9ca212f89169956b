/* Reads changes to try. */
#include "replay/scenario.h"

#include "base/text/format.h"
#include "base/text/prefix.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct scenario_target_description scenario_targets[SCENARIO_TARGET_COUNT] = {
#define SCENARIO_TARGET(id, name_, meaning_) \
    [TARGET_##id] = {.name = (name_), .meaning = (meaning_)},
#define SCENARIO_WORD(id, target, word, meaning)
#include "replay/scenario_target_list.def"
#undef SCENARIO_TARGET
#undef SCENARIO_WORD
};

struct word_description {
    enum scenario_word word;
    enum scenario_target target;
    const char *text;
};

static const struct word_description words[] = {
#define SCENARIO_TARGET(id, name, meaning)
#define SCENARIO_WORD(id, target_, word_, meaning) \
    {.word = SCENARIO_WORD_##id, .target = TARGET_##target_, .text = (word_)},
#include "replay/scenario_target_list.def"
#undef SCENARIO_TARGET
#undef SCENARIO_WORD
};

static const char accepted[] =
    "data, host, launch, sync, device, communication, copies, matrix, recompute, waiting or "
    "kernel:REGEX, of one rank only with @RANK behind it, then =0, *NUMBER or /NUMBER, or "
    "data=workers or host=graphs";

/* Far more than any change; times of days stay far from the ends of int64_t. */
static const double largest_factor = 1000;

static bool scenario_refuse(const char *text, const char *at, const char *what, struct error *error)
{
    return error_set(error, ERROR_USAGE,
                     "--what-if '%s': at character %zu, \"%s\": %s; a change is %s, several with "
                     "commas: data=0,kernel:gemm*0.7",
                     text, (size_t)(at - text) + 1, at, what, accepted);
}

/* One change: from `at` up to `end`. */
struct piece {
    const char *text;
    const char *at;
    const char *end;
};

/* The last of = * / in the piece, for a pattern may hold such, too; NULL: none. From the end: a
 * kernel's pattern may hold '*', '=' and '/', but nothing behind the sign of the factor does. */
static const char *scenario_find_sign(const struct piece *piece)
{
    for (const char *sign = piece->end; sign > piece->at; sign--)
        if (strchr("=*/", sign[-1]))
            return sign - 1;
    return NULL;
}

/* "data=workers" takes the loader's time off its thread, so the factor is 0; other words
 * change no factor by themselves. */
static bool parse_word(struct scenario_change *change, const struct piece *piece, const char *sign)
{
    size_t length = (size_t)(piece->end - sign) - 1;

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (*sign == '=' && words[i].target == change->target && strlen(words[i].text) == length &&
            strncmp(sign + 1, words[i].text, length) == 0)
            change->word = words[i].word;
    change->factor = change->word == SCENARIO_WORD_WORKERS ? 0 : 1;
    return change->word != NO_SCENARIO_WORD;
}

/* Words before numbers. "=0" takes out; any other "=" would be an absolute time, which nothing
 * here can give. NaN fails the last comparison, as it is written with "not". */
static bool parse_factor(struct scenario_change *change, const struct piece *piece,
                         const char *sign, struct error *error)
{
    char *end;
    double number = strtod(sign + 1, &end);

    if (parse_word(change, piece, sign))
        return true;
    if (end == sign + 1 || end != piece->end || !isfinite(number) || number < 0)
        return scenario_refuse(piece->text, sign + 1, "a number of 0 or more is expected here",
                               error);
    if (*sign == '=' && number > 0)
        return scenario_refuse(piece->text, sign + 1,
                               "only =0 is known: the time goes; *NUMBER scales it", error);
    if (change->target == TARGET_WAITING && (*sign != '=' || number > 0))
        return scenario_refuse(piece->text, sign, "waiting can only be taken out: waiting=0",
                               error);
    if (*sign == '/' && number <= 0)
        return scenario_refuse(piece->text, sign + 1,
                               "nothing can be divided by 0; =0 takes time out", error);
    /* "=0" and "*0" have one factor and two meanings: time that is taken out, and work that
     * takes none. */
    change->is_taken = *sign == '=';
    change->factor = *sign == '/' ? 1 / number : number;
    if (!(change->factor <= largest_factor))
        return scenario_refuse(piece->text, sign + 1, "time can be stretched up to 1000 times",
                               error);
    return true;
}

/* The '@' of the rank behind the name or pattern, which ends there; `sign` where there is none.
 * From the end, digits and then '@': a pattern with "@" inside of it stays a pattern. */
static const char *find_rank(const struct piece *piece, const char *sign)
{
    const char *at = sign;

    while (at > piece->at && at[-1] >= '0' && at[-1] <= '9')
        at--;
    return at < sign && at > piece->at && at[-1] == '@' ? at - 1 : sign;
}

/* Nine digits fit into 32 bits. */
static bool parse_rank(struct scenario_change *change, const struct piece *piece, const char *at,
                       struct error *error)
{
    enum { RANK_DIGITS_MAX = 9 };

    change->rank = -1;
    if (*at != '@')
        return true;
    if (strspn(at + 1, "0123456789") > RANK_DIGITS_MAX)
        return scenario_refuse(piece->text, at + 1, "there is no such rank", error);
    change->rank = strtol(at + 1, NULL, 10);
    return true;
}

/* POSIX extended, as --step-pattern has it; compiled once, and matched per kernel name. */
static bool parse_pattern(struct scenario_change *change, const struct piece *piece,
                          const char *pattern_end, struct error *error)
{
    const char *start = piece->at + strlen("kernel:");
    char pattern[1024], message[200];
    int code;

    if (start >= pattern_end)
        return scenario_refuse(piece->text, start, "a regular expression is expected here", error);
    if ((size_t)(pattern_end - start) >= sizeof pattern)
        return scenario_refuse(piece->text, start, "the regular expression is too long", error);
    memcpy(pattern, start, (size_t)(pattern_end - start));
    pattern[pattern_end - start] = '\0';
    code = regcomp(&change->pattern, pattern, REG_EXTENDED | REG_NOSUB);
    if (code == 0)
        return true;
    regerror(code, &change->pattern, message, sizeof message);
    return scenario_refuse(piece->text, start, message, error);
}

/* "kernel:" is followed by a pattern, so only its beginning is compared. */
static enum scenario_target find_target(const char *name, size_t length)
{
    if (has_prefix(name, "kernel:"))
        return TARGET_KERNEL;
    for (int i = 0; i < SCENARIO_TARGET_COUNT; i++)
        if (i != TARGET_KERNEL && strlen(scenario_targets[i].name) == length &&
            strncmp(name, scenario_targets[i].name, length) == 0)
            return (enum scenario_target)i;
    return SCENARIO_TARGET_COUNT;
}

/* The sign is looked for from the end: a pattern of kernels may hold one itself. */
static bool parse_change(struct scenario *scenario, const struct piece *piece, struct error *error)
{
    struct scenario_change change = {.word = NO_SCENARIO_WORD};
    const char *sign = scenario_find_sign(piece), *name_end;

    if (!sign)
        return scenario_refuse(piece->text, piece->end, "=0, *NUMBER or /NUMBER is missing", error);
    name_end = find_rank(piece, sign);
    change.target = find_target(piece->at, (size_t)(name_end - piece->at));
    if (change.target == SCENARIO_TARGET_COUNT)
        return scenario_refuse(piece->text, piece->at, "this names nothing that can be changed",
                               error);
    if (!parse_rank(&change, piece, name_end, error) || !parse_factor(&change, piece, sign, error))
        return false;
    if (change.target == TARGET_KERNEL && !parse_pattern(&change, piece, name_end, error))
        return false;
    scenario->changes[scenario->change_count++] = change;
    return true;
}

/* The comma that ends the change at `at`: one in a pattern does not, unless a change follows.
 * "kernel:a{1,3}*0.5,data=0": the comma in the braces is the pattern's, as no target's name
 * follows it. */
static const char *end_of_change(const char *at)
{
    for (const char *comma = strchr(at, ','); comma; comma = strchr(comma + 1, ','))
        for (int i = 0; i < SCENARIO_TARGET_COUNT; i++)
            if (!has_prefix(at, "kernel:") || has_prefix(comma + 1, scenario_targets[i].name))
                return comma;
    return at + strlen(at);
}

/* The limit is checked before a change is parsed, so that the message points at the one too
 * many. */
bool scenario_parse(struct scenario *scenario, const char *text, struct error *error)
{
    const char *at = text;

    scenario->text = text;
    for (;;) {
        struct piece piece = {.text = text, .at = at, .end = end_of_change(at)};

        if (scenario->change_count == SCENARIO_CHANGES_MAX)
            return scenario_refuse(text, at, "there are too many changes: at most 16", error);
        if (!parse_change(scenario, &piece, error))
            return false;
        if (!*piece.end)
            return true;
        at = piece.end + 1;
    }
}

static bool is_of_rank(const struct scenario_change *change, int64_t rank)
{
    return change->rank < 0 || change->rank == rank;
}

/* Factors of one target multiply, as each is of what the ones before left. */
double scenario_factor(const struct scenario *scenario, enum scenario_target target, int64_t rank)
{
    double factor = 1;

    for (size_t i = 0; scenario && i < scenario->change_count; i++)
        if (scenario->changes[i].target == target && is_of_rank(&scenario->changes[i], rank))
            factor *= scenario->changes[i].factor;
    return factor;
}

/* Changes of one kernel multiply: "kernel:a=0.5,kernel:.*=0.5" makes it a quarter. */
double scenario_kernel_factor(const struct scenario *scenario, const char *name, int64_t rank)
{
    double factor = 1;

    for (size_t i = 0; scenario && i < scenario->change_count; i++)
        if (scenario->changes[i].target == TARGET_KERNEL &&
            is_of_rank(&scenario->changes[i], rank) &&
            regexec(&scenario->changes[i].pattern, name, 0, NULL, 0) == 0)
            factor *= scenario->changes[i].factor;
    return factor;
}

/* Taken out with "=0", which is more than a factor of 0 by multiplication: it may move work
 * (loader_moves). */
bool scenario_takes(const struct scenario *scenario, enum scenario_target target, int64_t rank)
{
    for (size_t i = 0; scenario && i < scenario->change_count; i++)
        if (scenario->changes[i].target == target && scenario->changes[i].is_taken &&
            is_of_rank(&scenario->changes[i], rank))
            return true;
    return false;
}

bool scenario_has_word(const struct scenario *scenario, enum scenario_word word, int64_t rank)
{
    for (size_t i = 0; scenario && i < scenario->change_count; i++)
        if (scenario->changes[i].word == word && is_of_rank(&scenario->changes[i], rank))
            return true;
    return false;
}

bool scenario_has_target(const struct scenario *scenario, enum scenario_target target)
{
    for (size_t i = 0; i < scenario->change_count; i++)
        if (scenario->changes[i].target == target)
            return true;
    return false;
}

void scenario_clear(struct scenario *scenario)
{
    for (size_t i = 0; i < scenario->change_count; i++)
        if (scenario->changes[i].target == TARGET_KERNEL)
            regfree(&scenario->changes[i].pattern);
    *scenario = (struct scenario){0};
}
