/* Replaces words of CUDA in what we say, never in what a trace says. */
#include "output/results/device_words.h"

#include "base/text/prefix.h"
#include "ledger/account.h"

#include <ctype.h>
#include <string.h>

enum speaker {
    AMD = 1 << 0,
    TPU = 1 << 1,
    NPU = 1 << 2, /* Ascend */
    MTIA = 1 << 3,
    XPU = 1 << 4,
    OTHER = 1 << 5, /* a device of which only the maker is known */
    JAX = 1 << 6,   /* a program's words, whatever the device is */
};

static const struct device_word {
    uint32_t speakers;
    const char *written;
    const char *said;
} words[] = {
#define DEVICE_WORD(speakers_, written_, said_) \
    {.speakers = (speakers_), .written = (written_), .said = (said_)},
#include "output/results/device_word_list.def"
#undef DEVICE_WORD
};

/* As the table of devices names them, or as their own software does. */
uint32_t speakers_by_device_name(const char *name)
{
    static const struct {
        const char *start;
        uint32_t speaker;
    } makers[] = {{"AMD ", AMD},    {"gfx", AMD},    {"Google TPU", TPU}, {"TPU", TPU},
                  {"Huawei ", NPU}, {"Ascend", NPU}, {"Intel", XPU},      {"AWS ", OTHER}};

    for (size_t i = 0; name && i < sizeof makers / sizeof *makers; i++)
        if (has_prefix(name, makers[i].start))
            return makers[i].speaker;
    return 0;
}

uint32_t device_speakers(const struct trace *trace, const struct peak_choice *peaks)
{
    uint32_t of_program = trace->facts.platform == PLATFORM_JAX ? JAX : 0;

    if (trace->facts.platform == PLATFORM_NPU)
        return NPU;
    if (trace->facts.platform == PLATFORM_MTIA)
        return MTIA;
    if (trace->facts.platform == PLATFORM_XPU)
        return XPU;
    if (trace->facts.is_rocm == 1)
        return AMD | of_program;
    return speakers_by_device_name(peaks->device ? peaks->device->name : peaks->name) | of_program;
}

static bool is_in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* NULL where the text has it nowhere as a whole word. */
static const char *find_word(const char *text, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
        if (!(at > text && is_in_word(at[-1]) && is_in_word(*word)) &&
            !(is_in_word(at[length]) && is_in_word(word[length - 1])))
            return at;
    return NULL;
}

/* `at` is where the word stands in the text. */
static const char *with_other_word(struct arena *arena, const char *text, const char *at,
                                   const struct device_word *word)
{
    size_t before = (size_t)(at - text), said = strlen(word->said);
    const char *rest = at + strlen(word->written);
    size_t after = strlen(rest);
    char *copy = arena_allocate(arena, before + said + after + 1);

    memcpy(copy, text, before);
    memcpy(copy + before, word->said, said);
    memcpy(copy + before + said, rest, after + 1);
    return copy;
}

/* What was put in is looked at again from its end on, so that a word that holds the one it stands
 * for ends the search. */
const char *device_words(struct arena *arena, const char *text, uint32_t speakers)
{
    if (!text || speakers == 0)
        return text;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t done = 0;
        const char *at;

        if (!(words[i].speakers & speakers))
            continue;
        while ((at = find_word(text + done, words[i].written)) != NULL) {
            size_t before = (size_t)(at - text);

            text = with_other_word(arena, text, at, &words[i]);
            done = before + strlen(words[i].said);
        }
    }
    return text;
}

/* The ledger's own words, told by where they stand in memory: a name in the trace may be the same.
 */
static bool is_word_of_account(const char *text)
{
    for (unsigned a = 0; a < ACCOUNT_COUNT; a++)
        if (text == account_descriptions[a].title || text == account_descriptions[a].advice ||
            text == account_descriptions[a].definition)
            return true;
    return false;
}

static void value_use_words(struct arena *arena, struct value *value, uint32_t speakers)
{
    if (value->unit == UNIT_NOT_KNOWN ||
        (value->unit == UNIT_TEXT && value->text && is_word_of_account(value->text)))
        value->text = device_words(arena, value->text, speakers);
}

static void table_use_words(struct arena *arena, struct table *table, uint32_t speakers)
{
    table->title = device_words(arena, table->title, speakers);
    table->note = device_words(arena, table->note, speakers);
    for (size_t i = 0; i < table->column_count; i++)
        table->columns[i].title = device_words(arena, table->columns[i].title, speakers);
    for (size_t i = 0; i < table->row_count * table->column_count; i++)
        value_use_words(arena, &table->cells[i], speakers);
}

/* What shows a finding holds names of the trace, and is left alone. */
void section_use_device_words(struct results *results, struct section *section, uint32_t speakers)
{
    struct arena *arena = results->arena;

    if (speakers == 0)
        return;
    section->title = device_words(arena, section->title, speakers);
    section->intro = device_words(arena, section->intro, speakers);
    for (size_t i = 0; i < section->number_count; i++) {
        struct number *number = &section->numbers[i];

        number->title = device_words(arena, number->title, speakers);
        number->note = device_words(arena, number->note, speakers);
        value_use_words(arena, &number->value, speakers);
    }
    for (size_t i = 0; i < section->table_count; i++)
        table_use_words(arena, section->tables[i], speakers);
    for (size_t i = 0; i < section->finding_count; i++) {
        struct finding *finding = &section->findings[i];

        finding->what = device_words(arena, finding->what, speakers);
        finding->try_this = device_words(arena, finding->try_this, speakers);
    }
}

/* A copy: the list may be of constants. */
static void timeline_use_words(struct results *results, struct timeline *timeline,
                               uint32_t speakers)
{
    struct timeline_class *classes =
        results_allocate(results, (timeline->class_count + 1) * sizeof *classes);

    for (size_t i = 0; i < timeline->class_count; i++) {
        classes[i] = timeline->classes[i];
        if (is_word_of_account(classes[i].title))
            classes[i].title = device_words(results->arena, classes[i].title, speakers);
    }
    timeline->classes = classes;
}

void rank_use_device_words(struct results *results, struct rank_results *rank, uint32_t speakers)
{
    rank->speakers = speakers;
    if (speakers == 0)
        return;
    rank->headline = device_words(results->arena, rank->headline, speakers);
    for (size_t i = 0; i < rank->section_count; i++)
        section_use_device_words(results, rank->sections[i], speakers);
    if (rank->timeline)
        timeline_use_words(results, rank->timeline, speakers);
}
