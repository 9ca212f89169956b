/* What of memory is left, by the kernel's files; and how the program ends where it is out. */
#include "base/core/invariant.h"
#include "base/core/memory_limit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char root[] = "/tmp/flopledger-limit-XXXXXX";

static void write_file(const char *path, const char *text)
{
    char whole[512];
    FILE *file;

    (void)snprintf(whole, sizeof whole, "mkdir -p \"$(dirname '%s%s')\"", root, path);
    assert_int_equal(system(whole), 0);
    (void)snprintf(whole, sizeof whole, "%s%s", root, path);
    file = fopen(whole, "we");
    assert_non_null(file);
    (void)fputs(text, file);
    (void)fclose(file);
}

static int set_up(void **state)
{
    return mkdtemp(root) ? 0 : -1;
}

static int tear_down(void **state)
{
    char command[128];

    (void)snprintf(command, sizeof command, "rm -rf '%s'", root);
    return system(command);
}

static void least_of_all_counts(void **state)
{
    assert_int_equal(memory_left_bytes(root), -1);
    write_file("/proc/meminfo", "MemTotal: 900 kB\nMemAvailable:    500 kB\n");
    assert_int_equal(memory_left_bytes(root), 500 * 1024);

    /* version 2: the group above has less left than the group itself */
    write_file("/proc/self/cgroup", "0::/job.slice/step\n");
    write_file("/sys/fs/cgroup/job.slice/step/memory.max", "max\n");
    write_file("/sys/fs/cgroup/job.slice/step/memory.current", "5\n");
    assert_int_equal(memory_left_bytes(root), 500 * 1024);
    write_file("/sys/fs/cgroup/job.slice/memory.max", "300000\n");
    write_file("/sys/fs/cgroup/job.slice/memory.current", "250000\n");
    assert_int_equal(memory_left_bytes(root), 50000);
    write_file("/sys/fs/cgroup/job.slice/memory.stat", "anon 1\ninactive_file 20000\n");
    assert_int_equal(memory_left_bytes(root), 70000);
    write_file("/sys/fs/cgroup/job.slice/memory.current", "350000\n");
    assert_int_equal(memory_left_bytes(root), 0);

    /* version 1; the number that stands for no limit */
    write_file("/proc/self/cgroup", "5:cpu:/job.slice\n4:memory:/one\n1:name=systemd:/two\n");
    write_file("/sys/fs/cgroup/memory/one/memory.limit_in_bytes", "9223372036854771712\n");
    write_file("/sys/fs/cgroup/memory/one/memory.usage_in_bytes", "1000\n");
    assert_int_equal(memory_left_bytes(root), 500 * 1024);
    write_file("/proc/meminfo", "MemFree: 1 kB\n"); /* tells nothing, so that "none" shows */
    assert_int_equal(memory_left_bytes(root), -1);
    write_file("/sys/fs/cgroup/memory/one/memory.limit_in_bytes", "9223372036854710272\n");
    assert_int_equal(memory_left_bytes(root), -1); /* with pages of 64 KiB */
    write_file("/sys/fs/cgroup/memory/one/memory.limit_in_bytes", "4096\n");
    assert_int_equal(memory_left_bytes(root), 3096);

    /* files with nothing of use in them */
    write_file("/proc/self/cgroup", "\n:\n0\n0::\nx");
    write_file("/proc/meminfo", "MemAvailable: many\n");
    assert_int_equal(memory_left_bytes(root), -1);
}

static void tell_of_cleanup(void)
{
    (void)!write(STDERR_FILENO, "cleaned\n", 8);
}

/* The exit code of a process whose memory ends at `limit_bytes`, and what it said. */
static int end_with(int64_t limit_bytes, char *said, size_t size)
{
    int ends[2];
    int status = 0;
    ssize_t length;
    size_t used = 0;
    pid_t child;

    assert_int_equal(pipe(ends), 0);
    child = fork();
    if (child == 0) {
        (void)dup2(ends[1], STDERR_FILENO);
        out_of_memory_cleanup(tell_of_cleanup);
        if (limit_bytes > 0)
            memory_limit_set(limit_bytes);
        (void)require_memory(NULL);
        _exit(99);
    }
    close(ends[1]);
    while ((length = read(ends[0], said + used, size - 1 - used)) > 0)
        used += (size_t)length;
    said[used] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void out_of_memory_is_told(void **state)
{
    char said[1024];

    assert_int_equal(end_with((int64_t)200 << 20, said, sizeof said), 1);
    assert_non_null(strstr(said, "out of memory: the limit is 200 MiB; give more with "
                                 "--memory-limit"));
    assert_non_null(strstr(said, "cleaned"));
    assert_int_equal(end_with(0, said, sizeof said), 1);
    assert_non_null(strstr(said, "out of memory"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(least_of_all_counts, set_up, tear_down),
        cmocka_unit_test(out_of_memory_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
