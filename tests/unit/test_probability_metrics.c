/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Negative log-likelihood and expected calibration error against tables worked out by hand, scikit-learn's log_loss and
 * the literal loops of ref_metrics.c. */
#include "fixtures/metrics/sklearn_log_loss.h"
#include "metrics_set.h"
#include "ref_metrics.h"

static void measure(tn_ctx *ctx, const set *s, double *nll, double *ece)
{
    *nll = *ece = (double)NAN;
    assert_fine(ctx, tn_probability_metrics_compute(ctx, view_of(s), &s->labels, nll, ece));
}

/* ---- by hand ---- */

static void classes_by_hand(void **state)
{
    /* True classes get 3/4, 1/2, 1/4, 1/8; the last row is unlabelled and no probability. nll = log(256/3) / 4.
     * Best guesses: 3/4 right, 1/2 right, 3/4 wrong, 1/2 wrong. 3/4 is in bin 11 (11/15, 12/15], 1/2 in bin 7:
     * |1.5 - 1| / 4 + |1 - 1| / 4 = 1/8. */
    const float p[] = {0.75f, 0.125f, 0.125f, 0.25f, 0.5f, 0.25f, 0.75f, 0, 0.25f, 0.5f, 0.125f, 0.375f, 7, 7, 7};
    const int y[] = {0, 1, 2, 1, -1};
    set s = set_of(5, 3, p, y);
    double nll, ece;
    measure(*state, &s, &nll, &ece);
    assert_near(nll, log(256.0 / 3) / 4, TOLERANCE);
    assert_near(ece, 0.125, TOLERANCE);
    set_free(&s);
}

static void labels_by_hand(void **state)
{
    /* p 1/4 no, 1/4 yes | 3/4 yes, 3/4 yes. nll = -(log(3/4) + log(1/4) + 2 log(3/4)) / 4.
     * Bin 3 has 1/4 twice, true once: |1/2 - 1|; bin 11 has 3/4 twice, both true: |3/2 - 2|; ece = 1/4. */
    const float p[] = {0.25f, 0.25f, 0.75f, 0.75f};
    const bool truth[] = {false, true, true, true};
    set s = set_new(TN_TASK_MULTILABEL, 2, 2, 2);
    memcpy(s.scores, p, sizeof p);
    set_truth(&s, truth);
    double nll, ece;
    measure(*state, &s, &nll, &ece);
    assert_near(nll, -(3 * log(0.75) + log(0.25)) / 4, TOLERANCE);
    assert_near(ece, 0.25, TOLERANCE);
    set_free(&s);
}

static void tied_classes_go_to_the_lower_index(void **state)
{
    /* Two classes at 1/2: the guess is class 0, right once in two rows: ece |2/2 - 1| / 2 = 0. With both rows of class 1
     * it is never right: |1 - 0| / 2. */
    const float p[] = {0.5f, 0.5f, 0.5f, 0.5f};
    const int once[] = {0, 1}, never[] = {1, 1};
    double nll, ece;
    set s = set_of(2, 2, p, once);
    measure(*state, &s, &nll, &ece);
    assert_near(ece, 0, 0);
    assert_near(nll, log(2), TOLERANCE);
    set_free(&s);
    s = set_of(2, 2, p, never);
    measure(*state, &s, &nll, &ece);
    assert_near(ece, 0.5, 0);
    set_free(&s);
}

static void certainty_is_clipped(void **state)
{
    /* Certain and wrong: the true class has 0, which counts as 1e-15; certain and right costs nothing. */
    const float p[] = {1, 0, 1, 0};
    const int y[] = {0, 1};
    double nll, ece;
    set s = set_of(2, 2, p, y);
    measure(*state, &s, &nll, &ece);
    assert_near(nll, -log(1e-15) / 2, TOLERANCE);
    assert_near(ece, 0.5, 0);
    set_free(&s);
    /* A label that is there at 0, and one that is absent at 1: 1e-15 and 2^-25. Bin 0 |0 - 1|, bin 14 |1 - 0|. */
    const float q[] = {0, 1};
    const bool truth[] = {true, false};
    s = column_of(2, q, truth);
    measure(*state, &s, &nll, &ece);
    assert_near(nll, (-log(1e-15) + 25 * log(2)) / 2, TOLERANCE);
    assert_near(ece, 1, 0);
    set_free(&s);
    /* Right and certain, both ways: no loss at all. */
    const bool right[] = {false, true};
    s = column_of(2, q, right);
    measure(*state, &s, &nll, &ece);
    assert_near(nll, 0, 0);
    assert_near(ece, 0, 0);
    set_free(&s);
}

static void an_edge_belongs_to_the_lower_bin(void **state)
{
    /* The floats beside 1/5 = 3/15: no float is 3/15 itself, 0.2f is above and in bin 3, the float before in bin 2. Apart
     * they miss by |0.2 - 0| + |0.2 - 1|, halved; in one bin it would be |0.4 - 1| / 2. An exact edge: 1, in bin 14 with
     * 0.95: |1.95 - 1| / 2. */
    const float near[] = {0.2f, nextafterf(0.2f, 0)};
    const bool truth[] = {false, true};
    double nll, ece;
    set s = column_of(2, near, truth);
    measure(*state, &s, &nll, &ece);
    assert_near(ece, 0.5, 1e-7); /* 0.2f is 3e-9 off, its neighbour 1.2e-8 */
    set_free(&s);
    const float top[] = {1, 0.95f};
    s = column_of(2, top, truth);
    measure(*state, &s, &nll, &ece);
    assert_near(ece, 0.475, 1e-7);
    set_free(&s);
}

/* ---- scikit-learn, literal loops ---- */

static void equals_scikit_learn(void **state)
{
    for (size_t j = 0; j < sizeof log_loss_cases / sizeof *log_loss_cases; ++j) {
        const log_loss_case *k = &log_loss_cases[j];
        set s = set_new(k->task, k->rows, k->classes, k->classes + 2);
        bool *truth = array_of(k->rows * k->classes, sizeof *truth), one = k->task == TN_TASK_MULTICLASS;
        for (size_t i = 0; i < k->rows; ++i) {
            s.labels.known[i] = k->known[i];
            for (size_t c = 0; c < k->classes; ++c) {
                s.scores[i * s.stride + c] = k->known[i] ? (float)k->p[i * k->classes + c] / 1024 : NAN;
                truth[i * k->classes + c] = one ? k->y[i] == (short)c : k->y[i * k->classes + c] != 0;
            }
        }
        set_truth(&s, truth);
        double nll, ece;
        measure(*state, &s, &nll, &ece);
        assert_near_at(j, nll, k->loss, TOLERANCE);
        free(truth);
        set_free(&s);
    }
}

/* Scores of random_set, in 0 .. 625/64, made probabilities: divided by their row's sum, or by 16. */
static set random_probabilities(tn_task task, size_t rows, size_t classes, uint64_t seed)
{
    set s = random_set(task, rows, classes, 500, seed);
    for (size_t i = 0; i < rows; ++i) {
        float sum = task == TN_TASK_MULTICLASS ? 0 : 16;
        for (size_t c = 0; task == TN_TASK_MULTICLASS && c < classes; ++c)
            sum += s.scores[i * s.stride + c] += 0.01f;
        for (size_t c = 0; c < classes; ++c)
            s.scores[i * s.stride + c] /= sum;
    }
    return s;
}

static bool row_has(const tn_labels *labels, size_t i, size_t cls)
{
    for (size_t p = labels->first[i]; p < labels->first[i + 1]; ++p)
        if (labels->cls[p] == cls)
            return true;
    return false;
}

static void check_against_loops(tn_ctx *ctx, const set *s)
{
    const tn_labels *l = &s->labels;
    size_t room = l->rows * l->classes, n = 0;
    double *chance = array_of(room, sizeof *chance), nll, ece;
    float *shown = array_of(room, sizeof *shown);
    bool *came_true = array_of(room, sizeof *came_true);
    for (size_t i = 0; i < l->rows; ++i) {
        const float *row = s->scores + i * s->stride;
        for (size_t c = 0; l->known[i] && c < l->classes; ++c) {
            bool there = row_has(l, i, c);
            if (l->task == TN_TASK_MULTILABEL) {
                chance[n] = there ? (double)row[c] : 1 - (double)row[c];
                shown[n] = row[c];
                came_true[n++] = there;
            } else if (there) {
                chance[n] = (double)row[c];
                for (size_t g = 0; g < l->classes; ++g)
                    if (ref_among_top(row, l->classes, g, 1)) {
                        shown[n] = row[g];
                        came_true[n] = g == c;
                    }
                ++n;
            }
        }
    }
    measure(ctx, s, &nll, &ece);
    assert_near(nll, ref_nll(chance, n), TOLERANCE);
    assert_near(ece, ref_ece(shown, came_true, n), TOLERANCE);
    free(chance);
    free(shown);
    free(came_true);
}

static void equals_literal_loops(void **state)
{
    const size_t rows[] = {1, 2, 255, 256, 257, 1000};
    for (size_t j = 0; j < sizeof rows / sizeof *rows; ++j)
        for (int task = TN_TASK_MULTICLASS; task <= TN_TASK_MULTILABEL; ++task) {
            set s = random_probabilities((tn_task)task, rows[j], 2 + j, 7 + j);
            s.labels.known[0] = true;
            check_against_loops(*state, &s);
            set_free(&s);
        }
}

static void threads_leave_no_trace(void **state)
{
    tn_ctx *ctx = *state;
    const size_t threads[] = {2, 3, 7};
    for (int task = TN_TASK_MULTICLASS; task <= TN_TASK_MULTILABEL; ++task) {
        set s = random_probabilities((tn_task)task, 5000, 40, 5);
        double one[2], several[2];
        tn_ctx_set_threads(ctx, 1);
        measure(ctx, &s, &one[0], &one[1]);
        for (size_t t = 0; t < 3; ++t) {
            tn_ctx_set_threads(ctx, threads[t]);
            measure(ctx, &s, &several[0], &several[1]);
            assert_memory_equal(one, several, sizeof one);
        }
        set_free(&s);
    }
}

/* ---- failures ---- */

static void refuse(tn_ctx *ctx, const set *s, tn_status status, const char *part)
{
    double nll = 5, ece = 6;
    assert_fails(ctx, status, part, tn_probability_metrics_compute(ctx, view_of(s), &s->labels, &nll, &ece));
    assert_true(nll == 5 && ece == 6);
    assert_int_equal(tnp_live_blocks(ctx), 0);
}

static void what_is_no_probability_is_named(void **state)
{
    const float bad[] = {NAN, -0.01f, 1.01f, INFINITY};
    for (int task = TN_TASK_MULTICLASS; task <= TN_TASK_MULTILABEL; ++task)
        for (size_t j = 0; j < sizeof bad / sizeof *bad; ++j) {
            set s = random_probabilities((tn_task)task, 700, 5, 2);
            s.labels.known[611] = s.labels.known[650] = true;
            s.scores[611 * s.stride + 3] = s.scores[650 * s.stride + 1] = bad[j];
            refuse(*state, &s, TN_ERR_DATA, "probability at row 611, column 3 is");
            set_free(&s);
        }
    set s = random_probabilities(TN_TASK_MULTICLASS, 300, 2, 2);
    s.labels.known[290] = true;
    s.scores[290 * s.stride] = s.scores[290 * s.stride + 1] = 0.75f;
    refuse(*state, &s, TN_ERR_DATA, "probabilities of row 290 sum to 1.5, expected 1");
    set_free(&s);
}

static void arguments_are_checked(void **state)
{
    const int unknown[] = {-1, -1};
    const float p[] = {0.5f, 0.5f, 0.5f, 0.5f};
    set s = set_of(2, 2, p, unknown);
    refuse(*state, &s, TN_ERR_DATA, "none of the 2 rows");
    s.labels.rows = 1;
    double nll = 0, ece = 0;
    tn_view two = {s.scores, 2, 2, 2};
    assert_fails(*state, TN_ERR_SHAPE, "2 rows, labels 1",
                 tn_probability_metrics_compute(*state, two, &s.labels, &nll, &ece));
    s.labels.rows = 0;
    refuse(*state, &s, TN_ERR_DATA, "none of the 0 rows");
    set_free(&s);
    s = set_new(TN_TASK_REGRESSION, 2, 1, 1);
    refuse(*state, &s, TN_ERR_ARG, "a regression has no probabilities");
    set_free(&s);
}

static void allocation_failure_leaves_nothing(void **state)
{
    tn_ctx *ctx = *state;
    set s = random_probabilities(TN_TASK_MULTICLASS, 50, 4, 2);
    tnp_fail_allocation(ctx, 1);
    refuse(ctx, &s, TN_ERR_MEMORY, "");
    tnp_fail_allocation(ctx, 0);
    set_free(&s);
}

static void cancel_stops(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(0);
    set s = random_probabilities(TN_TASK_MULTICLASS, 20, 4, 2);
    tn_ctx_cancel(ctx);
    refuse(ctx, &s, TN_ERR_INTERRUPTED, "");
    tn_ctx_free(ctx);
    set_free(&s);
}

/* The figures of a metrics object do not exist before they are put there. */
static void metrics_begin_without_them(void **state)
{
    set s = random_probabilities(TN_TASK_MULTICLASS, 50, 4, 2);
    tn_metrics *m = metrics_of(*state, &s, 0);
    assert_true(isnan(m->nll) && isnan(m->ece));
    tn_metrics_free(m);
    set_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_context(classes_by_hand),
        with_context(labels_by_hand),
        with_context(tied_classes_go_to_the_lower_index),
        with_context(certainty_is_clipped),
        with_context(an_edge_belongs_to_the_lower_bin),
        with_context(equals_scikit_learn),
        with_context(equals_literal_loops),
        with_context(threads_leave_no_trace),
        with_context(what_is_no_probability_is_named),
        with_context(arguments_are_checked),
        with_context(allocation_failure_leaves_nothing),
        cmocka_unit_test(cancel_stops),
        with_context(metrics_begin_without_them),
    };
    return cmocka_run_group_tests_name("probability metrics", tests, NULL, NULL);
}
