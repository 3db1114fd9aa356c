/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stages on the way from a picture to a vector, each beside VLFeat's in the same process. It is made of the program's own
 * objects and sees their headers. All is timed by processor time of one thread, the best of RUNS, contestants in turn.
 *
 *   sift         a grey picture to SIFT of five sizes, every 4 pixels; vl_dsift with a flat window at the same places
 *   root_sift, root_pca     the same to RootSIFT, and on to 64 components; also against vl_dsift
 *   fisher_K     COUNT descriptors of 64 values to a Fisher vector; vl_fisher_encode with the same mixture
 *   em_K         a step of EM on as many; an iteration of vl_gmm
 *   kmeans_K     a step of k-means on six times as many; the product of rows and centres that it is made of as `floor`
 *   decode, picture_*   a picture from JPEG; its descriptors to a vector, PCA included; nobody beside
 *
 * Pictures are dead leaves: discs of random place, grey and size, radii by r^-3, each over those before, with noise:
 * edges, flat parts and sizes are spread as in photographs.
 *
 * Usage: image_stages stages RUNS WIDTH HEIGHT COUNT     prints one JSON object
 *        image_stages draw FOLDER NUMBER WIDTH HEIGHT    draws JPEGs into FOLDER/a and FOLDER/b in turn */
#define _POSIX_C_SOURCE 200809L
#include "algebra/blas.h"
#include "encode/encoder.h"
#include "tenon/store.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <vl/dsift.h>
#include <vl/fisher.h>
#include <vl/gmm.h>
/* clang-format off: needs size_t and FILE before it */
#include <jpeglib.h>
/* clang-format on */

enum { SIZES = 5, STEP = 4, TO = 64, MOST_WORDS = 1024, MIXTURE = 256, MANY = 6, LEAVES = 4000 };
static const size_t bin_sides[SIZES] = {4, 6, 9, 12, 16}; /* of a quarter of a patch: VLFeat has whole ones */

static double processor_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- pictures ---- */

static void draw_disc(float *pixels, size_t width, size_t height, tnp_rng *rng)
{
    double least = 2, most = 0.4 * (double)width, u = tnp_rng_unit(rng);
    double r = 1 / sqrt((1 - u) / (least * least) + u / (most * most));
    double x = tnp_rng_unit(rng) * (double)width, y = tnp_rng_unit(rng) * (double)height;
    float colour[3], grey = (float)tnp_rng_unit(rng);
    for (size_t c = 0; c < 3; ++c)
        colour[c] = 0.8F * grey + 0.2F * (float)tnp_rng_unit(rng);
    size_t top = (size_t)fmax(0, y - r), end = (size_t)fmin((double)height, y + r + 1);
    size_t left = (size_t)fmax(0, x - r), right = (size_t)fmin((double)width, x + r + 1);
    for (size_t j = top; j < end; ++j)
        for (size_t i = left; i < right; ++i)
            if (pow((double)i - x, 2) + pow((double)j - y, 2) < r * r)
                memcpy(pixels + 3 * (j * width + i), colour, sizeof colour);
}

/* (height, width, 3), from 0 to 1. */
static void draw(uint64_t seed, size_t width, size_t height, float *pixels)
{
    tnp_rng rng;
    tnp_rng_init(&rng, seed, 7);
    for (size_t i = 0; i < 3 * width * height; ++i)
        pixels[i] = 0.5F;
    for (size_t leaf = 0; leaf < LEAVES; ++leaf)
        draw_disc(pixels, width, height, &rng);
    for (size_t i = 0; i < 3 * width * height; ++i)
        pixels[i] = fminf(1, fmaxf(0, pixels[i] + 0.03F * (float)(tnp_rng_unit(&rng) + tnp_rng_unit(&rng) - 1)));
}

static void write_jpeg(const char *path, size_t width, size_t height, const float *pixels)
{
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;
    FILE *file = fopen(path, "wb");
    unsigned char *row = malloc(3 * width);
    if (!file || !row) {
        perror(path);
        exit(1);
    }
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_compress(&jpeg);
    jpeg_stdio_dest(&jpeg, file);
    jpeg.image_width = (JDIMENSION)width;
    jpeg.image_height = (JDIMENSION)height;
    jpeg.input_components = 3;
    jpeg.in_color_space = JCS_RGB;
    jpeg_set_defaults(&jpeg);
    jpeg_set_quality(&jpeg, 90, TRUE);
    jpeg_start_compress(&jpeg, TRUE);
    for (size_t y = 0; y < height; ++y) {
        for (size_t i = 0; i < 3 * width; ++i)
            row[i] = (unsigned char)lrintf(255 * pixels[3 * width * y + i]);
        jpeg_write_scanlines(&jpeg, &row, 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    free(row);
    fclose(file);
}

static int draw_pictures(const char *folder, size_t number, size_t width, size_t height)
{
    float *pixels = malloc(3 * width * height * sizeof *pixels);
    char path[4096];
    for (size_t i = 0; pixels && i < number; ++i) {
        draw(i, width, height, pixels);
        snprintf(path, sizeof path, "%s/%c/%06zu.jpg", folder, i % 2 ? 'b' : 'a', i);
        write_jpeg(path, width, height, pixels);
    }
    free(pixels);
    return pixels ? 0 : 1;
}

/* ---- what is timed ---- */

typedef struct stages {
    tn_ctx *ctx;
    tn_picture grey, colour;
    tnp_describer sift, root;
    tnp_described described;
    tn_encoder encoder; /* of the kind in turn; its projection is that of root_pca */
    float *projected;   /* (MANY count, TO): of root_pca, the sample of everything behind it */
    size_t count, used; /* used: rows of the sample, count or MANY count */
    float *theirs, *ours, *vector;
    unsigned char *jpeg;
    size_t jpeg_size;
} stages;

typedef tn_status (*stage)(stages *s);

static tn_status describe_ours(stages *s)
{
    return tnp_describe(s->ctx, &s->sift, &s->grey, &s->described);
}

static tn_status describe_root(stages *s)
{
    return tnp_describe(s->ctx, &s->root, &s->grey, &s->described);
}

static tn_status describe_and_project(stages *s)
{
    tn_status st = describe_root(s);
    if (st == TN_OK)
        st = tnp_projection_apply(s->ctx, &s->encoder.projection, s->described.descriptors, s->described.count, s->ours,
                                  TO);
    return st;
}

/* The same number of patches at the same places, to half a pixel. */
static tn_status describe_theirs(stages *s)
{
    const tnp_grid *grid = &s->described.patches.grid;
    for (size_t i = 0; i < SIZES; ++i) {
        const tnp_patch_size *size = grid->size + i;
        size_t b = bin_sides[i], x = size->x + (b - 1) / 2, y = size->y + (b - 1) / 2;
        VlDsiftFilter *filter = vl_dsift_new_basic((int)grid->width, (int)grid->height, STEP, (int)b);
        vl_dsift_set_flat_window(filter, 1);
        vl_dsift_set_bounds(filter, (int)x, (int)y, (int)(x + (size->nx - 1) * STEP + 3 * b),
                            (int)(y + (size->ny - 1) * STEP + 3 * b));
        vl_dsift_process(filter, s->grey.pixels);
        if ((size_t)vl_dsift_get_keypoint_num(filter) != size->nx * size->ny)
            return tnp_fail(s->ctx, TN_ERR_SHAPE, "vl_dsift: %d patches, expected %zu",
                            vl_dsift_get_keypoint_num(filter), size->nx * size->ny);
        memcpy(s->theirs + size->first * 128, vl_dsift_get_descriptors(filter),
               size->nx * size->ny * 128 * sizeof(float));
        vl_dsift_delete(filter);
    }
    return TN_OK;
}

static tn_status fisher_ours(stages *s)
{
    return tnp_encode(s->ctx, &s->encoder, s->projected, NULL, s->used, s->ours);
}

static tn_status fisher_theirs(stages *s)
{
    const tnp_mixture *m = &s->encoder.mixture;
    vl_fisher_encode(s->theirs, VL_TYPE_FLOAT, m->means, m->dim, m->count, m->variances, m->weights, s->projected,
                     s->used, 0);
    return TN_OK;
}

/* Steps of EM from the same mixture, which is not changed: sums and update, as training does. */
static tn_status em_ours(stages *s)
{
    tn_status st = TN_OK;
    const tnp_mixture *m = &s->encoder.mixture;
    tnp_mixture moved = {.count = 0};
    tnp_mixture_sums sums = {.rows = 0};
    double floor[TO] = {0};
    TN_TRY(tnp_mixture_new(s->ctx, m->count, m->dim, &moved));
    memcpy(moved.weights, m->weights, m->count * sizeof(float));
    memcpy(moved.means, m->means, m->count * m->dim * sizeof(float));
    memcpy(moved.variances, m->variances, m->count * m->dim * sizeof(float));
    tnp_mixture_ready(&moved);
    TN_TRY(tnp_mixture_sums_new(s->ctx, m, &sums));
    TN_TRY(tnp_mixture_add(s->ctx, &moved, s->projected, s->used, &sums));
    tnp_mixture_update(&moved, &sums, floor);
done:
    tnp_mixture_sums_free(&sums);
    tnp_mixture_free(&moved);
    return st;
}

static void em_steps_theirs(stages *s, size_t steps)
{
    const tnp_mixture *m = &s->encoder.mixture;
    VlGMM *gmm = vl_gmm_new(VL_TYPE_FLOAT, m->dim, m->count);
    vl_gmm_set_initialization(gmm, VlGMMCustom);
    vl_gmm_set_means(gmm, m->means);
    vl_gmm_set_covariances(gmm, m->variances);
    vl_gmm_set_priors(gmm, m->weights);
    vl_gmm_set_max_num_iterations(gmm, steps);
    vl_gmm_cluster(gmm, s->projected, s->used);
    vl_gmm_delete(gmm);
}

static tn_status kmeans_ours(stages *s)
{
    tn_status st = TN_OK;
    tnp_words_sums sums = {.rows = 0};
    tnp_words_table *words = &s->encoder.words;
    TN_TRY(tnp_words_sums_new(s->ctx, words, false, &sums));
    TN_TRY(tnp_words_add(s->ctx, words, s->projected, s->used, &sums));
    (void)tnp_words_update(words, &sums);
done:
    tnp_words_sums_free(&sums);
    return st;
}

enum { PRODUCT_ROWS = 2048 };

static tn_status product_floor(stages *s)
{
    tn_status st = TN_OK;
    const tnp_words_table *words = &s->encoder.words;
    float *scores = NULL;
    TN_TRY(tnp_alloc(s->ctx, PRODUCT_ROWS * words->count, sizeof *scores, &scores));
    for (size_t i = 0; i < s->used; i += PRODUCT_ROWS)
        TN_TRY(tnp_sgemm_nt(s->ctx, tnp_min(PRODUCT_ROWS, s->used - i), words->count, TO, s->projected + i * TO, TO,
                            words->moved, TO, 0, scores, words->count));
done:
    tnp_free(scores);
    return st;
}

static tn_status encode_all(stages *s)
{
    return tnp_encode(s->ctx, &s->encoder, s->described.descriptors, s->described.positions, s->described.count,
                      s->vector);
}

static tn_status decode_picture(stages *s)
{
    tn_picture *made = NULL;
    tn_status st = tn_picture_decode(s->ctx, s->jpeg, s->jpeg_size, "drawn", 0, &made);
    tn_picture_free(made);
    return st;
}

/* ---- the clock ---- */

/* Best processor seconds of both, in turn; *theirs may have no stage. */
static tn_status time_stages(stages *s, size_t runs, stage ours, stage theirs, double best[2])
{
    tn_status st = TN_OK;
    best[0] = best[1] = INFINITY;
    for (size_t r = 0; r <= runs; ++r) { /* the first warms up */
        for (size_t which = 0; which < 2; ++which) {
            stage one = which ? theirs : ours;
            double begin = processor_seconds();
            if (one)
                TN_TRY(one(s));
            if (r > 0)
                best[which] = fmin(best[which], processor_seconds() - begin);
        }
    }
done:
    return st;
}

static void print_pair(const char *name, size_t words, const double best[2], const char *other, const char *more)
{
    static const char *comma = "";
    printf("%s\"%s", comma, name);
    if (words)
        printf("_%zu", words);
    printf("\": {\"tenon\": %.9f", best[0]);
    if (other)
        printf(", \"%s\": %.9f", other, best[1]);
    printf("%s}", more);
    comma = ", ";
}

static double distance_of(const float *a, const float *b, size_t n)
{
    double off = 0, size = 0;
    for (size_t i = 0; i < n; ++i) {
        off += pow((double)a[i] - (double)b[i], 2);
        size += pow((double)b[i], 2);
    }
    return sqrt(off / size);
}

/* ---- the run ---- */

static tn_status make_describers(stages *s)
{
    tn_status st = TN_OK;
    double sides[SIZES];
    tnp_describe_options options;
    tnp_describe_options_default(&options);
    for (size_t i = 0; i < SIZES; ++i)
        sides[i] = 4.0 * (double)bin_sides[i];
    options.sides = (tnp_reals){sides, SIZES};
    options.step = STEP;
    options.contrast = false; /* VLFeat does not */
    TN_TRY(tnp_describer_make(s->ctx, &options, &s->sift));
    options.descriptor = 1;
    TN_TRY(tnp_describer_make(s->ctx, &options, &s->root));
done:
    return st;
}

static tn_status learn_projection(stages *s)
{
    tn_status st = TN_OK;
    tnp_scatter scatter = {.rows = 0};
    double kept = 0;
    size_t all = s->described.count;
    TN_TRY(tnp_describe(s->ctx, &s->root, &s->grey, &s->described));
    TN_TRY(tnp_scatter_new(s->ctx, 128, &scatter));
    TN_TRY(tnp_scatter_add(s->ctx, &scatter, s->described.descriptors, all));
    TN_TRY(tnp_projection_make(s->ctx, &scatter, TO, false, &kept, &s->encoder.projection));
    TN_TRY(tnp_projection_apply(s->ctx, &s->encoder.projection, s->described.descriptors, all, s->ours, TO));
    for (size_t i = 0; i < MANY * s->count;
         ++i) /* spread over the picture, again from its beginning where it is too small */
        memcpy(s->projected + i * TO, s->ours + i * 7919 % all * TO, TO * sizeof(float));
done:
    tnp_scatter_free(&scatter);
    return st;
}

static tn_status time_describing(stages *s, size_t runs)
{
    tn_status st = TN_OK;
    double best[2];
    char more[128];
    TN_TRY(describe_ours(s));
    size_t all = s->described.count, values = tnp_max(all * 128, 2 * MIXTURE * TO);
    TN_TRY(tnp_alloc(s->ctx, values, sizeof(float), &s->theirs));
    TN_TRY(tnp_alloc(s->ctx, values, sizeof(float), &s->ours));
    TN_TRY(time_stages(s, runs, describe_ours, describe_theirs, best));
    snprintf(more, sizeof more, ", \"descriptors\": %zu", all);
    print_pair("sift", 0, best, "vlfeat", more);
    TN_TRY(learn_projection(s));
    TN_TRY(time_stages(s, runs, describe_root, NULL, best));
    print_pair("root_sift", 0, best, NULL, more);
    TN_TRY(time_stages(s, runs, describe_and_project, describe_theirs, best));
    print_pair("root_pca", 0, best, "vlfeat", more);
    TN_TRY(time_stages(s, runs, decode_picture, NULL, best));
    print_pair("decode", 0, best, NULL, "");
done:
    return st;
}

/* A mixture as training begins it and leaves it: k-means, then EM. */
static tn_status learn_mixture(stages *s, size_t count)
{
    tn_status st = TN_OK;
    tnp_words_table *words = &s->encoder.words;
    tnp_mixture *m = &s->encoder.mixture;
    tnp_mixture_sums sums = {.rows = 0};
    double floor[TO];
    TN_TRY(tnp_words_new(s->ctx, count, TO, words));
    TN_TRY(tnp_words_start(s->ctx, words, s->projected, s->count, 1));
    for (size_t i = 0; i < 5; ++i)
        TN_TRY(kmeans_ours(s));
    TN_TRY(tnp_mixture_new(s->ctx, count, TO, m));
    memcpy(m->means, words->centres, count * TO * sizeof(float));
    for (size_t j = 0; j < TO; ++j) {
        double squares = 0;
        for (size_t i = 0; i < s->count; ++i)
            squares += pow((double)s->projected[i * TO + j], 2);
        floor[j] = 1e-2 * squares / (double)s->count;
        for (size_t k = 0; k < count; ++k)
            m->variances[k * TO + j] = (float)(30 * floor[j]);
    }
    for (size_t k = 0; k < count; ++k)
        m->weights[k] = 1 / (float)count;
    tnp_mixture_ready(m);
    TN_TRY(tnp_mixture_sums_new(s->ctx, m, &sums));
    for (size_t i = 0; i < 10; ++i) {
        tnp_mixture_sums_clear(m, &sums);
        TN_TRY(tnp_mixture_add(s->ctx, m, s->projected, s->count, &sums));
        tnp_mixture_update(m, &sums, floor);
    }
done:
    tnp_mixture_sums_free(&sums);
    return st;
}

static void drop_words(stages *s)
{
    tnp_words_free(&s->encoder.words);
    tnp_mixture_free(&s->encoder.mixture);
    memset(&s->encoder.words, 0, sizeof s->encoder.words);
    memset(&s->encoder.mixture, 0, sizeof s->encoder.mixture);
}

/* An iteration of VLFeat is what three cost more than one: it begins with passes of its own. */
static double time_em_theirs(stages *s, size_t runs)
{
    double best[2] = {INFINITY, INFINITY};
    for (size_t r = 0; r < 2 * runs; ++r) {
        double begin = processor_seconds();
        em_steps_theirs(s, r % 2 ? 3 : 1);
        best[r % 2] = fmin(best[r % 2], processor_seconds() - begin);
    }
    return (best[1] - best[0]) / 2;
}

static tn_status time_picture(stages *s, size_t runs, const char *name, size_t words)
{
    double best[2];
    s->encoder.from = 128;
    s->encoder.norm = TNP_NORM_L2;
    tn_status st = time_stages(s, tnp_max(1, runs / 3), encode_all, NULL, best);
    print_pair(name, words, best, NULL, "");
    return st;
}

static tn_status time_mixture(stages *s, size_t runs, size_t count)
{
    tn_status st = TN_OK;
    double best[2];
    char more[128];
    tnp_projection kept = s->encoder.projection;
    s->used = s->count;
    TN_TRY(learn_mixture(s, count));
    s->encoder.kind = TNP_FISHER;
    s->encoder.norm = TNP_NORM_RAW;
    s->encoder.projection.to = 0; /* what comes is projected already */
    s->encoder.from = TO;
    TN_TRY(time_stages(s, runs, fisher_ours, fisher_theirs, best));
    snprintf(more, sizeof more, ", \"difference\": %.3g", distance_of(s->ours, s->theirs, 2 * count * TO));
    print_pair("fisher", count, best, "vlfeat", more);
    TN_TRY(time_stages(s, runs, em_ours, NULL, best));
    best[1] = time_em_theirs(s, tnp_max(1, runs / 4));
    print_pair("em", count, best, "vlfeat", "");
    s->used = MANY * s->count;
    TN_TRY(time_stages(s, runs, kmeans_ours, product_floor, best));
    print_pair("kmeans", count, best, "floor", "");
    s->encoder.projection = kept;
    TN_TRY(time_picture(s, runs, "picture_fisher", count));
done:
    s->encoder.projection = kept;
    drop_words(s);
    return st;
}

static tn_status time_encoders(stages *s, size_t runs)
{
    static const struct {
        const char *name;
        tnp_encoder_kind kind;
        size_t words;
    } kinds[] = {
        {"picture_vlad", TNP_VLAD, 64}, {"picture_bovw", TNP_BOVW, MOST_WORDS}, {"picture_llc", TNP_LLC, MOST_WORDS}};
    tn_status st = TN_OK;
    s->encoder.neighbours = 5;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
        s->encoder.kind = kinds[i].kind;
        TN_TRY(tnp_words_new(s->ctx, kinds[i].words, TO, &s->encoder.words));
        TN_TRY(tnp_words_start(s->ctx, &s->encoder.words, s->projected, s->count, 1));
        TN_TRY(time_picture(s, runs, kinds[i].name, kinds[i].words));
        drop_words(s);
    }
done:
    return st;
}

static tn_status read_jpeg(stages *s, const float *pixels)
{
    char path[] = "stages.jpg";
    write_jpeg(path, s->colour.width, s->colour.height, pixels);
    FILE *file = fopen(path, "rb");
    s->jpeg = malloc(1 << 24);
    s->jpeg_size = file && s->jpeg ? fread(s->jpeg, 1, 1 << 24, file) : 0;
    if (file)
        fclose(file);
    remove(path);
    return s->jpeg_size ? TN_OK : tnp_fail(s->ctx, TN_ERR_IO, "%s was not written", path);
}

static tn_status run(stages *s, size_t runs, size_t width, size_t height)
{
    tn_status st = TN_OK;
    float *pixels = NULL, *grey = NULL;
    TN_TRY(tnp_alloc(s->ctx, 3 * width * height, sizeof *pixels, &pixels));
    TN_TRY(tnp_alloc(s->ctx, width * height, sizeof *grey, &grey));
    TN_TRY(tnp_alloc(s->ctx, MANY * s->count * TO, sizeof *s->projected, &s->projected));
    TN_TRY(tnp_alloc(s->ctx, 2 * MIXTURE * TO, sizeof *s->vector, &s->vector));
    TN_TRY(tnp_pyramid_parse(s->ctx, "1x1", &s->encoder.pyramid));
    s->encoder.dim = TO;
    draw(1, width, height, pixels);
    for (size_t i = 0; i < width * height; ++i)
        grey[i] = 0.299F * pixels[3 * i] + 0.587F * pixels[3 * i + 1] + 0.114F * pixels[3 * i + 2];
    s->grey = (tn_picture){grey, width, height, 1};
    s->colour = (tn_picture){pixels, width, height, 3};
    TN_TRY(read_jpeg(s, pixels));
    TN_TRY(make_describers(s));
    TN_TRY(time_describing(s, runs));
    TN_TRY(time_mixture(s, runs, 32));
    TN_TRY(time_mixture(s, runs, MIXTURE));
    TN_TRY(time_encoders(s, runs));
done:
    tnp_projection_free(&s->encoder.projection);
    tnp_described_free(&s->described);
    tnp_free(s->theirs);
    tnp_free(s->ours);
    tnp_free(s->vector);
    tnp_free(s->projected);
    tnp_free(pixels);
    tnp_free(grey);
    free(s->jpeg);
    return st;
}

int main(int argc, char **argv)
{
    if (argc != 6) {
        fprintf(stderr, "usage: image_stages stages RUNS WIDTH HEIGHT COUNT | draw FOLDER NUMBER WIDTH HEIGHT\n");
        return 2;
    }
    size_t third = strtoul(argv[3], NULL, 10), fourth = strtoul(argv[4], NULL, 10), last = strtoul(argv[5], NULL, 10);
    if (strcmp(argv[1], "draw") == 0)
        return draw_pictures(argv[2], third, fourth, last);
    stages s = {.count = last};
    if (tn_ctx_new(&s.ctx) != TN_OK)
        return 1;
    tn_status st = TN_OK;
    tn_ctx_set_threads(s.ctx, 1);
    vl_set_num_threads(1);
    putchar('{');
    if (st == TN_OK)
        st = run(&s, strtoul(argv[2], NULL, 10), third, fourth);
    puts("}");
    if (st != TN_OK)
        fprintf(stderr, "image_stages: %s\n", tn_ctx_message(s.ctx));
    tn_ctx_free(s.ctx);
    return st == TN_OK ? 0 : 1;
}
