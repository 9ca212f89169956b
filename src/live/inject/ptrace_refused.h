/* Why the system does not let one process trace another, and what to ask for. */
#ifndef FLOPLEDGER_LIVE_INJECT_PTRACE_REFUSED_H
#define FLOPLEDGER_LIVE_INJECT_PTRACE_REFUSED_H

#include "base/core/error.h"

#include <stdbool.h>

/* What decides it. */
struct ptrace_facts {
    long pid;
    int problem;       /* errno */
    int scope;         /* of yama: 0 to 3; -1: this system has none */
    long tracer;       /* who traces it already; 0: nobody */
    bool has_ended;    /* or waits to be waited for */
    bool is_capable;   /* this process has CAP_SYS_PTRACE */
    bool is_other;     /* the process is another user's */
    bool has_more;     /* the process has capabilities that this one lacks */
    bool has_seccomp;  /* this process runs under a filter of system calls, as in a container */
    bool is_elsewhere; /* the process is in another user namespace: a container's */
};

/* Sets ERROR_FAILURE with one reason and what to do. Always false. */
bool tell_ptrace_facts(const struct ptrace_facts *facts, struct error *error);

/* The same of process `pid`, right after ptrace gave `problem`. */
bool tell_ptrace_refused(long pid, int problem, struct error *error);

#endif
