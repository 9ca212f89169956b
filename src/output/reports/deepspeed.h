/* Numbers as DeepSpeed's Flops Profiler prints them: "1.08 G", "56.36 ms", "86.58%". */
#ifndef FLOPLEDGER_OUTPUT_REPORTS_DEEPSPEED_H
#define FLOPLEDGER_OUTPUT_REPORTS_DEEPSPEED_H

#include "base/text/format.h"

/* With the unit's prefix and `suffix` behind it, one blank before them even where both are empty:
 * "610.3 K", "0 ", "303.1 KMACs". Two digits behind the point, six in all. */
struct short_text deepspeed_number(double number, const char *suffix);

/* "8.4 M", "6.74 B": billions as B, nothing behind small numbers. */
struct short_text deepspeed_parameters(double number);

/* "10.83", "12.0": as Python writes a number rounded to two digits. */
struct short_text deepspeed_rounded(double number);

/* "86.58%"; "0%" of nothing. */
struct short_text deepspeed_per_cent(double part, double whole);

#endif
