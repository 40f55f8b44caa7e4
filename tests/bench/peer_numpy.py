#!/usr/bin/env python3
"""The matrix products of `bench` in NumPy, whose wheels contain OpenBLAS: same options, same output. See compare.py:

    python3 tests/bench/compare.py --peer "OpenBLAS=python3 tests/bench/peer_numpy.py" gemm gemm_128 gemm_512 gemm_2048 \\
        gemm_deep gemm_abt gemm_atb
"""
import argparse
import os
import resource
import time

SIZES = {"gemm": (1024, 1024, 1024, "AB"), "gemm_128": (128, 128, 128, "AB"), "gemm_512": (512, 512, 512, "AB"),
         "gemm_2048": (2048, 2048, 2048, "AB"), "gemm_deep": (64, 64, 4096, "AB"), "gemm_abt": (1024, 1024, 1024, "ABt"),
         "gemm_atb": (1024, 1024, 1024, "AtB")}


def rate(np, name, seconds):
    m, n, k, kind = SIZES[name]
    random = np.random.default_rng(0)
    a = random.standard_normal((k, m), np.float32).T if kind == "AtB" else random.standard_normal((m, k), np.float32)
    b = random.standard_normal((n, k), np.float32).T if kind == "ABt" else random.standard_normal((k, n), np.float32)
    c = np.empty((m, n), np.float32)
    calls = max(1, int(2e7 / (m * n * k)))              # several small products in one sample
    times, begun = [], time.perf_counter()
    while len(times) < 4 or time.perf_counter() - begun < seconds:
        start = time.perf_counter()
        for _ in range(calls):
            np.matmul(a, b, out=c)
        times.append((time.perf_counter() - start) / calls)
    return 2e-9 * m * n * k / sorted(times[1:])[len(times[1:]) // 2]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("workload", nargs="*", default=list(SIZES))
    options = parser.parse_args()
    os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = str(options.threads)
    import numpy as np                                  # after the number of threads is set
    for name in options.workload:
        if name in SIZES:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            print(f"{name} {rate(np, name, options.seconds):.4g} GFLOPS")
            grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
            print(f"{name}.peak {grown:.1f} MiB")
            print(f"{name}.threads {options.threads} threads")


main()
