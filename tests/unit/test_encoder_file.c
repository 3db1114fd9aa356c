/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Encoders as files: what comes back encodes to the same bits; what is broken in a file is refused by name. */
#include "encoder_of.h"
#include "tenon/store.h"

static const char *const kinds[] = {"kind=fisher words=5 pca=4 pyramid=1x1,2x2", "kind=vlad words=4 pca=0 norm=root",
                                    "kind=bovw words=9 places=yes", "kind=llc words=9 pca=3 whiten=yes neighbours=3"};

static void what_was_saved_encodes_the_same(void **state)
{
    (void)state;
    bag_set s = bags_of(4, 80, 6, 1);
    for (size_t k = 0; k < 4; ++k) {
        tn_encoder *a = encoder_of(&s, kinds[k], NULL), *b = NULL;
        void *bytes = NULL, *again = NULL;
        size_t size = 0, other = 0;
        assert_fine(ctx, tn_encoder_to_bytes(ctx, a, "test", &bytes, &size));
        assert_fine(ctx, tn_encoder_from_bytes(ctx, bytes, size, NULL, &b));
        assert_fine(ctx, tn_encoder_to_bytes(ctx, b, "test", &again, &other));
        assert_int_equal(size, other);
        assert_memory_equal(bytes, again, size);
        assert_int_equal(tn_encoder_cols(a), tn_encoder_cols(b));
        float *x = encoded(a, &s, 1), *y = encoded(b, &s, 1);
        assert_memory_equal(x, y, tn_encoder_cols(a) * sizeof *x);
        free(x);
        free(y);
        tn_bytes_free(bytes);
        tn_bytes_free(again);
        tn_encoder_free(a);
        tn_encoder_free(b);
    }
    free_bags(&s);
}

/* Replaces the first `from` in the bytes by `to`, of the same length. */
static void refuse_changed(const unsigned char *bytes, size_t size, const char *from, const char *to, const char *part)
{
    unsigned char *copy = malloc(size);
    size_t n = strlen(from), at = 0;
    tn_encoder *e = NULL;
    memcpy(copy, bytes, size);
    assert_int_equal(n, strlen(to));
    while (at + n <= size && memcmp(copy + at, from, n) != 0)
        ++at;
    assert_true(at + n <= size);
    memcpy(copy + at, to, n);
    tn_status st = tn_encoder_from_bytes(ctx, copy, size, "made", &e);
    assert_true(st == TN_ERR_FORMAT || st == TN_ERR_UNSUPPORTED);
    if (!strstr(tn_ctx_message(ctx), part))
        print_error("message '%s', expected '%s' in it\n", tn_ctx_message(ctx), part);
    assert_non_null(strstr(tn_ctx_message(ctx), part));
    assert_null(e);
    free(copy);
}

static void broken_encoders_are_refused(void **state)
{
    (void)state;
    bag_set s = bags_of(4, 80, 6, 1);
    tn_encoder *a = encoder_of(&s, kinds[0], NULL), *b = NULL;
    unsigned char *bytes = NULL;
    size_t size = 0;
    assert_fine(ctx, tn_encoder_to_bytes(ctx, a, "test", (void **)&bytes, &size));
    refuse_changed(bytes, size, "tenon-encoder", "tenon-encodes", "made: ");
    refuse_changed(bytes, size, "\"kind\":\"fisher\"", "\"kind\":\"fishes\"", "its kind is 'fishes'");
    refuse_changed(bytes, size, "\"norm\":\"root\"", "\"norm\":\"boot\"", "its norm is 'boot'");
    refuse_changed(bytes, size, "\"dim\":\"6\"", "\"dim\":\"0\"", "its dim is '0'");
    refuse_changed(bytes, size, "\"dim\":\"6\"", "\"dim\":\"7\"", "'basis' is (4, 6), expected (rows, 7)");
    refuse_changed(bytes, size, "1x1,2x2", "1x1,2y2", "its pyramid is '1x1,2y2'");
    refuse_changed(bytes, size, "\"neighbours\":\"5\"", "\"neighbours\":\"0\"", "its neighbours is '0'");
    refuse_changed(bytes, size, "\"places\":\"0\"", "\"places\":\"x\"", "its places is 'x'");
    refuse_changed(bytes, size, "\"descriptor\":\"\"", "\"descriptoR\":\"\"", "its descriptor is 'missing'");
    refuse_changed(bytes, size, "\"means\":", "\"meanz\":", "means");
    for (size_t cut = 0; cut < size; cut += 13)
        assert_int_not_equal(tn_encoder_from_bytes(ctx, bytes, cut, "made", &b), TN_OK);
    float bad = -1; /* the last tensors are mean and basis; the first is weights */
    size_t header = 8 + (size_t)bytes[0] + 256 * (size_t)bytes[1];
    memcpy(bytes + header, &bad, sizeof bad);
    assert_fails(ctx, TN_ERR_FORMAT, "'weights' holds -1", tn_encoder_from_bytes(ctx, bytes, size, "made", &b));
    tn_bytes_free(bytes);
    tn_encoder_free(a);
    free_bags(&s);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    bag_set s = bags_of(3, 60, 6, 1);
    tn_encoder *a = encoder_of(&s, kinds[0], NULL);
    void *bytes = NULL;
    size_t size = 0, k = 1;
    assert_fine(ctx, tn_encoder_to_bytes(ctx, a, "test", &bytes, &size));
    size_t blocks = tnp_live_blocks(ctx);
    for (;; ++k) {
        tn_encoder *e = NULL;
        tnp_fail_allocation(ctx, k);
        tn_status st = tn_encoder_from_bytes(ctx, bytes, size, NULL, &e);
        tnp_fail_allocation(ctx, 0);
        tn_encoder_free(e);
        assert_int_equal(tnp_live_blocks(ctx), blocks);
        if (st == TN_OK)
            break;
        assert_int_equal(st, TN_ERR_MEMORY);
    }
    assert_true(k > 10);
    tn_bytes_free(bytes);
    tn_encoder_free(a);
    free_bags(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_was_saved_encodes_the_same),
                                       cmocka_unit_test(broken_encoders_are_refused),
                                       cmocka_unit_test(every_allocation_may_fail)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
