/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Online learners of a team: one pass against the mean of what one process learns of every part, and many passes
 * against one process. */
#define _GNU_SOURCE /* barriers */
#include "team_calls.h"

/* One pass, last weights: the mean, by rows, of what one process learns of every part. */
static void one_pass_of_online_learners_is_the_mean_of_the_parts(void **state)
{
    (void)state;
    static const char *const methods[] = {"perceptron", "sgd", "pa", "pa2", "cw", "arow", "nherd", "scw", "scw2"};
    data d = data_of(333, TN_TASK_MULTICLASS);
    for (size_t i = 0; i < sizeof methods / sizeof *methods; ++i)
        for (size_t size = 1; size <= 4; ++size)
            for (int averaged = 0; averaged < 2; ++averaged) {
                call c = {.d = &d, .kind = "fit", .options = {"method", methods[i], "epochs", "1"}};
                c.options[4] = averaged ? NULL : "no-average";
                c.options[5] = averaged ? NULL : "yes";
                member_call members[TEAM_MOST];
                double want[CELLS] = {0};
                for (size_t r = 0; r < size; ++r)
                    members[r] = (member_call){&c, found_of(d.n)};
                team_do(size, do_call, members, sizeof *members);
                for (size_t r = 0; r < size; ++r) {
                    size_t from = (d.n * r + size - 1) / size, to = (d.n * (r + 1) + size - 1) / size;
                    data part = {to - from, d.a + from * A, d.b + from * B, d.cls + from, NULL, NULL, NULL, d.task};
                    call own = c;
                    own.d = &part;
                    member_call alone = {&own, found_of(d.n)};
                    tn_ctx *ctx = ctx_of(1);
                    assert_fine(ctx, do_call(ctx, 0, &alone));
                    for (size_t j = 0; j < alone.out.cells; ++j)
                        want[j] += (double)part.n / (double)d.n * alone.out.cell[j];
                    found_free(&alone.out);
                    ctx_done(ctx);
                }
                for (size_t r = 0; r < size; ++r) {
                    check_alike(&members[0].out, &members[r].out, d.n);
                    for (size_t j = 0; j < members[r].out.cells; ++j) /* floats, of weights of about 1 */
                        assert_near_at(j, members[r].out.cell[j], want[j], 1e-6);
                }
                for (size_t r = 0; r < size; ++r)
                    found_free(&members[r].out);
            }
    data_free(&d);
}

static double accuracy(const found *f, const data *d)
{
    double right = 0;
    for (size_t i = 0; i < d->n; ++i) {
        size_t best = 0;
        for (size_t k = 1; k < K; ++k)
            best = f->scores[i * K + k] > f->scores[i * K + best] ? k : best;
        right += (int64_t)best == d->cls[i];
    }
    return right / (double)d->n;
}

/* Ten passes, each from the mean: as good as one process, within three standard errors of 900 rows. */
static void passes_from_the_mean_learn_as_well(void **state)
{
    (void)state;
    static const char *const methods[] = {"pa", "arow", "scw"};
    data d = data_of(900, TN_TASK_MULTICLASS);
    for (size_t i = 0; i < sizeof methods / sizeof *methods; ++i) {
        call c = {.d = &d, .kind = "fit", .options = {"method", methods[i], "C", "0.1"}, .both = true};
        if (i == 2)
            c.options[2] = NULL;
        tn_ctx *ctx = ctx_of(1);
        member_call alone = {&c, found_of(d.n)}, members[4];
        assert_fine(ctx, do_call(ctx, 0, &alone));
        for (size_t r = 0; r < 4; ++r)
            members[r] = (member_call){&c, found_of(d.n)};
        team_do(4, do_call, members, sizeof *members);
        double one = accuracy(&alone.out, &d);
        assert_true(one > 0.6);
        for (size_t r = 0; r < 4; ++r) {
            assert_true(fabs(accuracy(&members[r].out, &d) - one) < 3 * sqrt(one * (1 - one) / (double)d.n));
            found_free(&members[r].out);
        }
        found_free(&alone.out);
        ctx_done(ctx);
    }
    data_free(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_pass_of_online_learners_is_the_mean_of_the_parts),
        cmocka_unit_test(passes_from_the_mean_learn_as_well),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
