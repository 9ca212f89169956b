/* The registers of a stopped thread, and the frame of a call; of x86-64. */
#include "live/inject/tracing.h"

#if defined(__x86_64__)

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>

_Static_assert(sizeof(struct user_regs_struct) == 27 * sizeof(uint64_t), "all of them");

/* Of the kernel, as no header of the library of C has them. */
enum {
    RED_ZONE_BYTES = 128, /* below the stack's end, where a function may keep something */
    HAS_STATE = 1,        /* UC_FP_XSTATE */
    HAS_STACK_SEGMENT = 2 | 4,
    NO_SUCH_STACK = 0x7ead, /* flags that change no stack for signals */
    SOFTWARE_PLACE = 464,   /* of what follows, in the state */
    VECTORS_BYTES = 2752,   /* of the state, without tiles of matrices */
    RESTART_SYS = 512,
    RESTART_ALWAYS = 513,
    RESTART_NO_HANDLER = 514,
    RESTART_BLOCK = 516,
};

/* XTILECFG and XTILEDATA (AMX): bits 17 and 18 of XSAVE's features. The state of tiles is 8
 * KiB more, and is left out where no tile is in use. */
static const uint64_t tiles = UINT64_C(3) << 17;
static const uint32_t magic_begin = 0x46505853;
static const uint32_t magic_end = 0x46505845;

struct kernel_context {
    uint64_t flags;
    uint64_t link;
    uint64_t stack_pointer;
    int32_t stack_flags;
    int32_t padding;
    uint64_t stack_size;
    uint64_t r8, r9, r10, r11, r12, r13, r14, r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip;
    uint64_t eflags;
    uint16_t cs, gs, fs, ss;
    uint64_t error, trap, old_mask, cr2;
    uint64_t state;
    uint64_t reserved[8];
    uint64_t signals;
};

struct state_software {
    uint32_t magic;
    uint32_t extended_bytes;
    uint64_t features;
    uint32_t bytes;
    uint32_t padding[7];
};

static pid_t as_pid(long tid)
{
    return (pid_t)tid;
}

/* The kernel says how much it wrote; a buffer that is full may have been cut, and a cut state
 * must not be put back. */
static bool read_vector_state(struct traced_registers *registers, long tid)
{
    struct iovec part = {registers->state, sizeof registers->state};

    if (ptrace(PTRACE_GETREGSET, as_pid(tid), NT_X86_XSTATE, &part) != 0)
        return false;
    registers->state_bytes = part.iov_len;
    return part.iov_len < sizeof registers->state; /* else it is cut */
}

/* All that a call may change: general registers, vectors, and the mask of signals, which is
 * closed while the call runs. */
bool traced_registers_read(struct traced_registers *registers, long tid)
{
    return ptrace(PTRACE_GETREGS, as_pid(tid), NULL, registers->general) == 0 &&
           read_vector_state(registers, tid) &&
           ptrace(PTRACE_GETSIGMASK, as_pid(tid), sizeof registers->signals, &registers->signals) ==
               0;
}

/* The instruction's place last: until then the thread would go back by its frame. */
bool traced_registers_write(const struct traced_registers *registers, long tid)
{
    struct traced_registers copy = *registers;
    struct iovec part = {copy.state, copy.state_bytes};

    return ptrace(PTRACE_SETSIGMASK, as_pid(tid), sizeof copy.signals, &copy.signals) == 0 &&
           ptrace(PTRACE_SETREGSET, as_pid(tid), NT_X86_XSTATE, &part) == 0 &&
           ptrace(PTRACE_SETREGS, as_pid(tid), NULL, copy.general) == 0;
}

static struct user_regs_struct general_of(const uint64_t general[27])
{
    struct user_regs_struct registers;

    memcpy(&registers, general, sizeof registers);
    return registers;
}

uint64_t traced_registers_place(const struct traced_registers *registers)
{
    return general_of(registers->general).rip;
}

bool traced_registers_in_system(const struct traced_registers *registers)
{
    return (int64_t)general_of(registers->general).orig_rax >= 0;
}

/* A call of the system that was interrupted is made again, as behind the handler of a signal that
 * asks for it. */
static void resume_system_call(struct user_regs_struct *registers)
{
    int64_t result = (int64_t)registers->rax;

    if ((int64_t)registers->orig_rax < 0)
        return;
    if (result == -RESTART_BLOCK)
        registers->rax = SYS_restart_syscall;
    else if (result == -RESTART_SYS || result == -RESTART_ALWAYS || result == -RESTART_NO_HANDLER)
        registers->rax = registers->orig_rax;
    else
        return;
    registers->rip -= 2; /* the instruction that makes it */
}

/* As the kernel's struct ucontext of x86-64 (arch/x86/include/uapi/asm/ucontext.h):
 * rt_sigreturn restores all of it in one call of the system. */
static void fill_context(struct kernel_context *context, const struct user_regs_struct *from,
                         uint64_t signals, uint64_t state_address)
{
    *context = (struct kernel_context){
        .flags = HAS_STATE | HAS_STACK_SEGMENT,
        .stack_flags = NO_SUCH_STACK,
        .r8 = from->r8,
        .r9 = from->r9,
        .r10 = from->r10,
        .r11 = from->r11,
        .r12 = from->r12,
        .r13 = from->r13,
        .r14 = from->r14,
        .r15 = from->r15,
        .rdi = from->rdi,
        .rsi = from->rsi,
        .rbp = from->rbp,
        .rbx = from->rbx,
        .rdx = from->rdx,
        .rax = from->rax,
        .rcx = from->rcx,
        .rsp = from->rsp,
        .rip = from->rip,
        .eflags = from->eflags,
        .cs = (uint16_t)from->cs,
        .gs = (uint16_t)from->gs,
        .fs = (uint16_t)from->fs,
        .ss = (uint16_t)from->ss,
        .state = state_address,
        .signals = signals,
    };
}

/* The state of vectors with what the kernel wants to find in it; its bytes. Tiles that are not in
 * use take no room: a thread that has none may not bring any. */
static size_t fill_state(unsigned char *state, const struct traced_registers *registers)
{
    const size_t header = 512;
    size_t bytes = registers->state_bytes;
    struct state_software software = {.magic = magic_begin};
    uint64_t used;

    memcpy(state, registers->state, bytes);
    memcpy(&software.features, state + SOFTWARE_PLACE, sizeof software.features);
    memcpy(&used, state + header, sizeof used);
    if (!(used & tiles)) {
        software.features &= ~tiles;
        bytes = bytes < VECTORS_BYTES ? bytes : VECTORS_BYTES;
    }
    software.bytes = (uint32_t)bytes;
    software.extended_bytes = (uint32_t)(bytes + sizeof magic_end);
    memcpy(state + SOFTWARE_PLACE, &software, sizeof software);
    memcpy(state + bytes, &magic_end, sizeof magic_end);
    return bytes + sizeof magic_end;
}

/* From low to high: where the function returns to, the context, the state. The call looks like a
 * signal's handler: the function returns into rt_sigreturn, by which the kernel itself restores
 * every register, vectors included. So even if this process is killed in the middle, the thread
 * goes back to where it was. The stack is aligned as the ABI wants it at a function's first
 * instruction. */
size_t make_call_frame(unsigned char frame[FRAME_BYTES_MAX], uint64_t *address,
                       const struct traced_registers *registers, const struct traced_call *call,
                       uint64_t begin[27])
{
    struct user_regs_struct saved = general_of(registers->general);
    struct user_regs_struct start = saved;
    uint64_t end = call->stack_end ? call->stack_end : saved.rsp - RED_ZONE_BYTES;
    uint64_t state_address = (end - sizeof magic_end - registers->state_bytes) & ~UINT64_C(63);
    uint64_t bottom = ((state_address - sizeof(struct kernel_context)) & ~UINT64_C(15)) - 8;
    struct kernel_context context;
    size_t state_place = state_address - bottom;

    if (state_place + registers->state_bytes + sizeof magic_end > FRAME_BYTES_MAX)
        return 0;
    resume_system_call(&saved);
    fill_context(&context, &saved, registers->signals, state_address);
    memset(frame, 0, state_place);
    memcpy(frame, &call->signal_return, sizeof call->signal_return);
    memcpy(frame + 8, &context, sizeof context);
    *address = bottom;
    start.rip = call->function;
    start.rsp = bottom;
    start.rdi = call->arguments[0];
    start.rsi = call->arguments[1];
    start.rdx = call->arguments[2];
    start.rcx = call->arguments[3];
    start.r8 = call->arguments[4];
    start.r9 = call->arguments[5];
    start.rax = 0;
    start.orig_rax = UINT64_MAX;      /* no call of the system is made again */
    start.eflags &= ~UINT64_C(0x500); /* no single steps, and strings upwards */
    memcpy(begin, &start, sizeof start);
    return state_place + fill_state(frame + state_place, registers);
}

bool traced_registers_begin(long tid, const uint64_t begin[27])
{
    struct user_regs_struct registers = general_of(begin);

    return ptrace(PTRACE_SETREGS, as_pid(tid), NULL, &registers) == 0;
}

/* Faults stay deliverable: a crash in the call must look like one. */
bool traced_registers_block_signals(long tid)
{
    const int kept[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    uint64_t signals = UINT64_MAX;

    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        signals &= ~(UINT64_C(1) << (kept[i] - 1));
    return ptrace(PTRACE_SETSIGMASK, as_pid(tid), sizeof signals, &signals) == 0;
}

/* It enters the call that ends a handler: that is left out, and stands before it once more. */
bool traced_call_came_back(long tid, uint64_t address, const struct traced_call *call)
{
    struct user_regs_struct now;

    if (ptrace(PTRACE_GETREGS, as_pid(tid), NULL, &now) != 0 || now.orig_rax != SYS_rt_sigreturn ||
        now.rsp != address + 8 || now.rip < call->signal_return ||
        now.rip > call->signal_return + 16)
        return false;
    now.orig_rax = UINT64_MAX;
    now.rax = SYS_rt_sigreturn;
    now.rip -= 2;
    return ptrace(PTRACE_SETREGS, as_pid(tid), NULL, &now) == 0;
}

#endif
