/* What a product would take at least, whatever its kernel: no estimate may be below that. */
#ifndef FLOPLEDGER_SECTIONS_ADVICE_PRODUCT_ROOF_H
#define FLOPLEDGER_SECTIONS_ADVICE_PRODUCT_ROOF_H

#include "cost/efficiency/matrix_calls.h"
#include "sections/advice/advice_rule.h"

/* Nanoseconds in which the device can read and write what the call needs, each byte once, where
 * each is `bytes_left` of what was recorded; 0 where the bytes or the device's memory are not
 * known. */
double memory_roof_ns(const struct advice_case *advice, const struct matrix_call *call,
                      double bytes_left);

/* ... in which it can compute the call's FLOPs in its number format; 0: not known. */
double compute_roof_ns(const struct advice_case *advice, const struct matrix_call *call);

/* Bytes that the call reads and writes, each once; 0: not known. */
double bytes_of_product(const struct advice_case *advice, const struct matrix_call *call);

#endif
