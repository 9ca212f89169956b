/* gzip by ISA-L on x86-64, three times as fast as zlib: part of the program
 * (FLOPLEDGER_HAS_STATIC_LIBRARIES, as in wheels), or looked for when it runs. Without its header
 * when it was built (isal_header.h, which Meson makes) the program never uses it. */
#include "base/io/isal_inflate.h"

#include "base/core/invariant.h"

#include <isal_header.h>
#include <stdint.h>
#include <stdlib.h>

#ifdef FLOPLEDGER_HAS_ISAL_HEADER

#include <dlfcn.h>
#include <isa-l/igzip_lib.h>

struct isal_inflate {
    void *library;
    void (*init)(struct inflate_state *);
    void (*reset)(struct inflate_state *);
    int (*step)(struct inflate_state *);
    int status;
    struct inflate_state state;
};

#ifdef FLOPLEDGER_HAS_STATIC_LIBRARIES

static bool isal_inflate_isal_inflate_find_functions(struct isal_inflate *inflate)
{
    inflate->init = isal_inflate_init;
    inflate->reset = isal_inflate_reset;
    inflate->step = isal_inflate;
    return true;
}

#else

/* A function pointer from dlsym, without the cast that ISO C forbids. */
static void find(void *library, const char *name, void *function)
{
    *(void **)function = dlsym(library, name);
}

static bool isal_inflate_isal_inflate_find_functions(struct isal_inflate *inflate)
{
    inflate->library = dlopen("libisal.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!inflate->library)
        return false;
    find(inflate->library, "isal_inflate_init", &inflate->init);
    find(inflate->library, "isal_inflate_reset", &inflate->reset);
    find(inflate->library, "isal_inflate", &inflate->step);
    return inflate->init && inflate->reset && inflate->step;
}

#endif

struct isal_inflate *isal_inflate_new(void)
{
    struct isal_inflate *inflate = require_memory(calloc(1, sizeof *inflate));

    if (!isal_inflate_isal_inflate_find_functions(inflate)) {
        isal_inflate_free(inflate);
        return NULL;
    }
    inflate->init(&inflate->state);
    inflate->state.crc_flag = ISAL_GZIP;
    return inflate;
}

static uint32_t isal_inflate_capped(size_t size)
{
    return size > UINT32_MAX / 2 ? UINT32_MAX / 2 : (uint32_t)size;
}

enum isal_step isal_inflate_step(struct isal_inflate *inflate, const unsigned char **input,
                                 size_t *input_left, unsigned char **output, size_t *output_left)
{
    struct inflate_state *state = &inflate->state;
    uint32_t given = isal_inflate_capped(*input_left);
    uint32_t room = isal_inflate_capped(*output_left);

    /* The library counts in 32 bits: what is given is capped, and the rest goes with the next
     * step. */
    state->next_in = (uint8_t *)(uintptr_t)*input;
    state->avail_in = given;
    state->next_out = *output;
    state->avail_out = room;
    inflate->status = inflate->step(state);
    *input += given - state->avail_in;
    *input_left -= given - state->avail_in;
    *output += room - state->avail_out;
    *output_left -= room - state->avail_out;
    if (inflate->status < 0)
        return ISAL_STEP_DAMAGED;
    /* A member's end makes the state ready for the next one: gzip files may be put together. */
    if (state->block_state != ISAL_BLOCK_FINISH)
        return ISAL_STEP_MORE;
    inflate->reset(state);
    state->crc_flag = ISAL_GZIP;
    return ISAL_STEP_END;
}

const char *isal_inflate_problem(const struct isal_inflate *inflate)
{
    switch (inflate->status) {
    case ISAL_INVALID_BLOCK:
        return "invalid block";
    case ISAL_INVALID_SYMBOL:
        return "invalid symbol";
    case ISAL_INVALID_LOOKBACK:
        return "invalid distance";
    case ISAL_INVALID_WRAPPER:
    case ISAL_UNSUPPORTED_METHOD:
        return "invalid gzip header";
    case ISAL_INCORRECT_CHECKSUM:
        return "checksum does not match";
    default:
        return "damaged gzip data";
    }
}

void isal_inflate_free(struct isal_inflate *inflate)
{
    if (!inflate)
        return;
    if (inflate->library)
        dlclose(inflate->library);
    free(inflate);
}

#else

struct isal_inflate *isal_inflate_new(void)
{
    return NULL;
}

enum isal_step isal_inflate_step(struct isal_inflate *inflate, const unsigned char **input,
                                 size_t *input_left, unsigned char **output, size_t *output_left)
{
    (void)inflate;
    (void)input;
    (void)input_left;
    (void)output;
    (void)output_left;
    return ISAL_STEP_DAMAGED;
}

const char *isal_inflate_problem(const struct isal_inflate *inflate)
{
    (void)inflate;
    return "built without ISA-L";
}

void isal_inflate_free(struct isal_inflate *inflate)
{
    (void)inflate;
    require_invariant(true, "that nothing is freed");
}

#endif
