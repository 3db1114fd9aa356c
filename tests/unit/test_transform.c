/* SPDX-License-Identifier: BSD-3-Clause
 *
 * --transform on the whole way, against rows that were mapped beforehand by the loops of ref_map.c: a ranking through the map
 * is the ranking of a file of such rows, scores of a head are those rows times its weights.
 *
 * Tolerances. Values of chi2, intersection and js come from a table and are within e = 1e-6 of the largest value of their octave
 * (tenon/transform.h); hellinger is a square root, in double files exact to their rounding. A relative error e of all columns
 * is one of 2e in every eigenvalue and in R, and F is a sum of N K halves of logarithms of them: 2e on the scale N K. */
#include "scene_of.h"
#include "learn/head.h"
#include "ref_map.h"

#include "tenon/report.h"

enum { KINDS = 4, MOST = 14 }; /* named maps; values an entry at most, split */

static const char *const words[KINDS] = {"hellinger", "chi2", "intersection", "js"};

/* ---- rows mapped by loops ---- */

/* x (n,d) through map `kind` (-1: none), (n, d * width). Owned by the test. */
static double *mapped(const double *x, size_t n, size_t d, int kind, bool split, size_t *width)
{
    *width = kind < 0 ? 1 : (kind == 0 ? 1u : 7u) * (split ? 2u : 1u);
    double *out = ref_alloc(n * d * *width, sizeof *out);
    ref_real values[MOST];
    for (size_t i = 0; i < n; ++i) {
        ref_real sum = 0;
        for (size_t j = 0; j < d; ++j)
            sum += fabsl((ref_real)x[i * d + j]);
        for (size_t j = 0; j < d; ++j) {
            values[0] = x[i * d + j];
            if (kind >= 0)
                ref_map_named(kind, split, sum > 0 ? values[0] / sum : 0, values);
            for (size_t k = 0; k < *width; ++k)
                out[(i * d + j) * *width + k] = (double)values[k];
        }
    }
    return out;
}

/* Evidence of one representation whose rows are mapped already. */
static tn_candidate rank_file(const scene *s, const double *x, size_t cols, const char *normalize)
{
    tn_source *src = open_source(write_matrix("mapped.npy", x, s->n, cols, AS_F64));
    tn_rank_options opt;
    tn_ranking *r = NULL;
    tn_rank_options_default(&opt);
    opt.normalize = normalize;
    opt.loo = "all";
    assert_fine(test_ctx, tn_rank(test_ctx, (const tn_source *const *)&src, 1, s->labels, &opt, &r));
    assert_null(r->candidates[0].transform);
    tn_candidate c = r->candidates[0];
    c.name = NULL;
    tn_ranking_free(r);
    tn_source_close(src);
    return c;
}

/* What "b+chi2+root" says: representation, map (-1: none) and normalisation. */
static void parse(const char *name, size_t *rep, int *kind, const char **normalize)
{
    const char *last = strrchr(name, '+'), *middle = strchr(name, '+');
    *rep = name[0] == 'b';
    *kind = -1;
    *normalize = last + 1;
    for (int k = 0; k < KINDS && middle != last; ++k)
        if (strlen(words[k]) == (size_t)(last - middle) - 1 && strncmp(middle + 1, words[k], strlen(words[k])) == 0)
            *kind = k;
    assert_true(middle == last || *kind >= 0);
    assert_true(name[1] == '+');
}

/* ---- rank ---- */

static void check_rank(size_t n, size_t da, size_t db, stored as, bool split)
{
    scene s = scene_of(n, da, db, TN_TASK_MULTICLASS, as);
    double scale = (double)(n * K);
    tn_rank_options opt;
    tn_ranking *r = NULL;
    tn_rank_options_default(&opt);
    opt.transform = "none,hellinger,chi2,intersection,js";
    opt.sign = split ? TN_SIGNED_SPLIT : TN_SIGNED_ODD;
    opt.normalize = "l2,root,zscore";
    opt.loo = "all";
    assert_fine(test_ctx, rank(&s, &opt, &r));
    assert_int_equal(r->count, 30);
    for (size_t i = 0; i < r->count; ++i) {
        const tn_candidate *c = &r->candidates[i];
        size_t rep, width;
        int kind;
        const char *normalize;
        parse(c->name, &rep, &kind, &normalize);
        double *x = mapped(s.x[rep], n, s.cols[rep], kind, split, &width);
        tn_candidate want = rank_file(&s, x, s.cols[rep] * width, normalize);
        double e = as != AS_F64 || kind > 0 ? 2e-6 : 1e-9;
        assert_string_equal(c->transform, kind < 0 ? "none" : words[kind]);
        assert_int_equal(c->dim, s.cols[rep] * width);
        assert_near_at(i, c->log_evidence_shared / scale, want.log_evidence_shared / scale, e);
        assert_near_at(i, c->log_evidence / scale, want.log_evidence / scale, e);
        assert_near_at(i, c->loo_accuracy, want.loo_accuracy, 1e-9);
        for (size_t j = 0; j < i; ++j)
            assert_string_not_equal(c->name, r->candidates[j].name);
        free(x);
    }
    tn_ranking_free(r);
    scene_free(&s);
}

/* Few rows: mapped columns are many, and the problem is that of the rows. Many rows: that of the columns. */
static void ranking_equals_that_of_rows_mapped_before(void **state)
{
    (void)state;
    check_rank(400, 5, 9, AS_F64, false);
    check_rank(400, 5, 9, AS_F32, true);
    check_rank(60, 11, 7, AS_F64, true);
    check_rank(60, 11, 7, AS_F32, false);
}

/* One transform: every representation goes through it, and goes by its plain name. */
static void one_transform_and_plain_names(void **state)
{
    (void)state;
    scene s = scene_of(40, 6, 5, TN_TASK_MULTICLASS, AS_F64);
    tn_rank_options opt;
    tn_ranking *r = NULL, *root = NULL;
    tn_rank_options_default(&opt);
    opt.transform = "hellinger";
    assert_fine(test_ctx, rank(&s, &opt, &r));
    opt.transform = "none";
    opt.normalize = "root";
    assert_fine(test_ctx, rank(&s, &opt, &root));
    assert_int_equal(r->count, REPS);
    for (size_t i = 0; i < REPS; ++i) { /* the root of a row of any length, then l2, is the same */
        assert_string_equal(r->candidates[i].name, root->candidates[i].name);
        assert_string_equal(r->candidates[i].transform, "hellinger");
        assert_null(root->candidates[i].transform);
        assert_near(r->candidates[i].log_evidence, root->candidates[i].log_evidence, 1e-9);
    }
    tn_ranking_free(r);
    tn_ranking_free(root);
    scene_free(&s);
}

static void transforms_without_sense(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"", "got ''"},          {"chi3", "got 'chi3'"},   {"chi2,", "got ''"},
        {",chi2", "got ''"},     {"Chi2", "got 'Chi2'"},   {"chi2,js,chi2", "'chi2' is named twice"},
        {"none,none", "'none'"}, {"chi2 ", "got 'chi2 '"}, {"chi2|js", "got 'chi2|js'"},
    };
    scene s = scene_of(20, 4, 5, TN_TASK_MULTICLASS, AS_F32);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        tn_rank_options opt;
        tn_ranking *r = (tn_ranking *)(void *)test_folder;
        size_t blocks = tnp_live_blocks(test_ctx);
        tn_rank_options_default(&opt);
        opt.transform = bad[i][0];
        assert_fails(test_ctx, TN_ERR_ARG, bad[i][1], rank(&s, &opt, &r));
        assert_non_null(strstr(tn_ctx_message(test_ctx), "--transform"));
        assert_ptr_equal(r, test_folder);
        assert_int_equal(tnp_live_blocks(test_ctx), blocks);
    }
    scene_free(&s);
}

/* ---- heads ---- */

/* A row of a representation as a head wants it, at `row`, from its mapped columns. */
static void prepare(const tn_rep *rep, const double *means, const double *scales, double *row)
{
    for (size_t j = 0; rep->normalize == TN_NORM_ZSCORE && j < rep->cols; ++j)
        row[j] = (row[j] - means[j]) * scales[j];
    if (rep->normalize != TN_NORM_ZSCORE && rep->normalize != TN_NORM_NONE)
        normalise_row(row, rep->cols, rep->normalize);
}

/* Scores of rows x (n, dim) that lie mapped and normalised. A value is off by e of the largest of its row (2e when both it and
 * the norm come from the table); the product in float by (D + 8) 2^-24 of the sum of the sizes. */
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
    assert_fine(test_ctx, tn_scorer_new(test_ctx, head, (const tn_source *const *)s->src, REPS, TN_NAN_ERROR, &scorer));
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
    static const int methods[] = {TN_METHOD_EVIDENCE, TN_METHOD_RIDGE_CV, TN_METHOD_SVM,
                                  TN_METHOD_LOGISTIC, TN_METHOD_PA,       TN_METHOD_AROW};
    for (size_t z = 0; z < sizeof methods / sizeof *methods; ++z) {
        bool split = z % 2;
        scene s = scene_of(z < 2 ? 40 : 150, 6, 5, TN_TASK_MULTICLASS, z % 3 ? AS_F32 : AS_F64);
        tn_fit_options opt;
        tn_fit_info *info = NULL;
        tn_head *head = NULL, *back = NULL;
        tn_fit_options_default(&opt);
        opt.method = methods[z];
        opt.rank.transform = "chi2,none,hellinger";
        opt.rank.sign = split ? TN_SIGNED_SPLIT : TN_SIGNED_ODD;
        opt.rank.normalize = "l2,zscore";
        opt.select = TN_SEARCH_ALL;
        assert_fine(test_ctx, fit(&s, &opt, &info, &head));
        assert_int_equal(tn_head_rep_count(head), 12);
        assert_string_equal(info->selected[0], "a+chi2+l2");
        assert_string_equal(info->selected[3], "a+zscore");
        assert_int_equal(info->chosen.dim, tn_head_dim(head));
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
    tn_fit_options opt;
    tn_fit_info *info = NULL;
    tn_head *from = NULL;
    tn_fit_options_default(&opt);
    opt.method = TN_METHOD_PA;
    opt.select = TN_SEARCH_ALL;
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

/* With the k-th allocation failing, for every k until it succeeds. */
static void every_allocation_may_fail(void **state)
{
    (void)state;
    scene s = scene_of(20, 4, 5, TN_TASK_MULTICLASS, AS_F32);
    size_t blocks = tnp_live_blocks(test_ctx), k = 1;
    tn_fit_options opt;
    tn_ctx_set_threads(test_ctx, 1);
    tn_fit_options_default(&opt);
    opt.rank.transform = "hellinger,none,chi2";
    opt.rank.normalize = "zscore,l2";
    opt.select = TN_SEARCH_ALL;
    for (;; ++k) {
        tn_fit_info *info = NULL;
        tn_head *head = NULL;
        tnp_fail_allocation(test_ctx, k);
        tn_status st = fit(&s, &opt, &info, &head);
        tnp_fail_allocation(test_ctx, 0);
        assert_true((st == TN_OK) == (info != NULL) && (st == TN_OK) == (head != NULL));
        tn_fit_info_free(info);
        tn_head_free(head);
        assert_int_equal(tnp_live_blocks(test_ctx), blocks);
        if (st == TN_OK)
            break;
        assert_int_equal(st, TN_ERR_MEMORY);
    }
    assert_true(k > 200);
    tn_ctx_set_threads(test_ctx, 0);
    scene_free(&s);
}

/* The same choices and, to rounding of the BLAS, the same numbers with any number of threads. */
static void threads_change_nothing(void **state)
{
    (void)state;
    const size_t threads[] = {1, 2, 3, 7};
    scene s = scene_of(700, 30, 40, TN_TASK_MULTICLASS, AS_F32);
    tn_fit_info *first = NULL;
    tn_head *head_first = NULL;
    for (size_t t = 0; t < 4; ++t) {
        tn_fit_options opt;
        tn_fit_info *info = NULL;
        tn_head *head = NULL;
        tn_fit_options_default(&opt);
        opt.rank.transform = "chi2,hellinger";
        opt.rank.loo = "0";
        tn_ctx_set_threads(test_ctx, threads[t]);
        assert_fine(test_ctx, fit(&s, &opt, &info, &head));
        if (t == 0) {
            first = info;
            head_first = head;
            continue;
        }
        for (size_t i = 0; i < info->ranking->count; ++i) {
            assert_string_equal(info->ranking->candidates[i].name, first->ranking->candidates[i].name);
            assert_near_at(i, info->ranking->candidates[i].log_evidence, first->ranking->candidates[i].log_evidence,
                           1e-10);
        }
        assert_int_equal(tn_head_dim(head), tn_head_dim(head_first));
        for (size_t i = 0; i < K * tn_head_dim(head); ++i)
            assert_near_at(i, tn_head_weight(head)[i], tn_head_weight(head_first)[i], 1e-6);
        tn_fit_info_free(info);
        tn_head_free(head);
    }
    tn_fit_info_free(first);
    tn_head_free(head_first);
    tn_ctx_set_threads(test_ctx, 0);
    scene_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranking_equals_that_of_rows_mapped_before),
        cmocka_unit_test(one_transform_and_plain_names),
        cmocka_unit_test(transforms_without_sense),
        cmocka_unit_test(scores_equal_the_formula),
        cmocka_unit_test(a_learned_map_travels_with_the_head),
        cmocka_unit_test(a_start_through_another_map),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(threads_change_nothing),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
