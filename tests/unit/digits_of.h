/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Problems whose columns lie far from zero or at the ends of the range of numbers, for the tests of what is left of them:
 * the file, the same rows as a learner should see them, worked out in long double, and fits on either. */
#ifndef TN_TESTS_DIGITS_OF_H
#define TN_TESTS_DIGITS_OF_H

#include "fixtures/problems.h"
#include "learn/head/head.h"
#include "tenon/report.h"
#include "options_of.h"

enum { ROWS = 240, COLS = 6, CLASSES = 3 };

/* Rows in units of 1/16: with an offset of 1e6 a float still holds them. */
static inline ref_problem units_of(uint64_t seed)
{
    ref_problem p = ref_problem_of(REF_SIGNED, ROWS, COLS, CLASSES, seed);
    for (size_t i = 0; i < ROWS * COLS; ++i)
        p.x[i] = round(16 * 4 * p.x[i]) / 16;
    return p;
}

/* offset + factor * x of every value, which must be a number of the type. Opened; the name is the source's. */
static inline tn_features *placed(const char *name, const double *x, double offset, double factor, stored as)
{
    double *copy = ref_alloc(ROWS * COLS, sizeof *copy);
    for (size_t i = 0; i < ROWS * COLS; ++i) {
        copy[i] = offset + factor * x[i];
        assert_true((copy[i] - offset) / factor == x[i]);
        assert_true(as != AS_F32 || (double)(float)copy[i] == copy[i]);
    }
    tn_features *features = features_of(name, copy, ROWS, COLS, as);
    free(copy);
    return features;
}

/* Rows of offset + factor * x as a normalisation leaves them, less centre (NULL: none), in long double. Owned by the
 * test. */
static inline ref_real *prepared(const double *x, double offset, double factor, tn_normalize kind, const double *centre)
{
    ref_real *out = ref_alloc(ROWS * COLS, sizeof *out);
    for (size_t i = 0; i < ROWS * COLS; ++i)
        out[i] = (ref_real)offset + (ref_real)factor * (ref_real)x[i];
    for (size_t i = 0; i < ROWS && kind != TN_NORM_NONE && kind != TN_NORM_ZSCORE; ++i) {
        ref_real sum = 0, *row = out + i * COLS;
        for (size_t j = 0; j < COLS; ++j)
            sum += kind == TN_NORM_L2 ? row[j] * row[j] : fabsl(row[j]);
        for (size_t j = 0; j < COLS && sum > 0; ++j)
            row[j] = kind == TN_NORM_L2   ? row[j] / sqrtl(sum)
                     : kind == TN_NORM_L1 ? row[j] / sum
                                          : copysignl(sqrtl(fabsl(row[j]) / sum), row[j]);
    }
    for (size_t j = 0; j < COLS; ++j) {
        ref_real mean = 0, square = 0;
        for (size_t i = 0; i < ROWS; ++i)
            mean += out[i * COLS + j] / ROWS;
        for (size_t i = 0; i < ROWS; ++i)
            square += (out[i * COLS + j] - mean) * (out[i * COLS + j] - mean) / ROWS;
        for (size_t i = 0; i < ROWS && kind == TN_NORM_ZSCORE; ++i)
            out[i * COLS + j] = (out[i * COLS + j] - mean) / sqrtl(square);
        for (size_t i = 0; i < ROWS && centre; ++i)
            out[i * COLS + j] -= (ref_real)centre[j];
    }
    return out;
}

/* Those rows as a file of doubles. */
static inline tn_features *file_of(const char *name, const ref_real *rows)
{
    double *copy = ref_alloc(ROWS * COLS, sizeof *copy);
    for (size_t i = 0; i < ROWS * COLS; ++i)
        copy[i] = (double)rows[i];
    tn_features *features = features_of(name, copy, ROWS, COLS, AS_F64);
    free(copy);
    return features;
}

static inline tnp_fit_options digits_options(int method, const char *normalize)
{
    tnp_fit_options opt;
    tnp_fit_options_default(&opt);
    opt.method = method;
    opt.rank.normalize = normalize;
    opt.learn.folds = 3;
    opt.learn.grid = grid_of(method == TNP_METHOD_RIDGE_CV ? "0.1,1,10"
                             : method == TNP_METHOD_SVM_CV ? "0.05,0.5"
                                                           : "");
    opt.online.epochs = 4;
    return opt;
}

static inline tn_status fit_one(const tn_features *features, const tn_labels *labels, const tnp_fit_options *opt,
                                tn_fit_info **info, tn_head **head)
{
    return tnp_fit(test_ctx, &features, 1, labels, opt, info, head);
}

static inline tn_head *fitted(const tn_features *features, const tn_labels *labels, const tnp_fit_options *opt,
                              double *loo)
{
    tn_fit_info *info = NULL;
    tn_head *head = NULL;
    assert_fine(test_ctx, fit_one(features, labels, opt, &info, &head));
    if (loo)
        *loo = info->chosen->loo_accuracy;
    tn_fit_info_free(info);
    return head;
}

/* Scores of all rows, (ROWS, CLASSES). Owned by the test. */
static inline float *scored(const tn_head *head, const tn_features *features)
{
    tn_scorer *scorer = NULL;
    float *out = ref_alloc(ROWS * CLASSES, sizeof *out);
    assert_fine(test_ctx, tn_scorer_new(test_ctx, head, &features, 1, TN_NAN_ERROR, &scorer));
    assert_fine(test_ctx, tn_scorer_read(test_ctx, scorer, 0, ROWS, out));
    tn_scorer_free(scorer);
    return out;
}

static inline size_t decided(const float *scores)
{
    size_t best = 0;
    for (size_t c = 1; c < CLASSES; ++c)
        best = scores[c] > scores[best] ? c : best;
    return best;
}

/* Share of rows whose decision is the label. */
static inline double right_rows(const float *scores, const double *y)
{
    size_t right = 0;
    for (size_t i = 0; i < ROWS; ++i)
        right += y[i * CLASSES + decided(scores + i * CLASSES)] > 0.5;
    return (double)right / ROWS;
}

#endif
