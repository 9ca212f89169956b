/* Checks of what is looked for by rows of bytes, for each way to do it. */
#ifndef FLOPLEDGER_TESTS_UNIT_SUPPORT_BYTE_ROWS_H
#define FLOPLEDGER_TESTS_UNIT_SUPPORT_BYTE_ROWS_H

#include <stddef.h>

void check_byte_rows_native(void);   /* SSE2 or NEON */
void check_byte_rows_portable(void); /* words of 64 bits */
void check_byte_rows_avx2(void);     /* where the processor has it */

/* base64_encode as it is where no processor looks bytes up. */
size_t base64_encode_portable(char *out, const unsigned char *bytes, size_t length);

#endif
