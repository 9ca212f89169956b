/* What logs of all programs say: that processes start, break or are stopped, how many devices there
 * are, and what time it is; told at one look by whether any of some words stands in a line. */
#include "readers/logs/log_signs.h"

#include "readers/logs/log_time.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

/* Pairs of characters in 8 bytes that are looked at together. */
enum { PAIRS_AT_ONCE = 7 };

static unsigned log_words_pair_at(const char *at)
{
    return (unsigned)(unsigned char)at[0] | (unsigned)(unsigned char)at[1] << 8;
}

/* How often a character stands in a log, more or less. */
static int commonness(char c)
{
    static const char letters[] = "zqjxkvbywgpfmucdlhrsnioate "; /* the rarest first */
    const char *found = c ? strchr(letters, c) : NULL;

    if (found)
        return 6 + (int)(found - letters);
    return c >= '0' && c <= '9' ? 20 : 5;
}

/* Where the two characters stand that are the rarest. */
static int rarest_pair(const char *text)
{
    int best = 0;

    for (int i = 1; text[i] && text[i + 1]; i++)
        if (commonness(text[i]) * commonness(text[i + 1]) <
            commonness(text[best]) * commonness(text[best + 1]))
            best = i;
    return best;
}

/* By its rarest pair of characters: the common ones would stop at every other place of a line. */
void log_words_add(struct log_words *words, const char *text)
{
    struct log_word *word = &words->words[words->count];
    unsigned pair;

    assert(words->count < LOG_WORDS_MAX && text[0] && text[1]);
    *word = (struct log_word){.text = text, .place = rarest_pair(text)};
    pair = log_words_pair_at(text + word->place);
    word->next = words->first[pair];
    words->first[pair] = (uint8_t)++words->count;
}

/* Does a word stand in the line whose pair is at `at`? */
static bool is_word_at(const struct log_words *words, struct log_text line, const char *at)
{
    for (int i = words->first[log_words_pair_at(at)]; i; i = words->words[i - 1].next) {
        const struct log_word *word = &words->words[i - 1];
        struct log_text rest = {at - word->place, line.end};

        if (at - line.at >= word->place && log_skip(&rest, word->text))
            return true;
    }
    return false;
}

/* Seven pairs at a look: a table of 64 KiB says for each whether any word has it, and most
 * looks find none. O(bytes of the line / 7). */
bool log_words_find_any(const struct log_words *words, struct log_text line)
{
    const uint8_t *first = words->first;
    const char *at = line.at;

    for (; line.end - at > PAIRS_AT_ONCE; at += PAIRS_AT_ONCE) {
        uint64_t bytes;

        memcpy(&bytes, at, sizeof bytes);
        if (!(first[bytes & 0xffff] | first[bytes >> 8 & 0xffff] | first[bytes >> 16 & 0xffff] |
              first[bytes >> 24 & 0xffff] | first[bytes >> 32 & 0xffff] |
              first[bytes >> 40 & 0xffff] | first[bytes >> 48 & 0xffff]))
            continue;
        for (int i = 0; i < PAIRS_AT_ONCE; i++)
            if (is_word_at(words, line, at + i))
                return true;
    }
    for (; line.end - at >= 2; at++)
        if (is_word_at(words, line, at))
            return true;
    return false;
}

enum sign_kind {
    SIGN_START,
    SIGN_DEVICES,   /* a start; the number of devices follows */
    SIGN_PROCESSES, /* a start; their number and " processes" follow */
    SIGN_CRASH,
    SIGN_PENDING, /* a crash, of which a later line may tell more */
    SIGN_STOP,
    SIGN_CANCELLED, /* a stop; the time, and sometimes why, follow */
};

struct sign {
    const char *words;
    enum sign_kind kind;
    const char *why;
};

static const struct sign signs[] = {
#define SIGN(words, kind, why) {words, kind, why},
#include "readers/logs/sign_list.def"
#undef SIGN
};
enum { SIGN_COUNT = sizeof signs / sizeof *signs };
_Static_assert(SIGN_COUNT < 255, "struct log_signs has one byte for each");

/* So much of a line is looked through, and so much of it told. */
enum { SEARCHED_BYTES = 4096, WHY_BYTES = 160 };

static unsigned log_signs_pair_at(const char *at)
{
    return (unsigned)(unsigned char)at[0] << 8 | (unsigned char)at[1];
}

/* By the first two characters: the first sign of the list is the first of its chain, as it is
 * entered last. */
void log_signs_init(struct log_signs *table)
{
    memset(table, 0, sizeof *table);
    for (size_t i = SIGN_COUNT; i-- > 0;) {
        unsigned pair = log_signs_pair_at(signs[i].words);

        table->next[i] = table->first[pair];
        table->first[pair] = (uint8_t)(i + 1);
    }
}

/* One look per character of the line, whatever the number of signs. */
static const struct sign *log_signs_find_sign(const struct log_signs *table, struct log_text line,
                                              struct log_text *rest)
{
    for (const char *at = line.at; line.end - at >= 2; at++) {
        for (size_t i = table->first[log_signs_pair_at(at)]; i; i = table->next[i - 1]) {
            *rest = (struct log_text){at, line.end};
            if (log_skip(rest, signs[i - 1].words))
                return &signs[i - 1];
        }
    }
    return NULL;
}

/* "[rank0]: ", "0: ", " 0: ", "[default7]:" before what a process wrote. */
static struct log_text without_rank(struct log_text line)
{
    struct log_text behind = line;
    int64_t rank;

    log_skip_spaces(&behind);
    if (log_skip(&behind, "[rank") || log_skip(&behind, "[default")) {
        if (log_take_integer(&behind, false, &rank) && log_skip(&behind, "]:")) {
            log_skip_spaces(&behind);
            return behind;
        }
    } else if (log_take_integer(&behind, false, &rank) && log_skip(&behind, ": ")) {
        return behind;
    }
    return line;
}

/* What the names of exceptions end with. */
static const char *const exception_endings[] = {"Error", "Exception", "Interrupt", "Timeout",
                                                "Failure"};
enum { EXCEPTION_ENDINGS = sizeof exception_endings / sizeof *exception_endings };

/* Is it "torch.distributed.DistBackendError: ..."? The name of an exception, with its text. */
static bool is_exception(struct log_text line)
{
    const char *at = line.at;
    size_t length;

    while (at < line.end && (isalnum((unsigned char)*at) || *at == '.' || *at == '_'))
        at++;
    length = (size_t)(at - line.at);
    if (length == 0 || !isalpha((unsigned char)*line.at) || (at < line.end && *at != ':'))
        return false;
    for (size_t i = 0; i < EXCEPTION_ENDINGS; i++) {
        size_t ending = strlen(exception_endings[i]);

        if (length >= ending && memcmp(at - ending, exception_endings[i], ending) == 0)
            return at < line.end || length > ending;
    }
    return false;
}

/* Weak where the format itself tells of starts: lines of a launcher then end nothing. */
static void tell_ending(struct log_reading *reading, struct log_text line, enum job_event_kind kind,
                        struct log_text why)
{
    struct job_event event = log_event(reading, line, kind);

    event.is_weak = reading->reports_starts;
    event.text = why.at;
    event.text_length = log_text_length(why) < WHY_BYTES ? log_text_length(why) : WHY_BYTES;
    job_add(reading->job, &event);
}

/* A line as any program that starts writes it. */
static struct job_event start_event(struct log_reading *reading, struct log_text line)
{
    struct job_event event = log_event(reading, line, JOB_START);

    event.is_weak = reading->reports_starts;
    return event;
}

/* More than ten million devices is a number of something else. */
static void tell_devices(struct log_reading *reading, struct log_text line, struct log_text rest,
                         bool are_processes)
{
    struct job_event event = start_event(reading, line);
    int64_t devices;

    if (!log_take_integer(&rest, false, &devices) || devices < 1 || devices > 10000000 ||
        (are_processes && !log_skip(&rest, " processes")))
        return;
    event.devices = devices;
    job_add(reading->job, &event);
}

/* "*** JOB 1809562 ON r6i5n1 CANCELLED AT 2021-05-23T08:29:53 DUE TO TIME LIMIT ***" */
static void tell_cancelled(struct log_reading *reading, struct log_text rest)
{
    struct job_event event = log_event(reading, rest, JOB_STOP);
    struct log_text behind;
    const char *why = "cancelled";

    if (log_find(rest, "DUE TO NODE FAILURE", &behind)) {
        why = "node failure";
        event.kind = JOB_CRASH;
    } else if (log_find(rest, "DUE TO TIME LIMIT", &behind)) {
        why = "the scheduler's time limit";
    } else if (log_find(rest, "DUE TO PREEMPTION", &behind)) {
        why = "preempted";
    }
    event.line = reading->line;
    event.text = why;
    event.text_length = strlen(why);
    job_add(reading->job, &event);
}

/* What was pending is told when the file ends or a start follows: then no later line told
 * more. */
void log_signs_finish(struct log_reading *reading)
{
    struct job_event event = job_event_of(JOB_CRASH);

    if (!reading->pending_ending)
        return;
    event.line = reading->line;
    event.is_weak = reading->reports_starts;
    event.text = reading->pending_ending;
    event.text_length = strlen(event.text);
    job_add(reading->job, &event);
    reading->pending_ending = NULL;
}

/* A pending ending goes first where a new start follows, so that an attempt ends before the
 * next begins. */
static void tell_sign(struct log_reading *reading, const struct sign *sign, struct log_text line,
                      struct log_text rest)
{
    struct log_text why = {sign->why, sign->why ? sign->why + strlen(sign->why) : NULL};
    struct job_event event;

    if (!sign->why)
        why = without_rank(line);
    if (reading->pending_ending && sign->kind <= SIGN_PROCESSES)
        log_signs_finish(reading);
    switch (sign->kind) {
    case SIGN_START:
        event = start_event(reading, line);
        job_add(reading->job, &event);
        break;
    case SIGN_DEVICES:
    case SIGN_PROCESSES:
        tell_devices(reading, line, rest, sign->kind == SIGN_PROCESSES);
        break;
    case SIGN_PENDING:
        log_tell(reading, line, JOB_SIGN_OF_LIFE);
        break;
    case SIGN_CRASH:
        tell_ending(reading, line, JOB_CRASH, why);
        break;
    case SIGN_STOP:
        tell_ending(reading, line, JOB_STOP, why);
        break;
    case SIGN_CANCELLED:
        tell_cancelled(reading, rest);
        break;
    }
}

/* In order: known signs, then the name of an exception, then at least a time, which says that
 * the job lived. */
void log_signs_read(const struct log_signs *table, struct log_reading *reading,
                    struct log_text line)
{
    struct log_text searched = line, rest, said = without_rank(line);
    const struct sign *sign;

    if (log_text_length(searched) > SEARCHED_BYTES)
        searched.end = searched.at + SEARCHED_BYTES;
    sign = log_signs_find_sign(table, searched, &rest);
    if (sign) {
        tell_sign(reading, sign, line, rest);
        reading->pending_ending = sign->kind == SIGN_PENDING ? sign->why : NULL;
    } else if (is_exception(said)) {
        tell_ending(reading, line, JOB_CRASH, said);
        reading->pending_ending = NULL;
    } else {
        log_signs_read_time(reading, line);
    }
}

/* Any line with a time is a sign that the job lived then, even if nothing else of it is known. */
void log_signs_read_time(struct log_reading *reading, struct log_text line)
{
    struct job_event event;

    if (!log_may_have_time(line))
        return;
    event = log_event(reading, line, JOB_SIGN_OF_LIFE);
    if (event.time_ns != JOB_NOT_KNOWN)
        job_add(reading->job, &event);
}

void log_signs_add_words(struct log_words *words)
{
    for (size_t i = 0; i < SIGN_COUNT; i++)
        log_words_add(words, signs[i].words);
    for (size_t i = 0; i < EXCEPTION_ENDINGS; i++)
        log_words_add(words, exception_endings[i]);
}
