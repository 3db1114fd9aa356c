/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Multi-class PA-I, averaged, as one writes it from the paper: a matrix-vector product a sample. The plain loop that the
 * blocked learner is measured against, on the same BLAS with the same threads.
 *
 *   s = W x + b       y' the best class other than y       m = s[y] - s[y']
 *   m < 1:  a = min(C, (1 - m) / (2 (|x|^2 + 1)))    w_y += a x, w_y' -= a x, the same times t for the average
 *
 *   x (D) is read from the mapped file and brought to length 1; W (K, D); C = 1; rows in file order.
 *
 * Usage: online_plain X D K Y ROWS      X: .npy of float32 (., D), Y: .npy of int64, both C order, version 1.
 * Prints one JSON object: seconds of the loop, mistakes and updates, so that one can see that the same was learned.
 * BLAS is declared by hand: its headers are for src/algebra/blas.c alone. */
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int openblas_get_num_threads(void);
void sgemv_(const char *trans, const int *m, const int *n, const float *alpha, const float *a, const int *lda,
            const float *x, const int *incx, const float *beta, float *y, const int *incy);
void saxpy_(const int *n, const float *alpha, const float *x, const int *incx, float *y, const int *incy);

/* Rows of 4096 floats would begin in the same set of the cache. */
enum { PAD = 32 };

typedef struct model {
    int dim, classes, width;
    float *w, *u;   /* (classes, width): weights, and t times every move */
    float *b, *ub;  /* classes: the same of the constant */
    float *s, *row; /* classes, dim */
    size_t mistakes, updates;
} model;

static void stop(const char *what, const char *path)
{
    fprintf(stderr, "online_plain: %s %s\n", what, path);
    exit(1);
}

static void *need(size_t count, size_t size)
{
    void *p = calloc(count, size);
    if (!p)
        stop("no memory for", "the weights");
    return p;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The values behind the header of a .npy file that holds at least `bytes` of them. */
static const void *map_values(const char *path, size_t bytes)
{
    struct stat facts;
    int fd = open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &facts) != 0 || facts.st_size < 10)
        stop("cannot read", path);
    const unsigned char *data = mmap(NULL, (size_t)facts.st_size, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (data == MAP_FAILED)
        stop("cannot map", path);
    size_t header = 10 + data[8] + 256 * (size_t)data[9];
    if (header + bytes > (size_t)facts.st_size)
        stop("too few values in", path);
    return data + header;
}

static float prepare(const float *x, int dim, float *row)
{
    double squares = 0;
    for (int j = 0; j < dim; ++j)
        squares += (double)x[j] * (double)x[j];
    float scale = squares > 0 ? (float)(1 / sqrt(squares)) : 0;
    for (int j = 0; j < dim; ++j)
        row[j] = x[j] * scale;
    return squares > 0 ? 2 : 1; /* |row|^2 + 1 */
}

static void move(model *m, int c, float step, float late)
{
    const int one = 1;
    float late_step = late * step;
    saxpy_(&m->dim, &step, m->row, &one, m->w + (size_t)c * (size_t)m->width, &one);
    saxpy_(&m->dim, &late_step, m->row, &one, m->u + (size_t)c * (size_t)m->width, &one);
    m->b[c] += step;
    m->ub[c] += late_step;
}

static void learn(model *m, const float *x, int y, size_t seen)
{
    const int one = 1;
    const float unit = 1;
    float length = prepare(x, m->dim, m->row);
    memcpy(m->s, m->b, (size_t)m->classes * sizeof *m->s);
    sgemv_("T", &m->dim, &m->classes, &unit, m->w, &m->width, m->row, &one, &unit, m->s, &one);
    int wrong = y == 0;
    for (int c = 0; c < m->classes; ++c)
        if (c != y && m->s[c] > m->s[wrong])
            wrong = c;
    double margin = (double)m->s[y] - (double)m->s[wrong];
    m->mistakes += margin <= 0;
    if (margin >= 1)
        return;
    float step = (float)fmin(1, (1 - margin) / (2 * (double)length));
    ++m->updates;
    move(m, y, step, (float)seen);
    move(m, wrong, -step, (float)seen);
}

int main(int argc, char **argv)
{
    int dim = argc == 6 ? atoi(argv[2]) : 0, classes = argc == 6 ? atoi(argv[3]) : 0;
    size_t rows = argc == 6 ? (size_t)atol(argv[5]) : 0;
    if (dim < 1 || classes < 2 || rows < 1) {
        fprintf(stderr, "usage: online_plain X D K Y ROWS\n");
        return 2;
    }
    const float *x = map_values(argv[1], rows * (size_t)dim * sizeof *x);
    const int64_t *y = map_values(argv[4], rows * sizeof *y);
    model m = {.dim = dim, .classes = classes, .width = dim + PAD};
    size_t cells = (size_t)classes * (size_t)m.width;
    m.w = need(cells, sizeof *m.w);
    m.u = need(cells, sizeof *m.u);
    m.b = need(3 * (size_t)classes, sizeof *m.b);
    m.ub = m.b + classes;
    m.s = m.ub + classes;
    m.row = need((size_t)dim, sizeof *m.row);
    memset(m.w, 0, cells * sizeof *m.w); /* pages are there before the clock starts */
    memset(m.u, 0, cells * sizeof *m.u);
    double start = now();
    for (size_t t = 0; t < rows; ++t)
        learn(&m, x + t * (size_t)dim, (int)y[t], t);
    for (size_t i = 0; i < cells; ++i) /* the average: mu - u / T */
        m.w[i] -= m.u[i] / (float)rows;
    double seconds = now() - start;
    printf("{\"seconds\":%.6f,\"rows\":%zu,\"mistakes\":%zu,\"updates\":%zu,\"threads\":%d}\n", seconds, rows,
           m.mistakes, m.updates, openblas_get_num_threads());
    free(m.row);
    free(m.b);
    free(m.u);
    free(m.w);
    return 0;
}
