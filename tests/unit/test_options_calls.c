/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Calls that take options by name: all of them, and without memory. */
#include "scene_of.h"
#include "encode/pq.h"
#include "options_by_name.h"
#include "tenon/store.h"

#include <math.h>

static void memory_that_is_refused(void **state)
{
    (void)state;
    tn_status st = TN_ERR_MEMORY;
    for (size_t k = 1; st != TN_OK; ++k) {
        tn_options *o = NULL;
        size_t before = tnp_live_blocks(test_ctx);
        tnp_fail_allocation(test_ctx, k);
        st = tn_options_new(test_ctx, "fit", &o);
        for (int i = 0; st == TN_OK && i < 2; ++i)
            st = tn_options_set(test_ctx, o, "normalize", i ? "l1" : "root,l2");
        if (st == TN_OK)
            st = tn_options_set(test_ctx, o, "grid", "1,2,3");
        if (st == TN_OK)
            st = tn_options_set_number(test_ctx, o, "lambda", 3);
        if (st == TN_OK)
            st = tn_options_set_head(test_ctx, o, "from", NULL);
        tnp_fail_allocation(test_ctx, 0);
        assert_true(st == TN_OK || st == TN_ERR_MEMORY);
        if (o && st != TN_OK) { /* whatever was done is whole */
            assert_true(tn_options_text(o, "normalize")[0] != 0);
            assert_fine(test_ctx, tn_options_set(test_ctx, o, "normalize", "none"));
        }
        tn_options_free(o);
        assert_int_equal(tnp_live_blocks(test_ctx), before);
    }
}

static void the_other_calls_take_options(void **state)
{
    (void)state;
    scene s = scene_of(40, 4, 5, TN_TASK_MULTICLASS, AS_F32);
    tn_options *o = options_new("pq");
    tn_pq *pq = NULL;
    assert_fine(test_ctx, tn_options_set_number(test_ctx, o, "sub", 3));
    assert_fine(test_ctx, tn_pq_fit(test_ctx, s.features[0], o, NULL, &pq));
    assert_int_equal(tn_pq_sub(pq), 3);
    tn_pq_free(pq);
    tn_options_free(o);
    o = options_new("evidence");
    tn_moments *moments = NULL;
    tn_evidence *a = NULL, *b = NULL;
    assert_fine(test_ctx, tn_moments_gather(test_ctx, s.features[0], s.labels, TN_NORM_NONE, TN_NAN_ERROR, &moments));
    set(o, "intercept", "no");
    assert_fine(test_ctx, tn_moments_evidence(test_ctx, moments, o, &a));
    assert_fine(test_ctx, tn_moments_evidence(test_ctx, moments, NULL, &b));
    assert_true(a->log_evidence != b->log_evidence);
    tn_evidence_free(a);
    tn_evidence_free(b);
    tn_moments_free(moments);
    tn_options_free(o);
    o = options_new("kernel");
    tn_map *map = NULL;
    const tn_map_data data = {s.features[1], s.labels};
    assert_fine(test_ctx, tn_options_set_number(test_ctx, o, "rank", 2));
    assert_fine(test_ctx, tn_map_learn(test_ctx, &data, 1, o, NULL, &map));
    assert_int_equal(tn_map_width(map), 2);
    tn_map_free(map);
    tn_options_free(o);
    o = options_new("transfer");
    tn_transfer_info *info = NULL;
    tn_head *head = NULL;
    const tn_source source = {"b", s.features[1], NULL};
    set(o, "method", "rls");
    assert_fine(test_ctx, tn_transfer(test_ctx, (const tn_features *const *)s.features, 1, s.labels, &source, 1, o,
                                      &info, &head));
    assert_string_equal(info->method, "rls");
    tn_transfer_info_free(info);
    tn_head_free(head);
    tn_options_free(o);
    scene_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_that_is_refused),
        cmocka_unit_test(the_other_calls_take_options),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
