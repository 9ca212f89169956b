/* Remembers what short texts of the events before stood for, so that most events need no look-up in
 * a pool of strings. */
#ifndef FLOPLEDGER_READERS_TORCH_PROFILER_TORCH_PROFILER_MEMO_H
#define FLOPLEDGER_READERS_TORCH_PROFILER_TORCH_PROFILER_MEMO_H

#include "base/json/json_scan.h"

/* A text of up to 24 bytes as numbers; equal texts have equal keys, different ones different keys.
 */
struct text_key {
    uint64_t first;
    uint64_t middle;
    uint64_t last;
    uint32_t length;
};

enum { TEXT_KEY_MAX = 24 };

/* False where the text is too long or has escapes. The text must stand in a window (8 bytes behind
 * it can be read). */
static inline bool text_key_of(const struct json_slice *slice, struct text_key *key)
{
    uint32_t length = slice->length;

    if (length > TEXT_KEY_MAX || slice->has_escapes)
        return false;
    key->length = length;
    key->middle = 0;
    key->last = 0;
    key->first = load_8_bytes(slice->text);
    if (length < 8) {
        key->first &= ((uint64_t)1 << length * 8) - 1;
        return true;
    }
    key->last = load_8_bytes(slice->text + length - 8);
    if (length > 16)
        key->middle = load_8_bytes(slice->text + 8);
    return true;
}

static inline bool text_key_is(const struct text_key *a, const struct text_key *b)
{
    return a->first == b->first && a->last == b->last && a->length == b->length &&
           a->middle == b->middle;
}

/* The first and last bytes and the length of any text without escapes; false for one with some. */
static inline bool text_ends_of(const struct json_slice *slice, struct text_key *key)
{
    uint32_t length = slice->length;

    key->length = length;
    key->first = load_8_bytes(slice->text);
    if (length < 8) {
        key->first &= ((uint64_t)1 << length * 8) - 1;
        key->last = 0;
    } else {
        key->last = load_8_bytes(slice->text + length - 8);
    }
    return !slice->has_escapes;
}

/* A `cat` of events before. */
struct category_memo {
    struct text_key key;
    uint32_t string;      /* in the builder's pool */
    uint32_t count_place; /* where the last of its events was counted: trace_builder.last_category
                           */
    uint8_t kind;         /* enum event_kind */
    bool is_ours;         /* what `flopledger export chrome` added: nothing that was recorded */
    bool is_flow;         /* of Ascend: an arrow from an operator to a task */
    bool is_launch_flow;  /* likewise from a call */
    bool is_used;
};

/* A track of events before, by the texts that tell it. */
struct track_memo {
    struct text_key process;
    struct text_key thread;
    int64_t stream;
    int32_t device;
    bool is_device;
    bool is_used;
    uint32_t track; /* in the builder */
};

/* A name of events before. */
struct name_memo {
    struct text_key key; /* its ends */
    const char *text;    /* in the builder's pool; NULL: not used */
    uint32_t string;
    uint8_t facts; /* see torch_profiler_store.c */
};

enum { CATEGORY_MEMOS = 32, TRACK_MEMOS = 64, NAME_MEMOS = 256 };

static inline size_t name_memo_place(const struct text_key *key)
{
    return ((key->first ^ key->last * 3 ^ key->length) * 0x9e3779b97f4a7c15u >> 56) % NAME_MEMOS;
}

static inline bool name_memo_is(const struct name_memo *memo, const struct text_key *key,
                                const char *text)
{
    if (!memo->text || memo->key.first != key->first || memo->key.last != key->last ||
        memo->key.length != key->length)
        return false;
    return key->length <= 16 || memcmp(memo->text + 8, text + 8, key->length - 16) == 0;
}

static inline size_t category_memo_place(const struct text_key *key)
{
    return ((key->first ^ key->last * 3) * 0x9e3779b97f4a7c15u >> 59) % CATEGORY_MEMOS;
}

static inline size_t track_memo_place(const struct track_memo *memo)
{
    uint64_t mixed = memo->process.first ^ memo->thread.first * 3 ^ memo->thread.last * 5 ^
                     (uint64_t)memo->stream * 7 ^ (uint64_t)memo->is_device;

    return (mixed * 0x9e3779b97f4a7c15u >> 58) % TRACK_MEMOS;
}

/* Whether the known one `b` is of the same kind and stream; its texts are not looked at. */
static inline bool track_memo_is_on(const struct track_memo *a, const struct track_memo *b)
{
    return b->is_used && a->stream == b->stream && a->device == b->device &&
           a->is_device == b->is_device;
}

static inline bool track_memo_is(const struct track_memo *a, const struct track_memo *b)
{
    return track_memo_is_on(a, b) && text_key_is(&a->process, &b->process) &&
           text_key_is(&a->thread, &b->thread);
}

#endif
