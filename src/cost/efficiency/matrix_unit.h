/* Whether a kernel runs on matrix units: Tensor Cores of NVIDIA, Matrix Cores of AMD. */
#ifndef FLOPLEDGER_COST_EFFICIENCY_MATRIX_UNIT_H
#define FLOPLEDGER_COST_EFFICIENCY_MATRIX_UNIT_H

enum matrix_unit_use {
    MATRIX_UNIT_NOT_TOLD, /* the name says nothing of it */
    MATRIX_UNIT_USED,
    MATRIX_UNIT_NOT_USED,
};

/* By the kernel's name alone: matrix_unit_list.def. */
enum matrix_unit_use matrix_unit_of_name(const char *kernel_name);

/* The compute capability (8.0 is 80) whose instructions the name says it uses: 80 for
 * "cutlass_80_tensorop_..." and "ampere_...", 90 for "sm90_..."; 0 where the name does not say. */
int instruction_generation(const char *kernel_name);

#endif
