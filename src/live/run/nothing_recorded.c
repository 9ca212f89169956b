/* Why a program under `flopledger run` was not recorded. */
#include "base/text/owned_text.h"
#include "live/run/run_parts.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Each process of the program leaves a letter for how far it got; together they say what was
 * missing. */
struct seen_signs collect_seen_signs(const char *capture)
{
    struct seen_signs signs = {0};
    char path[PATH_MAX];
    FILE *file;
    int sign;

    if ((size_t)snprintf(path, sizeof path, "%s/.seen", capture) >= sizeof path)
        return signs;
    file = fopen(path, "re");
    if (!file)
        return signs;
    while ((sign = getc(file)) != EOF) {
        signs.has_python |= sign == 'p';
        signs.has_torch |= sign == 't';
        signs.has_no_extension |= sign == 'x';
        signs.has_stopped |= sign == 'e';
    }
    fclose(file);
    (void)unlink(path);
    return signs;
}

/* Starts with "python", behind the last slash. */
static bool nothing_recorded_is_python(const char *word)
{
    return word && strncmp(path_name(word), "python", 6) == 0;
}

/* -I, -E and -S, alone or among other letters: Python then reads no PYTHONPATH, or no
 * sitecustomize.py. NULL where there is none. */
static const char *isolating_option(char *const *command)
{
    bool is_of_python = false;

    for (char *const *word = command; *word; word++) {
        if (is_of_python && (*word)[0] == '-' && (*word)[1] != '-' && strpbrk(*word, "IES"))
            return *word;
        if (is_of_python && (strcmp(*word, "-W") == 0 || strcmp(*word, "-X") == 0) && word[1])
            word++; /* its value */
        else
            is_of_python = nothing_recorded_is_python(*word) ||
                           (is_of_python && (*word)[0] == '-' && !strpbrk(*word, "cm"));
    }
    return NULL;
}

/* From the first thing that was needed to the last: the first that is missing is the reason. */
void say_nothing_recorded(const struct seen_signs *signs, const char *step_of, char *const *command,
                          int status)
{
    const char *option = isolating_option(command);
    const char *how = status == 0 ? "" : ", and it ended with an error of its own";

    fprintf(stderr, "flopledger: nothing was recorded: ");
    /* A recorder that has told the reason itself is not explained a second time. */
    if (signs->has_stopped)
        fprintf(stderr, "the line above that begins with 'recording stopped' says why\n");
    else if (!signs->has_python && option)
        fprintf(stderr,
                "'%s' keeps Python from PYTHONPATH, by which the recorder gets in: leave it "
                "out\n",
                option);
    else if (!signs->has_python && nothing_recorded_is_python(command[0]))
        fprintf(stderr, "'%s' ended before it ran a program\n", command[0]);
    else if (!signs->has_python)
        fprintf(stderr,
                "'%s' started no Python that reads PYTHONPATH, by which the recorder gets in%s\n",
                command[0], how);
    else if (!signs->has_torch)
        fprintf(stderr, "the program never imported torch%s\n", how);
    else if (signs->has_no_extension)
        fprintf(stderr,
                "the recorder's C extension did not load: its line above says what to do\n");
    else if (!step_of)
        fprintf(stderr,
                "no step of an optimizer of torch.optim was seen%s; a program without one, "
                "as an inference loop, is recorded by the calls of its outermost module, "
                "--step-of module, or by its ranges of record_function, --step-of RANGE\n",
                how);
    else if (strcmp(step_of, "module") == 0)
        fprintf(stderr, "no call of a module (torch.nn.Module) was seen%s\n", how);
    else
        fprintf(stderr, "no range of record_function named '%s' was seen%s\n", step_of, how);
}
