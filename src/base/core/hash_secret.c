/* Numbers that the writer of a file cannot know. */
#include "base/core/hash_mix.h"

#include <sys/random.h>
#include <time.h>

uint64_t hash_secret(void)
{
    uint64_t secret = 0;

    if (getrandom(&secret, sizeof secret, GRND_NONBLOCK) != (ssize_t)sizeof secret) {
        struct timespec now = {0}; /* a kernel that has no random bytes yet */

        clock_gettime(CLOCK_MONOTONIC, &now);
        secret = hash_mix((uint64_t)now.tv_nsec ^ (uint64_t)(uintptr_t)&secret, HASH_MULTIPLIER);
    }
    return (secret | 2) & ~(uint64_t)1;
}
