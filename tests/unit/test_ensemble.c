/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The evidence of every set of four representations, from moments read once, against that of the matrix with their
 * columns side by side; where sets are all primal, all dual, and both.
 *
 * Tolerances. F is a sum over K classes of about N logarithms of numbers with a relative error e, so that it is off by
 * up to N K e, whatever its own size, which may be near zero: e = 1e-9 for double files, 1e-6 for float ones, whose
 * products are rounded at 2^-24 a block. */
#include "fixtures/problems.h"
#include "read/features.h"
#include "ref_evidence.h"
#include "select/ensemble.h"
#include "select/evidence.h"

#include <stdlib.h>

enum { FEEDS = 4, K = 3 };

typedef struct quartet {
    size_t n, cols[FEEDS];
    double *x[FEEDS]; /* as the features hold them */
    double *y;
    tn_labels *labels;
    tnp_targets targets;
    tn_features *features[FEEDS];
    tn_feed *feed[FEEDS];
} quartet;

static quartet quartet_of(size_t n, const size_t *cols, stored as)
{
    quartet q = {.n = n};
    for (size_t f = 0; f < FEEDS; ++f) {
        ref_problem p = ref_problem_of((ref_kind)(f % 2 ? REF_SIGNED : REF_NONNEG), n, cols[f], K, 7);
        ref_rng rng = ref_rng_of(50 + f);
        for (size_t i = 0; i < n * cols[f]; ++i)
            p.x[i] += 0.3 * ref_normal(&rng);
        char name[8];
        snprintf(name, sizeof name, "r%zu", f);
        q.features[f] = features_of(name, p.x, n, cols[f], as);
        q.feed[f] = feed_of(q.features[f], TN_NORM_NONE);
        q.cols[f] = cols[f];
        q.x[f] = p.x;
        free(q.y);
        q.y = p.y;
    }
    q.labels = labels_of(q.y, n, K, TN_TASK_MULTICLASS);
    q.targets = targets_of(q.labels);
    return q;
}

static void quartet_free(quartet *q)
{
    for (size_t f = 0; f < FEEDS; ++f) {
        tn_feed_free(q->feed[f]);
        tn_features_close(q->features[f]);
        free(q->x[f]);
    }
    labels_done(q->labels);
    free(q->y);
}

static ref_problem joined(const quartet *q, const size_t *members, size_t count)
{
    ref_problem p = {q->n, 0, K, NULL, q->y};
    for (size_t m = 0; m < count; ++m) {
        double *grown = beside(p.x, p.d, q->x[members[m]], q->cols[members[m]], q->n);
        free(p.x);
        p.x = grown;
        p.d += q->cols[members[m]];
    }
    return p;
}

/* The same sum as below where the spectrum spans more than squares in long double do. */
static double exact(const quartet *q, const size_t *members, size_t count)
{
    ref_problem p = joined(q, members, count);
    ref_eigen e = ref_eigen_exact(&p, NULL, true);
    ref_real sum = 0, at = 0;
    for (size_t c = 0; c < K; ++c) {
        ref_real best = ref_best(&e, c, 1e-34L * e.largest, 1e6L * e.largest, 481, &at), null = ref_f(&e, c, INFINITY);
        sum += best > null ? best : null;
    }
    ref_eigen_free(&e);
    free(p.x);
    return (double)sum;
}

/* Sum over classes of the best evidence of the concatenated columns, the null model included. */
static double oracle(const quartet *q, const size_t *members, size_t count, bool intercept)
{
    ref_problem p = joined(q, members, count);
    ref_real sum = 0, at = 0;
    ref_eigen e = ref_eigen_of(&p, intercept);
    for (size_t c = 0; c < K; ++c) {
        ref_real best = ref_best(&e, c, 1e-12L * e.largest, 1e6L * e.largest, 241, &at), null = ref_f(&e, c, INFINITY);
        sum += best > null ? best : null;
    }
    ref_eigen_free(&e);
    free(p.x);
    return (double)sum;
}

static tn_status evidence_of(const quartet *q, tnp_ensemble *e, const size_t *members, size_t count, bool intercept,
                             double *out)
{
    tn_status st = TN_OK;
    tnp_ridge *ridge = NULL;
    tn_evidence *v = NULL;
    tnp_evidence_options opt;
    const bool constant[K] = {false};
    size_t dim = 0;
    tnp_evidence_options_default(&opt);
    opt.intercept = intercept;
    for (size_t m = 0; m < count; ++m)
        dim += q->cols[members[m]];
    TN_TRY(tnp_ensemble_ridge(test_ctx, e, members, count, &ridge));
    assert_int_equal(ridge->dim, dim);
    assert_int_equal(ridge->spectrum->dual, dim + (intercept ? 1 : 0) >= q->n);
    TN_TRY(tnp_evidence_new(test_ctx, ridge->spectrum, ridge->rows, ridge->dim, constant, &opt, &v));
    *out = v->log_evidence;
done:
    tn_evidence_free(v);
    tnp_ridge_free(ridge);
    return st;
}

static void check_sets(size_t n, const size_t *cols, stored as, bool intercept, double tolerance)
{
    quartet q = quartet_of(n, cols, as);
    tnp_ensemble *e = NULL;
    assert_fine(test_ctx,
                tnp_ensemble_new(test_ctx, (const tn_feed *const *)q.feed, FEEDS, &q.targets, intercept, true, &e));
    for (size_t mask = 1; mask < 1 << FEEDS; ++mask) {
        size_t members[FEEDS], count = 0;
        double got = 0;
        for (size_t f = 0; f < FEEDS; ++f)
            if (mask >> f & 1)
                members[count++] = f;
        assert_fine(test_ctx, evidence_of(&q, e, members, count, intercept, &got));
        double scale = (double)(n * K);
        assert_near_at(mask, got / scale, oracle(&q, members, count, intercept) / scale, tolerance);
    }
    tnp_ensemble_free(e);
    quartet_free(&q);
}

/* Every set with as many digits as it needs, against one-sided Jacobi: a common direction of spread 1000 in one member, a
 * column a million times the others in another, members of a millionth of the size of the rest. */
static void sets_that_float_moments_do_not_hold(void **state)
{
    (void)state;
    const size_t cols[][FEEDS] = {{3, 5, 4, 6}, {12, 15, 20, 11}, {5, 30, 4, 7}};
    const size_t rows[] = {60, 14, 30};
    const bool constant[K] = {false};
    tnp_evidence_options opt;
    tnp_evidence_options_default(&opt);
    for (size_t z = 0; z < 3; ++z) {
        quartet q = quartet_of(rows[z], cols[z], AS_F64);
        ref_rng rng = ref_rng_of(9);
        for (size_t f = 0; f < FEEDS; ++f) {
            tn_feed_free(q.feed[f]);
            tn_features_close(q.features[f]);
            for (size_t i = 0; i < q.n; ++i) {
                double along = 1000 * ref_normal(&rng);
                for (size_t j = 0; j < q.cols[f]; ++j) {
                    double *x = &q.x[f][i * q.cols[f] + j];
                    *x = f == 0 ? *x + along : f == 1 && j == 0 ? *x * 1e6 : f == 2 ? *x * 1e-6 : *x;
                }
            }
            char name[8];
            snprintf(name, sizeof name, "q%zu", f);
            q.features[f] = features_of(name, q.x[f], q.n, q.cols[f], AS_F32);
            q.feed[f] = feed_of(q.features[f], TN_NORM_NONE);
        }
        tnp_ensemble *e = NULL;
        assert_fine(test_ctx,
                    tnp_ensemble_new(test_ctx, (const tn_feed *const *)q.feed, FEEDS, &q.targets, true, true, &e));
        for (size_t mask = 1; mask < 1 << FEEDS; ++mask) {
            size_t members[FEEDS], count = 0;
            tnp_ridge *ridge = NULL;
            tn_evidence *v = NULL;
            for (size_t f = 0; f < FEEDS; ++f)
                if (mask >> f & 1)
                    members[count++] = f;
            assert_fine(test_ctx, tnp_ensemble_evidence(test_ctx, e, members, count, constant, &opt, &ridge, &v));
            double want = exact(&q, members, count);
            assert_near_at(mask, v->log_evidence / want, 1, 1e-6);
            assert_true(v->error <= 1e-6);
            tnp_ridge_free(ridge);
            tn_evidence_free(v);
        }
        tnp_ensemble_free(e);
        quartet_free(&q);
    }
}

static const size_t small[FEEDS] = {3, 5, 7, 9}, large[FEEDS] = {12, 15, 20, 11}, mixed[FEEDS] = {5, 30, 9, 12};

static void every_set_in_every_regime(void **state)
{
    (void)state;
    for (int intercept = 0; intercept < 2; ++intercept) {
        check_sets(50, small, AS_F64, intercept != 0, 1e-9);
        check_sets(11, large, AS_F64, intercept != 0, 1e-9);
        check_sets(25, mixed, AS_F64, intercept != 0, 1e-9);
        check_sets(50, small, AS_F32, intercept != 0, 1e-6);
        check_sets(11, large, AS_F32, intercept != 0, 1e-6);
        check_sets(25, mixed, AS_F32, intercept != 0, 1e-6);
    }
}

/* Blocks of several hundred rows, all narrow. */
static void many_rows(void **state)
{
    (void)state;
    check_sets(700, small, AS_F64, true, 1e-9);
    check_sets(700, small, AS_F32, true, 1e-6);
}

typedef struct watch {
    size_t tellings, calls;
} watch;

/* Rows of one block or band: reading is told of at its beginning and at its end. */
static void watch_reading(void *user, const char *stage, double share)
{
    watch *w = user;
    (void)share;
    ++w->calls;
    w->tellings += strcmp(stage, "reading") == 0;
}

/* One pass for all narrow ones together and one for each that needs products; none for the sets afterwards. */
static void files_are_read_before_the_search_only(void **state)
{
    (void)state;
    const size_t rows[] = {50, 11, 25}, *dims[] = {small, large, mixed}, passes[] = {1, FEEDS, 1 + FEEDS};
    for (size_t r = 0; r < 3; ++r) {
        quartet q = quartet_of(rows[r], dims[r], AS_F32);
        watch w = {0, 0};
        tnp_ensemble *e = NULL;
        tn_ctx_set_progress(test_ctx, watch_reading, &w);
        assert_fine(test_ctx,
                    tnp_ensemble_new(test_ctx, (const tn_feed *const *)q.feed, FEEDS, &q.targets, true, true, &e));
        assert_int_equal(w.tellings, 2 * passes[r]);
        for (size_t f = 0; f < FEEDS; ++f) /* all NaN: a reader that asked again would refuse them */
            memset((void *)(uintptr_t)q.features[f]->parts[0].base, 0xff, q.n * q.cols[f] * sizeof(float));
        for (size_t f = 0; f + 1 < FEEDS; ++f) {
            const size_t members[2] = {f, f + 1};
            double got = 0;
            assert_fine(test_ctx, evidence_of(&q, e, members, 2, true, &got));
        }
        assert_int_equal(w.tellings, 2 * passes[r]);
        tn_ctx_set_progress(test_ctx, NULL, NULL);
        tnp_ensemble_free(e);
        quartet_free(&q);
    }
}

/* The evidence of the last candidates by themselves, or of the last f = 4, 3, 2 and 1 together. */
static void last_sets(const quartet *q, tnp_ensemble *e, bool sets, double out[FEEDS])
{
    const size_t all[FEEDS] = {0, 1, 2, 3};
    for (size_t f = 0; f < FEEDS; ++f)
        assert_fine(test_ctx, evidence_of(q, e, all + f, sets ? FEEDS - f : 1, true, &out[f]));
}

/* The least budget that is accepted is enough for the work, with the same figures, also where row products are made again
 * for every set; one byte less is refused before anything is read. */
static void check_budget(size_t n, const size_t *cols, stored as, bool sets)
{
    quartet q = quartet_of(n, cols, as);
    const tn_feed *const *feeds = (const tn_feed *const *)q.feed;
    size_t now = tn_ctx_memory_now(test_ctx), low = now + 1, high = now + ((size_t)64 << 20);
    tnp_ensemble *e = NULL;
    watch w = {0, 0};
    double got[FEEDS], want[FEEDS];
    assert_fine(test_ctx, tnp_ensemble_new(test_ctx, feeds, FEEDS, &q.targets, true, sets, &e));
    last_sets(&q, e, sets, want);
    tnp_ensemble_free(e);
    e = NULL;
    tn_ctx_set_progress(test_ctx, watch_reading, &w);
    while (low < high) {
        size_t middle = low + (high - low) / 2, before = w.calls, blocks = tnp_live_blocks(test_ctx);
        tn_ctx_set_memory(test_ctx, middle);
        tn_status st = tnp_ensemble_new(test_ctx, feeds, FEEDS, &q.targets, true, sets, &e);
        if (st == TN_OK) {
            tnp_ensemble_free(e);
            high = middle;
        } else {
            assert_int_equal(st, TN_ERR_BUDGET);
            assert_int_equal(w.calls, before);
            low = middle + 1;
        }
        e = NULL;
        assert_int_equal(tnp_live_blocks(test_ctx), blocks);
    }
    tn_ctx_set_memory(test_ctx, high);
    assert_fine(test_ctx, tnp_ensemble_new(test_ctx, feeds, FEEDS, &q.targets, true, sets, &e));
    last_sets(&q, e, sets, got);
    for (size_t f = 0; f < FEEDS; ++f)
        assert_true(got[f] == want[f]);
    tn_ctx_set_memory(test_ctx, 0);
    tn_ctx_set_progress(test_ctx, NULL, NULL);
    tnp_ensemble_free(e);
    quartet_free(&q);
}

static void a_budget_is_refused_before_reading_or_kept(void **state)
{
    (void)state;
    const size_t wide[FEEDS] = {100, 300, 150, 120};
    for (int sets = 0; sets < 2; ++sets) {
        check_budget(700, wide, AS_F32, sets != 0);
        check_budget(700, wide, AS_F64, sets != 0);
        check_budget(200, wide, AS_F32, sets != 0);
        check_budget(90, wide, AS_F64, sets != 0);
    }
}

/* Measures a set and gives it to the ensemble; returns its problem, only to be compared. */
static const tnp_ridge *measure_and_keep(tnp_ensemble *e, const size_t *members, size_t count, double *value)
{
    tnp_evidence_options opt;
    tnp_ridge *ridge = NULL;
    tn_evidence *v = NULL;
    const bool constant[K] = {false};
    tnp_evidence_options_default(&opt);
    assert_fine(test_ctx, tnp_ensemble_evidence(test_ctx, e, members, count, constant, &opt, &ridge, &v));
    *value = v->log_evidence;
    assert_fine(test_ctx, tnp_ensemble_keep(test_ctx, e, members, count, ridge, v));
    return ridge;
}

/* The best set comes back as it was, once; a worse one is measured again; nothing comes back after the moments changed or
 * where the next problem needs the memory. */
static void the_best_set_is_kept(void **state)
{
    (void)state;
    quartet q = quartet_of(120, mixed, AS_F32);
    tnp_ensemble *e = NULL;
    const tnp_ridge *ridge[2];
    tnp_ridge *back = NULL;
    tn_evidence *v = NULL;
    double value[2];
    const size_t sets[2][2] = {{0, 1}, {1, 2}};
    assert_fine(test_ctx,
                tnp_ensemble_new(test_ctx, (const tn_feed *const *)q.feed, FEEDS, &q.targets, true, true, &e));
    for (size_t i = 0; i < 2; ++i)
        ridge[i] = measure_and_keep(e, sets[i], 2, &value[i]);
    size_t best = value[1] > value[0] ? 1 : 0;
    assert_false(tnp_ensemble_take(test_ctx, e, sets[1 - best], 2, &back, &v));
    assert_false(tnp_ensemble_take(test_ctx, e, sets[best], 1, &back, &v));
    assert_true(tnp_ensemble_take(test_ctx, e, sets[best], 2, &back, &v));
    assert_ptr_equal(back, ridge[best]);
    assert_true(v->log_evidence == value[best]);
    assert_fine(test_ctx, tnp_ensemble_keep(test_ctx, e, sets[best], 2, back, v));
    tn_ctx_set_memory(test_ctx, tn_ctx_memory_now(test_ctx) + 1);
    assert_false(tnp_ensemble_take(test_ctx, e, sets[1 - best], 2, &back, &v));
    tn_ctx_set_memory(test_ctx, 0);
    assert_false(tnp_ensemble_take(test_ctx, e, sets[best], 2, &back, &v));
    (void)measure_and_keep(e, sets[best], 2, &value[0]);
    assert_fine(test_ctx, tnp_ensemble_widen(test_ctx, e));
    assert_false(tnp_ensemble_take(test_ctx, e, sets[best], 2, &back, &v));
    tnp_ensemble_free(e);
    quartet_free(&q);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    quartet q = quartet_of(25, mixed, AS_F32);
    size_t blocks = tnp_live_blocks(test_ctx), k = 1;
    for (;; ++k) {
        const size_t members[2] = {1, 3};
        double got = -1;
        tnp_ensemble *e = NULL;
        tnp_fail_allocation(test_ctx, k);
        tn_status st = tnp_ensemble_new(test_ctx, (const tn_feed *const *)q.feed, FEEDS, &q.targets, true, true, &e);
        assert_true(st == TN_OK || e == NULL);
        if (st == TN_OK)
            st = evidence_of(&q, e, members, 2, true, &got);
        tnp_fail_allocation(test_ctx, 0);
        tnp_ensemble_free(e);
        assert_int_equal(tnp_live_blocks(test_ctx), blocks);
        if (st == TN_OK)
            break;
        assert_int_equal(st, TN_ERR_MEMORY);
    }
    assert_true(k > 30);
    quartet_free(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_set_in_every_regime),
        cmocka_unit_test(sets_that_float_moments_do_not_hold),
        cmocka_unit_test(many_rows),
        cmocka_unit_test(files_are_read_before_the_search_only),
        cmocka_unit_test(a_budget_is_refused_before_reading_or_kept),
        cmocka_unit_test(the_best_set_is_kept),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
