#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The long half of make test-all: other compilers and standards, sanitizers, valgrind, short fuzzing.
# Usage: test_all.sh [PART...]     parts: dev c17 clang asan tsan valgrind fuzz coverage; without any, all but coverage
set -u
cd "$(dirname "$0")/.." || exit
jobs=$(nproc 2>/dev/null || echo 2)
failed=

build() {
    cmake --preset "$1" >/dev/null || return 1
    env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL cmake --build --preset "$1" -j "$jobs" >"build-$1/build.log" 2>&1 && return
    tail -n 40 "build-$1/build.log"
    return 1
}

run_part() {
    case $1 in
    dev | c17 | clang)
        build "$1" && tools/run_tests.sh "build-$1" -j "$jobs"
        ;;
    asan)
        build asan && ASAN_OPTIONS=detect_leaks=1 LSAN_OPTIONS=suppressions=$PWD/tools/lsan.supp:print_suppressions=0 \
            tools/run_tests.sh build-asan -j "$jobs"
        ;;
    tsan)
        # Of the BLAS, which is not compiled with the sanitizer, TSan sees neither locks nor atomics: one BLAS thread.
        build tsan && OPENBLAS_NUM_THREADS=1 TSAN_OPTIONS=suppressions=$PWD/tools/tsan.supp:halt_on_error=1 \
            tools/run_tests.sh build-tsan -L unit
        ;;
    valgrind)
        # valgrind 3.19 does not know AVX-512: both our kernels and those of OpenBLAS are held to AVX2.
        build dev && rm -f build-dev/valgrind-*.log &&
            find build-dev/tests -maxdepth 1 -name "test_*" -type f ! -name "*.*" ! -name test_memory |
            TN_VALGRIND=1 TN_SIMD=avx2 OPENBLAS_CORETYPE=Haswell OPENBLAS_NUM_THREADS=1 xargs -P "$jobs" -n 1 tools/valgrind_one.sh
        ;;
    fuzz)
        build fuzz && for program in build-fuzz/tests/fuzz_*; do
            subject=$(basename "$program" | sed 's/^fuzz_//')
            echo "fuzz $subject"
            mkdir -p "build-fuzz/corpus/$subject"
            "$program" -max_total_time=20 -rss_limit_mb=2048 -timeout=20 -artifact_prefix="build-fuzz/$subject-" \
                "build-fuzz/corpus/$subject" "tests/fuzz/corpus/$subject" >"build-fuzz/$subject.log" 2>&1 ||
                { tail -n 40 "build-fuzz/$subject.log"; return 1; }
        done
        ;;
    coverage)
        build coverage && tools/run_tests.sh build-coverage -j "$jobs" && tools/coverage.sh build-coverage
        ;;
    *)
        echo "test_all.sh: unknown part '$1'"
        return 1
        ;;
    esac
}

[ $# -gt 0 ] || set -- dev c17 clang asan tsan valgrind fuzz
for part in "$@"; do
    printf '\n== %s\n' "$part"
    run_part "$part" || failed="$failed $part"
done
[ -z "$failed" ] || { echo "failed:$failed"; exit 1; }
echo "all parts passed: $*"
