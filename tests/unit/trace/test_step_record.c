/* What a step record's writer wrote is read back, whatever ends the writer. */
#include "readers/step_record/read_step_record.h"
#include "trace/step_record/step_record.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { FEW = 5, KILLS = 60, SECOND_NS = 1000000000 };

static char path[64];

static int make_path(void **state)
{
    int descriptor;

    (void)state;
    snprintf(path, sizeof path, "/tmp/step_record_XXXXXX");
    descriptor = mkstemp(path);
    if (descriptor < 0)
        return -1;
    close(descriptor);
    return unlink(path);
}

static int remove_path(void **state)
{
    (void)state;
    unlink(path);
    return 0;
}

static struct step_record_header make_header(void)
{
    struct step_record_header header = {.version = STEP_RECORD_VERSION,
                                        .header_bytes = STEP_RECORD_HEADER_BYTES,
                                        .entry_bytes = STEP_RECORD_ENTRY_BYTES,
                                        .file_mark = 0x12345678,
                                        .rank = 3,
                                        .world_size = 8,
                                        .pid = 4711,
                                        .opened_unix_ns = 1000000 * (int64_t)SECOND_NS,
                                        .opened_ns = 100 * (int64_t)SECOND_NS,
                                        .host = "node7",
                                        .job = "slurm 12"};

    memcpy(header.magic, STEP_RECORD_MAGIC, sizeof header.magic);
    header.checksum = step_record_header_checksum(&header);
    return header;
}

static struct step_entry make_step(int64_t step)
{
    return (struct step_entry){.kind = STEP_ENTRY_STEP,
                               .step = step,
                               .start_ns = step * 1000,
                               .end_ns = step * 1000 + 999,
                               .tokens = step * 3,
                               .data_wait_ns = -1,
                               .count = step ^ 0x5555};
}

static void assert_is_step(const struct step_entry *entry, int64_t step)
{
    struct step_entry expected = make_step(step);

    expected.sequence = (uint64_t)step;
    expected.checksum = entry->checksum;
    assert_memory_equal(entry, &expected, sizeof expected);
}

static void open_writer(struct step_writer *writer)
{
    struct step_record_header header = make_header();
    struct error error = {0};

    if (!step_writer_open(writer, path, &header, &error))
        fail_msg("%s", error.message);
}

static bool write_step(struct step_writer *writer, int64_t step)
{
    struct step_entry entry = make_step(step);
    struct error error = {0};

    return step_writer_append(writer, &entry, &error);
}

static void write_few(bool is_mapped)
{
    struct step_writer writer = {0};

    open_writer(&writer);
    if (!is_mapped)
        writer.is_mapped = false;
    for (int64_t step = 1; step <= FEW; step++)
        assert_true(write_step(&writer, step));
    step_writer_clear(&writer);
}

static void open_reader(struct step_reader *reader)
{
    struct error error = {0};

    if (!step_reader_open(reader, path, &error))
        fail_msg("%s", error.message);
}

static void expect_few(void)
{
    struct step_reader reader = {0};
    struct step_entry entry;

    open_reader(&reader);
    assert_int_equal(reader.header.rank, 3);
    assert_string_equal(reader.header.job, "slurm 12");
    for (int64_t step = 1; step <= FEW; step++) {
        assert_true(step_reader_next(&reader, &entry));
        assert_is_step(&entry, step);
    }
    assert_false(step_reader_next(&reader, &entry));
    assert_int_equal(reader.damaged_count, 0);
    assert_int_equal(reader.unfinished_count, 0);
    step_reader_clear(&reader);
}

static void reads_back_what_was_mapped(void **state)
{
    struct stat about;

    (void)state;
    write_few(true);
    expect_few();
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_size, STEP_RECORD_HEADER_BYTES + FEW * STEP_RECORD_ENTRY_BYTES);
}

static void reads_back_what_was_written_by_write(void **state)
{
    (void)state;
    write_few(false);
    expect_few();
}

static void grows_by_chunks(void **state)
{
    enum { MANY = 3 * STEP_RECORD_CHUNK_BYTES / STEP_RECORD_ENTRY_BYTES };
    struct step_writer writer = {0};
    struct step_reader reader = {0};
    struct step_entry entry;

    (void)state;
    open_writer(&writer);
    for (int64_t step = 1; step <= MANY; step++)
        assert_true(write_step(&writer, step));
    open_reader(&reader);
    for (int64_t step = 1; step <= MANY; step++) {
        assert_true(step_reader_next(&reader, &entry));
        assert_is_step(&entry, step);
    }
    assert_false(step_reader_next(&reader, &entry));
    step_reader_clear(&reader);
    step_writer_clear(&writer);
}

static void refuses_a_second_writer(void **state)
{
    struct step_record_header header = make_header();
    struct step_writer first = {0};
    struct step_writer second = {0};
    struct error error = {0};

    (void)state;
    open_writer(&first);
    assert_true(write_step(&first, 1));
    assert_false(step_writer_open(&second, path, &header, &error));
    assert_int_equal(error.class, ERROR_USAGE);
    for (int64_t step = 2; step <= FEW; step++)
        assert_true(write_step(&first, step));
    step_writer_clear(&first);
    expect_few();
}

/* In a child: writes steps until it is killed; tells by the pipe that it has begun. */
static void write_until_killed(int begun, bool is_mapped)
{
    struct step_writer writer = {0};
    struct step_record_header header = make_header();
    struct error error;

    if (!step_writer_open(&writer, path, &header, &error))
        _exit(1);
    if (!is_mapped)
        writer.is_mapped = false;
    if (write(begun, "b", 1) != 1)
        _exit(1);
    for (int64_t step = 1;; step++) {
        if (!write_step(&writer, step))
            _exit(2);
    }
}

static pid_t start_writer(bool is_mapped)
{
    int ends[2];
    char byte;
    pid_t child;

    assert_int_equal(pipe(ends), 0);
    child = fork();
    if (child == 0)
        write_until_killed(ends[1], is_mapped);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    close(ends[0]);
    close(ends[1]);
    return child;
}

static int64_t expect_steps_from_one(struct step_reader *reader)
{
    struct step_entry entry;
    int64_t step = 0;

    while (step_reader_next(reader, &entry))
        assert_is_step(&entry, ++step);
    assert_int_equal(reader->damaged_count, 0);
    return step;
}

static void reads_back_after_a_kill(bool is_mapped)
{
    int64_t steps = 0;

    for (int i = 0; i < KILLS; i++) {
        struct step_reader reader = {0};
        pid_t child = start_writer(is_mapped);
        int status;

        usleep((unsigned)(rand() % 3000));
        open_reader(&reader);
        assert_true(step_reader_writer_lives(&reader));
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        assert_true(WIFSIGNALED(status));
        assert_false(step_reader_writer_lives(&reader));
        steps += expect_steps_from_one(&reader);
        assert_true(reader.unfinished_count <= 1);
        step_reader_clear(&reader);
        unlink(path);
    }
    assert_true(steps > 0);
}

static void survives_kill_9_when_mapped(void **state)
{
    (void)state;
    reads_back_after_a_kill(true);
}

static void survives_kill_9_when_written(void **state)
{
    (void)state;
    reads_back_after_a_kill(false);
}

/* A limit on the size of files stands for a full disk: both refuse room. */
static void goes_on_without_room(bool is_mapped)
{
    struct rlimit old;
    struct rlimit small;
    struct step_writer writer = {0};
    struct step_reader reader = {0};
    int64_t written = 0;

    getrlimit(RLIMIT_FSIZE, &old);
    small = (struct rlimit){.rlim_cur = STEP_RECORD_CHUNK_BYTES + 100, .rlim_max = old.rlim_max};
    signal(SIGXFSZ, SIG_IGN); /* as Python does */
    open_writer(&writer);
    writer.is_mapped = writer.is_mapped && is_mapped;
    setrlimit(RLIMIT_FSIZE, &small);
    while (write_step(&writer, written + 1))
        written++;
    assert_false(write_step(&writer, written + 1)); /* and again */
    setrlimit(RLIMIT_FSIZE, &old);
    assert_true(write_step(&writer, written + 1)); /* there is room now */
    step_writer_clear(&writer);
    signal(SIGXFSZ, SIG_DFL);
    open_reader(&reader);
    assert_int_equal(expect_steps_from_one(&reader), written + 1);
    assert_true(written >=
                (STEP_RECORD_CHUNK_BYTES - STEP_RECORD_HEADER_BYTES) / STEP_RECORD_ENTRY_BYTES);
    step_reader_clear(&reader);
}

static void goes_on_without_room_when_mapped(void **state)
{
    (void)state;
    goes_on_without_room(true);
}

static void goes_on_without_room_when_written(void **state)
{
    (void)state;
    goes_on_without_room(false);
}

static void reads_what_is_left_of_a_cut_file(void **state)
{
    const off_t whole = STEP_RECORD_HEADER_BYTES + FEW * STEP_RECORD_ENTRY_BYTES;

    (void)state;
    write_few(true);
    for (off_t size = whole; size >= 0; size -= 37) {
        struct step_reader reader = {0};
        struct error error = {0};
        int64_t left = (size - STEP_RECORD_HEADER_BYTES) / STEP_RECORD_ENTRY_BYTES;

        assert_int_equal(truncate(path, size), 0);
        if (size < STEP_RECORD_HEADER_BYTES) {
            assert_false(step_reader_open(&reader, path, &error));
            assert_int_equal(error.class, ERROR_INPUT);
            continue;
        }
        open_reader(&reader);
        assert_int_equal(expect_steps_from_one(&reader), left);
        step_reader_clear(&reader);
    }
}

static void flip_bit(long place, int bit)
{
    FILE *file = fopen(path, "r+b");
    int byte;

    assert_non_null(file);
    fseek(file, place, SEEK_SET);
    byte = fgetc(file);
    fseek(file, place, SEEK_SET);
    fputc(byte ^ 1 << bit, file);
    fclose(file);
}

/* Of the five entries, all but the one hit are given, each as it was. */
static void expect_all_but(int64_t hit)
{
    struct step_reader reader = {0};
    struct step_entry entry;

    open_reader(&reader);
    for (int64_t step = 1; step <= FEW; step++) {
        if (step == hit)
            continue;
        assert_true(step_reader_next(&reader, &entry));
        assert_is_step(&entry, step);
    }
    assert_false(step_reader_next(&reader, &entry));
    assert_int_equal(reader.damaged_count + reader.unfinished_count, 1);
    step_reader_clear(&reader);
}

static void passes_over_each_flipped_bit(void **state)
{
    (void)state;
    write_few(true);
    for (long byte = 0; byte < FEW * STEP_RECORD_ENTRY_BYTES; byte++) {
        flip_bit(STEP_RECORD_HEADER_BYTES + byte, (int)(byte % 8));
        expect_all_but(byte / STEP_RECORD_ENTRY_BYTES + 1);
        flip_bit(STEP_RECORD_HEADER_BYTES + byte, (int)(byte % 8));
    }
    expect_few();
}

static void refuses_a_damaged_header(void **state)
{
    (void)state;
    write_few(true);
    for (long byte = 0; byte < STEP_RECORD_HEADER_BYTES; byte += 7) {
        struct step_reader reader = {0};
        struct error error = {0};

        flip_bit(byte, (int)(byte % 8));
        assert_false(step_reader_open(&reader, path, &error));
        assert_non_null(strstr(error.message, path));
        flip_bit(byte, (int)(byte % 8));
    }
    expect_few();
}

static void gives_what_is_written_later(void **state)
{
    struct step_writer writer = {0};
    struct step_reader reader = {0};
    struct step_entry entry;

    (void)state;
    open_writer(&writer);
    open_reader(&reader);
    for (int64_t step = 1; step <= FEW; step++) {
        assert_false(step_reader_next(&reader, &entry));
        assert_true(write_step(&writer, step));
        assert_true(step_reader_next(&reader, &entry));
        assert_is_step(&entry, step);
    }
    step_reader_clear(&reader);
    step_writer_clear(&writer);
}

static void follows_a_clock_that_jumps(void **state)
{
    struct step_entry jump = {.kind = STEP_ENTRY_CLOCK,
                              .start_ns = 200 * (int64_t)SECOND_NS,
                              .count = 500000 * (int64_t)SECOND_NS};
    struct step_writer writer = {0};
    struct step_reader reader = {0};
    struct step_entry entry;
    struct error error;

    (void)state;
    open_writer(&writer);
    assert_true(step_writer_append(&writer, &jump, &error));
    step_writer_clear(&writer);
    open_reader(&reader);
    assert_true(step_reader_next(&reader, &entry));
    assert_int_equal(step_reader_unix_ns(&reader, 150 * (int64_t)SECOND_NS),
                     1000050 * (int64_t)SECOND_NS);
    assert_int_equal(step_reader_unix_ns(&reader, 50 * (int64_t)SECOND_NS),
                     999950 * (int64_t)SECOND_NS);
    assert_int_equal(step_reader_unix_ns(&reader, 210 * (int64_t)SECOND_NS),
                     500010 * (int64_t)SECOND_NS);
    step_reader_clear(&reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(reads_back_what_was_mapped, make_path, remove_path),
        cmocka_unit_test_setup_teardown(reads_back_what_was_written_by_write, make_path,
                                        remove_path),
        cmocka_unit_test_setup_teardown(grows_by_chunks, make_path, remove_path),
        cmocka_unit_test_setup_teardown(refuses_a_second_writer, make_path, remove_path),
        cmocka_unit_test_setup_teardown(survives_kill_9_when_mapped, make_path, remove_path),
        cmocka_unit_test_setup_teardown(survives_kill_9_when_written, make_path, remove_path),
        cmocka_unit_test_setup_teardown(goes_on_without_room_when_mapped, make_path, remove_path),
        cmocka_unit_test_setup_teardown(goes_on_without_room_when_written, make_path, remove_path),
        cmocka_unit_test_setup_teardown(reads_what_is_left_of_a_cut_file, make_path, remove_path),
        cmocka_unit_test_setup_teardown(passes_over_each_flipped_bit, make_path, remove_path),
        cmocka_unit_test_setup_teardown(refuses_a_damaged_header, make_path, remove_path),
        cmocka_unit_test_setup_teardown(gives_what_is_written_later, make_path, remove_path),
        cmocka_unit_test_setup_teardown(follows_a_clock_that_jumps, make_path, remove_path),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
