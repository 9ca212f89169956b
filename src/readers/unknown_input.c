/* Says what an input seems to be that no reader knows. */
#include "readers/unknown_input.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

struct look {
    const char *bytes;
    size_t length;
    size_t offset;
    const char *phrase;
};

#define LOOK(bytes_, offset_, phrase_)               \
    {                                                \
        bytes_, sizeof(bytes_) - 1, offset_, phrase_ \
    }

static const char a_pickle[] =
    "a pickle of Python; a memory snapshot is for 'flopledger memory', else name the trace that "
    "export_chrome_trace wrote";

static const struct look looks[] = {
    LOOK("PK\x03\x04", 0, "a zip archive (torch.save writes them, too); unpack the trace first"),
    LOOK("ustar", 257, "a tar archive; unpack the trace first"),
    LOOK("\xfd"
         "7zXZ",
         0, "a file packed with xz; unpack it first: xz -d"),
    LOOK("BZh", 0, "a file packed with bzip2; unpack it first: bzip2 -d"),
    LOOK("\x04\x22\x4d\x18", 0, "a file packed with lz4; unpack it first: lz4 -d"),
    LOOK("7z\xbc\xaf", 0, "a 7z archive; unpack the trace first"),
    LOOK("\x1f\x8b", 0, "a file packed twice with gzip; unpack it once: gzip -d"),
    LOOK("\x80\x02", 0, a_pickle),
    LOOK("\x80\x03", 0, a_pickle),
    LOOK("\x80\x04", 0, a_pickle),
    LOOK("\x80\x05", 0, a_pickle),
    LOOK("PAR1", 0, "a Parquet table; name the trace that export_chrome_trace wrote"),
    LOOK("\x89PNG", 0, "a PNG picture; name the trace that export_chrome_trace wrote"),
    LOOK("\x7f"
         "ELF",
         0, "a program; name the trace that export_chrome_trace wrote"),
    LOOK("%PDF", 0, "a PDF document; name the trace that export_chrome_trace wrote"),
    LOOK("version https://git-lfs", 0,
         "a pointer of Git LFS and not the file itself; fetch it: git lfs pull"),
};

static bool has(const struct look *look, const char *head, size_t length)
{
    return length >= look->offset + look->length &&
           memcmp(head + look->offset, look->bytes, look->length) == 0;
}

static bool is_markup(const char *head, size_t length)
{
    static const char *const starts[] = {"<!doctype", "<html", "<?xml", "<head"};

    while (length && (unsigned char)*head <= ' ') {
        head++;
        length--;
    }
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        if (length >= strlen(starts[i]) && strncasecmp(head, starts[i], strlen(starts[i])) == 0)
            return true;
    }
    return false;
}

static bool is_text(const char *head, size_t length)
{
    if (length > 512)
        length = 512;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)head[i];

        if (c < ' ' && c != '\n' && c != '\r' && c != '\t')
            return false;
    }
    return true;
}

const char *unknown_input_looks_like(const char *head, size_t length)
{
    for (size_t i = 0; i < sizeof looks / sizeof looks[0]; i++) {
        if (has(&looks[i], head, length))
            return looks[i].phrase;
    }
    if (is_markup(head, length))
        return "a web page; was it downloaded without logging in?";
    if (is_text(head, length))
        return "text that is not JSON; name the trace that export_chrome_trace wrote";
    return "binary data; name the trace that export_chrome_trace wrote";
}
