/* `flopledger run -- COMMAND`: records a training program without any change to it. */
#include "base/core/attributes.h"
#include "base/core/out_of_memory.h"
#include "base/text/display_text.h"
#include "base/text/owned_text.h"
#include "commands/command.h"
#include "commands/recording_options.h"
#include "live/run/run_parts.h"
#include "pipeline/capture_run.h"
#include "pipeline/exported_results.h"
#include "pipeline/subcommands.h"
#include "readers/step_record/job_records.h"

#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIELD(name) offsetof(struct run_settings, name)

static const struct option run_options[] = {
    PARSED_OPTION("steps", FIELD(steps), "RANGE", step_window,
                  "the steps to record, numbered from 1: 10 or 10-12 (default: 4-8)",
                  .letter = 's'),
    INTEGER_OPTION("every", FIELD(every), "N", 1, INT32_MAX,
                   "record as many steps again every N steps (default: once)", .letter = 'e'),
    TRIGGER_OPTIONS(struct run_settings, triggers, "3"),
    TEXT_OPTION(
        "step-of", FIELD(step_of), "WHAT",
        "what a step is: 'module', each call of the outermost module, or the name of a range "
        "of record_function (default: the step of an optimizer)"),
    TEXT_OPTION("modules", FIELD(modules), "NAMES",
                "mark only modules of these names: 'model.layers.3.*', several with commas between "
                "(default: all)"),
    FLAG_OPTION("stacks", FIELD(records_stacks),
                "record the Python code that calls each operator, too"),
    FLAG_OPTION("memory", FIELD(records_memory),
                "record what is allocated and freed and what for, and print it at the end, too"),
    FLAG_OPTION("compiled", FIELD(records_compiled),
                "note what torch.compile fuses: its kernels get operators, lines and modules"),
    NEGATED_OPTION(
        "no-captures", FIELD(records_captures),
        "leave out what is captured into CUDA graphs (their replays then have no operators)"),
    SHAPES_OPTION(struct run_settings, records_shapes),
    NEGATED_OPTION("no-markers", FIELD(marks_modules),
                   "leave out the marks of module calls (FLOPs by module need them)"),
    CAPTURE_FOLDER_OPTION(struct run_settings, output),
    TEXT_OPTION(
        "tensorboard", FIELD(tensorboard), "FOLDER",
        "write event files for TensorBoard while the program runs: the time of each step, and "
        "of each recorded window what 'flopledger export tensorboard' writes"),
    FLAG_OPTION(
        "wandb", FIELD(logs_to_wandb),
        "log step times and what was recorded to the program's own run of Weights & Biases"),
    FLAG_OPTION("mlflow", FIELD(logs_to_mlflow), "the same, to its active run of MLflow"),
    TEXT_OPTION("otlp", FIELD(otlp), "URL",
                "the same, to a collector of OpenTelemetry: http://localhost:4318"),
    TEXT_OPTION("fleet", FIELD(fleet), "FOLDER",
                "at the end, add the run to a folder of Parquet files that holds those of many: "
                "needs pyarrow"),
    LABEL_OPTION(struct run_settings, labels),
    CAPTURE_NAME_OPTION(struct run_settings, name, "that of the script"),
    TEXT_OPTION("config", FIELD(config), "FILE",
                "take settings from a JSON file; DeepSpeed's block flops_profiler is understood; "
                "options given beside it win",
                .letter = 'c'),
    REPORT_OPTION(struct run_settings, shows_report),
    TEXT_OPTION("module", FIELD(module), "MODULE",
                "run this Python module, as python -m does; what follows are its arguments",
                .letter = 'm'),
    {0},
};

/* As parse_options would find it; what is unknown has no value here, and is refused there. */
static const struct option *option_of(const char *argument)
{
    for (const struct option *option = run_options; option->name; option++) {
        size_t length = strlen(option->name);

        if (argument[1] == '-' ? strncmp(argument + 2, option->name, length) == 0 &&
                                     (argument[2 + length] == '\0' || argument[2 + length] == '=')
                               : argument[1] == option->letter && option->letter)
            return option;
    }
    return NULL;
}

/* How many of the arguments are options of ours: those before the program, which has options of
 * its own, or up to the name of a module. Options of the program must never be taken for ours:
 * everything from the first word that is no option on belongs to it. "-m MODULE" ends ours as
 * well, as it does python's own. */
static int count_own_arguments(char **arguments, int count)
{
    int i = 0;

    while (i < count && arguments[i][0] == '-' && strcmp(arguments[i], "--") != 0) {
        const struct option *option = option_of(arguments[i]);
        bool has_value = option && option->metavar;
        bool is_joined = arguments[i][1] == '-' ? strchr(arguments[i], '=') != NULL
                                                : arguments[i][1] && arguments[i][2] != '\0';

        i += has_value && !is_joined && i + 1 < count ? 2 : 1;
        if (option && option->letter == 'm')
            break;
    }
    return i;
}

static bool run_ends_with(const char *text, const char *end)
{
    size_t length = strlen(text);
    size_t end_length = strlen(end);

    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

/* What is to be started: `words` with Python in front where that is left out. A script that is
 * not executable is run by Python: what nearly everybody means by it. */
static char **make_command(struct arena *arena, const char *module, char **words, int count)
{
    size_t places = (size_t)count + 4;
    char **command = arena_allocate(arena, places * sizeof *command);
    const char *python = python_to_run(arena);
    int used = 0;

    if (module || (count > 0 && run_ends_with(words[0], ".py") && access(words[0], X_OK) != 0))
        command[used++] = arena_copy_text(arena, python, strlen(python));
    if (module) {
        command[used++] = arena_copy_text(arena, "-m", 2);
        command[used++] = arena_copy_text(arena, module, strlen(module));
    }
    for (int i = 0; i < count; i++)
        command[used++] = words[i];
    return command;
}

/* "train" of `torchrun --nproc-per-node 2 here/train.py`, "pkg.train" of `python -m pkg.train`
 * The script, not the launcher: captures of torchrun would else all have one name. */
static const char *run_name_of(struct arena *arena, char **command)
{
    const char *name = path_name(command[0]);

    for (char **word = command; *word; word++) {
        if (run_ends_with(*word, ".py")) {
            name = path_name(*word);
            return arena_copy_text(arena, name, strlen(name) - 3);
        }
    }
    for (char **word = command; *word; word++) {
        if (strcmp(*word, "-m") == 0 && word[1])
            return word[1];
    }
    return name;
}

static void set_variable(const char *name, const char *value)
{
    if (setenv(name, value, 1) != 0)
        end_out_of_memory();
}

/* All three are set, with what counts where nothing was asked: what the surroundings hold must
 * not turn on a trigger that the command line did not. */
static void set_trigger_variables(const struct trigger_wish *wish)
{
    char text[32];

    set_variable("FLOPLEDGER_ON", wish->rules ? wish->rules : "");
    snprintf(text, sizeof text, "%" PRId64, wish->windows ? wish->windows : 3);
    set_variable("FLOPLEDGER_ON_WINDOWS", text);
    snprintf(text, sizeof text, "%" PRId64, wish->bytes ? wish->bytes : INT64_C(1) << 30);
    set_variable("FLOPLEDGER_ON_BYTES", text);
}

/* What the recorder reads: python/flopledger/settings.py. By the environment, as it is inherited
 * by all that the program starts: launchers, ranks, workers. Messages and provenance are only
 * set where the user has not. */
static void set_environment(struct arena *arena, const struct run_settings *settings,
                            const char *capture, const char *package)
{
    const char *path = getenv("PYTHONPATH");
    size_t size = strlen(package) + (path ? strlen(path) : 0) + 2;
    char *joined = arena_allocate(arena, size);
    char text[64];

    snprintf(joined, size, "%s%s%s", package, path && path[0] ? ":" : "", path ? path : "");
    set_variable("PYTHONPATH", joined);
    set_variable("FLOPLEDGER_CAPTURE", capture);
    if (settings->steps.first > 0) {
        snprintf(text, sizeof text, "%" PRId64 "-%" PRId64, settings->steps.first,
                 settings->steps.last);
        set_variable("FLOPLEDGER_STEPS", text);
    }
    snprintf(text, sizeof text, "%" PRId64, settings->every);
    set_variable("FLOPLEDGER_EVERY", text);
    snprintf(text, sizeof text, "%s,%s,%s,%s%s%s", settings->records_shapes ? "shapes" : "",
             settings->records_stacks ? "stacks" : "", settings->records_memory ? "memory" : "",
             settings->marks_modules ? "markers" : "",
             settings->records_compiled ? ",compiled" : "",
             settings->records_captures ? ",captures" : "");
    set_variable("FLOPLEDGER_RECORD", text);
    set_variable("FLOPLEDGER_MODULES", settings->modules ? settings->modules : "");
    set_variable("FLOPLEDGER_STEP_OF", settings->step_of ? settings->step_of : "");
    snprintf(text, sizeof text, "%s,%s", settings->logs_to_wandb ? "wandb" : "",
             settings->logs_to_mlflow ? "mlflow" : "");
    set_variable("FLOPLEDGER_DASHBOARDS", text);
    set_variable("FLOPLEDGER_OTLP", settings->otlp ? settings->otlp : "");
    set_trigger_variables(&settings->triggers);
    setenv("KINETO_LOG_LEVEL", "99", 0); /* messages of the profiler's own */
    if (settings->records_compiled) {    /* where kernels come from; those in C++ as operators */
        setenv("INDUCTOR_PROVENANCE", "1", 0);
        setenv("TORCHINDUCTOR_CPP_ENABLE_KERNEL_PROFILE", "1", 0);
    }
}

/* Options win over the file, the file over defaults: so the options are read twice. The first
 * reading only finds the file; the second puts options over what the file said. */
static bool run_read_settings(struct run_settings *settings, char **arguments, int count,
                              struct arena *arena, struct error *error)
{
    struct run_settings scratch = default_run_settings;
    int operands = count;

    *settings = default_run_settings;
    if (!parse_options(run_options, &scratch, arguments, &operands, error))
        return false;
    if (scratch.config && !read_run_config(settings, scratch.config, arena, error))
        return false;
    operands = count;
    return parse_options(run_options, settings, arguments, &operands, error);
}

static bool run_show(const char *name, char **arguments, int count, struct error *error)
{
    const struct command *command = find_command(name, error);

    return command && command->run(count, arguments, error);
}

/* What DeepSpeed would print, of the first rank, as its settings ask for. */
static bool show_deepspeed_report(struct arena *arena, const struct run_settings *settings,
                                  const struct capture_content *content, struct error *error)
{
    char numbers[2][32];
    char *arguments[] = {"--format", "deepspeed",        "--depth",  numbers[0], "--top",
                         numbers[1], content->traces[0], "--output", NULL};
    int count = settings->output_file ? 9 : 7;

    snprintf(numbers[0], sizeof numbers[0], "%" PRId64, settings->module_depth);
    snprintf(numbers[1], sizeof numbers[1], "%" PRId64, settings->top_modules);
    if (settings->output_file)
        arguments[8] = arena_copy_text(arena, settings->output_file, strlen(settings->output_file));
    return run_show("flops", arguments, count, error);
}

static bool show_reports(struct arena *arena, const struct run_settings *settings,
                         const struct capture_content *content, struct error *error)
{
    if (!run_show("report", content->traces, content->trace_count, error) ||
        (settings->records_memory &&
         !run_show("memory", content->traces, content->trace_count, error)))
        return false;
    return !settings->has_deepspeed_block || show_deepspeed_report(arena, settings, content, error);
}

/* A program that has ended. */
struct started {
    char **command;
    const char *capture;
    int status;
};

/* Whether a process that writes into the capture lives: one that the program started may outlive
 * it. A launcher may be killed while its ranks go on: what they write is not lost then. */
static bool is_written_to(const char *capture)
{
    struct job_records records = {0};
    bool lives = false;

    job_records_update(&records, capture);
    for (size_t i = 0; i < records.count; i++)
        lives |= records.records[i]->lives;
    job_records_clear(&records);
    return lives;
}

/* Of a program that a signal has ended: what it was writing. */
static void say_what_is_lost(struct arena *arena, const char *capture)
{
    const char *lost = is_written_to(capture) ? NULL : remove_half_written(arena, capture);

    if (lost)
        fprintf(stderr, "flopledger: the program was killed while it wrote '%s', which is lost\n",
                show_text(lost).text);
}

/* Says what was recorded, and shows it. Recording never changes how the program ends: its exit
 * status is that of the command, whatever became of the report. */
static bool conclude(struct arena *arena, const struct run_settings *settings,
                     const struct started *started, struct error *error)
{
    const char *capture = started->capture;
    struct seen_signs signs = collect_seen_signs(capture);
    int status = started->status;
    struct capture_content content;
    bool is_shown = true;

    if (status > 128)
        say_what_is_lost(arena, capture);
    list_capture(&content, arena, capture);
    if (content.rank_count == 0 && has_step_records(capture))
        fprintf(stderr, "flopledger: no window was recorded; the record of its steps is in %s\n",
                show_text(capture).text);
    else if (content.rank_count == 0)
        say_nothing_recorded(&signs, settings->step_of, started->command, status);
    else
        fprintf(stderr, "flopledger: %s %s\n",
                content.trace_count > 0 ? "recorded in"
                                        : "no step was recorded; what is known is in",
                show_text(capture).text);
    remove_empty_capture(capture);
    if (settings->fleet && (content.trace_count > 0 || has_step_records(capture)) &&
        !add_to_fleet(settings->fleet, settings->labels, capture))
        fprintf(stderr, "flopledger: the run was not added to %s\n",
                show_text(settings->fleet).text);
    if (content.trace_count > 0 && settings->shows_report)
        is_shown = show_reports(arena, settings, &content, error);
    if (status == 0)
        return is_shown;
    return error_set(error, (enum error_class)status, "the program ended with exit status %d%s",
                     status, status > 128 ? " (a signal ended it)" : "");
}

/* Everything that may fail is done before the program starts: hours of training must not run
 * unrecorded by an oversight. */
static bool record(struct arena *arena, const struct run_settings *settings, char **command,
                   struct error *error)
{
    const char *name = settings->name ? settings->name : run_name_of(arena, command);
    const char *package = find_python_package(arena, error);
    const char *capture =
        package ? make_capture_folder(arena, settings->output, name, error) : NULL;
    struct live_tensorboard *live = NULL;
    int status;
    bool has_run;

    if (!capture)
        return false;
    if (settings->tensorboard) {
        live = live_tensorboard_start(settings->tensorboard, capture, error);
        if (!live) {
            remove_empty_capture(capture);
            return false;
        }
    }
    set_environment(arena, settings, capture, package);
    has_run = run_program(command, &status, error);
    live_tensorboard_finish(live);
    if (!has_run) {
        remove_empty_capture(capture);
        return false;
    }
    return conclude(arena, settings, &(struct started){command, capture, status}, error);
}

/* Options of our own end at the first word that is none, or at "--": whatever follows belongs
 * to the program, dashes and all. Where a setting says that nothing shall be recorded, the
 * program runs as if it had been started alone, and its exit status is ours. */
static bool run_run(int count, char **arguments, struct error *error)
{
    SCOPED(arena) arena = {0};
    struct run_settings settings;
    int own = count_own_arguments(arguments, count);
    bool has_dashes = own < count && strcmp(arguments[own], "--") == 0;
    char **words = arguments + own + has_dashes;
    int word_count = count - own - has_dashes;
    int status;
    char **command;

    if (!run_read_settings(&settings, arguments, own, &arena, error))
        return false;
    if (word_count == 0 && !settings.module)
        return error_set(error, ERROR_USAGE, "no program given: flopledger run -- python train.py");
    command = make_command(&arena, settings.module, words, word_count);
    if (settings.is_enabled)
        return record(&arena, &settings, command, error);
    fprintf(stderr, "flopledger: '%s' says \"enabled\": false: nothing is recorded\n",
            show_text(settings.config).text);
    if (!run_program(command, &status, error))
        return false;
    return status == 0 || error_set(error, (enum error_class)status,
                                    "the program ended with exit status %d", status);
}

const struct command run_command = {
    .name = "run",
    .summary = "profile a training program without changing it, and report on it",
    .usage = "[--] COMMAND [ARGUMENT]...",
    .description =
        "Runs a program that trains with PyTorch, and records some of its steps with "
        "torch.profiler: with the shapes of operators' inputs and with a mark around each call of "
        "a module. Steps are found by the optimizers' steps, or as --step-of says; "
        "programs that the program starts "
        "(torchrun, accelerate, deepspeed) are recorded too. What the program computes stays the "
        "same to the bit, and an error of the recorder never stops it.\n\n"
        "The traces are written to FOLDER/NAME/START TIME/traces/, one folder for each rank, with "
        "a file capture.json beside them. At the end the report of them is printed, and the exit "
        "code is that of the program.\n\n"
        "With --fleet, the steps, the ledger, the kernels and the findings of the run are written "
        "to a folder that many jobs share, or to an object store (s3://, gs://), also where the "
        "program failed.",
    .examples = "flopledger run -- python train.py --epochs 1\n"
                "    record steps 4 to 8\n"
                "flopledger run --steps 10-12 -- torchrun --nproc-per-node 2 train.py\n"
                "    record steps 10 to 12 of two ranks\n"
                "flopledger run --every 1000 -m pkg.train\n"
                "    five steps out of each thousand\n"
                "flopledger run --step-of module -- python generate.py\n"
                "    calls 4 to 8 of a model that is not trained",
    .options = run_options,
    .run = run_run,
};
