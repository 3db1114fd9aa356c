/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the processor gives: instruction sets and cores. */
#define _GNU_SOURCE
#include "base/cpu.h"
#include "base/base.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

tnp_cpu tnp_cpu_look(void)
{
    tnp_cpu cpu = {.avx2 = false};
#if defined(__x86_64__)
    __builtin_cpu_init();
    cpu.avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    cpu.avx512 = cpu.avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                 __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
    cpu.vnni = cpu.avx512 && __builtin_cpu_supports("avx512vnni");
    cpu.intel = __builtin_cpu_is("intel");
#endif
    return cpu;
}

const char *tnp_simd_level(void)
{
    tnp_cpu cpu = tnp_cpu_look();
    const char *wish = getenv("TN_SIMD");
    if (wish && strcmp(wish, "scalar") == 0)
        return "scalar";
    if (cpu.avx512 && !(wish && strcmp(wish, "avx2") == 0))
        return "avx512";
    return cpu.avx2 ? "avx2" : "scalar";
}

tn_status tn_simd_check(tn_ctx *ctx)
{
    static const char levels[] = "scalar|avx2|avx512";
    const char *wish = getenv("TN_SIMD"), *level = tnp_simd_level();
    int wanted = wish ? tnp_find_choice(levels, wish) : 0;
    if (wish && *wish && wanted < 0)
        return tnp_fail(ctx, TN_ERR_ARG, "TN_SIMD: got %s, expected %s", wish, levels);
    if (wanted > tnp_find_choice(levels, level))
        tnp_warn(ctx, "TN_SIMD: got %s, but this processor has %s at best, which is used", wish, level);
    return TN_OK;
}

size_t tnp_usable_cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return (size_t)CPU_COUNT(&set);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (size_t)online : 1;
}
