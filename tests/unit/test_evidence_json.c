/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The evidence of moments as JSON: the figures of the struct, every digit of them. */
#include "fixtures/problems.h"
#include "read/json.h"
#include "scene_of.h"
#include "tenon/report.h"
#include "tenon/pipeline.h"

#include <jansson.h>

static void same_number(const json_t *object, const char *key, double value)
{
    const json_t *found = json_object_get(object, key);
    if (isfinite(value))
        assert_true(json_number_value(found) == value);
    else
        assert_true(json_is_null(found));
}

static void same_list(const json_t *object, const char *key, const double *values, size_t count)
{
    const json_t *list = json_object_get(object, key);
    assert_int_equal(json_array_size(list), count);
    for (size_t i = 0; i < count; ++i) {
        const json_t *found = json_array_get(list, i);
        assert_true(isfinite(values[i]) ? json_number_value(found) == values[i] : json_is_null(found));
    }
}

static void the_json_has_every_figure(void **state)
{
    (void)state;
    scene s = scene_of(60, 4, 5, TN_TASK_MULTICLASS, AS_F32);
    tn_moments *moments = NULL;
    tn_evidence *e = NULL;
    char *text = NULL;
    assert_fine(test_ctx, tn_moments_gather(test_ctx, s.features[0], s.labels, TN_NORM_L2, TN_NAN_ERROR, &moments));
    assert_fine(test_ctx, tn_moments_evidence(test_ctx, moments, NULL, &e));
    assert_fine(test_ctx, tn_evidence_json(test_ctx, e, &text));
    json_t *root = json_loads(text, JSON_DECODE_INT_AS_REAL, NULL);
    assert_non_null(root);
    same_number(root, "rows", (double)e->rows);
    same_number(root, "dim", (double)e->dim);
    same_number(root, "classes", (double)e->classes);
    same_number(root, "log_evidence", e->log_evidence);
    same_number(root, "null_log_evidence", e->log_null);
    same_number(root, "gain_per_label", e->gain_per_label);
    same_number(root, "lambda_shared", e->lambda_shared);
    same_list(root, "lambda", e->lambda, e->classes);
    same_list(root, "log_class", e->log_class, e->classes);
    assert_int_equal(json_array_size(json_object_get(root, "state")), e->classes);
    assert_true(json_is_boolean(json_object_get(root, "converged")));
    json_decref(root);
    tn_text_free(text);
    tn_evidence_free(e);
    tn_moments_free(moments);
    scene_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_json_has_every_figure)};
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
