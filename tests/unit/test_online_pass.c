/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Passes over streamed rows: which rows a class sees, that all learners see the same, and that neither the type of the
 * file nor the number of feeds matters. */
#include "online_of.h"

#include "algebra/blas.h"

enum { ROWS = 61, CLASSES = 4, BLOCK = 7 };

static const double STEP = 1.0 / 1024;

static tnp_online *learner_of(double cost, tnp_online_scheme scheme, size_t classes, size_t dim)
{
    tnp_online *o = NULL;
    tnp_rule rule = tnp_rule_new(TNP_SGD, cost, 0.9);
    tnp_online_shape shape = {scheme, false, true, classes, dim, BLOCK};
    assert_fine(test_ctx, tnp_online_new(test_ctx, &rule, &shape, &o));
    return o;
}

static tnp_passes *passes_of(const tnp_online_data *data, const tnp_online_options *options, size_t seed)
{
    tnp_passes *p = NULL;
    assert_fine(test_ctx, tnp_passes_new(test_ctx, data, options, seed, BLOCK, &p));
    return p;
}

static size_t positives_of(const tally *t, size_t c)
{
    size_t n = 0;
    for (size_t i = 0; i < t->rows; ++i)
        n += t->y[i * t->classes + c] > 0;
    return n;
}

/* Passes with fresh learners: every positive once, and of the negatives as many as wanted, each at most once. */
static void check_one_pass(const tally *t, const tnp_online_options *options, size_t pass, double ratio, float *seen)
{
    tnp_online_data data = tally_data(t);
    tnp_passes *p = passes_of(&data, options, 3);
    tnp_online *o = learner_of(STEP, TNP_OVR, t->classes, t->rows);
    size_t pairs = 0;
    assert_fine(test_ctx, tnp_passes_run(test_ctx, p, pass, &o, 1));
    for (size_t c = 0; c < t->classes; ++c) {
        const float *mu = o->mu + c * o->width;
        size_t positives = positives_of(t, c), negatives = 0;
        double wanted = fmin((double)(t->rows - positives), ceil(ratio * (double)positives));
        for (size_t i = 0; i < t->rows; ++i) {
            bool positive = t->y[i * t->classes + c] > 0;
            seen[c * t->rows + i] = mu[i];
            assert_true((double)mu[i] == (positive ? STEP : -STEP) || (mu[i] == 0 && !positive));
            negatives += mu[i] < 0;
        }
        assert_true((double)negatives == wanted);
        assert_true((double)mu[t->rows] == STEP * ((double)positives - wanted));
        pairs += positives + negatives;
    }
    assert_int_equal(o->updates, pairs);
    assert_int_equal(o->seen, t->rows);
    tnp_online_free(o);
    tnp_passes_free(p);
}

static void negatives_are_counted_and_redrawn(void **state)
{
    (void)state;
    static const double ratios[] = {0, 0.3, 1, 2.5, 100};
    for (int multilabel = 0; multilabel < 2; ++multilabel) {
        tally t = tally_of(ROWS, CLASSES, multilabel, AS_F32);
        float a[ROWS * CLASSES], b[ROWS * CLASSES];
        tnp_online_options all = online_options_of(TNP_ONLINE_U_OVR), even = online_options_of(TNP_ONLINE_E_OVR);
        check_one_pass(&t, &all, 0, 1e9, a);
        check_one_pass(&t, &even, 0, 1, a);
        check_one_pass(&t, &even, 1, 1, b);
        assert_memory_not_equal(a, b, sizeof a);
        check_one_pass(&t, &even, 0, 1, b);
        assert_memory_equal(a, b, sizeof a);
        for (size_t r = 0; r < sizeof ratios / sizeof *ratios; ++r) {
            tnp_online_options some = online_options_of(TNP_ONLINE_W_OVR);
            some.ratio = ratios[r];
            check_one_pass(&t, &some, 2, ratios[r], a);
        }
        tally_free(&t);
    }
}

/* Over 400 passes every negative of class 0 is drawn about equally often: 8 of 53 a pass, mean 60, deviation 7.2; six
 * of them. */
static void negatives_are_drawn_evenly(void **state)
{
    (void)state;
    enum { PASSES = 400 };
    tally t = tally_of(ROWS, CLASSES, false, AS_F32);
    tnp_online_data data = tally_data(&t);
    tnp_online_options even = online_options_of(TNP_ONLINE_E_OVR);
    tnp_passes *p = passes_of(&data, &even, 5);
    tnp_online *o = learner_of(STEP / 1024, TNP_OVR, CLASSES, ROWS);
    double few = (double)positives_of(&t, 0), share = few / (ROWS - few);
    for (size_t pass = 0; pass < PASSES; ++pass)
        assert_fine(test_ctx, tnp_passes_run(test_ctx, p, pass, &o, 1));
    for (size_t i = 0; i < ROWS; ++i) {
        double times = fabs((double)o->mu[i]) / (STEP / 1024);
        if (t.y[i * CLASSES] > 0)
            assert_true(times == PASSES);
        else
            assert_true(fabs(times - PASSES * share) < 6 * sqrt(PASSES * share * (1 - share)));
    }
    tnp_online_free(o);
    tnp_passes_free(p);
    tally_free(&t);
}

/* Side by side or alone, with one left out or not: the same bytes; and twice the C is twice the weights. */
static void all_learners_see_the_same(void **state)
{
    (void)state;
    for (int multiclass = TNP_ONLINE_MUL; multiclass <= TNP_ONLINE_W_OVR; ++multiclass) {
        tally t = tally_of(ROWS, CLASSES, false, AS_F32);
        tnp_online_data data = tally_data(&t);
        tnp_online_options options = online_options_of(multiclass);
        tnp_online_scheme scheme = multiclass == TNP_ONLINE_MUL ? TNP_MUL : TNP_OVR;
        tnp_passes *p = passes_of(&data, &options, 9);
        tnp_online *alone = learner_of(STEP, scheme, CLASSES, ROWS), *group[3];
        for (size_t i = 0; i < 3; ++i)
            group[i] = learner_of(i == 2 ? 2 * STEP : STEP, scheme, CLASSES, ROWS);
        for (size_t pass = 0; pass < 3; ++pass) {
            tnp_online *const some[] = {group[0], pass == 1 ? NULL : group[1], group[2]};
            assert_fine(test_ctx, tnp_passes_run(test_ctx, p, pass, some, 3));
            assert_fine(test_ctx, tnp_passes_run(test_ctx, p, pass, &alone, 1));
        }
        size_t size = CLASSES * alone->width;
        assert_memory_equal(group[0]->mu, alone->mu, size * sizeof *alone->mu);
        for (size_t i = 0; i < size; ++i)
            assert_true(group[2]->mu[i] == 2 * alone->mu[i]);
        assert_int_equal(group[1]->seen, 2 * ROWS);
        assert_int_equal(group[0]->updates, alone->updates);
        tnp_online_free(alone);
        for (size_t i = 0; i < 3; ++i)
            tnp_online_free(group[i]);
        tnp_passes_free(p);
        tally_free(&t);
    }
}

/* Weights multiply C: 0 hides a row. */
static void weights_of_rows(void **state)
{
    (void)state;
    tally t = tally_of(ROWS, CLASSES, false, AS_F32);
    float weight[ROWS];
    for (size_t i = 0; i < ROWS; ++i)
        weight[i] = (float)(i % 3);
    tnp_online_data data = tally_data(&t);
    data.weight = weight;
    tnp_online_options options = online_options_of(TNP_ONLINE_U_OVR);
    tnp_passes *p = passes_of(&data, &options, 1);
    tnp_online *o = learner_of(STEP, TNP_OVR, CLASSES, ROWS);
    assert_fine(test_ctx, tnp_passes_run(test_ctx, p, 0, &o, 1));
    for (size_t c = 0; c < CLASSES; ++c)
        for (size_t i = 0; i < ROWS; ++i)
            assert_true((double)o->mu[c * o->width + i] ==
                        STEP * (double)(i % 3) * (t.y[i * CLASSES + c] > 0 ? 1 : -1));
    tnp_online_free(o);
    tnp_passes_free(p);
    tally_free(&t);
}

/* ---- files ---- */

/* Weights after two passes of PA-I, MUL over these feeds. Owned by the test. */
static float *learned(const tn_feed *const *feeds, size_t count, const tnp_targets *y, bool shuffle, size_t dim)
{
    const tnp_online_data data = {feeds, count, y, NULL, false, NULL};
    tnp_online_options options = online_options_of(TNP_ONLINE_MUL);
    tnp_rule rule = tnp_rule_new(TNP_PA, 0.5, 0.9);
    tnp_online_shape shape = {TNP_MUL, true, true, y->classes, dim, BLOCK};
    tnp_online *o = NULL;
    options.shuffle = shuffle;
    tnp_passes *p = passes_of(&data, &options, 2);
    assert_fine(test_ctx, tnp_online_new(test_ctx, &rule, &shape, &o));
    for (size_t pass = 0; pass < 2; ++pass)
        assert_fine(test_ctx, tnp_passes_run(test_ctx, p, pass, &o, 1));
    float *w = ref_alloc(y->classes * o->width, sizeof *w);
    tnp_online_weights(o, w);
    tnp_online_free(o);
    tnp_passes_free(p);
    return w;
}

/* Whole numbers that every type holds: as f32, as each other type, and as two feeds side by side. */
static void types_and_several_feeds(void **state)
{
    (void)state;
    enum { D = 21, LEFT = 8, N = 40 };
    static const stored types[] = {AS_F32, AS_F16, AS_I8, AS_F64};
    ref_problem q = ref_problem_of(REF_SIGNED, N, D, CLASSES, 4);
    double left[N * LEFT], right[N * (D - LEFT)];
    for (size_t i = 0; i < N * D; ++i) {
        q.x[i] = fmax(-100, fmin(100, round(20 * q.x[i])));
        if (i % D < LEFT)
            left[i / D * LEFT + i % D] = q.x[i];
        else
            right[i / D * (D - LEFT) + i % D - LEFT] = q.x[i];
    }
    tn_labels *labels = labels_of(q.y, N, CLASSES, TN_TASK_MULTICLASS);
    tnp_targets y = targets_of(labels);
    size_t whole = CLASSES * tnp_row_stride(D + 1) * sizeof(float);
    float *want = NULL;
    for (int kind = TN_NORM_L2; kind <= TN_NORM_NONE; kind += TN_NORM_NONE - TN_NORM_L2) {
        for (size_t i = 0; i < sizeof types / sizeof *types; ++i) {
            tn_features *features = array_of("x", q.x, N, D, types[i]);
            tn_feed *feed = feed_of(features, (tn_normalize)kind);
            float *w = learned((const tn_feed *const *)&feed, 1, &y, true, D);
            if (want)
                assert_memory_equal(w, want, whole);
            free(i == 0 ? NULL : w);
            want = i == 0 ? w : want;
            tn_feed_free(feed);
            tn_features_close(features);
        }
        tn_features *a = array_of("a", left, N, LEFT, AS_F16), *b = array_of("b", right, N, D - LEFT, AS_I8);
        tn_feed *both[] = {feed_of(a, (tn_normalize)kind), feed_of(b, (tn_normalize)kind)};
        float *w = learned((const tn_feed *const *)both, 2, &y, true, D);
        assert_true((memcmp(w, want, whole) == 0) == (kind == TN_NORM_NONE)); /* each feed has its own norm */
        free(w);
        free(want);
        want = NULL;
        for (size_t i = 0; i < 2; ++i)
            tn_feed_free(both[i]);
        tn_features_close(a);
        tn_features_close(b);
    }
    labels_done(labels);
    ref_problem_free(&q);
}

/* Without shuffling, passes are blocks in file order: the same bytes as updates by hand; with it, others. */
static void file_order_is_blocks_in_order(void **state)
{
    (void)state;
    tally t = tally_of(ROWS, CLASSES, false, AS_F32);
    tnp_rule rule = tnp_rule_new(TNP_PA, 0.5, 0.9);
    tnp_online_shape shape = {TNP_MUL, true, true, CLASSES, ROWS, BLOCK};
    tnp_online *o = NULL;
    float x[ROWS * ROWS];
    for (size_t i = 0; i < ROWS * ROWS; ++i)
        x[i] = (float)t.x[i];
    assert_fine(test_ctx, tnp_online_new(test_ctx, &rule, &shape, &o));
    for (size_t pass = 0; pass < 2; ++pass)
        for (size_t start = 0; start < ROWS; start += BLOCK) {
            size_t n = tnp_min(BLOCK, ROWS - start);
            const tnp_samples in = {n, x + start * ROWS, t.targets.first + start, t.targets.cls, NULL, NULL, NULL};
            tnp_online_update(test_ctx, o, &in);
        }
    size_t whole = CLASSES * o->width * sizeof(float);
    float *want = ref_alloc(whole, 1), *got = learned((const tn_feed *const *)&t.feed, 1, &t.targets, false, ROWS),
          *mixed = learned((const tn_feed *const *)&t.feed, 1, &t.targets, true, ROWS);
    tnp_online_weights(o, want);
    assert_memory_equal(got, want, whole);
    assert_memory_not_equal(mixed, want, whole);
    free(want);
    free(got);
    free(mixed);
    tnp_online_free(o);
    tally_free(&t);
}

/* 258 rows of 1 MB, nearly all of it a hole in the file (doubles, for they are the fewest values): longer than a
 * stretch, so that runs are drawn and the system is advised. Row i has a 1 in column i. */
static void a_file_longer_than_a_stretch(void **state)
{
    (void)state;
    enum { LONG = 258, WIDE = 1 << 17 };
    const double one = 1;
    bytes head = {.n = 0};
    size_t first[LONG + 1];
    uint32_t cls[LONG];
    put_npy(&head, "<f8", false, "(258, 131072)");
    const char *path = write_bytes("long.npy", &head);
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    for (size_t i = 0; i < LONG; ++i) {
        assert_int_equal(fseek(file, (long)(head.n + (i * WIDE + i) * sizeof one), SEEK_SET), 0);
        assert_int_equal(fwrite(&one, sizeof one, 1, file), 1);
        first[i] = i;
        cls[i] = i % 2;
    }
    first[LONG] = LONG;
    assert_int_equal(fclose(file), 0);
    assert_int_equal(truncate(path, (off_t)(head.n + (size_t)LONG * WIDE * sizeof one)), 0);
    tn_features *features = open_features(path);
    tn_feed *feed = feed_of(features, TN_NORM_NONE);
    const tnp_targets y = {.rows = LONG, .classes = 2, .first = first, .cls = cls};
    const tnp_online_data data = {(const tn_feed *const *)&feed, 1, &y, NULL, false, NULL};
    tnp_online_options options = online_options_of(TNP_ONLINE_U_OVR);
    tnp_passes *p = passes_of(&data, &options, 4);
    tnp_online *o = learner_of(STEP, TNP_OVR, 2, WIDE);
    assert_fine(test_ctx, tnp_passes_run(test_ctx, p, 0, &o, 1));
    for (size_t c = 0; c < 2; ++c) {
        for (size_t i = 0; i < LONG; ++i)
            assert_true((double)o->mu[c * o->width + i] == (i % 2 == c ? STEP : -STEP));
        assert_true(o->mu[c * o->width + WIDE] == 0);
    }
    tnp_online_free(o);
    tnp_passes_free(p);
    tn_feed_free(feed);
    tn_features_close(features);
    unlink(path);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    tally t = tally_of(ROWS, CLASSES, false, AS_F16);
    tnp_online_data data = tally_data(&t);
    tnp_online_options even = online_options_of(TNP_ONLINE_E_OVR);
    tnp_online *o = learner_of(STEP, TNP_OVR, CLASSES, ROWS);
    size_t before = tnp_live_blocks(test_ctx), k = 1;
    for (;; ++k) {
        tnp_passes *p = NULL;
        tnp_fail_allocation(test_ctx, k);
        tn_status st = tnp_passes_new(test_ctx, &data, &even, 0, BLOCK, &p);
        if (st == TN_OK)
            st = tnp_passes_run(test_ctx, p, 0, &o, 1);
        tnp_fail_allocation(test_ctx, 0);
        tnp_passes_free(p);
        assert_int_equal(tnp_live_blocks(test_ctx), before);
        if (st == TN_OK)
            break;
        assert_int_equal(st, TN_ERR_MEMORY);
    }
    assert_true(k > 8);
    tnp_online_free(o);
    tally_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(negatives_are_counted_and_redrawn), cmocka_unit_test(negatives_are_drawn_evenly),
        cmocka_unit_test(all_learners_see_the_same),         cmocka_unit_test(weights_of_rows),
        cmocka_unit_test(types_and_several_feeds),           cmocka_unit_test(file_order_is_blocks_in_order),
        cmocka_unit_test(a_file_longer_than_a_stretch),      cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
