/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What goes wrong with one member of a team at work: a bad row of its part, memory that it does not get. */
#define _GNU_SOURCE /* barriers */
#include "team_calls.h"

/* A row that only the last member reads. */
static void a_bad_row_of_one_member_ends_all(void **state)
{
    (void)state;
    data d = data_of(1500, TN_TASK_MULTICLASS);
    d.b[1400 * B + 2] = INFINITY;
    call c = {.d = &d, .kind = "rank", .options = {"normalize", "none"}, .both = true};
    member_call mine[4];
    member members[TEAM_MOST];
    for (size_t r = 0; r < 4; ++r)
        mine[r] = (member_call){&c, found_of(d.n)};
    team_run(4, do_call, mine, sizeof *mine, members);
    for (size_t r = 0; r < 4; ++r) {
        assert_int_equal(members[r].code, TN_ERR_DATA);
        assert_non_null(strstr(members[r].message, "rank 3 of 4 (host3): b: row 1400 holds NaN or infinity"));
        found_free(&mine[r].out);
    }
    data_free(&d);
}

/* The k-th allocation of one member fails: all end, with its sentence, and nothing is left. */
typedef struct failing_call {
    member_call mine;
    size_t k;
} failing_call;

static tn_status do_failing_call(tn_ctx *ctx, size_t rank, void *arg)
{
    failing_call *f = arg;
    if (rank == 1)
        tnp_fail_allocation(ctx, f->k);
    return do_call(ctx, rank, &f->mine);
}

static void an_allocation_that_fails_ends_all(void **state)
{
    (void)state;
    data d = data_of(300, TN_TASK_MULTICLASS);
    static const char *const methods[] = {"evidence", "ridge-cv", "lda", "svm", "pa"};
    for (size_t i = 0; i < sizeof methods / sizeof *methods; ++i) {
        call c = {.d = &d, .kind = "fit", .options = {"method", methods[i]}, .both = true};
        size_t failed = 0, went_well = 0;
        for (size_t k = 1; went_well == 0 && k < 100000; k += 1 + k / 8) {
            failing_call calls[3];
            member members[TEAM_MOST];
            for (size_t r = 0; r < 3; ++r)
                calls[r] = (failing_call){{&c, found_of(d.n)}, k};
            team_run(3, do_failing_call, calls, sizeof *calls, members);
            for (size_t r = 0; r < 3; ++r) {
                assert_int_equal(members[r].code, members[0].code);
                assert_string_equal(members[r].message, members[0].message);
                assert_int_equal(members[r].left, 0);
                found_free(&calls[r].mine.out);
            }
            assert_true(members[0].code == TN_OK || members[0].code == TN_ERR_MEMORY);
            assert_true(members[0].code == TN_OK || strstr(members[0].message, "rank 1 of 3 (host1): "));
            failed += members[0].code != TN_OK;
            went_well += members[0].code == TN_OK;
        }
        assert_true(failed > 10 && went_well == 1);
    }
    data_free(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bad_row_of_one_member_ends_all),
        cmocka_unit_test(an_allocation_that_fails_ends_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
