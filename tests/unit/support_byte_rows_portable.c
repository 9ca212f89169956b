/* As on any other machine. */
#define BYTE_ROWS_PORTABLE
#define CHECK_BYTE_ROWS check_byte_rows_portable
#include "check_byte_rows.h"

#define base64_encode base64_encode_portable
#include "base/text/base64.c"
