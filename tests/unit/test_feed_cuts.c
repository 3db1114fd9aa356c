/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How a team shares the rows of files: by bytes, against loops over single rows; shards whole where they are many; and
 * which files members read then, as the watch on system calls tells. What a loop of bytes allows a part: its share,
 * 1/20 of it at either end, and the rows of a unit. */
#define _GNU_SOURCE /* barriers */
#include "fixtures/files.h"
#include "learn/design/design.h"
#include "learn/design/gather.h"
#include "matrix/moments.h"
#include "team_of.h"
#include "transform/feed.h"

enum { COLS = 3, SHARDS = 12 };

/* Shards 00.npy, 01.npy, ... of a folder; a size of 0 ends them. */
typedef struct folder {
    const char *name;
    struct {
        char type; /* 2, 4, 8: bytes of a float */
        size_t rows;
    } shard[SHARDS + 1];
} folder;

static size_t count_of(const folder *f)
{
    size_t n = 0;
    while (f->shard[n].type)
        ++n;
    return n;
}

static size_t rows_in(const folder *f)
{
    size_t rows = 0;
    for (size_t s = 0; s < count_of(f); ++s)
        rows += f->shard[s].rows;
    return rows;
}

static size_t shard_of(const folder *f, size_t row)
{
    size_t s = 0;
    for (; row >= f->shard[s].rows; ++s)
        row -= f->shard[s].rows;
    return s;
}

/* Element (i, c) of all rows is 1 + (7 i + c) mod 11. */
static void write_folder(const folder *f)
{
    size_t row = 0;
    remove_folder(file_path(f->name));
    assert_int_equal(mkdir(file_path(f->name), 0700), 0);
    for (size_t s = 0; s < count_of(f); ++s) {
        tn_dtype type = f->shard[s].type == 2 ? TN_F16 : f->shard[s].type == 4 ? TN_F32 : TN_F64;
        char name[64], shape[64], descr[4] = {'<', 'f', (char)('0' + f->shard[s].type), 0};
        bytes b = {.n = 0};
        snprintf(name, sizeof name, "%s/%02zu.npy", f->name, s);
        snprintf(shape, sizeof shape, "(%zu, %d)", f->shard[s].rows, COLS);
        put_npy(&b, descr, false, shape);
        FILE *file = fopen(file_path(name), "wb");
        assert_non_null(file);
        assert_int_equal(fwrite(b.data, 1, b.n, file), b.n);
        for (size_t i = 0; i < f->shard[s].rows; ++i, ++row) {
            b.n = 0;
            for (size_t c = 0; c < COLS; ++c)
                put_element(&b, type, (int)(1 + (7 * row + c) % 11), false);
            assert_int_equal(fwrite(b.data, 1, b.n, file), b.n);
        }
        assert_int_equal(fclose(file), 0);
    }
}

static const folder mixed = {"mixed", {{2, 400}, {4, 0}, {4, 300}, {8, 100}, {2, 333}, {4, 50}}};
static const folder many = {"many",
                            {{4, 512},
                             {4, 512},
                             {4, 512},
                             {4, 512},
                             {4, 512},
                             {4, 512},
                             {4, 512},
                             {4, 512},
                             {4, 512},
                             {4, 512},
                             {4, 512},
                             {4, 512}}};
static const folder halves = {"halves", {{2, 1024}, {4, 512}}};
static const folder few = {"few", {{4, 1}, {2, 1}}};

/* ---- cuts ---- */

typedef struct asked {
    const folder *folders[2];
    size_t unit;
    const size_t *rows; /* or NULL: all */
    size_t count;
    size_t cut[TEAM_MOST + 1];
} asked;

static tn_status ask(tn_ctx *ctx, size_t rank, void *arg)
{
    tn_status st = TN_OK;
    asked *a = arg;
    tn_features *features[2] = {NULL, NULL};
    tn_feed *feeds[2] = {NULL, NULL};
    char path[600];
    size_t *cut = NULL, n = a->folders[1] ? 2 : 1;
    (void)rank;
    for (size_t i = 0; i < n; ++i) {
        snprintf(path, sizeof path, "%s/%s", test_folder, a->folders[i]->name);
        TN_TRY(tn_features_open(ctx, path, &features[i]));
        TN_TRY(tn_feed_new(ctx, features[i], a->rows, a->count, TN_NORM_NONE, TN_NAN_ERROR, NULL, &feeds[i]));
    }
    TN_TRY(tnp_feeds_cut(ctx, (const tn_feed *const *)feeds, n, a->unit, &cut));
    memcpy(a->cut, cut, (tn_team_size(ctx) + 1) * sizeof *cut);
done:
    tnp_free(cut);
    for (size_t i = 0; i < 2; ++i) {
        tn_feed_free(feeds[i]);
        tn_features_close(features[i]);
    }
    return st;
}

/* Bytes of row i of the list, over all folders. */
static size_t bytes_of(const asked *a, size_t i)
{
    size_t row = a->rows ? a->rows[i] : i, sum = 0;
    for (size_t f = 0; f < 2 && a->folders[f]; ++f)
        sum += COLS * (size_t)a->folders[f]->shard[shard_of(a->folders[f], row)].type;
    return sum;
}

static void check_cuts(asked a)
{
    size_t total = 0, largest = 0;
    for (size_t i = 0; i < a.count; ++i) {
        total += bytes_of(&a, i);
        largest = tnp_max(largest, bytes_of(&a, i));
    }
    for (size_t size = 1; size <= TEAM_MOST; ++size) {
        asked members[TEAM_MOST];
        for (size_t r = 0; r < size; ++r)
            members[r] = a;
        team_do(size, ask, members, sizeof *members);
        const size_t *cut = members[0].cut;
        for (size_t r = 1; r < size; ++r)
            assert_memory_equal(cut, members[r].cut, (size + 1) * sizeof *cut);
        assert_true(cut[0] == 0 && cut[size] == a.count && (a.count == 0 || cut[1] > 0));
        for (size_t r = 0; r < size; ++r) {
            size_t own = 0;
            assert_true(cut[r] <= cut[r + 1] && (cut[r] % a.unit == 0 || cut[r] == a.count));
            for (size_t i = cut[r]; i < cut[r + 1]; ++i)
                own += bytes_of(&a, i);
            assert_true((double)own <= 1.1 * (double)total / (double)size + (double)(a.unit * largest));
        }
    }
}

static void parts_have_as_many_bytes_each(void **state)
{
    (void)state;
    size_t labelled[1183], count = 0;
    write_folder(&mixed);
    write_folder(&few);
    for (size_t i = 0; i < rows_in(&mixed); ++i)
        if (i % 3 != 1 && (i < 300 || i > 500))
            labelled[count++] = i;
    for (size_t unit = 1; unit <= 64; unit *= 8) {
        check_cuts((asked){.folders = {&mixed}, .unit = unit, .count = rows_in(&mixed)});
        check_cuts((asked){.folders = {&mixed}, .unit = unit, .rows = labelled, .count = count});
        check_cuts((asked){.folders = {&mixed, &mixed}, .unit = unit, .rows = labelled, .count = count});
        check_cuts((asked){.folders = {&few}, .unit = unit, .count = 2});
    }
    check_cuts((asked){.folders = {&mixed}, .unit = 1, .rows = labelled, .count = 1});
}

/* Halves of 2 bytes and of 4 are two parts of two members, whatever their rows; twelve like shards are never cut by 1
 * to 4. */
static void shards_are_taken_whole(void **state)
{
    (void)state;
    write_folder(&halves);
    write_folder(&many);
    asked two[2] = {{.folders = {&halves}, .unit = 1, .count = 1536}, {.folders = {&halves}, .unit = 1, .count = 1536}};
    team_do(2, ask, two, sizeof *two);
    assert_int_equal(two[0].cut[1], 1024);
    for (size_t size = 1; size <= 4; ++size) {
        asked members[TEAM_MOST];
        for (size_t r = 0; r < size; ++r)
            members[r] = (asked){.folders = {&many}, .unit = 1, .count = rows_in(&many)};
        team_do(size, ask, members, sizeof *members);
        for (size_t r = 0; r <= size; ++r)
            assert_int_equal(members[0].cut[r], 512 * SHARDS * r / size);
    }
}

/* Rows in any order, as ids find them: some cut, the same for all. */
static void rows_in_another_order_are_shared_too(void **state)
{
    (void)state;
    size_t rows[1183], n = rows_in(&mixed);
    write_folder(&mixed);
    for (size_t i = 0; i < n; ++i)
        rows[i] = (i * 500 + 17) % n;
    for (size_t size = 2; size <= TEAM_MOST; ++size) {
        asked members[TEAM_MOST];
        for (size_t r = 0; r < size; ++r)
            members[r] = (asked){.folders = {&mixed}, .unit = 8, .rows = rows, .count = n};
        team_do(size, ask, members, sizeof *members);
        for (size_t r = 0; r < size; ++r) {
            assert_true(members[0].cut[r] <= members[0].cut[r + 1]);
            assert_memory_equal(members[0].cut, members[r].cut, (size + 1) * sizeof(size_t));
        }
        assert_true(members[0].cut[0] == 0 && members[0].cut[1] > 0 && members[0].cut[size] == n);
    }
}

/* ---- which files are read ---- */

typedef struct reading {
    const folder *folder;
    bool moments; /* else a design, and a pass over it */
    bool read[SHARDS];
    double found[COLS * COLS + COLS];
} reading;

static int note_read(void *arg, tnp_io what, const char *path)
{
    reading *r = arg;
    size_t shard = (size_t)strtoul(strrchr(path, '/') + 1, NULL, 10);
    if (what == TNP_IO_READ && shard < SHARDS)
        r->read[shard] = true;
    return 0;
}

static tn_status read_own(tn_ctx *ctx, size_t rank, void *arg)
{
    tn_status st = TN_OK;
    reading *r = arg;
    tn_features *features = NULL;
    tn_feed *feed = NULL;
    tnp_design *design = NULL;
    tnp_moments *moments = NULL;
    size_t n = rows_in(r->folder), *first = NULL;
    uint32_t *cls = NULL;
    char path[600];
    (void)rank;
    snprintf(path, sizeof path, "%s/%s", test_folder, r->folder->name);
    TN_TRY(tn_features_open(ctx, path, &features));
    TN_TRY(tn_feed_new(ctx, features, NULL, n, TN_NORM_NONE, TN_NAN_ERROR, NULL, &feed));
    TN_TRY(tnp_alloc(ctx, n + 1, sizeof *first, &first));
    TN_TRY(tnp_alloc(ctx, n, sizeof *cls, &cls));
    for (size_t i = 0; i < n; ++i) {
        first[i + 1] = i + 1;
        cls[i] = (uint32_t)(i % 2);
    }
    const tnp_targets y = {.rows = n, .classes = 2, .first = first, .cls = cls};
    tnp_watch_io(ctx, note_read, r);
    if (r->moments) {
        TN_TRY(tnp_gather_moments_wide(ctx, (const tn_feed *const *)&feed, 1, &y, (const double[COLS]){0}, &moments));
        for (size_t i = 0; i < COLS; ++i)
            for (size_t j = i; j < COLS; ++j)
                r->found[i * COLS + j] = moments->gram[i * COLS + j];
        memcpy(r->found + COLS * COLS, moments->sum, COLS * sizeof *r->found);
    } else {
        TN_TRY(tnp_design_new(ctx, (const tn_feed *const *)&feed, 1, 0, &design));
        tnp_rows rows = tnp_design_rows(design);
        TN_TRY(rows.ops->gram(ctx, rows.self, &(tnp_gram){NULL, NULL, false, false}, r->found));
    }
done:
    tnp_watch_io(ctx, NULL, NULL);
    tn_moments_free(moments);
    tnp_design_free(design);
    tn_feed_free(feed);
    tn_features_close(features);
    tnp_free_all(first, cls);
    return st;
}

/* Sums of squares by loops over the whole numbers that the files hold: exact. */
static void check_squares(const reading *r)
{
    for (size_t a = 0; a < COLS; ++a)
        for (size_t b = a; b < COLS; ++b) {
            double want = 0;
            for (size_t i = 0; i < rows_in(r->folder); ++i)
                want += (double)((1 + (7 * i + a) % 11) * (1 + (7 * i + b) % 11));
            assert_true(r->found[a * COLS + b] == want);
        }
}

/* Shards of whole blocks are read by the one member that they are a part of. */
static void members_read_no_shard_of_others(void **state)
{
    (void)state;
    write_folder(&many);
    write_folder(&halves);
    assert_true(512 % tnp_moments_block(COLS, true) == 0 || tnp_moments_block(COLS, true) % 512 == 0);
    for (int kind = 0; kind < 4; ++kind)
        for (size_t size = 2; size <= (kind < 2 ? 4u : 2u); ++size) {
            const folder *f = kind < 2 ? &many : &halves;
            reading members[TEAM_MOST];
            for (size_t r = 0; r < size; ++r)
                members[r] = (reading){.folder = f, .moments = kind % 2 == 1};
            team_do(size, read_own, members, sizeof *members);
            for (size_t s = 0; s < count_of(f); ++s) {
                size_t readers = 0;
                for (size_t r = 0; r < size; ++r)
                    readers += members[r].read[s];
                assert_int_equal(readers, 1);
            }
            for (size_t r = 0; r < size; ++r)
                check_squares(&members[r]);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_have_as_many_bytes_each),
        cmocka_unit_test(shards_are_taken_whole),
        cmocka_unit_test(rows_in_another_order_are_shared_too),
        cmocka_unit_test(members_read_no_shard_of_others),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
