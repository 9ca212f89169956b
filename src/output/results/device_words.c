/* Replaces words of CUDA in what we say, never in what a trace says. */
#include "output/results/device_words.h"

#include "base/text/prefix.h"

#include <ctype.h>
#include <string.h>

enum speaker {
    AMD = 1 << 0,
    TPU = 1 << 1,
    NPU = 1 << 2, /* Ascend */
    MTIA = 1 << 3,
    XPU = 1 << 4,
    OTHER = 1 << 5,  /* a device of which only the maker is known */
    JAX = 1 << 6,    /* a program's words, whatever the device is */
    NVIDIA = 1 << 7, /* has none in the list: its words are what is written */
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
    } makers[] = {{"AMD ", AMD},  {"gfx", AMD},     {"Google TPU", TPU},
                  {"TPU", TPU},   {"Huawei ", NPU}, {"Ascend", NPU},
                  {"Intel", XPU}, {"AWS ", OTHER},  {"NVIDIA ", NVIDIA}};

    for (size_t i = 0; name && i < sizeof makers / sizeof *makers; i++)
        if (has_prefix(name, makers[i].start))
            return makers[i].speaker;
    return 0;
}

/* Who says nothing of itself goes along with the other. JAX's words are of the program: they stay
 * only where both runs are JAX's. Two makers share no word for graphs, matrix units or the library
 * of collectives, so that what is said of both is said without any. */
uint32_t speakers_of_both(uint32_t one, uint32_t other)
{
    uint32_t maker = one & ~(uint32_t)JAX, other_maker = other & ~(uint32_t)JAX;
    uint32_t of_program = one & other & JAX;

    if (one == NO_SPEAKERS || other == NO_SPEAKERS)
        return one | other;
    if (maker == 0 || other_maker == 0 || maker == other_maker)
        return maker | other_maker | of_program;
    return OTHER | of_program;
}

/* RCCL is "nccl" there, as PyTorch for ROCm has the names of CUDA. */
uint32_t speakers_by_backend(const char *backend)
{
    return strcmp(backend, "xccl") == 0 ? XPU : strcmp(backend, "hccl") == 0 ? NPU : NO_SPEAKERS;
}

/* Where PyTorch for ROCm, Ascend and Intel's devices has its own code. Names that it shares with
 * CUDA's ("torch/cuda/memory.py", RegisterCUDA.cpp) tell nothing: ROCm's have them, too. */
static uint32_t speakers_by_code(const char *place)
{
    static const struct {
        const char *part;
        uint32_t speaker;
    } parts[] = {{"HIPCachingAllocator", AMD}, {"/hip/", AMD},
                 {"triton/backends/amd", AMD}, {"PYTORCH_HIP_ALLOC_CONF", AMD},
                 {"torch_npu", NPU},           {"PYTORCH_NPU_ALLOC_CONF", NPU},
                 {"NPUCachingAllocator", NPU}, {"XPUCachingAllocator", XPU},
                 {"torch/xpu/", XPU},          {"CUDACachingAllocator", NVIDIA}};

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strstr(place, parts[i].part))
            return parts[i].speaker;
    return NO_SPEAKERS;
}

/* The first place that tells: a process has one PyTorch. Settings come first, as they are few, and
 * are there even where no stack was recorded. */
uint32_t speakers_of_snapshot(const struct memory_snapshot *snapshot)
{
    uint32_t found = NO_SPEAKERS;

    for (uint32_t i = 0; i < snapshot->setting_count && found == NO_SPEAKERS; i++)
        found = speakers_by_code(snapshot_text(snapshot, snapshot->settings[i].name));
    for (uint32_t i = 0; i < snapshot->frame_count && found == NO_SPEAKERS; i++) {
        found = speakers_by_code(snapshot_text(snapshot, snapshot->frames[i].file));
        if (found == NO_SPEAKERS)
            found = speakers_by_code(snapshot_text(snapshot, snapshot->frames[i].name));
    }
    return found;
}

/* Of devices that the process sees and does not use, too: they are of the same driver. */
static uint32_t speakers_by_devices_of(const struct trace *trace)
{
    uint32_t speakers = NO_SPEAKERS;

    for (uint32_t i = 0; i < trace->device_list_count; i++)
        if (trace->devices[i].name)
            speakers = speakers_of_both(
                speakers, speakers_by_device_name(trace_text(trace, trace->devices[i].name)));
    return speakers;
}

/* The software comes before the name of the device: PyTorch's words for Ascend, MTIA and Intel's
 * devices are its own, and a name may be missing or one that --device puts for another. */
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
    if (!peaks)
        return speakers_by_devices_of(trace) | of_program;
    return speakers_by_device_name(peaks->device ? peaks->device->name : peaks->name) | of_program;
}

/* Most recordings: nothing is looked at or copied for them. */
static bool have_other_words(uint32_t speakers)
{
    return (speakers & ~(uint32_t)NVIDIA) != 0;
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
    if (!text || !have_other_words(speakers))
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

void account_words_of(struct account_words *said, struct arena *arena, uint32_t speakers)
{
    for (unsigned a = 0; a < ACCOUNT_COUNT; a++) {
        said->titles[a] = device_words(arena, account_descriptions[a].title, speakers);
        said->advice[a] = device_words(arena, account_descriptions[a].advice, speakers);
    }
}

/* The ledger's own words, which stand among names of the trace. */
static bool is_word_of_account(const char *text)
{
    for (unsigned a = 0; a < ACCOUNT_COUNT; a++)
        if (strcmp(text, account_descriptions[a].title) == 0 ||
            strcmp(text, account_descriptions[a].advice) == 0 ||
            strcmp(text, account_descriptions[a].definition) == 0)
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
static void section_use_words(struct results *results, struct section *section, uint32_t speakers)
{
    struct arena *arena = results->arena;

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

/* A copy: the list may be of constants. Lanes of names that the trace has no title for have none.
 */
static void timeline_use_words(struct results *results, struct timeline *timeline,
                               uint32_t speakers)
{
    struct timeline_class *classes =
        results_allocate(results, (timeline->class_count + 1) * sizeof *classes);

    for (size_t i = 0; i < timeline->class_count; i++) {
        classes[i] = timeline->classes[i];
        if (classes[i].title && is_word_of_account(classes[i].title))
            classes[i].title = device_words(results->arena, classes[i].title, speakers);
    }
    timeline->classes = classes;
}

static void rank_use_words(struct results *results, struct rank_results *rank)
{
    rank->headline = device_words(results->arena, rank->headline, rank->speakers);
    for (size_t i = 0; i < rank->section_count; i++)
        section_use_words(results, rank->sections[i], rank->speakers);
    if (rank->timeline)
        timeline_use_words(results, rank->timeline, rank->speakers);
}

/* What stands over the ranks is of all of them. Digests tell the device alone, and not its program:
 * of that, those say it that are here in full. */
void results_use_device_words(struct results *results)
{
    uint32_t of_ranks = NO_SPEAKERS, of_all;

    for (size_t i = 0; i < results->rank_count; i++) {
        of_ranks = speakers_of_both(of_ranks, results->ranks[i].speakers);
        if (have_other_words(results->ranks[i].speakers))
            rank_use_words(results, &results->ranks[i]);
    }
    of_all = speakers_of_both(results->speakers, of_ranks) | (of_ranks & JAX);
    if (!have_other_words(of_all))
        return;
    results->headline = device_words(results->arena, results->headline, of_all);
    if (results->overview)
        section_use_words(results, results->overview, of_all);
}
