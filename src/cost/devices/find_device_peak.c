/* Which device of the table a name means: anchored rules over the words of the name. */
#include "cost/devices/find_device_peak.h"

#include "cost/devices/device_peak.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* ---- hints ----------------------------------------------------------------------------------- */

/* What a trace or a user knows of a device beside its name, and what that says against a row of the
 * table. */

/* ECC takes 1/16 of GDDR memory, and drivers keep some for themselves: 21.9 GiB of an A10's 24.
 * What a box calls 96 GB may be 96 GiB or less. */
static bool memory_fits(int64_t row_bytes, int64_t bytes)
{
    return bytes >= row_bytes - row_bytes / 10 && bytes <= row_bytes + row_bytes / 32;
}

static bool capability_fits(const struct device_peak *device, const struct device_hints *hints)
{
    return hints->compute_major == device->compute_major &&
           hints->compute_minor == device->compute_minor;
}

/* Is the memory of both known, and that of one device? */
static bool device_fits_memory(const struct device_peak *device, const struct device_hints *hints)
{
    return hints->memory_bytes > 0 && device->memory_bytes > 0 &&
           memory_fits(device->memory_bytes, hints->memory_bytes);
}

/* "memory", "multiprocessors" or "compute capability": what contradicts the row; NULL: nothing.
 * Multiprocessors first, as they decide what is computed: a MIG slice or a cut-down card has the
 * name of the whole one. */
static const char *device_contradiction(const struct device_peak *device,
                                        const struct device_hints *hints)
{
    if (hints->multiprocessors > 0 && device->multiprocessors > 0 &&
        hints->multiprocessors != device->multiprocessors)
        return "multiprocessors";
    if (hints->memory_bytes > 0 && device->memory_bytes > 0 && !device_fits_memory(device, hints))
        return "memory";
    if (hints->compute_major > 0 && device->compute_major > 0 && !capability_fits(device, hints))
        return "compute capability";
    return NULL;
}

/* Are as many multiprocessors of the same compute capability known of both? Then both compute as
 * much in a clock. */
static bool device_computes_alike(const struct device_peak *device,
                                  const struct device_hints *hints)
{
    return device->multiprocessors > 0 && device->multiprocessors == hints->multiprocessors &&
           (hints->compute_major <= 0 || capability_fits(device, hints));
}

/* ---- find device peak ------------------------------------------------------------------------ */

#define DEVICE(id, ...) id,
enum device_id {
#include "cost/devices/device_list.def"
    NOTHING = -1
};
#undef DEVICE

/* A line of device_name_list.def. `devices` ends with NOTHING. */
struct name_rule {
    const char *words;
    enum device_id otherwise;
    enum device_id devices[DEVICE_CANDIDATES_MAX];
};

#define NAME(words, device)           {words, NOTHING, {device, NOTHING}},
#define ONE_OF(words, otherwise, ...) {words, otherwise, {__VA_ARGS__, NOTHING}},

static const struct name_rule rules[] = {
#include "cost/devices/device_name_list.def"
};

/* Words in front of a name that say who makes it, or what lspci calls its class. */
static const char *const vendor_words[] = {
    "nvidia", "corporation", "amd",     "advanced",   "micro",      "devices",    "inc",
    "ati",    "intel",       "habana",  "labs",       "huawei",     "google",     "cloud",
    "aws",    "amazon",      "tesla",   "geforce",    "instinct",   "tm",         "r",
    "3d",     "vga",         "display", "compatible", "controller", "processing", "accelerators",
};

enum { WORDS_MAX = 16, WORD_LENGTH_MAX = 32 };

struct name_words {
    char words[WORDS_MAX][WORD_LENGTH_MAX];
    size_t count;
};

/* Taken off the front alone: "amd instinct mi300x" and "mi300x" are one device, "radeon
 * instinct" stays apart. */
static bool is_vendor_word(const char *word)
{
    for (size_t i = 0; i < sizeof vendor_words / sizeof vendor_words[0]; i++)
        if (strcmp(vendor_words[i], word) == 0)
            return true;
    return false;
}

/* Brackets that hold no name: the vendor's, and numbers of lspci -nn ("10de:2330", "0302"). */
static bool is_name_in_brackets(const char *text, size_t length)
{
    if (length == 0 || (length == 7 && strncasecmp(text, "AMD/ATI", 7) == 0))
        return false;
    if (length == 4 && strspn(text, "0123456789") == 4)
        return false;
    return length != 9 || text[4] != ':' || strspn(text, "0123456789abcdefABCDEF:") != 9;
}

/* The part of the name that counts: what the last brackets hold, else all of it. */
static void name_part(const char *name, const char **start, size_t *length)
{
    const char *at = name;

    *start = name;
    *length = strlen(name);
    while ((at = strchr(at, '[')) != NULL) {
        const char *end = strchr(at, ']');

        if (!end)
            return;
        if (is_name_in_brackets(at + 1, (size_t)(end - at - 1))) {
            *start = at + 1;
            *length = (size_t)(end - at - 1);
        }
        at = end + 1;
    }
}

static void copy_in_small_letters(char *to, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        to[i] = (char)tolower((unsigned char)text[i]);
    to[length] = '\0';
}

/* False where the name has more or longer words than any device's. Punctuation separates:
 * "A100-SXM4-80GB", "A100 SXM4 80 GB" have the same words. */
static bool split_words(struct name_words *words, const char *text, size_t length)
{
    size_t at = 0;

    words->count = 0;
    while (at < length) {
        size_t start;
        char *word = words->words[words->count];

        while (at < length && !isalnum((unsigned char)text[at]))
            at++;
        start = at;
        while (at < length && isalnum((unsigned char)text[at]))
            at++;
        if (at == start)
            return true;
        if (at - start >= WORD_LENGTH_MAX || words->count + 1 >= WORDS_MAX)
            return false;
        copy_in_small_letters(word, text + start, at - start);
        if (words->count > 0 || !is_vendor_word(word))
            words->count++;
    }
    return true;
}

static bool find_device_peak_is_number(const char *word)
{
    return word[0] != '\0' && strspn(word, "0123456789") == strlen(word);
}

/* Does `word` fit one of the alternatives in [pattern, pattern + length)? */
static bool fits_alternatives(const char *word, const char *pattern, size_t length)
{
    size_t word_length = strlen(word);

    if (length == 1 && pattern[0] == '#')
        return find_device_peak_is_number(word);
    for (size_t start = 0; start <= length;) {
        const char *bar = memchr(pattern + start, '|', length - start);
        size_t end = bar ? (size_t)(bar - pattern) : length;

        if (end - start == word_length && strncmp(word, pattern + start, word_length) == 0)
            return true;
        start = end + 1;
    }
    return false;
}

/* Is the whole name what the rule says? A rule must consume the whole name: "H100" must not take
 * "H100 MIG 1g.10gb", and a word too much means another product. */
static bool rule_takes(const char *rule, const struct name_words *words)
{
    size_t next = 0;

    while (*rule) {
        size_t length = strcspn(rule, " ");
        bool is_optional = rule[length - 1] == '?';

        if (next < words->count &&
            fits_alternatives(words->words[next], rule, length - (is_optional ? 1 : 0)))
            next++;
        else if (!is_optional)
            return false;
        rule += length + (rule[length] == ' ' ? 1 : 0);
    }
    return next == words->count;
}

static const struct name_rule *find_device_peak_find_rule(const struct name_words *words)
{
    for (size_t i = 0; words->count > 0 && i < sizeof rules / sizeof rules[0]; i++)
        if (rule_takes(rules[i].words, words))
            return &rules[i];
    return NULL;
}

/* The words of a name that tell devices apart have a digit: "h100", not "blackwell" or "2". "gb"
 * has a digit beside it in "80gb", which is no model. */
static bool shares_model_word(const struct device_peak *device, const struct name_words *words)
{
    struct name_words other = {.count = 0};

    if (!split_words(&other, device->name, strlen(device->name)))
        return false;
    for (size_t i = 0; i < words->count; i++) {
        const char *word = words->words[i];
        size_t length = strlen(word);

        if (length < 2 || strcspn(word, "0123456789") == length || strstr(word, "gb"))
            continue;
        for (size_t j = 0; j < other.count; j++)
            if (strcmp(other.words[j], word) == 0)
                return true;
    }
    return false;
}

static void add_candidate(struct device_match *match, const struct device_peak *device)
{
    for (size_t i = 0; i + 1 < DEVICE_CANDIDATES_MAX; i++)
        if (!match->candidates[i]) {
            match->candidates[i] = device;
            return;
        }
}

/* Cut at a whole name where the room ends. */
void list_device_candidates(const struct device_match *match, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < DEVICE_CANDIDATES_MAX && match->candidates[i]; i++) {
        bool is_last = i + 1 == DEVICE_CANDIDATES_MAX || !match->candidates[i + 1];
        const char *before = i == 0 ? "" : is_last ? " or " : ", ";
        int length = snprintf(text + used, size - used, "%s%s", before, match->candidates[i]->name);

        if (length < 0 || (size_t)length >= size - used)
            return;
        used += (size_t)length;
    }
}

/* FLOP/s of 16-bit products: by which candidates are compared. 16 bits are what every
 * accelerator has, and what they are bought for. */
static double find_device_peak_rate_of(const struct device_peak *device)
{
    return device->peaks[PEAK_FP16] > device->peaks[PEAK_BF16] ? device->peaks[PEAK_FP16]
                                                               : device->peaks[PEAK_BF16];
}

/* The fastest of the candidates, so that no share of its peak is too high. */
static const struct device_peak *resolve_candidates(struct device_match *match)
{
    const struct device_peak *fastest = match->candidates[0];
    const struct device_peak *slowest = match->candidates[0];

    for (size_t i = 1; i < DEVICE_CANDIDATES_MAX && match->candidates[i]; i++) {
        const struct device_peak *device = match->candidates[i];

        if (find_device_peak_rate_of(device) > find_device_peak_rate_of(fastest))
            fastest = device;
        if (find_device_peak_rate_of(device) < find_device_peak_rate_of(slowest))
            slowest = device;
    }
    match->slowest =
        find_device_peak_rate_of(slowest) < find_device_peak_rate_of(fastest) ? slowest : NULL;
    return fastest;
}

/* A name that tools print where they know none. */
static bool says_nothing(const struct name_words *words)
{
    static const char *const rules_of_none[] = {"radeon? graphics device?", "graphics? device",
                                                "unknown|n?"};

    for (size_t i = 0; i < sizeof rules_of_none / sizeof rules_of_none[0]; i++)
        if (rule_takes(rules_of_none[i], words))
            return true;
    return words->count == 0;
}

/* Without a name: all that is known of it must be that of the row. */
static bool is_inferred(const struct device_peak *device, const struct device_hints *hints)
{
    return hints->compute_major > 0 && device_fits_memory(device, hints) &&
           device_computes_alike(device, hints);
}

/* A name that says nothing ("Graphics Device"): only where memory, multiprocessors and
 * capability are all known and all fit. */
static const struct device_peak *infer(const struct device_hints *hints, struct device_match *match)
{
    size_t count;
    const struct device_peak *devices = all_device_peaks(&count);
    char names[256];

    for (size_t i = 0; i < count; i++)
        if (is_inferred(&devices[i], hints))
            add_candidate(match, &devices[i]);
    if (!match->candidates[0])
        return NULL;
    match->kind = DEVICE_INFERRED;
    list_device_candidates(match, names, sizeof names);
    snprintf(
        match->how, sizeof match->how,
        "inferred, for its name tells nothing: %.1f GiB, %d multiprocessors and compute capability "
        "%d.%d are those of %s",
        (double)hints->memory_bytes / 0x1p30, (int)hints->multiprocessors,
        (int)hints->compute_major, (int)hints->compute_minor, names);
    return resolve_candidates(match);
}

/* Shares a word of the name, and computes as much in a clock. */
static bool is_near(const struct device_peak *device, const struct name_words *words,
                    const struct device_hints *hints)
{
    return device_computes_alike(device, hints) && find_device_peak_rate_of(device) > 0.0 &&
           shares_model_word(device, words);
}

static bool has_candidate_as_fast(const struct device_match *match,
                                  const struct device_peak *device)
{
    for (size_t i = 0; i < DEVICE_CANDIDATES_MAX && match->candidates[i]; i++)
        if (fabs(find_device_peak_rate_of(match->candidates[i]) / find_device_peak_rate_of(device) -
                 1.0) < 0.001)
            return true;
    return false;
}

/* Those of its memory first; others where they are faster or slower: memory changes nothing of what
 * a device computes. */
static const struct device_peak *find_near(const struct name_words *words,
                                           const struct device_hints *hints,
                                           struct device_match *match)
{
    struct device_match near = {.kind = DEVICE_NEAR};
    size_t count;
    const struct device_peak *devices = all_device_peaks(&count);
    const struct device_peak *fastest;
    char names[256];

    for (size_t i = 0; i < count; i++)
        if (is_near(&devices[i], words, hints) && device_fits_memory(&devices[i], hints))
            add_candidate(&near, &devices[i]);
    for (size_t i = 0; i < count; i++)
        if (is_near(&devices[i], words, hints) && !has_candidate_as_fast(&near, &devices[i]))
            add_candidate(&near, &devices[i]);
    if (!near.candidates[0])
        return NULL;
    fastest = resolve_candidates(&near);
    list_device_candidates(&near, names, sizeof names);
    snprintf(
        near.how, sizeof near.how,
        "approximate: no device has this whole name; of its name and %d multiprocessors are %s",
        (int)hints->multiprocessors, names);
    *match = near;
    return fastest;
}

/* Never a guess by name alone: candidates are named to the user, and no peak is taken. */
static const struct device_peak *unknown(const struct name_words *words,
                                         const struct device_hints *hints,
                                         struct device_match *match)
{
    size_t count;
    const struct device_peak *devices = all_device_peaks(&count);
    const struct device_peak *found;
    char names[320];

    match->kind = DEVICE_UNKNOWN;
    found = says_nothing(words) ? infer(hints, match) : find_near(words, hints, match);
    if (found)
        return found;
    for (size_t i = 0; i < count; i++)
        if (shares_model_word(&devices[i], words))
            add_candidate(match, &devices[i]);
    list_device_candidates(match, names, sizeof names);
    if (names[0])
        snprintf(match->how, sizeof match->how,
                 "no device has this whole name; it is near to %s, but is none of them for sure",
                 names);
    else
        snprintf(match->how, sizeof match->how, "no device in the table has this name");
    return NULL;
}

/* The name and the hints contradict each other: a part of a device (MIG), a later product with
 * the same name, or another board. Any peak would be a guess. */
static const struct device_peak *find_device_peak_refuse(const struct device_peak *device,
                                                         const char *what,
                                                         const struct device_hints *hints,
                                                         struct device_match *match)
{
    match->kind = DEVICE_CONTRADICTED;
    add_candidate(match, device);
    if (strcmp(what, "multiprocessors") == 0)
        snprintf(match->how, sizeof match->how,
                 "the name is that of %s, which has %d multiprocessors, but this device has %d: a "
                 "part of one, or another product",
                 device->name, (int)device->multiprocessors, (int)hints->multiprocessors);
    else if (strcmp(what, "memory") == 0)
        snprintf(match->how, sizeof match->how,
                 "the name is that of %s with %.0f GiB, but this device has %.1f GiB: a part of "
                 "one, or another product",
                 device->name, (double)device->memory_bytes / 0x1p30,
                 (double)hints->memory_bytes / 0x1p30);
    else
        snprintf(match->how, sizeof match->how,
                 "the name is that of %s of compute capability %d.%d, but this device has %d.%d",
                 device->name, (int)device->compute_major, (int)device->compute_minor,
                 (int)hints->compute_major, (int)hints->compute_minor);
    return NULL;
}

/* How it was found is kept in words: a report shows it beside the peak, since a wrong device
 * makes every share wrong. */
static const struct device_peak *accept(const struct device_peak *device,
                                        enum device_match_kind kind, struct device_match *match)
{
    match->kind = kind;
    if (kind == DEVICE_BY_HINTS)
        snprintf(
            match->how, sizeof match->how,
            "the whole name (rule: %s) with its memory, multiprocessors and compute capability",
            match->rule);
    else
        snprintf(match->how, sizeof match->how, "the whole name (rule: %s)", match->rule);
    return device;
}

/* Several devices bear the name: those the hints say nothing against are left. */
static const struct device_peak *find_device_peak_choose(const struct name_rule *rule,
                                                         const struct device_hints *hints,
                                                         struct device_match *match)
{
    size_t count;
    const struct device_peak *devices = all_device_peaks(&count);
    const struct device_peak *left = NULL;
    const struct device_peak *otherwise =
        rule->otherwise == NOTHING ? NULL : &devices[rule->otherwise];
    size_t left_count = 0;
    char names[320];

    for (size_t i = 0; rule->devices[i] != NOTHING; i++) {
        const struct device_peak *device = &devices[rule->devices[i]];

        if (device_contradiction(device, hints))
            continue;
        left = device;
        left_count++;
        add_candidate(match, device);
    }
    if (left_count == 0)
        return find_device_peak_refuse(&devices[rule->devices[0]],
                                       device_contradiction(&devices[rule->devices[0]], hints),
                                       hints, match);
    /* Only memory or multiprocessors choose: the compute capability is that of the chip, which
     * all boards of the name share. */
    if (left_count == 1 && (hints->memory_bytes > 0 || hints->multiprocessors > 0))
        return accept(left, DEVICE_BY_HINTS, match);
    if (otherwise)
        return accept(otherwise, DEVICE_BY_NAME, match);
    match->kind = DEVICE_AMBIGUOUS;
    list_device_candidates(match, names, sizeof names);
    snprintf(match->how, sizeof match->how,
             "the name '%s' is that of %s: the whole name, or memory and multiprocessors, would "
             "tell",
             match->rule, names);
    return NULL;
}

/* Anchored: the whole name by a rule, then the trace's facts, which may choose among several
 * products of one name, or contradict. A wrong peak makes every share of it wrong, so doubt
 * gives no device. */
const struct device_peak *find_device_peak(const char *name, const struct device_hints *hints,
                                           struct device_match *match)
{
    static const struct device_hints no_hints;
    struct name_words words = {.count = 0};
    const struct name_rule *rule = NULL;
    const struct device_peak *device;
    const char *text;
    size_t count;
    size_t length;

    *match = (struct device_match){.kind = DEVICE_UNKNOWN};
    if (!hints)
        hints = &no_hints;
    if (name) {
        name_part(name, &text, &length);
        if (split_words(&words, text, length))
            rule = find_device_peak_find_rule(&words);
    }
    if (!rule)
        return unknown(&words, hints, match);
    match->rule = rule->words;
    if (rule->devices[1] != NOTHING)
        return find_device_peak_choose(rule, hints, match);
    device = &all_device_peaks(&count)[rule->devices[0]];
    if (device_contradiction(device, hints))
        return find_device_peak_refuse(device, device_contradiction(device, hints), hints, match);
    return accept(device, DEVICE_BY_NAME, match);
}
