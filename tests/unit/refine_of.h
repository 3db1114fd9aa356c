/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bags of three classes that differ in how far their descriptors spread around shared middles, which a mixture learned
 * without labels hardly tells; an encoder of them; and its refinement. */
#ifndef REFINE_OF_H
#define REFINE_OF_H

#include "encoder_of.h"
#include "tenon/store.h"

typedef struct refine_scene {
    bag_set bags;
    tn_labels *labels;
    tn_encoder *e;
} refine_scene;

enum { KINDS = 3 };

static inline void spread(bag_set *s, size_t rows)
{
    tnp_rng rng;
    tnp_rng_init(&rng, 23, 1);
    for (size_t i = 0; i < s->bags * rows; ++i) {
        size_t kind = i / rows % KINDS, middle = tnp_rng_below(&rng, 4);
        for (size_t j = 0; j < s->dim; ++j) {
            double wide = 0.6 + (j == kind ? 0.25 : 0); /* one column is wider */
            s->x[i * s->dim + j] = (float)(1.2 * sin((double)(middle * 5 + j)) + wide * normal(&rng));
        }
    }
}

static inline refine_scene scene_with(size_t bags, size_t rows, size_t dim, const char *options)
{
    refine_scene s = {.bags = bags_of(bags, rows, dim, 0)};
    static const char *const names[KINDS] = {"first", "second", "third"};
    int64_t *numbers = malloc(bags * sizeof *numbers);
    spread(&s.bags, rows);
    for (size_t b = 0; b < bags; ++b)
        numbers[b] = (int64_t)(b % KINDS);
    assert_fine(ctx, tn_labels_from_numbers(ctx, numbers, bags, names, KINDS, &s.labels));
    s.e = encoder_of(&s.bags, options, NULL);
    free(numbers);
    return s;
}

static inline void free_refine(refine_scene *s)
{
    free_bags(&s->bags);
    tn_labels_free(s->labels);
    tn_encoder_free(s->e);
}

static inline tn_status refine(const refine_scene *s, const char *text, tn_refine_info **info, tn_encoder **out)
{
    tn_options *options = encoder_options(text);
    tn_refine_data data = {NULL, s->bags.list, s->labels};
    tn_status st = tn_encoder_refine(ctx, s->e, &data, NULL, options, info, out);
    tn_options_free(options);
    return st;
}

/* The bytes of what comes of it; *size of them; free with tn_bytes_free. */
static inline void *refined_bytes(const refine_scene *s, const char *text, size_t *size)
{
    tn_encoder *e = NULL;
    void *bytes = NULL;
    assert_fine(ctx, refine(s, text, NULL, &e));
    assert_fine(ctx, tn_encoder_to_bytes(ctx, e, NULL, &bytes, size));
    tn_encoder_free(e);
    return bytes;
}

#endif
