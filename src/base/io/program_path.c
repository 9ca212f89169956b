/* Asks the kernel where this program was loaded from: /proc, or where that is not mounted (chroots,
 * some containers) what it was started as. */
#include "base/io/program_path.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

bool find_program_folder(char folder[PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", folder, PATH_MAX - 1);
    const char *started_as = (const char *)(uintptr_t)getauxval(AT_EXECFN);
    char *slash;

    if (length > 0)
        folder[length] = '\0';
    else if (!started_as || !realpath(started_as, folder))
        return false;
    slash = strrchr(folder, '/');
    if (!slash)
        return false;
    *slash = '\0';
    return true;
}
