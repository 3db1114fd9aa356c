/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reports of kernels: JSON read back by another parser, tables looked at for what a person must find, the CSV and the
 * picture read back from their files, mapped rows against rows through the formula. */
#include "fixtures/problems.h"
#include "interrupt.h"
#include "fixtures/tensors.h"
#include "tenon/report.h"
#include "tenon/store.h"
#include "transform/map.h"

#include <jansson.h>

enum { M = TN_BASIS_SIZE };

static double weight[M * 2], rates[M], values[M], bins[TN_MAP_BINS];

static tn_map *learned(bool origin)
{
    tn_map *map = NULL;
    for (size_t i = 0; i < M; ++i) {
        weight[2 * i] = i == 0;
        weight[2 * i + 1] = i == 3;
        rates[i] = (double)(i + 1) / M;
        values[i] = M - (double)i;
    }
    for (size_t i = 0; i < TN_MAP_BINS; ++i)
        bins[i] = i < 32 ? 75 : i >= 224 ? 25 : 0; /* three quarters, then nothing, then a quarter */
    tn_map_spec spec = {.rank = 2,
                        .scale = 2.5,
                        .weight = weight,
                        .power = 0.5,
                        .tasks = 11,
                        .rows = 222,
                        .rates = origin ? rates : NULL,
                        .singular_values = origin ? values : NULL,
                        .histogram = origin ? bins : NULL};
    assert_fine(test_ctx, tn_map_new_learned(test_ctx, &spec, &map));
    return map;
}

static const tn_map_info info = {.rank = 2,
                                 .wanted = 6,
                                 .sets = 3,
                                 .functions = 22,
                                 .zeros = 0.75,
                                 .beyond = 1e-4,
                                 .objective = 12.5,
                                 .gap = 0.001,
                                 .passes = 20,
                                 .converged = false,
                                 .svm_seconds = 1.5,
                                 .svd_seconds = 0.25,
                                 .seconds = 2};

static json_t *parsed(char *text)
{
    json_error_t error;
    json_t *root = json_loads(text, 0, &error);
    if (!root)
        print_error("%s: %s\n", error.text, text);
    assert_non_null(root);
    tn_text_free(text);
    return root;
}

static double number(const json_t *root, const char *key)
{
    const json_t *value = json_object_get(root, key);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

static void json_of_learning(void **state)
{
    (void)state;
    tn_map *map = learned(true);
    char *text = NULL;
    assert_fine(test_ctx, tn_map_learn_json(test_ctx, &info, map, "a \"b\".safetensors", &text));
    json_t *root = parsed(text);
    assert_string_equal(json_string_value(json_object_get(root, "command")), "kernel learn");
    assert_string_equal(json_string_value(json_object_get(root, "kernel")), "a \"b\".safetensors");
    assert_string_equal(json_string_value(json_object_get(root, "basis")), "scaled-fourier");
    assert_true(number(root, "rank") == 2 && number(root, "wanted_rank") == 6 && number(root, "tasks") == 11);
    assert_true(number(root, "rows") == 222 && number(root, "scale") == 2.5 && number(root, "sets") == 3);
    assert_true(number(root, "functions") == 22 && number(root, "zeros") == 0.75 && number(root, "gap") == 0.001);
    assert_true(number(root, "objective") == 12.5 && number(root, "passes") == 20);
    assert_true(json_is_false(json_object_get(root, "converged")));
    const json_t *seconds = json_object_get(root, "seconds"), *list = json_object_get(root, "contributing_rate");
    assert_true(number(seconds, "svm") == 1.5 && number(seconds, "svd") == 0.25 && number(seconds, "total") == 2);
    assert_int_equal(json_array_size(list), M);
    for (size_t i = 0; i < M; ++i)
        assert_true(json_number_value(json_array_get(list, i)) == rates[i]);
    assert_int_equal(json_array_size(json_object_get(root, "histogram")), TN_MAP_BINS);
    json_decref(root);
    tn_map_free(map);
}

static void json_of_kernels(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; ++kind) {
        tn_map *map = NULL;
        char *text = NULL;
        if (kind == 0)
            assert_fine(test_ctx, tn_map_new_named(test_ctx, "intersection", TN_SIGNED_SPLIT, &map));
        else
            map = learned(kind == 1);
        assert_fine(test_ctx, tn_map_json(test_ctx, map, "k", &text));
        json_t *root = parsed(text);
        assert_string_equal(json_string_value(json_object_get(root, "kind")), kind ? "learned" : "intersection");
        assert_string_equal(json_string_value(json_object_get(root, "signed")), kind ? "odd" : "split");
        assert_true(number(root, "width") == (kind ? 2 : 14));
        assert_int_equal(json_object_get(root, "contributing_rate") != NULL, kind == 1);
        const json_t *row = json_array_get(json_object_get(root, "table"), 2);
        assert_true(kind || json_number_value(json_array_get(row, 5)) == 0.3125);
        json_decref(root);
        tn_map_free(map);
    }
}

static void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        print_error("no \"%s\" in\n%s\n", part, text);
    assert_non_null(strstr(text, part));
}

static void texts(void **state)
{
    (void)state;
    tn_map *map = learned(true);
    char *text = NULL;
    assert_fine(test_ctx, tn_map_learn_text(test_ctx, &info, map, "k.safetensors", false, &text));
    assert_has(text, "6 values were wanted, the data hold no more than 2");
    assert_has(text, "75.0 % are 0");
    assert_has(text, "stopped by option max-passes");
    assert_has(text, "222 rows, 11 tasks");
    assert_has(text, " 1:2.6% 2:5.1% | 3:7.7%");
    tn_text_free(text);
    assert_fine(test_ctx, tn_map_text(test_ctx, map, "k.safetensors", false, &text));
    assert_has(text, "0.000 - 0.125  75.0000 %  ########################################\n");
    assert_has(text, "0.125 - 0.250   0.0000 %  \n");
    assert_has(text, "0.875 - 1.000  25.0000 %  ##############\n"); /* a third of the bar, rounded up */
    /* k = x y (1 + c(x) c(y)), c = cos 0.4 pi x: at 1/16 in both 0.78 % of 15/16 */
    double c = cos(0.4 * 3.14159265358979323846 / 16), e = cos(0.4 * 3.14159265358979323846 * 15 / 16);
    char cell[64];
    snprintf(cell, sizeof cell, "\n0.0625  %6.0f  ", 100 * (1 + c * c) / (225 * (1 + e * e)));
    assert_has(text, cell);
    tn_text_free(text);
    tn_map_free(map);
}

/* ---- files ---- */

static void csv_and_picture(void **state)
{
    (void)state;
    tn_map *map = learned(true);
    char csv[600], svg[600];
    snprintf(csv, sizeof csv, "%s", file_path("t.csv"));
    snprintf(svg, sizeof svg, "%s", file_path("t.svg"));
    assert_fine(test_ctx, tn_map_csv_save(test_ctx, map, csv));
    assert_fine(test_ctx, tn_map_picture_save(test_ctx, map, "<a & b>", svg));
    size_t size = 0, lines = 0, rectangles = 0;
    char *text = (char *)read_whole(csv, &size), *at = strchr(text, '\n') + 1;
    assert_memory_equal(text, "x,0.001953125,0.005859375,", 26);
    for (size_t i = 0; i < TN_MAP_BINS; ++i, at = strchr(at, '\n') + 1, ++lines) {
        char *cell = at;
        assert_near(strtod(cell, &cell), ((double)i + 0.5) / TN_MAP_BINS, 1e-9);
        for (size_t j = 0; j < TN_MAP_BINS; ++j) {
            double x = ((double)i + 0.5) / TN_MAP_BINS, y = ((double)j + 0.5) / TN_MAP_BINS;
            assert_int_equal(*cell, ',');
            assert_near(strtod(cell + 1, &cell), tn_map_kernel(map, x, y), 1e-8);
        }
        assert_int_equal(*cell, '\n');
    }
    assert_int_equal(*at, 0);
    free(text);
    text = (char *)read_whole(svg, &size);
    for (char *p = text; (p = strstr(p, "<rect")) != NULL; ++p)
        ++rectangles;
    assert_int_equal(rectangles, 64 * 64 + TN_MAP_BINS + 2);
    assert_has(text, "&#60;a &#38; b&#62;: k(x, y), learned");
    assert_has(text, "fill=\"#ff0000\""); /* the largest value in full red */
    assert_null(strstr(text, "nan"));
    free(text);
    assert_fails(test_ctx, TN_ERR_OUTPUT, "none/", tn_map_csv_save(test_ctx, map, file_path("none/t.csv")));
    assert_fails(test_ctx, TN_ERR_OUTPUT, "none/", tn_map_picture_save(test_ctx, map, "k", file_path("none/t.svg")));
    tn_map_free(map);
}

/* Rows of the file are those of a feed, whatever the blocks. */
static void mapped_rows(void **state)
{
    (void)state;
    enum { N = 50, D = 7 };
    ref_problem p = ref_problem_of(REF_SIGNED, N, D, 1, 3);
    tn_features *features = features_of("raw", p.x, N, D, AS_F32), *back = NULL;
    tn_map *map = learned(false);
    const char *path = file_path("mapped.npy");
    assert_fine(test_ctx, tn_map_rows_save(test_ctx, map, features, TN_NORM_NONE, TN_NAN_ERROR, path));
    back = open_features(path);
    assert_true(tn_features_rows(back) == N && tn_features_cols(back) == 2 * D);
    float *got = ref_alloc((size_t)N * 2 * D, sizeof *got);
    assert_fine(test_ctx, tn_features_read(test_ctx, back, NULL, 0, N, 0, 2 * D, got));
    for (size_t i = 0; i < N; ++i) {
        double sum = 0, phi[2];
        for (size_t j = 0; j < D; ++j)
            sum += fabs(p.x[i * D + j]);
        for (size_t j = 0; j < D; ++j) {
            tn_map_exact(map, 2.5 * p.x[i * D + j] / sum, phi);
            for (size_t k = 0; k < 2; ++k) /* the table's 1e-6, and the rounding of x where the cosine is steepest */
                assert_near_at(i, (double)got[(i * D + j) * 2 + k], phi[k], 1e-5);
        }
    }
    free(got);
    tn_features_close(back);
    p.x[3] = NAN;
    tn_features *bad = features_of("bad", p.x, N, D, AS_F32);
    assert_fails(test_ctx, TN_ERR_DATA, "row 0",
                 tn_map_rows_save(test_ctx, map, bad, TN_NORM_L2, TN_NAN_ERROR, file_path("bad.out.npy")));
    assert_true(access(file_path("bad.out.npy"), F_OK) != 0);
    tn_features_close(bad);
    tn_map_free(map);
    tn_features_close(features);
    ref_problem_free(&p);
}

static void interrupted(void **state)
{
    (void)state;
    double x[4] = {1, 2, 3, 4};
    tn_features *features = features_of("two", x, 2, 2, AS_F32);
    for (size_t at = 1; at < 3; ++at) {
        tn_ctx *ctx = NULL;
        tn_map *map = NULL;
        ctx = ctx_of(0);
        assert_fine(ctx, tn_map_new_named(ctx, "chi2", TN_SIGNED_ODD, &map));
        interrupt user = {ctx, 0, at};
        tn_ctx_set_progress(ctx, cancel_at, &user);
        assert_int_equal(tn_map_rows_save(ctx, map, features, TN_NORM_L2, TN_NAN_ERROR, file_path("stop.npy")),
                         TN_ERR_INTERRUPTED);
        assert_true(access(file_path("stop.npy"), F_OK) != 0);
        tn_map_free(map);
        ctx_done(ctx);
    }
    tn_features_close(features);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    double x[4] = {1, 2, 3, 4};
    tn_features *features = features_of("two", x, 2, 2, AS_F32);
    tn_map *map = learned(true);
    assert_fine(test_ctx, tnp_map_ready(test_ctx, map)); /* the table stays with the map */
    size_t blocks = tnp_live_blocks(test_ctx), k = 1;
    for (;; ++k) {
        char *texts_made[4] = {NULL};
        tnp_fail_allocation(test_ctx, k);
        tn_status st = tn_map_learn_json(test_ctx, &info, map, "k", &texts_made[0]);
        st = st == TN_OK ? tn_map_json(test_ctx, map, "k", &texts_made[1]) : st;
        st = st == TN_OK ? tn_map_learn_text(test_ctx, &info, map, "k", false, &texts_made[2]) : st;
        st = st == TN_OK ? tn_map_text(test_ctx, map, "k", false, &texts_made[3]) : st;
        st = st == TN_OK ? tn_map_csv_save(test_ctx, map, file_path("f.csv")) : st;
        st = st == TN_OK ? tn_map_picture_save(test_ctx, map, "k", file_path("f.svg")) : st;
        st = st == TN_OK ? tn_map_rows_save(test_ctx, map, features, TN_NORM_L2, TN_NAN_ERROR, file_path("f.npy")) : st;
        tnp_fail_allocation(test_ctx, 0);
        for (size_t i = 0; i < 4; ++i)
            tn_text_free(texts_made[i]);
        assert_int_equal(tnp_live_blocks(test_ctx), blocks);
        if (st == TN_OK)
            break;
        assert_int_equal(st, TN_ERR_MEMORY);
    }
    assert_true(k > 20);
    tn_map_free(map);
    tn_features_close(features);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_of_learning),          cmocka_unit_test(json_of_kernels), cmocka_unit_test(texts),
        cmocka_unit_test(csv_and_picture),           cmocka_unit_test(mapped_rows),     cmocka_unit_test(interrupted),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
