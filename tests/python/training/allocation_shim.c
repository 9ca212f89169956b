/* Counts what a program gets from posix_memalign, which is where PyTorch takes the host's memory
 * from: the truth that the memory of a recorded run is held against. Preloaded; asked by ctypes. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

enum { SLOTS = 1 << 20 };

static struct {
    void *address;
    size_t bytes;
} slots[SLOTS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int64_t current_bytes;
static int64_t peak_bytes;

int64_t shim_current(void)
{
    return current_bytes;
}

/* The most since it was asked the last time. */
int64_t shim_take_peak(void)
{
    int64_t peak = peak_bytes;

    peak_bytes = current_bytes;
    return peak;
}

static size_t place_of(void *address)
{
    size_t i = (uintptr_t)address / 64 * 2654435761u % SLOTS;

    while (slots[i].address && slots[i].address != address)
        i = (i + 1) % SLOTS;
    return i;
}

int posix_memalign(void **result, size_t alignment, size_t bytes)
{
    static int (*original)(void **, size_t, size_t);
    int status;

    if (!original)
        original = (int (*)(void **, size_t, size_t))dlsym(RTLD_NEXT, "posix_memalign");
    status = original(result, alignment, bytes);
    if (status != 0)
        return status;
    pthread_mutex_lock(&lock);
    size_t i = place_of(*result);
    slots[i].address = *result; /* a place is never given back, only its bytes */
    slots[i].bytes = bytes;
    current_bytes += (int64_t)bytes;
    if (current_bytes > peak_bytes)
        peak_bytes = current_bytes;
    pthread_mutex_unlock(&lock);
    return 0;
}

void free(void *address)
{
    static void (*original)(void *);

    if (!original)
        original = (void (*)(void *))dlsym(RTLD_NEXT, "free");
    if (address && (uintptr_t)address % 64 == 0) {
        pthread_mutex_lock(&lock);
        size_t i = place_of(address);
        if (slots[i].address) {
            current_bytes -= (int64_t)slots[i].bytes;
            slots[i].bytes = 0;
        }
        pthread_mutex_unlock(&lock);
    }
    original(address);
}
