/* Reads capture.json and adds up the parameters of each module. */
#include "cost/modules/model_description.h"

#include "base/core/bytes.h"
#include "base/core/hash_map.h"
#include "base/core/invariant.h"
#include "base/core/percentile.h"
#include "base/core/string_pool.h"
#include "base/io/folders.h"
#include "base/io/whole_file.h"
#include "base/json/json_tree.h"
#include "base/text/owned_text.h"
#include "cost/architectures/read_architecture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char side_file[] = "capture.json";
static const char compiled_file[] = "compiled.json";
/* A name is looked up once for each dot in it: a longer one is as none. */
enum { NAME_BYTES_MAX = 4096 };

/* Parameters met so far, so that a shared one counts once in each module around. */
struct parameter_sums {
    struct model_description *description;
    struct hash_map seen; /* (module, parameter) */
};

/* 0 for a shape that cannot be: such a parameter then adds nothing. */
static int64_t product_of(const struct json_node *sizes)
{
    int64_t product = 1;

    for (; sizes; sizes = sizes->next)
        if (!sizes->is_integer || sizes->integer < 0 ||
            __builtin_mul_overflow(product, sizes->integer, &product))
            return 0;
    return product;
}

static uint32_t name_id(struct parameter_sums *sums, const char *name)
{
    return string_pool_add(&sums->description->names, name, strlen(name));
}

static void add_to(struct described_module *module, int64_t elements, bool is_frozen)
{
    if (__builtin_add_overflow(module->parameters, elements, &module->parameters))
        module->parameters = INT64_MAX;
    if (!is_frozen && __builtin_add_overflow(module->trainable, elements, &module->trainable))
        module->trainable = INT64_MAX;
}

/* The first time that module `place` meets the parameter. */
static bool is_new(struct parameter_sums *sums, uint32_t place, uint32_t key)
{
    size_t before = sums->seen.count;

    (void)hash_map_add(&sums->seen, pair_key(place, key), 1);
    return sums->seen.count > before;
}

/* The first module of the name, or NO_VALUE. */
static uint32_t model_description_place_of(const struct model_description *description,
                                           const char *name, size_t length)
{
    uint32_t id = string_pool_find(&description->names, name, length);

    return id == UINT32_MAX ? NO_VALUE : hash_map_find(&description->module_places, id);
}

/* Adds a parameter to module `index` and to all around it: those whose names its name begins with,
 * and the outermost. */
static void add_parameter(struct parameter_sums *sums, uint32_t index,
                          const struct json_node *parameter, uint32_t key)
{
    struct described_module *modules = sums->description->modules;
    const char *name = modules[index].name;
    size_t length = strlen(name);
    int64_t elements = product_of(json_items_of(parameter, "shape"));
    bool is_frozen = json_integer_of(parameter, "frozen", 0) != 0;

    for (;;) {
        uint32_t place = model_description_place_of(sums->description, name, length);

        if (place != NO_VALUE && is_new(sums, place, key))
            add_to(&modules[place], elements, is_frozen);
        while (length > 0 && name[length - 1] != '.')
            length--;
        if (length == 0)
            break;
        length--;
    }
}

/* A tied parameter has one name in all of its places ("shared_with"), so it counts once per
 * module. */
static void add_parameters(struct parameter_sums *sums, uint32_t index,
                           const struct json_node *entry, const char *full_name)
{
    for (const struct json_node *parameter = json_items_of(entry, "parameters"); parameter;
         parameter = parameter->next) {
        char name[1024];
        const char *shared = json_text_of(parameter, "shared_with", NULL);

        (void)snprintf(name, sizeof name, "%s%s%s", full_name, *full_name ? "." : "",
                       json_text_of(parameter, "name", ""));
        add_parameter(sums, index, parameter, name_id(sums, shared ? shared : name));
    }
}

static uint32_t count_modules(const struct json_node *models)
{
    uint32_t count = 0;

    for (; models; models = models->next)
        for (const struct json_node *entry = json_items_of(models, "modules"); entry;
             entry = entry->next)
            count++;
    return count;
}

/* The mark of the entry without a name, which is the model itself. */
static const char *root_of(const struct json_node *model)
{
    for (const struct json_node *entry = json_items_of(model, "modules"); entry;
         entry = entry->next)
        if (*json_text_of(entry, "name", "?") == '\0')
            return json_text_of(entry, "mark", json_text_of(model, "class", ""));
    return json_text_of(model, "class", "");
}

static const char *keep(struct model_description *description, const char *text)
{
    return arena_copy_text(&description->arena, text, strlen(text));
}

/* Modules first, then parameters, as a parameter is added to modules that stand behind its own
 * in the file, too. */
static void add_model(struct parameter_sums *sums, const struct json_node *model)
{
    struct model_description *description = sums->description;
    const char *root = keep(description, root_of(model));
    uint32_t first = description->count;

    for (const struct json_node *entry = json_items_of(model, "modules"); entry;
         entry = entry->next) {
        struct described_module *module = &description->modules[description->count];

        module->name = keep(description, json_text_of(entry, "mark", ""));
        if (strlen(module->name) > NAME_BYTES_MAX)
            module->name = "";
        module->root = root;
        module->class_name = keep(description, json_text_of(entry, "class", ""));
        module->extra_repr = keep(description, json_text_of(entry, "extra_repr", ""));
        (void)hash_map_add(&description->module_places, name_id(sums, module->name),
                           description->count);
        /* A module that stands under several names is found by each of them. */
        for (const struct json_node *alias = json_items_of(entry, "aliases"); alias;
             alias = alias->next)
            if (alias->kind == JSON_STRING && strlen(alias->text) <= NAME_BYTES_MAX)
                (void)hash_map_add(&description->module_places, name_id(sums, alias->text),
                                   description->count);
        description->count++;
    }
    for (const struct json_node *entry = json_items_of(model, "modules"); entry;
         entry = entry->next)
        add_parameters(sums, first++, entry, json_text_of(entry, "name", ""));
}

/* The outermost module has all parameters; its name is not the beginning of the others'. */
static void set_root_parameters(struct model_description *description,
                                const struct json_node *models)
{
    for (; models; models = models->next) {
        const char *root = root_of(models);
        uint32_t place = model_description_place_of(description, root, strlen(root));
        struct described_module *module;

        if (place == NO_VALUE)
            continue;
        module = &description->modules[place];
        module->parameters = json_integer_of(models, "parameters", module->parameters);
        module->trainable = json_integer_of(models, "trainable_parameters", module->trainable);
    }
}

static void set_sizes(struct model_description *description, const struct json_node *parallel)
{
    description->world_size = json_integer_of(parallel, "world_size", -1);
    description->data_size = json_integer_of(json_member(parallel, "data"), "size", -1);
    description->tensor_size = json_integer_of(json_member(parallel, "tensor"), "size", -1);
}

/* What ran as a rank: of "python -u train.py --config large.py" the program is train.py, of "python
 * -m train" it is train. Words behind it are its own. */
static void set_command(struct model_description *description, const struct json_node *words)
{
    struct bytes command = {0};
    const char *script = NULL;

    for (const struct json_node *word = words; word; word = word->next) {
        const char *text = word->kind == JSON_STRING ? word->text : "";
        size_t length = strlen(text);

        if (!length)
            continue;
        if (command.length)
            bytes_add(&command, " ", 1);
        bytes_add(&command, text, length);
        if (!script && length > 3 && strcmp(text + length - 3, ".py") == 0)
            script = path_name(text);
        if (!script && strcmp(text, "-m") == 0 && word->next && word->next->kind == JSON_STRING)
            script = word->next->text;
    }
    if (command.length)
        description->command =
            arena_copy_text(&description->arena, (const char *)command.bytes, command.length);
    if (script)
        description->script = arena_copy_text(&description->arena, script, strlen(script));
    bytes_clear(&command);
}

/* A count of an entry; -1 for null, none, or a negative one. */
static int64_t count_of(const struct json_node *entry, const char *key)
{
    const struct json_node *count = json_member(entry, key);

    return count && count->kind == JSON_NUMBER && count->is_integer && count->integer >= 0
               ? count->integer
               : -1;
}

static uint32_t count_recorded(const struct json_node *windows)
{
    uint32_t count = 0;

    for (; windows; windows = windows->next)
        for (const struct json_node *entry = json_items_of(windows, "steps"); entry;
             entry = entry->next)
            count++;
    return count;
}

/* Each count stands by itself: a kernel that lacks one of these counters still tells the
 * others. */
static struct processor_time processor_time_of(const struct json_node *used)
{
    return (struct processor_time){.wall_ns = count_of(used, "wall_ns"),
                                   .thread_cpu_ns = count_of(used, "thread_cpu_ns"),
                                   .process_cpu_ns = count_of(used, "process_cpu_ns"),
                                   .thread_waited_ns = count_of(used, "thread_waited_ns"),
                                   .process_waited_ns = count_of(used, "process_waited_ns"),
                                   .voluntary_switches = count_of(used, "voluntary_switches"),
                                   .involuntary_switches = count_of(used, "involuntary_switches")};
}

static struct step_energy energy_of(const struct json_node *drawn)
{
    return (struct step_energy){.sm_clock_mhz = count_of(drawn, "sm_clock_mhz"),
                                .gpu_uj = count_of(drawn, "gpu_uj"),
                                .cpu_uj = count_of(drawn, "cpu_uj"),
                                .time_ns = count_of(drawn, "time_ns"),
                                .is_asked = drawn && drawn->kind == JSON_OBJECT};
}

/* Why a window was recorded by a rule of --on; NULL: by none. */
static const char *trigger_of(struct model_description *description,
                              const struct json_node *trigger)
{
    const char *why = json_text_of(trigger, "why", "");

    return *why ? arena_copy_text(&description->arena, why, strlen(why)) : NULL;
}

/* Windows of one run may record a step twice; the first is kept (hash_map_add). */
static void add_steps(struct model_description *description, const struct json_node *windows)
{
    description->steps = arena_allocate(&description->arena, (count_recorded(windows) + (size_t)1) *
                                                                 sizeof *description->steps);
    for (; windows; windows = windows->next) {
        const char *why = trigger_of(description, json_member(windows, "trigger"));

        for (const struct json_node *entry = json_items_of(windows, "steps"); entry;
             entry = entry->next)
            description->steps[description->step_count++] = (struct described_step){
                .number = count_of(entry, "step"),
                .micro_batches = count_of(entry, "micro_batches"),
                .samples = count_of(entry, "samples"),
                .tokens = count_of(entry, "tokens"),
                .processor = processor_time_of(json_member(entry, "processor")),
                .energy = energy_of(json_member(entry, "energy")),
                .recorded_for = why};
    }
    for (uint32_t i = 0; i < description->step_count; i++)
        (void)hash_map_add(&description->step_places, (uint64_t)description->steps[i].number, i);
}

static bool is_beside_window(const struct model_description *description, int64_t step)
{
    for (int64_t at = step - 1; at <= step + 1; at++)
        if (describe_step(description, at))
            return true;
    return false;
}

/* `durations` are those of step 2 and on. */
static void set_plain_steps(struct model_description *description, const struct json_node *steps)
{
    const struct json_node *durations = json_items_of(steps, "durations_ns");
    int64_t *plain = NULL;
    uint32_t count = 0;
    int64_t step = 2;

    for (const struct json_node *node = durations; node; node = node->next)
        count++;
    plain = require_memory(malloc((count + (size_t)1) * sizeof *plain));
    count = 0;
    for (const struct json_node *node = durations; node; node = node->next, step++)
        if (node->is_integer && node->integer > 0 && !is_beside_window(description, step))
            plain[count++] = node->integer;
    if (count >= PLAIN_STEPS_MIN)
        description->plain = (struct plain_steps){percentile_of(plain, count, 50), count};
    free(plain);
}

/* A rate of an entry, a whole number; 0 for none. */
static double rate_of(const struct json_node *entry, const char *key)
{
    int64_t rate = count_of(entry, key);

    return rate > 0 ? (double)rate : 0;
}

/* Without a word of how it was found, a peak of a processor is no figure to divide by. */
static void set_processor(struct model_description *description, const struct json_node *peak)
{
    const char *how = json_text_of(peak, "how", "");

    if (!*how)
        return;
    description->processor = (struct described_processor){
        .how = arena_copy_text(&description->arena, how, strlen(how)),
        .fp32_flops_per_second = rate_of(peak, "fp32"),
        .fp64_flops_per_second = rate_of(peak, "fp64"),
        .bf16_flops_per_second = rate_of(peak, "bf16"),
    };
}

/* A config of a kind that is not known is as none. */
static void set_architecture(struct model_description *description, const struct json_node *model)
{
    const struct json_node *config = json_member(model, "config");
    struct architecture architecture;
    struct architecture *kept;

    if (!config || config->kind != JSON_OBJECT ||
        !architecture_from_config(&architecture, config, "capture.json", NULL))
        return;
    kept = arena_allocate(&description->arena, sizeof *kept);
    *kept = architecture;
    description->architecture = kept;
}

/* Weights that modules share are counted once, by what `seen` knows of them. */
bool model_description_parse(struct model_description *description, const char *name,
                             const char *text, size_t length, struct error *error)
{
    struct parameter_sums sums = {.description = description};
    struct arena arena = {0};
    const struct json_node *root = json_tree_parse(&arena, text, length, error);
    const struct json_node *models;

    if (!root) {
        arena_clear(&arena);
        return error_in(error, "cannot read '%s'", name);
    }
    set_sizes(description, json_member(root, "parallel"));
    set_command(description, json_items_of(json_member(root, "command"), "words"));
    set_processor(description, json_member(json_member(root, "hardware"), "processor_peak"));
    models = json_items_of(root, "models");
    description->modules = arena_allocate(&description->arena, (count_modules(models) + (size_t)1) *
                                                                   sizeof *description->modules);
    for (const struct json_node *model = models; model; model = model->next)
        add_model(&sums, model);
    set_root_parameters(description, models);
    set_architecture(description, models);
    add_steps(description, json_items_of(root, "recorded"));
    set_plain_steps(description, json_member(root, "steps"));
    hash_map_clear(&sums.seen);
    arena_clear(&arena);
    return true;
}

/* The file `name` in the folder of the trace; free() it. */
static char *path_beside_trace(const char *trace_path, const char *name)
{
    const char *slash = strrchr(trace_path, '/');
    size_t folder = slash ? (size_t)(slash - trace_path) + 1 : 0;
    char *path = require_memory(malloc(folder + strlen(name) + 1));

    memcpy(path, trace_path, folder);
    memcpy(path + folder, name, strlen(name) + 1);
    return path;
}

/* The log of TORCH_TRACE in the folder of the trace, where there is one alone. Of several logs
 * (several ranks or runs in one folder) none is taken: which of them is this trace's is not
 * known. */
static bool find_compiled_log(struct model_description *description, const char *trace_path,
                              struct error *error)
{
    char *folder = path_beside_trace(trace_path, "");
    bool is_missing = false;
    size_t length = 0;
    char *text = NULL;
    char *log = find_only_path(*folder ? folder : ".", "dedicated_log_torch_trace_*.log");

    if (log)
        text = read_whole_file(log, &length, &is_missing, error);
    if (text)
        compiled_code_parse_log(&description->compiled, &description->arena, text, length);
    is_missing = is_missing || !log || text;
    free(log);
    free(text);
    free(folder);
    return is_missing;
}

/* A file that is missing is no failure: most runs compile nothing. */
static bool find_compiled_code(struct model_description *description, const char *path,
                               struct error *error)
{
    bool is_missing = false;
    size_t length = 0;
    char *text = read_whole_file(path, &length, &is_missing, error);
    bool is_read = text ? compiled_code_parse(&description->compiled, &description->arena, text,
                                              length, error) ||
                              error_in(error, "cannot read '%s'", path)
                        : is_missing;

    free(text);
    return is_read;
}

/* AOTInductor's own description of its code, taken out of the package that it lies in. */
static bool find_compiled_kernels(struct model_description *description, const char *trace_path,
                                  struct error *error)
{
    char *path = path_beside_trace(trace_path, "kernel_information.json");
    bool is_missing = false;
    size_t length = 0;
    char *text = read_whole_file(path, &length, &is_missing, error);
    bool is_read = text ? compiled_code_parse_kernels(&description->compiled, &description->arena,
                                                      text, length, error) ||
                              error_in(error, "cannot read '%s'", path)
                        : is_missing;

    free(text);
    free(path);
    return is_read;
}

/* A missing file is no error, a broken one is: it was meant to be there. */
bool model_description_find(struct model_description *description, const char *trace_path,
                            struct error *error)
{
    char *path = path_beside_trace(trace_path, side_file);
    char *compiled = path_beside_trace(trace_path, compiled_file);
    bool is_missing = strcmp(trace_path, "-") == 0;
    size_t length = 0;
    char *text = is_missing ? NULL : read_whole_file(path, &length, &is_missing, error);
    bool is_read =
        text ? model_description_parse(description, path, text, length, error) : is_missing;

    if (is_read && strcmp(trace_path, "-") != 0)
        is_read = find_compiled_code(description, compiled, error) &&
                  (description->compiled.count > 0 ||
                   find_compiled_log(description, trace_path, error)) &&
                  find_compiled_kernels(description, trace_path, error);
    free(text);
    free(compiled);
    free(path);
    return is_read;
}

const struct described_module *describe_module(const struct model_description *description,
                                               const char *name)
{
    uint32_t place =
        description ? model_description_place_of(description, name, strlen(name)) : NO_VALUE;

    return place == NO_VALUE ? NULL : &description->modules[place];
}

const struct described_step *describe_step(const struct model_description *description,
                                           int64_t number)
{
    uint32_t place = hash_map_find(&description->step_places, (uint64_t)number);

    return place == NO_VALUE ? NULL : &description->steps[place];
}

/* Numbers of steps are the profiler's; other windows are numbered by us and name no step of
 * the program. */
const struct described_step *describe_ledger_step(const struct model_description *description,
                                                  const struct ledger *ledger,
                                                  const struct step_ledger *step)
{
    return description && ledger->source == WINDOW_PROFILER_STEP
               ? describe_step(description, step->window.number)
               : NULL;
}

void model_description_clear(struct model_description *description)
{
    hash_map_clear(&description->module_places);
    hash_map_clear(&description->step_places);
    compiled_code_clear(&description->compiled);
    string_pool_clear(&description->names);
    arena_clear(&description->arena);
    *description = (struct model_description){0};
}
