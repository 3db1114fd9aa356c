/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Details of metrics by hand, the same for every number of threads, and with allocations that fail. What scikit-learn
 * says of random problems is in tests/metrics/run. */
#include "evaluate/details.h"
#include "metrics_set.h"
#include "tenon/report.h"

static tn_metrics *measure(tn_ctx *ctx, const set *s, const double *thresholds, size_t resamples)
{
    tn_metrics *m = NULL;
    const double half[] = {0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5};
    assert_fine(ctx, tn_metrics_compute_at(ctx, view_of(s), &s->labels, thresholds ? thresholds : half, &m));
    assert_fine(ctx, tn_metrics_detail(ctx, m, view_of(s), &s->labels, thresholds ? thresholds : half, resamples, 7));
    return m;
}

/* Rows of classes 0 0 0 1 1 2, decided 0 0 1 1 0 1: class 2 is never decided. One row is unlabelled. */
static set six_rows(void)
{
    const float s[] = {2, 1, 0, 2, 0, 1, 0, 2, 1, 0, 2, 1, 2, 2, 0, 1, 2, 0, 9, 9, 9};
    const int y[] = {0, 0, 0, 1, 1, 2, -1};
    return set_of(7, 3, s, y);
}

static void confusion_by_hand(void **state)
{
    set s = six_rows();
    tn_metrics *m = measure(*state, &s, NULL, 50);
    const tn_details *d = m->details;
    const tnp_cell want[] = {{0, 0, 2}, {0, 1, 1}, {1, 0, 1}, {1, 1, 1}, {2, 1, 1}};
    assert_int_equal(d->cell_count, 5);
    for (size_t i = 0; i < 5; ++i) {
        assert_int_equal(d->cells[i].truth, want[i].truth);
        assert_int_equal(d->cells[i].predicted, want[i].predicted);
        assert_int_equal(d->cells[i].count, want[i].count);
    }
    /* precision 2/3, 1/3, none; recall 2/3, 1/2, 0; f1 4/6, 2/5, 0 */
    assert_near(tnp_prf_of(&d->tallies[0]).precision, 2.0 / 3, TOLERANCE);
    assert_near(tnp_prf_of(&d->tallies[1]).f1, 0.4, TOLERANCE);
    assert_true(isnan(tnp_prf_of(&d->tallies[2]).precision));
    assert_near(d->macro.precision, 1.0 / 3, TOLERANCE);
    assert_near(d->macro.f1, (2.0 / 3 + 0.4) / 3, TOLERANCE);
    assert_near(d->micro.f1, 0.5, TOLERANCE);
    /* places of the true class: 0 0 2 0 1 2 */
    assert_int_equal(d->top_count, 3);
    assert_near(d->top[0], 0.5, TOLERANCE);
    assert_near(d->top[1], 4.0 / 6, TOLERANCE);
    assert_near(d->top[2], 1, TOLERANCE);
    tn_metrics_free(m);
    set_free(&s);
}

static void wilson_has_width_at_the_ends(void **state)
{
    (void)state;
    /* No hit among n: from 0 to z^2 / (n + z^2). */
    const double z2 = 1.959963984540054 * 1.959963984540054;
    assert_near(tnp_wilson(0, 10).low, 0, 1e-15);
    assert_near(tnp_wilson(0, 10).high, z2 / (10 + z2), 1e-15);
    assert_near(tnp_wilson(10, 10).low, 10 / (10 + z2), 1e-15);
    assert_near(tnp_wilson(10, 10).high, 1, 1e-15);
    assert_true(isnan(tnp_wilson(0, 0).low));
}

static void curves_by_hand(void **state)
{
    /* Class 1 against 0: positives 4, 2, negatives 3, 2, 1: (0, .5) after the first, then x = 1/3, then a slope of the
     * tie from (1/3, .5) to (2/3, 1). Precisions 1 at recall 1/2, 2/4 at 1. */
    const float s[] = {0, 4, 0, 2, 0, 3, 0, 2, 0, 1};
    const int y[] = {1, 1, 0, 0, 0};
    set q = set_of(5, 2, s, y);
    tn_metrics *m = measure(*state, &q, NULL, 0);
    const double *roc = m->details->roc + TNP_POINTS, *pr = m->details->pr + TNP_POINTS;
    assert_near(roc[0], 0.5, TOLERANCE);
    assert_near(roc[13], 0.5, TOLERANCE);
    assert_near(roc[20], 0.5 + 0.5 * (0.5 - 1.0 / 3) * 3, TOLERANCE);
    assert_near(roc[27], 1, TOLERANCE);
    assert_near(pr[0], 1, TOLERANCE);
    assert_near(pr[20], 1, TOLERANCE);
    assert_near(pr[21], 0.5, TOLERANCE);
    assert_near(pr[40], 0.5, TOLERANCE);
    tn_metrics_free(m);
    set_free(&q);
}

static void residuals_by_hand(void **state)
{
    set s = set_new(TN_TASK_REGRESSION, 4, 1, 1);
    const double y[] = {1, 2, 3, 10};
    const float p[] = {0, 2, 4, 7};
    memcpy(s.labels.values, y, sizeof y);
    memcpy(s.scores, p, sizeof p);
    tn_metrics *m = measure(*state, &s, NULL, 10);
    const tnp_residuals *r = m->details->residuals; /* -1 0 1 3 */
    assert_near(r->mean, 0.75, TOLERANCE);
    assert_near(r->mean_absolute, 1.25, TOLERANCE);
    assert_near(r->quantiles[3], 0.5, TOLERANCE);
    assert_int_equal(r->bars[0], 1);
    assert_int_equal(r->bars[6], 1);
    assert_int_equal(r->bars[12], 1);
    assert_int_equal(r->bars[TNP_HIST - 1], 1);
    tn_metrics_free(m);
    set_free(&s);
}

/* Many rows of four labels, and of eight classes, with few distinct scores. */
static set many(tn_task task)
{
    size_t rows = 900, classes = task == TN_TASK_MULTICLASS ? 8 : 4;
    set s = set_new(task, rows, classes, classes);
    bool *truth = array_of(rows * classes, sizeof *truth);
    for (size_t i = 0; i < rows; ++i)
        for (size_t c = 0; c < classes; ++c) {
            truth[i * classes + c] = task == TN_TASK_MULTICLASS ? i % classes == c : (i * (c + 3)) % 5 == 0;
            s.scores[i * classes + c] = (float)((i * 7 + c * 13) % 17) / 16 + (truth[i * classes + c] ? 0.25f : 0);
        }
    set_truth(&s, truth);
    free(truth);
    return s;
}

static void the_same_for_every_number_of_threads(void **state)
{
    const tn_task tasks[] = {TN_TASK_MULTICLASS, TN_TASK_MULTILABEL};
    const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    (void)state;
    for (size_t t = 0; t < 2; ++t) {
        set s = many(tasks[t]);
        char *first = NULL;
        for (size_t threads = 1; threads <= 7; threads += 2) {
            tn_ctx *ctx = ctx_of(threads);
            char *text = NULL;
            tn_metrics *m = measure(ctx, &s, NULL, 100);
            assert_fine(ctx, tn_metrics_json(ctx, m, names, &text));
            if (!first) {
                first = text;
            } else {
                assert_string_equal(text, first);
                tn_text_free(text);
            }
            tn_metrics_free(m);
            tn_ctx_free(ctx); /* the first text is still alive */
        }
        tn_text_free(first);
        set_free(&s);
    }
}

/* Rows that both decide alike differ in nothing: no difference has a width. */
static void compared_with_itself(void **state)
{
    set s = many(TN_TASK_MULTICLASS);
    tn_metrics *m = measure(*state, &s, NULL, 40), *other = measure(*state, &s, NULL, 40);
    assert_fine(*state, tn_metrics_compare(*state, m, other, "the same"));
    const tnp_comparison *c = m->details->comparison;
    assert_int_equal(c->only_first + c->only_other, 0);
    assert_near(c->mcnemar_p, 1, TOLERANCE);
    for (size_t f = 0; f < TNP_FIGURES; ++f)
        assert_true(isnan(c->difference[f]) || (c->difference[f] == 0 && c->se[f] == 0));
    tn_metrics_free(m);
    tn_metrics_free(other);
    set_free(&s);
}

static void other_rows_are_not_compared(void **state)
{
    set s = many(TN_TASK_MULTICLASS), few = six_rows();
    tn_metrics *m = measure(*state, &s, NULL, 40), *other = measure(*state, &few, NULL, 40), *bare = NULL;
    assert_fine(*state, tn_metrics_compute(*state, view_of(&s), &s.labels, 0.5, &bare));
    assert_int_equal(tn_metrics_compare(*state, m, other, "x"), TN_ERR_ARG);
    assert_int_equal(tn_metrics_compare(*state, m, bare, "x"), TN_ERR_ARG);
    assert_int_equal(tn_metrics_detail(*state, bare, view_of(&few), &few.labels, NULL, 40, 0), TN_ERR_ARG);
    tn_metrics_free(m);
    tn_metrics_free(other);
    tn_metrics_free(bare);
    set_free(&s);
    set_free(&few);
}

static void allocations_that_fail(void **state)
{
    tn_ctx *ctx = *state;
    set s = many(TN_TASK_MULTILABEL);
    const double half[] = {0.5, 0.5, 0.5, 0.5};
    tn_metrics *m = NULL;
    assert_fine(ctx, tn_metrics_compute_at(ctx, view_of(&s), &s.labels, half, &m));
    size_t before = tnp_live_blocks(ctx);
    for (size_t k = 1;; ++k) {
        tnp_fail_allocation(ctx, k);
        tn_status st = tn_metrics_detail(ctx, m, view_of(&s), &s.labels, half, 20, 0);
        tnp_fail_allocation(ctx, 0);
        if (st == TN_OK)
            break;
        assert_int_equal(st, TN_ERR_MEMORY);
        assert_null(m->details);
        assert_int_equal(tnp_live_blocks(ctx), before);
    }
    assert_non_null(m->details);
    tn_metrics_free(m);
    set_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_context(confusion_by_hand),
        with_context(wilson_has_width_at_the_ends),
        with_context(curves_by_hand),
        with_context(residuals_by_hand),
        with_context(the_same_for_every_number_of_threads),
        with_context(compared_with_itself),
        with_context(other_rows_are_not_compared),
        with_context(allocations_that_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
