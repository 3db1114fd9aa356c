/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Head files: what is saved is loaded, and is laid out as promised to other programs; a file that is damaged in any one
 * place is an error with a message, never a head; a full disk leaves nothing behind. */
#include "fixtures/tensors.h"
#include "learn/head/head.h"
#include "tenon/store.h"

#include <signal.h>
#include <sys/resource.h>

enum { K = 3, DA = 4, DB = 2, D = DA + DB };

/* Names that JSON must escape, weights of every magnitude, one null class. */
static tn_head *full_head(bool ridge, bool zscore)
{
    const char *const names[K] = {"plain", "quo\"te\\ \n\t", "\xc3\xa9t\xc3\xa9"};
    tn_head *h = NULL;
    assert_fine(test_ctx, tnp_head_new(test_ctx, TN_TASK_MULTILABEL, names, K, D, 2, "evidence", &h));
    if (ridge)
        assert_fine(test_ctx, tnp_head_add_ridge(test_ctx, h));
    if (zscore)
        assert_fine(test_ctx, tnp_head_add_zscore(test_ctx, h));
    assert_fine(test_ctx, tnp_strdup(test_ctx, "dino", &h->reps[0].name));
    assert_fine(test_ctx, tnp_strdup(test_ctx, "we\"ird", &h->reps[1].name));
    assert_fine(test_ctx, tnp_strdup(test_ctx, "{\"seed\":\"7\",\"select\":\"greedy\"}", &h->options));
    h->reps[0].dim = DA;
    h->reps[0].normalize = TN_NORM_ROOT;
    h->reps[1].dim = DB;
    h->reps[1].normalize = zscore ? TN_NORM_ZSCORE : TN_NORM_NONE;
    for (size_t i = 0; i < K * D; ++i)
        h->weight[i] = (i % 2 ? -1.0f : 1.0f) * powf(10, (float)i - 9) / 3;
    for (size_t k = 0; k < K; ++k) {
        h->bias[k] = (float)k / 7;
        if (ridge) {
            h->lambda[k] = k == 1 ? INFINITY : 1.0 / 3 + (double)k;
            h->alpha[k] = k == 1 ? INFINITY : 1e-300;
            h->beta[k] = 1e300 / 7;
        }
    }
    for (size_t j = DA; zscore && j < D; ++j) {
        h->means[j] = 1.0 / 3;
        h->scales[j] = 1e5 / 7;
    }
    h->log_evidence = -12345.678901234567;
    h->threshold = 0.25;
    return h;
}

static void assert_same_head(const tn_head *a, const tn_head *b)
{
    assert_int_equal(a->task, b->task);
    assert_int_equal(a->classes, b->classes);
    assert_int_equal(a->dim, b->dim);
    assert_int_equal(a->rep_count, b->rep_count);
    for (size_t k = 0; k < a->classes; ++k)
        assert_string_equal(a->names[k], b->names[k]);
    for (size_t r = 0; r < a->rep_count; ++r) {
        assert_string_equal(a->reps[r].name, b->reps[r].name);
        assert_int_equal(a->reps[r].dim, b->reps[r].dim);
        assert_int_equal(a->reps[r].normalize, b->reps[r].normalize);
    }
    assert_memory_equal(a->weight, b->weight, a->classes * a->dim * sizeof(float));
    assert_memory_equal(a->bias, b->bias, a->classes * sizeof(float));
    assert_int_equal(a->lambda == NULL, b->lambda == NULL);
    if (a->lambda) {
        assert_memory_equal(a->lambda, b->lambda, a->classes * sizeof(double));
        assert_memory_equal(a->alpha, b->alpha, a->classes * sizeof(double));
        assert_memory_equal(a->beta, b->beta, a->classes * sizeof(double));
    }
    assert_int_equal(a->means == NULL, b->means == NULL);
    if (a->means) {
        assert_memory_equal(a->means, b->means, a->dim * sizeof(double));
        assert_memory_equal(a->scales, b->scales, a->dim * sizeof(double));
    }
    assert_string_equal(a->method, b->method);
    assert_string_equal(a->options, b->options);
    assert_true(a->log_evidence == b->log_evidence || (isnan(a->log_evidence) && isnan(b->log_evidence)));
    assert_true(a->threshold == b->threshold);
}

static void what_is_saved_is_loaded(void **state)
{
    (void)state;
    for (int bits = 0; bits < 4; ++bits) {
        tn_head *h = full_head(bits & 1, bits & 2), *back = NULL;
        const char *path = file_path("head.safetensors");
        if (bits == 0)
            h->log_evidence = NAN;
        assert_fine(test_ctx, tn_head_save(test_ctx, h, "tenon fit \"a b\"", path));
        assert_fine(test_ctx, tn_head_load(test_ctx, path, &back));
        assert_same_head(h, back);
        assert_non_null(strstr(tn_head_created_by(back), tn_version()));
        assert_non_null(strstr(tn_head_created_by(back), ": tenon fit \"a b\""));
        tn_head_free(back);
        assert_fine(test_ctx, tn_head_save(test_ctx, h, NULL, path)); /* over the old one */
        assert_fine(test_ctx, tn_head_load(test_ctx, path, &back));
        assert_null(strchr(tn_head_created_by(back), ':'));
        assert_int_equal(count_files(test_folder), 1);
        tn_head_free(back);
        tn_head_free(h);
        unlink(path);
    }
}

static void check_tensor(const char *header, const unsigned char *values, const char *name, const char *type,
                         size_t rows, size_t cols, const void *want, size_t *next)
{
    char got[8];
    size_t shape[2], range[2], bytes_each = strcmp(type, "F64") == 0 ? 8 : 4;
    assert_true(tensor_entry(header, name, got, shape, range));
    assert_string_equal(got, type);
    assert_int_equal(shape[0], rows);
    assert_int_equal(shape[1], cols);
    assert_int_equal(range[0], *next); /* one after the other, no holes, as the format demands */
    assert_int_equal(range[1] - range[0], rows * (cols ? cols : 1) * bytes_each);
    assert_int_equal(range[0] % bytes_each, 0);
    assert_memory_equal(values + range[0], want, range[1] - range[0]);
    *next = range[1];
}

/* The bytes, read with nothing of the library's. */
static void the_layout_is_that_of_the_format(void **state)
{
    (void)state;
    static const char *const metadata[] = {
        "\"format\":\"tenon-head\"",
        "\"version\":\"1\"",
        "\"task\":\"multilabel\"",
        "\"classes\":\"[\\\"plain\\\",\\\"quo\\\\\\\"te\\\\\\\\ ", /* what follows JSON may write in two ways */
        ",\\\"\xc3\xa9t\xc3\xa9\\\"]\"",
        "\\\"name\\\":\\\"dino\\\",\\\"dim\\\":4,\\\"normalize\\\":\\\"root\\\",\\\"transform\\\":\\\"none\\\"",
        "\"method\":\"evidence\"",
        "\"options\":\"{\\\"seed\\\":\\\"7\\\",\\\"select\\\":\\\"greedy\\\"}\"",
        "\"log_evidence\":\"-12345.67890123456",
        "\"created_by\":\"tenon ",
    };
    tn_head *h = full_head(true, true);
    const char *path = file_path("head.safetensors");
    size_t size = 0, next = 0, length = 0;
    assert_fine(test_ctx, tn_head_save(test_ctx, h, "tenon fit", path));
    unsigned char *all = read_whole(path, &size);
    for (size_t i = 0; i < 8; ++i)
        length |= (size_t)all[i] << (8 * i);
    assert_true(length % 8 == 0 && 8 + length <= size);
    char *header = malloc(length + 1);
    assert_non_null(header);
    memcpy(header, all + 8, length);
    header[length] = 0;
    assert_int_equal(strlen(header), length);
    assert_int_equal(header[0], '{');
    const unsigned char *values = all + 8 + length;
    check_tensor(header, values, "lambda", "F64", K, 0, h->lambda, &next);
    check_tensor(header, values, "alpha", "F64", K, 0, h->alpha, &next);
    check_tensor(header, values, "beta", "F64", K, 0, h->beta, &next);
    check_tensor(header, values, "zscore_mean", "F64", D, 0, h->means, &next);
    check_tensor(header, values, "zscore_scale", "F64", D, 0, h->scales, &next);
    check_tensor(header, values, "weight", "F32", K, D, h->weight, &next);
    check_tensor(header, values, "bias", "F32", K, 0, h->bias, &next);
    assert_int_equal(8 + length + next, size);
    for (size_t i = 0; i < sizeof metadata / sizeof *metadata; ++i)
        if (!strstr(header, metadata[i])) {
            print_error("no %s in %s\n", metadata[i], header);
            fail();
        }
    free(header);
    free(all);
    tn_head_free(h);
    unlink(path);
}

/* ---- damaged files: a small good one by hand, and one thing changed ---- */

#define REPS(text) "\"[" text "]\""
#define REP(name, dim, normalize) "{\\\"name\\\":" name ",\\\"dim\\\":" dim ",\\\"normalize\\\":" normalize "}"
#define REP_A REP("\\\"a\\\"", "2", "\\\"l2\\\"")
#define THROUGH(transform) REP("\\\"a\\\"", "2", "\\\"l2\\\",\\\"transform\\\":" transform)
#define REP_B REP("\\\"b\\\"", "3", "\\\"zscore\\\"")

static const entry good_meta[] = {
    {"format", "\"tenon-head\""},
    {"version", "\"1\""},
    {"task", "\"multiclass\""},
    {"classes", "\"[\\\"x\\\",\\\"y\\\"]\""},
    {"representations", REPS(REP_A "," REP_B)},
    {"method", "\"evidence\""},
    {"options", "\"{}\""},
    {"log_evidence", "\"-1.5\""},
    {"threshold", "\"0.5\""},
    {"temperature", "\"1\""},
    {"created_by", "\"hand\""},
};
static const entry good_tensors[] = {
    {"lambda", "{\"dtype\":\"F64\",\"shape\":[2],\"data_offsets\":[0,16]}"},
    {"alpha", "{\"dtype\":\"F64\",\"shape\":[2],\"data_offsets\":[16,32]}"},
    {"beta", "{\"dtype\":\"F64\",\"shape\":[2],\"data_offsets\":[32,48]}"},
    {"zscore_mean", "{\"dtype\":\"F64\",\"shape\":[5],\"data_offsets\":[48,88]}"},
    {"zscore_scale", "{\"dtype\":\"F64\",\"shape\":[5],\"data_offsets\":[88,128]}"},
    {"weight", "{\"dtype\":\"F32\",\"shape\":[2,5],\"data_offsets\":[128,168]}"},
    {"bias", "{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[168,176]}"},
};

static void put_head(bytes *b, const entry *change)
{
    unsigned char data[176] = {0};
    b->n = 0;
    put_container(b, good_meta, sizeof good_meta / sizeof *good_meta, good_tensors,
                  sizeof good_tensors / sizeof *good_tensors, change, data, sizeof data);
}

typedef struct damage {
    entry change;
    tn_status status;
} damage;

static const damage damages[] = {
    {{"format", NULL}, TN_ERR_FORMAT},
    {{"format", "\"tenon-kernel\""}, TN_ERR_FORMAT},
    {{"format", "1"}, TN_ERR_FORMAT},
    {{"version", NULL}, TN_ERR_UNSUPPORTED},
    {{"version", "\"3\""}, TN_ERR_UNSUPPORTED},
    {{"version", "1"}, TN_ERR_UNSUPPORTED},
    {{"task", NULL}, TN_ERR_FORMAT},
    {{"task", "\"auto\""}, TN_ERR_FORMAT},
    {{"task", "\"ranking\""}, TN_ERR_FORMAT},
    {{"task", "3"}, TN_ERR_FORMAT},
    {{"classes", NULL}, TN_ERR_FORMAT},
    {{"classes", "\"[]\""}, TN_ERR_FORMAT},
    {{"classes", "\"{}\""}, TN_ERR_FORMAT},
    {{"classes", "\"[\""}, TN_ERR_FORMAT},
    {{"classes", "\"\""}, TN_ERR_FORMAT},
    {{"classes", "\"[1,2]\""}, TN_ERR_FORMAT},
    {{"classes", "\"[\\\"x\\\"]\""}, TN_ERR_FORMAT},
    {{"classes", "\"[\\\"x\\\",\\\"y\\\",\\\"z\\\"]\""}, TN_ERR_FORMAT},
    {{"classes", "[\"x\",\"y\"]"}, TN_ERR_FORMAT},
    {{"representations", NULL}, TN_ERR_FORMAT},
    {{"representations", REPS("")}, TN_ERR_FORMAT},
    {{"representations", REPS("1,2")}, TN_ERR_FORMAT},
    {{"representations", REPS(REP_A)}, TN_ERR_FORMAT},
    {{"representations", REPS(REP_A "," REP_B "," REP_A)}, TN_ERR_FORMAT},
    {{"representations", REPS(REP_B "," REP_B)}, TN_ERR_FORMAT},
    {{"representations", REPS(REP("1", "2", "\\\"l2\\\"") "," REP_B)}, TN_ERR_FORMAT},
    {{"representations", REPS("{\\\"dim\\\":2,\\\"normalize\\\":\\\"l2\\\"}," REP_B)}, TN_ERR_FORMAT},
    {{"representations", REPS("{\\\"name\\\":\\\"a\\\",\\\"dim\\\":2}," REP_B)}, TN_ERR_FORMAT},
    {{"representations", REPS("{\\\"name\\\":\\\"a\\\",\\\"normalize\\\":\\\"l2\\\"}," REP_B)}, TN_ERR_FORMAT},
    {{"representations", REPS(REP("\\\"a\\\"", "0", "\\\"l2\\\"") "," REP_B)}, TN_ERR_FORMAT},
    {{"representations", REPS(REP("\\\"a\\\"", "-2", "\\\"l2\\\"") "," REP_B)}, TN_ERR_FORMAT},
    {{"representations", REPS(REP("\\\"a\\\"", "2.0", "\\\"l2\\\"") "," REP_B)}, TN_ERR_FORMAT},
    {{"representations", REPS(REP("\\\"a\\\"", "\\\"2\\\"", "\\\"l2\\\"") "," REP_B)}, TN_ERR_FORMAT},
    {{"representations", REPS(REP("\\\"a\\\"", "9223372036854775807", "\\\"l2\\\"") "," REP_B)}, TN_ERR_FORMAT},
    {{"representations", REPS(REP("\\\"a\\\"", "1", "\\\"l2\\\"") "," REP_B)}, TN_ERR_FORMAT},
    {{"representations", REPS(REP("\\\"a\\\"", "3", "\\\"l2\\\"") "," REP_B)}, TN_ERR_FORMAT},
    {{"representations", REPS(REP("\\\"a\\\"", "2", "\\\"l3\\\"") "," REP_B)}, TN_ERR_FORMAT},
    {{"representations", REPS(REP("\\\"a\\\"", "2", "\\\"\\\"") "," REP_B)}, TN_ERR_FORMAT},
    {{"representations", REPS(REP("\\\"a\\\"", "2", "\\\"l2,root\\\"") "," REP_B)}, TN_ERR_FORMAT},
    {{"representations", REPS(REP("\\\"a\\\"", "2", "1") "," REP_B)}, TN_ERR_FORMAT},
    {{"representations", REPS(THROUGH("\\\"fisher\\\"") "," REP_B)}, TN_ERR_UNSUPPORTED},
    {{"representations", REPS(THROUGH("\\\"learned\\\"") "," REP_B)}, TN_ERR_UNSUPPORTED},
    {{"representations", REPS(THROUGH("\\\"\\\"") "," REP_B)}, TN_ERR_UNSUPPORTED},
    {{"representations", REPS(THROUGH("5") "," REP_B)}, TN_ERR_FORMAT},
    {{"representations", REPS(THROUGH("null") "," REP_B)}, TN_ERR_FORMAT},
    {{"representations", REPS(THROUGH("\\\"chi2\\\"") "," REP_B)}, TN_ERR_FORMAT}, /* 14 columns, where 2 are */
    {{"representations", REPS(THROUGH("\\\"hellinger\\\",\\\"signed\\\":\\\"split\\\"") "," REP_B)}, TN_ERR_FORMAT},
    {{"representations", REPS(THROUGH("\\\"hellinger\\\",\\\"signed\\\":\\\"both\\\"") "," REP_B)}, TN_ERR_FORMAT},
    {{"representations", REPS(THROUGH("\\\"hellinger\\\",\\\"signed\\\":1") "," REP_B)}, TN_ERR_FORMAT},
    {{"method", NULL}, TN_ERR_FORMAT},
    {{"method", "7"}, TN_ERR_FORMAT},
    {{"options", NULL}, TN_ERR_FORMAT},
    {{"options", "{}"}, TN_ERR_FORMAT},
    {{"options", "\"{\""}, TN_ERR_FORMAT},
    {{"classes", "\"[\\\"x\\\",\\\"x\\\"]\""}, TN_ERR_FORMAT},
    {{"classes", "\"[\\\"x\\\",\\\"\\\"]\""}, TN_ERR_FORMAT},
    {{"representations", REPS(REP("\\\"\\\"", "2", "\\\"l2\\\"") "," REP_B)}, TN_ERR_FORMAT},
    {{"representations", REPS(REP("\\\"b\\\"", "2", "\\\"l2\\\"") "," REP_B)}, TN_ERR_FORMAT},
    {{"log_evidence", "\"inf\""}, TN_ERR_FORMAT},
    {{"threshold", "\"nan\""}, TN_ERR_FORMAT},
    {{"threshold", "\"-inf\""}, TN_ERR_FORMAT},
    {{"temperature", "\"nan\""}, TN_ERR_FORMAT},
    {{"temperature", "\"inf\""}, TN_ERR_FORMAT},
    {{"temperature", "\"-1\""}, TN_ERR_FORMAT},
    {{"lambda", "{\"dtype\":\"I64\",\"shape\":[2],\"data_offsets\":[0,16]}"}, TN_ERR_FORMAT},
    {{"weight", "{\"dtype\":\"I32\",\"shape\":[2,5],\"data_offsets\":[128,168]}"}, TN_ERR_FORMAT},
    {{"bias", "{\"dtype\":\"U32\",\"shape\":[2],\"data_offsets\":[168,176]}"}, TN_ERR_FORMAT},
    {{"log_evidence", "\"high\""}, TN_ERR_FORMAT},
    {{"threshold", "\"\""}, TN_ERR_FORMAT},
    {{"threshold", "\"0.5x\""}, TN_ERR_FORMAT},
    {{"lambda", "{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[0,8]}"}, TN_ERR_FORMAT},
    {{"lambda", "{\"dtype\":\"F64\",\"shape\":[2,1],\"data_offsets\":[0,16]}"}, TN_ERR_FORMAT},
    {{"lambda", "{\"dtype\":\"F64\",\"shape\":[],\"data_offsets\":[0,8]}"}, TN_ERR_FORMAT},
    {{"lambda", "5"}, TN_ERR_FORMAT},
    {{"alpha", NULL}, TN_ERR_FORMAT},
    {{"beta", NULL}, TN_ERR_FORMAT},
    {{"beta", "{\"dtype\":\"F64\",\"shape\":[3],\"data_offsets\":[24,48]}"}, TN_ERR_FORMAT},
    {{"zscore_mean", NULL}, TN_ERR_FORMAT},
    {{"zscore_scale", NULL}, TN_ERR_FORMAT},
    {{"zscore_scale", "{\"dtype\":\"F64\",\"shape\":[4],\"data_offsets\":[88,120]}"}, TN_ERR_FORMAT},
    {{"weight", NULL}, TN_ERR_FORMAT},
    {{"weight", "{\"dtype\":\"F32\",\"shape\":[10],\"data_offsets\":[128,168]}"}, TN_ERR_FORMAT},
    {{"weight", "{\"dtype\":\"F32\",\"shape\":[5,2],\"data_offsets\":[128,168]}"}, TN_ERR_FORMAT},
    {{"weight", "{\"dtype\":\"F32\",\"shape\":[1,5],\"data_offsets\":[128,148]}"}, TN_ERR_FORMAT},
    {{"weight", "{\"dtype\":\"F32\",\"shape\":[2,5,1],\"data_offsets\":[128,168]}"}, TN_ERR_FORMAT},
    {{"weight", "{\"dtype\":\"F32\",\"shape\":[2,0],\"data_offsets\":[128,128]}"}, TN_ERR_FORMAT},
    {{"weight", "{\"dtype\":\"F32\",\"shape\":[0,5],\"data_offsets\":[128,128]}"}, TN_ERR_FORMAT},
    {{"weight", "{\"dtype\":\"F32\",\"shape\":[0,1099511627776],\"data_offsets\":[128,128]}"}, TN_ERR_FORMAT},
    {{"weight", "{\"dtype\":\"F32\",\"shape\":[2,5],\"data_offsets\":[168,128]}"}, TN_ERR_FORMAT},
    {{"weight", "{\"dtype\":\"F32\",\"shape\":[2,5],\"data_offsets\":[140,180]}"}, TN_ERR_FORMAT},
    {{"weight", "{\"dtype\":\"F32\",\"shape\":[2,5],\"data_offsets\":[128,164]}"}, TN_ERR_FORMAT},
    {{"weight", "{\"dtype\":\"F32\",\"shape\":[2,-5],\"data_offsets\":[128,168]}"}, TN_ERR_FORMAT},
    {{"weight", "{\"dtype\":\"F8\",\"shape\":[2,5],\"data_offsets\":[128,168]}"}, TN_ERR_UNSUPPORTED},
    {{"weight", "{\"shape\":[2,5],\"data_offsets\":[128,168]}"}, TN_ERR_FORMAT},
    {{"weight", "[]"}, TN_ERR_FORMAT},
    {{"bias", NULL}, TN_ERR_FORMAT},
    {{"bias", "{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[168,172]}"}, TN_ERR_FORMAT},
    {{"bias", "{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[168,176]}"}, TN_ERR_FORMAT},
};

/* ---- the same with a learned kernel: one column of a in two values, from 39 x 2 weights behind the rest ---- */

#define LEARNED(rest) REPS(REP("\\\"a\\\"", "1", "\\\"l2\\\",\\\"transform\\\":\\\"cnn\\\"" rest) "," REP_B)
#define MAP_WEIGHT(type, shape, end) "{\"dtype\":\"" type "\",\"shape\":" shape ",\"data_offsets\":[176," end "]}"

static void put_learned(bytes *b, const entry *change)
{
    const unsigned char data[176 + TN_BASIS_SIZE * 2 * sizeof(double)] = {0};
    entry meta[sizeof good_meta / sizeof *good_meta], tensors[sizeof good_tensors / sizeof *good_tensors + 1];
    memcpy(meta, good_meta, sizeof good_meta);
    memcpy(tensors, good_tensors, sizeof good_tensors);
    meta[4].text = LEARNED(",\\\"basis\\\":\\\"fourier\\\",\\\"scale\\\":2.5");
    tensors[sizeof good_tensors / sizeof *good_tensors] =
        (entry){"transform.0.weight", MAP_WEIGHT("F64", "[39,2]", "800")};
    b->n = 0;
    put_container(b, meta, sizeof meta / sizeof *meta, tensors, sizeof tensors / sizeof *tensors, change, data,
                  sizeof data);
}

static const damage learned_damages[] = {
    {{"representations", LEARNED("")}, TN_ERR_FORMAT},
    {{"representations", LEARNED(",\\\"scale\\\":\\\"2.5\\\"")}, TN_ERR_FORMAT},
    {{"representations", LEARNED(",\\\"scale\\\":0")}, TN_ERR_FORMAT},
    {{"representations", LEARNED(",\\\"scale\\\":-1")}, TN_ERR_FORMAT},
    {{"representations", LEARNED(",\\\"scale\\\":1e999")}, TN_ERR_FORMAT},
    {{"representations", LEARNED(",\\\"scale\\\":1,\\\"basis\\\":\\\"cosine\\\"")}, TN_ERR_FORMAT},
    {{"representations", LEARNED(",\\\"scale\\\":1,\\\"basis\\\":7")}, TN_ERR_FORMAT},
    {{"representations", LEARNED(",\\\"scale\\\":1,\\\"signed\\\":\\\"split\\\"")}, TN_ERR_FORMAT}, /* 4 columns then */
    {{"transform.0.weight", NULL}, TN_ERR_UNSUPPORTED},
    {{"transform.0.weight", MAP_WEIGHT("F64", "[39,1]", "488")}, TN_ERR_FORMAT},
    {{"transform.0.weight", MAP_WEIGHT("F64", "[78]", "800")}, TN_ERR_FORMAT},
    {{"transform.0.weight", MAP_WEIGHT("F64", "[2,39]", "800")}, TN_ERR_FORMAT},
    {{"transform.0.weight", MAP_WEIGHT("F64", "[39,0]", "176")}, TN_ERR_FORMAT},
    {{"transform.0.weight", MAP_WEIGHT("F64", "[39,40]", "12656")}, TN_ERR_FORMAT},
    {{"transform.0.weight", MAP_WEIGHT("U8", "[39,16]", "800")}, TN_ERR_FORMAT}, /* 16 values, where 2 columns are */
    {{"transform.0.weight", MAP_WEIGHT("F64", "[39,2]", "799")}, TN_ERR_FORMAT},
    {{"transform.0.weight", "[]"}, TN_ERR_FORMAT},
};

/* What is read is what stands there, also without what need not be said. */
static void a_learned_kernel_by_hand(void **state)
{
    (void)state;
    for (int lean = 0; lean < 2; ++lean) {
        const entry change = {"representations", LEARNED(",\\\"scale\\\":3")};
        bytes b;
        tn_head *h = NULL;
        put_learned(&b, lean ? &change : NULL);
        assert_fine(test_ctx, tn_head_load(test_ctx, write_bytes("learned.safetensors", &b), &h));
        tn_rep rep = tn_head_rep(h, 0);
        assert_string_equal(rep.transform, "cnn");
        assert_int_equal(rep.dim, 1);
        assert_int_equal(rep.cols, 2);
        assert_true(tn_map_scale(rep.map) == (lean ? 3 : 2.5));
        assert_int_equal(tn_map_made_of(rep.map)->basis, lean ? TN_BASIS_SCALED_FOURIER : TN_BASIS_FOURIER);
        assert_int_equal(tn_map_made_of(rep.map)->sign, TN_SIGNED_ODD);
        tn_head_free(h);
        memset(b.data + b.n - 8, 0xff, 8); /* the last weight: NaN */
        h = NULL;
        assert_fails(test_ctx, TN_ERR_FORMAT, "transform",
                     tn_head_load(test_ctx, write_bytes("nan.safetensors", &b), &h));
        assert_null(h);
    }
}

/* All of them before failing, so that one fault does not hide the next. A budget stands for the machine's memory. */
static void check_damages(void (*put_one)(bytes *b, const entry *change), const damage *list, size_t count)
{
    bytes b;
    tn_head *h = NULL;
    size_t wrong = 0, blocks = tnp_live_blocks(test_ctx);
    put_one(&b, NULL);
    assert_fine(test_ctx, tn_head_load(test_ctx, write_bytes("good.safetensors", &b), &h));
    tn_head_free(h);
    tn_ctx_set_memory(test_ctx, 64 << 20);
    for (size_t i = 0; i < count; ++i) {
        const damage *d = &list[i];
        h = NULL;
        put_one(&b, &d->change);
        tn_status st = tn_head_load(test_ctx, write_bytes("bad.safetensors", &b), &h);
        if (st != d->status || h || (st != TN_OK && !strstr(tn_ctx_message(test_ctx), "bad.safetensors"))) {
            print_error("%s = %s: got %s (%s), want %s\n", d->change.key, d->change.text ? d->change.text : "left out",
                        tn_status_name(st), st == TN_OK ? "" : tn_ctx_message(test_ctx), tn_status_name(d->status));
            ++wrong;
        }
        tn_head_free(h);
        assert_int_equal(tnp_live_blocks(test_ctx), blocks);
    }
    tn_ctx_set_memory(test_ctx, 0);
    assert_int_equal(wrong, 0);
}

static void one_thing_changed_is_an_error(void **state)
{
    (void)state;
    check_damages(put_head, damages, sizeof damages / sizeof *damages);
    check_damages(put_learned, learned_damages, sizeof learned_damages / sizeof *learned_damages);
}

/* NaN and infinity where a head needs numbers; lambda is infinite for a class without weights. */
static void numbers_that_are_none(void **state)
{
    (void)state;
    static const size_t offsets[] = {8, 16, 40, 80, 88, 164, 168}; /* one in each tensor */
    static const bool infinite[] = {true, true, true, false, false, false, false}, none[] = {false, true, true};
    const double values[] = {NAN, INFINITY, -INFINITY};
    for (size_t p = 0; p < sizeof offsets / sizeof *offsets; ++p)
        for (size_t v = 0; v < 3; ++v) {
            bytes b;
            tn_head *h = NULL;
            const float narrow = (float)values[v];
            bool fine = v == 0 ? p < 3 && none[p] : infinite[p], wide = p < 5;
            put_head(&b, NULL);
            memcpy(b.data + b.n - 176 + offsets[p], wide ? (const void *)&values[v] : &narrow, wide ? 8 : 4);
            tn_status st = tn_head_load(test_ctx, write_bytes("nan.safetensors", &b), &h);
            assert_int_equal(st, fine ? TN_OK : TN_ERR_FORMAT);
            assert_true(fine || strstr(tn_ctx_message(test_ctx), "' is NaN"));
            tn_head_free(h);
        }
}

/* What a file need not say, and what it gets then. */
static void optional_entries(void **state)
{
    (void)state;
    static const entry optional[] = {
        {"log_evidence", NULL}, {"threshold", NULL}, {"created_by", NULL}, {"lambda", NULL}};
    for (size_t i = 0; i < 4; ++i) {
        bytes b;
        tn_head *h = NULL;
        put_head(&b, &optional[i]);
        assert_fine(test_ctx, tn_head_load(test_ctx, write_bytes("lean.safetensors", &b), &h));
        assert_int_equal(isnan(tn_head_log_evidence(h)) != 0, i == 0);
        assert_true(tn_head_threshold(h) == 0.5);
        assert_string_equal(tn_head_created_by(h), i == 2 ? "" : "hand");
        assert_int_equal(tn_head_lambda(h) == NULL, i == 3);
        tn_head_free(h);
    }
}

/* Every shorter file is an error; every file with one byte changed is a head or an error, and nothing leaks. From
 * memory, which test_store_bytes.c holds against files: three thousand of these take longer than all else here. */
static void cut_and_flipped_heads(void **state)
{
    (void)state;
    bytes b;
    size_t blocks = tnp_live_blocks(test_ctx), loaded = 0;
    put_head(&b, NULL);
    const size_t size = b.n;
    for (size_t n = 0; n < size; ++n) {
        tn_head *h = NULL;
        assert_fails(test_ctx, TN_ERR_FORMAT, "cut: ", tn_head_from_bytes(test_ctx, b.data, n, "cut", &h));
        assert_null(h);
    }
    tn_ctx_set_memory(test_ctx, 64 << 20);
    for (size_t n = 0; n < size; ++n)
        for (int flip = 0; flip < 3; ++flip) {
            static const unsigned char masks[3] = {0x01, 0x20, 0x80};
            tn_head *h = NULL;
            b.data[n] ^= masks[flip];
            loaded += tn_head_from_bytes(test_ctx, b.data, size, NULL, &h) == TN_OK;
            b.data[n] ^= masks[flip];
            tn_head_free(h);
            assert_int_equal(tnp_live_blocks(test_ctx), blocks);
        }
    tn_ctx_set_memory(test_ctx, 0);
    assert_true(loaded > 0 && loaded < 3 * size);
}

static void missing_files_and_folders(void **state)
{
    (void)state;
    tn_head *h = NULL, *full = full_head(true, false);
    assert_fails(test_ctx, TN_ERR_IO, "none.safetensors", tn_head_load(test_ctx, file_path("none.safetensors"), &h));
    assert_fails(test_ctx, TN_ERR_IO, "", tn_head_load(test_ctx, test_folder, &h));
    assert_fails(test_ctx, TN_ERR_OUTPUT, "none/x", tn_head_save(test_ctx, full, NULL, file_path("none/x")));
    assert_fails(test_ctx, TN_ERR_OUTPUT, test_folder, tn_head_save(test_ctx, full, NULL, test_folder));
    assert_null(h);
    tn_head_free(full);
}

/* A file-size limit stands for a full disk: the old file stays, no other is left. */
static void a_full_disk_leaves_nothing(void **state)
{
    (void)state;
    const char *const names[1] = {"x"};
    tn_head *big = NULL;
    struct rlimit old, small;
    assert_fine(test_ctx, tnp_head_new(test_ctx, TN_TASK_REGRESSION, names, 1, 40000, 1, "evidence", &big));
    assert_fine(test_ctx, tnp_strdup(test_ctx, "r", &big->reps[0].name));
    big->reps[0].dim = 40000;
    const char *path = write_text("kept.safetensors", "old contents");
    size_t files = count_files(test_folder), size = 0;
    const rlim_t limits[] = {0, 5, 300, 4096, 100000, 160000};
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    for (size_t i = 0; i < sizeof limits / sizeof *limits; ++i) {
        small = old;
        small.rlim_cur = limits[i];
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        tn_status st = tn_head_save(test_ctx, big, NULL, path);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
        assert_int_equal(st, TN_ERR_OUTPUT);
        assert_non_null(strstr(tn_ctx_message(test_ctx), "kept.safetensors: cannot be written"));
        assert_int_equal(count_files(test_folder), files);
    }
    signal(SIGXFSZ, handler);
    unsigned char *left = read_whole(path, &size);
    assert_string_equal((char *)left, "old contents");
    free(left);
    tn_head_free(big);
}

static void a_folder_without_write_permission(void **state)
{
    (void)state;
    tn_head *h = full_head(false, false);
    char folder[600], path[640];
    snprintf(folder, sizeof folder, "%s", file_path("locked"));
    snprintf(path, sizeof path, "%s/head.safetensors", folder);
    assert_int_equal(mkdir(folder, 0555), 0);
    bool may = access(folder, W_OK) == 0; /* the administrator may write anywhere */
    if (!may) {
        assert_fails(test_ctx, TN_ERR_OUTPUT, "head.safetensors", tn_head_save(test_ctx, h, NULL, path));
        assert_int_equal(count_files(folder), 0);
    }
    rmdir(folder);
    tn_head_free(h);
    if (may)
        skip();
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    tn_head *h = full_head(true, true);
    size_t blocks = tnp_live_blocks(test_ctx), k = 1, files = count_files(test_folder);
    const char *path = file_path("m.safetensors");
    for (;; ++k) {
        tnp_fail_allocation(test_ctx, k);
        tn_status st = tn_head_save(test_ctx, h, "x", path);
        tnp_fail_allocation(test_ctx, 0);
        assert_int_equal(tnp_live_blocks(test_ctx), blocks);
        if (st == TN_OK)
            break;
        assert_int_equal(st, TN_ERR_MEMORY);
        assert_int_equal(count_files(test_folder), files);
    }
    assert_true(k > 5);
    for (k = 1;; ++k) {
        tn_head *back = NULL;
        tnp_fail_allocation(test_ctx, k);
        tn_status st = tn_head_load(test_ctx, path, &back);
        tnp_fail_allocation(test_ctx, 0);
        assert_true((st == TN_OK) == (back != NULL));
        tn_head_free(back);
        assert_int_equal(tnp_live_blocks(test_ctx), blocks);
        if (st == TN_OK)
            break;
        assert_int_equal(st, TN_ERR_MEMORY);
    }
    assert_true(k > 10);
    tn_head_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_saved_is_loaded),
        cmocka_unit_test(the_layout_is_that_of_the_format),
        cmocka_unit_test(one_thing_changed_is_an_error),
        cmocka_unit_test(a_learned_kernel_by_hand),
        cmocka_unit_test(optional_entries),
        cmocka_unit_test(numbers_that_are_none),
        cmocka_unit_test(cut_and_flipped_heads),
        cmocka_unit_test(missing_files_and_folders),
        cmocka_unit_test(a_full_disk_leaves_nothing),
        cmocka_unit_test(a_folder_without_write_permission),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
