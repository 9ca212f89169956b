/* The functions of libmicrohttpd that the server calls: part of the program where its libraries are
 * (FLOPLEDGER_HAS_STATIC_LIBRARIES, as in wheels), or found when it first serves. */
#ifndef FLOPLEDGER_LIVE_MICROHTTPD_API_H
#define FLOPLEDGER_LIVE_MICROHTTPD_API_H

#ifdef FLOPLEDGER_HAS_MICROHTTPD

#include <microhttpd.h>

/* Named and typed as the library has them, without MHD_. */
struct microhttpd_api {
    __typeof__(&MHD_get_version) get_version;
    __typeof__(&MHD_start_daemon) start_daemon;
    __typeof__(&MHD_stop_daemon) stop_daemon;
    __typeof__(&MHD_get_daemon_info) get_daemon_info;
    __typeof__(&MHD_get_connection_info) get_connection_info;
    __typeof__(&MHD_lookup_connection_value) lookup_connection_value;
    __typeof__(&MHD_create_response_from_buffer) create_response_from_buffer;
    __typeof__(&MHD_add_response_header) add_response_header;
    __typeof__(&MHD_queue_response) queue_response;
    __typeof__(&MHD_destroy_response) destroy_response;
};

/* The same every time; NULL where the library is not on this machine. */
const struct microhttpd_api *microhttpd_api(void);

#endif

#endif
