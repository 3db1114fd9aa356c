/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the messages of a team cost under mpirun: seconds of the least of several tries, of a sum (to rank 0 and back)
 * and of a gathering, of `bytes` each, and the speed of this rank's sgemm while all others run theirs. Prints JSON on
 * rank 0.
 *
 *   usage: mpirun -n P team_speed PLUGIN BYTES... */
#define _GNU_SOURCE
#include "base/team.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { TRIES = 15, ORDER = 1024 };

void sgemm_(const char *ta, const char *tb, const int *m, const int *n, const int *k, const float *alpha,
            const float *a, const int *lda, const float *b, const int *ldb, const float *beta, float *c,
            const int *ldc);

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double time_sum(const tnp_team_engine *e, void *self, double *x, size_t n)
{
    double best = 1e300;
    for (int i = 0; i < TRIES; ++i) {
        double begin = now();
        if (e->sum(self, x, n) != 0)
            exit(1);
        best = now() - begin < best ? now() - begin : best;
    }
    return best;
}

static double time_gather(const tnp_team_engine *e, void *self, double *x, size_t n, size_t size)
{
    size_t *cut = calloc(size + 1, sizeof *cut);
    double best = 1e300;
    for (size_t r = 0; r <= size; ++r)
        cut[r] = n * r / size;
    for (int i = 0; i < TRIES; ++i) {
        double begin = now();
        if (e->gather(self, x, sizeof *x, cut) != 0)
            exit(1);
        best = now() - begin < best ? now() - begin : best;
    }
    free(cut);
    return best;
}

static double gemm_gflops(void)
{
    float *a = calloc(3 * (size_t)ORDER * ORDER, sizeof *a);
    const int n = ORDER;
    const float one = 1, zero = 0;
    double best = 1e300;
    for (int i = 0; i < TRIES; ++i) {
        double begin = now();
        sgemm_("N", "T", &n, &n, &n, &one, a, &n, a + ORDER * ORDER, &n, &zero, a + 2 * ORDER * ORDER, &n);
        best = now() - begin < best ? now() - begin : best;
    }
    free(a);
    return 2e-9 * ORDER * ORDER * ORDER / best;
}

int main(int argc, char **argv)
{
    void *library = argc > 2 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : NULL, *self = NULL;
    union {
        void *object;
        tnp_team_entry call;
    } entry = {.object = library ? dlsym(library, TNP_TEAM_ENTRY) : NULL};
    if (!entry.object) {
        fprintf(stderr, "team_speed: no plug-in: %s\n", library ? "no entry" : dlerror());
        return 1;
    }
    const tnp_team_engine *e = entry.call();
    size_t rank = 0, size = 0, here = 0;
    char host[64];
    if (e->join(&self, &rank, &size, &here, host, sizeof host) != 0)
        return 1;
    double gflops = gemm_gflops();
    if (rank == 0)
        printf("{\"ranks\":%zu,\"gemm_gflops\":%.3f,\"sizes\":[", size, gflops);
    for (int i = 2; i < argc; ++i) {
        size_t n = (size_t)atoll(argv[i]) / sizeof(double);
        double *x = calloc(n + 1, sizeof *x);
        double sum = time_sum(e, self, x, n), gather = time_gather(e, self, x, n, size);
        if (rank == 0)
            printf("%s{\"bytes\":%zu,\"sum\":%.9f,\"gather\":%.9f}", i > 2 ? "," : "", n * sizeof *x, sum, gather);
        free(x);
    }
    if (rank == 0)
        printf("]}\n");
    e->leave(self);
    return 0;
}
