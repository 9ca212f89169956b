/* byte_rows, and what is found by them, say in each way what a walk byte by byte says. */
#include "base/core/processor.h"
#include "support_byte_rows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void each_processor_of_this_kind(void **state)
{
    check_byte_rows_native();
}

static void any_other_processor(void **state)
{
    check_byte_rows_portable();
}

static void processors_with_avx2(void **state)
{
#ifdef __x86_64__
    if (processor_has_avx2()) {
        check_byte_rows_avx2();
        return;
    }
#endif
    skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_processor_of_this_kind),
        cmocka_unit_test(any_other_processor),
        cmocka_unit_test(processors_with_avx2),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
