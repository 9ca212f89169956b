/* Pages of the documentation, as `flopledger help PAGE` prints them: in Markdown, which
 * reads well in a terminal, with its lines as wide as that. Links change: a path within docs/ is of
 * no use to somebody who installed the program, so it becomes what to type. */
#include "base/core/arena.h"
#include "base/core/attributes.h"
#include "base/core/out_of_memory.h"
#include "base/io/packed_folder.h"
#include "base/text/owned_text.h"
#include "base/text/spelling.h"
#include "base/text/terminal.h"
#include "base/text/text_wrap.h"
#include "pipeline/subcommands.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const folders[] = {"", "how-to/", "metrics/", "formats/", "tutorials/"};
enum { FOLDER_COUNT = sizeof folders / sizeof *folders };

/* A page's name as it is typed: "ettr" of "how-to/ettr.md". */
struct page_name {
    const char *at;
    int length;
};

static struct page_name help_pages_name_of(const char *path, size_t length)
{
    const char *slash = memrchr(path, '/', length);
    const char *at = slash ? slash + 1 : path;
    size_t left = length - (size_t)(at - path);
    bool is_page = left > 3 && memcmp(at + left - 3, ".md", 3) == 0;

    return (struct page_name){at, (int)(is_page ? left - 3 : left)};
}

static bool help_pages_is_in_folder(const struct packed_file *file, const char *folder)
{
    size_t length = strlen(folder);

    return strncmp(file->name, folder, length) == 0 && !strchr(file->name + length, '/');
}

/* "docs/how-to/ettr.md", "how-to/ettr" and "ettr" are one page. */
static const struct packed_file *find_page(const char *typed)
{
    const char *path = strncmp(typed, "docs/", 5) == 0 ? typed + 5 : typed;
    struct page_name wanted = help_pages_name_of(path, strlen(path));

    for (size_t folder = 0; folder < FOLDER_COUNT; folder++) {
        for (size_t i = 0; i < packed_docs.count; i++) {
            const struct packed_file *file = &packed_docs.files[i];
            struct page_name name = help_pages_name_of(file->name, strlen(file->name));

            if (help_pages_is_in_folder(file, folders[folder]) && name.length == wanted.length &&
                memcmp(name.at, wanted.at, (size_t)name.length) == 0 &&
                (path == wanted.at || strncmp(file->name, path, (size_t)(wanted.at - path)) == 0))
                return file;
        }
    }
    return NULL;
}

/* Pages are named by their file without folder and ending: nobody types these. */
static void consider_pages(struct arena *arena, struct spelling *best, const char *typed)
{
    for (size_t i = 0; i < packed_docs.count; i++) {
        const char *path = packed_docs.files[i].name;
        struct page_name name = help_pages_name_of(path, strlen(path));

        spelling_consider(best, typed, arena_copy_text(arena, name.at, (size_t)name.length));
    }
}

/* "# ETTR" of the page's first lines. */
static struct page_name title_of(const char *text)
{
    const char *at = strncmp(text, "# ", 2) == 0 ? text + 2 : text;

    return (struct page_name){at, (int)strcspn(at, "\n")};
}

/* Below its name where the page is too narrow for both. */
static void write_page_title(FILE *output, struct page_name name, struct page_name title, int width)
{
    enum { NAME_COLUMNS = 28, BESIDE = NAME_COLUMNS + 3, BELOW = 6, TITLE_COLUMNS = 24 };
    int column = width < BESIDE + TITLE_COLUMNS ? BELOW : BESIDE;
    char *text = text_format("%.*s", title.length, title.at);

    if (column == BESIDE)
        fprintf(output, "  %-*.*s ", NAME_COLUMNS, name.length, name.at);
    else
        fprintf(output, "  %.*s\n%*s", name.length, name.at, BELOW, "");
    write_wrapped(output, text, (struct text_margins){column, column, width});
    free(text);
}

/* Pages are packed as one text, unpacked as a whole: they are small, and each has its title in
 * its first line. */
void write_help_pages(FILE *output)
{
    int width = terminal_width(output);
    char *whole = packed_folder_unpack(&packed_docs);

    for (size_t folder = 0; folder < FOLDER_COUNT; folder++) {
        if (folder > 0)
            fprintf(output, "\n%s\n", folders[folder]);
        for (size_t i = 0; i < packed_docs.count; i++) {
            const struct packed_file *file = &packed_docs.files[i];
            struct page_name name = help_pages_name_of(file->name, strlen(file->name));
            struct page_name title = title_of(whole + file->at);

            if (help_pages_is_in_folder(file, folders[folder]))
                write_page_title(output, name, title, width);
        }
    }
    free(whole);
}

/* The page that a link on page `from` leads to; NULL where it leads to none. docs/ has one level of
 * folders, so "../" is docs/ itself, seen from one of them. */
static const struct packed_file *linked_page(const struct packed_file *from, const char *path,
                                             size_t length)
{
    const char *slash = strchr(from->name, '/');
    size_t folder = slash ? (size_t)(slash + 1 - from->name) : 0;

    if (length > 3 && memcmp(path, "../", 3) == 0) {
        if (folder == 0)
            return NULL;
        folder = 0;
        path += 3;
        length -= 3;
    }
    for (size_t i = 0; i < packed_docs.count; i++) {
        const char *name = packed_docs.files[i].name;

        if (strlen(name) == folder + length && memcmp(name, from->name, folder) == 0 &&
            memcmp(name + folder, path, length) == 0)
            return &packed_docs.files[i];
    }
    return NULL;
}

/* "(flopledger help mfu)", with the folder where another page of the name comes first. */
static void write_how_to_read(FILE *output, const struct packed_file *page)
{
    size_t length = strlen(page->name);
    struct page_name name = help_pages_name_of(page->name, length);

    if (find_page(page->name + (name.at - page->name)) != page)
        name = (struct page_name){page->name, (int)length - 3};
    fprintf(output, " (flopledger help %.*s)", name.length, name.at);
}

/* [text](path/page.md#part) at `at`: writes the text and how to read the page, and gives what
 * follows; NULL where no link to a file of Markdown begins here. */
static const char *write_link(FILE *output, const struct packed_file *from, const char *at,
                              const char *end)
{
    const char *middle = memmem(at, (size_t)(end - at), "](", 2);
    const char *close = middle ? memchr(middle, ')', (size_t)(end - middle)) : NULL;
    const struct packed_file *page;
    size_t length;

    if (!close || memchr(at + 1, '[', (size_t)(middle - at - 1)))
        return NULL;
    length = strcspn(middle + 2, "#)");
    if (length < 4 || memcmp(middle + 2 + length - 3, ".md", 3) != 0 ||
        memmem(middle + 2, length, "://", 3))
        return NULL;
    fwrite(at + 1, 1, (size_t)(middle - at - 1), output);
    page = linked_page(from, middle + 2, length);
    if (page)
        write_how_to_read(output, page);
    return close + 1;
}

/* "Pipeline bubble" and "pipeline-bubble" are one word: up to where `row` goes on with " |". */
static bool is_row_of_word(const char *row, const char *word)
{
    size_t i = 0;

    while (word[i] && (strncasecmp(row + i, word + i, 1) == 0 || (word[i] == '-' && row[i] == ' ')))
        i++;
    return !word[i] && strncmp(row + i, " | [", 4) == 0;
}

/* The page that the index of the field's words (metrics/by-word.md: rows "| word | [title](page.md)
 * |") has for this one; NULL where the word is not in it. */
static const struct packed_file *page_of_word(const char *word)
{
    const struct packed_file *index = find_page("metrics/by-word");
    const struct packed_file *page = NULL;
    char *whole = index ? packed_folder_unpack(&packed_docs) : NULL;
    char *text = index ? whole + index->at : NULL;

    if (index)
        text[index->bytes] = '\0';
    for (const char *row = text; row && !page; row = strstr(row, "\n| ")) {
        const char *link;

        row += *row == '\n' ? 3 : 0;
        if (!is_row_of_word(row, word))
            continue;
        link = strstr(row, "](");
        if (link)
            page = linked_page(index, link + 2, strcspn(link + 2, ")"));
    }
    free(whole);
    return page;
}

/* A bracket may begin a link or be itself: where no link can be made of it, it is written as
 * it stands. */
static void write_page_text(FILE *output, const struct packed_file *file)
{
    char *whole = packed_folder_unpack(&packed_docs);
    const char *end = whole + file->at + file->bytes;

    for (const char *at = whole + file->at; at < end;) {
        const char *after = *at == '[' ? write_link(output, file, at, end) : NULL;

        if (!after)
            putc(*at, output);
        at = after ? after : at + 1;
    }
    free(whole);
}

/* Its lines depend on the texts of its links, so these are written first. */
static void write_wrapped_page(FILE *output, const struct packed_file *file)
{
    char *text = NULL;
    size_t length = 0;
    FILE *page = open_memstream(&text, &length);

    if (!page)
        end_out_of_memory();
    write_page_text(page, file);
    if (fclose(page) != 0)
        end_out_of_memory();
    write_wrapped_markdown(output, text, terminal_width(output));
    free(text);
}

/* A file or another program gets a page as it was written. */
bool write_help_page(FILE *output, const char *name, struct arena *arena, struct spelling *best)
{
    const struct packed_file *file = find_page(name);

    if (!file)
        file = page_of_word(name);
    if (!file) {
        consider_pages(arena, best, name);
        return false;
    }
    if (is_terminal(output) || getenv("COLUMNS"))
        write_wrapped_page(output, file);
    else
        write_page_text(output, file);
    return true;
}
