/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Files that are not the same from one read to the next: cut short, written anew between two passes over them, refused
 * by the system. Whatever happens, the answer is the values of one state of the file or an error, and memory is as
 * before. */
#define _GNU_SOURCE
#include "fixtures/files.h"

#include "read/features.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

/* ---- written anew at the k-th read ---- */

typedef struct rewrite {
    size_t k, reads;
    const char *text; /* NULL: cut to `size` bytes */
    off_t size;
} rewrite;

static int rewrites(void *arg, tnp_io what, const char *path)
{
    rewrite *r = arg;
    if (what != TNP_IO_READ || ++r->reads != r->k)
        return 0;
    if (r->text) { /* in place: the same file, other bytes */
        int fd = open(path, O_WRONLY);
        assert_true(fd >= 0);
        assert_int_equal(pwrite(fd, r->text, strlen(r->text), 0), strlen(r->text));
        assert_int_equal(ftruncate(fd, (off_t)strlen(r->text)), 0);
        close(fd);
    } else {
        assert_int_equal(truncate(path, r->size), 0);
    }
    return 0;
}

static tn_status read_it(const char *path, bool labels)
{
    tn_status st = TN_OK;
    tn_features *features = NULL;
    tn_labels *read = NULL;
    float *out = NULL;
    if (labels) {
        st = tn_labels_open(test_ctx, path, TN_TASK_AUTO, &read);
        tn_labels_free(read);
        return st;
    }
    TN_TRY(tn_features_open(test_ctx, path, &features));
    TN_TRY(tnp_alloc(test_ctx, tn_features_rows(features) * tn_features_cols(features), sizeof *out, &out));
    TN_TRY(
        tn_features_read(test_ctx, features, NULL, 0, tn_features_rows(features), 0, tn_features_cols(features), out));
done:
    tnp_free(out);
    tn_features_close(features);
    return st;
}

/* Before every read in turn the file becomes `after`. Counts how often that was told as a change. */
static size_t changes_told(const char *name, const char *before, const char *after)
{
    size_t told = 0, blocks = tnp_live_blocks(test_ctx);
    bool labels = strstr(name, ".txt") != NULL;
    for (size_t k = 1;; ++k) {
        rewrite r = {.k = k, .text = after};
        const char *path = write_text(name, before);
        tnp_watch_io(test_ctx, rewrites, &r);
        tn_status st = read_it(path, labels);
        tnp_watch_io(test_ctx, NULL, NULL);
        assert_int_equal(tnp_live_blocks(test_ctx), blocks);
        assert_true(st == TN_OK || st == TN_ERR_IO || st == TN_ERR_FORMAT || st == TN_ERR_DATA);
        told += st == TN_ERR_IO && strstr(tn_ctx_message(test_ctx), "changed while it was read") != NULL;
        if (r.reads < k)
            return told;
    }
}

/* The second reading finds five rows where the first counted two: no byte is written behind the room for two. */
static void csv_rewritten_between_count_and_fill(void **state)
{
    (void)state;
    assert_true(changes_told("a.csv", "1.25,2.25\n3.25,4.25\n", "1,2\n1,2\n1,2\n1,2\n1,2\n") > 0);
    assert_true(changes_told("a.csv", "1,2\n1,2\n1,2\n1,2\n1,2\n", "1.25,2.25\n3.25,4.25\n") > 0);
    assert_true(changes_told("a.csv", "id,x\na,100000\nb,20000\n", "id,x\naaaaaa,1\nbbbbb,2\n") > 0);
    assert_true(changes_told("a.csv", "1,2\n3,4\n", "1") > 0);
    (void)changes_told("a.csv", "id,x\n\"a\"\"\",1\nb,2\n", "x,id\n1,\"a\"\"\"\n2,b\n");
}

static void libsvm_rewritten_between_count_and_fill(void **state)
{
    (void)state;
    assert_true(changes_told("a.svm", "1 1:1.25\n1 2:2.50\n", "1 1:1\n1 1:1\n1 1:1\n") > 0);
    assert_true(changes_told("a.svm", "1 1:1.25\n1 2:2.50\n", "1 1:1\n1 999999:2\n ") > 0);
    assert_true(changes_told("a.svm", "1 1:1\n1 1:1\n1 1:1\n", "1 1:1.25\n1 2:2.50\n") > 0);
    assert_true(changes_told("a.svm", "1 1:1\n1 1:1\n", "1\n1\n1\n1\n1\n1\n") > 0);
}

/* Text labels are read once into memory, so that there is nothing to count again. */
static void labels_rewritten_while_they_are_read(void **state)
{
    (void)state;
    (void)changes_told("a.txt", "cat\ndog\n", "a\nb\nc\nd\n");
    (void)changes_told("a.txt", "1\tcat|dog\n2\tdog\n", "1\ta|b|c|d|e|f|g\n");
    assert_true(changes_told("a.txt", "cat\ndog\n", "a") > 0);
}

/* All ones from the k-th read on. */
static int more_ones(void *arg, tnp_io what, const char *path)
{
    rewrite *r = arg;
    if (what == TNP_IO_READ && ++r->reads == r->k) {
        static const char ones[4] = {1, 1, 1, 1};
        int fd = open(path, O_WRONLY);
        assert_true(fd >= 0);
        assert_int_equal(pwrite(fd, ones, 4, r->size - 4), 4);
        close(fd);
    }
    return 0;
}

/* A multi-label array is read once, into lists that grow: what it holds at that moment, before or after, is what
 * counts. */
static void label_matrix_rewritten_while_it_is_read(void **state)
{
    (void)state;
    size_t seen = 0, k = 1;
    for (bool met = true; met; ++k) {
        bytes b = {.n = 0};
        tn_labels *labels = NULL;
        put_npy(&b, "|u1", false, "(2, 2)");
        put(&b, "\1\0\0\1", 4);
        rewrite r = {.k = k, .size = (off_t)b.n};
        const char *path = write_bytes("y.npy", &b);
        tnp_watch_io(test_ctx, more_ones, &r);
        tn_status st = tn_labels_open(test_ctx, path, TN_TASK_AUTO, &labels);
        tnp_watch_io(test_ctx, NULL, NULL);
        assert_int_equal(st, TN_OK);
        met = r.reads >= k;
        size_t first = 0, second = 0;
        (void)tn_labels_of(labels, 0, &first);
        (void)tn_labels_of(labels, 1, &second);
        assert_true(first == second && first == (met ? 2u : 1u));
        seen += first == 2;
        tn_labels_free(labels);
    }
    assert_true(seen > 0 && k > 2);
}

/* ---- every format, every call ---- */

static void put_float_rows(bytes *b, size_t rows, size_t cols, bool prefix)
{
    for (size_t r = 0; r < rows; ++r) {
        if (prefix)
            put_int(b, cols, 4, false);
        for (size_t c = 0; c < cols; ++c)
            put_int(b, float_bits((float)(10 * r + c)), 4, false);
    }
}

/* The matrix (r, c) -> 10 r + c, 7 x 3, in each format that needs no packing. */
static const char *format_file(size_t which)
{
    bytes b = {.n = 0};
    switch (which) {
    case 0:
        return write_grid("m.npy", 7, 3, 0);
    case 1:
        put_npy(&b, "<f8", true, "(7, 3)");
        for (size_t c = 0; c < 3; ++c)
            for (size_t r = 0; r < 7; ++r)
                put_int(&b, double_bits((double)(10 * r + c)), 8, false);
        return write_bytes("f.npy", &b);
    case 2:
        put_float_rows(&b, 7, 3, true);
        return write_bytes("m.fvecs", &b);
    case 3:
        put_text(&b, "x........"); /* the length, below */
        b.n = 8;
        put_text(&b, "{\"m\":{\"dtype\":\"F32\",\"shape\":[7,3],\"data_offsets\":[0,84]}}");
        memcpy(b.data, (const unsigned char[8]){(unsigned char)(b.n - 8)}, 8);
        put_float_rows(&b, 7, 3, false);
        return write_bytes("m.safetensors", &b);
    case 4:
        return write_text("m.csv", "0,1,2\n10,11,12\n20,21,22\n30,31,32\n40,41,42\n50,51,52\n60,61,62\n");
    case 5:
        return write_text("m.svm", "0 2:1 3:2\n0 1:10 2:11 3:12\n0 1:20 2:21 3:22\n0 1:30 2:31 3:32\n"
                                   "0 1:40 2:41 3:42\n0 1:50 2:51 3:52\n0 1:60 2:61 3:62\n");
    default:
        return NULL;
    }
}

static tn_status read_matrix(const char *path, bool picked, float out[21])
{
    static const size_t index[] = {6, 0, 1, 5, 2, 4, 3};
    tn_features *features = NULL;
    tn_status st = tn_features_open(test_ctx, path, &features);
    if (st == TN_OK)
        st = tn_features_read(test_ctx, features, picked ? index : NULL, 0, 7, 0, 3, out);
    for (size_t i = 0; st == TN_OK && i < 7; ++i)
        for (size_t c = 0; c < 3; ++c)
            assert_true(out[3 * i + c] == (float)(10 * (picked ? index[i] : i) + c));
    tn_features_close(features);
    return st;
}

static int one_byte(void *arg, tnp_io what, const char *path)
{
    (void)arg;
    (void)path;
    return what == TNP_IO_READ ? TNP_IO_SHORT : 0;
}

static void every_read_fails_once_or_is_short(void **state)
{
    (void)state;
    float out[21];
    const char *path;
    for (size_t which = 0; (path = format_file(which)) != NULL; ++which) {
        size_t blocks = tnp_live_blocks(test_ctx), k = 1;
        tn_status st = TN_ERR_IO;
        for (; st != TN_OK; ++k) {
            tnp_fail_io(test_ctx, k);
            st = read_matrix(path, k % 2, out);
            tnp_fail_io(test_ctx, 0);
            if (st != TN_OK)
                assert_fails(test_ctx, TN_ERR_IO, "Input/output error", st);
            assert_int_equal(tnp_live_blocks(test_ctx), blocks);
        }
        assert_true(k > 3);
        tnp_watch_io(test_ctx, one_byte, NULL);
        assert_fine(test_ctx, read_matrix(path, false, out));
        assert_fine(test_ctx, read_matrix(path, true, out));
        tnp_watch_io(test_ctx, NULL, NULL);
    }
    assert_int_equal(path == NULL, 1);
}

/* Cut to every length before every read: the values that were there or an error, never others. */
static void every_format_cut_at_every_read(void **state)
{
    (void)state;
    float out[21];
    const char *path;
    struct stat info;
    for (size_t which = 0; (path = format_file(which)) != NULL; ++which) {
        assert_int_equal(stat(path, &info), 0);
        for (off_t size = 0; size < info.st_size; size += 13)
            for (size_t k = 1;; ++k) {
                rewrite r = {.k = k, .size = size};
                path = format_file(which);
                tnp_watch_io(test_ctx, rewrites, &r);
                (void)read_matrix(path, k % 2, out);
                tnp_watch_io(test_ctx, NULL, NULL);
                if (r.reads < k)
                    break;
            }
    }
}

/* ---- mappings ---- */

enum { ROWS = 3000, COLS = 256 };

static tn_features *open_mapped(void)
{
    static float row[COLS];
    const char *path = file_path("mapped.npy");
    bytes b = {.n = 0};
    char shape[40];
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    snprintf(shape, sizeof shape, "(%d, %d)", ROWS, COLS);
    put_npy(&b, "<f4", false, shape);
    assert_int_equal(fwrite(b.data, 1, b.n, f), b.n);
    for (size_t r = 0; r < ROWS; ++r) {
        for (size_t c = 0; c < COLS; ++c)
            row[c] = (float)(r + c);
        assert_int_equal(fwrite(row, sizeof *row, COLS, f), COLS);
    }
    assert_int_equal(fclose(f), 0);
    return open_features(path);
}

/* Single rows come from the mapping; those whose pages are gone are errors, and so are zeros behind the new end. */
static void mapped_file_that_shrinks(void **state)
{
    (void)state;
    static float out[ROWS * COLS];
    static size_t index[ROWS];
    const off_t sizes[] = {0, 1, 4096, 100000, 100001, 2000000, (off_t)(ROWS * COLS * 4)};
    assert_true(tn_map_files());
    assert_true(tn_map_files()); /* again is nothing new */
    tn_ctx_set_threads(test_ctx, 4);
    for (size_t i = 0; i < ROWS; ++i)
        index[i] = i * 1237 % ROWS;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
        tn_features *features = open_mapped();
        assert_fine(test_ctx, tn_features_read(test_ctx, features, index, 0, ROWS, 0, COLS, out));
        for (size_t i = 0; i < ROWS; ++i)
            assert_true(out[i * COLS] == (float)index[i] && out[i * COLS + 255] == (float)(index[i] + 255));
        tnp_features_expect(features, NULL, 0, ROWS, true);
        tnp_features_expect(features, NULL, 0, ROWS, false);
        assert_int_equal(truncate(file_path("mapped.npy"), sizes[s]), 0);
        assert_fails(test_ctx, TN_ERR_IO, "mapped.npy: changed while it was read: byte",
                     tn_features_read(test_ctx, features, index, 0, ROWS, 0, COLS, out));
        assert_fails(test_ctx, TN_ERR_IO, "mapped.npy: changed while it was read: byte",
                     tn_features_read(test_ctx, features, index, 0, 1, 0, COLS, out));
        tn_features_close(features);
    }
}

static void leave(int number)
{
    (void)number;
    _exit(42);
}

/* A SIGBUS that is not ours ends as it would have ended without us. */
static int status_of_foreign_fault(bool handled)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        int fd = open(file_path("foreign"), O_RDWR | O_CREAT | O_TRUNC, 0600);
        char *page = ftruncate(fd, 4096) == 0 ? mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
        signal(SIGBUS, handled ? leave : SIG_DFL);
        if (page == MAP_FAILED || !tn_map_files() || ftruncate(fd, 0) != 0)
            _exit(1);
        _exit(((volatile char *)page)[7] + 2);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void foreign_faults_are_left_alone(void **state)
{
    (void)state;
    int handled = status_of_foreign_fault(true), plain = status_of_foreign_fault(false);
    assert_true(WIFEXITED(handled) && WEXITSTATUS(handled) == 42);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    assert_true(WIFSIGNALED(plain) && WTERMSIG(plain) == SIGBUS);
#else
    (void)plain; /* their own report */
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(foreign_faults_are_left_alone), /* before a handler is there */
        cmocka_unit_test(csv_rewritten_between_count_and_fill),
        cmocka_unit_test(libsvm_rewritten_between_count_and_fill),
        cmocka_unit_test(labels_rewritten_while_they_are_read),
        cmocka_unit_test(label_matrix_rewritten_while_it_is_read),
        cmocka_unit_test(every_read_fails_once_or_is_short),
        cmocka_unit_test(every_format_cut_at_every_read),
        cmocka_unit_test(mapped_file_that_shrinks),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
