/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fitted objects as bytes in memory: they are the bytes of the file, come back as the same object, and what is wrong
 * with them is told in the words that a file gets. Bytes lie in blocks of their own size, so that a tool for memory
 * sees one read too many. */
#include "fixtures/problems.h"
#include "fixtures/tensors.h"
#include "learn/head/head.h"
#include "tenon/store.h"
#include "pipeline/methods.h"
#include "pipeline/online.h"
#include "encode/pq.h"
#include "pipeline/options.h"

/* ---- the five kinds ---- */

static void *make_head(void)
{
    const char *const names[] = {"a", "b\"c"};
    tn_head *h = NULL;
    assert_fine(test_ctx, tnp_head_new(test_ctx, TN_TASK_MULTICLASS, names, 2, 3, 1, "evidence", &h));
    assert_fine(test_ctx, tnp_head_add_ridge(test_ctx, h));
    assert_fine(test_ctx, tnp_strdup(test_ctx, "dino", &h->reps[0].name));
    h->reps[0].dim = 3;
    for (size_t i = 0; i < 6; ++i)
        h->weight[i] = (float)i / 7 - 0.5f;
    h->lambda[1] = INFINITY;
    h->log_evidence = -1.0 / 3;
    return h;
}

static void *make_map(void)
{
    double weight[TN_BASIS_SIZE * 2];
    for (size_t i = 0; i < TN_BASIS_SIZE * 2; ++i)
        weight[i] = sin((double)i + 1);
    const tn_map_spec spec = {.rank = 2, .scale = 200 / 3.0, .weight = weight, .power = 0.5, .tasks = 3, .rows = 9};
    tn_map *map = NULL;
    assert_fine(test_ctx, tn_map_new_learned(test_ctx, &spec, &map));
    return map;
}

static tn_features *some_rows(void)
{
    double x[24];
    for (size_t i = 0; i < 24; ++i)
        x[i] = cos((double)(i * i));
    return features_of("x", x, 8, 3, AS_F32);
}

static void *make_pq(void)
{
    tnp_pq_options options;
    tn_pq *pq = NULL;
    tn_features *features = some_rows();
    tnp_pq_options_default(&options);
    options.sub = 2;
    options.centroids = 3;
    assert_fine(test_ctx, tnp_pq_fit(test_ctx, features, &options, NULL, &pq));
    tn_features_close(features);
    return pq;
}

static void *make_moments(void)
{
    const int64_t classes[] = {0, 1, 1, 0, 1, 0, 0, 1};
    tn_features *features = some_rows();
    tn_labels *labels = NULL;
    tn_moments *moments = NULL;
    assert_fine(test_ctx, tn_labels_from_numbers(test_ctx, classes, 8, NULL, 2, &labels));
    assert_fine(test_ctx, tn_moments_gather(test_ctx, features, labels, TN_NORM_NONE, TN_NAN_ERROR, &moments));
    tn_labels_free(labels);
    tn_features_close(features);
    return moments;
}

static void *make_online(void)
{
    const int64_t classes[] = {0, 1, 1, 0, 1, 0, 0, 1};
    const char *const names[] = {"0", "1"};
    tn_features *features = some_rows();
    tn_labels *labels = NULL;
    tn_options *options = NULL;
    tn_online *online = NULL;
    assert_fine(test_ctx, tn_labels_from_numbers(test_ctx, classes, 8, names, 2, &labels));
    assert_fine(test_ctx, tn_options_new(test_ctx, "fit", &options));
    assert_fine(test_ctx, tn_options_set(test_ctx, options, "method", "arow"));
    assert_fine(test_ctx, tn_online_new(test_ctx, options, TN_TASK_MULTICLASS, names, 2, &online));
    assert_fine(test_ctx, tn_online_update(test_ctx, online, (const tn_features *const *)&features, 1, labels));
    tn_options_free(options);
    tn_labels_free(labels);
    tn_features_close(features);
    return online;
}

static tn_status save_moments(tn_ctx *ctx, const void *moments, const char *command, const char *path)
{
    (void)command;
    return tn_moments_save(ctx, moments, path);
}

static tn_status moments_to_bytes(tn_ctx *ctx, const void *moments, const char *command, void **data, size_t *size)
{
    (void)command;
    return tn_moments_to_bytes(ctx, moments, data, size);
}

/* The calls of a kind under one type each. */
#define KIND(kind)                                                                                                     \
    static tn_status save_##kind(tn_ctx *ctx, const void *object, const char *command, const char *path)               \
    {                                                                                                                  \
        return tn_##kind##_save(ctx, object, command, path);                                                           \
    }                                                                                                                  \
    static tn_status kind##_to_bytes(tn_ctx *ctx, const void *object, const char *command, void **data, size_t *size)  \
    {                                                                                                                  \
        return tn_##kind##_to_bytes(ctx, object, command, data, size);                                                 \
    }
#define BACK(kind)                                                                                                     \
    static tn_status kind##_from_bytes(tn_ctx *ctx, const void *data, size_t size, const char *name, void **out)       \
    {                                                                                                                  \
        tn_##kind *object = NULL;                                                                                      \
        tn_status st = tn_##kind##_from_bytes(ctx, data, size, name, &object);                                         \
        *out = object;                                                                                                 \
        return st;                                                                                                     \
    }                                                                                                                  \
    static tn_status load_##kind(tn_ctx *ctx, const char *path, void **out)                                            \
    {                                                                                                                  \
        tn_##kind *object = NULL;                                                                                      \
        tn_status st = tn_##kind##_load(ctx, path, &object);                                                           \
        *out = object;                                                                                                 \
        return st;                                                                                                     \
    }                                                                                                                  \
    static void free_##kind(void *object)                                                                              \
    {                                                                                                                  \
        tn_##kind##_free(object);                                                                                      \
    }
KIND(head)
KIND(map)
KIND(pq)
KIND(online)
BACK(head)
BACK(map)
BACK(pq)
BACK(moments)
BACK(online)

typedef struct kind {
    const char *name;
    void *(*make)(void);
    tn_status (*save)(tn_ctx *ctx, const void *object, const char *command, const char *path);
    tn_status (*to_bytes)(tn_ctx *ctx, const void *object, const char *command, void **data, size_t *size);
    tn_status (*from_bytes)(tn_ctx *ctx, const void *data, size_t size, const char *name, void **out);
    tn_status (*load)(tn_ctx *ctx, const char *path, void **out);
    void (*free)(void *object);
} kind;

enum { KINDS = 5 };
static const kind kinds[KINDS] = {
    {"head", make_head, save_head, head_to_bytes, head_from_bytes, load_head, free_head},
    {"kernel", make_map, save_map, map_to_bytes, map_from_bytes, load_map, free_map},
    {"quantiser", make_pq, save_pq, pq_to_bytes, pq_from_bytes, load_pq, free_pq},
    {"moments", make_moments, save_moments, moments_to_bytes, moments_from_bytes, load_moments, free_moments},
    {"online learner", make_online, save_online, online_to_bytes, online_from_bytes, load_online, free_online},
};

/* A copy in a block of exactly its size. */
static unsigned char *exact(const void *bytes_of, size_t size)
{
    unsigned char *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    memcpy(copy, bytes_of, size);
    return copy;
}

/* ---- tests ---- */

static void bytes_are_those_of_the_file(void **state)
{
    (void)state;
    for (size_t t = 0; t < KINDS; ++t) {
        const kind *k = &kinds[t];
        void *object = k->make(), *memory = NULL, *back = NULL, *again = NULL;
        size_t size = 0, file_size = 0, again_size = 0;
        const char *path = file_path("x.safetensors");
        assert_fine(test_ctx, k->save(test_ctx, object, "tenon fit", path));
        assert_fine(test_ctx, k->to_bytes(test_ctx, object, "tenon fit", &memory, &size));
        unsigned char *file = read_whole(path, &file_size);
        assert_int_equal(size, file_size);
        assert_memory_equal(memory, file, size);
        /* and what comes back is the same object: its bytes are, but for who made it */
        unsigned char *copy = exact(memory, size);
        assert_fine(test_ctx, k->from_bytes(test_ctx, copy, size, NULL, &back));
        free(copy);
        assert_fine(test_ctx, k->to_bytes(test_ctx, back, "tenon fit", &again, &again_size));
        assert_int_equal(again_size, size);
        assert_memory_equal(again, memory, size);
        free(file);
        tn_bytes_free(memory);
        tn_bytes_free(again);
        k->free(back);
        k->free(object);
    }
}

/* Every shorter piece is an error, in the words that a file of the same name gets. */
static void cut_bytes_say_what_cut_files_say(void **state)
{
    (void)state;
    char message[1024];
    for (size_t t = 0; t < KINDS; ++t) {
        const kind *k = &kinds[t];
        void *object = k->make(), *memory = NULL, *back = NULL;
        size_t size = 0, blocks = tnp_live_blocks(test_ctx);
        assert_fine(test_ctx, k->to_bytes(test_ctx, object, NULL, &memory, &size));
        for (size_t n = 0; n < size; ++n) {
            unsigned char *copy = exact(memory, n);
            const char *path = file_path("cut.safetensors");
            assert_fails(test_ctx, TN_ERR_FORMAT, path, k->from_bytes(test_ctx, copy, n, path, &back));
            snprintf(message, sizeof message, "%s", tn_ctx_message(test_ctx));
            if (n % 16 == 0 || n + 1 == size) {
                assert_fails(test_ctx, TN_ERR_FORMAT, path,
                             k->load(test_ctx, write_file("cut.safetensors", copy, n), &back));
                assert_string_equal(tn_ctx_message(test_ctx), message);
            }
            assert_null(back);
            free(copy);
        }
        tn_bytes_free(memory);
        assert_int_equal(tnp_live_blocks(test_ctx), blocks);
        k->free(object);
    }
    void *none = NULL;
    assert_fails(test_ctx, TN_ERR_FORMAT, "head in memory: byte 0: the file ends",
                 head_from_bytes(test_ctx, NULL, 0, NULL, &none));
    assert_null(none);
}

/* One kind's bytes are no other's. */
static void bytes_of_another_kind(void **state)
{
    (void)state;
    for (size_t t = 0; t < KINDS; ++t) {
        void *object = kinds[t].make(), *memory = NULL;
        size_t size = 0;
        assert_fine(test_ctx, kinds[t].to_bytes(test_ctx, object, NULL, &memory, &size));
        for (size_t other = 0; other < KINDS; ++other) {
            char name[64];
            void *back = NULL;
            bool heads = (t == 0 || t == KINDS - 1) && (other == 0 || other == KINDS - 1); /* a learner is one, too */
            snprintf(name, sizeof name, "%s in memory: its format is 'tenon-", kinds[other].name);
            if (other != t && !heads)
                assert_fails(test_ctx, TN_ERR_FORMAT, name,
                             kinds[other].from_bytes(test_ctx, memory, size, NULL, &back));
            assert_null(back);
        }
        tn_bytes_free(memory);
        kinds[t].free(object);
    }
}

static void a_named_map_has_no_bytes(void **state)
{
    (void)state;
    tn_map *map = NULL;
    void *memory = NULL;
    size_t size = 0;
    assert_fine(test_ctx, tn_map_new_named(test_ctx, "chi2", TN_SIGNED_ODD, &map));
    assert_fails(test_ctx, TN_ERR_ARG, "kernel in memory: the chi2 map is known by its name",
                 tn_map_to_bytes(test_ctx, map, NULL, &memory, &size));
    assert_null(memory);
    tn_map_free(map);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    for (size_t t = 0; t < KINDS; ++t) {
        const kind *k = &kinds[t];
        void *object = k->make(), *memory = NULL;
        size_t blocks = tnp_live_blocks(test_ctx), size = 0, n = 1;
        for (;; ++n) {
            tnp_fail_allocation(test_ctx, n);
            tn_status st = k->to_bytes(test_ctx, object, "x", &memory, &size);
            tnp_fail_allocation(test_ctx, 0);
            assert_true((st == TN_OK) == (memory != NULL));
            if (st == TN_OK)
                break;
            assert_int_equal(st, TN_ERR_MEMORY);
            assert_int_equal(tnp_live_blocks(test_ctx), blocks);
        }
        assert_true(n > 1);
        for (n = 1;; ++n) {
            void *back = NULL;
            tnp_fail_allocation(test_ctx, n);
            tn_status st = k->from_bytes(test_ctx, memory, size, NULL, &back);
            tnp_fail_allocation(test_ctx, 0);
            assert_true((st == TN_OK) == (back != NULL));
            k->free(back);
            assert_int_equal(tnp_live_blocks(test_ctx), blocks + 1);
            if (st == TN_OK)
                break;
            assert_int_equal(st, TN_ERR_MEMORY);
        }
        assert_true(n > 3);
        tn_bytes_free(memory);
        k->free(object);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_those_of_the_file), cmocka_unit_test(cut_bytes_say_what_cut_files_say),
        cmocka_unit_test(bytes_of_another_kind),       cmocka_unit_test(a_named_map_has_no_bytes),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
