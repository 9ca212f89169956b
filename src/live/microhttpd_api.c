/* Finds libmicrohttpd. */
#include "live/microhttpd_api.h"

#ifdef FLOPLEDGER_HAS_MICROHTTPD

#ifndef FLOPLEDGER_HAS_STATIC_LIBRARIES

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static struct microhttpd_api api;
static bool is_found;

static const struct {
    const char *name;
    size_t place; /* of the pointer in struct microhttpd_api */
} functions[] = {
    {"MHD_get_version", offsetof(struct microhttpd_api, get_version)},
    {"MHD_start_daemon", offsetof(struct microhttpd_api, start_daemon)},
    {"MHD_stop_daemon", offsetof(struct microhttpd_api, stop_daemon)},
    {"MHD_get_daemon_info", offsetof(struct microhttpd_api, get_daemon_info)},
    {"MHD_get_connection_info", offsetof(struct microhttpd_api, get_connection_info)},
    {"MHD_lookup_connection_value", offsetof(struct microhttpd_api, lookup_connection_value)},
    {"MHD_create_response_from_buffer",
     offsetof(struct microhttpd_api, create_response_from_buffer)},
    {"MHD_add_response_header", offsetof(struct microhttpd_api, add_response_header)},
    {"MHD_queue_response", offsetof(struct microhttpd_api, queue_response)},
    {"MHD_destroy_response", offsetof(struct microhttpd_api, destroy_response)},
};

/* Debian's library brings a dozen others along (TLS): with them half the time of a short command
 * went into loading what only `serve` uses. It stays loaded, for its threads may. */
static void find_library(void)
{
    void *library = dlopen("libmicrohttpd.so.12", RTLD_NOW | RTLD_LOCAL);

    is_found = library != NULL;
    for (size_t i = 0; is_found && i < sizeof functions / sizeof *functions; i++) {
        void *found = dlsym(library, functions[i].name);

        memcpy((char *)&api + functions[i].place, &found, sizeof found);
        is_found = found != NULL;
    }
}

#endif

const struct microhttpd_api *microhttpd_api(void)
{
#ifdef FLOPLEDGER_HAS_STATIC_LIBRARIES
    static const struct microhttpd_api linked = {
        .get_version = MHD_get_version,
        .start_daemon = MHD_start_daemon,
        .stop_daemon = MHD_stop_daemon,
        .get_daemon_info = MHD_get_daemon_info,
        .get_connection_info = MHD_get_connection_info,
        .lookup_connection_value = MHD_lookup_connection_value,
        .create_response_from_buffer = MHD_create_response_from_buffer,
        .add_response_header = MHD_add_response_header,
        .queue_response = MHD_queue_response,
        .destroy_response = MHD_destroy_response,
    };

    return &linked;
#else
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, find_library);
    return is_found ? &api : NULL;
#endif
}

#endif
