/* SPDX-License-Identifier: BSD-3-Clause
 *
 * --transform in heads: scores are rows mapped by the loops of ref_map.c times the weights, and a head, also one
 * through a learned kernel, needs nothing but its own file. */
#include "mapped_of.h"
#include "learn/head/head.h"
#include "tenon/store.h"

/* A row of a representation as a head wants it, at `row`, from its mapped columns. */
static void prepare(const tn_rep *rep, const double *means, const double *scales, double *row)
{
    for (size_t j = 0; rep->normalize == TN_NORM_ZSCORE && j < rep->cols; ++j)
        row[j] = (row[j] - means[j]) * scales[j];
    if (rep->normalize != TN_NORM_ZSCORE && rep->normalize != TN_NORM_NONE)
        normalise_row(row, rep->cols, rep->normalize);
}

/* Scores of rows x (n, dim) that lie mapped and normalised. A value is off by e of the largest of its row (2e when both
 * it and the norm come from the table); the product in float by (D + 8) 2^-24 of the sum of the sizes. */
static void check_scores(const tn_head *head, const double *x, size_t n, const float *scores)
{
    size_t dim = tn_head_dim(head);
    for (size_t i = 0; i < n; ++i)
        for (size_t k = 0; k < tn_head_classes(head); ++k) {
            const float *w = tn_head_weight(head) + k * dim;
            double want = (double)tn_head_bias(head)[k], size = fabs(want), weights = 0, largest = 0;
            for (size_t j = 0; j < dim; ++j) {
                double v = x[i * dim + j];
                want += v * (double)w[j];
                size += fabs(v * (double)w[j]);
                weights += fabs((double)w[j]);
                largest = fmax(largest, fabs(v));
            }
            double bound = (double)(dim + 8) * 0x1p-24 * size + 2e-6 * largest * weights;
            if (!(fabs((double)scores[i * K + k] - want) <= bound)) {
                print_error("row %zu class %zu: got %.9g, want %.9g, bound %.3g\n", i, k, (double)scores[i * K + k],
                            want, bound);
                fail();
            }
        }
}

static float *scores_of(const tn_head *head, const scene *s)
{
    float *scores = ref_alloc(s->n * K, sizeof *scores);
    tn_scorer *scorer = NULL;
    assert_fine(test_ctx,
                tn_scorer_new(test_ctx, head, (const tn_features *const *)s->features, REPS, TN_NAN_ERROR, &scorer));
    assert_fine(test_ctx, tn_scorer_read(test_ctx, scorer, 0, s->n, scores));
    tn_scorer_free(scorer);
    return scores;
}

/* All columns of a head for all rows of the scene; named maps only. */
static double *columns_of(const tn_head *head, const scene *s, bool split)
{
    size_t dim = tn_head_dim(head), at = 0;
    double *x = ref_alloc(s->n * dim, sizeof *x);
    for (size_t m = 0; m < tn_head_rep_count(head); ++m) {
        tn_rep rep = tn_head_rep(head, m);
        size_t b = strcmp(rep.name, "b") == 0, width;
        int kind = -1;
        for (int k = 0; k < KINDS; ++k)
            kind = strcmp(rep.transform, words[k]) == 0 ? k : kind;
        assert_int_equal(rep.dim, s->cols[b]);
        assert_true((kind < 0) == (rep.map == NULL));
        double *part = mapped(s->x[b], s->n, s->cols[b], kind, split, &width);
        assert_int_equal(rep.cols, rep.dim * width);
        for (size_t i = 0; i < s->n; ++i) {
            memcpy(x + i * dim + at, part + i * rep.cols, rep.cols * sizeof *x);
            prepare(&rep, head->means ? head->means + at : NULL, head->scales ? head->scales + at : NULL,
                    x + i * dim + at);
        }
        at += rep.cols;
        free(part);
    }
    assert_int_equal(at, dim);
    return x;
}

/* Every method: scores are rows mapped by loops times the weights, from the file as from memory, to the bit. */
static void scores_equal_the_formula(void **state)
{
    (void)state;
    static const int methods[] = {TNP_METHOD_EVIDENCE, TNP_METHOD_RIDGE_CV, TNP_METHOD_SVM, TNP_METHOD_LOGISTIC,
                                  TNP_METHOD_PA,       TNP_METHOD_AROW,     TNP_METHOD_LDA};
    for (size_t z = 0; z < sizeof methods / sizeof *methods; ++z) {
        bool split = z % 2;
        scene s = scene_of(z < 2 ? 40 : 150, 6, 5, TN_TASK_MULTICLASS, z % 3 ? AS_F32 : AS_F64);
        tnp_fit_options opt;
        tn_fit_info *info = NULL;
        tn_head *head = NULL, *back = NULL;
        tnp_fit_options_default(&opt);
        opt.method = methods[z];
        opt.rank.transform = "chi2,none,hellinger";
        opt.rank.sign = split ? TN_SIGNED_SPLIT : TN_SIGNED_ODD;
        opt.rank.normalize = "l2,zscore";
        opt.select = TNP_SEARCH_ALL;
        assert_fine(test_ctx, fit(&s, &opt, &info, &head));
        assert_int_equal(tn_head_rep_count(head), 12);
        assert_string_equal(info->selected[0], "a+chi2+l2");
        assert_string_equal(info->selected[3], "a+zscore");
        assert_int_equal(info->chosen->dim, tn_head_dim(head));
        double *x = columns_of(head, &s, split);
        float *scores = scores_of(head, &s);
        check_scores(head, x, s.n, scores);
        const char *path = file_path("h.safetensors");
        assert_fine(test_ctx, tn_head_save(test_ctx, head, NULL, path));
        assert_fine(test_ctx, tn_head_load(test_ctx, path, &back));
        float *again = scores_of(back, &s);
        assert_memory_equal(scores, again, s.n * K * sizeof *scores);
        assert_non_null(strstr(tn_head_options(back), "\"transform\":\"chi2,none,hellinger\""));
        assert_non_null(strstr(tn_head_options(back), split ? "\"signed\":\"split\"" : "\"signed\":\"odd\""));
        free(scores);
        free(again);
        free(x);
        tn_head_free(back);
        tn_head_free(head);
        tn_fit_info_free(info);
        scene_free(&s);
    }
}

enum { N = 30, DA = 4, DB = 5, RANK = 3 };

/* A head over a, through a learned map, and b. */
static tn_head *learned_head(const tn_map_spec *spec, size_t dim, ref_rng *rng)
{
    static const char *const names[K] = {"p", "q", "r"};
    tn_head *head = NULL;
    assert_fine(test_ctx, tnp_head_new(test_ctx, TN_TASK_MULTICLASS, names, K, dim, REPS, "svm", &head));
    assert_fine(test_ctx, tnp_strdup(test_ctx, "a", &head->reps[0].name));
    assert_fine(test_ctx, tnp_strdup(test_ctx, "cnn \"x\"", &head->reps[0].transform));
    assert_fine(test_ctx, tn_map_new_learned(test_ctx, spec, &head->reps[0].map));
    assert_fine(test_ctx, tnp_strdup(test_ctx, "b", &head->reps[1].name));
    head->reps[0].dim = DA;
    head->reps[0].normalize = TN_NORM_L2;
    head->reps[1].dim = DB;
    head->reps[1].normalize = TN_NORM_ROOT;
    for (size_t i = 0; i < K * dim; ++i)
        head->weight[i] = (float)ref_normal(rng);
    return head;
}

/* Its columns by loops. */
static void learned_columns(const scene *s, const tn_map_spec *spec, size_t width, double *x)
{
    bool plain = spec->basis == TN_BASIS_FOURIER, split = spec->sign == TN_SIGNED_SPLIT;
    for (size_t i = 0, dim = DA * width + DB; i < N; ++i) {
        ref_real sum = 0, values[2 * RANK];
        for (size_t j = 0; j < DA; ++j)
            sum += fabsl((ref_real)s->x[0][i * DA + j]);
        for (size_t j = 0; j < DA; ++j) {
            ref_map_learned(plain, split, spec->weight, RANK, s->x[0][i * DA + j] / sum * spec->scale, values);
            for (size_t k = 0; k < width; ++k)
                x[i * dim + j * width + k] = (double)values[k];
        }
        memcpy(x + i * dim + DA * width, s->x[1] + i * DB, DB * sizeof *x);
        normalise_row(x + i * dim, DA * width, TN_NORM_L2);
        normalise_row(x + i * dim + DA * width, DB, TN_NORM_ROOT);
    }
}

/* A head whose first representation goes through a learned map needs nothing but its file. */
static void a_learned_map_travels_with_the_head(void **state)
{
    (void)state;
    for (int form = 0; form < 4; ++form) {
        scene s = scene_of(N, DA, DB, TN_TASK_MULTICLASS, AS_F32);
        ref_rng rng = ref_rng_of(5);
        double weight[TN_BASIS_SIZE * RANK];
        for (size_t i = 0; i < TN_BASIS_SIZE * RANK; ++i)
            weight[i] = ref_normal(&rng);
        const tn_map_spec spec = {.basis = form & 1 ? TN_BASIS_FOURIER : TN_BASIS_SCALED_FOURIER,
                                  .sign = form & 2 ? TN_SIGNED_SPLIT : TN_SIGNED_ODD,
                                  .rank = RANK,
                                  .scale = 4.0 / 3, /* some entries are beyond 1 */
                                  .weight = weight};
        size_t width = form & 2 ? 2 * RANK : RANK, dim = DA * width + DB;
        tn_head *head = learned_head(&spec, dim, &rng), *back = NULL;
        const char *path = file_path("learned.safetensors");
        assert_fine(test_ctx, tn_head_save(test_ctx, head, NULL, path));
        assert_fine(test_ctx, tn_head_load(test_ctx, path, &back));
        tn_rep rep = tn_head_rep(back, 0);
        assert_string_equal(rep.transform, "cnn \"x\"");
        assert_string_equal(tn_map_name(rep.map), "learned");
        assert_int_equal(rep.cols, DA * width);
        assert_true(tn_map_scale(rep.map) == spec.scale);
        assert_int_equal(tn_map_made_of(rep.map)->basis, spec.basis);
        assert_int_equal(tn_map_made_of(rep.map)->sign, spec.sign);
        assert_memory_equal(tn_map_made_of(rep.map)->weight, weight, sizeof weight);
        assert_string_equal(tn_head_rep(back, 1).transform, "none");
        double *x = ref_alloc(N * dim, sizeof *x);
        learned_columns(&s, &spec, width, x);
        float *scores = scores_of(back, &s);
        check_scores(back, x, N, scores);
        free(x);
        free(scores);
        tn_head_free(head);
        tn_head_free(back);
        scene_free(&s);
    }
}

/* A head to go on from must have been trained through the same maps. */
static void a_start_through_another_map(void **state)
{
    (void)state;
    static const struct {
        const char *transform;
        tn_signed sign;
        tn_status status;
    } cases[] = {{"chi2", TN_SIGNED_ODD, TN_OK},
                 {"none", TN_SIGNED_ODD, TN_ERR_ARG},
                 {"js", TN_SIGNED_ODD, TN_ERR_ARG},
                 {"chi2", TN_SIGNED_SPLIT, TN_ERR_ARG}};
    scene s = scene_of(60, 6, 5, TN_TASK_MULTICLASS, AS_F32);
    tnp_fit_options opt;
    tn_fit_info *info = NULL;
    tn_head *from = NULL;
    tnp_fit_options_default(&opt);
    opt.method = TNP_METHOD_PA;
    opt.select = TNP_SEARCH_ALL;
    opt.rank.transform = "chi2";
    assert_fine(test_ctx, fit(&s, &opt, &info, &from));
    tn_fit_info_free(info);
    opt.from = from;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        tn_head *head = NULL;
        info = NULL;
        opt.rank.transform = cases[i].transform;
        opt.rank.sign = (int)cases[i].sign;
        tn_status st = fit(&s, &opt, &info, &head);
        assert_int_equal(st, cases[i].status);
        assert_true(st == TN_OK || strstr(tn_ctx_message(test_ctx), "transform"));
        tn_fit_info_free(info);
        tn_head_free(head);
    }
    tn_head_free(from);
    scene_free(&s);
}

/* ---- kernel files ---- */

static tn_map_spec random_spec(double *weight)
{
    ref_rng rng = ref_rng_of(9);
    for (size_t i = 0; i < TN_BASIS_SIZE * RANK; ++i)
        weight[i] = ref_normal(&rng);
    return (tn_map_spec){.rank = RANK, .scale = 1.5, .weight = weight};
}

static void save_kernel(const char *path)
{
    double weight[TN_BASIS_SIZE * RANK];
    tn_map_spec spec = random_spec(weight);
    tn_map *map = NULL;
    assert_fine(test_ctx, tn_map_new_learned(test_ctx, &spec, &map));
    assert_fine(test_ctx, tn_map_save(test_ctx, map, NULL, path));
    tn_map_free(map);
}

/* Candidates by the name of the file, evidence of rows mapped by loops, and a head that needs the file no more. */
static void a_kernel_file_is_a_transform(void **state)
{
    (void)state;
    scene s = scene_of(60, DA, DB, TN_TASK_MULTICLASS, AS_F64);
    double weight[TN_BASIS_SIZE * RANK], *x = ref_alloc(60 * DB * RANK, sizeof *x);
    const tn_map_spec spec = random_spec(weight);
    char list[400];
    tnp_fit_options opt;
    tn_ranking *r = NULL;
    tn_fit_info *info = NULL;
    tn_head *head = NULL, *back = NULL;
    save_kernel(file_path("cnn.kernel.safetensors"));
    snprintf(list, sizeof list, "none,%s", file_path("cnn.kernel.safetensors"));
    tnp_fit_options_default(&opt);
    opt.rank.transform = list;
    assert_fine(test_ctx, rank(&s, &opt.rank, &r));
    assert_int_equal(r->count, 4);
    for (size_t c = 0; c < 4; ++c) {
        if (strcmp(r->candidates[c]->name, "b+cnn") != 0)
            continue;
        for (size_t i = 0; i < 60; ++i) {
            ref_real sum = 0, values[RANK];
            for (size_t j = 0; j < DB; ++j)
                sum += fabsl((ref_real)s.x[1][i * DB + j]);
            for (size_t j = 0; j < DB; ++j) {
                ref_map_learned(0, 0, weight, RANK, sum > 0 ? s.x[1][i * DB + j] / sum * spec.scale : 0, values);
                for (size_t k = 0; k < RANK; ++k)
                    x[(i * DB + j) * RANK + k] = (double)values[k];
            }
        }
        tn_candidate want = rank_file(&s, x, DB * RANK, "l2");
        assert_string_equal(r->candidates[c]->transform, "cnn");
        assert_int_equal(r->candidates[c]->dim, DB * RANK);
        assert_near(r->candidates[c]->log_evidence / (60 * K), want.log_evidence / (60 * K), 2e-6);
        x[0] = NAN; /* seen */
    }
    assert_true(isnan(x[0]));
    opt.select = TNP_SEARCH_ALL;
    assert_fine(test_ctx, fit(&s, &opt, &info, &head));
    assert_fine(test_ctx, tn_head_save(test_ctx, head, NULL, file_path("h.safetensors")));
    unlink(file_path("cnn.kernel.safetensors"));
    assert_fine(test_ctx, tn_head_load(test_ctx, file_path("h.safetensors"), &back));
    assert_string_equal(tn_head_rep(back, 1).transform, "cnn");
    float *scores = scores_of(head, &s), *again = scores_of(back, &s);
    assert_memory_equal(scores, again, 60 * K * sizeof *scores);
    free(scores);
    free(again);
    free(x);
    tn_head_free(head);
    tn_head_free(back);
    tn_fit_info_free(info);
    tn_ranking_free(r);
    scene_free(&s);
}

static void kernel_files_without_sense(void **state)
{
    (void)state;
    static const struct {
        const char *first, *second; /* files of the test's folder, or NULL */
        tn_status status;
        const char *part;
    } cases[] = {
        {"none.kernel", NULL, TN_ERR_ARG, "'none', which is taken"},
        {"chi2.kernel", NULL, TN_ERR_ARG, "'chi2', which is taken"},
        {"a.kernel", "a.other", TN_ERR_ARG, "'a' is named twice"},
        {"missing.kernel", NULL, TN_ERR_IO, "missing.kernel', expected none|hellinger"},
        {"empty.kernel", NULL, TN_ERR_FORMAT, "empty.kernel"},
        {"a.kernel", "empty.kernel", TN_ERR_FORMAT, "empty.kernel"},
    };
    static const char *const kernels[] = {"none.kernel", "chi2.kernel", "a.kernel", "a.other"};
    scene s = scene_of(20, 4, 5, TN_TASK_MULTICLASS, AS_F32);
    size_t blocks = tnp_live_blocks(test_ctx);
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; ++i)
        save_kernel(file_path(kernels[i]));
    write_text("empty.kernel", "");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char list[1200], first[600];
        tnp_rank_options opt;
        tn_ranking *r = NULL;
        snprintf(first, sizeof first, "%s", file_path(cases[i].first));
        snprintf(list, sizeof list, "%s%s%s", first, cases[i].second ? "," : "",
                 cases[i].second ? file_path(cases[i].second) : "");
        tnp_rank_options_default(&opt);
        opt.transform = list;
        assert_fails(test_ctx, cases[i].status, cases[i].part, rank(&s, &opt, &r));
        assert_null(r);
        assert_int_equal(tnp_live_blocks(test_ctx), blocks);
    }
    scene_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_equal_the_formula),    cmocka_unit_test(a_learned_map_travels_with_the_head),
        cmocka_unit_test(a_start_through_another_map), cmocka_unit_test(a_kernel_file_is_a_transform),
        cmocka_unit_test(kernel_files_without_sense),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
