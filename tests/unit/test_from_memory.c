/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Everything that takes features takes them from memory: what is fitted, gathered, quantised, learned and scored from
 * arrays of every type and from producers is, bit for bit, what comes of the .npy file with the same values. The file's
 * reader is the oracle: its values are checked against their formula in test_npy.c and test_rows.c. */
#include "fixtures/arrays.h"
#include "fixtures/problems.h"
#include "fixtures/tensors.h"
#include "read/features.h"
#include "tenon/evaluate.h"
#include "tenon/pipeline.h"
#include "tenon/store.h"
#include "pipeline/methods.h"
#include "pipeline/online.h"
#include "pipeline/options.h"
#include "pipeline/transfer.h"
#include "encode/pq.h"

enum { N = 72, D = 6, K = 3 };

static double x[N * D], y[N * K];
static tn_labels *labels;

/* Whole numbers, larger in the columns of their class; those of a boolean are 0 and 1. */
static void fill(tn_dtype type)
{
    ref_rng rng = ref_rng_of(5);
    memset(y, 0, sizeof y);
    for (size_t i = 0; i < N; ++i) {
        y[i * K + i % K] = 1;
        for (size_t j = 0; j < D; ++j) {
            double v = floor(40 * ref_unit(&rng)) + (j % K == i % K ? 20 : 0);
            x[i * D + j] = type == TN_BOOL ? (double)(v > 30) : v;
        }
    }
}

static int setup(void **state)
{
    fill(TN_F32);
    labels = labels_of(y, N, K, TN_TASK_MULTICLASS);
    return files_setup(state);
}

static int teardown(void **state)
{
    labels_done(labels);
    return files_teardown(state);
}

static void assert_same_files(const char *a, const char *b)
{
    size_t sizes[2];
    unsigned char *data[2] = {read_whole(file_path(a), &sizes[0]), read_whole(file_path(b), &sizes[1])};
    assert_int_equal(sizes[0], sizes[1]);
    assert_memory_equal(data[0], data[1], sizes[0]);
    free(data[0]);
    free(data[1]);
}

static tn_head *fit_by(const tn_features *features, int method)
{
    tnp_fit_options opt;
    tn_fit_info *info = NULL;
    tn_head *head = NULL;
    tnp_fit_options_default(&opt);
    opt.method = method;
    opt.online.epochs = 2;
    assert_fine(test_ctx, tnp_fit(test_ctx, &features, 1, labels, &opt, &info, &head));
    tn_fit_info_free(info);
    return head;
}

static void score(const tn_features *features, const tn_head *head, float out[N * K])
{
    tn_scorer *scorer = NULL;
    assert_fine(test_ctx, tn_scorer_new(test_ctx, head, &features, 1, TN_NAN_ERROR, &scorer));
    assert_fine(test_ctx, tn_scorer_read(test_ctx, scorer, 0, N, out));
    tn_scorer_free(scorer);
}

static void same_heads_and_scores(const tn_features *file, const tn_features *held)
{
    static const int methods[] = {TNP_METHOD_EVIDENCE, TNP_METHOD_SVM, TNP_METHOD_LOGISTIC, TNP_METHOD_AROW};
    for (size_t m = 0; m < sizeof methods / sizeof *methods; ++m) {
        float want[N * K], got[N * K];
        tn_head *a = fit_by(file, methods[m]), *b = fit_by(held, methods[m]);
        assert_memory_equal(tn_head_weight(a), tn_head_weight(b), K * D * sizeof(float));
        assert_memory_equal(tn_head_bias(a), tn_head_bias(b), K * sizeof(float));
        assert_string_equal(tn_head_options(a), tn_head_options(b));
        score(file, a, want);
        score(held, b, got);
        assert_memory_equal(got, want, sizeof want);
        tn_head_free(a);
        tn_head_free(b);
    }
}

static void save_head(const tn_features *features, const char *name)
{
    tn_head *head = fit_by(features, TNP_METHOD_EVIDENCE);
    assert_fine(test_ctx, tn_head_save(test_ctx, head, "", file_path(name)));
    tn_head_free(head);
}

static void save_moments(const tn_features *features, const char *name)
{
    tn_moments *moments = NULL;
    assert_fine(test_ctx, tn_moments_gather(test_ctx, features, labels, TN_NORM_L2, TN_NAN_ERROR, &moments));
    assert_fine(test_ctx, tn_moments_save(test_ctx, moments, file_path(name)));
    tn_moments_free(moments);
}

static void save_codes(const tn_features *features, const char *name)
{
    tnp_pq_options opt;
    tn_pq *pq = NULL;
    tnp_pq_options_default(&opt);
    opt.sub = 4;
    opt.centroids = 9;
    assert_fine(test_ctx, tnp_pq_fit(test_ctx, features, &opt, NULL, &pq));
    assert_fine(test_ctx, tn_codes_save(test_ctx, pq, features, "", file_path(name), NULL));
    tn_pq_free(pq);
}

static void save_map(const tn_features *features, const char *name)
{
    const tn_map_data data = {features, labels};
    tnp_map_options opt;
    tn_map *map = NULL;
    tnp_map_options_default(&opt);
    opt.gap = 0.1;
    assert_fine(test_ctx, tnp_map_learn(test_ctx, &data, 1, &opt, NULL, &map));
    assert_fine(test_ctx, tn_map_save(test_ctx, map, "", file_path(name)));
    tn_map_free(map);
}

/* The features are the target's and the scores of a source. */
static void save_transfer(const tn_features *features, const char *name)
{
    const tn_source source = {"told", features, NULL};
    tnp_transfer_options opt;
    tn_transfer_info *info = NULL;
    tn_head *head = NULL;
    tnp_transfer_options_default(&opt);
    opt.method = TNP_TRANSFER_BY_RLS;
    assert_fine(test_ctx, tnp_transfer(test_ctx, &features, 1, labels, &source, 1, &opt, &info, &head));
    assert_fine(test_ctx, tn_head_save(test_ctx, head, "", file_path(name)));
    tn_transfer_info_free(info);
    tn_head_free(head);
}

static double evidence_of(const tn_features *features)
{
    tnp_rank_options opt;
    tn_ranking *ranking = NULL;
    tnp_rank_options_default(&opt);
    assert_fine(test_ctx, tnp_rank(test_ctx, &features, 1, labels, &opt, &ranking));
    double figure = ranking->candidates[0]->log_evidence;
    tn_ranking_free(ranking);
    return figure;
}

static void same_of_all_else(const tn_features *file, const tn_features *held)
{
    void (*const save[])(const tn_features *, const char *) = {save_head, save_moments, save_codes, save_map,
                                                               save_transfer};
    assert_true(evidence_of(file) == evidence_of(held));
    for (size_t s = 0; s < sizeof save / sizeof *save; ++s) {
        save[s](file, "a.safetensors");
        save[s](held, "b.safetensors");
        assert_same_files("a.safetensors", "b.safetensors");
    }
}

static tn_features *file_of(tn_dtype type)
{
    fill(type);
    return open_features(write_npy_of("rep.npy", x, N, D, type));
}

static void arrays_of_every_type_fit_as_files_do(void **state)
{
    (void)state;
    for (size_t v = 0; v < 2 * TYPES; ++v) {
        tn_dtype type = (tn_dtype)(v % TYPES);
        tn_features *file = file_of(type);
        memory m = memory_of(x, N, D, type, (order)(v % ORDERS), v / TYPES != 0);
        tn_features *array = array_features("rep", &m);
        same_heads_and_scores(file, array);
        tn_features_close(array);
        tn_features_close(file);
        free(m.block);
    }
}

static void arrays_serve_all_else(void **state)
{
    (void)state;
    static const tn_dtype types[] = {TN_F32, TN_F64, TN_U8};
    for (size_t v = 0; v < 3; ++v) {
        tn_features *file = file_of(types[v]);
        memory m = memory_of(x, N, D, types[v], (order)(BY_COLUMN + v), v != 1);
        tn_features *array = array_features("rep", &m);
        same_of_all_else(file, array);
        tn_features_close(array);
        tn_features_close(file);
        free(m.block);
    }
}

/* Rows of x, as float or double. */
static tn_status make(void *user, const size_t *index, size_t start, size_t count, void *out, char *message)
{
    const tn_dtype *type = user;
    (void)message;
    for (size_t i = 0; i < count * D; ++i) {
        double v = x[(index ? index[start + i / D] : start + i / D) * D + i % D];
        if (*type == TN_F32)
            ((float *)out)[i] = (float)v;
        else
            ((double *)out)[i] = v;
    }
    return TN_OK;
}

static void producers_serve_as_files_do(void **state)
{
    (void)state;
    static const size_t blocks[] = {0, 7, SIZE_MAX};
    for (size_t v = 0; v < 6; ++v) {
        tn_dtype type = v % 2 ? TN_F64 : TN_F32;
        tn_features *file = file_of(type), *produced = NULL;
        const tn_producer producer = {&type, N, D, type, blocks[v / 2], make, NULL};
        tn_ctx_set_threads(test_ctx, 1 + v % 3);
        assert_fine(test_ctx, tn_features_from_producer(test_ctx, "rep", &producer, &produced));
        same_heads_and_scores(file, produced);
        if (v / 2 == 1)
            same_of_all_else(file, produced);
        tn_features_close(produced);
        tn_features_close(file);
    }
}

static tn_status refuse(void *user, const size_t *index, size_t start, size_t count, void *out, char *message)
{
    (void)user, (void)index, (void)start, (void)count, (void)out;
    snprintf(message, TN_PRODUCER_MESSAGE, "the network has no weights");
    return TN_ERR_IO;
}

static void a_fit_fails_as_its_producer_does(void **state)
{
    (void)state;
    const tn_producer producer = {NULL, N, D, TN_F32, 0, refuse, NULL};
    tn_features *features = NULL;
    tnp_fit_options opt;
    tn_fit_info *info = NULL;
    tn_head *head = NULL;
    tnp_fit_options_default(&opt);
    assert_fine(test_ctx, tn_features_from_producer(test_ctx, "net", &producer, &features));
    size_t blocks = tnp_live_blocks(test_ctx);
    assert_fails(test_ctx, TN_ERR_IO, "net: the network has no weights",
                 tnp_fit(test_ctx, (const tn_features *const *)&features, 1, labels, &opt, &info, &head));
    assert_null(head);
    assert_int_equal(tnp_live_blocks(test_ctx), blocks);
    tn_features_close(features);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_of_every_type_fit_as_files_do),
        cmocka_unit_test(arrays_serve_all_else),
        cmocka_unit_test(producers_serve_as_files_do),
        cmocka_unit_test(a_fit_fails_as_its_producer_does),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
