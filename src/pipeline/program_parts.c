/* The parts of this program, one a line: what to tell with a question or a fault. */
#include "base/core/arena.h"
#include "base/core/attributes.h"
#include "base/io/isal_inflate.h"
#include "base/io/packed_folder.h"
#include "base/text/display_text.h"
#include "live/microhttpd_api.h"
#include "output/reports/html_page.h"
#include "pipeline/capture_run.h"
#include "pipeline/subcommands.h"

#include <glob.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>
#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

/* musl has no way to tell its version to a program. */
static void write_library_of_c(FILE *output)
{
#ifdef __GLIBC__
    fprintf(output, "  C library      glibc %s, built for %d.%d or later\n", gnu_get_libc_version(),
            __GLIBC__, __GLIBC_MINOR__);
#else
    fprintf(output, "  C library      musl\n");
#endif
}

static void write_isal(FILE *output)
{
    struct isal_inflate *inflate = isal_inflate_new();

    fprintf(output, "  ISA-L          %s\n",
            inflate ? "unpacks gzip" : "not here: zlib unpacks gzip, slower");
    isal_inflate_free(inflate);
}

static void write_server(FILE *output)
{
#ifdef FLOPLEDGER_HAS_MICROHTTPD
    const struct microhttpd_api *api = microhttpd_api();

    fprintf(output, "  libmicrohttpd  %s\n",
            api ? api->get_version() : "not here: no 'flopledger serve'");
#else
    fprintf(output, "  libmicrohttpd  left out when it was built: no 'flopledger serve'\n");
#endif
}

static size_t count_extensions(struct arena *arena, const char *start)
{
    static const char pattern[] = "/*.abi3.so";
    size_t length = (size_t)(strrchr(start, '/') - start);
    char *path = arena_allocate(arena, length + sizeof pattern);
    glob_t found = {0};
    size_t count;

    memcpy(path, start, length);
    memcpy(path + length, pattern, sizeof pattern);
    count = glob(path, 0, NULL, &found) == 0 ? found.gl_pathc : 0;
    globfree(&found);
    return count;
}

/* Where `flopledger run` takes the Python package from. */
static void write_recorder(FILE *output)
{
    SCOPED(arena) arena = {0};
    const char *start = look_for_python_package(&arena);
    size_t extensions = start ? count_extensions(&arena, start) : 0;

    if (extensions > 0)
        fprintf(output, "  recorder       %s, %zu extensions in C\n", show_text(start).text,
                extensions);
    else if (start)
        fprintf(output, "  recorder       %s, without its extensions in C: it cannot record\n",
                show_text(start).text);
    else if (packed_recorder.count > 0)
        fprintf(output, "  recorder       inside, %zu files; unpacked when it is used\n",
                packed_recorder.count);
    else
        fprintf(output, "  recorder       not found: no 'flopledger run'\n");
}

/* The libraries' own words where they have some: what is loaded may be newer than what it was
 * built with. */
void write_program_parts(FILE *output)
{
    fprintf(output, "  compiler       %s\n", __VERSION__);
    write_library_of_c(output);
    fprintf(output, "  zlib           %s\n", zlibVersion());
    fprintf(output, "  zstd           %s\n", ZSTD_versionString());
    fprintf(output, "  SQLite         %s\n", sqlite3_libversion());
    write_isal(output);
    write_server(output);
    if (html_page_bytes > 0)
        fprintf(output, "  HTML page      %zu bytes\n", html_page_bytes);
    else
        fprintf(output, "  HTML page      left out when it was built: no --html\n");
    fprintf(output, "  documentation  %zu pages\n", packed_docs.count);
    write_recorder(output);
}
