/* SPDX-License-Identifier: BSD-3-Clause
 *
 * tn_transfer: representation a is the target, b a file of scores. Picks and objectives against the literal criterion,
 * the saved head's scores against sums written out, heads as sources against files of their scores, and what is
 * refused. */
#include "transfer_scene.h"
#include "learn/head/head.h"
#include "ref_transfer.h"
#include "tenon/store.h"
#include "options_of.h"

static void *const untouched = (void *)test_folder;

/* The literal problem of class c: columns of both files, each file with one scale. */
static ref_transfer literal(const scene *s, size_t c)
{
    double *x = beside(s->x[0], DA, s->x[1], DB, s->n), *y = ref_alloc(s->n, sizeof *y);
    for (size_t i = 0; i < s->n; ++i)
        y[i] = s->y[i * K + c] > 0.5 ? 1 : -1;
    ref_transfer r = ref_transfer_from(s->n, DA + DB, x, y, NULL);
    ref_transfer_group(&r, 2, 1, (const size_t[]){DA, DA + DB}, 0);
    return r;
}

static void greedy_picks_are_the_literal_ones(void **state)
{
    (void)state;
    scene s = scene_of(ROWS, DA, DB, TN_TASK_MULTICLASS, AS_F64);
    const tn_source source = {"b", s.features[1], NULL};
    tnp_transfer_options opt = options_of(TNP_TRANSFER_BY_GREEDYTL);
    tn_transfer_info *info = NULL;
    tn_head *head = NULL;
    opt.k = 5;
    opt.lambda = 1;
    assert_fine(test_ctx, transfer(&s, &source, 1, &opt, &info, &head));
    assert_int_equal(info->count, K);
    for (size_t c = 0; c < K; ++c) {
        const tn_transfer_class *got = &info->results[c];
        ref_transfer r = literal(&s, c);
        size_t picks[5];
        ref_real objective[5];
        assert_int_equal(got->pick_count, ref_transfer_greedy(&r, 1, 1e-4L, 5, picks, objective));
        for (size_t i = 0; i < got->pick_count; ++i) {
            assert_int_equal(got->picks[i].index + (got->picks[i].is_source ? DA : 0), picks[i]);
            assert_near_at(i, got->objective[i], (double)objective[i], 1e-10);
        }
        ref_transfer_free(&r);
    }
    tn_transfer_info_free(info);
    tn_head_free(head);
    scene_free(&s);
}

/* Scores of a head from its picks: what the user reads is what the head does. Weights are float in the head: 1e-5. */
static void check_scores(const scene *s, const tn_transfer_info *info, const tn_head *head, const tn_source *sources,
                         size_t count)
{
    tn_scorer *scorer = NULL;
    float scores[ROWS * K];
    assert_fine(test_ctx, tn_scorer_new_transfer(test_ctx, head, (const tn_features *const *)s->features, 1, sources,
                                                 count, TN_NAN_ERROR, &scorer));
    assert_fine(test_ctx, tn_scorer_read(test_ctx, scorer, 0, ROWS, scores));
    for (size_t c = 0; c < K; ++c)
        for (size_t i = 0; i < ROWS; ++i) {
            double sum = (double)head->bias[c];
            for (size_t p = 0; p < info->results[c].pick_count; ++p) {
                const tn_pick *pick = &info->results[c].picks[p];
                sum += pick->weight * (pick->is_source ? s->x[1][i * DB + pick->index] : s->x[0][i * DA + pick->index]);
            }
            assert_near_at(i, (double)scores[i * K + c], sum, 1e-5 * fmax(1, fabs(sum)));
        }
    tn_scorer_free(scorer);
}

static void a_saved_head_scores_as_its_picks_say(void **state)
{
    (void)state;
    scene s = scene_of(ROWS, DA, DB, TN_TASK_MULTICLASS, AS_F64);
    const tn_source source = {"b", s.features[1], NULL};
    static const int methods[] = {TNP_TRANSFER_BY_GREEDYTL, TNP_TRANSFER_BY_FORWARD, TNP_TRANSFER_BY_L1_LOGISTIC,
                                  TNP_TRANSFER_BY_ELASTIC_NET};
    for (size_t m = 0; m < sizeof methods / sizeof *methods; ++m) {
        tnp_transfer_options opt = options_of(methods[m]);
        tn_transfer_info *info = NULL;
        tn_head *head = NULL, *back = NULL;
        opt.k = methods[m] == TNP_TRANSFER_BY_FORWARD ? 3 : TNP_ALL;
        assert_fine(test_ctx, transfer(&s, &source, 1, &opt, &info, &head));
        check_scores(&s, info, head, &source, 1);
        assert_fine(test_ctx, tn_head_save(test_ctx, head, "test", file_path("t.safetensors")));
        assert_fine(test_ctx, tn_head_load(test_ctx, file_path("t.safetensors"), &back));
        check_scores(&s, info, back, &source, 1);
        tn_head_free(head);
        tn_head_free(back);
        tn_transfer_info_free(info);
    }
    scene_free(&s);
}

/* Class c of a transfer against the same class alone against the rest. */
static void check_alone(const scene *s, size_t c, const tn_source *source, const tnp_transfer_options *opt,
                        const tn_transfer_info *all, const tn_head *head)
{
    double *y = ref_alloc(2 * s->n, sizeof *y);
    tn_transfer_info *info = NULL;
    tn_head *alone = NULL;
    for (size_t i = 0; i < s->n; ++i)
        y[2 * i + (s->y[i * K + c] > 0.5)] = 1;
    scene two = *s;
    two.labels = labels_of(y, s->n, 2, TN_TASK_MULTICLASS);
    assert_fine(test_ctx, transfer(&two, source, 1, opt, &info, &alone));
    const tn_transfer_class *got = &all->results[c], *want = &info->results[0];
    assert_string_equal(got->method, want->method);
    assert_true(got->loo_error == want->loo_error && got->lambda == want->lambda && got->tau == want->tau);
    assert_int_equal(got->pick_count, want->pick_count);
    for (size_t i = 0; i < want->pick_count; ++i)
        assert_true(got->picks[i].index == want->picks[i].index && got->picks[i].weight == want->picks[i].weight);
    assert_memory_equal(head->weight + c * head->dim, alone->weight + alone->dim, DA * sizeof(float));
    assert_true(head->bias[c] == alone->bias[1]);
    tn_transfer_info_free(info);
    tn_head_free(alone);
    labels_done(two.labels);
    free(y);
}

/* Several labels a row: what they share changes no bit of what each finds. */
static void labels_are_problems_of_their_own(void **state)
{
    (void)state;
    scene s = scene_of(ROWS, DA, DB, TN_TASK_MULTILABEL, AS_F64);
    const tn_source source = {"b", s.features[1], NULL};
    for (int method = TNP_TRANSFER_BY_AUTO; method <= TNP_TRANSFER_BY_DAM; ++method)
        for (int weight = TNP_WEIGHT_NONE; weight <= TNP_WEIGHT_BALANCED; ++weight) {
            tnp_transfer_options opt = options_of(method);
            tn_transfer_info *info = NULL;
            tn_head *head = NULL;
            opt.class_weight = weight;
            assert_fine(test_ctx, transfer(&s, &source, 1, &opt, &info, &head));
            for (size_t c = 0; c < K; ++c)
                check_alone(&s, c, &source, &opt, info, head);
            tn_transfer_info_free(info);
            tn_head_free(head);
        }
    scene_free(&s);
}

/* A head of representation a, and a file of its scores. */
static tn_head *head_of(const scene *s, const char *normalize, const char *transform, const char *lambda,
                        const char *name, tn_features **file)
{
    tnp_fit_options opt;
    tn_fit_info *info = NULL;
    tn_head *head = NULL;
    tn_scorer *scorer = NULL;
    float scores[ROWS * K];
    double wide[ROWS * K];
    tnp_fit_options_default(&opt);
    opt.method = TNP_METHOD_EVIDENCE;
    opt.rank.loo = 0;
    opt.rank.normalize = normalize;
    opt.rank.transform = transform;
    opt.lambda = lambda_of(lambda);
    assert_fine(test_ctx, tnp_fit(test_ctx, (const tn_features *const *)s->features, 1, s->labels, &opt, &info, &head));
    assert_fine(test_ctx,
                tn_scorer_new(test_ctx, head, (const tn_features *const *)s->features, 1, TN_NAN_ERROR, &scorer));
    assert_fine(test_ctx, tn_scorer_read(test_ctx, scorer, 0, ROWS, scores));
    for (size_t i = 0; i < ROWS * K; ++i)
        wide[i] = (double)scores[i];
    *file = features_of(name, wide, ROWS, K, AS_F64);
    tn_scorer_free(scorer);
    tn_fit_info_free(info);
    return head;
}

/* Heads as sources give what files of their scores give: two that prepare rows alike, one that does not, one more like
 * the first two behind it, and maps of the same width that are not the same. Scores are floats, and a product of
 * several heads may round them otherwise than that of one: 1e-5. */
static void heads_are_files_of_their_scores(void **state)
{
    (void)state;
    enum { HEADS = 7 };
    static const char *const names[HEADS] = {"h", "i", "j", "k", "l", "m", "n"},
                             *const normalize[HEADS] = {"l2", "l2", "zscore", "l2", "l2", "l2", "l2"},
                             *const transform[HEADS] = {"none", "none", "none", "none", "chi2", "js", "js"},
                             *const lambda[HEADS] = {"0.01", "1", "0.1", "30", "1", "1", "3"};
    static const int methods[] = {TNP_TRANSFER_BY_GREEDYTL, TNP_TRANSFER_BY_RLS, TNP_TRANSFER_BY_AUTO,
                                  TNP_TRANSFER_BY_AVERAGE};
    scene s = scene_of(ROWS, DA, DB, TN_TASK_MULTICLASS, AS_F64);
    tn_source by_head[HEADS], by_file[HEADS];
    tn_head *heads[HEADS];
    tn_features *files[HEADS];
    for (size_t h = 0; h < HEADS; ++h) {
        heads[h] = head_of(&s, normalize[h], transform[h], lambda[h], names[h], &files[h]);
        by_head[h] = (tn_source){names[h], NULL, heads[h]};
        by_file[h] = (tn_source){names[h], files[h], NULL};
    }
    for (size_t m = 0; m < sizeof methods / sizeof *methods; ++m) {
        tnp_transfer_options opt = options_of(methods[m]);
        tn_transfer_info *info[2] = {NULL, NULL};
        tn_head *a = NULL, *b = NULL;
        opt.k = 4;
        assert_fine(test_ctx, transfer(&s, by_head, HEADS, &opt, &info[0], &a));
        assert_fine(test_ctx, transfer(&s, by_file, HEADS, &opt, &info[1], &b));
        assert_int_equal(a->dim, b->dim);
        for (size_t i = 0; i < K * a->dim; ++i)
            assert_near_at(i, (double)a->weight[i], (double)b->weight[i], 1e-5);
        for (size_t i = 0; i < a->source_count; ++i) {
            assert_true(a->sources[i].is_head && !b->sources[i].is_head);
            assert_string_equal(a->sources[i].name, b->sources[i].name);
            assert_int_equal(a->sources[i].column, b->sources[i].column);
            assert_string_equal(a->sources[i].label, s.labels->names[a->sources[i].column]);
        }
        tn_transfer_info_free(info[0]);
        tn_transfer_info_free(info[1]);
        tn_head_free(a);
        tn_head_free(b);
    }
    for (size_t h = 0; h < HEADS; ++h) {
        tn_features_close(files[h]);
        tn_head_free(heads[h]);
    }
    scene_free(&s);
}

/* For a label of its own auto takes the candidate whose leave-one-out error is lowest, and says all three. */
static void auto_takes_the_lowest_error(void **state)
{
    (void)state;
    scene s = scene_of(ROWS, DA, DB, TN_TASK_MULTILABEL, AS_F64);
    const tn_source source = {"b", s.features[1], NULL};
    tnp_transfer_options opt = options_of(TNP_TRANSFER_BY_AUTO);
    tn_transfer_info *info = NULL;
    tn_head *head = NULL;
    assert_fine(test_ctx, transfer(&s, &source, 1, &opt, &info, &head));
    for (size_t c = 0; c < K; ++c) {
        const tn_transfer_class *r = &info->results[c];
        assert_true(r->loo_error <= r->none && r->loo_error <= r->rls && r->loo_error <= r->greedy);
        double own = strcmp(r->method, "none") == 0 ? r->none : strcmp(r->method, "rls") == 0 ? r->rls : r->greedy;
        assert_true(own == r->loo_error);
    }
    tn_transfer_info_free(info);
    tn_head_free(head);
    scene_free(&s);
}

static void expect_refused(const scene *s, const tn_source *sources, size_t count, const tnp_transfer_options *opt,
                           tn_status status, const char *words)
{
    tn_transfer_info *info = untouched;
    tn_head *head = untouched;
    assert_int_equal(transfer(s, sources, count, opt, &info, &head), status);
    assert_non_null(strstr(tn_ctx_message(test_ctx), words));
    assert_true(info == untouched && head == untouched);
}

static void what_is_refused(void **state)
{
    (void)state;
    scene s = scene_of(ROWS, DA, DB, TN_TASK_MULTICLASS, AS_F64),
          other = scene_of(ROWS + 1, DA, DB, TN_TASK_MULTICLASS, AS_F64);
    const tn_source good = {"b", s.features[1], NULL}, longer = {"b", other.features[1], NULL}, twins[] = {good, good};
    tnp_transfer_options opt = options_of(TNP_TRANSFER_BY_GREEDYTL);
    expect_refused(&s, NULL, 0, &opt, TN_ERR_ARG, "no source");
    expect_refused(&s, twins, 2, &opt, TN_ERR_ARG, "two sources are called b");
    expect_refused(&s, &longer, 1, &opt, TN_ERR_SHAPE, "25 rows");
    opt.k = 0;
    expect_refused(&s, &good, 1, &opt, TN_ERR_ARG, "option k: got 0");
    opt = options_of(TNP_TRANSFER_BY_DAM);
    opt.features = false;
    expect_refused(&s, &good, 1, &opt, TN_ERR_ARG, "option features no");
    opt = options_of(TNP_TRANSFER_BY_RLS);
    opt.normalize = TN_NORMALIZE_COUNT;
    expect_refused(&s, &good, 1, &opt, TN_ERR_ARG, "option normalize: got a value");
    scene_free(&s);
    scene_free(&other);
}

/* A row that a source has no score for: refused, or left out as if it had no label, or the score is zero. Left out it
 * is also where the head is applied. */
static void sources_with_nan(void **state)
{
    (void)state;
    scene s = scene_of(ROWS, DA, DB, TN_TASK_MULTICLASS, AS_F64);
    double bad[ROWS * DB], zero[ROWS * DB];
    float scores[ROWS * K];
    memcpy(bad, s.x[1], sizeof bad);
    memcpy(zero, s.x[1], sizeof zero);
    bad[5 * DB + 2] = NAN;
    zero[5 * DB + 2] = 0;
    tn_features *files[2] = {features_of("n", bad, ROWS, DB, AS_F64), features_of("z", zero, ROWS, DB, AS_F64)};
    const tn_source nan_source = {"n", files[0], NULL}, zero_source = {"n", files[1], NULL};
    tnp_transfer_options opt = options_of(TNP_TRANSFER_BY_RLS);
    tn_transfer_info *info[2] = {NULL, NULL};
    tn_head *a = NULL, *b = NULL;
    tn_scorer *scorer = NULL;
    expect_refused(&s, &nan_source, 1, &opt, TN_ERR_DATA, "row 5 holds NaN");
    opt.nan = TN_NAN_ZERO;
    assert_fine(test_ctx, transfer(&s, &nan_source, 1, &opt, &info[0], &a));
    assert_fine(test_ctx, transfer(&s, &zero_source, 1, &opt, &info[1], &b));
    assert_memory_equal(a->weight, b->weight, K * a->dim * sizeof(float));
    tn_transfer_info_free(info[0]);
    tn_transfer_info_free(info[1]);
    tn_head_free(a);
    tn_head_free(b);
    opt.nan = TN_NAN_DROP;
    assert_fine(test_ctx, transfer(&s, &nan_source, 1, &opt, &info[0], &a));
    assert_int_equal(info[0]->rows, ROWS - 1);
    assert_fine(test_ctx, tn_scorer_new_transfer(test_ctx, a, (const tn_features *const *)s.features, 1, &nan_source, 1,
                                                 TN_NAN_DROP, &scorer));
    assert_fine(test_ctx, tn_scorer_read(test_ctx, scorer, 0, ROWS, scores));
    for (size_t i = 0; i < ROWS * K; ++i)
        assert_true(isnan(scores[i]) == (i / K == 5));
    tn_scorer_free(scorer);
    tn_transfer_info_free(info[0]);
    tn_head_free(a);
    tn_features_close(files[0]);
    tn_features_close(files[1]);
    scene_free(&s);
}

static void a_missing_source_is_named(void **state)
{
    (void)state;
    scene s = scene_of(ROWS, DA, DB, TN_TASK_MULTICLASS, AS_F64);
    const tn_source source = {"b", s.features[1], NULL};
    tnp_transfer_options opt = options_of(TNP_TRANSFER_BY_RLS);
    tn_transfer_info *info = NULL;
    tn_head *head = NULL;
    tn_scorer *scorer = untouched;
    assert_fine(test_ctx, transfer(&s, &source, 1, &opt, &info, &head));
    assert_int_equal(head->source_count, DB);
    assert_int_equal(tn_scorer_new(test_ctx, head, (const tn_features *const *)s.features, 1, TN_NAN_ERROR, &scorer),
                     TN_ERR_ARG);
    assert_non_null(strstr(tn_ctx_message(test_ctx), "needs the source 'b'"));
    assert_true(scorer == untouched);
    assert_fine(test_ctx,
                tn_scorer_new(test_ctx, head, (const tn_features *const *)s.features, 2, TN_NAN_ERROR, &scorer));
    tn_scorer_free(scorer);
    tn_transfer_info_free(info);
    tn_head_free(head);
    scene_free(&s);
}

/* Each of the first hundred, then ever fewer: later ones are the same places for other classes and other rows left
 * out. */
static void every_allocation_may_fail(void **state)
{
    (void)state;
    scene s = scene_of(ROWS, DA, DB, TN_TASK_MULTICLASS, AS_F64);
    tn_features *file = NULL;
    tn_head *features = head_of(&s, "zscore", "none", "1", "h", &file);
    const tn_source sources[] = {{"b", s.features[1], NULL}, {"h", NULL, features}};
    tnp_transfer_options opt = options_of(TNP_TRANSFER_BY_AUTO);
    size_t before = tnp_live_blocks(test_ctx);
    for (size_t k = 1;; k += 1 + k / 100) {
        tn_transfer_info *info = untouched;
        tn_head *head = untouched;
        tnp_fail_allocation(test_ctx, k);
        tn_status st = transfer(&s, sources, 2, &opt, &info, &head);
        tnp_fail_allocation(test_ctx, 0);
        if (st == TN_OK) {
            tn_transfer_info_free(info);
            tn_head_free(head);
            assert_true(k > 100);
            break;
        }
        assert_int_equal(st, TN_ERR_MEMORY);
        assert_true(info == untouched && head == untouched);
        assert_int_equal(tnp_live_blocks(test_ctx), before);
    }
    tn_features_close(file);
    tn_head_free(features);
    scene_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(greedy_picks_are_the_literal_ones),
        cmocka_unit_test(a_saved_head_scores_as_its_picks_say),
        cmocka_unit_test(labels_are_problems_of_their_own),
        cmocka_unit_test(heads_are_files_of_their_scores),
        cmocka_unit_test(auto_takes_the_lowest_error),
        cmocka_unit_test(what_is_refused),
        cmocka_unit_test(sources_with_nan),
        cmocka_unit_test(a_missing_source_is_named),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
