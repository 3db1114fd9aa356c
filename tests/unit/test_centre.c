/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The centre of columns far from zero: which columns have one, what a feed makes of it, how it is stored, and that
 * everything which takes a head applies it: going on from one, checkpoints, transfer. */
#include "digits_of.h"
#include "fixtures/tensors.h"
#include "interrupt.h"
#include "tenon/store.h"
#include "transform/feed.h"

/* ---- feeds ---- */

/* Columns: far, just not far, ordinary, constant, zero, far below zero; in double and in float. */
static void only_far_columns_have_a_centre(void **state)
{
    (void)state;
    enum { N = 1000, D = 6 };
    static const double offset[D] = {500, 100, 0.5, 7, 0, -40000}, spread[D] = {1, 1, 1, 0, 0, 2};
    double *x = ref_alloc(N * D, sizeof *x);
    for (int as = AS_F64; as <= AS_F32; ++as) {
        ref_rng rng = ref_rng_of(1);
        for (size_t i = 0; i < N * D; ++i)
            x[i] = offset[i % D] + spread[i % D] * ref_normal(&rng);
        tn_features *features = features_of("x", x, N, D, (stored)as);
        tn_feed *feed = feed_of(features, TN_NORM_NONE);
        assert_fine(test_ctx, tnp_feed_learn_centre(test_ctx, feed, TNP_FEED_FAR));
        assert_non_null(feed->centre);
        for (size_t j = 0; j < D; ++j) {
            bool far = j == 0 || j == 5;
            assert_true(far == (feed->centre[j] != 0));
            assert_true(!far || fabs(feed->centre[j] - offset[j]) < spread[j]);
        }
        float *out = ref_alloc(N * (D + 1), sizeof *out);
        double *wide = ref_alloc(N * (D + 1), sizeof *wide);
        assert_fine(test_ctx, tn_feed_read(test_ctx, feed, 0, N, out, D + 1));
        assert_fine(test_ctx, tn_feed_read_wide(test_ctx, feed, 0, N, wide, D + 1));
        for (size_t i = 0; i < N; ++i)
            for (size_t j = 0; j < D; ++j) { /* both are one rounding of the difference */
                ref_real want = (ref_real)x[i * D + j] - (ref_real)feed->centre[j];
                assert_true(wide[i * (D + 1) + j] == (double)want && out[i * (D + 1) + j] == (float)(double)want);
            }
        assert_fine(test_ctx, tnp_feed_set_centre(test_ctx, feed, NULL));
        assert_null(feed->centre);
        free(out);
        free(wide);
        tn_feed_free(feed);
        tn_features_close(features);
    }
    free(x);
}

/* Rows sorted by their class, the later ones elsewhere: the sample has all of them, and nothing is far from zero here. */
static void rows_that_move_are_seen(void **state)
{
    (void)state;
    enum { N = 5000 };
    double *x = ref_alloc(N, sizeof *x);
    ref_rng rng = ref_rng_of(2);
    for (size_t i = 0; i < N; ++i)
        x[i] = (i < N / 2 ? 1000 : 3000) + ref_normal(&rng);
    tn_features *features = features_of("x", x, N, 1, AS_F32);
    tn_feed *feed = feed_of(features, TN_NORM_NONE);
    assert_fine(test_ctx, tnp_feed_learn_centre(test_ctx, feed, TNP_FEED_FAR));
    assert_null(feed->centre);
    tn_feed_free(feed);
    tn_features_close(features);
    free(x);
}

/* Two or three rows are close to each other in some of many columns: that is chance, but 1e6 deviations are none. */
static void few_rows_are_not_far_by_chance(void **state)
{
    (void)state;
    enum { D = 500 };
    double x[4 * D];
    for (size_t n = 1; n <= 4; ++n)
        for (int far = 0; far < 2; ++far) {
            ref_rng rng = ref_rng_of(n);
            for (size_t i = 0; i < n * D; ++i)
                x[i] = (far ? 1e6 : 0) + ref_normal(&rng);
            tn_features *features = features_of("x", x, n, D, AS_F64);
            tn_feed *feed = feed_of(features, TN_NORM_NONE);
            assert_fine(test_ctx, tnp_feed_learn_centre(test_ctx, feed, TNP_FEED_FAR));
            for (size_t j = 0; far && n > 1 && j < D; ++j)
                assert_true(feed->centre[j] != 0);
            assert_true((feed->centre != NULL) == (far && n > 1));
            tn_feed_free(feed);
            tn_features_close(features);
        }
}

/* The survey looks at a row in the middle first; which bad row is named does not depend on it. */
static void first_bad_row_is_named(void **state)
{
    (void)state;
    enum { N = 2000 };
    static const double bad[] = {NAN, 1e300};
    static const char *const said[] = {"x: row 7 holds NaN", "x: row 7, column 0: 1e+300 after option normalize none"};
    double *x = ref_alloc(N, sizeof *x), *y = ref_alloc(2 * N, sizeof *y);
    ref_rng rng = ref_rng_of(3);
    for (size_t i = 0; i < N; ++i)
        y[2 * i + i % 2] = 1;
    tn_labels *labels = labels_of(y, N, 2, TN_TASK_MULTICLASS);
    for (size_t b = 0; b < 2; ++b)
        for (size_t m = 0; m < 3; ++m) {
            tnp_fit_options opt =
                digits_options((const int[]){TNP_METHOD_EVIDENCE, TNP_METHOD_SVM, TNP_METHOD_PA}[m], "none");
            tn_fit_info *info = NULL;
            tn_head *head = NULL;
            for (size_t i = 0; i < N; ++i)
                x[i] = i == 7 || i == N / 2 ? bad[b] : ref_normal(&rng);
            tn_features *features = features_of("x", x, N, 1, AS_F64);
            opt.online.shuffle = false;
            assert_fails(test_ctx, TN_ERR_DATA, said[b], fit_one(features, labels, &opt, &info, &head));
            tn_features_close(features);
        }
    labels_done(labels);
    free(x);
    free(y);
}

/* z-scores of values near both ends of double, against those of the same numbers near 1; powers of two are exact. */
static void zscores_of_any_size(void **state)
{
    (void)state;
    enum { N = 50 };
    static const double factors[] = {0x1p1000, 0x1p600, 0x1p-600, 0x1p-1000};
    double x[N], at_one[N];
    float want[N], got[N];
    ref_rng rng = ref_rng_of(4);
    for (size_t i = 0; i < N; ++i)
        at_one[i] = round(1000 * ref_normal(&rng)) / 1024;
    for (size_t f = 0; f <= sizeof factors / sizeof *factors; ++f) {
        for (size_t i = 0; i < N; ++i)
            x[i] = at_one[i] * (f == 0 ? 1 : factors[f - 1]);
        tn_features *features = features_of("x", x, N, 1, AS_F64);
        tn_feed *feed = feed_of(features, TN_NORM_ZSCORE);
        assert_fine(test_ctx, tn_feed_read(test_ctx, feed, 0, N, f == 0 ? want : got, 1));
        if (f > 0)
            assert_memory_equal(got, want, sizeof want);
        tn_feed_free(feed);
        tn_features_close(features);
    }
}

/* Means and scales, or a centre, that a file of a head may hold, on values near the ends of double: no number comes of
 * it, and that is said. */
static void no_number_is_too_large(void **state)
{
    (void)state;
    double x[2] = {-1.7e308, 1};
    const double mean = 1e308, scale = 0, centre = 1e308;
    float out[2];
    tn_features *features = features_of("x", x, 2, 1, AS_F64);
    tn_feed *feed = feed_of(features, TN_NORM_NONE);
    assert_fine(test_ctx, tn_feed_set_zscore(test_ctx, feed, &mean, &scale));
    assert_fails(test_ctx, TN_ERR_DATA, "row 0, column 0: ", tn_feed_read(test_ctx, feed, 0, 2, out, 1));
    tn_feed_free(feed);
    feed = feed_of(features, TN_NORM_L2);
    assert_fine(test_ctx, tnp_feed_set_centre(test_ctx, feed, &centre));
    assert_fails(test_ctx, TN_ERR_DATA, "row 0, column 0: -1e+308 after", tn_feed_read(test_ctx, feed, 0, 2, out, 1));
    tn_feed_free(feed);
    tn_features_close(features);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    ref_problem p = units_of(1);
    tn_features *features = placed("x", p.x, 1e8, 1, AS_F64);
    size_t blocks = tnp_live_blocks(test_ctx);
    tn_status st = TN_ERR_MEMORY;
    for (size_t k = 1; st != TN_OK; ++k) {
        tn_feed *feed = NULL;
        float out[COLS];
        tnp_fail_allocation(test_ctx, k);
        st = tn_feed_new(test_ctx, features, NULL, ROWS, TN_NORM_L2, TN_NAN_ERROR, NULL, &feed);
        if (st == TN_OK)
            st = tnp_feed_learn_centre(test_ctx, feed, TNP_FEED_FAR);
        if (st == TN_OK)
            st = tnp_feed_pick(test_ctx, feed, (const size_t[]){3}, 1, out, COLS);
        tnp_fail_allocation(test_ctx, 0);
        assert_true(st == TN_OK || st == TN_ERR_MEMORY);
        tn_feed_free(feed);
        assert_int_equal(tnp_live_blocks(test_ctx), blocks);
    }
    tn_features_close(features);
    ref_problem_free(&p);
}

/* ---- the file ---- */

static tn_head *far_head(const ref_problem *p, const tn_labels *labels, int method)
{
    tnp_fit_options opt = digits_options(method, "none");
    tn_features *features = placed("x", p->x, 1e8, 1, AS_F64);
    tn_head *head = fitted(features, labels, &opt, NULL);
    tn_features_close(features);
    return head;
}

/* The named tensor of a head that was saved. */
static const void *tensor_at(const unsigned char *file, const char *name, const char *type, size_t rows)
{
    char found[8];
    size_t shape[2], range[2], header = 0;
    for (int b = 7; b >= 0; --b)
        header = header << 8 | file[b];
    assert_true(tensor_entry((const char *)file + 8, name, found, shape, range));
    assert_string_equal(found, type);
    assert_int_equal(shape[0], rows);
    return file + 8 + header + range[0];
}

/* Saved and loaded, a head is the same; beside its centre the file has the intercept of plain columns, for a linear
 * layer. */
static void file_has_centre_and_plain_bias(void **state)
{
    (void)state;
    ref_problem p = units_of(2);
    tn_labels *labels = labels_of(p.y, ROWS, CLASSES, TN_TASK_MULTICLASS);
    tn_head *head = far_head(&p, labels, TNP_METHOD_LOGISTIC), *copy = NULL;
    const char *path = file_path("h.safetensors");
    size_t size = 0;
    assert_fine(test_ctx, tn_head_save(test_ctx, head, "tenon fit", path));
    assert_fine(test_ctx, tn_head_load(test_ctx, path, &copy));
    assert_memory_equal(tn_head_centre(copy), tn_head_centre(head), COLS * sizeof(double));
    assert_memory_equal(tn_head_bias(copy), tn_head_bias(head), CLASSES * sizeof(float));
    unsigned char *file = read_whole(path, &size);
    assert_memory_equal(tensor_at(file, "centre", "F64", COLS), tn_head_centre(head), COLS * sizeof(double));
    assert_memory_equal(tensor_at(file, "centre_bias", "F32", CLASSES), tn_head_bias(head), CLASSES * sizeof(float));
    float plain[CLASSES];
    memcpy(plain, tensor_at(file, "bias", "F32", CLASSES), sizeof plain);
    for (size_t c = 0; c < CLASSES; ++c) {
        ref_real sum = (ref_real)tn_head_bias(head)[c], terms = fabsl(sum);
        for (size_t j = 0; j < COLS; ++j) {
            sum -= (ref_real)tn_head_weight(head)[c * COLS + j] * (ref_real)tn_head_centre(head)[j];
            terms += fabsl((ref_real)tn_head_weight(head)[c * COLS + j] * (ref_real)tn_head_centre(head)[j]);
        }
        /* a sum of COLS + 1 doubles, rounded once to float */
        assert_true(fabsl((ref_real)plain[c] - sum) <= 0x1p-24 * fabsl(sum) + COLS * 0x1p-52 * terms);
    }
    free(file);
    tn_head_free(copy);
    tn_head_free(head);
    labels_done(labels);
    ref_problem_free(&p);
}

static void damaged_centres_are_refused(void **state)
{
    (void)state;
    ref_problem p = units_of(2);
    tn_labels *labels = labels_of(p.y, ROWS, CLASSES, TN_TASK_MULTICLASS);
    tn_head *head = far_head(&p, labels, TNP_METHOD_LOGISTIC), *loaded = NULL;
    const char *path = file_path("h.safetensors");
    static const char *const names[] = {"centre", "centre_bias"};
    size_t size = 0;
    assert_fine(test_ctx, tn_head_save(test_ctx, head, "tenon fit", path));
    for (size_t t = 0; t < 2; ++t) {
        unsigned char *file = read_whole(path, &size);
        unsigned char *at =
            file + ((const unsigned char *)tensor_at(file, names[t], t ? "F32" : "F64", t ? CLASSES : COLS) - file);
        memset(at, 0xff, t ? 4 : 8); /* NaN */
        assert_fails(test_ctx, TN_ERR_FORMAT, "is NaN or infinite",
                     tn_head_load(test_ctx, write_file("nan.safetensors", file, size), &loaded));
        free(file);
        file = read_whole(path, &size);
        char *name = strstr((char *)file + 8, "\"centre_bias\"");
        assert_non_null(name);
        memcpy(name, "\"centre_bios\"", 13);
        assert_fails(test_ctx, TN_ERR_FORMAT, "centre_bias",
                     tn_head_load(test_ctx, write_file("none.safetensors", file, size), &loaded));
        free(file);
    }
    tn_head_free(head);
    labels_done(labels);
    ref_problem_free(&p);
}

/* ---- going on ---- */

static const char *write_labels(const ref_problem *p)
{
    static char text[ROWS * 8 + 1];
    for (size_t i = 0, used = 0; i < ROWS; ++i)
        for (size_t c = 0; c < CLASSES; ++c)
            if (p->y[i * CLASSES + c] > 0.5)
                used += (size_t)snprintf(text + used, sizeof text - used, "class%zu\n", c);
    return write_text("valid.txt", text);
}

static void check_same(const tn_head *a, const tn_head *b)
{
    assert_memory_equal(tn_head_weight(a), tn_head_weight(b), CLASSES * COLS * sizeof(float));
    assert_memory_equal(tn_head_bias(a), tn_head_bias(b), CLASSES * sizeof(float));
}

/* Going on from a head with a centre, and validation, are those of the rows moved to zero, to the bit. */
static void going_on_from_a_head_with_centre(void **state)
{
    (void)state;
    ref_problem p = units_of(10);
    tn_labels *labels = labels_of(p.y, ROWS, CLASSES, TN_TASK_MULTICLASS);
    tn_features *features[2] = {placed("far", p.x, 1e8, 1, AS_F64), NULL};
    tnp_fit_options opt = digits_options(TNP_METHOD_AROW, "none");
    tn_head *head[2] = {fitted(features[0], labels, &opt, NULL), NULL}, *next[2];
    ref_real *rows = prepared(p.x, 1e8, 1, TN_NORM_NONE, tn_head_centre(head[0]));
    features[1] = file_of("near", rows);
    head[1] = fitted(features[1], labels, &opt, NULL);
    for (size_t i = 0; i < 2; ++i) {
        tnp_valid valid = {(const tn_features *const *)&features[i], 1, NULL};
        assert_fine(test_ctx, tn_labels_open(test_ctx, write_labels(&p), TN_TASK_MULTICLASS, &valid.labels));
        opt.from = head[i];
        opt.valid = valid;
        next[i] = fitted(features[i], labels, &opt, NULL);
        tn_labels_free(valid.labels);
    }
    check_same(head[0], head[1]);
    check_same(next[0], next[1]);
    assert_memory_equal(tn_head_centre(next[0]), tn_head_centre(head[0]), COLS * sizeof(double));
    free(rows);
    for (size_t i = 0; i < 2; ++i) {
        tn_head_free(head[i]);
        tn_head_free(next[i]);
        tn_features_close(features[i]);
    }
    labels_done(labels);
    ref_problem_free(&p);
}

/* A head of rows near zero goes on with far ones: it begins with the same plane, weight . x + bias. PA-I with a C of
 * nothing stays there. */
static void going_on_from_a_head_without_centre(void **state)
{
    (void)state;
    const double offset = 4096;
    ref_problem p = units_of(11);
    tn_labels *labels = labels_of(p.y, ROWS, CLASSES, TN_TASK_MULTICLASS);
    tnp_fit_options opt = digits_options(TNP_METHOD_PA, "none");
    tn_features *base = placed("x", p.x, 0, 1, AS_F64);
    tn_head *from = fitted(base, labels, &opt, NULL);
    tn_features_close(base);
    tn_features *features = placed("x", p.x, offset, 1, AS_F64);
    opt.from = from;
    opt.learn.cost = 1e-9;
    opt.online.epochs = 1;
    tn_head *head = fitted(features, labels, &opt, NULL);
    float *scores = scored(head, features);
    assert_non_null(tn_head_centre(head));
    for (size_t i = 0; i < ROWS; ++i)
        for (size_t c = 0; c < CLASSES; ++c) {
            ref_real want = (ref_real)tn_head_bias(from)[c], size = fabsl(want);
            for (size_t j = 0; j < COLS; ++j) {
                ref_real w = (ref_real)tn_head_weight(from)[c * COLS + j];
                want += w * ((ref_real)p.x[i * COLS + j] + (ref_real)offset);
                size += fabsl(w) * offset;
            }
            /* its intercept is a float of the size of weight . centre; ROWS steps of C |x|^2 move the rest */
            assert_true(fabsl((ref_real)scores[i * CLASSES + c] - want) <= 0x1p-23 * size + ROWS * 1e-9 * 1000);
        }
    free(scores);
    tn_head_free(head);
    tn_head_free(from);
    tn_features_close(features);
    labels_done(labels);
    ref_problem_free(&p);
}

/* Stopped after any number of steps and run again: the bytes of a run that was not. */
static void checkpoints_of_far_columns(void **state)
{
    (void)state;
    ref_problem p = units_of(12);
    tn_labels *labels = labels_of(p.y, ROWS, CLASSES, TN_TASK_MULTICLASS);
    tn_features *features = placed("x", p.x, 1e6, 1, AS_F32);
    tnp_fit_options opt = digits_options(TNP_METHOD_SCW, "none");
    char checkpoint[512];
    snprintf(checkpoint, sizeof checkpoint, "%s", file_path("run.ckpt"));
    tn_head *want = fitted(features, labels, &opt, NULL);
    opt.online.checkpoint = checkpoint;
    for (size_t at = 1; at < 6; ++at) {
        tn_ctx *usual = test_ctx;
        interrupt i = {NULL, 0, at};
        tn_fit_info *info = NULL;
        tn_head *head = NULL;
        unlink(checkpoint);
        i.ctx = ctx_of(0);
        tn_ctx_set_progress(i.ctx, cancel_at, &i);
        test_ctx = i.ctx;
        tn_status st = fit_one(features, labels, &opt, &info, &head);
        test_ctx = usual;
        assert_int_equal(st, i.calls < at ? TN_OK : TN_ERR_INTERRUPTED);
        tn_fit_info_free(info);
        tn_head_free(head);
        tn_ctx_free(i.ctx);
        head = fitted(features, labels, &opt, NULL);
        check_same(head, want);
        tn_head_free(head);
    }
    unlink(checkpoint);
    tn_head_free(want);
    tn_features_close(features);
    labels_done(labels);
    ref_problem_free(&p);
}

/* ---- transfer ---- */

/* A transfer on far columns with a head of such columns as its source: against the same on rows moved to zero. */
static void transfer_of_far_columns(void **state)
{
    (void)state;
    ref_problem p = units_of(13);
    tn_labels *labels = labels_of(p.y, ROWS, CLASSES, TN_TASK_MULTICLASS);
    tnp_fit_options opt = digits_options(TNP_METHOD_LOGISTIC, "none");
    tnp_transfer_options how;
    float *scores[2];
    tnp_transfer_options_default(&how);
    how.method = TNP_TRANSFER_BY_RLS;
    how.normalize = TN_NORM_NONE;
    for (size_t i = 0; i < 2; ++i) {
        tn_features *features = placed("x", p.x, i == 0 ? 1e8 : 0, 1, AS_F64);
        tn_head *source = fitted(features, labels, &opt, NULL), *head = NULL;
        const tn_source sources[] = {{"source", NULL, source}};
        tn_transfer_info *info = NULL;
        tn_scorer *scorer = NULL;
        assert_fine(test_ctx, tnp_transfer(test_ctx, (const tn_features *const *)&features, 1, labels, sources, 1, &how,
                                           &info, &head));
        assert_true((tn_head_centre(head) != NULL) == (i == 0));
        scores[i] = ref_alloc(ROWS * CLASSES, sizeof(float));
        assert_fine(test_ctx, tn_scorer_new_transfer(test_ctx, head, (const tn_features *const *)&features, 1, sources,
                                                     1, TN_NAN_ERROR, &scorer));
        assert_fine(test_ctx, tn_scorer_read(test_ctx, scorer, 0, ROWS, scores[i]));
        tn_scorer_free(scorer);
        tn_transfer_info_free(info);
        tn_head_free(head);
        tn_head_free(source);
        tn_features_close(features);
    }
    assert_true(right_rows(scores[0], p.y) > 0.7);
    for (size_t i = 0; i < ROWS * CLASSES;
         ++i) /* sources stop within 1e-4 of their optimum, which moving does not change */
        assert_near_at(i, (double)scores[0][i], (double)scores[1][i], 2e-2);
    free(scores[0]);
    free(scores[1]);
    labels_done(labels);
    ref_problem_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_far_columns_have_a_centre),
        cmocka_unit_test(rows_that_move_are_seen),
        cmocka_unit_test(few_rows_are_not_far_by_chance),
        cmocka_unit_test(first_bad_row_is_named),
        cmocka_unit_test(zscores_of_any_size),
        cmocka_unit_test(no_number_is_too_large),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(file_has_centre_and_plain_bias),
        cmocka_unit_test(damaged_centres_are_refused),
        cmocka_unit_test(going_on_from_a_head_with_centre),
        cmocka_unit_test(going_on_from_a_head_without_centre),
        cmocka_unit_test(checkpoints_of_far_columns),
        cmocka_unit_test(transfer_of_far_columns),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
