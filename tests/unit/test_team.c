/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Teams: parts of rows, what is added up and gathered, and how a failure of one member ends all. Sums are of whole
 * numbers, which have no rounding. */
#define _GNU_SOURCE /* barriers, mkstemp, setenv */
#include "team_of.h"

#include <unistd.h>

/* ---- parts ---- */

typedef struct asked_part {
    size_t rows, unit, from, to;
} asked_part;

static tn_status ask_part(tn_ctx *ctx, size_t rank, void *arg)
{
    (void)rank;
    asked_part *a = arg;
    tnp_team_part(ctx, a->rows, a->unit, &a->from, &a->to);
    return TN_OK;
}

/* Parts follow each other, are whole units but for the last, differ by one unit at most, and the first is never empty. */
static void parts_are_even_and_cover_all_rows(void **state)
{
    (void)state;
    static const size_t rows[] = {0, 1, 2, 3, 7, 64, 1000, 1023, 4097}, units[] = {1, 64, 256};
    for (size_t size = 1; size <= TEAM_MOST; ++size)
        for (size_t n = 0; n < sizeof rows / sizeof *rows; ++n)
            for (size_t u = 0; u < sizeof units / sizeof *units; ++u) {
                asked_part asked[TEAM_MOST];
                size_t least = SIZE_MAX, most = 0;
                for (size_t r = 0; r < size; ++r)
                    asked[r] = (asked_part){rows[n], units[u], 0, 0};
                team_do(size, ask_part, asked, sizeof *asked);
                for (size_t r = 0; r < size; ++r) {
                    size_t blocks = (asked[r].to - asked[r].from + units[u] - 1) / units[u];
                    assert_int_equal(asked[r].from, r ? asked[r - 1].to : 0);
                    assert_true(asked[r].from % units[u] == 0 || asked[r].from == rows[n]);
                    least = tnp_min(least, blocks);
                    most = tnp_max(most, blocks);
                }
                assert_int_equal(asked[size - 1].to, rows[n]);
                assert_true(most - least <= 1 && (rows[n] == 0 || asked[0].to > 0));
            }
}

/* ---- what is sent ---- */

enum { ROWS = 37, EACH = 3, PICKED = 9 };
static const size_t picked[PICKED] = {0, 1, 9, 10, 11, 20, 30, 35, 36};

typedef struct sent {
    double sum[ROWS], most[ROWS], shared[EACH], all[ROWS * EACH], cut[ROWS], some[PICKED];
    size_t from, to;
} sent;

static tn_status send_all(tn_ctx *ctx, size_t rank, void *arg)
{
    tn_status st = TN_OK;
    sent *s = arg;
    size_t from, to, cut[TEAM_MOST + 1], size = tn_team_size(ctx);
    for (size_t r = 0; r <= size; ++r)
        cut[r] = ROWS * r * r / (size * size);
    for (size_t i = 0; i < ROWS; ++i) {
        s->sum[i] = (double)((rank + 1) * i);
        s->most[i] = i % 2 ? (double)rank : -(double)rank;
    }
    for (size_t i = 0; i < EACH; ++i)
        s->shared[i] = (double)(100 * rank + i);
    tnp_team_part(ctx, ROWS, 2, &from, &to);
    for (size_t i = 0; i < ROWS * EACH; ++i)
        s->all[i] = i / EACH >= from && i / EACH < to ? (double)i : -1;
    tnp_team_own(ctx, cut, &from, &to);
    for (size_t i = 0; i < ROWS; ++i)
        s->cut[i] = i >= from && i < to ? (double)i : -1;
    tnp_team_picked(ctx, picked, PICKED, cut, &s->from, &s->to);
    for (size_t i = 0; i < PICKED; ++i)
        s->some[i] = picked[i] >= from && picked[i] < to ? (double)picked[i] : -1;
    TN_TRY(tnp_team_sum(ctx, s->sum, ROWS));
    TN_TRY(tnp_team_most(ctx, s->most, ROWS));
    TN_TRY(tnp_team_share(ctx, s->shared, sizeof s->shared));
    TN_TRY(tnp_team_gather(ctx, s->all, ROWS, 2, EACH * sizeof(double)));
    TN_TRY(tnp_team_gather_cut(ctx, s->cut, cut, sizeof(double)));
    TN_TRY(tnp_team_gather_picked(ctx, s->some, picked, PICKED, cut, sizeof(double)));
    TN_TRY(tnp_team_same(ctx, "sum", s->sum, sizeof s->sum));
done:
    return st;
}

static void sums_and_gathered_rows_reach_all(void **state)
{
    (void)state;
    for (size_t size = 1; size <= TEAM_MOST; ++size) {
        sent s[TEAM_MOST];
        team_do(size, send_all, s, sizeof *s);
        for (size_t r = 0; r < size; ++r) {
            for (size_t i = 0; i < ROWS; ++i) {
                assert_true(s[r].sum[i] == (double)(size * (size + 1) / 2 * i));
                assert_true(s[r].most[i] == (i % 2 ? (double)(size - 1) : 0));
            }
            for (size_t i = 0; i < EACH; ++i)
                assert_true(s[r].shared[i] == (double)i);
            for (size_t i = 0; i < ROWS * EACH; ++i)
                assert_true(s[r].all[i] == (double)i);
            for (size_t i = 0; i < ROWS; ++i)
                assert_true(s[r].cut[i] == (double)i);
            for (size_t i = 0; i < PICKED; ++i)
                assert_true(s[r].some[i] == (double)picked[i]);
            assert_int_equal(s[r].from, r ? s[r - 1].to : 0);
        }
        assert_int_equal(s[size - 1].to, PICKED);
    }
}

/* A paused team is none: every member has all rows, and nothing is sent. */
static tn_status work_alone(tn_ctx *ctx, size_t rank, void *arg)
{
    (void)arg;
    double x = (double)rank;
    size_t from, to;
    bool was = tnp_team_pause(ctx);
    tnp_team_part(ctx, ROWS, 1, &from, &to);
    tn_status st = rank == 1 ? TN_OK : tnp_team_sum(ctx, &x, 1);
    if (from != 0 || to != ROWS || x != (double)rank || tnp_team_size(ctx) != 1)
        st = TN_ERR_DATA;
    tnp_team_resume(ctx, was);
    return st == TN_OK ? tnp_team_sum(ctx, &x, 1) : st;
}

static void a_paused_team_is_none(void **state)
{
    (void)state;
    team_do(3, work_alone, NULL, 0);
}

/* ---- failures ---- */

static tn_status fail_one(tn_ctx *ctx, size_t rank, void *arg)
{
    size_t who = *(const size_t *)arg;
    double x[4] = {1, 2, 3, 4};
    tn_status st = tnp_team_sum(ctx, x, 4);
    if (st == TN_OK && (rank == who || who == TEAM_MOST))
        return tnp_fail(ctx, TN_ERR_DATA, "shard-%zu.npy: row 7 holds NaN", who == TEAM_MOST ? 0 : rank);
    for (size_t i = 0; st == TN_OK && i < 10; ++i)
        st = i % 2 ? tnp_team_gather(ctx, x, 4, 1, sizeof *x) : tnp_team_most(ctx, x, 2);
    return st;
}

static void a_failure_of_one_ends_all_with_its_sentence(void **state)
{
    (void)state;
    for (size_t size = 2; size <= 4; ++size)
        for (size_t who = 0; who < size; ++who) {
            member members[TEAM_MOST];
            char want[100];
            team_run(size, fail_one, &who, 0, members);
            snprintf(want, sizeof want, "rank %zu of %zu (host%zu): shard-%zu.npy: row 7 holds NaN", who, size, who,
                     who);
            for (size_t r = 0; r < size; ++r) {
                assert_int_equal(members[r].status, r == who ? TN_ERR_DATA : TN_ERR_IO);
                assert_int_equal(members[r].code, TN_ERR_DATA);
                assert_string_equal(members[r].message, want);
            }
        }
}

static void a_failure_of_all_needs_no_rank(void **state)
{
    (void)state;
    member members[TEAM_MOST];
    size_t who = TEAM_MOST;
    team_run(3, fail_one, &who, 0, members);
    for (size_t r = 0; r < 3; ++r)
        assert_string_equal(members[r].message, "shard-0.npy: row 7 holds NaN");
}

/* Members that do not do the same are told, and do not wait for each other. */
static tn_status ask_differently(tn_ctx *ctx, size_t rank, void *arg)
{
    double x[8] = {0};
    int how = *(const int *)arg;
    size_t n = how == 0 && rank == 1 ? 5 : 4;
    tn_status st = how == 1 && rank == 1 ? tnp_team_most(ctx, x, n) : tnp_team_sum(ctx, x, n);
    return st == TN_OK ? tnp_team_sum(ctx, x, 2) : st;
}

static void members_that_differ_are_told(void **state)
{
    (void)state;
    for (int how = 0; how < 2; ++how) {
        member members[TEAM_MOST];
        team_run(3, ask_differently, &how, 0, members);
        for (size_t r = 0; r < 3; ++r) {
            assert_true(members[r].status != TN_OK && members[r].code != 0);
            assert_non_null(strstr(members[r].message, "do not go the same way"));
        }
    }
}

static tn_status bring_other_bytes(tn_ctx *ctx, size_t rank, void *arg)
{
    (void)arg;
    char text[] = "labels";
    text[5] = rank == 2 ? 'z' : 's';
    return tnp_team_same(ctx, "y.txt", text, sizeof text);
}

static void files_that_differ_are_told(void **state)
{
    (void)state;
    member members[TEAM_MOST];
    team_run(3, bring_other_bytes, NULL, 0, members);
    for (size_t r = 0; r < 3; ++r) {
        assert_int_equal(members[r].status, TN_ERR_DATA);
        assert_string_equal(members[r].message,
                            "y.txt: not the same for all 3 ranks, expected the same files on every machine");
    }
}

/* Rank 0's clock is everybody's: all are late at the same call. */
static tn_status be_late(tn_ctx *ctx, size_t rank, void *arg)
{
    double x = 1;
    (void)arg;
    tnp_set_deadline(ctx, rank == 0 ? 1e-9 : 1e300);
    tn_status alone = tnp_cancelled(ctx), st = tnp_team_sum(ctx, &x, 1);
    tnp_set_deadline(ctx, 0);
    tn_status after = tnp_team_sum(ctx, &x, 1);
    return alone == TN_OK && st == TN_ERR_INTERRUPTED ? after : TN_ERR_DATA;
}

static void members_are_late_together(void **state)
{
    (void)state;
    team_do(3, be_late, NULL, 0);
}

static tn_status be_cancelled(tn_ctx *ctx, size_t rank, void *arg)
{
    double x = 1;
    (void)arg;
    if (rank == 1)
        tn_ctx_cancel(ctx);
    tn_status st = tnp_team_sum(ctx, &x, 1);
    return st == TN_OK ? tnp_team_sum(ctx, &x, 1) : st;
}

static void an_interrupt_of_one_ends_all(void **state)
{
    (void)state;
    member members[TEAM_MOST];
    team_run(3, be_cancelled, NULL, 0, members);
    for (size_t r = 0; r < 3; ++r) {
        assert_int_equal(members[r].status, r == 1 ? TN_ERR_INTERRUPTED : TN_ERR_IO);
        assert_string_equal(members[r].message, "rank 1 of 3 (host1): interrupted");
    }
}

/* ---- settings, outputs ---- */

typedef struct settings {
    size_t threads, memory, left;
} settings;

static tn_status level(tn_ctx *ctx, size_t rank, void *arg)
{
    settings *s = arg;
    (void)rank;
    tn_ctx_set_threads(ctx, s->threads);
    tn_ctx_set_memory(ctx, s->memory);
    tn_status st = tn_team_level(ctx);
    s->threads = tn_ctx_threads(ctx);
    tn_ctx_set_threads(ctx, 1);
    s->left = tnp_budget_left(ctx);
    return st;
}

static void settings_become_the_least(void **state)
{
    (void)state;
    settings s[3] = {{4, (size_t)1 << 30, 0}, {2, 0, 0}, {3, (size_t)1 << 33, 0}};
    team_do(3, level, s, sizeof *s);
    for (size_t r = 0; r < 3; ++r) {
        assert_int_equal(s[r].threads, 2);
        assert_true(s[r].left <= (size_t)1 << 30 && s[r].left > (size_t)1 << 29);
    }
}

static tn_status write_rank(tn_ctx *ctx, size_t rank, void *arg)
{
    char text[20];
    snprintf(text, sizeof text, "rank %zu", rank);
    return tn_text_write(ctx, text, arg);
}

static void only_rank_0_writes(void **state)
{
    (void)state;
    char path[] = "/tmp/tenon-team-XXXXXX", text[20] = "";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    team_do(4, write_rank, path, 0);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof text, file));
    assert_string_equal(text, "rank 0");
    fclose(file);
    remove(path);
}

/* A disk that is full for the one who writes. */
static tn_status write_to_a_full_disk(tn_ctx *ctx, size_t rank, void *arg)
{
    if (rank == 0)
        tnp_fail_io(ctx, 2);
    return write_rank(ctx, rank, arg);
}

static void a_full_disk_of_rank_0_ends_all(void **state)
{
    (void)state;
    member members[TEAM_MOST];
    char folder[] = "/tmp/tenon-team-XXXXXX", path[60];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/head", folder);
    team_run(3, write_to_a_full_disk, path, 0, members);
    for (size_t r = 0; r < 3; ++r) {
        assert_int_equal(members[r].status, r == 0 ? TN_ERR_OUTPUT : TN_OK);
        assert_int_equal(members[r].code, TN_ERR_OUTPUT);
        assert_non_null(strstr(members[r].message, "rank 0 of 3 (host0): "));
        assert_non_null(strstr(members[r].message, path));
    }
    assert_int_equal(rmdir(folder), 0); /* nothing is left in it */
}

/* ---- how a process was started ---- */

static void launchers_are_known_by_their_variables(void **state)
{
    (void)state;
    static const char *const names[] = {
        "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_SIZE", "PMIX_RANK", "TENON_MPI"};
    size_t rank = 9, size = 9;
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
        unsetenv(names[i]);
    assert_false(tn_team_started(&rank, &size));
    assert_true(rank == 0 && size == 0);
    setenv("PMIX_RANK", "3", 1);
    assert_true(tn_team_started(&rank, &size) && rank == 3 && size == 0);
    setenv("PMI_RANK", "2", 1);
    setenv("PMI_SIZE", "5", 1);
    assert_true(tn_team_started(&rank, &size) && rank == 2 && size == 5);
    setenv("PMI_SIZE", "1", 1); /* alone */
    assert_false(tn_team_started(&rank, &size));
    setenv("OMPI_COMM_WORLD_RANK", "1", 1);
    setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
    assert_true(tn_team_started(&rank, &size) && rank == 1 && size == 4);
    setenv("TENON_MPI", "no", 1);
    assert_false(tn_team_started(&rank, &size));
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
        unsetenv(names[i]);
}

/* ThreadSanitizer ends the process at the first dlopen: its suppression of OpenBLAS then matches twice. */
static void skip_under_thread_sanitizer(void)
{
#if defined(__SANITIZE_THREAD__)
    skip();
#endif
}

static void a_plug_in_that_is_none_is_told(void **state)
{
    skip_under_thread_sanitizer();
    char name[128] = "", path[512] = "";
    setenv("TENON_MPI", "/nowhere/libtenon_mpi.so", 1);
    assert_fails(*state, TN_ERR_UNSUPPORTED, "TENON_MPI: /nowhere/libtenon_mpi.so", tn_team_look(*state, name, path));
    assert_fails(*state, TN_ERR_UNSUPPORTED, "TENON_MPI: /nowhere/libtenon_mpi.so", tn_team_join(*state));
    unsetenv("TENON_MPI");
    assert_int_equal(tn_team_size(*state), 1);
    assert_int_equal(tn_team_leave(*state, 5, "why"), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_even_and_cover_all_rows),
        cmocka_unit_test(sums_and_gathered_rows_reach_all),
        cmocka_unit_test(a_paused_team_is_none),
        cmocka_unit_test(a_failure_of_one_ends_all_with_its_sentence),
        cmocka_unit_test(a_failure_of_all_needs_no_rank),
        cmocka_unit_test(members_that_differ_are_told),
        cmocka_unit_test(files_that_differ_are_told),
        cmocka_unit_test(members_are_late_together),
        cmocka_unit_test(an_interrupt_of_one_ends_all),
        cmocka_unit_test(settings_become_the_least),
        cmocka_unit_test(only_rank_0_writes),
        cmocka_unit_test(a_full_disk_of_rank_0_ends_all),
        cmocka_unit_test(launchers_are_known_by_their_variables),
        cmocka_unit_test_setup_teardown(a_plug_in_that_is_none_is_told, ctx_setup, ctx_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
