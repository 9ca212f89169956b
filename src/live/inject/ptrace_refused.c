/* Why the system does not let one process trace another, and what to ask for. */
#include "live/inject/ptrace_refused.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TRACE_CAPABILITY = 19 };

#define OTHERWISE "; or start the job with KINETO_USE_DAEMON=1, or under 'flopledger run'"

/* The text behind `key` in a file of lines "key:\tvalue"; "" where there is none. */
static void status_value(long pid, const char *key, char value[64])
{
    char path[64];
    char line[256];
    FILE *file;
    size_t length = strlen(key);

    value[0] = '\0';
    snprintf(path, sizeof path, "/proc/%ld/status", pid);
    file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, key, length) == 0 && line[length] == ':') {
            line[strcspn(line, "\n")] = '\0';
            snprintf(value, 64, "%.63s", line + length + 1 + strspn(line + length + 1, " \t"));
            break;
        }
    }
    if (file)
        fclose(file);
}

static uint64_t capabilities_of(long pid, const char *set)
{
    char value[64];

    status_value(pid, set, value);
    return strtoull(value, NULL, 16);
}

static int yama_scope(void)
{
    FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
    int scope = -1;

    if (file && fscanf(file, "%d", &scope) != 1)
        scope = -1;
    if (file)
        fclose(file);
    return scope;
}

static bool is_in_other_user_namespace(long pid)
{
    char path[64];
    struct stat own;
    struct stat other;

    snprintf(path, sizeof path, "/proc/%ld/ns/user", pid);
    return stat("/proc/self/ns/user", &own) == 0 && stat(path, &other) == 0 &&
           own.st_ino != other.st_ino;
}

static struct ptrace_facts gather_facts(long pid, int problem)
{
    struct ptrace_facts facts = {.pid = pid, .problem = problem, .scope = yama_scope()};
    long self = (long)getpid();
    uint64_t own = capabilities_of(self, "CapEff");
    char value[64];
    char path[64];
    struct stat about;

    status_value(pid, "TracerPid", value);
    facts.tracer = strtol(value, NULL, 10);
    status_value(pid, "State", value);
    facts.has_ended = value[0] == '\0' || value[0] == 'Z' || value[0] == 'X';
    status_value(self, "Seccomp", value);
    facts.has_seccomp = value[0] == '2';
    facts.is_capable = (own >> TRACE_CAPABILITY) & 1;
    facts.has_more = (capabilities_of(pid, "CapPrm") & ~own) != 0;
    facts.is_elsewhere = is_in_other_user_namespace(pid);
    snprintf(path, sizeof path, "/proc/%ld", pid);
    facts.is_other = stat(path, &about) == 0 && about.st_uid != geteuid();
    return facts;
}

static bool tell_scope(const struct ptrace_facts *facts, struct error *error)
{
    if (facts->scope == 3)
        return error_set(error, ERROR_FAILURE,
                         "process %ld may not be traced: kernel.yama.ptrace_scope is 3, which "
                         "forbids it to all until the machine starts anew; ask the administrator "
                         "for kernel.yama.ptrace_scope=0 in /etc/sysctl.d" OTHERWISE,
                         facts->pid);
    if (facts->scope == 2)
        return error_set(error, ERROR_FAILURE,
                         "process %ld may not be traced: kernel.yama.ptrace_scope is 2, which "
                         "allows it to CAP_SYS_PTRACE only; ask the administrator to run 'sysctl "
                         "kernel.yama.ptrace_scope=0', or to attach for you" OTHERWISE,
                         facts->pid);
    return error_set(error, ERROR_FAILURE,
                     "process %ld may not be traced: kernel.yama.ptrace_scope is 1, which allows a "
                     "process to trace only what it started; ask the administrator to run 'sysctl "
                     "kernel.yama.ptrace_scope=0', or to attach for you" OTHERWISE,
                     facts->pid);
}

bool tell_ptrace_facts(const struct ptrace_facts *facts, struct error *error)
{
    if (facts->problem == ESRCH || facts->has_ended)
        return error_set(error, ERROR_FAILURE, "process %ld has ended", facts->pid);
    if (facts->tracer)
        return error_set(error, ERROR_FAILURE,
                         "process %ld is traced by process %ld already (a debugger, strace), and "
                         "there can be only one: end that first",
                         facts->pid, facts->tracer);
    if (facts->is_other && !facts->is_capable)
        return error_set(error, ERROR_FAILURE,
                         "process %ld belongs to another user: attach as the user who started it",
                         facts->pid);
    if (facts->scope > 0 && (facts->scope == 3 || !facts->is_capable))
        return tell_scope(facts, error);
    if (facts->is_elsewhere && !facts->is_capable)
        return error_set(error, ERROR_FAILURE,
                         "process %ld runs in a container (another user namespace), and may be "
                         "traced from within it only: run 'flopledger attach' in the container",
                         facts->pid);
    if (facts->has_more && !facts->is_capable)
        return error_set(error, ERROR_FAILURE,
                         "process %ld has capabilities that this one lacks, so the system does not "
                         "let it be traced: attach with CAP_SYS_PTRACE (docker: --cap-add "
                         "SYS_PTRACE)" OTHERWISE,
                         facts->pid);
    if (facts->has_seccomp)
        return error_set(error, ERROR_FAILURE,
                         "the filter of system calls that this process runs under (seccomp, a "
                         "container's) forbids ptrace: start the container with --cap-add "
                         "SYS_PTRACE, or attach from outside of it" OTHERWISE);
    if (facts->is_capable)
        return error_set(error, ERROR_FAILURE,
                         "process %ld may not be traced, though this one has CAP_SYS_PTRACE: %s; a "
                         "security module (SELinux, AppArmor) may forbid it: ask the "
                         "administrator" OTHERWISE,
                         facts->pid, strerror(facts->problem));
    return error_set(error, ERROR_FAILURE,
                     "process %ld may not be traced: it is marked as not dumpable (it changed its "
                     "user, or runs a program that may not be read), or a security module "
                     "(SELinux, AppArmor) forbids it; ask for CAP_SYS_PTRACE" OTHERWISE,
                     facts->pid);
}

bool tell_ptrace_refused(long pid, int problem, struct error *error)
{
    struct ptrace_facts facts = gather_facts(pid, problem);

    return tell_ptrace_facts(&facts, error);
}
