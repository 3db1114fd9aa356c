/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From pictures or bags with labels to what a refinement works on: descriptors made once, bags to learn from and to
 * judge by, and targets of the classes that are asked for. A bag without a label takes no part. */
#include "pipeline/refine/refining.h"

#include "learn/head/folds.h"
#include "read/labels/labels.h"
#include "tenon/store.h"

#include <math.h>
#include <string.h>

/* ---- checks ---- */

static tn_status check_data(tn_ctx *ctx, const tn_encoder *e, const tn_refine_data *data)
{
    size_t count = data->pictures ? tn_pictures_count(data->pictures) : data->bags ? tn_bags_count(data->bags) : 0;
    if (!data->pictures == !data->bags || !data->labels)
        return tnp_fail(ctx, TN_ERR_ARG, "refine: expected either pictures or bags, and labels");
    if (data->pictures && !e->describer.kind && !e->joined)
        return tnp_fail(ctx, TN_ERR_ARG, "refine: the encoder was trained on %s",
                        e->network ? "bags of a network, which must be set (tn_encoder_set_network)"
                                   : "bags and does not know pictures");
    if (data->bags && tn_features_cols(tn_bags_descriptors(data->bags)) != e->from)
        return tnp_fail(ctx, TN_ERR_SHAPE, "refine: descriptors of %zu values, the encoder was trained on %zu",
                        tn_features_cols(tn_bags_descriptors(data->bags)), e->from);
    if (data->bags && tnp_encoder_needs_places(e) && !tn_bags_positions(data->bags))
        return tnp_fail(ctx, TN_ERR_SHAPE,
                        "refine: the encoder needs the positions of descriptors, the bags have none");
    if (data->labels->rows != count)
        return tnp_fail(ctx, TN_ERR_SHAPE, "%s: %zu rows, but there are %zu %s", data->labels->path, data->labels->rows,
                        count, data->pictures ? "pictures" : "bags");
    if (data->labels->task == TN_TASK_REGRESSION)
        return tnp_fail(ctx, TN_ERR_ARG, "%s: values of a regression, refine needs classes", data->labels->path);
    return TN_OK;
}

static tn_status check_options(tn_ctx *ctx, const tn_encoder *e, const tnp_refine_options *o, const tn_labels *labels)
{
    if (o->learn != TNP_LEARN_MIXTURE && e->projection.to == 0)
        return tnp_fail(ctx, TN_ERR_ARG,
                        "option learn: got %s, but the encoder projects nothing (option pca of its training), expected "
                        "mixture",
                        o->learn == TNP_LEARN_BOTH ? "both" : "projection");
    if (o->objective != TNP_OBJECTIVE_SVM && o->optimizer == TNP_REFINE_GD)
        return tnp_fail(ctx, TN_ERR_ARG, "option optimizer gd is for option objective svm");
    if (o->objective == TNP_OBJECTIVE_MULTINOMIAL &&
        (labels->task != TN_TASK_MULTICLASS || strcmp(o->task, "shared") != 0))
        return tnp_fail(ctx, TN_ERR_ARG,
                        "option objective multinomial is for option task shared and one class per row");
    return TN_OK;
}

/* ---- what the data are ---- */

static uint64_t add_hash(uint64_t hash, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; ++i)
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * 1099511628211u;
    return hash;
}

/* A few bags to the bit, and where all begin: files of the same shape are told apart. */
static tn_status hash_bags(tn_ctx *ctx, const tn_bags *bags, uint64_t *hash)
{
    enum { SOME = 8 };
    tn_status st = TN_OK;
    size_t count = tn_bags_count(bags), cols = tn_features_cols(tn_bags_descriptors(bags));
    const size_t *offsets = tn_bags_offsets(bags);
    float *x = NULL;
    *hash = add_hash(*hash, offsets, (count + 1) * sizeof *offsets);
    for (size_t i = 0; i < SOME; ++i) {
        size_t bag = i * (count - 1) / (SOME - 1), rows = offsets[bag + 1] - offsets[bag];
        TN_TRY(tnp_alloc_raw(ctx, rows * cols, sizeof *x, &x));
        TN_TRY(tn_bags_read(ctx, bags, bag, 1, x, NULL));
        *hash = add_hash(*hash, x, rows * cols * sizeof *x);
        tnp_free(x);
        x = NULL;
    }
done:
    tnp_free(x);
    return st;
}

static tn_status key_of(tn_ctx *ctx, const tn_encoder *e, const tn_refine_data *data, bool raw, uint64_t *key)
{
    tn_status st = TN_OK;
    void *bytes = NULL;
    size_t size = 0;
    TN_TRY(tn_encoder_to_bytes(ctx, e, NULL, &bytes, &size));
    *key = add_hash(1469598103934665603u, bytes, size);
    if (raw)
        *key = add_hash(*key, "raw", sizeof "raw");
    if (data->bags)
        TN_TRY(hash_bags(ctx, data->bags, key));
    for (size_t i = 0; data->pictures && i < tn_pictures_count(data->pictures); ++i) {
        const char *id = tn_pictures_ids(data->pictures)[i];
        *key = add_hash(*key, id, strlen(id) + 1);
    }
done:
    tn_bytes_free(bytes);
    return st;
}

static tn_status describe(tn_ctx *ctx, const tn_encoder *e, const tn_refine_data *data, bool raw, const char *path,
                          uint64_t *key, tnp_descriptors *out)
{
    tn_status st = TN_OK;
    tnp_bag_stream stream = {.count = 0};
    tnp_picture_options picture = e->picture;
    picture.on_error = TNP_ON_ERROR_STOP; /* labels are by row */
    TN_TRY(key_of(ctx, e, data, raw, key));
    TN_TRY(data->bags  ? tnp_bag_stream_bags(ctx, data->bags, &stream)
           : e->joined ? tnp_bag_stream_network(ctx, data->pictures, e->joined, &stream)
                       : tnp_bag_stream_pictures(ctx, data->pictures, &e->describer, &picture, &stream));
    TN_TRY(tnp_descriptors_new(ctx, e, raw, &stream, path, *key, out));
done:
    tnp_bag_stream_close(&stream);
    return st;
}

/* The same of both sets; that of validation data is kept beside. */
static tn_status describe_all(tn_ctx *ctx, const tn_encoder *e, const tn_refine_data *train,
                              const tn_refine_data *valid, tnp_refining *r)
{
    tn_status st = TN_OK;
    const char *cache = r->options->cache;
    bool raw = r->options->learn != TNP_LEARN_MIXTURE;
    char *beside = NULL;
    uint64_t key = 0;
    TN_TRY(describe(ctx, e, train, raw, cache, &r->key, &r->sets[0]));
    if (!valid)
        goto done;
    TN_TRY(tnp_alloc(ctx, strlen(cache) + sizeof ".valid", 1, &beside));
    if (*cache)
        strcat(strcpy(beside, cache), ".valid");
    TN_TRY(describe(ctx, e, valid, raw, beside, &key, &r->sets[1]));
    r->key = add_hash(r->key, &key, sizeof key);
done:
    tnp_free(beside);
    return st;
}

/* ---- classes ---- */

static tn_status choose_classes(tn_ctx *ctx, const tn_labels *labels, tnp_refining *r)
{
    const char *task = r->options->task;
    r->names = (const char *const *)labels->names;
    r->classes = labels->classes;
    if (strcmp(task, "shared") == 0)
        return TN_OK;
    for (size_t c = 0; c < labels->classes; ++c)
        if (strcmp(labels->names[c], task) == 0) {
            r->names += c;
            r->classes = 1;
            return TN_OK;
        }
    return tnp_fail(ctx, TN_ERR_ARG, "option task: got '%s', expected shared or a class of %s", task, labels->path);
}

/* The place of a class of these labels among those that are learned; its number of classes: none. */
static size_t place_of(const tnp_refining *r, const tn_labels *labels, size_t c)
{
    size_t i = 0;
    while (i < r->classes && strcmp(r->names[i], labels->names[c]) != 0)
        ++i;
    return i;
}

/* Targets of some rows of labels: first (count + 1), *cls. */
static tn_status list_targets(tn_ctx *ctx, const tnp_refining *r, const tn_labels *labels, const size_t *rows,
                              size_t count, size_t *first, uint32_t **cls)
{
    tn_status st = TN_OK;
    size_t *place = NULL, total = 0;
    TN_TRY(tnp_alloc(ctx, labels->classes, sizeof *place, &place));
    TN_TRY(tnp_alloc(ctx, labels->first[labels->rows], sizeof **cls, cls));
    for (size_t c = 0; c < labels->classes; ++c)
        place[c] = place_of(r, labels, c);
    for (size_t i = 0; i < count; ++i) {
        first[i] = total;
        for (size_t p = labels->first[rows[i]]; p < labels->first[rows[i] + 1]; ++p)
            if (place[labels->cls[p]] < r->classes)
                (*cls)[total++] = (uint32_t)place[labels->cls[p]];
    }
    first[count] = total;
done:
    tnp_free(place);
    return st;
}

static tn_status make_judge(tn_ctx *ctx, const tn_labels *labels, tnp_refining *r)
{
    tn_status st = TN_OK;
    size_t *first = NULL;
    uint32_t *cls = NULL;
    int64_t *numbers = NULL;
    TN_TRY(tnp_alloc(ctx, r->valid.count + 1, sizeof *first, &first));
    TN_TRY(list_targets(ctx, r, labels, r->valid.bags, r->valid.count, first, &cls));
    TN_TRY(tnp_alloc(ctx, first[r->valid.count] + 1, sizeof *numbers, &numbers));
    for (size_t p = 0; p < first[r->valid.count]; ++p)
        numbers[p] = cls[p];
    TN_TRY(tn_labels_from_lists(ctx, first, numbers, r->valid.count, r->names, r->classes, &r->judge));
done:
    tnp_free_all(first, cls, numbers);
    return st;
}

/* ---- who learns and who judges ---- */

static bool is_known(const tn_labels *labels, size_t i)
{
    return labels->known[i] && (labels->task != TN_TASK_MULTICLASS || labels->first[i + 1] > labels->first[i]) &&
           !(labels->weights && labels->weights[i] == 0);
}

static tn_status list_known(tn_ctx *ctx, const tn_labels *labels, tnp_vectors *out)
{
    tn_status st = tnp_alloc(ctx, labels->rows, sizeof *out->bags, &out->bags);
    for (size_t i = 0; st == TN_OK && i < labels->rows; ++i)
        if (is_known(labels, i))
            out->bags[out->count++] = i;
    return st;
}

/* A part of train becomes valid, every class giving its share; without anything to hold out all of it learns. */
static tn_status hold_out(tn_ctx *ctx, const tn_labels *labels, tnp_refining *r)
{
    tn_status st = TN_OK;
    tnp_vectors *train = &r->train, *valid = &r->valid;
    size_t *first = NULL, held = 0, kept = 0;
    uint32_t *cls = NULL, *fold = NULL;
    tnp_refining all = {.names = (const char *const *)labels->names, .classes = labels->classes};
    if (r->options->holdout == 0)
        return TN_OK;
    TN_TRY(tnp_alloc(ctx, train->count + 1, sizeof *first, &first));
    TN_TRY(list_targets(ctx, &all, labels, train->bags, train->count, first, &cls));
    tnp_targets y = {.rows = train->count, .classes = labels->classes, .first = first, .cls = cls};
    st = tnp_holdout_new(ctx, &y, labels->task, r->options->holdout, r->seed, &fold, &held);
    if (st == TN_ERR_DATA || (st == TN_OK && held >= train->count)) {
        tnp_warn(ctx, "refine: too few rows in every class for option holdout: nothing chooses C or the round");
        st = TN_OK;
        goto done;
    }
    TN_TRY(st);
    TN_TRY(tnp_alloc(ctx, held, sizeof *valid->bags, &valid->bags));
    for (size_t i = 0; i < train->count; ++i)
        if (fold[i] == TNP_NO_FOLD)
            train->bags[kept++] = train->bags[i];
        else
            valid->bags[valid->count++] = train->bags[i];
    train->count = kept;
done:
    tnp_free_all(first, cls, fold);
    return st;
}

static tn_status deal_out(tn_ctx *ctx, const tn_refine_data *train, const tn_refine_data *valid, tnp_refining *r)
{
    tn_status st = TN_OK;
    r->train.from = r->valid.from = &r->sets[0];
    TN_TRY(choose_classes(ctx, train->labels, r));
    TN_TRY(list_known(ctx, train->labels, &r->train));
    if (valid) {
        r->valid.from = &r->sets[1];
        TN_TRY(list_known(ctx, valid->labels, &r->valid));
    } else {
        TN_TRY(hold_out(ctx, train->labels, r));
    }
    if (r->train.count < 2)
        TN_TRY(tnp_fail(ctx, TN_ERR_DATA, "%s: %zu rows with labels to learn from, expected at least 2",
                        train->labels->path, r->train.count));
    TN_TRY(tnp_alloc(ctx, r->train.count + 1, sizeof *r->first, &r->first));
    TN_TRY(list_targets(ctx, r, train->labels, r->train.bags, r->train.count, r->first, &r->cls));
    TN_TRY(tnp_alloc(ctx, r->classes, sizeof *r->valid_ap, &r->valid_ap));
    if (r->valid.count != 0)
        TN_TRY(make_judge(ctx, valid ? valid->labels : train->labels, r));
done:
    return st;
}

/* ---- what is learned ---- */

tn_status tnp_encoder_copy(tn_ctx *ctx, const tn_encoder *encoder, tn_encoder **out)
{
    void *bytes = NULL;
    size_t size = 0;
    tn_status st = tn_encoder_to_bytes(ctx, encoder, NULL, &bytes, &size);
    if (st == TN_OK)
        st = tn_encoder_from_bytes(ctx, bytes, size, NULL, out);
    tn_bytes_free(bytes);
    return st;
}

static tn_status make_vectors(tn_ctx *ctx, size_t cols, tnp_vectors *v)
{
    tn_status st = TN_OK;
    size_t values = 0;
    tnp_free_all(v->psi, v->phi);
    v->psi = v->phi = NULL;
    TN_TRY(tnp_mul(ctx, v->count, cols, &values));
    TN_TRY(tnp_alloc_raw(ctx, values, sizeof *v->psi, &v->psi));
    TN_TRY(tnp_alloc_raw(ctx, values, sizeof *v->phi, &v->phi));
done:
    return st;
}

static void free_point(tnp_refining *r)
{
    tnp_fisher_point_free(&r->point);
    r->point = (tnp_fisher_point){.count = 0};
    tnp_free_all(r->unit, r->start, r->anchor, r->deviation);
    r->unit = r->start = r->anchor = r->deviation = NULL;
}

/* Of a mean, by its component's deviation; of the others 1. */
static void measure_mixture(tnp_refining *r)
{
    size_t k = r->point.count, kd = k * r->point.dim;
    for (size_t i = 0; i < k + 2 * kd; ++i) {
        size_t part = i < k ? i : (i - k) % kd / r->point.dim;
        r->unit[i] = r->deviation[i] = i >= k && i < k + kd ? r->point.sigma[i - k] : 1;
        r->anchor[i] = r->point.weight[part];
    }
}

/* Of entry (k, j): what moves column k by its deviation within the components when column j of the descriptors moves by
 * its own, so that squared moves of a row add up to those of its column, and cost what the same move of all means
 * costs. A step is limited for rows of many entries together. */
static void measure_projection(tnp_refining *r)
{
    const tnp_fisher_point *p = &r->point;
    size_t before = tnp_fisher_size(p->count, p->dim);
    for (size_t k = 0; k < p->to; ++k) {
        double var = 0;
        for (size_t c = 0; c < p->count; ++c)
            var += p->weight[c] * p->sigma[c * p->dim + k] * p->sigma[c * p->dim + k];
        for (size_t j = 0; j < p->from; ++j) {
            size_t i = before + k * p->from + j;
            r->unit[i] = sqrt(var) / (double)r->sets[0].scale[j];
            r->deviation[i] = r->unit[i] / sqrt((double)p->from);
            r->anchor[i] = 1;
        }
    }
}

/* Where it begins, and the units that it goes by, unless it is the paper's descent. */
static tn_status make_point(tn_ctx *ctx, tnp_refining *r)
{
    tn_status st = TN_OK;
    free_point(r);
    TN_TRY(tnp_fisher_point_new(ctx, r->e, r->options->learn != TNP_LEARN_MIXTURE, &r->point));
    r->size = r->point.size;
    TN_TRY(tnp_alloc(ctx, r->size, sizeof *r->unit, &r->unit));
    TN_TRY(tnp_alloc(ctx, r->size, sizeof *r->start, &r->start));
    TN_TRY(tnp_alloc(ctx, r->size, sizeof *r->anchor, &r->anchor));
    TN_TRY(tnp_alloc(ctx, r->size, sizeof *r->deviation, &r->deviation));
    tnp_fisher_take(r->e, &r->point);
    measure_mixture(r);
    measure_projection(r);
    for (size_t i = 0; i < r->size; ++i) {
        if (r->options->optimizer == TNP_REFINE_GD)
            r->unit[i] = 1;
        r->start[i] = r->point.theta[i] / r->unit[i];
    }
done:
    return st;
}

tn_status tnp_refining_take(tn_ctx *ctx, tnp_refining *r, tn_encoder *encoder)
{
    tn_status st = TN_OK;
    tnp_targets y = {.rows = r->train.count, .classes = r->classes, .first = r->first, .cls = r->cls};
    size_t cols = tn_encoder_cols(encoder), useful = 0;
    tn_encoder_free(r->e);
    r->e = encoder;
    tnp_machines_free(&r->machines);
    TN_TRY(make_point(ctx, r));
    TN_TRY(make_vectors(ctx, cols, &r->train));
    TN_TRY(make_vectors(ctx, cols, &r->valid));
    TN_TRY(tnp_machines_new(ctx, &y, cols, r->options, r->seed, &r->machines));
    for (size_t l = 0; l < r->classes; ++l)
        useful += !r->machines.constant[l];
    if (useful == 0)
        TN_TRY(tnp_fail(ctx, TN_ERR_DATA,
                        "refine: no class has pictures of its own and others among the %zu to learn from",
                        r->train.count));
done:
    return st;
}

/* ---- all of it ---- */

tn_status tnp_refining_open(tn_ctx *ctx, const tn_encoder *e, const tn_refine_data *train, const tn_refine_data *valid,
                            const tnp_encoder_options *options, tnp_refining *r)
{
    tn_status st = TN_OK;
    tn_encoder *copy = NULL;
    r->options = &options->refine;
    r->seed = options->seed;
    if (e->kind != TNP_FISHER)
        TN_TRY(tnp_fail(ctx, TN_ERR_ARG, "refine: the encoder is %s, expected fisher", tn_encoder_kind(e)));
    TN_TRY(check_data(ctx, e, train));
    if (valid)
        TN_TRY(check_data(ctx, e, valid));
    TN_TRY(check_options(ctx, e, r->options, train->labels)); /* before anything takes time */
    TN_TRY(choose_classes(ctx, train->labels, r));
    TN_TRY(describe_all(ctx, e, train, valid, r));
    TN_TRY(deal_out(ctx, train, valid, r));
    TN_TRY(tnp_crew_new(ctx, 0, &r->crew));
    TN_TRY(tnp_encoder_copy(ctx, e, &copy));
    TN_TRY(tnp_refining_take(ctx, r, copy));
done:
    return st;
}

void tnp_refining_close(tn_ctx *ctx, tnp_refining *r)
{
    tnp_free_all(r->train.bags, r->train.psi, r->train.phi, r->valid.bags, r->valid.psi, r->valid.phi, r->first, r->cls,
                 r->valid_ap);
    tn_labels_free(r->judge);
    tn_encoder_free(r->e);
    tnp_machines_free(&r->machines);
    free_point(r);
    for (size_t i = 0; i < 2; ++i)
        tnp_descriptors_free(&r->sets[i]);
    tnp_crew_free(ctx, &r->crew);
}
