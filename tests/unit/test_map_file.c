/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Kernel files: every number comes back, the bytes are where docs/formats.md says, and damaged files are refused with
 * what is wrong. */
#include "fixtures/tensors.h"
#include "ref_dense.h"
#include "ref_random.h"
#include "tenon/store.h"

enum { M = TN_BASIS_SIZE };

/* Numbers that need all their digits. */
typedef struct origin {
    double weight[M * 4], values[M], rates[M], vectors[M * M], histogram[TN_MAP_BINS];
} origin;

static tn_map_spec spec_of(origin *o, uint64_t seed)
{
    ref_rng rng = ref_rng_of(seed);
    double sum = 0, total = 0;
    for (size_t i = 0; i < M * 4; ++i)
        o->weight[i] = ref_normal(&rng);
    for (size_t i = 0; i < M; ++i)
        o->values[i] = exp(-(double)i / 3) * (1 + 0.1 * ref_unit(&rng));
    for (size_t i = 0; i < M; ++i)
        total += o->values[i] * o->values[i];
    for (size_t i = 0; i < M; ++i)
        o->rates[i] = (sum += o->values[i] * o->values[i]) / total;
    for (size_t i = 0; i < M * M; ++i)
        o->vectors[i] = ref_normal(&rng);
    for (size_t i = 0; i < TN_MAP_BINS; ++i)
        o->histogram[i] = (double)ref_below(&rng, 1000000);
    return (tn_map_spec){.basis = seed % 2 ? TN_BASIS_FOURIER : TN_BASIS_SCALED_FOURIER,
                         .sign = seed % 3 ? TN_SIGNED_SPLIT : TN_SIGNED_ODD,
                         .rank = 1 + seed % 4,
                         .scale = 200 / 3.0,
                         .weight = o->weight,
                         .power = 1 / 3.0,
                         .tasks = 51,
                         .rows = 6049,
                         .rates = o->rates,
                         .singular_values = o->values,
                         .vectors = o->vectors,
                         .histogram = o->histogram};
}

static tn_map *map_of(const tn_map_spec *spec)
{
    tn_map *map = NULL;
    assert_fine(test_ctx, tn_map_new_learned(test_ctx, spec, &map));
    return map;
}

static void assert_same(const double *got, const double *want, size_t count)
{
    assert_int_equal(got != NULL, want != NULL);
    if (want)
        assert_memory_equal(got, want, count * sizeof *got);
}

static void saved_and_loaded(void **state)
{
    (void)state;
    origin *o = ref_alloc(1, sizeof *o);
    for (uint64_t seed = 0; seed < 12; ++seed) {
        tn_map_spec spec = spec_of(o, seed);
        if (seed % 4 == 3)
            spec.vectors = spec.singular_values = spec.rates = spec.histogram = NULL;
        tn_map *map = map_of(&spec), *back = NULL;
        const char *path = file_path("k.safetensors");
        assert_fine(test_ctx, tn_map_save(test_ctx, map, "kernel learn", path));
        assert_fine(test_ctx, tn_map_load(test_ctx, path, &back));
        const tn_map_spec *b = tn_map_made_of(back);
        assert_true(b->basis == spec.basis && b->sign == spec.sign && b->rank == spec.rank);
        assert_true(b->scale == spec.scale && b->power == spec.power);
        assert_true(b->tasks == 51 && b->rows == 6049);
        assert_same(b->weight, spec.weight, M * spec.rank);
        assert_same(b->singular_values, spec.singular_values, M);
        assert_same(b->vectors, spec.vectors, M * M);
        assert_same(b->histogram, spec.histogram, TN_MAP_BINS);
        for (size_t i = 0; spec.rates && i < M; ++i)
            assert_near(b->rates[i], spec.rates[i], 1e-14);
        for (double x = -1.1; x < 1.2; x += 0.1)
            assert_true(tn_map_kernel(back, x, 0.7) == tn_map_kernel(map, x, 0.7));
        tn_map_free(map);
        tn_map_free(back);
    }
    free(o);
}

/* The file as another program sees it. */
static void bytes_of_the_file(void **state)
{
    (void)state;
    origin *o = ref_alloc(1, sizeof *o);
    tn_map_spec spec = spec_of(o, 2);
    tn_map *map = map_of(&spec);
    const char *path = file_path("k.safetensors");
    assert_fine(test_ctx, tn_map_save(test_ctx, map, "kernel learn -o k", path));
    size_t size = 0, shape[2], range[2], header = 0;
    char type[8];
    unsigned char *data = read_whole(path, &size);
    for (int i = 7; i >= 0; --i)
        header = header * 256 + data[i];
    char *text = (char *)data + 8;
    const double *const wanted[] = {o->weight, o->values, o->vectors, o->histogram};
    static const char *const names[] = {"weight", "singular_values", "vectors", "histogram"};
    const size_t rows[] = {M, M, M, TN_MAP_BINS}, cols[] = {3, 0, M, 0};
    for (size_t i = 0; i < 4; ++i) {
        assert_true(tensor_entry(text, names[i], type, shape, range));
        assert_string_equal(type, "F64");
        assert_true(shape[0] == rows[i] && shape[1] == cols[i]);
        assert_memory_equal(data + 8 + header + range[0], wanted[i], range[1] - range[0]);
    }
    static const char *const meta[] = {
        "\"format\":\"tenon-kernel\"", "\"version\":\"1\"",  "\"basis\":\"scaled-fourier\"",
        "\"signed\":\"split\"",        "\"tasks\":\"51\"",   "\"rows\":\"6049\"",
        "\"scale\":\"66.666666666666", "kernel learn -o k\""};
    for (size_t i = 0; i < sizeof meta / sizeof *meta; ++i)
        assert_non_null(strstr(text, meta[i]));
    free(data);
    tn_map_free(map);
    free(o);
}

/* ---- damaged files, one change each ---- */

static const entry metas[] = {
    {"format", "\"tenon-kernel\""}, {"version", "\"1\""}, {"basis", "\"fourier\""}, {"signed", "\"odd\""},
    {"scale", "\"2.5\""},           {"power", "\"0.5\""}, {"tasks", "\"3\""},       {"rows", "\"10\""},
    {"created_by", "\"hand\""}};
static const entry tensors[] = {
    {"weight", "{\"dtype\":\"F64\",\"shape\":[39,2],\"data_offsets\":[0,624]}"},
    {"singular_values", "{\"dtype\":\"F64\",\"shape\":[39],\"data_offsets\":[624,936]}"},
    {"histogram", "{\"dtype\":\"F64\",\"shape\":[256],\"data_offsets\":[936,2984]}"},
};
enum { VALUES = 78 + 39 + 256 };

static void refuse(const entry *change, const double *values, tn_status status, const char *part)
{
    bytes file = {.n = 0};
    tn_map *map = NULL;
    put_container(&file, metas, sizeof metas / sizeof *metas, tensors, 3, change, values, VALUES * sizeof *values);
    const char *path = write_file("bad.safetensors", file.data, file.n);
    tn_status st = tn_map_load(test_ctx, path, &map);
    if (st != status || (st != TN_OK && !strstr(tn_ctx_message(test_ctx), part)))
        print_error("%s = %s: got %s (%s)\n", change ? change->key : "values", change ? change->text : "",
                    tn_status_name(st), tn_ctx_message(test_ctx));
    assert_int_equal(st, status);
    assert_true(st == TN_OK ||
                (strstr(tn_ctx_message(test_ctx), part) && strstr(tn_ctx_message(test_ctx), "bad.safe")));
    assert_int_equal(map != NULL, st == TN_OK);
    tn_map_free(map);
}

static const struct {
    entry change;
    tn_status status;
    const char *part;
} cases[] = {
    {{"format", "\"tenon-pq\""}, TN_ERR_FORMAT, "expected tenon-kernel"},
    {{"version", "\"2\""}, TN_ERR_UNSUPPORTED, "version 2"},
    {{"basis", "\"wavelet\""}, TN_ERR_FORMAT, "basis is 'wavelet', expected scaled-fourier|fourier"},
    {{"basis", NULL}, TN_ERR_FORMAT, "basis is 'missing'"},
    {{"signed", "\"even\""}, TN_ERR_FORMAT, "signed is 'even', expected odd|split"},
    {{"scale", "\"0\""}, TN_ERR_FORMAT, "scale is '0', expected a number above 0"},
    {{"scale", "\"inf\""}, TN_ERR_FORMAT, "scale"},
    {{"scale", NULL}, TN_ERR_FORMAT, "scale"},
    {{"power", "\"1.5\""}, TN_ERR_FORMAT, "power is '1.5', expected a number from 0 to 1"},
    {{"power", "\"nan\""}, TN_ERR_FORMAT, "power"},
    {{"tasks", "\"-1\""}, TN_ERR_FORMAT, "tasks"},
    {{"rows", "\"1e3\""}, TN_ERR_FORMAT, "rows"},
    {{"weight", NULL}, TN_ERR_FORMAT, "weight"},
    {{"weight", "{\"dtype\":\"F64\",\"shape\":[78],\"data_offsets\":[0,624]}"}, TN_ERR_FORMAT, "'weight' is no matrix"},
    {{"weight", "{\"dtype\":\"F64\",\"shape\":[2,39],\"data_offsets\":[0,624]}"}, TN_ERR_FORMAT, "39 rows"},
    {{"weight", "{\"dtype\":\"F32\",\"shape\":[39,4],\"data_offsets\":[0,624]}"},
     TN_ERR_FORMAT,
     "float32 (39, 4), expected float64 (39, 4)"},
    {{"weight", "{\"dtype\":\"F64\",\"shape\":[39,0],\"data_offsets\":[0,0]}"}, TN_ERR_FORMAT, "behind a hole from 0"},
    {{"singular_values", "{\"dtype\":\"F64\",\"shape\":[3,13],\"data_offsets\":[624,936]}"},
     TN_ERR_FORMAT,
     "float64 (3, 13), expected float64 (39,)"},
    {{"histogram", "{\"dtype\":\"F64\",\"shape\":[16,16],\"data_offsets\":[936,2984]}"},
     TN_ERR_FORMAT,
     "expected float64 (256,)"},
    {{"histogram", "{\"dtype\":\"F64\",\"shape\":[256],\"data_offsets\":[944,2992]}"}, TN_ERR_FORMAT, "byte"},
    {{"histogram", NULL}, TN_OK, ""},
    {{"singular_values", NULL}, TN_OK, ""},
};

static void damaged_files(void **state)
{
    (void)state;
    double values[VALUES] = {0};
    for (size_t i = 0; i < 78; ++i)
        values[i] = 0.01 * (double)i;
    for (size_t i = 0; i < 39; ++i)
        values[78 + i] = 39 - (double)i;
    refuse(NULL, values, TN_OK, "");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
        refuse(&cases[i].change, values, cases[i].status, cases[i].part);
    const struct {
        size_t place;
        double value;
        const char *part;
    } numbers[] = {{5, NAN, "value 5 of 'weight'"},
                   {77, INFINITY, "value 77 of 'weight'"},
                   {80, 40, "not descending"},
                   {116, -1, "not descending"},
                   {117 + 9, -2, "'histogram' counts -2 in bin 9"}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) {
        double keep = values[numbers[i].place];
        values[numbers[i].place] = numbers[i].value;
        refuse(NULL, values, TN_ERR_FORMAT, numbers[i].part);
        values[numbers[i].place] = keep;
    }
}

static void what_cannot_be_saved_or_found(void **state)
{
    (void)state;
    origin *o = ref_alloc(1, sizeof *o);
    tn_map_spec spec = spec_of(o, 1);
    tn_map *map = map_of(&spec), *named = NULL, *none = NULL;
    assert_fine(test_ctx, tn_map_new_named(test_ctx, "chi2", TN_SIGNED_ODD, &named));
    assert_fails(test_ctx, TN_ERR_ARG, "chi2", tn_map_save(test_ctx, named, NULL, file_path("n.safetensors")));
    assert_fails(test_ctx, TN_ERR_OUTPUT, "none/", tn_map_save(test_ctx, map, NULL, file_path("none/n.safetensors")));
    assert_fails(test_ctx, TN_ERR_IO, "missing", tn_map_load(test_ctx, file_path("missing.safetensors"), &none));
    assert_null(none);
    tn_map_free(map);
    tn_map_free(named);
    free(o);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    origin *o = ref_alloc(1, sizeof *o);
    tn_map_spec spec = spec_of(o, 1);
    tn_map *map = map_of(&spec);
    size_t blocks = tnp_live_blocks(test_ctx), k = 1;
    for (;; ++k) {
        tn_map *back = NULL;
        const char *path = file_path("m.safetensors");
        tnp_fail_allocation(test_ctx, k);
        tn_status st = tn_map_save(test_ctx, map, "test", path);
        if (st == TN_OK)
            st = tn_map_load(test_ctx, path, &back);
        tnp_fail_allocation(test_ctx, 0);
        assert_int_equal(back != NULL, st == TN_OK);
        tn_map_free(back);
        assert_int_equal(tnp_live_blocks(test_ctx), blocks);
        if (st == TN_OK)
            break;
        assert_int_equal(st, TN_ERR_MEMORY);
    }
    assert_true(k > 10);
    tn_map_free(map);
    free(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(saved_and_loaded),
        cmocka_unit_test(bytes_of_the_file),
        cmocka_unit_test(damaged_files),
        cmocka_unit_test(what_cannot_be_saved_or_found),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
