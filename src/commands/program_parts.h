/* What this program was built with and has at hand: `flopledger --version --verbose`. */
#ifndef FLOPLEDGER_COMMANDS_PROGRAM_PARTS_H
#define FLOPLEDGER_COMMANDS_PROGRAM_PARTS_H

#include <stdio.h>

void write_program_parts(FILE *output);

#endif
