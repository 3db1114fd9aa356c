/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bags of descriptors: blocks of bags against the rows that they were made of, from memory and from an .npz; offsets,
 * positions and members that cannot be. */
#include "fixtures/zips.h"

#include "read/features.h"

enum { BAGS = 5, ROWS = 9, COLS = 2 };

static const size_t good[BAGS + 1] = {0, 3, 3, 4, 8, 9}; /* the second is empty */
static float values[ROWS * COLS], places[ROWS * 3];
static tn_features *descriptors, *positions, *wrong;

static int setup(void **state)
{
    for (size_t i = 0; i < ROWS * COLS; ++i)
        values[i] = (float)(i + 1);
    for (size_t i = 0; i < ROWS * 3; ++i)
        places[i] = -(float)i;
    const tn_array a = tn_array_compact(values, TN_F32, ROWS, COLS), b = tn_array_compact(places, TN_F32, ROWS, 3),
                   c = tn_array_compact(places, TN_F32, ROWS - 1, 3);
    if (files_setup(state) != 0)
        return -1;
    return tn_features_from_array(test_ctx, "sift", &a, &descriptors) != TN_OK ||
           tn_features_from_array(test_ctx, "places", &b, &positions) != TN_OK ||
           tn_features_from_array(test_ctx, "few", &c, &wrong) != TN_OK;
}

static int teardown(void **state)
{
    tn_features_close(descriptors);
    tn_features_close(positions);
    tn_features_close(wrong);
    return files_teardown(state);
}

/* Every block of these bags, which lie at `offsets` of the values. */
static void check_blocks(const tn_bags *bags, const size_t *offsets, size_t count, bool placed)
{
    assert_int_equal(tn_bags_count(bags), count);
    assert_memory_equal(tn_bags_offsets(bags), offsets, (count + 1) * sizeof *offsets);
    for (size_t first = 0; first <= count; ++first)
        for (size_t n = 0; n <= count - first; ++n) {
            float out[ROWS * COLS + 1], at[ROWS * 3 + 1];
            size_t start = offsets[first], rows = offsets[first + n] - start;
            out[rows * COLS] = 77;
            at[rows * 3] = 77;
            assert_fine(test_ctx, tn_bags_read(test_ctx, bags, first, n, out, placed ? at : NULL));
            assert_memory_equal(out, values + start * COLS, rows * COLS * sizeof *out);
            if (placed)
                assert_memory_equal(at, places + start * 3, rows * 3 * sizeof *at);
            assert_true(out[rows * COLS] == 77 && at[rows * 3] == 77);
        }
}

static void blocks_of_bags_in_memory(void **state)
{
    (void)state;
    tn_bags *bags = NULL;
    for (int placed = 0; placed < 2; ++placed) {
        assert_fine(test_ctx, tn_bags_new(test_ctx, good, BAGS, descriptors, placed ? positions : NULL, &bags));
        check_blocks(bags, good, BAGS, placed);
        assert_ptr_equal(tn_bags_descriptors(bags), descriptors);
        assert_ptr_equal(tn_bags_positions(bags), placed ? positions : NULL);
        assert_null(tn_bags_ids(bags));
        tn_bags_free(bags);
    }
    assert_fine(test_ctx, tn_bags_new(test_ctx, good + 2, 2, descriptors, NULL, &bags));
    check_blocks(bags, good + 2, 2, false);
    float out[ROWS * COLS], at[ROWS * 3];
    assert_fails(test_ctx, TN_ERR_ARG, "sift: bags 1 to 3 asked for, there are 2",
                 tn_bags_read(test_ctx, bags, 1, 2, out, NULL));
    assert_fails(test_ctx, TN_ERR_ARG, "positions asked for", tn_bags_read(test_ctx, bags, 0, 1, out, at));
    tn_bags_free(bags);
}

static void refuse(const size_t *offsets, size_t count, const tn_features *at, tn_status status, const char *part)
{
    tn_bags *const untouched = (tn_bags *)(void *)test_folder;
    tn_bags *bags = untouched;
    size_t blocks = tnp_live_blocks(test_ctx);
    assert_fails(test_ctx, status, part, tn_bags_new(test_ctx, offsets, count, descriptors, at, &bags));
    assert_ptr_equal(bags, untouched);
    assert_int_equal(tnp_live_blocks(test_ctx), blocks);
}

static void offsets_and_positions_that_do_not_fit(void **state)
{
    (void)state;
    const size_t down[] = {0, 4, 3, 9}, far[] = {0, 4, 10};
    refuse(good, 0, NULL, TN_ERR_ARG, "sift: no bags");
    refuse(down, 3, NULL, TN_ERR_DATA, "sift: offset 2 is 3, below the 4 before it");
    refuse(far, 2, NULL, TN_ERR_DATA, "the last offset is 10, but there are 9 descriptors");
    refuse(good, BAGS, wrong, TN_ERR_SHAPE, "few: 8 x 3 positions, expected 9 x 3");
    refuse(good, BAGS, descriptors, TN_ERR_SHAPE, "9 x 2 positions");
}

/* ---- files ---- */

static bytes npy_offsets, npy_descriptors, npy_positions, npy_ids;

static void put_floats(bytes *b, const float *from, size_t rows, size_t cols)
{
    char shape[64];
    b->n = 0;
    snprintf(shape, sizeof shape, "(%zu, %zu)", rows, cols);
    put_npy(b, "<f4", false, shape);
    for (size_t i = 0; i < rows * cols; ++i)
        put_int(b, float_bits(from[i]), 4, false);
}

static void put_numbers(bytes *b, const char *descr, const int64_t *from, size_t count)
{
    char shape[64];
    b->n = 0;
    snprintf(shape, sizeof shape, "(%zu,)", count);
    put_npy(b, descr, false, shape);
    for (size_t i = 0; i < count; ++i)
        put_int(b, (uint64_t)from[i], 8, false);
}

/* An archive with the first `count` of offsets, descriptors, positions and ids. */
static const char *write_bags(size_t count, bool deflated)
{
    static const spoil none;
    const member members[] = {{"offsets.npy", &npy_offsets, deflated, false},
                              {"descriptors.npy", &npy_descriptors, deflated, false},
                              {"positions.npy", &npy_positions, deflated, false},
                              {"ids.npy", &npy_ids, deflated, false}};
    return write_zip("bags.train.npz", members, count, false, &none);
}

static void fill_members(void)
{
    const int64_t offsets[BAGS + 1] = {0, 3, 3, 4, 8, 9}, ids[BAGS] = {11, 22, 33, 44, 55};
    put_numbers(&npy_offsets, "<i8", offsets, BAGS + 1);
    put_floats(&npy_descriptors, values, ROWS, COLS);
    put_floats(&npy_positions, places, ROWS, 3);
    put_numbers(&npy_ids, "<i8", ids, BAGS);
}

static void bags_from_an_archive(void **state)
{
    (void)state;
    fill_members();
    for (size_t count = 2; count <= 4; ++count)
        for (int deflated = 0; deflated < 2; ++deflated) {
            tn_bags *bags = NULL;
            assert_fine(test_ctx, tn_bags_open(test_ctx, write_bags(count, deflated), &bags));
            check_blocks(bags, good, BAGS, count > 2);
            assert_string_equal(tn_features_name(tn_bags_descriptors(bags)), "bags");
            assert_int_equal(tn_bags_positions(bags) != NULL, count > 2);
            assert_int_equal(tn_bags_ids(bags) != NULL, count > 3);
            if (count > 3)
                assert_string_equal(tn_bags_ids(bags)[4], "55");
            tn_bags_free(bags);
        }
}

static void refuse_file(size_t count, tn_status status, const char *part)
{
    tn_bags *const untouched = (tn_bags *)(void *)test_folder;
    tn_bags *bags = untouched;
    size_t blocks = tnp_live_blocks(test_ctx);
    assert_fails(test_ctx, status, part, tn_bags_open(test_ctx, write_bags(count, false), &bags));
    assert_ptr_equal(bags, untouched);
    assert_int_equal(tnp_live_blocks(test_ctx), blocks);
}

static void archives_that_hold_no_bags(void **state)
{
    (void)state;
    const int64_t below[3] = {0, -1, 9}, far[3] = {0, 4, 10}, one[1] = {0}, names[2] = {1, 2};
    fill_members();
    refuse_file(1, TN_ERR_FORMAT, "no array 'descriptors'");
    put_numbers(&npy_ids, "<i8", names, 2);
    refuse_file(4, TN_ERR_SHAPE, "2 entries, but there are 5 bags");
    fill_members();
    put_numbers(&npy_offsets, "<i8", below, 3);
    refuse_file(2, TN_ERR_DATA, "offsets: entry 1 is -1");
    put_numbers(&npy_offsets, "<i8", far, 3);
    refuse_file(2, TN_ERR_DATA, "the last offset is 10");
    put_numbers(&npy_offsets, "<i8", one, 1);
    refuse_file(2, TN_ERR_ARG, "no bags");
    put_numbers(&npy_offsets, "<f8", far, 3);
    refuse_file(2, TN_ERR_FORMAT, "float64, expected one of whole numbers");
    fill_members();
    put_floats(&npy_positions, places, ROWS, 2);
    refuse_file(3, TN_ERR_SHAPE, "9 x 2 positions");
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    tn_status st = TN_ERR_MEMORY;
    fill_members();
    const char *path = write_bags(4, true);
    for (size_t k = 1; st != TN_OK; ++k) {
        tn_bags *bags = NULL;
        size_t blocks = tnp_live_blocks(test_ctx);
        tnp_fail_allocation(test_ctx, k);
        st = tn_bags_open(test_ctx, path, &bags);
        tnp_fail_allocation(test_ctx, 0);
        assert_true(k < 200 && (st == TN_OK || st == TN_ERR_MEMORY));
        tn_bags_free(bags);
        assert_int_equal(tnp_live_blocks(test_ctx), blocks);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_of_bags_in_memory),  cmocka_unit_test(offsets_and_positions_that_do_not_fit),
        cmocka_unit_test(bags_from_an_archive),      cmocka_unit_test(archives_that_hold_no_bags),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
