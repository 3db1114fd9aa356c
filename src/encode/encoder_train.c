/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Learning an encoder: PCA, then words by k-means, then, for Fisher vectors, a mixture by EM that starts from them.
 *
 * Descriptors come from a sample, the same number from every bag, drawn by the seed and the number of the bag, so that
 * one pass over the bags is enough and memory does not grow with them; or, with a sample of 0, from all of them: every
 * iteration is then a pass over all bags, one at a time, and the sample serves the start alone.
 *
 *   words:    k-means++ on at most START rows for each word, then Lloyd's iterations
 *   mixture:  weights, means and variances of the words' rows, then EM; variances at least floor times those of all
 *
 * Both end when an iteration changes the objective by less than 1e-4 of it, or by their limit. */
#include "encode/encoder.h"
#include "read/pictures/list.h"

#include <math.h>
#include <string.h>

enum { START = 16, LEAST_START = 4096, WHOLE_SAMPLE = 100000, MIXTURE_START = 10 };
static const double TOLERANCE = 1e-4;

/* ---- options ---- */

void tnp_encoder_options_default(tnp_encoder_options *options)
{
    *options = (tnp_encoder_options){
        .pca = 64, .pyramid = "1x1", .neighbours = 5, .sample = WHOLE_SAMPLE, .iterations = 25, .floor = 1e-3};
    tnp_picture_options_default(&options->picture);
    tnp_describe_options_default(&options->describe);
    tnp_refine_options_default(&options->refine);
    options->describe.descriptor = 1; /* rootsift: deep Fisher's */
}

static const tn_field *encoder_fields(size_t *count)
{
    static const tn_field fields[] = {
        {"kind", TN_FIELD_CHOICE, offsetof(tnp_encoder_options, kind), 0, 0, "fisher|vlad|bovw|llc",
         "what a bag of descriptors becomes"},
        {"words", TN_FIELD_INT, offsetof(tnp_encoder_options, words), 0, 1 << 20, "K",
         "Gaussians or words; 0: 64 for fisher and vlad, else 2048"},
        {"pca", TN_FIELD_INT, offsetof(tnp_encoder_options, pca), 0, 1 << 16, "D",
         "principal components that descriptors are reduced to; 0: none"},
        {"whiten", TN_FIELD_YESNO, offsetof(tnp_encoder_options, whiten), 0, 0, NULL,
         "give the components equal variance"},
        {"pyramid", TN_FIELD_TEXT, offsetof(tnp_encoder_options, pyramid), 0, 0, "RxC,...",
         "rows x columns of cells that are encoded apart: 1x1,2x2,3x1"},
        {"places", TN_FIELD_YESNO, offsetof(tnp_encoder_options, places), 0, 0, NULL,
         "let x and y follow the descriptor: cheaper than a pyramid"},
        {"norm", TN_FIELD_CHOICE, offsetof(tnp_encoder_options, norm), 0, 0, "auto|root|intra|l2|raw",
         "normalisation of a cell; auto: root for fisher and bovw, intra for vlad, l2 for llc"},
        {"neighbours", TN_FIELD_INT, offsetof(tnp_encoder_options, neighbours), 1, TNP_MOST_NEAREST, "N",
         "words that llc describes a descriptor by"},
    };
    *count = sizeof fields / sizeof *fields;
    return fields;
}

static const tn_field *training_fields(size_t *count)
{
    static const tn_field fields[] = {
        {"sample", TN_FIELD_INT, offsetof(tnp_encoder_options, sample), 0, 1e12, "N",
         "descriptors to learn from, drawn by the seed; 0: all, one pass over the bags per iteration"},
        {"pictures", TN_FIELD_INT, offsetof(tnp_encoder_options, pictures), 0, 1e12, "N",
         "pictures to learn from at most, spread evenly over all; 0: all"},
        {"iterations", TN_FIELD_INT, offsetof(tnp_encoder_options, iterations), 0, 1e6, "N",
         "iterations of k-means and of EM at most"},
        {"floor", TN_FIELD_REAL, offsetof(tnp_encoder_options, floor), 1e-9, 1, "X",
         "variances of Gaussians at least, as a share of those of all descriptors"},
        {"seed", TN_FIELD_INT, offsetof(tnp_encoder_options, seed), 0, 9007199254740992.0, "N",
         "seed of the sample and the start"},
    };
    *count = sizeof fields / sizeof *fields;
    return fields;
}

static void defaults(void *values)
{
    tnp_encoder_options_default(values);
}

static const tnp_options_table tables[] = {
    {"Pictures", tnp_picture_fields, offsetof(tnp_encoder_options, picture)},
    {"Descriptors", tnp_describe_fields, offsetof(tnp_encoder_options, describe)},
    {"Encoder", encoder_fields, 0},
    {"Training", training_fields, 0},
    {"Refining", tnp_refine_fields, offsetof(tnp_encoder_options, refine)},
    {NULL, NULL, 0}};
const tnp_options_kind tnp_encoder_kind_of_options = {
    "encoder", sizeof(tnp_encoder_options), defaults, tables, NULL, 0, NULL, NULL, 0};

/* ---- the sample ---- */

typedef struct training {
    tn_encoder *e;
    tnp_bag_stream *stream;
    const tnp_encoder_options *options;
    bool whole;
    float *x, *places; /* (rows, from), (rows, 3): the sample */
    size_t rows, capacity;
    float *y;   /* (rows, dim): projected */
    float *bag; /* (bag_rows, dim): a projected bag, in passes over all */
    size_t bag_rows;
    double *variance; /* (dim): of all descriptors */
    tnp_share part;
    tn_encoder_info info;
} training;

static tn_status check_bag(tn_ctx *ctx, const training *t, size_t i, const tnp_bag *bag)
{
    size_t d = t->stream->dim;
    for (size_t k = 0; k < bag->rows * d; ++k)
        if (!isfinite(bag->x[k]))
            return tnp_fail(ctx, TN_ERR_DATA, "encoder: bag %zu, descriptor %zu holds NaN or infinity", i, k / d);
    return TN_OK;
}

static tn_status grow_sample(tn_ctx *ctx, training *t, size_t more)
{
    tn_status st = TN_OK;
    size_t want = t->rows + more, d = t->stream->dim, next = tnp_max(want, 2 * t->capacity);
    if (want <= t->capacity)
        return TN_OK;
    TN_TRY(tnp_grow(ctx, &t->x, t->capacity * d, next * d, sizeof *t->x));
    TN_TRY(tnp_grow(ctx, &t->places, t->capacity * 3, next * 3, sizeof *t->places));
    t->capacity = next;
done:
    return st;
}

/* `quota` rows of the bag, all of a smaller one, in their order. */
static tn_status take_rows(tn_ctx *ctx, training *t, size_t i, const tnp_bag *bag, size_t quota)
{
    tn_status st = TN_OK;
    size_t d = t->stream->dim, wanted = tnp_min(quota, bag->rows);
    tnp_rng rng;
    tnp_rng_init(&rng, t->options->seed, i + 2);
    TN_TRY(grow_sample(ctx, t, wanted));
    for (size_t r = 0; wanted > 0; ++r) {
        if (tnp_rng_below(&rng, bag->rows - r) >= wanted)
            continue;
        memcpy(t->x + t->rows * d, bag->x + r * d, d * sizeof *t->x);
        for (size_t j = 0; j < 3; ++j)
            t->places[t->rows * 3 + j] = bag->places ? bag->places[3 * r + j] : 0;
        ++t->rows;
        --wanted;
    }
done:
    return st;
}

static tn_status draw_sample(tn_ctx *ctx, training *t)
{
    tn_status st = TN_OK;
    size_t target = t->whole ? WHOLE_SAMPLE : t->options->sample, count = t->stream->count;
    size_t quota = (target + count - 1) / count;
    tnp_bag bag;
    for (size_t i = 0; i < count; ++i) {
        TN_TRY(tnp_progress_step(ctx, t->part, "sample", i, count));
        TN_TRY(tnp_bag_stream_get(ctx, t->stream, i, &bag));
        TN_TRY(check_bag(ctx, t, i, &bag));
        TN_TRY(take_rows(ctx, t, i, &bag, quota));
        t->info.bags += !bag.missing;
        t->info.missing += bag.missing;
        t->info.descriptors += bag.rows;
    }
    if (t->rows == 0)
        TN_TRY(tnp_fail(ctx, TN_ERR_DATA, "encoder: no descriptors in %zu bags: pictures smaller than every patch?",
                        count));
    t->info.sample = t->whole ? t->info.descriptors : t->rows;
done:
    return st;
}

/* ---- passes ---- */

typedef tn_status (*add_fn)(tn_ctx *ctx, training *t, void *to, const float *y, size_t n);

static tn_status pass_bags(tn_ctx *ctx, training *t, bool raw, const char *stage, add_fn add, void *to)
{
    tn_status st = TN_OK;
    tnp_bag bag;
    for (size_t i = 0; i < t->stream->count; ++i) {
        TN_TRY(tnp_progress(ctx, stage, i, t->stream->count));
        TN_TRY(tnp_bag_stream_get(ctx, t->stream, i, &bag));
        TN_TRY(check_bag(ctx, t, i, &bag));
        if (!raw && bag.rows > t->bag_rows) {
            tnp_free(t->bag);
            t->bag = NULL;
            t->bag_rows = 0;
            TN_TRY(tnp_alloc_raw(ctx, bag.rows * t->e->dim, sizeof *t->bag, &t->bag));
            t->bag_rows = bag.rows;
        }
        if (!raw)
            TN_TRY(tnp_encoder_project(ctx, t->e, bag.x, bag.places, bag.rows, t->bag));
        if (bag.rows != 0)
            TN_TRY(add(ctx, t, to, raw ? bag.x : t->bag, bag.rows));
    }
done:
    return st;
}

/* All rows that are learned from, projected or raw. */
static tn_status pass(tn_ctx *ctx, training *t, bool raw, const char *stage, add_fn add, void *to)
{
    if (t->whole)
        return pass_bags(ctx, t, raw, stage, add, to);
    tn_status st = tnp_progress(ctx, stage, 0, 1);
    return st == TN_OK ? add(ctx, t, to, raw ? t->x : t->y, t->rows) : st;
}

/* ---- PCA ---- */

static tn_status add_scatter(tn_ctx *ctx, training *t, void *to, const float *x, size_t n)
{
    (void)t;
    return tnp_scatter_add(ctx, to, x, n);
}

static tn_status learn_projection(tn_ctx *ctx, training *t)
{
    tn_status st = TN_OK;
    tnp_scatter scatter = {.dim = 0};
    tn_encoder *e = t->e;
    size_t to = t->options->pca;
    t->info.kept = 1;
    if (to == 0 || (to >= e->from && !t->options->whiten))
        goto done;
    TN_TRY(tnp_scatter_new(ctx, e->from, &scatter));
    TN_TRY(pass(ctx, t, true, "pca", add_scatter, &scatter));
    TN_TRY(tnp_projection_make(ctx, &scatter, tnp_min(to, e->from), t->options->whiten, &t->info.kept, &e->projection));
done:
    tnp_scatter_free(&scatter);
    return st;
}

/* Variances of the projected sample (dim), the scale of places: their deviation is that of the other columns, on
 * average, for places that are even over the picture, whose variance is 1/12. */
static tn_status project_sample(tn_ctx *ctx, training *t)
{
    tn_status st = TN_OK;
    tn_encoder *e = t->e;
    size_t kept = e->projection.to ? e->projection.to : e->from, values = 0;
    double total = 0;
    e->dim = kept + (t->options->places ? 2 : 0);
    e->place_scale = 1;
    TN_TRY(tnp_mul(ctx, t->rows, e->dim, &values));
    TN_TRY(tnp_alloc_raw(ctx, values, sizeof *t->y, &t->y));
    TN_TRY(tnp_alloc(ctx, e->dim, sizeof *t->variance, &t->variance));
    TN_TRY(tnp_encoder_project(ctx, e, t->x, t->places, t->rows, t->y));
    for (size_t j = 0; j < e->dim; ++j) {
        double sum = 0, squares = 0, n = (double)t->rows, first = (double)t->y[j];
        for (size_t i = 0; i < t->rows; ++i) {
            double v = (double)t->y[i * e->dim + j] - first;
            sum += v;
            squares += v * v;
        }
        t->variance[j] = fmax(squares / n - sum / n * (sum / n), 0);
        total += j < kept ? t->variance[j] : 0;
    }
    if (e->places) {
        e->place_scale = (float)sqrt(12 * total / (double)kept);
        for (size_t j = kept; j < e->dim; ++j)
            t->variance[j] *= (double)e->place_scale * (double)e->place_scale;
        TN_TRY(tnp_encoder_project(ctx, e, t->x, t->places, t->rows, t->y));
    }
    tnp_free(t->x);
    t->x = NULL;
done:
    return st;
}

/* ---- words ---- */

static tn_status add_words(tn_ctx *ctx, training *t, void *to, const float *y, size_t n)
{
    return tnp_words_add(ctx, &t->e->words, y, n, to);
}

/* A few of the sample, evenly, for the start. */
static tn_status start_words(tn_ctx *ctx, training *t)
{
    tn_status st = TN_OK;
    tnp_words_table *words = &t->e->words;
    size_t d = words->dim, some = tnp_min(t->rows, tnp_max(START * words->count, LEAST_START));
    float *x = NULL;
    TN_TRY(tnp_alloc_raw(ctx, some * d, sizeof *x, &x));
    for (size_t i = 0; i < some; ++i)
        memcpy(x + i * d, t->y + (size_t)((double)i * (double)t->rows / (double)some) * d, d * sizeof *x);
    TN_TRY(tnp_words_start(ctx, words, x, some, t->options->seed));
done:
    tnp_free(x);
    return st;
}

/* *sums, of the centres that are left, is the caller's. */
static tn_status learn_words(tn_ctx *ctx, training *t, size_t iterations, tnp_words_sums *sums)
{
    tn_status st = TN_OK;
    double before = HUGE_VAL;
    TN_TRY(start_words(ctx, t));
    for (size_t i = 0;; ++i) {
        tnp_words_sums_clear(&t->e->words, sums);
        TN_TRY(pass(ctx, t, false, "words", add_words, sums));
        t->info.finished = isfinite(before) && before - sums->objective <= TOLERANCE * before;
        t->info.objective = sums->objective / (double)sums->rows;
        t->info.iterations = i;
        if (i == iterations || t->info.finished)
            break;
        before = tnp_words_update(&t->e->words, sums) == 0 ? sums->objective : HUGE_VAL;
    }
done:
    return st;
}

/* ---- mixtures ---- */

static tn_status add_mixture(tn_ctx *ctx, training *t, void *to, const float *y, size_t n)
{
    return tnp_mixture_add(ctx, &t->e->mixture, y, n, to);
}

/* The words' rows as Gaussians; one that has few gets the variance of all mixed in. */
static void start_mixture(const training *t, const tnp_words_sums *sums, const double *floor)
{
    tnp_mixture *m = &t->e->mixture;
    size_t d = m->dim;
    double n = (double)sums->rows, total = n + (double)m->count;
    for (size_t k = 0; k < m->count; ++k) {
        m->weights[k] = (float)((sums->members[k] + 1) / total);
        for (size_t j = 0; j < d; ++j) {
            double members = sums->members[k], move = members > 0 ? sums->sums[k * d + j] / members : 0;
            double var = (sums->squares[k * d + j] - members * move * move + t->variance[j]) / (members + 1);
            m->means[k * d + j] = (float)((double)t->e->words.centres[k * d + j] + move);
            m->variances[k * d + j] = (float)fmax(var, floor[j]);
        }
    }
    tnp_mixture_ready(m);
}

static tn_status run_em(tn_ctx *ctx, training *t, const double *floor, tnp_mixture_sums *sums)
{
    tn_status st = TN_OK;
    double before = -HUGE_VAL;
    t->info.finished = false;
    for (size_t i = 0;; ++i) {
        tnp_mixture_sums_clear(&t->e->mixture, sums);
        TN_TRY(pass(ctx, t, false, "mixture", add_mixture, sums));
        double now = sums->log_likelihood / (double)sums->rows;
        t->info.finished = isfinite(before) && fabs(now - before) <= TOLERANCE * fmax(1, fabs(before));
        t->info.objective = now;
        t->info.iterations = i;
        if (i == t->options->iterations || t->info.finished)
            break;
        tnp_mixture_update(&t->e->mixture, sums, floor);
        before = now;
    }
done:
    return st;
}

static tn_status learn_mixture(tn_ctx *ctx, training *t, const tnp_words_sums *start)
{
    tn_status st = TN_OK;
    tnp_mixture_sums sums = {.rows = 0};
    double *floor = NULL, largest = 0;
    TN_TRY(tnp_mixture_new(ctx, t->e->words.count, t->e->dim, &t->e->mixture));
    TN_TRY(tnp_mixture_sums_new(ctx, &t->e->mixture, &sums));
    TN_TRY(tnp_alloc(ctx, t->e->dim, sizeof *floor, &floor));
    for (size_t j = 0; j < t->e->dim; ++j)
        largest = fmax(largest, t->variance[j]);
    for (size_t j = 0; j < t->e->dim; ++j) /* a column that never changes has a variance all the same */
        floor[j] = fmax(t->options->floor * t->variance[j], fmax(1e-9 * largest, 1e-30));
    start_mixture(t, start, floor);
    TN_TRY(run_em(ctx, t, floor, &sums));
    tnp_words_free(&t->e->words);
    t->e->words = (tnp_words_table){.count = 0};
done:
    tnp_free(floor);
    tnp_mixture_sums_free(&sums);
    return st;
}

/* ---- all of it ---- */

static tn_status begin(tn_ctx *ctx, training *t)
{
    tn_status st = TN_OK;
    const tnp_encoder_options *o = t->options;
    tn_encoder *e = t->e;
    static const tnp_encoder_norm norms[] = {TNP_NORM_ROOT, TNP_NORM_INTRA, TNP_NORM_ROOT, TNP_NORM_L2};
    e->kind = (tnp_encoder_kind)o->kind;
    e->norm = o->norm == TNP_NORM_AUTO ? norms[o->kind] : (tnp_encoder_norm)o->norm;
    e->from = t->stream->dim;
    e->places = o->places;
    e->neighbours = o->neighbours;
    e->picture = t->stream->picture;
    if (t->stream->describer)
        e->describer = *t->stream->describer;
    if (t->stream->network)
        TN_TRY(tnp_strdup(ctx, tn_network_about(t->stream->network), &e->network));
    TN_TRY(tnp_pyramid_parse(ctx, o->pyramid, &e->pyramid));
    if (tnp_encoder_needs_places(e) && !t->stream->has_places)
        TN_TRY(tnp_fail(ctx, TN_ERR_ARG, "option %s: bags without positions of descriptors",
                        o->places ? "places" : "pyramid"));
    if (e->norm == TNP_NORM_INTRA && (e->kind == TNP_BOVW || e->kind == TNP_LLC))
        TN_TRY(tnp_fail(ctx, TN_ERR_ARG, "option norm: got intra, which fisher and vlad have a use for, not %s",
                        tn_encoder_kind(e)));
done:
    return st;
}

static tn_status train(tn_ctx *ctx, training *t)
{
    tn_status st = TN_OK;
    const tnp_encoder_options *o = t->options;
    tnp_words_sums sums = {.rows = 0};
    tnp_share all = tnp_progress_begin(ctx);
    size_t words = o->words ? o->words : o->kind == TNP_FISHER || o->kind == TNP_VLAD ? 64 : 2048;
    t->whole = o->sample == 0;
    t->part = tnp_progress_part(ctx, all, 0, 0.6);
    TN_TRY(begin(ctx, t));
    TN_TRY(draw_sample(ctx, t));
    tnp_progress_part(ctx, all, 0.6, 0.7);
    TN_TRY(learn_projection(ctx, t));
    TN_TRY(project_sample(ctx, t));
    tnp_progress_part(ctx, all, 0.7, 1);
    TN_TRY(tnp_words_new(ctx, tnp_min(words, t->rows), t->e->dim, &t->e->words));
    TN_TRY(tnp_words_sums_new(ctx, &t->e->words, o->kind == TNP_FISHER, &sums));
    TN_TRY(learn_words(ctx, t, o->kind == TNP_FISHER ? tnp_min(o->iterations, MIXTURE_START) : o->iterations, &sums));
    if (o->kind == TNP_FISHER)
        TN_TRY(learn_mixture(ctx, t, &sums));
    TN_TRY(tnp_progress_end(ctx));
done:
    tnp_words_sums_free(&sums);
    return st;
}

static tn_status train_on(tn_ctx *ctx, tnp_bag_stream *stream, const tnp_encoder_options *options,
                          tn_encoder_info *info, tn_encoder **out)
{
    tn_status st = TN_OK;
    double begun = tnp_seconds();
    training t = {.stream = stream, .options = options};
    TN_TRY(tnp_alloc(ctx, 1, sizeof *t.e, &t.e));
    TN_TRY(train(ctx, &t));
    t.info.seconds = tnp_seconds() - begun;
    if (info)
        *info = t.info;
    *out = t.e;
    t.e = NULL;
done:
    tn_encoder_free(t.e);
    tnp_free_all(t.x, t.places, t.y, t.bag, t.variance);
    return st;
}

/* At most `most` of the pictures (0: all), spread evenly: a list that borrows their files. Free some->files. */
static tn_status take_some(tn_ctx *ctx, const tn_pictures *pictures, size_t most, tn_pictures *some)
{
    size_t all = tn_pictures_count(pictures);
    *some = (tn_pictures){.origin = pictures->origin, .count = most ? tnp_min(most, all) : all};
    tn_status st = tnp_alloc(ctx, some->count, sizeof *some->files, &some->files);
    for (size_t i = 0; st == TN_OK && i < some->count; ++i)
        some->files[i] = pictures->files[(size_t)((double)i * (double)all / (double)some->count)];
    return st;
}

tn_status tn_encoder_train(tn_ctx *ctx, const tn_pictures *pictures, const tn_options *options, tn_encoder_info *info,
                           tn_encoder **out)
{
    tn_status st = TN_OK;
    tnp_encoder_options values;
    tnp_describer describer;
    tn_pictures some = {.files = NULL};
    tnp_bag_stream stream = {.count = 0};
    TN_TRY(tnp_options_read(ctx, options, &tnp_encoder_kind_of_options, &values));
    TN_TRY(tnp_describer_make(ctx, &values.describe, &describer));
    TN_TRY(take_some(ctx, pictures, values.pictures, &some));
    TN_TRY(tnp_bag_stream_pictures(ctx, &some, &describer, &values.picture, &stream));
    TN_TRY(train_on(ctx, &stream, &values, info, out));
done:
    tnp_bag_stream_close(&stream);
    tnp_free(some.files);
    return st;
}

tn_status tn_encoder_train_network(tn_ctx *ctx, const tn_pictures *pictures, const tn_network *network,
                                   const tn_options *options, tn_encoder_info *info, tn_encoder **out)
{
    tn_status st = TN_OK;
    tnp_encoder_options values;
    tn_pictures some = {.files = NULL};
    tnp_bag_stream stream = {.count = 0};
    TN_TRY(tnp_options_read(ctx, options, &tnp_encoder_kind_of_options, &values));
    TN_TRY(take_some(ctx, pictures, values.pictures, &some));
    TN_TRY(tnp_bag_stream_network(ctx, &some, network, &stream));
    TN_TRY(train_on(ctx, &stream, &values, info, out));
    (*out)->joined = network;
done:
    tnp_bag_stream_close(&stream);
    tnp_free(some.files);
    return st;
}

tn_status tn_encoder_train_bags(tn_ctx *ctx, const tn_bags *bags, const tn_options *options, tn_encoder_info *info,
                                tn_encoder **out)
{
    tn_status st = TN_OK;
    tnp_encoder_options values;
    tnp_bag_stream stream = {.count = 0};
    TN_TRY(tnp_options_read(ctx, options, &tnp_encoder_kind_of_options, &values));
    TN_TRY(tnp_bag_stream_bags(ctx, bags, &stream));
    TN_TRY(train_on(ctx, &stream, &values, info, out));
done:
    tnp_bag_stream_close(&stream);
    return st;
}
