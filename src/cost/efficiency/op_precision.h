/* The number format that an op multiplies in. */
#ifndef FLOPLEDGER_COST_EFFICIENCY_OP_PRECISION_H
#define FLOPLEDGER_COST_EFFICIENCY_OP_PRECISION_H

#include "cost/devices/device_peak.h"

/* From the recorded types of an op's inputs, the JSON text: ["c10::BFloat16", "c10::BFloat16", ""].
 * The first that numbers are multiplied in decides, from argument `first` on; PEAK_TYPE_COUNT where
 * none is recorded, or it has no peak of its own (complex numbers). float gives PEAK_FP32: whether
 * TF32 was used is told by the kernels. */
enum peak_type precision_of_types(const char *types, int first);

#endif
