/* Starts the Python package for exports that need its libraries. */
#include "pipeline/fleet_export.h"

#include "base/core/out_of_memory.h"
#include "live/run/run_parts.h"
#include "pipeline/capture_run.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const fleet_formats[] = {"parquet", "arrow"};

bool is_fleet_format(const char *name)
{
    for (size_t i = 0; name && i < sizeof fleet_formats / sizeof *fleet_formats; i++)
        if (strcmp(name, fleet_formats[i]) == 0)
            return true;
    return false;
}

static void set_for_python(const char *name, const char *value)
{
    if (setenv(name, value, 1) != 0)
        end_out_of_memory();
}

static const char *path_with(struct arena *arena, const char *first, const char *rest)
{
    size_t size = strlen(first) + (rest ? strlen(rest) : 0) + 2;
    char *joined = arena_allocate(arena, size);

    snprintf(joined, size, "%s%s%s", first, rest && rest[0] ? ":" : "", rest ? rest : "");
    return joined;
}

/* The package is found, asks this program, and records nothing. Set in this process, which is
 * replaced by Python in a moment, or whose child it is. Capturing is switched off: the exporter
 * is a Python program, too, and would else record itself. */
static bool ready_environment(struct arena *arena, struct error *error)
{
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    const char *start = find_python_package(arena, error);
    char *above;
    char *slash;

    if (!start)
        return false;
    above = arena_copy_text(arena, start, strlen(start));
    for (int up = 0; up < 2; up++) { /* from flopledger/start to what holds flopledger */
        slash = strrchr(above, '/');
        if (slash && slash != above)
            *slash = '\0';
    }
    set_for_python("PYTHONPATH", path_with(arena, above, getenv("PYTHONPATH")));
    unsetenv("FLOPLEDGER_CAPTURE");
    if (length > 0) {
        self[length] = '\0';
        set_for_python("FLOPLEDGER", self);
    }
    return true;
}

/* What is started: the module, then `arguments`. Room for python, the two words of the module
 * and the NULL. */
static char **fleet_command(struct arena *arena, char **arguments, int count)
{
    static const char *const module[] = {"-m", "flopledger.fleet"};
    const char *python = python_to_run(arena);
    char **command = arena_allocate(arena, ((size_t)count + 4) * sizeof *command);
    int used = 0;

    command[used++] = arena_copy_text(arena, python, strlen(python));
    for (size_t i = 0; i < sizeof module / sizeof *module; i++)
        command[used++] = arena_copy_text(arena, module[i], strlen(module[i]));
    for (int i = 0; i < count; i++)
        command[used++] = arguments[i];
    command[used] = NULL;
    return command;
}

/* execvp comes back only if it failed. */
bool export_by_python(char **arguments, int count, struct error *error)
{
    SCOPED(arena) arena = {0};
    char **command;

    if (!ready_environment(&arena, error))
        return false;
    command = fleet_command(&arena, arguments, count);
    execvp(command[0], command);
    return error_set(error, ERROR_FAILURE,
                     "cannot start '%s' (%s), which writes Parquet and Arrow files with pyarrow",
                     command[0], strerror(errno));
}

/* A failure is printed here and told by the result only: the capture itself is complete, and
 * can be added to the fleet later. */
bool add_to_fleet(const char *fleet, const char *labels, const char *capture)
{
    SCOPED(arena) arena = {0};
    struct error error = {0};
    char *words[] = {"parquet", "--output", NULL, "--label", NULL, NULL};
    int status = 1;

    words[2] = arena_copy_text(&arena, fleet, strlen(fleet));
    words[4] = arena_copy_text(&arena, labels ? labels : "", labels ? strlen(labels) : 0);
    words[5] = arena_copy_text(&arena, capture, strlen(capture));
    if (!ready_environment(&arena, &error) ||
        !run_program(fleet_command(&arena, words, 6), &status, &error))
        fprintf(stderr, "flopledger: %s\n", error.message);
    return status == 0;
}
