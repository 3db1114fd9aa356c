/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tallies as files: exact to the bit, merged to the same bits in any order, and whatever is wrong with one is told. */
#include "tally_of.h"
#include "fixtures/tensors.h"
#include "tenon/store.h"

static int setup(void **state)
{
    return files_setup(state);
}

static int teardown(void **state)
{
    return files_teardown(state);
}

static void same_bytes(const tn_tally *a, const tn_tally *b)
{
    void *x = NULL, *y = NULL;
    size_t n = 0, m = 0;
    assert_fine(test_ctx, tn_tally_to_bytes(test_ctx, a, "c", &x, &n));
    assert_fine(test_ctx, tn_tally_to_bytes(test_ctx, b, "c", &y, &m));
    assert_int_equal(n, m);
    assert_memory_equal(x, y, n);
    tn_bytes_free(x);
    tn_bytes_free(y);
}

static void same_bits(const tn_tally *a, const tn_tally *b)
{
    size_t dim = a->like->dim, k = a->like->classes;
    assert_int_equal(a->folds, b->folds);
    assert_int_equal(a->seed, b->seed);
    assert_int_equal(a->left_out, b->left_out);
    assert_int_equal(k, b->like->classes);
    assert_int_equal(a->like->task, b->like->task);
    assert_memory_equal(a->offset, b->offset, k * sizeof(double));
    assert_true(tnp_reps_alike(a->like, b->like));
    for (size_t f = 0; f < a->folds; ++f) {
        const tnp_moments *x = a->fold[f], *y = b->fold[f];
        assert_true(x->rows == y->rows && x->weight == y->weight && x->log_weight == y->log_weight);
        assert_true(x->trace == y->trace && x->noise == y->noise);
        for (size_t i = 0; i < dim; ++i)
            assert_memory_equal(x->gram + i * dim + i, y->gram + i * dim + i, (dim - i) * sizeof(double));
        assert_memory_equal(x->shift, y->shift, dim * sizeof(double));
        assert_memory_equal(x->sum, y->sum, dim * sizeof(double));
        assert_memory_equal(x->xty, y->xty, k * dim * sizeof(double));
        assert_memory_equal(x->ysum, y->ysum, k * sizeof(double));
        assert_memory_equal(x->yy, y->yy, k * sizeof(double));
    }
    assert_int_equal(a->input_count, b->input_count);
    for (size_t i = 0; i < a->input_count; ++i) {
        assert_int_equal(tnp_input_compare(&a->inputs[i], &b->inputs[i]), 0);
        assert_true(a->inputs[i].to == b->inputs[i].to && a->inputs[i].digest == b->inputs[i].digest);
        assert_string_equal(a->inputs[i].path, b->inputs[i].path);
    }
}

static void through_a_file_to_the_bit(void **state)
{
    (void)state;
    for (int task = TN_TASK_MULTICLASS; task <= TN_TASK_REGRESSION; ++task) {
        tally_scene s = tally_scene_of((tn_task)task, task == TN_TASK_MULTILABEL, "l2");
        s.options.folds = (size_t)task;
        s.options.rank.seed = 5;
        s.options.rank.transform = task == TN_TASK_MULTICLASS ? "none,chi2" : "none";
        tn_tally *t = tally_of(&s, 3, 300), *back = NULL;
        const char *path = file_path("t.safetensors");
        assert_fine(test_ctx, tn_tally_save(test_ctx, t, "command", path));
        assert_fine(test_ctx, tn_tally_load(test_ctx, path, &back));
        same_bits(t, back);
        same_bytes(t, back);
        tn_tally_free(t);
        tn_tally_free(back);
        tally_scene_free(&s);
    }
}

static void files_in_any_order_give_the_same_bits(void **state)
{
    (void)state;
    enum { PARTS = 4 };
    static const size_t orders[3][PARTS] = {{0, 1, 2, 3}, {2, 3, 1, 0}, {3, 0, 2, 1}};
    char names[PARTS][600];
    tally_scene s = tally_scene_of(TN_TASK_MULTICLASS, false, "l2");
    tn_tally *first = NULL;
    for (size_t p = 0; p < PARTS; ++p) {
        tn_tally *t = tally_of(&s, p * 80, p * 80 + 80);
        snprintf(names[p], sizeof names[p], "%s/part%zu.safetensors", test_folder, p);
        assert_fine(test_ctx, tn_tally_save(test_ctx, t, NULL, names[p]));
        tn_tally_free(t);
    }
    for (size_t o = 0; o < 3; ++o) {
        const char *list[PARTS + 1];
        tn_tally *t = NULL;
        for (size_t p = 0; p < PARTS; ++p)
            list[p] = names[orders[o][p]];
        assert_fine(test_ctx, tn_tally_open(test_ctx, list, PARTS, &t));
        if (first)
            same_bytes(t, first);
        if (first)
            tn_tally_free(t);
        else
            first = t;
        list[PARTS] = list[1];
        t = NULL;
        assert_fails(test_ctx, TN_ERR_DATA, "safetensors: ", tn_tally_open(test_ctx, list, PARTS + 1, &t));
        assert_null(t);
    }
    tn_tally *none = NULL;
    assert_fails(test_ctx, TN_ERR_ARG, "no file", tn_tally_open(test_ctx, NULL, 0, &none));
    tn_tally_free(first);
    tally_scene_free(&s);
}

/* ---- damaged files ---- */

#define CLASSES_TEXT "\"[\\\"x\\\",\\\"y\\\",\\\"z\\\"]\""
#define REPS_TEXT                                                                                                      \
    "\"[{\\\"name\\\":\\\"v\\\",\\\"dim\\\":2,\\\"normalize\\\":\\\"l2\\\",\\\"transform\\\":\\\"none\\\"}]\""
#define INPUT(id, from, to, used, digest)                                                                              \
    "\"[{\\\"id\\\":" id ",\\\"from\\\":" from ",\\\"to\\\":" to ",\\\"used\\\":" used ",\\\"digest\\\":" digest       \
    ",\\\"path\\\":\\\"v.npy\\\"}]\""
#define ID "\\\"0123456789abcdef0123456789abcdef\\\""
#define DIGEST "\\\"0123456789abcdef\\\""

static const entry good_meta[] = {{"format", "\"tenon-moments\""}, {"version", "\"1\""},
                                  {"task", "\"multiclass\""},      {"classes", CLASSES_TEXT},
                                  {"representations", REPS_TEXT},  {"inputs", INPUT(ID, "0", "9", "9", DIGEST)},
                                  {"left_out", "\"0\""},           {"seed", "\"0\""}};
#define TENSOR(shape, from, to) "{\"dtype\":\"F64\",\"shape\":[" shape "],\"data_offsets\":[" from "," to "]}"
static const entry good_tensors[] = {
    {"counts", TENSOR("1,5", "0", "40")}, {"gram", TENSOR("1,3", "40", "64")},   {"shift", TENSOR("2", "64", "80")},
    {"sum", TENSOR("1,2", "80", "96")},   {"xty", TENSOR("3,2", "96", "144")},   {"ysum", TENSOR("1,3", "144", "168")},
    {"yy", TENSOR("1,3", "168", "192")},  {"offset", TENSOR("3", "192", "216")},
};

static const struct {
    entry change;
    tn_status status;
} damages[] = {
    {{"format", NULL}, TN_ERR_FORMAT},
    {{"format", "\"tenon-stats\""}, TN_ERR_FORMAT},
    {{"version", "\"2\""}, TN_ERR_UNSUPPORTED},
    {{"task", NULL}, TN_ERR_FORMAT},
    {{"task", "\"auto\""}, TN_ERR_FORMAT},
    {{"classes", NULL}, TN_ERR_FORMAT},
    {{"classes", "\"[\\\"x\\\",\\\"y\\\"]\""}, TN_ERR_FORMAT},
    {{"classes", "\"[\\\"x\\\",\\\"y\\\",\\\"y\\\"]\""}, TN_ERR_FORMAT},
    {{"classes", "\"[\\\"x\\\",\\\"y\\\",1]\""}, TN_ERR_FORMAT},
    {{"classes", "\"{}\""}, TN_ERR_FORMAT},
    {{"representations", NULL}, TN_ERR_FORMAT},
    {{"representations", "\"[]\""}, TN_ERR_FORMAT},
    {{"representations", "\"[{\\\"name\\\":\\\"v\\\",\\\"dim\\\":3,\\\"normalize\\\":\\\"l2\\\"}]\""}, TN_ERR_FORMAT},
    {{"representations", "\"[{\\\"name\\\":\\\"v\\\",\\\"dim\\\":2,\\\"normalize\\\":\\\"xx\\\"}]\""}, TN_ERR_FORMAT},
    {{"inputs", NULL}, TN_ERR_FORMAT},
    {{"inputs", "\"[]\""}, TN_ERR_FORMAT},
    {{"inputs", "\"7\""}, TN_ERR_FORMAT},
    {{"inputs", "\"[\""}, TN_ERR_FORMAT},
    {{"inputs", INPUT("\\\"01\\\"", "0", "9", "9", DIGEST)}, TN_ERR_FORMAT},
    {{"inputs", INPUT("7", "0", "9", "9", DIGEST)}, TN_ERR_FORMAT},
    {{"inputs", INPUT(ID, "1", "9", "9", DIGEST)}, TN_ERR_FORMAT},
    {{"inputs", INPUT(ID, "9", "0", "9", DIGEST)}, TN_ERR_FORMAT},
    {{"inputs", INPUT(ID, "-9", "0", "9", DIGEST)}, TN_ERR_FORMAT},
    {{"inputs", INPUT(ID, "0", "9", "8", DIGEST)}, TN_ERR_FORMAT},
    {{"inputs", INPUT(ID, "0", "9", "9", "\\\"xyz\\\"")}, TN_ERR_FORMAT},
    {{"left_out", NULL}, TN_ERR_FORMAT},
    {{"left_out", "\"-1\""}, TN_ERR_FORMAT},
    {{"seed", "\"x\""}, TN_ERR_FORMAT},
    {{"counts", NULL}, TN_ERR_FORMAT},
    {{"counts", TENSOR("5", "0", "40")}, TN_ERR_FORMAT},
    {{"counts", TENSOR("0,5", "0", "0")}, TN_ERR_FORMAT},
    {{"counts", TENSOR("1,4", "0", "32")}, TN_ERR_FORMAT},
    {{"gram", NULL}, TN_ERR_FORMAT},
    {{"gram", TENSOR("1,2", "40", "56")}, TN_ERR_FORMAT},
    {{"gram", TENSOR("3", "40", "64")}, TN_ERR_FORMAT},
    {{"shift", TENSOR("0", "64", "64")}, TN_ERR_FORMAT},
    {{"shift", TENSOR("1,2", "64", "80")}, TN_ERR_FORMAT},
    {{"shift", NULL}, TN_ERR_FORMAT},
    {{"sum", NULL}, TN_ERR_FORMAT},
    {{"xty", TENSOR("2,3", "96", "144")}, TN_ERR_FORMAT},
    {{"xty", "{\"dtype\":\"F32\",\"shape\":[3,2],\"data_offsets\":[96,120]}"}, TN_ERR_FORMAT},
    {{"ysum", NULL}, TN_ERR_FORMAT},
    {{"ysum", TENSOR("3,1", "144", "168")}, TN_ERR_FORMAT},
    {{"yy", NULL}, TN_ERR_FORMAT},
    {{"offset", NULL}, TN_ERR_FORMAT},
    {{"offset", TENSOR("2", "192", "208")}, TN_ERR_FORMAT},
};

enum { DATA = 27 };

static void put_tally(bytes *b, const entry *change, const double *data)
{
    b->n = 0;
    put_container(b, good_meta, sizeof good_meta / sizeof *good_meta, good_tensors,
                  sizeof good_tensors / sizeof *good_tensors, change, data, DATA * sizeof *data);
}

static void one_thing_changed_is_an_error(void **state)
{
    (void)state;
    bytes b;
    tn_tally *t = NULL;
    const double data[DATA] = {9, 9, 0, 3, 1e-20, 2, 0, 1};
    size_t wrong = 0, blocks = tnp_live_blocks(test_ctx);
    put_tally(&b, NULL, data);
    assert_fine(test_ctx, tn_tally_load(test_ctx, write_bytes("good.safetensors", &b), &t));
    assert_int_equal(tn_tally_rows(t), 9);
    assert_int_equal(tn_tally_cols(t), 2);
    assert_int_equal(tn_tally_classes(t), 3);
    assert_string_equal(tn_tally_rep(t, 0).name, "v");
    tn_tally_free(t);
    tn_ctx_set_memory(test_ctx, 64 << 20); /* stands for the machine's memory */
    for (size_t i = 0; i < sizeof damages / sizeof *damages; ++i) {
        const entry *change = &damages[i].change;
        t = NULL;
        put_tally(&b, change, data);
        tn_status st = tn_tally_load(test_ctx, write_bytes("bad.safetensors", &b), &t);
        if (st != damages[i].status || t || !strstr(tn_ctx_message(test_ctx), "bad.safetensors")) {
            print_error("%s = %s: got %s (%s), want %s\n", change->key, change->text ? change->text : "left out",
                        tn_status_name(st), st == TN_OK ? "" : tn_ctx_message(test_ctx),
                        tn_status_name(damages[i].status));
            ++wrong;
        }
        tn_tally_free(t);
        assert_int_equal(tnp_live_blocks(test_ctx), blocks);
    }
    tn_ctx_set_memory(test_ctx, 0);
    assert_int_equal(wrong, 0);
}

/* Numbers of rows, weights and errors that cannot be; NaN anywhere. */
static void counts_that_cannot_be(void **state)
{
    (void)state;
    static const double rows[][5] = {{-9, 9, 0, 3, 0}, {9.5, 9, 0, 3, 0}, {9, -1, 0, 3, 0}, {9, 0, 0, 3, 0},
                                     {0, 9, 0, 3, 0},  {9, 9, 0, -3, 0},  {9, 9, 0, 3, -1}, {1e300, 9, 0, 3, 0}};
    bytes b;
    tn_tally *t = NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        double data[DATA] = {0};
        memcpy(data, rows[i], sizeof rows[i]);
        put_tally(&b, NULL, data);
        assert_fails(test_ctx, TN_ERR_FORMAT, "counts",
                     tn_tally_load(test_ctx, write_bytes("bad.safetensors", &b), &t));
    }
    for (size_t i = 0; i < DATA; ++i) {
        double data[DATA] = {9, 9, 0, 3, 1e-20};
        data[i] = i % 2 ? NAN : INFINITY;
        put_tally(&b, NULL, data);
        assert_fails(test_ctx, TN_ERR_FORMAT, "", tn_tally_load(test_ctx, write_bytes("bad.safetensors", &b), &t));
    }
    assert_null(t);
}

static int refuse_writing(void *arg, tnp_io what, const char *path)
{
    (void)path;
    size_t *left = arg;
    if (what != TNP_IO_WRITE && what != TNP_IO_SYNC && what != TNP_IO_RENAME)
        return 0;
    return (*left)-- == 0 ? 28 /* ENOSPC */ : 0;
}

/* A full disk leaves what was there, or all of the new file where the failure comes after its renaming. */
static void a_full_disk_leaves_a_whole_file(void **state)
{
    (void)state;
    tally_scene s = tally_scene_of(TN_TASK_MULTICLASS, false, "l2");
    tn_tally *t = tally_of(&s, 0, 90), *more = tally_of(&s, 90, 200), *back = NULL;
    const char *path = file_path("t.safetensors");
    size_t old = 0;
    assert_fine(test_ctx, tn_tally_save(test_ctx, t, NULL, path));
    for (size_t k = 0;; ++k) {
        size_t left = k;
        tnp_watch_io(test_ctx, refuse_writing, &left);
        tn_status st = tn_tally_save(test_ctx, more, NULL, path);
        tnp_watch_io(test_ctx, NULL, NULL);
        if (st == TN_OK)
            break;
        assert_int_equal(st, TN_ERR_OUTPUT);
        assert_fine(test_ctx, tn_tally_load(test_ctx, path, &back));
        same_bits(tn_tally_rows(back) == tn_tally_rows(t) ? t : more, back);
        old += tn_tally_rows(back) == tn_tally_rows(t);
        tn_tally_free(back);
        assert_true(k < 100);
    }
    assert_true(old > 1);
    tn_tally_free(t);
    tn_tally_free(more);
    tally_scene_free(&s);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    tally_scene s = tally_scene_of(TN_TASK_MULTICLASS, false, "l2");
    s.options.rank.transform = "none,chi2";
    tn_tally *t = tally_of(&s, 0, 90);
    const char *path = file_path("t.safetensors");
    assert_fine(test_ctx, tn_tally_save(test_ctx, t, NULL, path));
    size_t blocks = tnp_live_blocks(test_ctx);
    for (size_t k = 1;; ++k) {
        tn_tally *back = NULL;
        tnp_fail_allocation(test_ctx, k);
        tn_status st = tn_tally_open(test_ctx, &path, 1, &back);
        assert_true((st == TN_OK) == (back != NULL));
        if (st == TN_OK)
            st = tn_tally_save(test_ctx, back, NULL, path);
        tnp_fail_allocation(test_ctx, 0);
        tn_tally_free(back);
        assert_int_equal(tnp_live_blocks(test_ctx), blocks);
        if (st == TN_OK) {
            assert_true(k > 30);
            break;
        }
        assert_int_equal(st, TN_ERR_MEMORY);
    }
    tn_tally_free(t);
    tally_scene_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(through_a_file_to_the_bit),       cmocka_unit_test(files_in_any_order_give_the_same_bits),
        cmocka_unit_test(one_thing_changed_is_an_error),   cmocka_unit_test(counts_that_cannot_be),
        cmocka_unit_test(a_full_disk_leaves_a_whole_file), cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
