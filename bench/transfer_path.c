/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The greedy path of `tenon transfer` by itself: standardisation of a matrix that is in memory as floats, and K picks
 * with lambda = 1 and no lower bound of the gain. It is made of the program's own objects and sees their headers, for
 * what is timed lies inside one call of the library. One thread.
 *
 * Usage: transfer_path TARGET SOURCE LABELS K RUNS      files as `tenon transfer` reads them, two classes.
 * Prints one JSON object: best seconds of both parts together, of the standardisation alone in that run, and the
 * picks. */
#include "transfer/greedy.h"
#include "read/labels/labels.h"
#include "tenon/transform.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct path_job {
    tn_ctx *ctx;
    size_t rows, cols, picks;
    float *x;  /* (rows, cols) */
    double *y; /* (rows) */
    double best, standardising;
    tnp_greedy_path *path; /* of the best run */
} path_job;

static tn_status read_labels(path_job *job, const char *path)
{
    tn_status st = TN_OK;
    tn_labels *labels = NULL;
    TN_TRY(tn_labels_open(job->ctx, path, TN_TASK_AUTO, &labels));
    job->rows = labels->rows;
    TN_TRY(tnp_alloc(job->ctx, job->rows, sizeof *job->y, &job->y));
    for (size_t i = 0; i < job->rows; ++i)
        job->y[i] = labels->cls[labels->first[i]] == 1 ? 1 : -1;
done:
    tn_labels_free(labels);
    return st;
}

static tn_status read_columns(path_job *job, char **paths)
{
    tn_status st = TN_OK;
    tn_features *features[2] = {NULL, NULL};
    tn_feed *feed[2] = {NULL, NULL};
    for (size_t i = 0; i < 2; ++i) {
        TN_TRY(tn_features_open(job->ctx, paths[i], &features[i]));
        TN_TRY(tn_feed_new(job->ctx, features[i], NULL, job->rows, TN_NORM_NONE, TN_NAN_ERROR, NULL, &feed[i]));
        job->cols += tn_feed_cols(feed[i]);
    }
    TN_TRY(tnp_alloc(job->ctx, job->rows * job->cols, sizeof *job->x, &job->x));
    for (size_t i = 0, at = 0; i < 2; at += tn_feed_cols(feed[i++]))
        TN_TRY(tn_feed_read(job->ctx, feed[i], 0, job->rows, job->x + at, job->cols));
done:
    for (size_t i = 0; i < 2; ++i) {
        tn_feed_free(feed[i]);
        tn_features_close(features[i]);
    }
    return st;
}

static tn_status run(path_job *job)
{
    tn_status st = TN_OK;
    tnp_transfer_columns *columns = NULL;
    tnp_transfer_problem *problem = NULL;
    tnp_greedy_path *path = NULL;
    double begin = tnp_seconds(), middle = 0, seconds = 0;
    TN_TRY(tnp_transfer_columns_new(job->ctx, job->rows, job->cols, false, &columns));
    for (size_t i = 0; i < job->rows; ++i)
        tnp_transfer_put(columns, i, 0, job->cols, job->x + i * job->cols);
    TN_TRY(tnp_transfer_problem_new(job->ctx, columns, job->y, NULL, &problem));
    middle = tnp_seconds();
    TN_TRY(tnp_greedy_path_new(job->ctx, problem, 1, 0, job->picks, &path));
    seconds = tnp_seconds() - begin;
    if (!job->path || seconds < job->best) {
        tnp_greedy_path *worse = job->path;
        job->best = seconds;
        job->standardising = middle - begin;
        job->path = path;
        path = worse;
    }
done:
    tnp_greedy_path_free(path);
    tnp_transfer_problem_free(problem);
    tnp_transfer_columns_free(columns);
    return st;
}

static void print(const path_job *job)
{
    printf("{\"seconds\": %.9f, \"standardising\": %.9f, \"picks\": [", job->best, job->standardising);
    for (size_t i = 0; i < job->path->count; ++i)
        printf("%s%zu", i ? ", " : "", job->path->picks[i]);
    printf("]}\n");
}

int main(int argc, char **argv)
{
    tn_status st = TN_OK;
    path_job job = {0};
    if (argc != 6) {
        fprintf(stderr, "usage: transfer_path TARGET SOURCE LABELS K RUNS\n");
        return 2;
    }
    TN_TRY(tn_ctx_new(&job.ctx));
    tn_ctx_set_threads(job.ctx, 1);
    job.picks = strtoul(argv[4], NULL, 10);
    TN_TRY(read_labels(&job, argv[3]));
    TN_TRY(read_columns(&job, argv + 1));
    for (unsigned long i = strtoul(argv[5], NULL, 10); i > 0; --i)
        TN_TRY(run(&job));
    if (job.path)
        print(&job);
done:
    if (st != TN_OK)
        fprintf(stderr, "transfer_path: %s\n", job.ctx ? tn_ctx_message(job.ctx) : "no memory");
    tnp_greedy_path_free(job.path);
    tnp_free(job.x);
    tnp_free(job.y);
    tn_ctx_free(job.ctx);
    return st == TN_OK ? 0 : 1;
}
