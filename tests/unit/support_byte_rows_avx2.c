/* By AVX2, which this file is compiled for. */
#define CHECK_BYTE_ROWS check_byte_rows_avx2
#include "check_byte_rows.h"
