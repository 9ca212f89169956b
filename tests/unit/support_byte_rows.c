/* By what each processor of this kind has. */
#define CHECK_BYTE_ROWS check_byte_rows_native
#include "check_byte_rows.h"
