/* Payloads of NCCL's ranges: bytes by schema, and JSON. */
#include "readers/nsys/nsys_database.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { DOMAIN = 1, SCHEMA = 16777223 };

/* Communicator, message size, and behind them a number of ranks. */
static struct nvtx_payload_entry entries[] = {
    {DOMAIN, SCHEMA, 0, 8, NVTX_COMMUNICATOR},
    {DOMAIN, SCHEMA, 8, 8, NVTX_MESSAGE_BYTES},
    {DOMAIN, SCHEMA, 16, 4, NVTX_RANKS},
};
static const struct nvtx_payload_schemas schemas = {.entries = entries, .count = 3};

struct blob {
    uint64_t header[4];
    uint64_t communicator;
    uint64_t message_bytes;
    uint32_t ranks;
    uint32_t rest;
};

static struct blob good_blob(void)
{
    return (struct blob){.header = {DOMAIN, SCHEMA, 24, 32},
                         .communicator = 0x9e3779b97f4a7c15u,
                         .message_bytes = 1 << 20,
                         .ranks = 8,
                         .rest = 0xffffffff};
}

static bool decode(struct nvtx_payload *payload, const struct blob *blob, size_t length)
{
    unsigned char bytes[sizeof *blob];

    memcpy(bytes, blob, sizeof bytes);
    return nvtx_payload_decode(payload, &schemas, bytes, length);
}

static void fields_are_found_by_their_schema(void **state)
{
    struct nvtx_payload payload = {.values = {0}};
    struct blob blob = good_blob();

    (void)state;
    assert_true(decode(&payload, &blob, sizeof blob));
    assert_true(payload.has[NVTX_COMMUNICATOR] && payload.has[NVTX_RANKS]);
    assert_true(payload.values[NVTX_COMMUNICATOR] == 0x9e3779b97f4a7c15u);
    assert_int_equal(payload.values[NVTX_MESSAGE_BYTES], 1 << 20);
    assert_int_equal(payload.values[NVTX_RANKS], 8);
}

/* The last number of the header is where the payload begins, or where it ends. */
static void both_forms_of_the_header_are_read(void **state)
{
    struct nvtx_payload payload = {.values = {0}};
    struct blob blob = good_blob();

    (void)state;
    blob.header[3] = 56;
    assert_true(decode(&payload, &blob, sizeof blob));
    assert_int_equal(payload.values[NVTX_MESSAGE_BYTES], 1 << 20);
}

static void what_does_not_fit_is_refused(void **state)
{
    struct nvtx_payload payload = {.values = {7}};
    struct blob blob = good_blob();

    (void)state;
    for (size_t length = 0; length < sizeof blob; length++)
        assert_false(decode(&payload, &blob, length));
    blob.header[2] = UINT64_MAX; /* its size */
    assert_false(decode(&payload, &blob, sizeof blob));
    blob = good_blob();
    blob.header[0] = 2; /* another domain */
    assert_false(decode(&payload, &blob, sizeof blob));
    blob = good_blob();
    blob.header[1]++; /* another schema */
    assert_false(decode(&payload, &blob, sizeof blob));
    assert_int_equal(payload.values[0], 7);
}

static void a_field_behind_the_end_is_left_out(void **state)
{
    struct nvtx_payload_entry far[] = {{DOMAIN, SCHEMA, 0, 8, NVTX_COMMUNICATOR},
                                       {DOMAIN, SCHEMA, 20, 8, NVTX_MESSAGE_BYTES}};
    const struct nvtx_payload_schemas short_ones = {.entries = far, .count = 2};
    struct nvtx_payload payload = {.values = {0}};
    struct blob blob = good_blob();
    unsigned char bytes[sizeof blob];

    (void)state;
    memcpy(bytes, &blob, sizeof bytes);
    assert_true(nvtx_payload_decode(&payload, &short_ones, bytes, sizeof bytes));
    assert_true(payload.has[NVTX_COMMUNICATOR]);
    assert_false(payload.has[NVTX_MESSAGE_BYTES]);
}

static void text_is_read_too(void **state)
{
    struct nvtx_payload payload = {.values = {0}};

    (void)state;
    assert_true(nvtx_payload_parse(
        &payload,
        "{\"NCCL communicator ID\": 18446744073709551615, \"Message size [bytes]\":\"64\"}"));
    assert_true(payload.values[NVTX_COMMUNICATOR] == UINT64_MAX);
    assert_int_equal(payload.values[NVTX_MESSAGE_BYTES], 64);
    assert_false(payload.has[NVTX_RANKS]);
    assert_true(nvtx_payload_parse(&payload, "{\"Message size [bytes]\": 12}"));
    assert_false(payload.has[NVTX_COMMUNICATOR]);
    assert_false(nvtx_payload_parse(&payload, "{\"Message size\": 12}"));
    assert_false(nvtx_payload_parse(&payload, "{\"Message size [bytes]\": \"many\"}"));
    assert_false(nvtx_payload_parse(&payload, "{\"Message size [bytes]\": 1.5}"));
    assert_false(nvtx_payload_parse(&payload, "Message size [bytes]"));
    assert_false(nvtx_payload_parse(&payload, "\"Message size [bytes]"));
    assert_false(nvtx_payload_parse(&payload, ""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_are_found_by_their_schema),
        cmocka_unit_test(both_forms_of_the_header_are_read),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(a_field_behind_the_end_is_left_out),
        cmocka_unit_test(text_is_read_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
