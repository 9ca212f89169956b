/* Real numbers as text for programs. */
#ifndef FLOPLEDGER_BASE_CORE_EXACT_REAL_H
#define FLOPLEDGER_BASE_CORE_EXACT_REAL_H

/* Text returned by value: no buffer to own. */
struct real_text {
    char text[40];
};

/* As few digits as give the same double again ("0.1", "1e+300"); whole numbers up to 2^53 without
   an exponent ("2500000"). `number` must be finite. */
struct real_text exact_real(double number);

#endif
