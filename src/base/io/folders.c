/* Folders that are made where they are missing. */
#include "base/io/folders.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

bool make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(path, 0777) != 0 && errno != EEXIST) {
            *slash = '/';
            return false;
        }
        *slash = '/';
    }
    return mkdir(path, 0777) == 0 || errno == EEXIST;
}
