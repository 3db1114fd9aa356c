/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Input files: what is no file, what is not there any more, what the system refuses. */
#define _GNU_SOURCE
#include "fixtures/files.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>

static const char *plain(void)
{
    return write_text("in.bin", "0123456789");
}

static void test_reads_by_position(void **state)
{
    (void)state;
    tnp_file *file = NULL;
    char out[8] = "";
    assert_fine(test_ctx, tnp_file_open(test_ctx, plain(), &file));
    assert_int_equal(tnp_file_size(file), 10);
    assert_fine(test_ctx, tnp_file_read(test_ctx, file, 3, 4, out));
    assert_string_equal(out, "3456");
    assert_fine(test_ctx, tnp_file_read(test_ctx, file, 10, 0, out));
    tnp_file_soon(file, 0, 10);
    assert_fails(test_ctx, TN_ERR_IO, "in.bin: changed while it was read: byte 10 is gone",
                 tnp_file_read(test_ctx, file, 8, 4, out));
    tnp_file_close(file);
    tnp_file_close(NULL);
}

/* Refused at once: none of them makes anybody wait. */
static void test_not_a_regular_file(void **state)
{
    (void)state;
    tnp_file *file = NULL;
    const char *fifo = file_path("pipe"), *to_fifo = file_path("link"), *socket_name = file_path("socket");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(symlink("pipe", to_fifo), 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", socket_name);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
    assert_fails(test_ctx, TN_ERR_IO, "pipe: is a pipe, expected a regular file", tnp_file_open(test_ctx, fifo, &file));
    assert_fails(test_ctx, TN_ERR_IO, "link: is a pipe", tnp_file_open(test_ctx, to_fifo, &file));
    assert_fails(test_ctx, TN_ERR_IO, "is a socket", tnp_file_open(test_ctx, socket_name, &file));
    assert_fails(test_ctx, TN_ERR_IO, "is a device", tnp_file_open(test_ctx, "/dev/zero", &file));
    assert_fails(test_ctx, TN_ERR_IO, "is a folder", tnp_file_open(test_ctx, test_folder, &file));
    assert_fails(test_ctx, TN_ERR_IO, "No such file", tnp_file_open(test_ctx, file_path("nothing"), &file));
    assert_null(file);
    close(fd);
}

/* The name becomes a pipe after it was looked at: opening it must not wait for a writer either. */
static int becomes_pipe(void *arg, tnp_io what, const char *path)
{
    (void)arg;
    if (what == TNP_IO_OPEN && unlink(path) == 0)
        assert_int_equal(mkfifo(path, 0600), 0);
    return 0;
}

static void test_becomes_a_pipe_while_opened(void **state)
{
    (void)state;
    tnp_file *file = NULL;
    const char *path = plain();
    tnp_watch_io(test_ctx, becomes_pipe, NULL);
    assert_fails(test_ctx, TN_ERR_IO, "is a pipe", tnp_file_open(test_ctx, path, &file));
    tnp_watch_io(test_ctx, NULL, NULL);
    assert_null(file);
    assert_int_equal(unlink(path), 0);
}

static int shrinks(void *arg, tnp_io what, const char *path)
{
    if (what == TNP_IO_READ)
        assert_int_equal(truncate(path, *(const off_t *)arg), 0);
    return 0;
}

static void test_file_shrinks_while_it_is_read(void **state)
{
    (void)state;
    tnp_bytes whole = {NULL, 7};
    const off_t left = 4;
    const char *path = plain();
    tnp_watch_io(test_ctx, shrinks, (void *)(uintptr_t)&left);
    assert_fails(test_ctx, TN_ERR_IO, "changed while it was read: byte 4 is gone",
                 tnp_bytes_read(test_ctx, path, &whole));
    tnp_watch_io(test_ctx, NULL, NULL);
    assert_int_equal(whole.size, 7);
}

static int one_byte(void *arg, tnp_io what, const char *path)
{
    (void)arg;
    (void)path;
    return what == TNP_IO_READ ? TNP_IO_SHORT : 0;
}

static int interrupted(void *arg, tnp_io what, const char *path)
{
    size_t *left = arg;
    (void)path;
    if (what != TNP_IO_READ || *left == 0)
        return 0;
    --*left;
    return EINTR;
}

/* Once in a while is nothing; for ever is an error. */
static void test_reads_that_are_always_interrupted(void **state)
{
    (void)state;
    tnp_bytes whole = {NULL, 0};
    const char *path = plain();
    size_t left = 3;
    tnp_watch_io(test_ctx, interrupted, &left);
    assert_fine(test_ctx, tnp_bytes_read(test_ctx, path, &whole));
    assert_int_equal(whole.size, 10);
    tnp_bytes_free(&whole);
    left = SIZE_MAX;
    assert_fails(test_ctx, TN_ERR_IO, "in.bin: ", tnp_bytes_read(test_ctx, path, &whole));
    tnp_watch_io(test_ctx, NULL, NULL);
}

static void test_short_reads(void **state)
{
    (void)state;
    tnp_bytes whole = {NULL, 0};
    const char *path = plain();
    tnp_watch_io(test_ctx, one_byte, NULL);
    assert_fine(test_ctx, tnp_bytes_read(test_ctx, path, &whole));
    tnp_watch_io(test_ctx, NULL, NULL);
    assert_int_equal(whole.size, 10);
    assert_memory_equal(whole.data, "0123456789", 10);
    tnp_bytes_free(&whole);
    for (size_t k = 1; k < 3; ++k) {
        tnp_fail_io(test_ctx, k);
        assert_fails(test_ctx, TN_ERR_IO, "in.bin: ", tnp_bytes_read(test_ctx, path, &whole));
        assert_non_null(strstr(tn_ctx_message(test_ctx), "Input/output error"));
    }
    assert_fine(test_ctx, tnp_bytes_read(test_ctx, write_text("empty", ""), &whole));
    assert_int_equal(whole.size, 0);
    tnp_bytes_free(&whole);
}

enum { MANY = 300 };

/* More files than a context keeps descriptors: all are read, the count of descriptors is bounded, and a file beyond it
 * that was replaced is not taken for the old one. */
static void test_many_files(void **state)
{
    (void)state;
    static tnp_file *files[MANY];
    char name[32], byte = 0;
    for (int i = 0; i < MANY; ++i) {
        snprintf(name, sizeof name, "many.%d", i);
        const char text[] = {(char)('a' + i % 26), 0};
        assert_fine(test_ctx, tnp_file_open(test_ctx, write_text(name, text), &files[i]));
    }
    int next = dup(0);
    assert_in_range(next, 3, 290);
    close(next);
    for (int i = 0; i < MANY; ++i) {
        assert_fine(test_ctx, tnp_file_read(test_ctx, files[i], 0, 1, &byte));
        assert_int_equal(byte, 'a' + i % 26);
        tnp_file_soon(files[i], 0, 1);
    }
    write_text("other", "z");
    assert_int_equal(rename(file_path("other"), file_path("many.299")), 0);
    assert_fails(test_ctx, TN_ERR_IO, "many.299: changed while it was read: another file has its name",
                 tnp_file_read(test_ctx, files[299], 0, 1, &byte));
    assert_int_equal(unlink(file_path("many.298")), 0);
    assert_fails(test_ctx, TN_ERR_IO, "many.298: byte 0: No such file",
                 tnp_file_read(test_ctx, files[298], 0, 1, &byte));
    for (int i = 0; i < MANY; ++i)
        tnp_file_close(files[i]);
}

/* 64 MB are free; beyond, 200 times the file. */
static void test_unfold_ratio(void **state)
{
    (void)state;
    assert_fine(test_ctx, tnp_unfold_check(test_ctx, "x", 370, 64 * 1048576.0));
    assert_fails(test_ctx, TN_ERR_DATA, "x: 370 bytes would unfold to 65.0 MB",
                 tnp_unfold_check(test_ctx, "x", 370, 65 * 1048576.0));
    assert_fine(test_ctx, tnp_unfold_check(test_ctx, "x", 1 << 20, 200 * 1048576.0));
    assert_fails(test_ctx, TN_ERR_DATA, "200 times", tnp_unfold_check(test_ctx, "x", 1 << 20, 201 * 1048576.0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_by_position),
        cmocka_unit_test(test_not_a_regular_file),
        cmocka_unit_test(test_becomes_a_pipe_while_opened),
        cmocka_unit_test(test_file_shrinks_while_it_is_read),
        cmocka_unit_test(test_reads_that_are_always_interrupted),
        cmocka_unit_test(test_short_reads),
        cmocka_unit_test(test_many_files),
        cmocka_unit_test(test_unfold_ratio),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
