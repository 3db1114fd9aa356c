/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Checkpoints: what is loaded is what was saved, to the bit; a run that was stopped after any pass ends as one that was
 * not; files that are cut, damaged or someone else's are refused; a full disk leaves the last one. */
#include "fixtures/problems.h"
#include "fixtures/tensors.h"

#include "algebra/blas.h"
#include "store/checkpoint.h"

#include <signal.h>
#include <sys/resource.h>

enum { N = 40, D = 13, K = 4, TRIALS = 3, EPOCHS = 5, BLOCK = 8 };

static const char RUN[] = "{\"method\":\"pa\"} \"quoted\"";

/* A small problem, what is learned from it, and when the run is to be stopped. */
typedef struct job {
    ref_problem p;
    tn_features *features;
    tn_feed *feed;
    tn_labels *labels;
    tnp_targets y;
    tnp_online_options options;
    tnp_passes *passes;
    tnp_online_plan plan;
    double cost[TRIALS], eta[TRIALS];
    char path[512];
    size_t passed, stop_at; /* passes of this run; one is saved and ends the run */
} job;

/* Accuracy on the rows themselves, by plain loops. */
static tn_status accuracy(tn_ctx *ctx, void *arg, const float *w, double *value)
{
    const job *j = arg;
    size_t width = tnp_row_stride(D + 1), right = 0;
    (void)ctx;
    for (size_t i = 0; i < N; ++i) {
        double s[K];
        size_t best = 0;
        for (size_t c = 0; c < K; ++c) {
            s[c] = (double)w[c * width + D];
            for (size_t d = 0; d < D; ++d)
                s[c] += (double)w[c * width + d] * j->p.x[i * D + d];
            best = s[c] > s[best] ? c : best;
        }
        right += j->p.y[i * K + best] > 0;
    }
    *value = (double)right / N;
    return TN_OK;
}

static tn_status save_and_stop(tn_ctx *ctx, void *arg, const tnp_online_search *search)
{
    job *j = arg;
    if (++j->passed != j->stop_at)
        return TN_OK;
    tn_status st = tnp_checkpoint_save(ctx, j->path, RUN, search);
    return st == TN_OK ? TN_ERR_INTERRUPTED : st;
}

static job *job_of(tnp_online_rule rule, tnp_online_scheme scheme, bool average, bool validated)
{
    job *j = ref_alloc(1, sizeof *j);
    j->p = ref_problem_of(REF_SIGNED, N, D, K, 8);
    j->features = features_of("x", j->p.x, N, D, AS_F32);
    j->feed = feed_of(j->features, TN_NORM_NONE);
    j->labels = labels_of(j->p.y, N, K, TN_TASK_MULTICLASS);
    j->y = targets_of(j->labels);
    tnp_online_options_default(&j->options);
    j->options.multiclass = scheme == TNP_MUL ? TNP_ONLINE_MUL : TNP_ONLINE_E_OVR;
    for (size_t i = 0; i < TRIALS; ++i) {
        j->cost[i] = 0.01 * pow(7, (double)i);
        j->eta[i] = 0.6 + 0.1 * (double)i;
    }
    const tnp_online_data data = {(const tn_feed *const *)&j->feed, 1, &j->y, NULL, false, NULL};
    assert_fine(test_ctx, tnp_passes_new(test_ctx, &data, &j->options, 6, BLOCK, &j->passes));
    j->plan = (tnp_online_plan){.rule = rule,
                                .shape = {scheme, average, true, K, D, BLOCK},
                                .cost = j->cost,
                                .eta = j->eta,
                                .trials = validated ? TRIALS : 1,
                                .epochs = EPOCHS,
                                .patience = 2,
                                .measure = validated ? accuracy : NULL,
                                .after_pass = save_and_stop,
                                .arg = j};
    snprintf(j->path, sizeof j->path, "%s", file_path("run.ckpt"));
    return j;
}

static void job_free(job *j)
{
    tnp_passes_free(j->passes);
    tn_feed_free(j->feed);
    tn_features_close(j->features);
    labels_done(j->labels);
    ref_problem_free(&j->p);
    free(j);
}

static tnp_online_search *new_search(job *j)
{
    tnp_online_search *s = NULL;
    assert_fine(test_ctx, tnp_online_search_new(test_ctx, &j->plan, &s));
    return s;
}

static tn_status go(job *j, tnp_online_search *s, size_t stop_at)
{
    j->passed = 0;
    j->stop_at = stop_at;
    return tnp_online_search_run(test_ctx, &j->plan, j->passes, s);
}

/* A search that was stopped after so many passes, its checkpoint on disk. */
static tnp_online_search *stopped(job *j, size_t group, size_t stop_at)
{
    tnp_online_search *s = new_search(j);
    assert_fine(test_ctx, tnp_online_search_group(test_ctx, &j->plan, group, s));
    assert_int_equal(go(j, s, stop_at), TN_ERR_INTERRUPTED);
    return s;
}

static void same_floats(const float *a, const float *b, size_t n)
{
    assert_true((a == NULL) == (b == NULL));
    if (a)
        assert_memory_equal(a, b, n * sizeof *a);
}

/* Bit by bit; of the seconds only when they must be the same. */
static void same_search(const tnp_online_search *a, const tnp_online_search *b, bool seconds)
{
    assert_true(a->trial_count == b->trial_count && a->first == b->first && a->group == b->group);
    assert_true(a->passes == b->passes && a->best_trial == b->best_trial && a->size == b->size);
    same_floats(a->best, b->best, a->size);
    for (size_t i = 0; i < a->trial_count; ++i)
        assert_memory_equal(&a->trials[i], &b->trials[i], sizeof *a->trials);
    for (size_t i = 0; i < a->trial_count * a->epochs; ++i) {
        tnp_account x = a->accounts[i], y = b->accounts[i];
        if (!seconds)
            x.seconds = y.seconds = 0;
        assert_memory_equal(&x, &y, sizeof x);
    }
    for (size_t i = 0; i < a->group; ++i) {
        const tnp_online *x = a->learners[i], *y = b->learners[i];
        assert_true(x->seen == y->seen && x->updates == y->updates && x->mistakes == y->mistakes);
        assert_true(x->rule.kind == y->rule.kind && x->rule.cost == y->rule.cost && x->rule.phi == y->rule.phi);
        same_floats(x->mu, y->mu, a->size);
        same_floats(x->u, y->u, a->size);
        same_floats(x->sigma, y->sigma, a->size);
    }
}

static void loaded_is_what_was_saved(void **state)
{
    (void)state;
    for (int mode = 0; mode < 8; ++mode) {
        job *j = job_of(mode & 1 ? TNP_SCW : TNP_PA2, TNP_MUL, mode & 2, mode & 4);
        tnp_online_search *was = stopped(j, 2, 2), *is = new_search(j);
        bool found = false;
        assert_fine(test_ctx, tnp_checkpoint_load(test_ctx, j->path, RUN, &j->plan, is, &found));
        assert_true(found);
        same_search(was, is, true);
        tnp_online_search_free(was);
        tnp_online_search_free(is);
        unlink(j->path);
        job_free(j);
    }
}

static void no_file_is_no_error(void **state)
{
    (void)state;
    job *j = job_of(TNP_PA, TNP_MUL, true, false);
    tnp_online_search *s = new_search(j);
    bool found = true;
    assert_fine(test_ctx, tnp_checkpoint_load(test_ctx, file_path("none.ckpt"), RUN, &j->plan, s, &found));
    assert_true(!found && s->passes == 0);
    tnp_online_search_free(s);
    job_free(j);
}

/* Stopped after every pass there is. */
static void check_resumed(job *j, size_t group)
{
    tnp_online_search *whole = new_search(j);
    assert_fine(test_ctx, tnp_online_search_group(test_ctx, &j->plan, group, whole));
    assert_fine(test_ctx, go(j, whole, SIZE_MAX));
    size_t passes = j->passed;
    assert_true(passes > j->plan.patience);
    for (size_t stop = 1; stop <= passes; ++stop) {
        bool found = false;
        unlink(j->path);
        tnp_online_search_free(stopped(j, group, stop));
        tnp_online_search *s = new_search(j);
        assert_fine(test_ctx, tnp_checkpoint_load(test_ctx, j->path, RUN, &j->plan, s, &found));
        assert_true(found);
        assert_fine(test_ctx, go(j, s, SIZE_MAX));
        assert_int_equal(j->passed, passes - stop);
        same_search(s, whole, false);
        tnp_online_search_free(s);
    }
    tnp_online_search_free(whole);
    unlink(j->path);
}

static void a_stopped_run_ends_as_any_other(void **state)
{
    (void)state;
    static const tnp_online_rule rules[] = {TNP_PERCEPTRON, TNP_PA, TNP_CW, TNP_AROW, TNP_SCW2};
    for (size_t r = 0; r < sizeof rules / sizeof *rules; ++r)
        for (int mode = r % 2 ? 1 : 0; mode < 8; mode += 3) { /* each rule in three ways, each way by several rules */
            bool validated = mode & 4;
            job *j = job_of(rules[r], mode & 1 ? TNP_OVR : TNP_MUL, mode & 2, validated);
            for (size_t group = 1; group <= (validated ? TRIALS : 1); ++group)
                check_resumed(j, group);
            job_free(j);
        }
}

/* ---- files that are refused ---- */

static void refused(job *j, const char *path, const char *run, tn_status status, const char *part)
{
    size_t before = tnp_live_blocks(test_ctx);
    tnp_online_search *s = new_search(j);
    bool found = false;
    assert_fails(test_ctx, status, part, tnp_checkpoint_load(test_ctx, path, run, &j->plan, s, &found));
    tnp_online_search_free(s);
    assert_int_equal(tnp_live_blocks(test_ctx), before);
}

static void foreign_files(void **state)
{
    (void)state;
    job *j = job_of(TNP_AROW, TNP_MUL, true, true);
    tnp_online_search_free(stopped(j, TRIALS, 2));
    refused(j, j->path, "another run", TN_ERR_DATA, "run.ckpt: a checkpoint of another run");
    refused(j, write_text("text.ckpt", "these are not the tensors that you are looking for\n"), RUN, TN_ERR_FORMAT,
            "text.ckpt");
    refused(j, write_text("empty.ckpt", ""), RUN, TN_ERR_FORMAT, "empty.ckpt");
    assert_int_equal(mkdir(file_path("folder.ckpt"), 0700), 0);
    refused(j, file_path("folder.ckpt"), RUN, TN_ERR_IO, "folder.ckpt");
    bytes b = {.n = 0};
    const entry meta[] = {{"format", "\"tenon-head\""}, {"version", "\"1\""}};
    put_container(&b, meta, 2, NULL, 0, NULL, "", 0);
    refused(j, write_bytes("head.ckpt", &b), RUN, TN_ERR_FORMAT, "expected tenon-checkpoint");
    unlink(j->path);
    job_free(j);
}

static void truncated_files(void **state)
{
    (void)state;
    job *j = job_of(TNP_AROW, TNP_MUL, true, true);
    size_t size;
    tnp_online_search_free(stopped(j, TRIALS, 2));
    unsigned char *whole = read_whole(j->path, &size);
    for (size_t n = 0; n < size; n += 1 + n / 40)
        refused(j, write_file("cut.ckpt", whole, n), RUN, TN_ERR_FORMAT, "cut.ckpt");
    refused(j, write_file("cut.ckpt", whole, size - 1), RUN, TN_ERR_FORMAT, "cut.ckpt");
    free(whole);
    unlink(j->path);
    job_free(j);
}

/* The place of value i of a tensor in the file, `size` bytes each. */
static unsigned char *value_at(unsigned char *whole, const char *tensor, size_t i, size_t size)
{
    char type[8];
    size_t shape[2], range[2], header = 0;
    for (size_t b = 0; b < 8; ++b)
        header |= (size_t)whole[b] << (8 * b);
    assert_true(tensor_entry((const char *)whole + 8, tensor, type, shape, range));
    assert_string_equal(type, size == 8 ? "F64" : "F32");
    return whole + 8 + header + range[0] + i * size;
}

/* State and figures that are no numbers; a figure of validation is NaN where there was none. */
static void numbers_that_are_none(void **state)
{
    (void)state;
    static const struct place {
        const char *tensor;
        size_t i, size;
    } places[] = {{"best", 3, 4},     {"mu.0", 0, 4},     {"u.1", 7, 4},      {"sigma.2", 5, 4}, {"trials", 2, 8},
                  {"accounts", 0, 8}, {"accounts", 1, 8}, {"accounts", 2, 8}, {"accounts", 3, 8}};
    job *j = job_of(TNP_AROW, TNP_MUL, true, true);
    size_t size;
    tnp_online_search_free(stopped(j, TRIALS, 2));
    unsigned char *whole = read_whole(j->path, &size);
    for (size_t p = 0; p < sizeof places / sizeof *places; ++p)
        for (int nan = 0; nan < 2; ++nan) {
            unsigned char *at = value_at(whole, places[p].tensor, places[p].i, places[p].size), was[8];
            const double wide = nan ? (double)NAN : (double)INFINITY;
            const float narrow = (float)wide;
            if (nan && places[p].i == 2) /* the figure */
                continue;
            memcpy(was, at, places[p].size);
            memcpy(at, places[p].size == 8 ? (const void *)&wide : &narrow, places[p].size);
            refused(j, write_file("bad.ckpt", whole, size), RUN, TN_ERR_FORMAT, "not a usable checkpoint");
            memcpy(at, was, places[p].size);
        }
    free(whole);
    unlink(j->path);
    job_free(j);
}

/* Numbers that would be used as sizes, places or counts. */
static void damaged_numbers(void **state)
{
    (void)state;
    static const double bad[] = {NAN, INFINITY, -1, 0.5, 1e300, 1e17};
    static const struct place {
        const char *tensor;
        size_t i;
    } places[] = {{"progress", 0}, {"progress", 1}, {"progress", 2}, {"progress", 3}, {"progress", 4}, {"trials", 0},
                  {"trials", 1},   {"trials", 3},   {"trials", 11},  {"counts", 0},   {"counts", 1},   {"counts", 8}};
    job *j = job_of(TNP_AROW, TNP_MUL, true, true);
    size_t size;
    tnp_online_search_free(stopped(j, TRIALS, 2));
    unsigned char *whole = read_whole(j->path, &size);
    for (size_t p = 0; p < sizeof places / sizeof *places; ++p)
        for (size_t b = 0; b < sizeof bad / sizeof *bad; ++b) {
            unsigned char *at = value_at(whole, places[p].tensor, places[p].i, 8), was[8];
            memcpy(was, at, 8);
            memcpy(at, &bad[b], 8);
            refused(j, write_file("bad.ckpt", whole, size), RUN, TN_ERR_FORMAT, "not a usable checkpoint");
            memcpy(at, was, 8);
        }
    const double none[] = {0, TRIALS + 1, 0, TRIALS, 1}; /* one beyond each bound: no trial is best, no pass was done */
    for (size_t i = 1; i < 5; ++i) {
        unsigned char *at = value_at(whole, "progress", i, 8), was[8];
        memcpy(was, at, 8);
        memcpy(at, &none[i], 8);
        refused(j, write_file("bad.ckpt", whole, size), RUN, TN_ERR_FORMAT, "its progress is out of bounds");
        memcpy(at, was, 8);
    }
    free(whole);
    unlink(j->path);
    job_free(j);
}

/* Words of the header that are replaced by others of the same length. */
static void damaged_headers(void **state)
{
    (void)state;
    static const struct change {
        const char *from, *to;
        tn_status status;
        const char *part;
    } changes[] = {
        {"tenon-checkpoint", "tenon-checkpoinX", TN_ERR_FORMAT, "expected tenon-checkpoint"},
        {"\"version\":\"1\"", "\"version\":\"7\"", TN_ERR_UNSUPPORTED, "version 7"},
        {"\"mu.1\"", "\"mv.1\"", TN_ERR_FORMAT, "mu.1"},
        {"\"best\":{\"dtype\":\"F32\"", "\"best\":{\"dtype\":\"I32\"", TN_ERR_FORMAT, "'best' is int32"},
        {"\"counts\":{\"dtype\":\"F64\",\"shape\":[3,3]", "\"counts\":{\"dtype\":\"F64\",\"shape\":[9,1]",
         TN_ERR_FORMAT, "'counts' is float64 (9, 1), expected float64 (3, 3)"},
    };
    job *j = job_of(TNP_AROW, TNP_MUL, true, true);
    size_t size;
    tnp_online_search_free(stopped(j, TRIALS, 2));
    for (size_t i = 0; i < sizeof changes / sizeof *changes; ++i) {
        unsigned char *whole = read_whole(j->path, &size);
        char *at = strstr((char *)whole + 8, changes[i].from);
        assert_non_null(at);
        memcpy(at, changes[i].to, strlen(changes[i].to));
        refused(j, write_file("bad.ckpt", whole, size), RUN, changes[i].status, changes[i].part);
        free(whole);
    }
    unlink(j->path);
    job_free(j);
}

/* ---- disk and memory ---- */

/* A disk that fills up, played by a limit on the size of files: the error is told, the checkpoint before is whole. */
static void full_disk_leaves_the_last_checkpoint(void **state)
{
    (void)state;
    job *j = job_of(TNP_AROW, TNP_MUL, true, false);
    struct rlimit before, small;
    size_t size, size_after;
    tnp_online_search *s = stopped(j, 1, 2);
    unsigned char *whole = read_whole(j->path, &size);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = size / 2;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    tn_status st = go(j, s, 1);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_DFL);
    assert_int_equal(st, TN_ERR_OUTPUT);
    assert_non_null(strstr(tn_ctx_message(test_ctx), "run.ckpt"));
    unsigned char *after = read_whole(j->path, &size_after);
    assert_int_equal(size_after, size);
    assert_memory_equal(after, whole, size);
    free(whole);
    free(after);
    tnp_online_search_free(s);
    unlink(j->path);
    job_free(j);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    job *j = job_of(TNP_AROW, TNP_MUL, true, true);
    tnp_online_search *s = stopped(j, 2, 2);
    size_t alive = tnp_live_blocks(test_ctx), size, size_after, k = 1;
    unsigned char *whole = read_whole(j->path, &size);
    for (;; ++k) {
        tnp_fail_allocation(test_ctx, k);
        tn_status st = tnp_checkpoint_save(test_ctx, j->path, RUN, s);
        tnp_fail_allocation(test_ctx, 0);
        assert_int_equal(tnp_live_blocks(test_ctx), alive);
        unsigned char *after = read_whole(j->path, &size_after);
        assert_int_equal(size_after, size);
        assert_memory_equal(after, whole, size); /* the old one, or the same anew */
        free(after);
        if (st == TN_OK)
            break;
        assert_int_equal(st, TN_ERR_MEMORY);
    }
    assert_true(k > 5);
    for (k = 1;; ++k) {
        tnp_online_search *to = new_search(j);
        bool found = false;
        tnp_fail_allocation(test_ctx, k);
        tn_status st = tnp_checkpoint_load(test_ctx, j->path, RUN, &j->plan, to, &found);
        tnp_fail_allocation(test_ctx, 0);
        if (st == TN_OK)
            same_search(s, to, true);
        tnp_online_search_free(to);
        assert_int_equal(tnp_live_blocks(test_ctx), alive);
        if (st == TN_OK)
            break;
        assert_int_equal(st, TN_ERR_MEMORY);
    }
    assert_true(k > 10);
    free(whole);
    tnp_online_search_free(s);
    unlink(j->path);
    job_free(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loaded_is_what_was_saved),
        cmocka_unit_test(no_file_is_no_error),
        cmocka_unit_test(a_stopped_run_ends_as_any_other),
        cmocka_unit_test(foreign_files),
        cmocka_unit_test(truncated_files),
        cmocka_unit_test(damaged_numbers),
        cmocka_unit_test(numbers_that_are_none),
        cmocka_unit_test(damaged_headers),
        cmocka_unit_test(full_disk_leaves_the_last_checkpoint),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
