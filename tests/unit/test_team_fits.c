/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Everything that a team does, against the same calls of one process, for one to five members: moments, rankings, heads
 * of every method, scores, cross-validation. Rows are more and fewer than the blocks that they are dealt out in.
 *
 * Tolerances. Moments are sums of the same block products in another order: n u of their terms, 1e-12. Evidences and
 * figures made of them: 1e-9, and lambda, where F is largest and so flat, to the root of that. Ridge weights are floats
 * of the same doubles: 1e-6 of the largest. Trainings to a gap are of the same objective, and both within their gap of
 * its least value. */
#define _GNU_SOURCE /* barriers */
#include "team_calls.h"

static const size_t sizes[] = {1500, 300, 25};

static void moments_are_those_of_one_process(void **state)
{
    (void)state;
    for (size_t z = 0; z < sizeof sizes / sizeof *sizes; ++z)
        for (tn_task task = TN_TASK_MULTICLASS; task <= TN_TASK_REGRESSION; ++task)
            for (int weighted = 0; weighted < 2; ++weighted) {
                data d = data_of(sizes[z], task);
                d.b[3] = d.b[(d.n - 1) * B] = NAN; /* rows 0 and n - 1 do not take part */
                check_call(&(call){.d = &d, .kind = "moments", .both = true, .weighted = weighted != 0}, AS_FIGURES);
                data_free(&d);
            }
}

static void rankings_are_those_of_one_process(void **state)
{
    (void)state;
    for (size_t z = 0; z < sizeof sizes / sizeof *sizes; ++z)
        for (tn_task task = TN_TASK_MULTICLASS; task <= TN_TASK_REGRESSION; ++task) {
            data d = data_of(sizes[z], task);
            check_call(&(call){&d, "rank", {"normalize", "l2,zscore,none"}, true, task == TN_TASK_MULTILABEL},
                       AS_FIGURES);
            data_free(&d);
        }
    data d = data_of(600, TN_TASK_MULTICLASS);
    check_call(&(call){&d, "rank", {"by", "knn"}, true, false}, AS_FIGURES);
    check_call(&(call){&d, "rank", {"by", "cv"}, true, false}, AS_FIGURES);
    data_free(&d);
}

static void ridge_heads_are_those_of_one_process(void **state)
{
    (void)state;
    static const char *const options[][8] = {{"method", "evidence", "normalize", "zscore,none"},
                                             {"method", "evidence", "lambda", "loo", "select", "best"},
                                             {"method", "ridge-cv", "folds", "3"},
                                             {"method", "lda", "folds", "3"},
                                             {"method", "lda", "lambda", "0.1"}};
    for (size_t z = 0; z < sizeof sizes / sizeof *sizes; ++z)
        for (size_t i = 0; i < sizeof options / sizeof *options; ++i) {
            data d = data_of(sizes[z], i == 2 ? TN_TASK_MULTILABEL : TN_TASK_MULTICLASS);
            call c = {.d = &d, .kind = "fit", .both = true};
            memcpy(c.options, options[i], sizeof options[i]);
            check_call(&c, AS_WEIGHTS);
            data_free(&d);
        }
}

static void linear_heads_are_within_their_gaps(void **state)
{
    (void)state;
    static const char *const options[][8] = {
        {"method", "svm", "C", "1"},
        {"method", "svm", "C", "3", "loss", "hinge"},
        {"method", "svm", "C", "1", "penalise-bias", "no"},
        {"method", "logistic", "C", "10"},
        {"method", "svm-cv", "folds", "3", "grid", "0.1,1,10"},
        {"method", "logistic-cv", "folds", "3", "grid", "0.1,1,10"},
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; ++i)
        for (tn_task task = TN_TASK_MULTICLASS; task <= TN_TASK_MULTILABEL; ++task) {
            data d = data_of(task == TN_TASK_MULTICLASS ? 400 : 150, task);
            call c = {.d = &d, .kind = "fit", .both = i % 2 == 0};
            memcpy(c.options, options[i], sizeof options[i]);
            check_call(&c, AS_OBJECTIVE);
            data_free(&d);
        }
}

static void cross_validations_are_those_of_one_process(void **state)
{
    (void)state;
    data d = data_of(900, TN_TASK_MULTICLASS);
    check_call(&(call){&d, "cv", {"method", "evidence", "folds", "3"}, true, false}, AS_FIGURES);
    data_free(&d);
}

/* The default goes through every family; what it chooses by is within rounding, and its figures are those of the
 * evidence. */
static void the_race_ends_alike(void **state)
{
    (void)state;
    data d = data_of(400, TN_TASK_MULTICLASS);
    call c = {.d = &d, .kind = "fit", .options = {"method", "auto"}, .both = true};
    tn_ctx *ctx = ctx_of(1);
    member_call alone = {&c, found_of(d.n)}, members[3];
    assert_fine(ctx, do_call(ctx, 0, &alone));
    for (size_t r = 0; r < 3; ++r)
        members[r] = (member_call){&c, found_of(d.n)};
    team_do(3, do_call, members, sizeof *members);
    for (size_t r = 0; r < 3; ++r) {
        check_alike(&members[0].out, &members[r].out, d.n);
        assert_near(members[r].out.figure[0], alone.out.figure[0], 1e-9);
    }
    for (size_t r = 0; r < 3; ++r)
        found_free(&members[r].out);
    found_free(&alone.out);
    ctx_done(ctx);
    data_free(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moments_are_those_of_one_process),
        cmocka_unit_test(rankings_are_those_of_one_process),
        cmocka_unit_test(ridge_heads_are_those_of_one_process),
        cmocka_unit_test(linear_heads_are_within_their_gaps),
        cmocka_unit_test(cross_validations_are_those_of_one_process),
        cmocka_unit_test(the_race_ends_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
