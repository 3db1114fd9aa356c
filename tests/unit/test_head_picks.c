/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a head tells of its making, on heads whose weights are written out here: the columns that a transfer picked, and
 * C. */
#include "fixtures/files.h"
#include "learn/head/head.h"

/* Two representations of 2 and 3 columns, `sources` sources behind them. */
static tn_head *head_of(const char *method, size_t classes, size_t sources, const float *weight)
{
    const char *const names[] = {"a", "b", "c"};
    tn_head *h = NULL;
    size_t dim = 5 + sources;
    assert_fine(test_ctx, tnp_head_new(test_ctx, TN_TASK_MULTICLASS, names, classes, dim, 2, method, &h));
    for (size_t r = 0; r < 2; ++r) {
        assert_fine(test_ctx, tnp_strdup(test_ctx, r ? "clip" : "dino", &h->reps[r].name));
        h->reps[r].dim = 2 + r;
    }
    if (sources)
        assert_fine(test_ctx, tnp_head_add_sources(test_ctx, h, sources));
    for (size_t i = 0; i < sources; ++i) {
        assert_fine(test_ctx, tnp_strdup(test_ctx, "scores", &h->sources[i].name));
        assert_fine(test_ctx, tnp_strdup(test_ctx, "x", &h->sources[i].label));
        h->sources[i].column = 40 + i;
    }
    memcpy(h->weight, weight, classes * dim * sizeof *weight);
    return h;
}

/* "dino[1] b -2 ...": name, place, class and weight of every pick; frees the head. */
static void check_picks(tn_head *head, bool transfer, const char *want)
{
    tn_head_pick *picks = NULL;
    size_t count = 99;
    char got[256] = "";
    assert_int_equal(tn_head_is_transfer(head), transfer);
    assert_fine(test_ctx, tn_head_picks(test_ctx, head, &picks, &count));
    for (size_t i = 0; i < count; ++i)
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s%s%s[%zu] %s %g", i ? " " : "",
                 picks[i].source == SIZE_MAX ? "" : "source ", picks[i].name, picks[i].place,
                 tn_head_class_names(head)[picks[i].cls], picks[i].weight);
    assert_string_equal(got, want);
    tn_head_picks_free(picks);
    tn_head_free(head);
}

static void sources_and_the_features_that_have_a_weight(void **state)
{
    (void)state;
    const float two[] = {0, 1, 0, 0, 0, 3, 0, 0, -1, 0, 0, 0.5f, -3, 0};
    check_picks(head_of("greedytl", 2, 2, two), true,
                "dino[1] b -1 clip[2] b 0.5 source scores[40] b -3 source scores[41] b 0");
    const float three[] = {0, 1, 0, 0, 0, 2, 0, -4, 0, 0, 0, -2, 0, 1, 0, 0, 0, 1};
    check_picks(head_of("forward", 3, 1, three), true, "dino[1] b -4 source scores[40] a 2");
}

/* Features most of which have a weight were not picked; a method that picks may have picked nothing. */
static void features_that_are_all_used(void **state)
{
    (void)state;
    const float most[] = {1, 1, 1, 0, 0, 3, 1, 1, 1, 0, 0, 3}, none[10] = {0};
    check_picks(head_of("rls", 2, 1, most), true, "source scores[40] b 3");
    check_picks(head_of("l1-logistic", 2, 0, none), true, "");
    const float fitted[] = {1, 0, 0, 0, 0, -1, 0, 0, 0, 0};
    check_picks(head_of("svm", 2, 0, fitted), false, "");
}

static void the_cost_of_methods_that_have_one(void **state)
{
    (void)state;
    static const struct {
        const char *method, *options;
        double cost;
    } cases[] = {{"svm", "{\"method\":\"svm\",\"C\":\"0.125\",\"loss\":\"hinge\"}", 0.125},
                 {"scw2", "{\"C\":\"1e+03\"}", 1000},
                 {"evidence", "{\"C\":\"1\"}", NAN},
                 {"perceptron", "{\"C\":\"1\"}", NAN},
                 {"svm", "{\"transform\":\"\\\"C\\\":\\\"7\"}", NAN}, /* what only looks like it, inside a string */
                 {"auto", "{\"C\":\"1\"}", NAN},                      /* several that have theirs */
                 {"svm", "{\"C\":\"x\"}", NAN},
                 {"svm", "{}", NAN}};
    const float weight[10] = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        tn_head *h = head_of(cases[i].method, 2, 0, weight);
        assert_fine(test_ctx, tnp_strdup(test_ctx, cases[i].options, &h->options));
        assert_true(isnan(cases[i].cost) ? isnan(tn_head_cost(h)) : tn_head_cost(h) == cases[i].cost);
        tn_head_free(h);
    }
}

static void an_allocation_may_fail(void **state)
{
    (void)state;
    const float weight[12] = {0};
    tn_head *h = head_of("greedytl", 2, 1, weight);
    tn_head_pick *picks = NULL;
    size_t count = 99;
    tnp_fail_allocation(test_ctx, 1);
    tn_status st = tn_head_picks(test_ctx, h, &picks, &count);
    tnp_fail_allocation(test_ctx, 0);
    assert_int_equal(st, TN_ERR_MEMORY);
    assert_true(!picks && count == 99);
    tn_head_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sources_and_the_features_that_have_a_weight),
        cmocka_unit_test(features_that_are_all_used),
        cmocka_unit_test(the_cost_of_methods_that_have_one),
        cmocka_unit_test(an_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
