/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Refinement of a mixture as a whole: the objective never rises, checkpoints go on to the same bytes, a cache changes
 * nothing, one task, validation of its own, and the edges: single descriptors, empty bags, single positives, nothing
 * held out, interrupts, memory, disks. */
#define _POSIX_C_SOURCE 200809L
#include "interrupt.h"
#include "refine_of.h"

#include <sys/stat.h>
#include <unistd.h>

static const char small[] = "kind=fisher words=3 pca=0 iterations=8";
static const char projected[] = "kind=fisher words=3 pca=3 iterations=8";

/* With the exact gradient every step is one down; the classes are told apart better at the end. */
static void the_objective_never_rises(void **state)
{
    (void)state;
    refine_scene s = scene_with(60, 60, 5, small);
    static const char *const ways[] = {"optimizer=lbfgs soften=0", "optimizer=lbfgs", "optimizer=gd"};
    for (size_t w = 0; w < sizeof ways / sizeof *ways; ++w) {
        tn_refine_info *info = NULL;
        tn_encoder *e = NULL;
        char text[200];
        snprintf(text, sizeof text, "%s rounds=8 patience=0 C=100 twice=no", ways[w]);
        assert_fine(ctx, refine(&s, text, &info, &e));
        assert_true(info->round_count >= 4);
        for (size_t i = 1; i < info->round_count; ++i) {
            assert_true(info->rounds[i].objective < info->rounds[i - 1].objective);
            assert_true(info->rounds[i].step > 0 && info->rounds[i].step <= (w < 2 ? 1.0001 : 1e9));
        }
        assert_int_equal(info->training + info->validation, 60);
        assert_int_equal(info->validation, 12);
        double top = 0;
        for (size_t i = 0; i < info->round_count; ++i)
            top = fmax(top, info->rounds[i].valid);
        for (size_t i = info->best + 1; i < info->round_count; ++i) /* those behind what was kept are worse */
            assert_true(info->rounds[i].valid < top);
        tn_refine_info_free(info);
        tn_encoder_free(e);
    }
    free_refine(&s);
}

/* Adam may rise, but not by much, and ends below where it began. */
static void adam_descends(void **state)
{
    (void)state;
    refine_scene s = scene_with(60, 60, 5, small);
    tn_refine_info *info = NULL;
    tn_encoder *e = NULL;
    assert_fine(ctx, refine(&s, "optimizer=adam rounds=10 patience=0 C=100 twice=no", &info, &e));
    assert_int_equal(info->round_count, 11);
    assert_true(info->rounds[10].objective < info->rounds[0].objective);
    assert_string_equal(info->stopped, "rounds");
    tn_refine_info_free(info);
    tn_encoder_free(e);
    free_refine(&s);
}

/* Steps that leave what can be a mixture end it, and what was is kept. */
static void a_wild_step_ends_it(void **state)
{
    (void)state;
    refine_scene s = scene_with(30, 20, 4, small);
    tn_refine_info *info = NULL;
    tn_encoder *e = NULL;
    assert_fine(ctx, refine(&s, "optimizer=adam rate=50 rounds=10 holdout=0 twice=no", &info, &e));
    assert_string_equal(info->stopped, "no step");
    assert_int_equal(info->round_count, 1);
    assert_memory_equal(e->mixture.means, s.e->mixture.means, 12 * sizeof(float));
    tn_refine_info_free(info);
    tn_encoder_free(e);
    free_refine(&s);
}

/* What is kept is an ordinary encoder: weights of sum 1, above 0, and as many columns. */
static void the_result_is_an_encoder(void **state)
{
    (void)state;
    refine_scene s = scene_with(30, 40, 4, small);
    tn_encoder *e = NULL;
    tn_refine_info *info = NULL;
    double sum = 0;
    assert_fine(ctx, refine(&s, "rounds=3 holdout=0 C=100", &info, &e));
    assert_int_equal(info->best, info->round_count - 1); /* nothing to choose by: the last */
    assert_true(isnan(info->rounds[0].valid) && isnan(info->twice_valid));
    assert_string_equal(info->advice, "");
    assert_true(info->cost == 100);
    for (size_t k = 0; k < 3; ++k) {
        assert_true(e->mixture.weights[k] > 0);
        sum += (double)e->mixture.weights[k];
    }
    assert_near(sum, 1, 1e-6);
    float *row = encoded(e, &s.bags, 0);
    double length = 0;
    for (size_t i = 0; i < tn_encoder_cols(e); ++i)
        length += (double)row[i] * (double)row[i];
    assert_near(length, 1, 1e-5);
    free(row);
    tn_refine_info_free(info);
    tn_encoder_free(e);
    free_refine(&s);
}

static void assert_gives(const refine_scene *s, const char *text, const void *want, size_t size)
{
    size_t n = 0;
    void *got = refined_bytes(s, text, &n);
    assert_int_equal(n, size);
    assert_memory_equal(got, want, size);
    tn_bytes_free(got);
}

/* Three rounds, and then on to six; and one that is interrupted anywhere. */
static void check_checkpoint(const char *encoder, const char *way)
{
    refine_scene s = scene_with(36, 40, 4, encoder);
    size_t n = 0, m = 0;
    char text[300];
    snprintf(text, sizeof text, "%s rounds=6 patience=0 twice=no", way);
    void *want = refined_bytes(&s, text, &n);
    unlink("refine.state");
    snprintf(text, sizeof text, "%s rounds=3 patience=0 twice=no checkpoint=refine.state", way);
    tn_bytes_free(refined_bytes(&s, text, &m));
    snprintf(text, sizeof text, "%s rounds=6 patience=0 twice=no checkpoint=refine.state", way);
    assert_gives(&s, text, want, n);
    assert_gives(&s, text, want, n); /* once more, from the end */
    for (size_t at = 3; at < 120; at += 29) {
        interrupt stop = {ctx, 0, at};
        tn_encoder *e = NULL;
        unlink("refine.state");
        tn_ctx_set_progress(ctx, cancel_at, &stop);
        tn_status st = refine(&s, text, NULL, &e);
        tn_ctx_set_progress(ctx, NULL, NULL);
        tn_ctx_reset(ctx);
        assert_true(st == TN_ERR_INTERRUPTED || st == TN_OK);
        assert_true((e != NULL) == (st == TN_OK));
        tn_encoder_free(e);
        assert_gives(&s, text, want, n);
    }
    tn_bytes_free(want);
    unlink("refine.state");
    free_refine(&s);
}

static void checkpoints_go_on_to_the_same_bytes(void **state)
{
    (void)state;
    check_checkpoint(small, "optimizer=lbfgs");
    check_checkpoint(small, "optimizer=gd");
    check_checkpoint(small, "objective=cv");
    check_checkpoint(small, "optimizer=adam dropout=0.3 part=0.5");
    check_checkpoint(projected, "learn=both");
}

static void a_checkpoint_is_of_its_run(void **state)
{
    (void)state;
    refine_scene s = scene_with(30, 20, 4, small);
    tn_encoder *e = NULL;
    size_t n = 0;
    unlink("refine.state");
    tn_bytes_free(refined_bytes(&s, "rounds=2 twice=no checkpoint=refine.state", &n));
    assert_fails(ctx, TN_ERR_DATA, "a checkpoint of another run",
                 refine(&s, "rounds=2 twice=no penalty=1 checkpoint=refine.state", NULL, &e));
    assert_fails(ctx, TN_ERR_DATA, "a checkpoint of another run",
                 refine(&s, "rounds=2 twice=no task=second checkpoint=refine.state", NULL, &e));
    refine_scene p = scene_with(30, 20, 4, projected);
    unlink("refine.state");
    tn_bytes_free(refined_bytes(&p, "rounds=2 twice=no learn=both checkpoint=refine.state", &n));
    for (size_t other = 0; other < 2; ++other)
        assert_fails(ctx, TN_ERR_DATA, "a checkpoint of another run",
                     refine(&p,
                            other ? "rounds=2 twice=no checkpoint=refine.state"
                                  : "rounds=2 twice=no learn=projection checkpoint=refine.state",
                            NULL, &e));
    free_refine(&p);
    FILE *file = fopen("refine.state", "wb");
    fputs("no checkpoint", file);
    fclose(file);
    assert_fails(ctx, TN_ERR_FORMAT, "refine.state", refine(&s, "rounds=2 twice=no checkpoint=refine.state", NULL, &e));
    assert_null(e);
    unlink("refine.state");
    free_refine(&s);
}

/* Made in memory, made as a file, and read again from it when the bags cannot be: all the same. */
static void a_cache_changes_nothing(void **state)
{
    (void)state;
    refine_scene s = scene_with(30, 20, 4, small);
    size_t n = 0;
    tn_encoder *e = NULL;
    void *want = refined_bytes(&s, "rounds=3 twice=no", &n);
    unlink("refine.cache");
    assert_gives(&s, "rounds=3 twice=no cache=refine.cache", want, n);
    assert_gives(&s, "rounds=3 twice=no cache=refine.cache", want, n);
    tn_bytes_free(want);
    refine_scene p = scene_with(30, 20, 4, projected); /* kept unprojected: four values instead of three */
    struct stat info;
    want = refined_bytes(&p, "rounds=3 twice=no learn=both", &n);
    unlink("raw.cache");
    assert_gives(&p, "rounds=3 twice=no learn=both cache=raw.cache", want, n);
    assert_gives(&p, "rounds=3 twice=no learn=both cache=raw.cache", want, n);
    assert_int_equal(stat("raw.cache", &info), 0);
    assert_int_equal(info.st_size, 32 + 30 * 20 * 4 * 2 + 31 * 8 + 48);
    assert_fails(ctx, TN_ERR_DATA, "raw.cache: descriptors of other pictures or of another encoder",
                 refine(&p, "rounds=3 twice=no cache=raw.cache", NULL, &e));
    tn_bytes_free(want);
    unlink("raw.cache");
    free_refine(&p);
    s.bags.x[5] += 1; /* other bags */
    assert_fails(ctx, TN_ERR_DATA, "refine.cache: descriptors of other pictures or of another encoder",
                 refine(&s, "rounds=3 twice=no cache=refine.cache", NULL, &e));
    s.bags.x[5] -= 1;
    assert_int_equal(truncate("refine.cache", 1000), 0);
    assert_fails(ctx, TN_ERR_DATA, "refine.cache", refine(&s, "rounds=3 twice=no cache=refine.cache", NULL, &e));
    unlink("refine.cache");
    free_refine(&s);
}

static void one_class_can_be_the_task(void **state)
{
    (void)state;
    refine_scene s = scene_with(30, 40, 4, small);
    tn_refine_info *info = NULL;
    tn_encoder *e = NULL;
    assert_fine(ctx, refine(&s, "rounds=3 task=second C=100", &info, &e));
    assert_int_equal(info->classes, 1);
    assert_true(info->round_count > 1);
    tn_refine_info_free(info);
    tn_encoder_free(e);
    e = NULL;
    assert_fails(ctx, TN_ERR_ARG, "option task: got 'fourth'", refine(&s, "rounds=3 task=fourth", NULL, &e));
    free_refine(&s);
}

/* Rows to judge by that come apart, whose classes stand in another order. */
static void validation_may_come_apart(void **state)
{
    (void)state;
    refine_scene s = scene_with(30, 40, 4, small), other = scene_with(12, 40, 4, small);
    static const char *const names[KINDS] = {"third", "first", "second"};
    int64_t numbers[12];
    tn_labels *turned = NULL;
    tn_options *options = encoder_options("rounds=2 C=100");
    tn_refine_data train = {NULL, s.bags.list, s.labels}, valid[2] = {{NULL, other.bags.list, other.labels}};
    double found[2];
    for (size_t i = 0; i < 12; ++i)
        numbers[i] = (int64_t)((i + 1) % (size_t)KINDS); /* the same classes by name */
    assert_fine(ctx, tn_labels_from_numbers(ctx, numbers, 12, names, KINDS, &turned));
    valid[1] = (tn_refine_data){NULL, other.bags.list, turned};
    for (size_t v = 0; v < 2; ++v) {
        tn_refine_info *info = NULL;
        tn_encoder *e = NULL;
        assert_fine(ctx, tn_encoder_refine(ctx, s.e, &train, &valid[v], options, &info, &e));
        assert_int_equal(info->training, 30);
        assert_int_equal(info->validation, 12);
        assert_true(info->twice_valid >= 0);
        found[v] = info->rounds[info->best].valid;
        tn_refine_info_free(info);
        tn_encoder_free(e);
    }
    assert_true(found[0] == found[1]);
    tn_labels_free(turned);
    tn_options_free(options);
    free_refine(&s);
    free_refine(&other);
}

/* ---- the edges ---- */

/* Pyramids, places, other norms, f64: they all go down. */
static void other_encoders_are_refined_too(void **state)
{
    (void)state;
    static const char *const kinds[][2] = {
        {"kind=fisher words=2 pca=3 pyramid=1x1,2x2", "rounds=2 C=100 twice=no"},
        {"kind=fisher words=2 pca=3 places=yes norm=l2", "rounds=2 C=100 twice=no"},
        {"kind=fisher words=2 pca=3 pyramid=1x1,2x2", "rounds=2 C=100 twice=yes learn=both"},
        {"kind=fisher words=2 pca=3 places=yes whiten=yes", "rounds=2 C=100 twice=yes learn=projection soften=0"},
        {"kind=fisher words=2 pca=3", "rounds=2 C=100 twice=no learn=both objective=cv"},
        {"kind=fisher words=2 pca=3", "rounds=2 C=100 twice=no learn=projection precision=f64 soften=0"},
        {"kind=fisher words=2 pca=0 norm=intra", "rounds=2 C=100 twice=no threshold=1e-5"},
        {"kind=fisher words=2 pca=0 norm=raw", "rounds=2 C=100 twice=no"},
        {"kind=fisher words=2 pca=0", "rounds=2 C=100 twice=no objective=multinomial"},
        {"kind=fisher words=2 pca=0", "rounds=2 C=100 twice=no objective=cv"},
        {"kind=fisher words=2 pca=0", "rounds=2 C=100 twice=no precision=f64 soften=0"}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
        refine_scene s = scene_with(18, 30, 4, kinds[i][0]);
        tn_refine_info *info = NULL;
        tn_encoder *e = NULL;
        assert_fine(ctx, refine(&s, kinds[i][1], &info, &e));
        assert_true(info->round_count >= 2 && info->rounds[1].objective < info->rounds[0].objective);
        tn_refine_info_free(info);
        tn_encoder_free(e);
        free_refine(&s);
    }
}

/* f32 and f64 go the same way: the objectives of two rounds agree to what float descriptors allow. */
static void check_precisions(const char *encoder, const char *learn)
{
    refine_scene s = scene_with(30, 40, 4, encoder);
    tn_refine_info *info[2] = {NULL, NULL};
    for (size_t i = 0; i < 2; ++i) {
        tn_encoder *e = NULL;
        char text[100];
        snprintf(text, sizeof text, "rounds=2 C=100 twice=no learn=%s precision=%s", learn, i ? "f64" : "f32");
        assert_fine(ctx, refine(&s, text, &info[i], &e));
        tn_encoder_free(e);
    }
    for (size_t r = 0; r < 3; ++r)
        assert_near(info[0]->rounds[r].objective, info[1]->rounds[r].objective, 1e-3);
    tn_refine_info_free(info[0]);
    tn_refine_info_free(info[1]);
    free_refine(&s);
}

static void precisions_agree(void **state)
{
    (void)state;
    check_precisions(small, "mixture");
    check_precisions(projected, "both");
}

/* Bags of one descriptor, of none, and a class of one bag, which is never held out. */
static void small_bags_and_classes(void **state)
{
    (void)state;
    refine_scene s = scene_with(20, 30, 4, small);
    size_t offsets[13] = {0};
    int64_t numbers[12];
    tn_bags *few = NULL;
    tn_labels *labels = NULL;
    for (size_t b = 0; b < 12; ++b) {
        offsets[b + 1] = offsets[b] + (b % 4 == 0 ? 1 : b % 4 == 1 ? 0 : 20);
        numbers[b] = b == 3 ? 2 : (int64_t)(b / 2 % 2);
    }
    assert_fine(ctx, tn_bags_new(ctx, offsets, 12, s.bags.features, s.bags.positions, &few));
    assert_fine(ctx, tn_labels_from_numbers(ctx, numbers, 12, NULL, 0, &labels));
    tn_options *options = encoder_options("rounds=3");
    tn_refine_data data = {NULL, few, labels};
    tn_refine_info *info = NULL;
    tn_encoder *e = NULL;
    assert_fine(ctx, tn_encoder_refine(ctx, s.e, &data, NULL, options, &info, &e));
    for (size_t i = 1; i < info->round_count; ++i)
        assert_true(info->rounds[i].objective < info->rounds[i - 1].objective);
    for (size_t i = 0; i < 3 * 4; ++i)
        assert_true(isfinite(e->mixture.means[i]) && e->mixture.variances[i] > 0);
    tn_refine_info_free(info);
    tn_encoder_free(e);
    tn_options_free(options);
    tn_labels_free(labels);
    tn_bags_free(few);
    free_refine(&s);
}

/* One bag per class leaves nothing to judge by: said, and done without. */
static void nothing_to_hold_out(void **state)
{
    (void)state;
    refine_scene s = scene_with(3, 30, 4, small);
    tn_refine_info *info = NULL;
    tn_encoder *e = NULL;
    assert_fine(ctx, refine(&s, "rounds=2", &info, &e));
    assert_int_equal(info->validation, 0);
    assert_int_equal(info->training, 3);
    assert_true(info->cost == 100);
    tn_refine_info_free(info);
    tn_encoder_free(e);
    free_refine(&s);
}

/* Validation bags of other classes only can judge nothing: as without any. */
static void validation_may_know_none_of_the_classes(void **state)
{
    (void)state;
    refine_scene s = scene_with(30, 40, 4, small), other = scene_with(6, 40, 4, small);
    static const char *const names[2] = {"fourth", "fifth"};
    const int64_t numbers[6] = {0, 1, 0, 1, 0, 1};
    tn_labels *strange = NULL;
    tn_refine_info *info = NULL;
    tn_encoder *e = NULL;
    tn_options *options = encoder_options("rounds=2");
    assert_fine(ctx, tn_labels_from_numbers(ctx, numbers, 6, names, 2, &strange));
    tn_refine_data train = {NULL, s.bags.list, s.labels}, valid = {NULL, other.bags.list, strange};
    assert_fine(ctx, tn_encoder_refine(ctx, s.e, &train, &valid, options, &info, &e));
    assert_true(isnan(info->rounds[0].valid) && info->cost == 100);
    assert_int_equal(info->best, info->round_count - 1);
    assert_string_equal(info->advice, "");
    tn_refine_info_free(info);
    tn_encoder_free(e);
    tn_labels_free(strange);
    tn_options_free(options);
    free_refine(&s);
    free_refine(&other);
}

static void cut_cache(void *user, const char *stage, double share)
{
    size_t *calls = user;
    (void)share;
    if (strcmp(stage, "gradient") == 0 && ++*calls == 3)
        assert_int_equal(truncate("refine.cache", 600), 0);
}

/* Descriptors that vanish between two rounds: an error that names the file, and the next run says so too. */
static void a_cache_may_be_cut_short_between_rounds(void **state)
{
    (void)state;
    refine_scene s = scene_with(30, 20, 4, small);
    tn_encoder *e = NULL;
    size_t calls = 0;
    unlink("refine.cache");
    tn_ctx_set_progress(ctx, cut_cache, &calls);
    tn_status st = refine(&s, "rounds=6 twice=no cache=refine.cache", NULL, &e);
    tn_ctx_set_progress(ctx, NULL, NULL);
    assert_true(calls >= 3);
    assert_int_equal(st, TN_ERR_IO);
    assert_non_null(strstr(tn_ctx_message(ctx), "refine.cache"));
    assert_null(e);
    assert_fails(ctx, TN_ERR_DATA, "refine.cache", refine(&s, "rounds=6 twice=no cache=refine.cache", NULL, &e));
    unlink("refine.cache");
    free_refine(&s);
}

static void what_cannot_be_is_said(void **state)
{
    (void)state;
    refine_scene s = scene_with(12, 20, 4, small);
    tn_encoder *vlad = encoder_of(&s.bags, "kind=vlad words=3 pca=0", NULL), *e = NULL, *given = s.e;
    tn_labels *labels = s.labels;
    int64_t ones[12] = {0}, eleven[11] = {0, 1};
    s.e = vlad;
    assert_fails(ctx, TN_ERR_ARG, "the encoder is vlad, expected fisher", refine(&s, "rounds=1", NULL, &e));
    s.e = given;
    assert_fine(ctx, tn_labels_from_numbers(ctx, ones, 12, NULL, 0, &s.labels));
    assert_fails(ctx, TN_ERR_DATA, "no class has pictures", refine(&s, "rounds=1", NULL, &e));
    tn_labels_free(s.labels);
    assert_fine(ctx, tn_labels_from_numbers(ctx, eleven, 11, NULL, 0, &s.labels));
    assert_fails(ctx, TN_ERR_SHAPE, "11 rows, but there are 12 bags", refine(&s, "rounds=1", NULL, &e));
    tn_labels_free(s.labels);
    s.labels = labels;
    s.bags.x[7] = NAN;
    assert_fails(ctx, TN_ERR_DATA, "bag 0, descriptor 1 holds NaN", refine(&s, "rounds=1", NULL, &e));
    s.bags.x[7] = 1e30F;
    assert_fails(ctx, TN_ERR_DATA, "bag 0, descriptor 1 is", refine(&s, "rounds=1", NULL, &e));
    assert_fails(ctx, TN_ERR_ARG, "option learn: got both, but the encoder projects nothing",
                 refine(&s, "learn=both", NULL, &e));
    assert_fails(ctx, TN_ERR_ARG, "option optimizer gd", refine(&s, "optimizer=gd objective=cv", NULL, &e));
    assert_fails(ctx, TN_ERR_ARG, "option objective multinomial",
                 refine(&s, "task=first objective=multinomial", NULL, &e));
    assert_fails(ctx, TN_ERR_OUTPUT, "no/such", refine(&s, "rounds=1 cache=no/such/folder", NULL, &e));
    assert_null(e);
    tn_encoder_free(vlad);
    free_refine(&s);
}

/* The k-th allocation fails, k growing by a tenth: nothing is left and nothing is handed out. */
static void check_memory(const char *encoder, const char *text)
{
    refine_scene s = scene_with(9, 10, 3, encoder);
    tn_status st = TN_ERR_MEMORY;
    tn_ctx_set_threads(ctx, 1);
    for (size_t k = 1; st != TN_OK; k += 1 + k / 10) {
        tn_encoder *e = NULL;
        tn_refine_info *info = NULL;
        size_t live = tnp_live_blocks(ctx);
        tn_options *options = encoder_options(text);
        tn_refine_data data = {NULL, s.bags.list, s.labels};
        tnp_fail_allocation(ctx, k);
        st = tn_encoder_refine(ctx, s.e, &data, NULL, options, &info, &e);
        tnp_fail_allocation(ctx, 0);
        tn_options_free(options);
        assert_true(st == TN_OK || (st == TN_ERR_MEMORY && !e && !info));
        tn_encoder_free(e);
        tn_refine_info_free(info);
        assert_int_equal(tnp_live_blocks(ctx), live);
    }
    tn_ctx_set_threads(ctx, 0);
    free_refine(&s);
}

static void memory_may_fail(void **state)
{
    (void)state;
    check_memory("kind=fisher words=2 pca=0 iterations=2", "rounds=1 holdout=0.34");
    check_memory("kind=fisher words=2 pca=2 iterations=2", "rounds=1 holdout=0.34 learn=both");
}

/* Every system call on a file fails once: the cache and the checkpoint are whole or not there. */
static void files_may_fail(void **state)
{
    (void)state;
    refine_scene s = scene_with(12, 10, 3, "kind=fisher words=2 pca=0 iterations=2");
    const char text[] = "rounds=2 twice=no cache=refine.cache checkpoint=refine.state";
    size_t n = 0;
    void *want = refined_bytes(&s, "rounds=2 twice=no", &n);
    tn_status st = TN_ERR_IO;
    for (size_t k = 1; st != TN_OK; k += 1 + k / 8) {
        tn_encoder *e = NULL;
        unlink("refine.cache");
        unlink("refine.state");
        tnp_fail_io(ctx, k);
        st = refine(&s, text, NULL, &e);
        tnp_fail_io(ctx, 0);
        assert_true(st == TN_OK || st == TN_ERR_IO || st == TN_ERR_OUTPUT);
        tn_encoder_free(e);
        assert_gives(&s, text, want, n);
    }
    tn_bytes_free(want);
    unlink("refine.cache");
    unlink("refine.state");
    free_refine(&s);
}

/* To rounding: machines may be multiplied by several threads. */
static void threads_change_nothing_but_rounding(void **state)
{
    (void)state;
    refine_scene s = scene_with(40, 60, 5, small);
    tn_encoder *e[2] = {NULL, NULL};
    for (size_t t = 0; t < 2; ++t) {
        tn_ctx_set_threads(ctx, 1 + 2 * t);
        assert_fine(ctx, refine(&s, "rounds=3 C=100 twice=no holdout=0", NULL, &e[t]));
    }
    for (size_t i = 0; i < 15; ++i)
        assert_near_at(i, (double)e[0]->mixture.means[i], (double)e[1]->mixture.means[i], 1e-4);
    tn_ctx_set_threads(ctx, 0);
    tn_encoder_free(e[0]);
    tn_encoder_free(e[1]);
    free_refine(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_objective_never_rises),
                                       cmocka_unit_test(adam_descends),
                                       cmocka_unit_test(a_wild_step_ends_it),
                                       cmocka_unit_test(the_result_is_an_encoder),
                                       cmocka_unit_test(checkpoints_go_on_to_the_same_bytes),
                                       cmocka_unit_test(a_checkpoint_is_of_its_run),
                                       cmocka_unit_test(a_cache_changes_nothing),
                                       cmocka_unit_test(one_class_can_be_the_task),
                                       cmocka_unit_test(validation_may_come_apart),
                                       cmocka_unit_test(other_encoders_are_refined_too),
                                       cmocka_unit_test(precisions_agree),
                                       cmocka_unit_test(small_bags_and_classes),
                                       cmocka_unit_test(nothing_to_hold_out),
                                       cmocka_unit_test(validation_may_know_none_of_the_classes),
                                       cmocka_unit_test(a_cache_may_be_cut_short_between_rounds),
                                       cmocka_unit_test(what_cannot_be_is_said),
                                       cmocka_unit_test(memory_may_fail),
                                       cmocka_unit_test(files_may_fail),
                                       cmocka_unit_test(threads_change_nothing_but_rounding)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
