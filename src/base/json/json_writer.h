/* Writes JSON that is valid whatever the strings hold. */
#ifndef FLOPLEDGER_BASE_JSON_JSON_WRITER_H
#define FLOPLEDGER_BASE_JSON_JSON_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { JSON_DEPTH_MAX = 32, JSON_BUFFER_BYTES = 1024 };

/* `struct json_writer writer = {.output = file};` Write errors show in ferror(output). What is
 * outside of any object and array is in `output`; of what is still open some bytes may be here. */
struct json_writer {
    FILE *output;
    bool is_in_markup; /* it stands inside a <script> of a page: no <, > or & is written as itself
                        */
    int depth;
    int one_line_depth;               /* from this depth on all stands on one line; 0: not now */
    bool has_members[JSON_DEPTH_MAX]; /* of each open object or array */
    size_t held;
    char buffer[JSON_BUFFER_BYTES]; /* [held] */
};

enum json_layout {
    JSON_ONE_PER_LINE, /* each member on a line of its own */
    JSON_ON_ONE_LINE,  /* this object or array and all in it on one line */
};

/* `key` is the member's name inside an object, and NULL inside an array or at the top. */
void json_begin_object(struct json_writer *writer, const char *key, enum json_layout layout);
void json_end_object(struct json_writer *writer);
void json_begin_array(struct json_writer *writer, const char *key, enum json_layout layout);
void json_end_array(struct json_writer *writer);
/* NULL is written as null; bytes that are not UTF-8 as U+FFFD. */
void json_text(struct json_writer *writer, const char *key, const char *text);
/* A text in which nothing needs an escape. */
void json_plain_text(struct json_writer *writer, const char *key, const char *text, size_t length);
void json_integer(struct json_writer *writer, const char *key, int64_t number);
/* As few digits as give the same double again; null where not finite. */
void json_real(struct json_writer *writer, const char *key, double number);
void json_boolean(struct json_writer *writer, const char *key, bool truth);
void json_null(struct json_writer *writer, const char *key);

#endif
