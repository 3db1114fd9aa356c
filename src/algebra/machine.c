/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What this machine gives, and how fast its own matrix product is. */
#include "algebra/blas.h"
#include "base/cpu.h"

#include <string.h>

/* Copies the rest of the first line of `file` that begins with `key`, after its colon. */
static void line_of(const char *file, const char *key, char *out, size_t size)
{
    char line[256];
    FILE *f = fopen(file, "r");
    out[0] = 0;
    if (!f)
        return;
    while (out[0] == 0 && fgets(line, sizeof line, f)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, key, strlen(key)) != 0 || !colon)
            continue;
        line[strcspn(line, "\n")] = 0;
        snprintf(out, size, "%s", colon + 1 + strspn(colon + 1, " \t"));
    }
    fclose(f);
}

static size_t kilobytes(const char *text)
{
    unsigned long long kb = 0;
    return sscanf(text, "%llu", &kb) == 1 ? (size_t)kb * 1024 : 0;
}

void tn_machine_look(tn_machine *out)
{
    tn_machine m;
    char text[96];
    memset(&m, 0, sizeof m);
    tnp_cpu cpu = tnp_cpu_look();
    m.cores = tnp_usable_cores();
    line_of("/proc/meminfo", "MemTotal", text, sizeof text);
    m.memory_total = kilobytes(text);
    line_of("/proc/meminfo", "MemAvailable", text, sizeof text);
    m.memory_available = kilobytes(text);
    line_of("/proc/cpuinfo", "model name", m.cpu, sizeof m.cpu);
    snprintf(m.simd, sizeof m.simd, "%s", tnp_simd_level());
    snprintf(m.blas, sizeof m.blas, "%s", tnp_blas_config());
    snprintf(m.blas_kernels, sizeof m.blas_kernels, "%s", tnp_blas_kernels());
    const char *advice = tnp_blas_advice(m.blas, m.blas_kernels, cpu.avx2, cpu.avx512, cpu.intel);
    snprintf(m.blas_advice, sizeof m.blas_advice, "%s", advice ? advice : "");
    *out = m;
}

tn_status tn_machine_gemm_speed(tn_ctx *ctx, size_t n, double *gflops)
{
    tn_status st = TN_OK;
    float *a = NULL, *c = NULL;
    double best = 0;
    if (n == 0)
        return tnp_fail(ctx, TN_ERR_ARG, "gemm speed: the order must be positive");
    TN_TRY(tnp_alloc(ctx, n * n, sizeof *a, &a));
    TN_TRY(tnp_alloc(ctx, n * n, sizeof *c, &c));
    for (size_t i = 0; i < n * n; ++i)
        a[i] = (float)(i % 17) * 0.1f;
    for (int round = 0; round < 4; ++round) { /* the first wakes the threads and is not the best */
        double begin = tnp_seconds();
        TN_TRY(tnp_sgemm_nt(ctx, n, n, n, a, n, a, n, 0, c, n));
        double speed = 2e-9 * (double)n * (double)n * (double)n / (tnp_seconds() - begin);
        best = speed > best ? speed : best;
    }
    *gflops = best;
done:
    tnp_free_all(a, c);
    return st;
}
