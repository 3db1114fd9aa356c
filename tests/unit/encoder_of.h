/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bags of clustered descriptors with places, and encoders trained on them. */
#ifndef ENCODER_OF_H
#define ENCODER_OF_H

#include "encode/encoder.h"
#include "one_ctx.h"
#include "tenon/pipeline.h"

typedef struct bag_set {
    size_t bags, dim, *offsets;
    float *x, *places;
    tn_features *features, *positions;
    tn_bags *list;
} bag_set;

static inline double normal(tnp_rng *rng)
{
    double sum = 0;
    for (int i = 0; i < 12; ++i)
        sum += tnp_rng_unit(rng);
    return sum - 6;
}

/* `rows` descriptors a bag around 6 middles, far from zero by `offset`. */
static inline bag_set bags_of(size_t bags, size_t rows, size_t dim, double offset)
{
    bag_set s = {.bags = bags, .dim = dim};
    size_t n = bags * rows;
    tnp_rng rng;
    tnp_rng_init(&rng, 17, 3);
    s.x = malloc(n * dim * sizeof *s.x);
    s.places = malloc(n * 3 * sizeof *s.places);
    s.offsets = malloc((bags + 1) * sizeof *s.offsets);
    for (size_t i = 0; i < n; ++i) {
        size_t middle = tnp_rng_below(&rng, 6);
        for (size_t j = 0; j < dim; ++j)
            s.x[i * dim + j] = (float)(offset + 2 * sin((double)(middle * 7 + j)) + 0.4 * normal(&rng));
        for (size_t j = 0; j < 3; ++j)
            s.places[i * 3 + j] = (float)tnp_rng_unit(&rng);
    }
    for (size_t b = 0; b <= bags; ++b)
        s.offsets[b] = b * rows;
    tn_array x = tn_array_compact(s.x, TN_F32, n, dim), at = tn_array_compact(s.places, TN_F32, n, 3);
    assert_fine(ctx, tn_features_from_array(ctx, "x", &x, &s.features));
    assert_fine(ctx, tn_features_from_array(ctx, "at", &at, &s.positions));
    assert_fine(ctx, tn_bags_new(ctx, s.offsets, bags, s.features, s.positions, &s.list));
    return s;
}

static inline void free_bags(bag_set *s)
{
    tn_bags_free(s->list);
    tn_features_close(s->features);
    tn_features_close(s->positions);
    free(s->x);
    free(s->places);
    free(s->offsets);
}

/* options: "kind=vlad words=8", separated by blanks. */
static inline tn_options *encoder_options(const char *text)
{
    tn_options *options = NULL;
    char word[64], *equals;
    assert_fine(ctx, tn_options_new(ctx, "encoder", &options));
    while (*text) {
        size_t n = strcspn(text, " ");
        snprintf(word, sizeof word, "%.*s", (int)n, text);
        equals = strchr(word, '=');
        *equals = 0;
        assert_fine(ctx, tn_options_set(ctx, options, word, equals + 1));
        text += n + (text[n] == ' ');
    }
    return options;
}

static inline tn_encoder *encoder_of(const bag_set *s, const char *text, tn_encoder_info *info)
{
    tn_options *options = encoder_options(text);
    tn_encoder *encoder = NULL;
    assert_fine(ctx, tn_encoder_train_bags(ctx, s->list, options, info, &encoder));
    tn_options_free(options);
    return encoder;
}

/* Bag b encoded; free() it. */
static inline float *encoded(const tn_encoder *e, const bag_set *s, size_t b)
{
    size_t first = s->offsets[b], n = s->offsets[b + 1] - first;
    float *out = malloc(tn_encoder_cols(e) * sizeof *out);
    assert_fine(ctx, tn_encoder_encode(ctx, e, (tn_view){s->x + first * s->dim, n, s->dim, s->dim},
                                       (tn_view){s->places + 3 * first, n, 3, 3}, out));
    return out;
}

#endif
