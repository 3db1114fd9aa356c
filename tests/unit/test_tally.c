/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tallies of parts, merged in any order, less a part again: the moments of all rows, summed by loops in long double.
 * Tolerance of an entry: 1e-12 of the root of the product of its diagonal entries. Sums of 330 terms round by 330 2^-53 =
 * 4e-14 of that, moving frames by as much again. */
#include "tally_of.h"
#include "team_of.h"
#include "tenon/store.h"

static const size_t cuts[] = {0, 90, 91, 250, TALLY_N};
enum { PARTS = 4 };

static int setup(void **state)
{
    return files_setup(state);
}

static int teardown(void **state)
{
    return files_teardown(state);
}

/* ---- the oracle ---- */

typedef struct sums {
    long double gram[TALLY_D][TALLY_D], xty[TALLY_K][TALLY_D], mean[TALLY_D], ymean[TALLY_K], yy[TALLY_K], weight;
    size_t rows;
} sums;

static double weight_of(const tally_scene *s, size_t i)
{
    return s->labels->weights ? s->labels->weights[i] : 1;
}

/* Centred, of the rows [from, to) that have a label and, with a fold, are of it. */
static sums sums_of(const tally_scene *s, size_t from, size_t to, const tn_tally *folds, size_t fold)
{
    sums m = {.weight = 0};
    bool in[TALLY_N];
    for (size_t i = from; i < to; ++i) {
        in[i] = s->labels->known[i] && (!folds || tnp_tally_fold(folds, folds->inputs[0].id, i) == fold);
        if (!in[i])
            continue;
        long double g = weight_of(s, i);
        m.weight += g;
        ++m.rows;
        for (size_t j = 0; j < TALLY_D; ++j)
            m.mean[j] += g * s->x[i * TALLY_D + j];
        for (size_t k = 0; k < TALLY_K; ++k)
            m.ymean[k] += g * s->a.y[i * TALLY_K + k];
    }
    for (size_t j = 0; j < TALLY_D; ++j)
        m.mean[j] /= m.weight;
    for (size_t k = 0; k < TALLY_K; ++k)
        m.ymean[k] /= m.weight;
    for (size_t i = from; i < to; ++i) {
        long double g = in[i] ? weight_of(s, i) : 0;
        for (size_t j = 0; in[i] && j < TALLY_D; ++j)
            for (size_t l = 0; l < TALLY_D; ++l)
                m.gram[j][l] += g * (s->x[i * TALLY_D + j] - m.mean[j]) * (s->x[i * TALLY_D + l] - m.mean[l]);
        for (size_t k = 0; in[i] && k < TALLY_K; ++k) {
            long double y = s->a.y[i * TALLY_K + k] - m.ymean[k];
            m.yy[k] += g * y * y;
            for (size_t j = 0; j < TALLY_D; ++j)
                m.xty[k][j] += g * y * (s->x[i * TALLY_D + j] - m.mean[j]);
        }
    }
    return m;
}

static void close_to(double got, long double want, long double scale, double tolerance)
{
    if (!(fabsl((long double)got - want) <= (long double)tolerance * scale))
        fail_msg("got %.17g, want %.17Lg within %g of %.3Lg", got, want, tolerance, scale);
}

/* Moments against the oracle. Targets have their offset off: means get it back. */
static void assert_moments(const tnp_moments *m, const double *offset, const sums *want, double tolerance)
{
    double gram[TALLY_D * TALLY_D], xty[TALLY_K * TALLY_D], yy[TALLY_K], mean[TALLY_D], ymean[TALLY_K];
    tnp_range all = {0, TALLY_D};
    assert_int_equal(m->rows, want->rows);
    assert_int_equal(m->classes, TALLY_K);
    close_to(m->weight, want->weight, want->weight, 1e-14);
    tnp_moments_of(m, &all, 1, true, gram, xty, yy, mean, ymean);
    for (size_t i = 0; i < TALLY_D; ++i) {
        close_to(mean[i], want->mean[i], fabsl(want->mean[i]) + sqrtl(want->gram[i][i] / want->weight), tolerance);
        for (size_t j = i; j < TALLY_D; ++j)
            close_to(gram[i * TALLY_D + j], want->gram[i][j], sqrtl(want->gram[i][i] * want->gram[j][j]), tolerance);
    }
    for (size_t k = 0; k < TALLY_K; ++k) {
        close_to(yy[k], want->yy[k], want->yy[k], tolerance);
        close_to(ymean[k] + offset[k], want->ymean[k], fabsl(want->ymean[k]) + 1, tolerance);
        for (size_t j = 0; j < TALLY_D; ++j)
            close_to(xty[k * TALLY_D + j], want->xty[k][j], sqrtl(want->gram[j][j] * want->yy[k]), tolerance);
    }
}

static void assert_tally(const tn_tally *t, const tally_scene *s, size_t from, size_t to, double tolerance)
{
    const tnp_moments *all = NULL;
    tnp_moments *owned = NULL;
    sums want = sums_of(s, from, to, NULL, 0);
    assert_fine(test_ctx, tnp_tally_all(test_ctx, t, false, &owned, &all));
    assert_moments(all, t->offset, &want, tolerance);
    assert_int_equal(tn_tally_rows(t) + tn_tally_left_out(t), to - from);
    tn_moments_free(owned);
}

/* ---- merging ---- */

/* Chains from both ends and a tree. */
static tn_tally *merged(tally_scene *s, int way)
{
    static const size_t orders[3][PARTS] = {{0, 1, 2, 3}, {3, 2, 1, 0}, {2, 0, 3, 1}};
    tn_tally *part[PARTS];
    for (size_t p = 0; p < PARTS; ++p)
        part[p] = tally_of(s, cuts[orders[way][p]], cuts[orders[way][p] + 1]);
    if (way == 2) {
        assert_fine(test_ctx, tn_tally_merge(test_ctx, part[2], part[3]));
        assert_fine(test_ctx, tn_tally_merge(test_ctx, part[0], part[1]));
        assert_fine(test_ctx, tn_tally_merge(test_ctx, part[0], part[2]));
    } else {
        for (size_t p = 1; p < PARTS; ++p)
            assert_fine(test_ctx, tn_tally_merge(test_ctx, part[0], part[p]));
    }
    for (size_t p = 1; p < PARTS; ++p)
        tn_tally_free(part[p]);
    return part[0];
}

static void parts_in_any_order_are_all_rows(void **state)
{
    (void)state;
    static const char *const kinds[] = {"l2", "none"};
    for (int task = TN_TASK_MULTICLASS; task <= TN_TASK_REGRESSION; ++task)
        for (int weighted = 0; weighted < 2; ++weighted)
            for (int folds = 1; folds <= 3; folds += 2) {
                tally_scene s = tally_scene_of((tn_task)task, weighted != 0, kinds[weighted]);
                s.options.folds = (size_t)folds;
                for (int way = 0; way < 3; ++way) {
                    tn_tally *t = merged(&s, way);
                    assert_tally(t, &s, 0, TALLY_N, 1e-12);
                    assert_int_equal(tn_tally_input_count(t), PARTS);
                    tn_tally_free(t);
                }
                tally_scene_free(&s);
            }
}

/* Every row is in the fold that its number has, however the rows are cut; folds are about as large as one another. */
static void folds_do_not_depend_on_the_cuts(void **state)
{
    (void)state;
    tally_scene s = tally_scene_of(TN_TASK_MULTICLASS, false, "l2");
    s.options.folds = 3;
    tn_tally *whole = tally_of(&s, 0, TALLY_N), *parts = merged(&s, 2);
    for (size_t f = 0; f < 3; ++f) {
        sums want = sums_of(&s, 0, TALLY_N, whole, f);
        assert_moments(whole->fold[f], whole->offset, &want, 1e-12);
        assert_moments(parts->fold[f], parts->offset, &want, 1e-12);
        /* binomial: 110 rows, deviation 8.6; four of them */
        assert_in_range(whole->fold[f]->rows, 75, 145);
    }
    s.options.rank.seed = 1;
    tn_tally *other = tally_of(&s, 0, TALLY_N);
    assert_fails(test_ctx, TN_ERR_SHAPE, "seed", tn_tally_merge(test_ctx, whole, other));
    tn_tally_free(other);
    tn_tally_free(whole);
    tn_tally_free(parts);
    tally_scene_free(&s);
}

/* ---- classes ---- */

/* Rows of memory with one class name each, in order. */
static tn_tally *named(const double *x, const char *const *names, size_t rows)
{
    tn_features *features = array_of("x", x, rows, 2, AS_F64);
    tn_labels *labels = NULL;
    tn_tally *t = NULL;
    char text[400] = "";
    for (size_t i = 0; i < rows; ++i) {
        strcat(text, names[i]);
        strcat(text, "\n");
    }
    assert_fine(test_ctx, tn_labels_open(test_ctx, write_text("y.txt", text), TN_TASK_MULTICLASS, &labels));
    assert_fine(test_ctx, tn_tally_gather(test_ctx, (const tn_features *const *)&features, 1, labels, NULL, &t));
    tn_labels_free(labels);
    tn_features_close(features);
    return t;
}

static void classes_are_united_by_name(void **state)
{
    (void)state;
    const double x[] = {1, 2, 3, -1, 2, 2, 5, 1, 0, 3, 4, 4};
    const char *const first[] = {"10", "9", "10"}, *const second[] = {"2", "10", "11"};
    const char *const want[] = {"2", "9", "10", "11"};
    const double rows[] = {1, 1, 3, 1};
    for (int way = 0; way < 2; ++way) {
        tn_tally *a = named(x, first, 3), *b = named(x + 6, second, 3), *into = way ? b : a, *from = way ? a : b;
        assert_fine(test_ctx, tn_tally_merge(test_ctx, into, from));
        assert_int_equal(tn_tally_classes(into), 4);
        for (size_t k = 0; k < 4; ++k) {
            assert_string_equal(tn_tally_class_names(into)[k], want[k]);
            assert_true(tn_tally_positives(into, k) == rows[k]);
        }
        assert_int_equal(tn_tally_input_count(into), 1); /* rows of memory are only counted */
        double lost = NAN;
        assert_fine(test_ctx, tn_tally_subtract(test_ctx, into, from, &lost));
        assert_int_equal(tn_tally_classes(into), way ? 3 : 2);
        assert_string_equal(tn_tally_class_names(into)[0], way ? "2" : "9");
        assert_true(lost >= 0 && lost < 3);
        tn_tally_free(a);
        tn_tally_free(b);
    }
}

static void parts_that_are_not_alike(void **state)
{
    (void)state;
    tally_scene s = tally_scene_of(TN_TASK_MULTICLASS, false, "l2"),
                r = tally_scene_of(TN_TASK_REGRESSION, false, "l2");
    tn_tally *t = tally_of(&s, 0, 90), *other = tally_of(&r, 90, 200);
    assert_fails(test_ctx, TN_ERR_DATA, "regression", tn_tally_merge(test_ctx, t, other));
    tn_tally_free(other);
    s.options.rank.normalize = "root";
    other = tally_of(&s, 90, 200);
    assert_fails(test_ctx, TN_ERR_SHAPE, "normalisation", tn_tally_merge(test_ctx, t, other));
    assert_fails(test_ctx, TN_ERR_SHAPE, "normalisation", tn_tally_subtract(test_ctx, t, other, NULL));
    tn_tally_free(other);
    s.options.rank.normalize = "l2";
    s.options.folds = 2;
    other = tally_of(&s, 90, 200);
    assert_fails(test_ctx, TN_ERR_SHAPE, "2 folds", tn_tally_merge(test_ctx, t, other));
    tn_tally_free(other);
    s.options.folds = 1;
    s.options.rank.normalize = "zscore";
    assert_fails(test_ctx, TN_ERR_ARG, "zscore",
                 tnp_tally_gather(test_ctx, tally_features(&s), 2, s.labels, &s.options, &other));
    s.options.rank.normalize = "l2";
    static const char *const wrong[] = {"5", "5:5", "7:3", "-1:3", "a:b", "0:99999999999999999999999", "::"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        s.options.rows = wrong[i];
        assert_fails(test_ctx, TN_ERR_ARG, "option rows",
                     tnp_tally_gather(test_ctx, tally_features(&s), 2, s.labels, &s.options, &other));
    }
    s.options.rows = "300:331";
    assert_fails(test_ctx, TN_ERR_SHAPE, "330 rows",
                 tnp_tally_gather(test_ctx, tally_features(&s), 2, s.labels, &s.options, &other));
    assert_tally(t, &s, 0, 90, 1e-12); /* as it was */
    tn_tally_free(t);
    tally_scene_free(&s);
    tally_scene_free(&r);
}

/* ---- rows that are in ---- */

static void a_row_goes_in_once(void **state)
{
    (void)state;
    tally_scene s = tally_scene_of(TN_TASK_MULTICLASS, false, "l2");
    tn_tally *t = tally_of(&s, 0, 100), *more = tally_of(&s, 99, 200), *next = tally_of(&s, 100, 200);
    assert_fails(test_ctx, TN_ERR_DATA, "rows 99 to 200 overlap with rows 0 to 100", tn_tally_merge(test_ctx, t, more));
    assert_fails(test_ctx, TN_ERR_DATA, "overlap", tn_tally_merge(test_ctx, t, t));
    assert_fine(test_ctx, tn_tally_merge(test_ctx, t, next));
    assert_fails(test_ctx, TN_ERR_DATA, "overlap", tn_tally_merge(test_ctx, t, next));
    assert_tally(t, &s, 0, 200, 1e-12);
    tn_tally_free(more);
    tn_tally_free(next);

    tn_tally_free(t);
    tally_scene_free(&s);
}

static tn_features *open_as(const char *name, const char *path)
{
    char rep[600];
    tn_features *features = NULL;
    snprintf(rep, sizeof rep, "%s=%s", name, path);
    assert_fine(test_ctx, tn_features_open(test_ctx, rep, &features));
    return features;
}

/* The same rows in other files: copies, and files of some of the rows. */
static void the_same_rows_under_another_name(void **state)
{
    (void)state;
    enum { SOME = 100 };
    tally_scene s = tally_scene_of(TN_TASK_MULTICLASS, false, "l2"), copy = s, some = s;
    tn_tally *t = tally_of(&s, 0, SOME);
    copy.features[0] = open_as("a", write_matrix("c.npy", s.a.x, TALLY_N, TALLY_A, AS_F64));
    copy.features[1] = open_as("b", write_matrix("d.npy", s.b.x, TALLY_N, TALLY_B, AS_F64));
    tn_tally *same = tally_of(&copy, 50, 60);
    assert_fails(test_ctx, TN_ERR_DATA, "c.npy: rows 50 to 60 overlap", tn_tally_merge(test_ctx, t, same));
    some.features[0] = open_as("a", write_matrix("e.npy", s.a.x, SOME, TALLY_A, AS_F64));
    some.features[1] = open_as("b", write_matrix("f.npy", s.b.x, SOME, TALLY_B, AS_F64));
    some.labels = labels_of(s.a.y, SOME, TALLY_K, s.task);
    tn_tally *part = tally_of(&some, 0, SOME);
    assert_fails(test_ctx, TN_ERR_DATA, "e.npy: rows 0 to 100 are the same as rows 0 to 100 of",
                 tn_tally_merge(test_ctx, t, part));
    for (size_t f = 0; f < 2; ++f) {
        tn_features_close(copy.features[f]);
        tn_features_close(some.features[f]);
    }
    labels_done(some.labels);
    tn_tally_free(t);
    tn_tally_free(same);
    tn_tally_free(part);
    tally_scene_free(&s);
}

/* ---- taking rows out ---- */

/* The error of what is left is within what is told: 2^-52 times the digits that are lost, times 100 for 330 terms. */
static void what_was_merged_can_be_taken_out(void **state)
{
    (void)state;
    for (int task = TN_TASK_MULTICLASS; task <= TN_TASK_REGRESSION; ++task)
        for (int large = 0; large < 2; ++large) {
            tally_scene s = tally_scene_of((tn_task)task, task == TN_TASK_MULTILABEL, "none");
            double lost = NAN;
            for (size_t i = 0; large && i < 90 * TALLY_A; ++i) /* the part that goes is a thousand times as large */
                s.x[i / TALLY_A * TALLY_D + i % TALLY_A] = s.a.x[i] *= 1000;
            tn_features_close(s.features[0]);
            s.features[0] = open_as("a", write_matrix("a.npy", s.a.x, TALLY_N, TALLY_A, AS_F64));
            tn_tally *t = merged(&s, 1), *part = tally_of(&s, 0, 90), *strange = tally_of(&s, 0, 91);
            assert_fails(test_ctx, TN_ERR_DATA, "no part that went into",
                         tn_tally_subtract(test_ctx, t, strange, NULL));
            assert_fine(test_ctx, tn_tally_subtract(test_ctx, t, part, &lost));
            assert_true(large ? lost > 5 && lost < 8 : lost < 1);
            assert_tally(t, &s, 90, TALLY_N, 100 * 0x1p-52 * pow(10, lost));
            assert_fails(test_ctx, TN_ERR_DATA, "no part", tn_tally_subtract(test_ctx, t, part, NULL));
            assert_fine(test_ctx, tn_tally_merge(test_ctx, t, part)); /* and be put back */
            assert_tally(t, &s, 0, TALLY_N, 1e-12);
            tn_tally_free(t);
            tn_tally_free(part);
            tn_tally_free(strange);
            tally_scene_free(&s);
        }
}

/* A part of other values under the same numbers was never in. */
static void other_values_are_not_taken_out(void **state)
{
    (void)state;
    tally_scene s = tally_scene_of(TN_TASK_MULTICLASS, false, "l2");
    tn_tally *t = merged(&s, 0), *part = tally_of(&s, 90, 91);
    part->inputs[0].digest += 1;
    assert_fails(test_ctx, TN_ERR_DATA, "other values", tn_tally_subtract(test_ctx, t, part, NULL));
    assert_tally(t, &s, 0, TALLY_N, 1e-12);
    tn_tally_free(t);
    tn_tally_free(part);
    tally_scene_free(&s);
}

/* ---- hard cases ---- */

/* No labelled row at all is no fault; it merges with others, whichever is first. */
static void a_part_may_be_empty(void **state)
{
    (void)state;
    tally_scene s = tally_scene_of(TN_TASK_REGRESSION, false, "l2");
    bool known[TALLY_N];
    memcpy(known, s.labels->known, sizeof known);
    memset(s.labels->known, 0, 90);
    tn_tally *empty = tally_of(&s, 0, 90), *t = tally_of(&s, 90, TALLY_N);
    memcpy(s.labels->known, known, sizeof known);
    assert_int_equal(tn_tally_rows(empty), 0);
    assert_int_equal(tn_tally_left_out(empty), 90);
    assert_fine(test_ctx, tn_tally_merge(test_ctx, empty, t));
    assert_int_equal(tn_tally_left_out(empty), 92); /* rows 137 and 234 have no label */
    empty->left_out -= 90;
    assert_tally(empty, &s, 90, TALLY_N, 1e-12);
    tn_tally_free(empty);
    tn_tally_free(t);
    tally_scene_free(&s);
}

static void bad_rows_are_dropped_or_told(void **state)
{
    (void)state;
    tally_scene s = tally_scene_of(TN_TASK_MULTICLASS, false, "l2");
    tn_tally *t = NULL;
    s.a.x[3 * TALLY_A] = NAN;
    tn_features_close(s.features[0]);
    s.features[0] = open_as("a", write_matrix("a.npy", s.a.x, TALLY_N, TALLY_A, AS_F64));
    assert_fails(test_ctx, TN_ERR_DATA, "row 3",
                 tnp_tally_gather(test_ctx, tally_features(&s), 2, s.labels, &s.options, &t));
    assert_null(t);
    s.options.rank.nan = TN_NAN_DROP;
    t = tally_of(&s, 0, TALLY_N);
    s.labels->known[3] = false;
    assert_tally(t, &s, 0, TALLY_N, 1e-12);
    tn_tally_free(t);
    tally_scene_free(&s);
}

/* ---- teams ---- */

enum { TEAM_N = 1300, TEAM_D = 3 };

typedef struct team_job {
    const tn_features *features;
    const tn_labels *labels;
    tnp_tally_options options;
    void *bytes[TEAM_MOST];
    size_t size[TEAM_MOST];
} team_job;

static tn_status gather_part(tn_ctx *ctx, size_t rank, void *arg)
{
    team_job *job = arg;
    tn_tally *t = NULL;
    tn_status st = tnp_tally_gather(ctx, &job->features, 1, job->labels, &job->options, &t);
    if (st == TN_OK)
        st = tn_tally_to_bytes(ctx, t, "x", &job->bytes[rank], &job->size[rank]);
    tn_tally_free(t);
    return st;
}

/* Sums of 1300 terms in parts: 1300 2^-53 = 1.4e-13 of the largest. */
static void same_sums(const double *a, const double *b, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; ++i)
        most = fmax(most, fabs(b[i]));
    for (size_t i = 0; i < n; ++i)
        assert_near_at(i, a[i] / (most + 1e-300), b[i] / (most + 1e-300), 1e-12);
}

/* Every member has the sums of all rows, to the same bits, and they are those of one process. */
static void members_of_a_team_sum_their_own_rows(void **state)
{
    (void)state;
    ref_problem p = ref_problem_of(REF_SIGNED, TEAM_N, TEAM_D, TALLY_K, 3);
    tn_features *features = array_of("x", p.x, TEAM_N, TEAM_D, AS_F64);
    tn_labels *labels = labels_of(p.y, TEAM_N, TALLY_K, TN_TASK_MULTICLASS);
    for (size_t folds = 1; folds <= 2; ++folds)
        for (size_t size = 1; size <= 4; ++size) {
            team_job job = {.features = features, .labels = labels};
            tn_tally *alone = NULL, *team = NULL;
            tnp_tally_options_default(&job.options);
            job.options.folds = folds;
            team_do(size, gather_part, &job, 0);
            for (size_t r = 1; r < size; ++r) {
                assert_int_equal(job.size[r], job.size[0]);
                assert_memory_equal(job.bytes[r], job.bytes[0], job.size[0]);
            }
            assert_fine(test_ctx, tn_tally_from_bytes(test_ctx, job.bytes[0], job.size[0], NULL, &team));
            assert_fine(test_ctx, tnp_tally_gather(test_ctx, &job.features, 1, labels, &job.options, &alone));
            assert_true(team->inputs[0].digest == alone->inputs[0].digest);
            for (size_t f = 0; f < folds; ++f) {
                const tnp_moments *a = team->fold[f], *b = alone->fold[f];
                assert_int_equal(a->rows, b->rows);
                same_sums(a->gram, b->gram, TEAM_D * TEAM_D);
                same_sums(a->sum, b->sum, TEAM_D);
                same_sums(a->xty, b->xty, TALLY_K * TEAM_D);
                same_sums(a->ysum, b->ysum, TALLY_K);
            }
            for (size_t r = 0; r < size; ++r)
                tn_bytes_free(job.bytes[r]);
            tn_tally_free(alone);
            tn_tally_free(team);
        }
    labels_done(labels);
    tn_features_close(features);
    ref_problem_free(&p);
}

/* Threads change no bit. */
static void every_number_of_threads(void **state)
{
    (void)state;
    tally_scene s = tally_scene_of(TN_TASK_MULTICLASS, false, "l2");
    s.options.folds = 2;
    void *first = NULL, *now = NULL;
    size_t first_size = 0, size = 0;
    for (size_t threads = 1; threads <= 3; ++threads) {
        tn_ctx_set_threads(test_ctx, threads);
        tn_tally *t = tally_of(&s, 0, TALLY_N);
        assert_fine(test_ctx, tn_tally_to_bytes(test_ctx, t, "x", threads == 1 ? &first : &now,
                                                threads == 1 ? &first_size : &size));
        if (now) {
            assert_int_equal(size, first_size);
            assert_memory_equal(now, first, size);
        }
        tn_bytes_free(now);
        now = NULL;
        tn_tally_free(t);
    }
    tn_bytes_free(first);
    tally_scene_free(&s);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    tally_scene s = tally_scene_of(TN_TASK_MULTICLASS, false, "l2");
    s.options.folds = 2;
    s.options.rows = "90:200";
    for (size_t k = 1;; ++k) {
        tn_tally *t = tally_of(&s, 0, 90), *more = NULL;
        s.options.rows = "90:200";
        size_t blocks = tnp_live_blocks(test_ctx);
        tnp_fail_allocation(test_ctx, k);
        tn_status st = tnp_tally_gather(test_ctx, tally_features(&s), 2, s.labels, &s.options, &more);
        assert_true((st == TN_OK) == (more != NULL));
        if (st == TN_OK)
            st = tn_tally_merge(test_ctx, t, more);
        tnp_fail_allocation(test_ctx, 0);
        tn_tally_free(more);
        if (st != TN_OK)
            assert_int_equal(tnp_live_blocks(test_ctx), blocks);
        s.options.rows = "";
        assert_tally(t, &s, 0, st == TN_OK ? 200 : 90, 1e-12);
        tn_tally_free(t);
        if (st == TN_OK) {
            assert_true(k > 30);
            break;
        }
        assert_int_equal(st, TN_ERR_MEMORY);
    }
    tally_scene_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_in_any_order_are_all_rows),
        cmocka_unit_test(folds_do_not_depend_on_the_cuts),
        cmocka_unit_test(classes_are_united_by_name),
        cmocka_unit_test(parts_that_are_not_alike),
        cmocka_unit_test(a_row_goes_in_once),
        cmocka_unit_test(the_same_rows_under_another_name),
        cmocka_unit_test(what_was_merged_can_be_taken_out),
        cmocka_unit_test(other_values_are_not_taken_out),
        cmocka_unit_test(a_part_may_be_empty),
        cmocka_unit_test(bad_rows_are_dropped_or_told),
        cmocka_unit_test(members_of_a_team_sum_their_own_rows),
        cmocka_unit_test(every_number_of_threads),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
