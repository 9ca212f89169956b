/* What this program was built with and has at hand: `flopledger --version --verbose`. */
#ifndef FLOPLEDGER_PIPELINE_PROGRAM_PARTS_H
#define FLOPLEDGER_PIPELINE_PROGRAM_PARTS_H

#include <stdio.h>

void write_program_parts(FILE *output);

#endif
