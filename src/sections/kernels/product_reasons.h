/* Why a product misses the matrix units, or is slow on them. */
#ifndef FLOPLEDGER_SECTIONS_KERNELS_PRODUCT_REASONS_H
#define FLOPLEDGER_SECTIONS_KERNELS_PRODUCT_REASONS_H

#include "cost/efficiency/efficiency.h"
#include "cost/efficiency/work_totals.h"
#include "output/results/results.h"

#include <stdint.h>

/* NULL where row `index` of work->operators is no product, or nothing is wrong with it. Reasons, in
 * this order: it runs on vector units (fp32 without TF32, sizes that do not fit, or only so); its
 * kernel uses instructions of an older device, or loads less than 16 bytes at once; it reaches
 * less than half of the median rate of products of its format that are between a quarter and four
 * times as large (at least two others). Only what takes 0.1 % of the steps is worth a row. */
const char *why_product_is_slow(struct results *results, const struct efficiency *efficiency,
                                const struct work_totals *work, uint32_t index);

#endif
