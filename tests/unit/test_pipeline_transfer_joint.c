/* SPDX-License-Identifier: BSD-3-Clause
 *
 * tn_transfer for classes that an arg-max compares: what they share, what that is worth where the truth is known, which
 * method auto takes, and one row of every class. */
#include "transfer_scene.h"
#include "ref_transfer.h"
#include "tenon/report.h"

static void classes_share_one_method_and_its_values(void **state)
{
    (void)state;
    scene s = scene_of(ROWS, DA, DB, TN_TASK_MULTICLASS, AS_F64);
    const tn_source source = {"b", s.features[1], NULL};
    for (int method = TNP_TRANSFER_BY_AUTO; method <= TNP_TRANSFER_BY_DAM; ++method)
        for (int weight = TNP_WEIGHT_NONE; weight <= TNP_WEIGHT_BALANCED; ++weight) {
            tnp_transfer_options opt = options_of(method);
            tn_transfer_info *info = NULL;
            tn_head *head = NULL;
            opt.class_weight = weight;
            assert_fine(test_ctx, transfer(&s, &source, 1, &opt, &info, &head));
            assert_true(info->joint && info->loo_rows == ROWS);
            assert_true(info->loo_error >= 0 && info->loo_error <= 1 && info->loo_se >= 0 && info->loo_se < 0.5);
            for (size_t c = 0; c < K; ++c) {
                const tn_transfer_class *r = &info->results[c];
                assert_string_equal(r->method, info->method);
                assert_true(r->lambda == info->results[0].lambda && r->tau == info->results[0].tau);
            }
            tn_transfer_info_free(info);
            tn_head_free(head);
        }
    scene_free(&s);
}

/* ---- a task of several classes whose truth is known ---- */

enum { CLASSES = 5, FRESH = 600, WIDE = 40 };

typedef struct truth {
    size_t rows; /* the first are labelled, FRESH behind them are for testing */
    size_t *class_of;
    double *values, *scores; /* (rows, WIDE) */
    tn_features *features, *file;
} truth;

/* Classes at random places in the features; of the scores every second group of CLASSES tells one class each. */
static truth truth_of(size_t each, double apart, double tell, uint64_t seed)
{
    ref_rng rng = ref_rng_of(seed);
    truth t = {.rows = CLASSES * each + FRESH};
    double centre[CLASSES][WIDE];
    t.class_of = ref_alloc(t.rows, sizeof *t.class_of);
    t.values = ref_alloc(t.rows * WIDE, sizeof *t.values);
    t.scores = ref_alloc(t.rows * WIDE, sizeof *t.scores);
    for (size_t c = 0; c < CLASSES; ++c)
        for (size_t j = 0; j < WIDE; ++j)
            centre[c][j] = apart * ref_normal(&rng);
    for (size_t i = 0; i < t.rows; ++i) {
        t.class_of[i] = i % CLASSES;
        for (size_t j = 0; j < WIDE; ++j) {
            t.values[i * WIDE + j] = centre[i % CLASSES][j] + ref_normal(&rng);
            t.scores[i * WIDE + j] = ref_normal(&rng) + (j % (2 * CLASSES) == i % CLASSES ? tell : 0);
        }
    }
    t.features = features_of("truth", t.values, t.rows, WIDE, AS_F64);
    t.file = features_of("told", t.scores, t.rows, WIDE, AS_F64);
    return t;
}

static void truth_free(truth *t)
{
    tn_features_close(t->features);
    tn_features_close(t->file);
    free(t->class_of);
    free(t->values);
    free(t->scores);
}

/* A transfer for all classes, or for class `one` against the rest; the head's scores of the fresh rows into column
 * `one` of out (FRESH, CLASSES), or into all. */
static void ask(const truth *t, int method, size_t one, tn_transfer_info **info, double *out)
{
    size_t labelled = t->rows - FRESH, k = one < CLASSES ? 2 : CLASSES;
    double *y = ref_alloc(t->rows * k, sizeof *y);
    float *scores = ref_alloc(t->rows * k, sizeof *scores);
    const tn_source source = {"told", t->file, NULL};
    const tn_features *features = t->features;
    tnp_transfer_options opt = options_of(method);
    tn_head *head = NULL;
    tn_scorer *scorer = NULL;
    for (size_t i = 0; i < t->rows; ++i) {
        y[i * k + (one < CLASSES ? t->class_of[i] == one : t->class_of[i])] = 1;
        y[i * k] = i < labelled ? y[i * k] : NAN;
    }
    tn_labels *labels = labels_of(y, t->rows, k, TN_TASK_MULTICLASS);
    assert_fine(test_ctx, tnp_transfer(test_ctx, &features, 1, labels, &source, 1, &opt, info, &head));
    assert_fine(test_ctx, tn_scorer_new_transfer(test_ctx, head, &features, 1, &source, 1, TN_NAN_ERROR, &scorer));
    assert_fine(test_ctx, tn_scorer_read(test_ctx, scorer, 0, t->rows, scores));
    for (size_t i = 0; i < FRESH; ++i)
        for (size_t c = 0; c < CLASSES; ++c)
            if (one >= CLASSES || c == one)
                out[i * CLASSES + c] = (double)scores[(labelled + i) * k + (one < CLASSES ? 1 : c)];
    tn_scorer_free(scorer);
    tn_head_free(head);
    labels_done(labels);
    free(scores);
    free(y);
}

static double accuracy(const truth *t, const double *scores)
{
    double right = 0;
    for (size_t i = 0; i < FRESH; ++i) {
        size_t best = 0;
        for (size_t c = 1; c < CLASSES; ++c)
            best = scores[i * CLASSES + c] > scores[i * CLASSES + best] ? c : best;
        right += best == t->class_of[t->rows - FRESH + i];
    }
    return right / FRESH;
}

/* Classes that each choose a method and a lambda, as a label of its own does, against classes that share them, and
 * these with half the rows. Four draws of 600 rows have a standard error of 0.01. */
static void a_lambda_for_every_class_spoils_the_arg_max(void **state)
{
    (void)state;
    static const int methods[] = {TNP_TRANSFER_BY_AUTO, TNP_TRANSFER_BY_RLS};
    double *scores = ref_alloc(FRESH * CLASSES, sizeof *scores), apart[2] = {0}, shared[2] = {0}, fewer = 0;
    for (uint64_t seed = 0; seed < 4; ++seed)
        for (int m = 0; m < 2; ++m) {
            truth t = truth_of(10, 0.3, 1, seed);
            tn_transfer_info *info = NULL;
            int method = methods[m];
            for (size_t one = 0; one < CLASSES; ++one) {
                ask(&t, method, one, &info, scores);
                tn_transfer_info_free(info);
            }
            apart[m] += accuracy(&t, scores) / 4;
            ask(&t, method, CLASSES, &info, scores);
            shared[m] += accuracy(&t, scores) / 4;
            tn_transfer_info_free(info);
            truth_free(&t);
            t = truth_of(5, 0.3, 1, seed);
            ask(&t, method, CLASSES, &info, scores);
            fewer += accuracy(&t, scores) / 8;
            tn_transfer_info_free(info);
            truth_free(&t);
        }
    assert_true(shared[0] > apart[0] + 0.08 && shared[1] > apart[1] + 0.05);
    assert_true(shared[0] > fewer + 0.03 && shared[1] > fewer + 0.03);
    free(scores);
}

/* Features alone where the sources are noise, for they are surely better; else greedytl. The error without a row is
 * that of fresh rows, within 3 of its standard errors. */
static void auto_takes_greedytl_unless_another_is_surely_better(void **state)
{
    (void)state;
    double *scores = ref_alloc(FRESH * CLASSES, sizeof *scores);
    for (int noise = 0; noise < 2; ++noise) {
        truth t =
            truth_of(noise ? 10 : 6, 0.5, noise ? 0 : 1.5, 11); /* of few rows per class noise hardly counts: below */
        tn_transfer_info *info = NULL;
        ask(&t, TNP_TRANSFER_BY_AUTO, CLASSES, &info, scores);
        assert_string_equal(info->method, noise ? "none" : "greedytl");
        assert_true(noise || info->greedy <= info->none);
        assert_true(info->loo_error == (noise ? info->none : info->greedy));
        assert_true(fabs(info->loo_error - (1 - accuracy(&t, scores))) < 3 * info->loo_se);
        tn_transfer_info_free(info);
        truth_free(&t);
    }
    free(scores);
}

/* Three rows per class. Sources of noise are made short, and do no harm: in even parts they cost 15 points. Sources
 * that know more than the features are made long. Four draws of 600 rows have a standard error of 0.01. */
static void sources_that_harm_hardly_count(void **state)
{
    (void)state;
    double *scores = ref_alloc(FRESH * CLASSES, sizeof *scores), with = 0, without = 0;
    for (uint64_t seed = 0; seed < 4; ++seed) {
        tn_transfer_info *info = NULL;
        truth t = truth_of(3, 0.5, 0, seed);
        ask(&t, TNP_TRANSFER_BY_NONE, CLASSES, &info, scores);
        without += accuracy(&t, scores) / 4;
        tn_transfer_info_free(info);
        ask(&t, TNP_TRANSFER_BY_RLS, CLASSES, &info, scores);
        with += accuracy(&t, scores) / 4;
        assert_true(info->source_share > 0 && info->source_share < 0.4);
        tn_transfer_info_free(info);
        truth_free(&t);
        t = truth_of(3, 0.1, 2, seed);
        ask(&t, TNP_TRANSFER_BY_AUTO, CLASSES, &info, scores);
        assert_true(info->source_share > 0.8 && info->source_share < 1);
        tn_transfer_info_free(info);
        truth_free(&t);
    }
    assert_true(with > without - 0.03);
    free(scores);
}

/* Leave-one-out has nothing to say, and says nothing; the head is near the class means and tells most rows. */
static void one_row_of_every_class(void **state)
{
    (void)state;
    double *scores = ref_alloc(FRESH * CLASSES, sizeof *scores);
    truth t = truth_of(1, 0.7, 2, 5);
    static const int methods[] = {TNP_TRANSFER_BY_AUTO, TNP_TRANSFER_BY_NONE, TNP_TRANSFER_BY_RLS, TNP_TRANSFER_BY_DAM};
    for (size_t m = 0; m < sizeof methods / sizeof *methods; ++m) {
        tn_transfer_info *info = NULL;
        ask(&t, methods[m], CLASSES, &info, scores);
        assert_true(isnan(info->loo_error) && isnan(info->loo_se) && info->loo_rows == 0);
        assert_true(accuracy(&t, scores) > 0.8);
        tn_transfer_info_free(info);
    }
    truth_free(&t);
    free(scores);
}

/* ---- class means in heads of few rows ---- */

/* A transfer for all classes from the labelled rows; lambda 0: ours. */
static void learn(const truth *t, int method, double lambda, int weight, tn_transfer_info **info, tn_head **head)
{
    size_t labelled = t->rows - FRESH;
    double *y = ref_alloc(t->rows * CLASSES, sizeof *y);
    const tn_source source = {"told", t->file, NULL};
    const tn_features *features = t->features;
    tnp_transfer_options opt = options_of(method);
    opt.lambda = lambda;
    opt.class_weight = weight;
    for (size_t i = 0; i < t->rows; ++i) {
        y[i * CLASSES + t->class_of[i]] = 1;
        y[i * CLASSES] = i < labelled ? y[i * CLASSES] : NAN;
    }
    tn_labels *labels = labels_of(y, t->rows, CLASSES, TN_TASK_MULTICLASS);
    assert_fine(test_ctx, tnp_transfer(test_ctx, &features, 1, labels, &source, 1, &opt, info, head));
    labels_done(labels);
    free(y);
}

static double value_at(const truth *t, size_t i, size_t j)
{
    return j < WIDE ? t->values[i * WIDE + j] : t->scores[i * WIDE + j - WIDE];
}

/* The standardised problem of class k on all labelled rows. */
static ref_transfer literal(const truth *t, size_t k, bool balanced, double share)
{
    static const size_t ends[2] = {WIDE, 2 * WIDE};
    size_t n = t->rows - FRESH, size[CLASSES] = {0};
    double *x = ref_alloc(n * 2 * WIDE, sizeof *x), *y = ref_alloc(n, sizeof *y), *w = ref_alloc(n, sizeof *w);
    for (size_t i = 0; i < n; ++i)
        ++size[t->class_of[i]];
    for (size_t i = 0; i < n; ++i) {
        for (size_t j = 0; j < 2 * WIDE; ++j)
            x[i * 2 * WIDE + j] = value_at(t, i, j);
        y[i] = t->class_of[i] == k ? 1 : -1;
        w[i] = balanced ? 1 / (double)size[t->class_of[i]] : 1;
    }
    ref_transfer r = ref_transfer_from(n, 2 * WIDE, x, y, w);
    ref_transfer_group(&r, 2, 1, ends, share);
    return r;
}

/* Columns that class k uses. */
static size_t used_by(const tn_transfer_class *c, int method, size_t *columns)
{
    bool greedy = method == TNP_TRANSFER_BY_GREEDYTL || method == TNP_TRANSFER_BY_FORWARD;
    size_t count = greedy ? c->pick_count : method == TNP_TRANSFER_BY_NONE ? WIDE : 2 * WIDE;
    for (size_t i = 0; i < count; ++i)
        columns[i] = !greedy ? i : c->picks[i].index + (c->picks[i].is_source ? WIDE : 0);
    return count;
}

/* want (CLASSES, 1 + 2 WIDE): intercept and raw weights of 11/16 s_k + 5/16 (2 ncm_k - 1). */
static void mix(const truth *t, const tn_transfer_info *info, int method, bool balanced, ref_real *want)
{
    size_t n = t->rows - FRESH, columns[2 * WIDE], size[CLASSES] = {0};
    ref_real mean[CLASSES][2 * WIDE] = {{0}}, centre[2 * WIDE] = {0}, w[2 * WIDE], b = 0, squares = 0;
    for (size_t i = 0; i < n; ++i)
        ++size[t->class_of[i]];
    for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j < 2 * WIDE; ++j)
            mean[t->class_of[i]][j] += value_at(t, i, j) / (ref_real)size[t->class_of[i]];
    for (size_t k = 0; k < CLASSES; ++k)
        for (size_t j = 0; j < 2 * WIDE; ++j)
            centre[j] += mean[k][j] / CLASSES;
    for (int pass = 0; pass < 2; ++pass) /* the sum of squares is that of all classes */
        for (size_t k = 0; k < CLASSES; ++k) {
            ref_transfer r = literal(t, k, balanced, info->source_share);
            size_t count = used_by(&info->results[k], method, columns);
            ref_real *row = want + k * (1 + 2 * WIDE);
            if (pass) {
                ref_transfer_ridge(&r, r.y, columns, count, info->results[k].lambda, w, &b);
                row[0] = 0.6875L * b;
            }
            for (size_t c = 0; c < count; ++c) {
                size_t j = columns[c];
                ref_real d = (mean[k][j] - centre[j]) / r.scale[j];
                if (pass) {
                    row[1 + j] = 0.6875L * w[c] + 0.625L * CLASSES / squares * d / r.scale[j];
                    row[0] -= 0.625L * CLASSES / squares * d * (centre[j] / r.scale[j] + d / 2);
                } else {
                    squares += d * d;
                }
            }
            ref_transfer_free(&r);
        }
}

/* The head row against `want`, float weights: 1e-5 of the largest; and the account against the head. */
static void check_shared(const tn_transfer_info *info, const tn_head *head, const ref_real *want)
{
    size_t dim = tn_head_dim(head), place[2 * WIDE];
    for (size_t j = 0; j < 2 * WIDE; ++j)
        place[j] = j < WIDE ? j : SIZE_MAX;
    for (size_t s = 0; s < dim - WIDE; ++s)
        place[WIDE + tn_head_source_at(head, s).column] = WIDE + s;
    for (size_t k = 0; k < CLASSES; ++k) {
        const float *w = tn_head_weight(head) + k * dim;
        const ref_real *row = want + k * (1 + 2 * WIDE);
        assert_near_at(k, (double)tn_head_bias(head)[k], (double)row[0], 1e-5);
        for (size_t j = 0; j < 2 * WIDE; ++j)
            assert_near_at(j, place[j] == SIZE_MAX ? 0 : (double)w[place[j]], (double)row[1 + j], 1e-5);
        for (size_t i = 0; i < info->results[k].pick_count; ++i) {
            const tn_pick *p = &info->results[k].picks[i];
            assert_near_at(i, p->weight, (double)row[1 + p->index + (p->is_source ? WIDE : 0)], 1e-8);
        }
    }
}

/* The heads of a few rows against a literal mean of ridge and nearest class mean on the columns that a class uses. */
static void few_rows_share_the_heads_with_class_means(void **state)
{
    (void)state;
    static const int methods[] = {TNP_TRANSFER_BY_GREEDYTL, TNP_TRANSFER_BY_RLS, TNP_TRANSFER_BY_NONE,
                                  TNP_TRANSFER_BY_FORWARD};
    for (size_t m = 0; m < 4; ++m)
        for (int weight = TNP_WEIGHT_NONE; weight <= TNP_WEIGHT_BALANCED; ++weight)
            for (size_t each = 5; each <= 8; each += 3) {
                truth t = truth_of(each, 0.6, 1.5, 40 + each);
                ref_real want[CLASSES * (1 + 2 * WIDE)] = {0};
                tn_transfer_info *info = NULL;
                tn_head *head = NULL;
                char *json = NULL;
                t.class_of[each] = t.class_of[0]; /* one class of each + 1 rows, one of each - 1 */
                learn(&t, methods[m], 0, weight, &info, &head);
                assert_fine(test_ctx, tn_transfer_json(test_ctx, info, NULL, &json));
                assert_true(info->class_means == (each < 8 ? 0.3125 : 0)); /* 9 rows are many */
                assert_true((strstr(json, "\"class_means\":0.3125") != NULL) == (each < 8));
                if (each < 8) {
                    mix(&t, info, methods[m], weight == TNP_WEIGHT_BALANCED, want);
                    check_shared(info, head, want);
                }
                tn_text_free(json);
                tn_transfer_info_free(info);
                tn_head_free(head);
                truth_free(&t);
            }
}

/* What auto compares are the heads that would be saved: with class means, as each method alone is judged (their
 * predictions without the rows: test_transfer_joint.c). */
static void errors_are_those_of_heads_with_class_means(void **state)
{
    (void)state;
    static const int methods[] = {TNP_TRANSFER_BY_GREEDYTL, TNP_TRANSFER_BY_RLS, TNP_TRANSFER_BY_NONE};
    truth t = truth_of(5, 0.6, 1.5, 45);
    double errors[3];
    tn_transfer_info *info = NULL;
    tn_head *head = NULL;
    for (size_t m = 0; m < 3; ++m) {
        learn(&t, methods[m], 0, TNP_WEIGHT_NONE, &info, &head);
        assert_true(info->class_means == 0.3125);
        errors[m] = info->loo_error;
        tn_transfer_info_free(info);
        tn_head_free(head);
    }
    learn(&t, TNP_TRANSFER_BY_AUTO, 0, TNP_WEIGHT_NONE, &info, &head);
    assert_true(info->class_means == 0.3125);
    assert_true(info->greedy == errors[0] && info->rls == errors[1] && info->none == errors[2]);
    tn_transfer_info_free(info);
    tn_head_free(head);
    truth_free(&t);
}

/* A lambda that was named gives the method alone, as do methods that are no ridge on the labels, and one row of every
 * class. */
static void class_means_are_for_values_that_are_ours(void **state)
{
    (void)state;
    static const int others[] = {TNP_TRANSFER_BY_AVERAGE, TNP_TRANSFER_BY_DAM, TNP_TRANSFER_BY_L1_LOGISTIC,
                                 TNP_TRANSFER_BY_MULTIKT_L2};
    tn_transfer_info *info = NULL;
    tn_head *head = NULL;
    for (size_t m = 0; m < 6; ++m) {
        truth t = truth_of(m == 5 ? 1 : 4, 0.6, 1.5, 7);
        learn(&t, m < 4 ? others[m] : TNP_TRANSFER_BY_GREEDYTL, m == 4 ? 2 : 0, TNP_WEIGHT_NONE, &info, &head);
        assert_true(info->class_means == 0);
        tn_transfer_info_free(info);
        tn_head_free(head);
        truth_free(&t);
    }
}

/* One column of noise four hundred times as long as those that tell the classes: distances are that column's, and rows
 * that are left out say so. */
static void class_means_that_harm_are_not_taken(void **state)
{
    (void)state;
    truth t = truth_of(8, 2, 1, 31);
    ref_rng rng = ref_rng_of(3);
    tn_transfer_info *info = NULL;
    tn_head *head = NULL;
    for (size_t i = 0; i < t.rows; ++i)
        t.values[i * WIDE] = 400 * ref_normal(&rng);
    tn_features_close(t.features);
    t.features = features_of("truth", t.values, t.rows, WIDE, AS_F64);
    learn(&t, TNP_TRANSFER_BY_NONE, 0, TNP_WEIGHT_NONE, &info, &head);
    assert_true(info->class_means == 0 && info->loo_error < 0.2);
    tn_transfer_info_free(info);
    tn_head_free(head);
    truth_free(&t);
}

static void one_row_is_no_leave_one_out_for_multikt(void **state)
{
    (void)state;
    double y[CLASSES * CLASSES] = {0}, x[CLASSES * WIDE];
    for (size_t i = 0; i < CLASSES * WIDE; ++i)
        x[i] = (double)(i * i % 37);
    for (size_t i = 0; i < CLASSES; ++i)
        y[i * CLASSES + i] = 1;
    scene s = {.n = CLASSES, .features = {features_of("five", x, CLASSES, WIDE, AS_F64), NULL}};
    s.labels = labels_of(y, CLASSES, CLASSES, TN_TASK_MULTICLASS);
    const tn_source source = {"five", s.features[0], NULL};
    tnp_transfer_options opt = options_of(TNP_TRANSFER_BY_MULTIKT_L2);
    tn_transfer_info *info = NULL;
    tn_head *head = NULL;
    assert_int_equal(transfer(&s, &source, 1, &opt, &info, &head), TN_ERR_DATA);
    assert_non_null(strstr(tn_ctx_message(test_ctx), "MultiKT needs a class with two"));
    tn_features_close(s.features[0]);
    labels_done(s.labels);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_share_one_method_and_its_values),
        cmocka_unit_test(a_lambda_for_every_class_spoils_the_arg_max),
        cmocka_unit_test(auto_takes_greedytl_unless_another_is_surely_better),
        cmocka_unit_test(sources_that_harm_hardly_count),
        cmocka_unit_test(one_row_of_every_class),
        cmocka_unit_test(few_rows_share_the_heads_with_class_means),
        cmocka_unit_test(errors_are_those_of_heads_with_class_means),
        cmocka_unit_test(class_means_are_for_values_that_are_ours),
        cmocka_unit_test(class_means_that_harm_are_not_taken),
        cmocka_unit_test(one_row_is_no_leave_one_out_for_multikt),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
