/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A ranking of rows that nobody stored: each is made when it is asked for, from its number, so that the size of a run
 * is bounded by labels and sums alone. Value j of row i is noise in [-1, 1] from a hash of (i, j), and 0.1 more where j
 * is of the row's class, i mod K = j mod K. Evidence, seconds, and the largest memory of a rank, as JSON.
 *
 *   usage: [mpirun -n P] generated_rows ROWS COLUMNS CLASSES [THREADS]
 *
 * bench/generated_rows builds and runs it. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <tenon/tenon.h>
#include <time.h>

typedef struct shape {
    size_t rows, cols, classes;
} shape;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A row is a stream of its own, two values a step. */
static void make_row(const shape *s, size_t row, float *out)
{
    uint64_t state = (row + 1) * 0x9e3779b97f4a7c15u;
    for (size_t j = 0; j < s->cols; ++j) {
        if (j % 2 == 0) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
        }
        int32_t half = (int32_t)(j % 2 ? state >> 32 : state);
        out[j] = (float)half * 0x1p-31f;
    }
    for (size_t j = row % s->classes; j < s->cols; j += s->classes)
        out[j] += 0.1f;
}

static tn_status make_rows(void *user, const size_t *index, size_t start, size_t count, void *out, char *message)
{
    const shape *s = user;
    (void)message;
    for (size_t i = 0; i < count; ++i)
        make_row(s, index ? index[start + i] : start + i, (float *)out + i * s->cols);
    return TN_OK;
}

static tn_status make_labels(tn_ctx *ctx, const shape *s, tn_labels **out)
{
    int64_t *numbers = malloc(s->rows * sizeof *numbers);
    for (size_t i = 0; numbers && i < s->rows; ++i)
        numbers[i] = (int64_t)(i % s->classes);
    tn_status st = numbers ? tn_labels_from_numbers(ctx, numbers, s->rows, NULL, s->classes, out) : TN_ERR_MEMORY;
    free(numbers);
    return st;
}

static tn_status rank(tn_ctx *ctx, const shape *s, tn_ranking **out)
{
    tn_features *features = NULL;
    tn_labels *labels = NULL;
    tn_options *options = NULL;
    shape own = *s;
    const tn_producer producer = {.user = &own, .rows = s->rows, .cols = s->cols, .dtype = TN_F32, .read = make_rows};
    tn_status st = tn_features_from_producer(ctx, "generated", &producer, &features);
    if (st == TN_OK)
        st = make_labels(ctx, s, &labels);
    if (st == TN_OK)
        st = tn_options_new(ctx, "rank", &options);
    if (st == TN_OK)
        st = tn_options_set(ctx, options, "normalize", "none");
    if (st == TN_OK)
        st = tn_rank(ctx, (const tn_features *const *)&features, 1, labels, options, out);
    tn_options_free(options);
    tn_labels_free(labels);
    tn_features_close(features);
    return st;
}

int main(int argc, char **argv)
{
    tn_ctx *ctx = NULL;
    tn_ranking *ranking = NULL;
    size_t member = 0, members = 0;
    double begin = now();
    if (argc < 4 || tn_ctx_new(&ctx) != TN_OK)
        return 2;
    const shape s = {strtoull(argv[1], NULL, 10), strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10)};
    tn_ctx_set_threads(ctx, argc > 4 ? strtoull(argv[4], NULL, 10) : 1);
    tn_status st = tn_team_started(&member, &members) ? tn_team_join(ctx) : TN_OK;
    if (st == TN_OK)
        st = rank(ctx, &s, &ranking);
    int code = tn_team_leave(ctx, (int)st, tn_ctx_message(ctx));
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    if (code != 0)
        fprintf(stderr, "generated_rows: %s\n", tn_ctx_message(ctx));
    else if (tn_team_rank(ctx) == 0)
        printf("{\"rows\":%zu,\"columns\":%zu,\"classes\":%zu,\"ranks\":%zu,\"threads\":%zu,\"seconds\":%.2f,"
               "\"processor\":%.2f,"
               "\"memory_mb\":%.0f,\"log_evidence\":%.17g,\"loo_accuracy\":%.17g}\n",
               s.rows, s.cols, s.classes, tn_team_size(ctx), tn_ctx_threads(ctx), now() - begin,
               (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                   1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec),
               (double)used.ru_maxrss / 1e3, ranking->candidates[0]->log_evidence,
               ranking->candidates[0]->loo_accuracy);
    tn_ranking_free(ranking);
    tn_ctx_free(ctx);
    return code;
}
