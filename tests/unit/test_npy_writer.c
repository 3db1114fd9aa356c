/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The .npy writer, byte by byte against the format's description, and what a failure leaves behind: nothing. */
#define _POSIX_C_SOURCE 200809L
#include "ctx_of.h"
#include "tenon/store.h"

#include <dirent.h>
#include <math.h>
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

/* The value of a half by its definition, not beyond 65504. */
static double half_value(unsigned bits)
{
    unsigned power = bits >> 10 & 31, rest = bits & 1023;
    double size = power == 0 ? ldexp(rest, -24) : ldexp(1024 + rest, (int)power - 25);
    return bits & 0x8000u ? -size : size;
}

static void write_half(place *p, float value, uint16_t *out)
{
    tn_npy_writer *w = NULL;
    FILE *file = NULL;
    assert_fine(p->ctx, tn_npy_writer_open_as(p->ctx, p->path, 1, 1, TN_F16, &w));
    assert_fine(p->ctx, tn_npy_writer_rows(p->ctx, w, &value, 1));
    assert_fine(p->ctx, tn_npy_writer_commit(p->ctx, w));
    tn_npy_writer_close(w);
    file = fopen(p->path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 128, SEEK_SET), 0);
    assert_int_equal(fread(out, 1, 3, file), 2);
    fclose(file);
}

/* Every half stays what it is; halfway between two the even one is taken, and just beside that the nearer. */
static void halves_are_the_nearest(void **state)
{
    place *p = *state;
    enum { ALL = 0x7c00 };
    static float data[4 * ALL];
    static uint16_t got[4 * ALL + 1];
    tn_npy_writer *w = NULL;
    for (unsigned h = 0; h < ALL; ++h) {
        double here = half_value(h), next = h + 1 < ALL ? half_value(h + 1) : here, middle = 0.5 * (here + next);
        data[4 * h] = (float)-here;
        data[4 * h + 1] = (float)middle;
        data[4 * h + 2] = nextafterf((float)middle, 0);
        data[4 * h + 3] = nextafterf((float)middle, 1e9F);
    }
    assert_fine(p->ctx, tn_npy_writer_open_as(p->ctx, p->path, ALL, 4, TN_F16, &w));
    assert_fine(p->ctx, tn_npy_writer_rows(p->ctx, w, data, ALL));
    assert_fine(p->ctx, tn_npy_writer_commit(p->ctx, w));
    tn_npy_writer_close(w);
    FILE *file = fopen(p->path, "rb");
    assert_non_null(file);
    char head[128];
    assert_int_equal(fread(head, 1, 128, file), 128);
    assert_non_null(strstr(head + 10, "'descr': '<f2'"));
    assert_int_equal(fread(got, 2, 4 * ALL + 1, file), 4 * ALL);
    fclose(file);
    for (unsigned h = 0; h + 1 < ALL; ++h) {
        assert_int_equal(got[4 * h], 0x8000u | h);
        assert_int_equal(got[4 * h + 1], h + (h & 1));
        assert_int_equal(got[4 * h + 2], h);
        assert_int_equal(got[4 * h + 3], h + 1);
    }
}

static void beyond_halves(void **state)
{
    place *p = *state;
    uint16_t bits[2] = {0, 0};
    tn_npy_writer *w = NULL;
    const float rows[4] = {1, 2, 3, -65520};
    write_half(p, 65519, bits);
    assert_int_equal(bits[0], 0x7bff);
    write_half(p, INFINITY, bits);
    assert_int_equal(bits[0], 0x7c00);
    write_half(p, NAN, bits);
    assert_int_equal(bits[0] & 0x7e00, 0x7e00);
    assert_fine(p->ctx, tn_npy_writer_open_as(p->ctx, p->path, 2, 2, TN_F16, &w));
    assert_int_equal(tn_npy_writer_rows(p->ctx, w, rows, 2), TN_ERR_DATA);
    assert_non_null(strstr(tn_ctx_message(p->ctx), "row 1 holds -65520"));
    tn_npy_writer_close(w);
    w = NULL;
    assert_int_equal(tn_npy_writer_open_as(p->ctx, p->path, 2, 2, TN_F64, &w), TN_ERR_ARG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(halves_are_the_nearest, make, drop),
        cmocka_unit_test_setup_teardown(beyond_halves, make, drop),
        cmocka_unit_test_setup_teardown(bytes_are_those_of_the_format, make, drop),
        cmocka_unit_test_setup_teardown(missing_rows_are_no_file, make, drop),
        cmocka_unit_test_setup_teardown(wrong_places_are_output_errors, make, drop),
        cmocka_unit_test_setup_teardown(every_allocation_may_fail, make, drop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
