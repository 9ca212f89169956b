/* Other processes, as /proc tells. */
#include "base/io/processes.h"

#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* One that waits, on this processor alone and only while nothing else wants to run there. */
static pid_t start_idle_process(void)
{
    const struct sched_param none = {0};
    cpu_set_t one;
    pid_t pid;

    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0)
        return -1;
    pid = fork();
    if (pid == 0) {
        if (sched_setscheduler(0, SCHED_IDLE, &none) != 0)
            _exit(1);
        (void)pause();
        _exit(0);
    }
    return pid;
}

/* It is not told its end before it runs again. */
static void one_that_was_killed_is_exiting_at_once(void **state)
{
    pid_t pid = start_idle_process();
    struct process_state before, after, waited;

    if (pid < 0)
        skip();
    assert_true(process_state_read(&before, pid));
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_true(process_state_read(&after, pid));
    (void)waitpid(pid, NULL, 0);
    assert_false(before.is_exiting);
    assert_int_equal(before.parent, getpid());
    assert_true(after.is_exiting);
    assert_true(after.began == before.began);
    assert_false(process_state_read(&waited, pid));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_was_killed_is_exiting_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
