/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Average precision, its VOC 2007 form and AUC, against values worked out by hand and the literal loops of
 * ref_metrics.c. */
#include "metrics_set.h"
#include "ref_metrics.h"

/* ---- by hand ---- */

static void ranking_by_hand(void **state)
{
    /* Rank  1 2 3 4 5 6, truth + - + - - +: precision 1, 2/3, 3/6 at recall 1/3, 2/3, 1.
     * ap = (1 + 2/3 + 1/2) / 3 = 13/18. Recall levels 0..0.3 find 1, 0.4..0.6 find 2/3, 0.7..1 find 1/2:
     * voc07 = (4 + 3 * 2/3 + 4 * 1/2) / 11 = 8/11. Pairs won: 3 + 2 + 0 of 9. At 3.5: yes + - +, so TPR 2/3, TNR 2/3,
     * right 4 of 6. */
    const float scores[] = {6, 5, 4, 3, 2, 1};
    const bool truth[] = {true, false, true, false, false, true};
    set s = column_of(6, scores, truth);
    tn_metrics *m = metrics_of(*state, &s, 3.5);
    assert_near(m->per_class[0].ap, 13.0 / 18, TOLERANCE);
    assert_near(m->per_class[0].ap_voc07, 8.0 / 11, TOLERANCE);
    assert_near(m->per_class[0].auc, 5.0 / 9, TOLERANCE);
    assert_near(m->balanced_accuracy, 2.0 / 3, TOLERANCE);
    assert_near(m->accuracy, 4.0 / 6, TOLERANCE);
    assert_true(isnan(m->top5_accuracy) && isnan(m->mean_class_accuracy) && isnan(m->r2));
    tn_metrics_free(m);
    set_free(&s);
}

static void tied_ranking_by_hand(void **state)
{
    /* Groups: {+ -} at 2, {-} at 1, {+ + -} at 0 (one of them -0). tp, fp: 1, 1; 1, 2; 3, 3.
     * ap = 1/3 * 1/2 + 2/3 * 1/2 = 1/2, voc07 = 1/2; auc = (2 + 1/2 + 2 * (0 + 1/2)) / 9 = 7/18.
     * A score equal to the threshold is a no: at 0 yes + - -, TPR 1/3, TNR 1/3. */
    const float scores[] = {0, 2, 1, -0.0f, 2, 0};
    const bool truth[] = {true, false, false, true, true, false};
    set s = column_of(6, scores, truth);
    tn_metrics *m = metrics_of(*state, &s, 0);
    assert_near(m->mean_ap, 0.5, TOLERANCE);
    assert_near(m->mean_ap_voc07, 0.5, TOLERANCE);
    assert_near(m->mean_auc, 7.0 / 18, TOLERANCE);
    assert_near(m->balanced_accuracy, 1.0 / 3, TOLERANCE);
    tn_metrics_free(m);
    set_free(&s);
}

static void voc07_levels_are_exact(void **state)
{
    /* Ten positives, each followed by a negative: recall after the i-th is i/10 exactly, its precision i/(2i-1),
     * falling. Level i/10 is met by the i-th, level 0 by the first. */
    float scores[20];
    bool truth[20];
    double want = 1;
    for (int i = 0; i < 20; ++i) {
        scores[i] = (float)-i;
        truth[i] = i % 2 == 0;
    }
    for (int i = 1; i <= 10; ++i)
        want += (double)i / (2 * i - 1);
    set s = column_of(20, scores, truth);
    tn_metrics *m = metrics_of(*state, &s, 0);
    assert_near(m->mean_ap_voc07, want / 11, TOLERANCE);
    tn_metrics_free(m);
    set_free(&s);
}

static void infinite_scores_rank(void **state)
{
    /* +inf + > 0 - > -inf + -: auc = (2 + 1/2 * 1) / 4 pairs; ap = 1/2 * 1 + 1/2 * 2/4. */
    const float scores[] = {INFINITY, 0, -INFINITY, -INFINITY};
    const bool truth[] = {true, false, true, false};
    set s = column_of(4, scores, truth);
    tn_metrics *m = metrics_of(*state, &s, 0);
    assert_near(m->mean_auc, 2.5 / 4, TOLERANCE);
    assert_near(m->mean_ap, 0.75, TOLERANCE);
    tn_metrics_free(m);
    set_free(&s);
}

static void one_sided_classes_are_left_out_of_means(void **state)
{
    /* Class 0 has no positive, class 2 no negative; class 1 is ranked perfectly, all three have decisions. */
    const float scores[] = {0, 1, 1, 1, 0, 0};
    const bool truth[] = {false, true, true, false, false, true};
    set s = set_new(TN_TASK_MULTILABEL, 2, 3, 3);
    memcpy(s.scores, scores, sizeof scores);
    set_truth(&s, truth);
    tn_metrics *m = metrics_of(*state, &s, 0.5);
    assert_near(m->mean_ap, 1, 0);
    assert_near(m->mean_auc, 1, 0);
    assert_near(m->balanced_accuracy, 1, 0);
    assert_near(m->accuracy, 4.0 / 6, TOLERANCE);
    for (size_t c = 0; c < 3; c += 2) {
        assert_true(isnan(m->per_class[c].ap) && isnan(m->per_class[c].ap_voc07) && isnan(m->per_class[c].auc));
        assert_true(isnan(m->per_class[c].balanced_accuracy));
        assert_near(m->per_class[c].accuracy, 0.5, 0);
    }
    tn_metrics_free(m);
    set_free(&s);
}

/* ---- literal references ---- */

static void check_against_loops(tn_ctx *ctx, const set *s, double threshold)
{
    const tn_labels *l = &s->labels;
    tn_metrics *m = metrics_of(ctx, s, threshold);
    float *column = array_of(l->rows, sizeof *column);
    bool *positive = array_of(l->rows, sizeof *positive);
    size_t n = 0;
    for (size_t c = 0; c < l->classes; ++c) {
        n = 0;
        for (size_t i = 0; i < l->rows; ++i) {
            if (!l->known[i])
                continue;
            column[n] = s->scores[i * s->stride + c];
            positive[n] = false;
            for (size_t p = l->first[i]; p < l->first[i + 1]; ++p)
                positive[n] |= l->cls[p] == c;
            ++n;
        }
        assert_same(c, m->per_class[c].auc, ref_auc(column, 1, positive, n));
        assert_same(c, m->per_class[c].ap, ref_ap(column, 1, positive, n));
        assert_same(c, m->per_class[c].ap_voc07, ref_ap_voc07(column, 1, positive, n));
        if (l->task == TN_TASK_MULTILABEL)
            assert_same(c, m->per_class[c].balanced_accuracy, ref_balanced(column, 1, positive, n, threshold));
    }
    assert_int_equal(m->rows, n);
    size_t best = 0, among = 0;
    for (size_t i = 0; i < l->rows && l->task == TN_TASK_MULTICLASS; ++i) {
        if (!l->known[i])
            continue;
        best += ref_among_top(s->scores + i * s->stride, l->classes, l->cls[l->first[i]], 1);
        among += ref_among_top(s->scores + i * s->stride, l->classes, l->cls[l->first[i]], 5);
    }
    if (l->task == TN_TASK_MULTICLASS) {
        assert_near(m->accuracy, (double)best / (double)n, TOLERANCE);
        assert_same(0, m->top5_accuracy, l->classes > 5 ? (double)among / (double)n : (double)NAN);
    }
    free(positive);
    free(column);
    tn_metrics_free(m);
}

static void equals_literal_loops(void **state)
{
    const size_t rows[] = {2, 3, 17, 64, 150}, classes[] = {1, 2, 5, 6, 19, 33}, levels[] = {1, 3, 40, 100000};
    uint64_t seed = 1;
    for (size_t a = 0; a < 5; ++a)
        for (size_t b = 0; b < 6; ++b)
            for (size_t c = 0; c < 4; ++c)
                for (int task = TN_TASK_MULTICLASS; task <= TN_TASK_MULTILABEL; ++task) {
                    set s = random_set((tn_task)task, rows[a], classes[b], levels[c], seed++);
                    s.labels.known[0] = true;
                    check_against_loops(*state, &s, (double)levels[c] / 128);
                    set_free(&s);
                }
}

/* Seven distinct scores and more positives than one batch of the library holds: counted by hand into a table. */
static void many_positives_are_taken_in_batches(void **state)
{
    enum { ROWS = 150000, CLASSES = 31, LEVELS = 7 };
    set s = set_new(TN_TASK_MULTILABEL, ROWS, CLASSES, CLASSES);
    bool *truth = array_of((size_t)ROWS * CLASSES, sizeof *truth);
    double table[CLASSES][2][LEVELS] = {{{0}}};
    tnp_rng rng;
    tnp_rng_init(&rng, 77, 0);
    size_t positives = 0;
    for (size_t i = 0; i < ROWS; ++i)
        for (size_t c = 0; c < CLASSES; ++c) {
            uint64_t bits = tnp_rng_next(&rng);
            bool yes = bits % 2 == 0;
            size_t level = (bits >> 8) % (yes ? LEVELS : LEVELS - 1);
            truth[i * CLASSES + c] = yes;
            s.scores[i * CLASSES + c] = (float)level;
            table[c][yes][level] += 1;
            positives += yes;
        }
    set_truth(&s, truth);
    assert_true(positives > 1 << 21);
    tn_metrics *m = metrics_of(*state, &s, 0.5);
    for (size_t c = 0; c < CLASSES; ++c) {
        double won = 0, all[2] = {0, 0};
        for (size_t a = 0; a < LEVELS; ++a) {
            all[0] += table[c][0][a];
            all[1] += table[c][1][a];
            for (size_t b = 0; b <= a; ++b)
                won += table[c][1][a] * table[c][0][b] * (a == b ? 0.5 : 1);
        }
        assert_near_at(c, m->per_class[c].auc, won / (all[0] * all[1]), TOLERANCE);
        assert_near_at(c, (double)m->per_class[c].positives, all[1], 0);
    }
    tn_metrics_free(m);
    free(truth);
    set_free(&s);
}

/* ---- what must not matter ---- */

/* Row i of the result is row order[i] of s, class c of it is class cls[c]. */
static set permuted(const set *s, const size_t *order, const size_t *cls)
{
    const tn_labels *l = &s->labels;
    set p = set_new(l->task, l->rows, l->classes, s->stride);
    bool *truth = array_of(l->rows * l->classes, sizeof *truth);
    for (size_t i = 0; i < l->rows; ++i) {
        p.labels.known[i] = l->known[order[i]];
        for (size_t c = 0; c < l->classes; ++c) {
            p.scores[i * p.stride + c] = s->scores[order[i] * s->stride + cls[c]];
            for (size_t q = l->first[order[i]]; q < l->first[order[i] + 1]; ++q)
                truth[i * l->classes + c] |= l->cls[q] == cls[c];
        }
    }
    set_truth(&p, truth);
    free(truth);
    return p;
}

static void order_of_rows_and_classes_leaves_no_trace(void **state)
{
    enum { ROWS = 400, CLASSES = 9 };
    size_t order[ROWS], same[CLASSES], cls[CLASSES];
    tnp_rng rng;
    tnp_rng_init(&rng, 3, 0);
    for (size_t i = 0; i < ROWS; ++i)
        order[i] = i;
    for (size_t c = 0; c < CLASSES; ++c)
        same[c] = cls[c] = c;
    tnp_rng_shuffle(&rng, order, ROWS);
    tnp_rng_shuffle(&rng, cls, CLASSES);
    for (int task = TN_TASK_MULTICLASS; task <= TN_TASK_MULTILABEL; ++task) {
        /* Few levels for the rows; for the classes 10^6 of them, because a tie in a row may go elsewhere then. */
        set s = random_set((tn_task)task, ROWS, CLASSES, 12, 8), r = permuted(&s, order, same);
        tn_metrics *a = metrics_of(*state, &s, 0.1), *b = metrics_of(*state, &r, 0.1);
        assert_identical(a, b);
        tn_metrics_free(a);
        tn_metrics_free(b);
        set_free(&s);
        set_free(&r);
        s = random_set((tn_task)task, ROWS, CLASSES, 1000000, 9);
        r = permuted(&s, order, cls);
        a = metrics_of(*state, &s, 7000);
        b = metrics_of(*state, &r, 7000);
        for (size_t c = 0; c < CLASSES; ++c)
            assert_memory_equal(&b->per_class[c], &a->per_class[cls[c]], sizeof *a->per_class);
        assert_near(b->accuracy, a->accuracy, TOLERANCE);
        assert_near(b->mean_ap, a->mean_ap, TOLERANCE);
        assert_near(b->balanced_accuracy, a->balanced_accuracy, TOLERANCE);
        tn_metrics_free(a);
        tn_metrics_free(b);
        set_free(&s);
        set_free(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_context(ranking_by_hand),
        with_context(tied_ranking_by_hand),
        with_context(voc07_levels_are_exact),
        with_context(infinite_scores_rank),
        with_context(one_sided_classes_are_left_out_of_means),
        with_context(equals_literal_loops),
        with_context(many_positives_are_taken_in_batches),
        with_context(order_of_rows_and_classes_leaves_no_trace),
    };
    return cmocka_run_group_tests_name("ranking metrics", tests, NULL, NULL);
}
