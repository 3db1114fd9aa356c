/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The .npy writer, byte by byte against the format's description, and what a failure leaves behind: nothing. */
#define _POSIX_C_SOURCE 200809L
#include "ctx_of.h"
#include "tenon/store.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct place {
    tn_ctx *ctx;
    char folder[64], path[96];
} place;

static int make(void **state)
{
    place *p = calloc(1, sizeof *p);
    assert_non_null(p);
    snprintf(p->folder, sizeof p->folder, "/tmp/tenon-npy-XXXXXX");
    assert_non_null(mkdtemp(p->folder));
    snprintf(p->path, sizeof p->path, "%s/s.npy", p->folder);
    p->ctx = ctx_of(0);
    *state = p;
    return 0;
}

static size_t files_in(const char *folder)
{
    size_t count = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *e = readdir(dir); e; e = readdir(dir))
        count += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(dir);
    return count;
}

static int drop(void **state)
{
    place *p = *state;
    assert_int_equal(tnp_live_blocks(p->ctx), 0);
    remove(p->path);
    assert_int_equal(rmdir(p->folder), 0);
    tn_ctx_free(p->ctx);
    free(p);
    return 0;
}

static void bytes_are_those_of_the_format(void **state)
{
    place *p = *state;
    const float data[6] = {1.5f, -2, 0, 1e-30f, 3, NAN};
    tn_npy_writer *w = NULL;
    assert_fine(p->ctx, tn_npy_writer_open(p->ctx, p->path, 3, 2, &w));
    assert_fine(p->ctx, tn_npy_writer_rows(p->ctx, w, data, 1));
    assert_fine(p->ctx, tn_npy_writer_rows(p->ctx, w, data + 2, 0));
    assert_fine(p->ctx, tn_npy_writer_rows(p->ctx, w, data + 2, 2));
    assert_int_equal(access(p->path, F_OK), -1);
    assert_fine(p->ctx, tn_npy_writer_commit(p->ctx, w));
    tn_npy_writer_close(w);
    unsigned char bytes[400];
    FILE *file = fopen(p->path, "rb");
    assert_non_null(file);
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    assert_memory_equal(bytes, "\x93NUMPY\x01\x00", 8);
    size_t header = (size_t)bytes[8] + 256 * (size_t)bytes[9];
    assert_int_equal((10 + header) % 64, 0);
    assert_int_equal(size, 10 + header + sizeof data);
    assert_int_equal(bytes[9 + header], '\n');
    static const char dict[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }";
    assert_memory_equal(bytes + 10, dict, sizeof dict - 1);
    for (size_t i = 10 + sizeof dict - 1; i < 9 + header; ++i)
        assert_int_equal(bytes[i], ' ');
    assert_memory_equal(bytes + 10 + header, data, sizeof data);
    assert_int_equal(files_in(p->folder), 1);
}

static void missing_rows_are_no_file(void **state)
{
    place *p = *state;
    const float data[4] = {0};
    tn_npy_writer *w = NULL;
    assert_fine(p->ctx, tn_npy_writer_open(p->ctx, p->path, 3, 2, &w));
    assert_fine(p->ctx, tn_npy_writer_rows(p->ctx, w, data, 2));
    assert_fails(p->ctx, TN_ERR_SHAPE, "got 2 rows after 2, expected 3 in all", tn_npy_writer_rows(p->ctx, w, data, 2));
    assert_fails(p->ctx, TN_ERR_SHAPE, "got 2 rows, expected 3", tn_npy_writer_commit(p->ctx, w));
    tn_npy_writer_close(w);
    assert_int_equal(files_in(p->folder), 0);
}

static void wrong_places_are_output_errors(void **state)
{
    place *p = *state;
    tn_npy_writer *w = NULL;
    char path[200];
    snprintf(path, sizeof path, "%s/none/s.npy", p->folder);
    assert_fails(p->ctx, TN_ERR_OUTPUT, path, tn_npy_writer_open(p->ctx, path, 1, 1, &w));
    assert_fails(p->ctx, TN_ERR_OUTPUT, p->folder, tn_npy_writer_open(p->ctx, p->folder, 1, 1, &w));
    assert_null(w);
    tn_npy_writer_close(NULL);
}

static void every_allocation_may_fail(void **state)
{
    place *p = *state;
    tn_npy_writer *w = NULL;
    size_t k = 1;
    for (;; ++k) {
        tnp_fail_allocation(p->ctx, k);
        tn_status st = tn_npy_writer_open(p->ctx, p->path, 1, 1, &w);
        tnp_fail_allocation(p->ctx, 0);
        if (st == TN_OK)
            break;
        assert_int_equal(st, TN_ERR_MEMORY);
        assert_null(w);
        assert_int_equal(tnp_live_blocks(p->ctx), 0);
        assert_int_equal(files_in(p->folder), 0);
    }
    assert_true(k > 1);
    tn_npy_writer_close(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(bytes_are_those_of_the_format, make, drop),
        cmocka_unit_test_setup_teardown(missing_rows_are_no_file, make, drop),
        cmocka_unit_test_setup_teardown(wrong_places_are_output_errors, make, drop),
        cmocka_unit_test_setup_teardown(every_allocation_may_fail, make, drop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
