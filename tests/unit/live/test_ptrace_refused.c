/* Why the system forbids to trace a process. */
#include "live/inject/tracing.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void expect(struct ptrace_facts facts, const char *words)
{
    struct error error = {0};

    facts.pid = 4711;
    facts.problem = facts.problem ? facts.problem : EPERM;
    assert_false(tell_ptrace_facts(&facts, &error));
    assert_int_equal(error.class, ERROR_FAILURE);
    if (!strstr(error.message, words))
        fail_msg("'%s' is not in '%s'", words, error.message);
}

/* One reason each, the one that decides. */
static void each_setting_is_named(void **state)
{
    expect((struct ptrace_facts){.scope = 1}, "kernel.yama.ptrace_scope is 1, which");
    expect((struct ptrace_facts){.scope = 2}, "kernel.yama.ptrace_scope is 2, which");
    expect((struct ptrace_facts){.scope = 3}, "kernel.yama.ptrace_scope is 3, which");
    expect((struct ptrace_facts){.scope = 3, .is_capable = true}, "ptrace_scope is 3");
    expect((struct ptrace_facts){.scope = 2, .is_capable = true}, "a security module");
    expect((struct ptrace_facts){.scope = -1}, "not dumpable");
    expect((struct ptrace_facts){.scope = 0, .has_more = true}, "capabilities that this one lacks");
    expect((struct ptrace_facts){.scope = 0, .is_elsewhere = true}, "another user namespace");
    expect((struct ptrace_facts){.scope = 0, .has_seccomp = true}, "seccomp");
    expect((struct ptrace_facts){.scope = 1, .is_hidden = true}, "not dumpable");
    expect((struct ptrace_facts){.has_seccomp = true, .is_hidden = true}, "not dumpable");
    expect((struct ptrace_facts){.scope = 1, .has_more = true, .is_hidden = true}, "capabilities");
    expect((struct ptrace_facts){.scope = 1, .is_other = true}, "belongs to another user");
    expect((struct ptrace_facts){.scope = 1, .tracer = 12}, "traced by process 12 already");
    expect((struct ptrace_facts){.scope = 1, .has_ended = true}, "process 4711 has ended");
    expect((struct ptrace_facts){.scope = 1, .problem = ESRCH}, "process 4711 has ended");
}

static void what_to_do_stands_behind(void **state)
{
    for (int scope = 1; scope <= 3; scope++)
        expect((struct ptrace_facts){.scope = scope}, "ask the administrator");
    expect((struct ptrace_facts){.scope = 1}, "'sysctl kernel.yama.ptrace_scope=0'");
    expect((struct ptrace_facts){.scope = 1}, "KINETO_USE_DAEMON=1");
    expect((struct ptrace_facts){.scope = 0, .has_seccomp = true}, "--cap-add SYS_PTRACE");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_setting_is_named),
        cmocka_unit_test(what_to_do_stands_behind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
