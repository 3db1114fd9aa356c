/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rows through explicit maps, one loop for everybody: for every row of X the mapped row is written to the same place,
 * which stays in the cache. What a row is made of:
 *
 *   zeros   memset of the 7 values an entry: what writing alone costs
 *   chi2    tenon, from the row as it is: L1 norm, scale, look-up
 *   learned tenon, the map of a kernel file
 *   vlfeat  vl_homogeneouskernelmap_evaluate_f of every entry, chi2, order 3, rectangular window; the row has unit L1 norm already
 *
 * It is made of the program's own objects and sees their headers. With several threads each has a part of the rows.
 *
 * Usage: kernel_map X KERNEL RUNS THREADS      files as the program reads them
 * Prints one JSON object: best seconds of RUNS over all rows and values written, a member each, and "difference": the
 * largest between chi2 and vlfeat, relative to the largest value, of entries above VLFEAT_LEAST; VLFeat maps smaller
 * ones to 0. */
#include "tenon/store.h"
#include "transform/map.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vl/homkermap.h>

enum { ZEROS, CHI2, LEARNED, VLFEAT, KINDS, MOST_THREADS = 64 };

static const float VLFEAT_LEAST = 1.0F / (1 << 18);
static const char *const names[KINDS] = {"zeros", "chi2", "learned", "vlfeat"};

typedef struct map_bench {
    tn_ctx *ctx;
    const tnp_simd *kernels;
    tn_map *maps[KINDS]; /* of tenon; zeros and vlfeat have none */
    VlHomogeneousKernelMap *vlfeat;
    size_t rows, cols, width[KINDS];
    float *x, *unit; /* (rows, cols): as they are, and of unit L1 norm */
} map_bench;

typedef struct part {
    const map_bench *bench;
    int kind;
    size_t first, end;
    float *row, *out; /* cols; cols * width */
    pthread_t thread;
} part;

static void map_row(const part *p, size_t i)
{
    const map_bench *b = p->bench;
    size_t width = b->width[p->kind];
    const float *x = (p->kind == VLFEAT ? b->unit : b->x) + i * b->cols;
    if (p->kind == ZEROS) {
        memset(p->out, 0, b->cols * width * sizeof *p->out);
    } else if (p->kind == VLFEAT) {
        for (size_t j = 0; j < b->cols; ++j)
            vl_homogeneouskernelmap_evaluate_f(b->vlfeat, p->out + j * width, 1, x[j]);
    } else {
        memcpy(p->row, x, b->cols * sizeof *x);
        tnp_map_row(b->kernels, b->maps[p->kind], p->row, b->cols, p->out);
    }
}

static void *map_rows(void *arg)
{
    const part *p = arg;
    for (size_t i = p->first; i < p->end; ++i)
        map_row(p, i);
    return NULL;
}

/* ---- what is mapped ---- */

static tn_status read_rows(map_bench *b, const char *path)
{
    tn_status st = TN_OK;
    tn_features *features = NULL;
    tn_feed *feed[2] = {NULL, NULL};
    TN_TRY(tn_features_open(b->ctx, path, &features));
    b->rows = tn_features_rows(features);
    b->cols = tn_features_cols(features);
    TN_TRY(tnp_alloc(b->ctx, b->rows * b->cols, sizeof *b->x, &b->x));
    TN_TRY(tnp_alloc(b->ctx, b->rows * b->cols, sizeof *b->unit, &b->unit));
    TN_TRY(tn_feed_new(b->ctx, features, NULL, b->rows, TN_NORM_NONE, TN_NAN_ERROR, NULL, &feed[0]));
    TN_TRY(tn_feed_new(b->ctx, features, NULL, b->rows, TN_NORM_L1, TN_NAN_ERROR, NULL, &feed[1]));
    TN_TRY(tn_feed_read(b->ctx, feed[0], 0, b->rows, b->x, b->cols));
    TN_TRY(tn_feed_read(b->ctx, feed[1], 0, b->rows, b->unit, b->cols));
done:
    tn_feed_free(feed[0]);
    tn_feed_free(feed[1]);
    tn_features_close(features);
    return st;
}

static tn_status make_maps(map_bench *b, const char *kernel)
{
    tn_status st = TN_OK;
    TN_TRY(tn_map_new_named(b->ctx, "chi2", TN_SIGNED_ODD, &b->maps[CHI2]));
    TN_TRY(tn_map_load(b->ctx, kernel, &b->maps[LEARNED]));
    TN_TRY(tnp_map_ready(b->ctx, b->maps[CHI2]));
    TN_TRY(tnp_map_ready(b->ctx, b->maps[LEARNED]));
    b->vlfeat = vl_homogeneouskernelmap_new(VlHomogeneousKernelChi2, 1.0, TNP_PHI_ORDER, -1,
                                            VlHomogeneousKernelMapWindowRectangular);
    for (int kind = 0; kind < KINDS; ++kind)
        b->width[kind] = b->maps[kind] ? tn_map_width(b->maps[kind]) : TNP_PHI_HOMOGENEOUS;
done:
    return st;
}

/* ---- the clock ---- */

static void free_parts(part *parts, size_t count)
{
    for (size_t t = 0; t < count; ++t) {
        tnp_free(parts[t].row);
        tnp_free(parts[t].out);
    }
}

static void start_and_wait(part *parts, size_t count)
{
    for (size_t t = 1; t < count; ++t)
        if (pthread_create(&parts[t].thread, NULL, map_rows, &parts[t]) != 0) {
            fprintf(stderr, "kernel_map: a thread did not start\n");
            exit(1);
        }
    map_rows(&parts[0]);
    for (size_t t = 1; t < count; ++t)
        pthread_join(parts[t].thread, NULL);
}

static tn_status time_kind(map_bench *b, int kind, unsigned long runs, size_t threads)
{
    tn_status st = TN_OK;
    part parts[MOST_THREADS] = {{0}};
    double best = INFINITY;
    for (size_t t = 0; t < threads; ++t) {
        parts[t] = (part){.bench = b, .kind = kind, .first = b->rows * t / threads, .end = b->rows * (t + 1) / threads};
        TN_TRY(tnp_alloc(b->ctx, b->cols, sizeof *parts[t].row, &parts[t].row));
        TN_TRY(tnp_alloc(b->ctx, b->cols * b->width[kind], sizeof *parts[t].out, &parts[t].out));
    }
    for (unsigned long i = 0; i < runs; ++i) {
        double begin = tnp_seconds();
        start_and_wait(parts, threads);
        best = fmin(best, tnp_seconds() - begin);
    }
    printf("\"%s\": {\"seconds\": %.9f, \"values\": %zu}, ", names[kind], best, b->rows * b->cols * b->width[kind]);
done:
    free_parts(parts, threads);
    return st;
}

/* Of a few rows. */
static tn_status compare(map_bench *b, double *out)
{
    tn_status st = TN_OK;
    size_t count = b->cols * TNP_PHI_HOMOGENEOUS;
    part parts[2] = {{.bench = b, .kind = CHI2}, {.bench = b, .kind = VLFEAT}};
    double most = 0, largest = 0;
    for (size_t t = 0; t < 2; ++t) {
        TN_TRY(tnp_alloc(b->ctx, b->cols, sizeof *parts[t].row, &parts[t].row));
        TN_TRY(tnp_alloc(b->ctx, count, sizeof *parts[t].out, &parts[t].out));
    }
    for (size_t i = 0; i < tnp_min(b->rows, 16); ++i) {
        map_row(&parts[0], i);
        map_row(&parts[1], i);
        for (size_t j = 0; j < count; ++j) {
            if (b->unit[i * b->cols + j / TNP_PHI_HOMOGENEOUS] < VLFEAT_LEAST)
                continue;
            most = fmax(most, fabs((double)parts[0].out[j] - (double)parts[1].out[j]));
            largest = fmax(largest, fabs((double)parts[1].out[j]));
        }
    }
    *out = largest > 0 ? most / largest : 0;
done:
    free_parts(parts, 2);
    return st;
}

int main(int argc, char **argv)
{
    tn_status st = TN_OK;
    map_bench b = {.kernels = tnp_simd_get()};
    double difference = 0;
    unsigned long runs = argc == 5 ? strtoul(argv[3], NULL, 10) : 0,
                  threads = argc == 5 ? strtoul(argv[4], NULL, 10) : 0;
    if (runs < 1 || threads < 1 || threads > MOST_THREADS) {
        fprintf(stderr, "usage: kernel_map X KERNEL RUNS THREADS\n");
        return 2;
    }
    TN_TRY(tn_ctx_new(&b.ctx));
    TN_TRY(read_rows(&b, argv[1]));
    TN_TRY(make_maps(&b, argv[2]));
    TN_TRY(compare(&b, &difference));
    printf("{");
    for (int kind = 0; kind < KINDS; ++kind)
        TN_TRY(time_kind(&b, kind, runs, threads));
    printf("\"difference\": %.3e}\n", difference);
done:
    if (st != TN_OK)
        fprintf(stderr, "kernel_map: %s\n", b.ctx ? tn_ctx_message(b.ctx) : "no memory");
    if (b.vlfeat)
        vl_homogeneouskernelmap_delete(b.vlfeat);
    for (int kind = 0; kind < KINDS; ++kind)
        tn_map_free(b.maps[kind]);
    tnp_free(b.unit);
    tnp_free(b.x);
    tn_ctx_free(b.ctx);
    return st == TN_OK ? 0 : 1;
}
