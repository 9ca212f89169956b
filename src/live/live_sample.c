/* What is measured of a running job and of its machine. */
#include "live/live_sample.h"

#include "base/core/array.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct live_label copy_label(struct arena *arena, struct live_label label)
{
    if (label.name)
        label.value = arena_copy_text(arena, label.value, strlen(label.value));
    return label;
}

void live_add(struct live_samples *samples, const struct live_family *family, double value,
              struct live_label first, struct live_label second)
{
    ARRAY_ADD(samples->samples, samples->count,
              (struct live_sample){.family = family,
                                   .labels = {copy_label(&samples->arena, first),
                                              copy_label(&samples->arena, second)},
                                   .value = value});
}

void live_note(struct live_samples *samples, const char *format, ...)
{
    char text[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    for (size_t i = 0; i < samples->note_count; i++) {
        /* Each sample would say it again, several times a second. */
        if (strcmp(samples->notes[i], text) == 0)
            return;
    }
    if (samples->note_count < LIVE_NOTES_MAX)
        samples->notes[samples->note_count++] =
            arena_copy_text(&samples->arena, text, strlen(text));
}

void live_samples_clear(struct live_samples *samples)
{
    free(samples->samples);
    arena_clear(&samples->arena);
    *samples = (struct live_samples){0};
}

/* "" where the sample has no such label. */
const char *live_label_of(const struct live_sample *sample, const char *name)
{
    for (int i = 0; i < LIVE_LABELS_MAX && sample->labels[i].name; i++) {
        if (strcmp(sample->labels[i].name, name) == 0)
            return sample->labels[i].value;
    }
    return "";
}

/* Linear: a sample has some hundred entries, and a page asks for a few dozen. */
const struct live_sample *live_find(const struct live_samples *samples, const char *family,
                                    const char *name, const char *value)
{
    for (size_t i = 0; i < samples->count; i++) {
        const struct live_sample *sample = &samples->samples[i];

        if (strcmp(sample->family->name, family) == 0 &&
            (!name || strcmp(live_label_of(sample, name), value) == 0))
            return sample;
    }
    return NULL;
}

/* By family and labels, not by place: between two samples of one source rows come and go, as
 * devices and processes do. */
const struct live_sample *live_find_same(const struct live_samples *samples,
                                         const struct live_sample *like)
{
    for (size_t i = 0; i < samples->count; i++) {
        const struct live_sample *sample = &samples->samples[i];
        bool is_same = sample->family == like->family;

        for (int label = 0; is_same && label < LIVE_LABELS_MAX && like->labels[label].name; label++)
            is_same = strcmp(live_label_of(sample, like->labels[label].name),
                             like->labels[label].value) == 0;
        if (is_same)
            return sample;
    }
    return NULL;
}
