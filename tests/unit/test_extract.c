/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Extraction in parts: interrupted anywhere it goes on to the bytes of a run that was not, and nothing is left behind.
 * Rows that are encoded when they are asked for are those that are encoded at once, bit by bit. */
#define _POSIX_C_SOURCE 200809L
#include "encoder_of.h"
#include "fixtures/pictures.h"
#include "interrupt.h"
#include "store/extract_parts.h"
#include "tenon/store.h"

#include <sys/stat.h>
#include <unistd.h>

enum { BAGS = 2 * TNP_PART_ROWS + 9, ROWS = 4, DIM = 5 };

static char folder[] = "/tmp/tenon-extract-XXXXXX";
static bag_set bags;
static tn_encoder *encoders[2];

static tn_encoder *encoder_with(const char *kind)
{
    tn_options *options = NULL;
    tn_encoder *e = NULL;
    assert_fine(ctx, tn_options_new(ctx, "encoder", &options));
    assert_fine(ctx, tn_options_set(ctx, options, "kind", kind));
    assert_fine(ctx, tn_options_set(ctx, options, "words", "3"));
    assert_fine(ctx, tn_options_set(ctx, options, "pca", "0"));
    assert_fine(ctx, tn_encoder_train_bags(ctx, bags.list, options, NULL, &e));
    tn_options_free(options);
    return e;
}

static int make_all(void **state)
{
    (void)setup(state);
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    bags = bags_of(BAGS, ROWS, DIM, 0);
    encoders[0] = encoder_with("fisher");
    encoders[1] = encoder_with("bovw");
    return 0;
}

static int drop_all(void **state)
{
    static const char *const files[] = {"a.npy", "b.npy", "a.json", "b.json", "c.npy", "d.npy", "c.json", "d.json"};
    for (size_t i = 0; i < sizeof files / sizeof *files; ++i)
        (void)remove(files[i]);
    tn_encoder_free(encoders[0]);
    tn_encoder_free(encoders[1]);
    free_bags(&bags);
    assert_int_equal(rmdir(folder), 0); /* nothing else is there */
    return teardown(state);
}

static tn_status extract(const char *const *paths, bool resume)
{
    tn_options *options = NULL;
    assert_fine(ctx, tn_options_new(ctx, "extract", &options));
    assert_fine(ctx, tn_options_set_flag(ctx, options, "resume", resume));
    tn_status st =
        tn_extract_rows(ctx, NULL, bags.list, (const tn_encoder *const *)encoders, 2, paths, "test", options);
    tn_options_free(options);
    return st;
}

static bool is_there(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0;
}

static void assert_same_files(const char *a, const char *b)
{
    tnp_bytes x, y;
    assert_fine(ctx, tnp_bytes_read(ctx, a, &x));
    assert_fine(ctx, tnp_bytes_read(ctx, b, &y));
    assert_int_equal(x.size, y.size);
    assert_memory_equal(x.data, y.data, x.size);
    tnp_bytes_free(&x);
    tnp_bytes_free(&y);
}

static void an_interrupted_run_goes_on_to_the_same_bytes(void **state)
{
    static const char *const whole[] = {"a.npy", "b.npy"}, *const parts[] = {"c.npy", "d.npy"};
    static const size_t at[] = {2, TNP_PART_ROWS / 2, TNP_PART_ROWS + 3, BAGS};
    (void)state;
    assert_fine(ctx, extract(whole, false));
    for (size_t i = 0; i < sizeof at / sizeof *at; ++i) {
        interrupt stop = {.ctx = ctx, .at = at[i]};
        tn_ctx_set_progress(ctx, cancel_at, &stop);
        assert_int_equal(extract(parts, true), TN_ERR_INTERRUPTED);
        tn_ctx_set_progress(ctx, NULL, NULL);
        tn_ctx_reset(ctx);
        assert_true(is_there("c.npy.parts") && is_there("d.npy.parts") && !is_there("c.npy"));
        assert_int_equal(is_there("c.npy.parts/00000000.npy"), at[i] > TNP_PART_ROWS);
        assert_fine(ctx, extract(parts, true));
        assert_same_files("a.npy", "c.npy");
        assert_same_files("b.npy", "d.npy");
        assert_true(!is_there("c.npy.parts") && !is_there("d.npy.parts"));
        (void)remove("c.npy");
    }
}

static void parts_of_another_run_are_refused(void **state)
{
    static const char *const paths[] = {"c.npy", "d.npy"}, *const turned[] = {"d.npy", "c.npy"};
    (void)state;
    interrupt stop = {.ctx = ctx, .at = TNP_PART_ROWS + 3};
    tn_ctx_set_progress(ctx, cancel_at, &stop);
    assert_int_equal(extract(paths, true), TN_ERR_INTERRUPTED);
    tn_ctx_set_progress(ctx, NULL, NULL);
    tn_ctx_reset(ctx);
    assert_int_equal(extract(turned, true), TN_ERR_ARG);
    assert_non_null(strstr(tn_ctx_message(ctx), "rows of another extraction"));
    assert_int_equal(truncate("c.npy.parts/00000000.npy", 200), 0);
    assert_int_equal(extract(paths, true), TN_ERR_FORMAT);
    assert_int_equal(remove("c.npy.parts/00000000.npy"), 0);
    assert_fine(ctx, extract(paths, true));
}

enum { PICTURES = 7, SIDE = 30 };

static void draw_picture(const char *path, size_t number)
{
    static unsigned char rows[SIDE * SIDE];
    tnp_rng rng;
    tnp_rng_init(&rng, number, 5);
    for (size_t i = 0; i < SIDE * SIDE; ++i)
        rows[i] = (unsigned char)(100 + 60 * sin((double)(number + 1) * (double)(i % SIDE) / 9) +
                                  (double)tnp_rng_below(&rng, 60));
    png_form form = {
        .width = SIDE, .height = SIDE, .depth = 8, .type = PNG_COLOR_TYPE_GRAY, .rows = rows, .row_bytes = SIDE};
    png_write(&form, path);
}

static tn_encoder *encoder_of_pictures(const tn_pictures *pictures)
{
    static const char *const set[][2] = {{"words", "3"}, {"pca", "4"}, {"sides", "8,12"}, {"pyramid", "1x1,2x2"}};
    tn_options *options = NULL;
    tn_encoder *e = NULL;
    assert_fine(ctx, tn_options_new(ctx, "encoder", &options));
    for (size_t i = 0; i < sizeof set / sizeof *set; ++i)
        assert_fine(ctx, tn_options_set(ctx, options, set[i][0], set[i][1]));
    assert_fine(ctx, tn_encoder_train(ctx, pictures, options, NULL, &e));
    tn_options_free(options);
    return e;
}

/* All rows by one thread, then some of them, in another order and one twice, by any number. */
static void streamed_rows_are_those_in_memory(void **state)
{
    static const char *const names[PICTURES] = {"0.png", "1.png", "2.png", "3.png", "4.png", "5.png", "6.png"};
    static const size_t order[] = {5, 0, 1, 2, 2, 6, 3, 4};
    enum { ASKED = sizeof order / sizeof *order };
    (void)state;
    for (size_t i = 0; i < PICTURES; ++i)
        draw_picture(names[i], i);
    tn_pictures *pictures = NULL;
    tn_features *whole = NULL, *streamed = NULL;
    assert_fine(ctx, tn_pictures_open(ctx, names, PICTURES, &pictures));
    tn_encoder *e = encoder_of_pictures(pictures);
    size_t cols = tn_encoder_cols(e);
    float *want = malloc(ASKED * cols * sizeof *want), *got = malloc(ASKED * cols * sizeof *got);
    for (size_t threads = 1; threads <= 3; ++threads) {
        tn_ctx_set_threads(ctx, threads);
        assert_fine(ctx, tn_features_stream_pictures(ctx, "s", pictures, e, &streamed));
        if (!whole)
            assert_fine(ctx, tn_features_from_pictures(ctx, "w", pictures, e, &whole));
        assert_string_equal(tn_features_ids(streamed)[3], tn_features_ids(whole)[3]);
        assert_fine(ctx, tn_features_read(ctx, whole, order, 0, ASKED, 0, cols, want));
        assert_fine(ctx, tn_features_read(ctx, streamed, order, 0, ASKED, 0, cols, got));
        assert_memory_equal(got, want, ASKED * cols * sizeof *got);
        tn_features_close(streamed);
    }
    assert_int_equal(remove("4.png"), 0); /* a picture that goes while it is needed */
    assert_fine(ctx, tn_features_stream_pictures(ctx, "s", pictures, e, &streamed));
    assert_int_equal(tn_features_read(ctx, streamed, NULL, 0, PICTURES, 0, cols, got), TN_ERR_IO);
    assert_non_null(strstr(tn_ctx_message(ctx), "4.png"));
    tn_features_close(streamed);
    tn_features_close(whole);
    tn_encoder_free(e);
    tn_pictures_free(pictures);
    for (size_t i = 0; i < PICTURES; ++i)
        (void)remove(names[i]);
    free(want);
    free(got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(an_interrupted_run_goes_on_to_the_same_bytes),
                                       cmocka_unit_test(parts_of_another_run_are_refused),
                                       cmocka_unit_test(streamed_rows_are_those_in_memory)};
    return cmocka_run_group_tests(tests, make_all, drop_all);
}
