/* The file of settings of `flopledger run`. */
#include "base/core/out_of_memory.h"
#include "base/io/input_stream.h"
#include "base/json/json_scan.h"
#include "base/text/spelling.h"
#include "live/run/run_parts.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONFIG_BYTES_MAX = 1 << 20 };

const struct run_settings default_run_settings = {
    .output = "captures",
    .records_shapes = true,
    .records_captures = true,
    .marks_modules = true,
    .shows_report = true,
    .is_enabled = true,
    .is_detailed = true,
    .module_depth = -1,
    .top_modules = 1,
};

enum value_kind {
    VALUE_FLAG,
    VALUE_INTEGER,
    VALUE_TEXT,
    VALUE_STEPS,
    VALUE_STEP,
    VALUE_RULES,
    VALUE_IGNORED
};

struct config_key {
    const char *name;
    enum value_kind kind;
    size_t offset;
    int64_t minimum;
    const char *accepts;
};

#define FIELD(name) .offset = offsetof(struct run_settings, name)

static const struct config_key own_keys[] = {
    {"steps", VALUE_STEPS, FIELD(steps), .accepts = step_window_accepted},
    {"every", VALUE_INTEGER, FIELD(every), 1, "a whole number of steps"},
    {"on", VALUE_RULES, FIELD(triggers.rules), .accepts = trigger_rules_accepted},
    {"on_windows", VALUE_INTEGER, FIELD(triggers.windows), 1, "a whole number of windows"},
    {"shapes", VALUE_FLAG, FIELD(records_shapes), .accepts = "true or false"},
    {"stacks", VALUE_FLAG, FIELD(records_stacks), .accepts = "true or false"},
    {"memory", VALUE_FLAG, FIELD(records_memory), .accepts = "true or false"},
    {"compiled", VALUE_FLAG, FIELD(records_compiled), .accepts = "true or false"},
    {"captures", VALUE_FLAG, FIELD(records_captures), .accepts = "true or false"},
    {"markers", VALUE_FLAG, FIELD(marks_modules), .accepts = "true or false"},
    {"report", VALUE_FLAG, FIELD(shows_report), .accepts = "true or false"},
    {"step_of", VALUE_TEXT, FIELD(step_of), .accepts = "a text: module, or the name of a range"},
    {"modules", VALUE_TEXT, FIELD(modules), .accepts = "a text: name patterns, commas between"},
    {"output", VALUE_TEXT, FIELD(output), .accepts = "a text: a folder"},
    {"name", VALUE_TEXT, FIELD(name), .accepts = "a text"},
    {"wandb", VALUE_FLAG, FIELD(logs_to_wandb), .accepts = "true or false"},
    {"mlflow", VALUE_FLAG, FIELD(logs_to_mlflow), .accepts = "true or false"},
    {"otlp", VALUE_TEXT, FIELD(otlp), .accepts = "a text: an address"},
    {"fleet", VALUE_TEXT, FIELD(fleet), .accepts = "a text: a folder"},
    {"label", VALUE_TEXT, FIELD(labels), .accepts = "a text: NAME=VALUE, commas between"},
    {0},
};

/* DeepSpeed counts steps from 0: its step 1 is ours 2. */
static const struct config_key deepspeed_keys[] = {
    {"enabled", VALUE_FLAG, FIELD(is_enabled), .accepts = "true or false"},
    {"profile_step", VALUE_STEP, FIELD(steps), 1, "a whole number from 1 up"},
    {"module_depth", VALUE_INTEGER, FIELD(module_depth), -1, "a whole number, or -1 for all"},
    {"top_modules", VALUE_INTEGER, FIELD(top_modules), 1, "a whole number from 1 up"},
    {"detailed", VALUE_FLAG, FIELD(is_detailed), .accepts = "true or false"},
    {"output_file", VALUE_TEXT, FIELD(output_file), .accepts = "a text: a file, or null"},
    {"recompute_fwd_factor", VALUE_IGNORED, .accepts = "a number"}, /* it is measured here */
    {0},
};

const char step_window_accepted[] = "a step (10) or a range of steps (10-12), from 2 up";

/* strtoll takes spaces and signs, of which a step has none: the first character must be a
 * digit. */
static bool run_settings_take_step(const char **text, int64_t *number)
{
    char *end;

    if (**text < '0' || **text > '9')
        return false;
    errno = 0;
    *number = strtoll(*text, &end, 10);
    *text = end;
    return errno == 0;
}

/* From 2 up, since the first step compiles and allocates, and says nothing of the others. */
bool parse_step_window(const char *text, void *field)
{
    struct step_window_asked window;

    if (!run_settings_take_step(&text, &window.first))
        return false;
    window.last = window.first;
    if (*text == '-') {
        text++;
        if (!run_settings_take_step(&text, &window.last))
            return false;
    }
    if (*text != '\0' || window.first < 2 || window.last < window.first)
        return false;
    *(struct step_window_asked *)field = window;
    return true;
}

/* The file on its way into settings. */
struct config_reading {
    struct run_settings *settings;
    const char *path;
    struct arena *arena;
    struct json_scan scan;
    const char *start; /* of the text */
};

static bool not_json(const struct config_reading *reading, struct error *error)
{
    return error_set(error, ERROR_USAGE, "cannot read '%s': byte %td: %s expected", reading->path,
                     reading->scan.failed_at - reading->start,
                     reading->scan.expected ? reading->scan.expected : "JSON");
}

static bool is_not(const struct config_reading *reading, const struct config_key *key,
                   const struct json_slice *value, struct error *error)
{
    return error_set(error, ERROR_USAGE, "'%s': the value of \"%s\", %.*s, is not %s",
                     reading->path, key->name, value->length < 60 ? (int)value->length : 60,
                     value->text, key->accepts);
}

static const char *run_settings_text_of(const struct config_reading *reading,
                                        const struct json_slice *value)
{
    char *text = arena_allocate(reading->arena, value->length + (size_t)1);

    text[slice_unescape(value, text)] = '\0';
    return text;
}

/* Through offsets of the table: a key is one line there, and its limits stand beside it. */
static bool store_number(const struct config_key *key, const struct json_slice *value, void *field)
{
    int64_t number;

    if (value->is_string || !slice_integer(value, &number) || number < key->minimum ||
        number > INT32_MAX)
        return false;
    if (key->kind == VALUE_STEP)
        *(struct step_window_asked *)field = (struct step_window_asked){number + 1, number + 1};
    else
        *(int64_t *)field = number;
    return true;
}

static bool run_settings_store_value(const struct config_reading *reading,
                                     const struct config_key *key, const struct json_slice *value)
{
    void *field = (char *)reading->settings + key->offset;

    switch (key->kind) {
    case VALUE_FLAG:
        if (value->is_string || !(slice_is(value, "true") || slice_is(value, "false")))
            return false;
        *(bool *)field = value->text[0] == 't';
        return true;
    case VALUE_INTEGER:
    case VALUE_STEP:
        return store_number(key, value, field);
    case VALUE_TEXT:
        if (!value->is_string)
            return slice_is(value, "null"); /* as if it were not there */
        *(const char **)field = run_settings_text_of(reading, value);
        return true;
    case VALUE_STEPS:
        return parse_step_window(run_settings_text_of(reading, value), field);
    case VALUE_RULES:
        return value->is_string && parse_trigger_rules(run_settings_text_of(reading, value), field);
    case VALUE_IGNORED:
        return true;
    }
    return false;
}

/* A mistyped key that was passed over would record something else than was asked for. */
static bool unknown_key(const struct config_reading *reading, const struct config_key *keys,
                        const struct json_slice *name, struct error *error)
{
    struct spelling best = {0};
    const char *given = run_settings_text_of(reading, name);

    for (const struct config_key *key = keys; key->name; key++)
        spelling_consider(&best, given, key->name);
    if (best.word)
        return error_set(error, ERROR_USAGE, "'%s': unknown key \"%s\": did you mean \"%s\"?",
                         reading->path, given, best.word);
    return error_set(error, ERROR_USAGE,
                     "'%s': unknown key \"%s\": 'flopledger help record-a-run' lists those "
                     "there are",
                     reading->path, given);
}

static bool run_settings_is_known(const struct config_key *keys, const struct json_slice *name)
{
    for (const struct config_key *key = keys; key->name; key++) {
        if (slice_is(name, key->name))
            return true;
    }
    return false;
}

/* One `"name": value` of a block. */
static bool run_settings_take_value(struct config_reading *reading, const struct config_key *keys,
                                    const struct json_slice *name, const struct json_slice *value,
                                    struct error *error)
{
    for (const struct config_key *key = keys; key->name; key++) {
        if (!slice_is(name, key->name))
            continue;
        if (!run_settings_store_value(reading, key, value))
            return is_not(reading, key, value, error);
        return true;
    }
    return unknown_key(reading, keys, name, error);
}

/* Calls `take` with each key and value of the object at `at`; the place behind it, or NULL. Keys
 * are read as they come, without a tree: a DeepSpeed config may be large, and all but two blocks
 * of it are other people's. */
static const char *for_each_value(struct config_reading *reading, const char *at,
                                  bool (*take)(struct config_reading *reading,
                                               const struct config_key *keys,
                                               const struct json_slice *name,
                                               const struct json_slice *value, struct error *error),
                                  const struct config_key *keys, struct error *error)
{
    struct json_slice name;
    struct json_slice value;

    at = *at == '{' ? scan_space(at + 1) : scan_fail(&reading->scan, at, "'{'");
    while (at && *at != '}') {
        at = scan_key(&reading->scan, at, &name);
        if (at)
            at = scan_value(&reading->scan, at, &value);
        if (!at)
            break;
        if (!take(reading, keys, &name, &value, error))
            return NULL;
        at = scan_space(at);
        if (*at == ',')
            at = scan_space(at + 1);
        else if (*at != '}')
            at = scan_fail(&reading->scan, at, "',' or '}'");
    }
    if (!at) {
        not_json(reading, error);
        return NULL;
    }
    return at + 1;
}

/* What stands at the top of the file: the two blocks, or DeepSpeed's keys; the rest is not ours. */
static bool run_settings_take_block(struct config_reading *reading, const struct config_key *keys,
                                    const struct json_slice *name, const struct json_slice *value,
                                    struct error *error)
{
    bool is_deepspeed = slice_is(name, "flops_profiler");

    (void)keys;
    if (is_deepspeed || slice_is(name, "flopledger")) {
        reading->settings->has_deepspeed_block |= is_deepspeed;
        return for_each_value(reading, value->text, run_settings_take_value,
                              is_deepspeed ? deepspeed_keys : own_keys, error) != NULL;
    }
    if (run_settings_is_known(deepspeed_keys, name)) {
        reading->settings->has_deepspeed_block = true;
        return run_settings_take_value(reading, deepspeed_keys, name, value, error);
    }
    return true;
}

/* A limit, and no size asked for: the path may name a pipe, or a file that grows. */
static char *run_settings_read_whole(const char *path, size_t *length, struct error *error)
{
    FILE *file = fopen(path, "re");
    char *text;

    if (!file) {
        error_set(error, ERROR_USAGE, "cannot read '%s': %s", path, strerror(errno));
        return NULL;
    }
    text = calloc(1, CONFIG_BYTES_MAX + INPUT_PADDING);
    if (!text)
        end_out_of_memory();
    *length = fread(text, 1, CONFIG_BYTES_MAX, file);
    fclose(file);
    return text;
}

/* The position of an error in the file is told, as the scanner knows it. */
bool read_run_config(struct run_settings *settings, const char *path, struct arena *arena,
                     struct error *error)
{
    struct config_reading reading = {.settings = settings, .path = path, .arena = arena};
    size_t length;
    char *text = run_settings_read_whole(path, &length, error);
    const char *end;

    if (!text)
        return false;
    reading.start = text;
    reading.scan.limit = text + length;
    end = for_each_value(&reading, scan_space(text), run_settings_take_block, NULL, error);
    if (end && *scan_space(end) != '\0') {
        reading.scan.failed_at = scan_space(end);
        reading.scan.expected = "nothing behind the last '}'";
        end = NULL;
        not_json(&reading, error);
    }
    free(text);
    return end != NULL;
}
