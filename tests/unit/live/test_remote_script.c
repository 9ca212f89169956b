/* A Python that looks for what to run by itself is told, by what its state says of itself. */
#include "live/inject/process_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { NAME_ROOM = 512 };

struct fake_thread {
    uint64_t before;
    uint64_t flags;
    uint64_t between;
    int is_pending;
    char name[NAME_ROOM];
};

struct fake_interpreter {
    struct fake_interpreter *next;
    int64_t id;
    struct fake_thread *main_thread;
    int is_on;
};

/* What the state of 3.14 or 3.15 begins with, and a second interpreter before the first. */
struct fake_runtime {
    uint64_t words[128];
    struct fake_interpreter *interpreters;
};

static struct fake_thread thread;
static struct fake_interpreter first = {.main_thread = &thread};
static struct fake_interpreter second = {.next = &first, .id = 1};
static struct fake_runtime runtime;

static void make_state(uint32_t version, int is_on)
{
    uint64_t *support = runtime.words + (version >> 16 == 0x30f ? 105 : 89);

    thread = (struct fake_thread){.flags = UINT64_C(0x7700000000000002)};
    first.is_on = is_on;
    runtime = (struct fake_runtime){.interpreters = &second};
    memcpy(runtime.words, "xdebugpy", 8);
    runtime.words[1] = version;
    runtime.words[5] = offsetof(struct fake_runtime, interpreters);
    runtime.words[7] = offsetof(struct fake_interpreter, id);
    runtime.words[8] = offsetof(struct fake_interpreter, next);
    runtime.words[10] = offsetof(struct fake_interpreter, main_thread);
    support[0] = offsetof(struct fake_thread, flags);
    support[1] = offsetof(struct fake_thread, is_pending);
    support[2] = offsetof(struct fake_interpreter, is_on);
    support[3] = 0;
    support[4] = offsetof(struct fake_thread, name) - offsetof(struct fake_thread, is_pending);
    support[5] = NAME_ROOM;
}

static enum remote_state find_state(struct remote_script *script, int *minor)
{
    return remote_script_find(script, minor, getpid(), (uint64_t)(uintptr_t)&runtime);
}

static void it_is_told_what_to_run(void **state)
{
    static const uint32_t versions[] = {0x030e08f0, 0x030f00f0};

    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        struct remote_script script;
        struct error error;
        int minor = 0;

        make_state(versions[i], 1);
        assert_int_equal(find_state(&script, &minor), REMOTE_LOOKS);
        assert_int_equal(minor, 14 + (int)i);
        assert_true(remote_script_send(&script, getpid(), "/tmp/one/run.py", &error));
        assert_string_equal(thread.name, "/tmp/one/run.py");
        assert_int_equal(thread.is_pending, 1);
        assert_true(thread.flags == UINT64_C(0x7700000000000022)); /* of them, one more */
        assert_true(thread.before == 0 && thread.between == 0);
        assert_true(remote_script_send(&script, getpid(), "/tmp/one/run.py", &error)); /* again */
    }
}

static void what_others_sent_is_left(void **state)
{
    struct remote_script script;
    struct error error;
    int minor = 0;

    make_state(0x030e00f0, 1);
    assert_int_equal(find_state(&script, &minor), REMOTE_LOOKS);
    strcpy(thread.name, "/tmp/debugger.py");
    thread.is_pending = 1;
    assert_false(remote_script_send(&script, getpid(), "/tmp/run.py", &error));
    assert_non_null(strstr(error.message, "'/tmp/debugger.py'"));
    remote_script_withdraw(&script, getpid(), "/tmp/run.py");
    assert_int_equal(thread.is_pending, 1);
    remote_script_withdraw(&script, getpid(), "/tmp/debugger.py");
    assert_int_equal(thread.is_pending, 0);
    assert_true(remote_script_send(&script, getpid(), "/tmp/run.py", &error));
    assert_string_equal(thread.name, "/tmp/run.py");
}

static void what_is_not_known_is_left_alone(void **state)
{
    struct remote_script script;
    struct error error;
    int minor = 0;
    char path[NAME_ROOM + 1];

    make_state(0x030e00f0, 0);
    assert_int_equal(find_state(&script, &minor), REMOTE_IS_OFF);
    make_state(0x030e00b2, 1); /* before it was released */
    assert_int_equal(find_state(&script, &minor), REMOTE_UNKNOWN);
    make_state(0x031000f0, 1); /* 3.16 */
    assert_int_equal(find_state(&script, &minor), REMOTE_UNKNOWN);
    assert_int_equal(minor, 16);
    make_state(0x030e00f0, 1);
    runtime.words[0]++;
    assert_int_equal(find_state(&script, &minor), REMOTE_UNKNOWN);
    make_state(0x030e00f0, 1);
    first.id = 2; /* there is no first interpreter */
    assert_int_equal(find_state(&script, &minor), REMOTE_UNKNOWN);
    first.id = 0;
    assert_int_equal(remote_script_find(&script, &minor, getpid(), 8), REMOTE_UNKNOWN);
    assert_int_equal(find_state(&script, &minor), REMOTE_LOOKS);
    memset(path, 'p', NAME_ROOM);
    path[NAME_ROOM] = '\0';
    assert_false(remote_script_send(&script, getpid(), path, &error)); /* too long */
    assert_int_equal(thread.is_pending, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_told_what_to_run),
        cmocka_unit_test(what_others_sent_is_left),
        cmocka_unit_test(what_is_not_known_is_left_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
