#!/usr/bin/env python3
"""kaeru beside other frameworks on the workloads of `bench`, one process a workload, in turn, in one run.

    python3 tests/bench/compare.py                          everything against the PyTorch of this Python
    python3 tests/bench/compare.py --compile gpt2 copy      two workloads, also with torch.compile
    python3 tests/bench/compare.py --peer "llm.c=./llmc_bench" gpt2

A peer is a command that takes `--threads N --seconds S [--cpu] WORKLOAD` and prints the lines of `bench`; one that
does not know a workload prints nothing and is left out. Ratios are above 1 where kaeru is faster. In each round everybody
runs once, and the ratio of two runs of the same round is taken: what slows the machine for a while slows both. A run
during which other programs took a share of the processors is repeated. Writes bench.csv, which plots/bench.gp draws.
"""
import argparse
import csv
import os
import platform
import resource
import shlex
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
WORKLOADS = ["gemm_128", "gemm_512", "gemm", "gemm_2048", "gemm_deep", "gemm_abt", "gemm_atb", "overhead", "skip_small",
             "skip", "copy", "translate", "shakespeare", "gpt2", "gpt2_long", "decode"]

# What would tie a library to something slower than its best, or to another number of threads.
HINDRANCES = ("OPENBLAS_", "MKL_", "BLIS_", "NVPL_", "ONEDNN_", "DNNL_", "ATEN_", "OMP_", "GOMP_", "KMP_", "TORCH",
              "KAERU_", "LD_PRELOAD", "MALLOC_")


def environment(threads):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(HINDRANCES)}
    return clean | {"OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}


# ---- one run ---------------------------------------------------------------------------------------------------------

def busy_seconds():
    """Processor time that all programs have taken; None where the system does not say."""
    try:
        fields = [int(x) for x in Path("/proc/stat").read_text().split("\n")[0].split()[1:]]
    except OSError:
        return None
    return (sum(fields[:3]) + sum(fields[5:8])) / os.sysconf("SC_CLK_TCK")      # all but idle and waiting for files


def children_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def parse(text):
    figures = {}
    for line in text.splitlines():
        name, value, unit = line.split()
        figures[name] = (float(value), unit)
    return figures


def run_once(command, workload, options):
    """Its figures, and the share of a processor that others took meanwhile."""
    arguments = ["--threads", str(options.threads), "--seconds", str(options.seconds)]
    arguments += (["--cpu"] if options.cpu else []) + [workload]
    before, own, start = busy_seconds(), children_seconds(), time.monotonic()
    done = subprocess.run(command + arguments, env=environment(options.threads), stdout=subprocess.PIPE, text=True)
    elapsed = time.monotonic() - start
    if done.returncode != 0:
        sys.exit(f"compare.py: {shlex.join(command + arguments)} ended with status {done.returncode}")
    others = 0.0 if before is None else (busy_seconds() - before - (children_seconds() - own)) / elapsed
    return parse(done.stdout), others


def wait_for_quiet(options):
    """Until other programs leave the processors alone for half a second, or patience is at its end."""
    end = time.monotonic() + (0 if options.cpu else options.patience)
    while time.monotonic() < end:
        before = busy_seconds()
        if before is None:
            return
        time.sleep(0.5)
        if busy_seconds() - before <= 0.5 * options.others:
            return


def run(command, workload, options):
    best = None
    for _ in range(options.tries):
        wait_for_quiet(options)
        figures, others = run_once(command, workload, options)
        if best is None or others < best[1]:
            best = figures, others
        if options.cpu or others <= options.others:
            break
    return best


# ---- a workload ------------------------------------------------------------------------------------------------------

def is_rate(unit):
    return unit in ("GFLOPS", "tokens/s")


def check_same(workload, ours, theirs, name, options):
    """That the two did the same with the same means."""
    for what in ("threads", "parameters"):
        key = f"{workload}.{what}"
        if ours.get(key) != theirs.get(key):
            sys.exit(f"compare.py: {key} is {ours.get(key)} in kaeru and {theirs.get(key)} in {name}")
    if ours[f"{workload}.threads"][0] != options.threads:
        sys.exit(f"compare.py: {workload} ran on {ours[f'{workload}.threads'][0]:.0f} threads, not {options.threads}")


def compare(workload, bench, peers, options):
    """Yields a row of the table for each peer that knows the workload."""
    ours, theirs, others = [], {name: [] for name in peers}, 0.0
    for _ in range(options.rounds):
        figures, disturbed = run(bench, workload, options)
        ours.append(figures)
        others = max(others, disturbed)
        for name, command in list(peers.items()):
            figures, disturbed = run(command, workload, options)
            if not figures:
                peers = {k: v for k, v in peers.items() if k != name}
                continue
            check_same(workload, ours[-1], figures, name, options)
            theirs[name].append(figures)
            others = max(others, disturbed)
    for name in peers:
        unit = ours[0][workload][1]
        pairs = [(a[workload][0], b[workload][0]) for a, b in zip(ours, theirs[name])]
        ratios = [a / b if is_rate(unit) else b / a for a, b in pairs]
        peak = [statistics.median(r[f"{workload}.peak"][0] for r in runs) for runs in (ours, theirs[name])]
        yield {"workload": workload, "peer": name, "unit": unit,
               "kaeru": statistics.median(a for a, _ in pairs), "other": statistics.median(b for _, b in pairs),
               "ratio": statistics.median(ratios), "low": min(ratios), "high": max(ratios),
               "kaeru_mib": peak[0], "other_mib": peak[1], "others": others}


# ---- all of them -----------------------------------------------------------------------------------------------------

def processor():
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def find_peers(options):
    """Commands by name."""
    peers = {}
    for how in [[]] + ([["--compile"]] if options.compile else []):
        command = [options.python, str(HERE / "peer_torch.py")] + how
        version = subprocess.run(command + ["--version"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                 env=environment(options.threads))
        if version.returncode == 0:
            peers[version.stdout.strip()] = command
        else:
            print(f"compare.py: {options.python} has no PyTorch: left out", file=sys.stderr)
    for peer in options.peer:
        name, _, command = peer.partition("=")
        peers[name] = shlex.split(command)
    return peers


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], epilog="Workloads: " + ", ".join(WORKLOADS))
    parser.add_argument("--bench", default=str(ROOT / "build/tests/bench/bench"), help="kaeru's program")
    parser.add_argument("--python", default=sys.executable, help="a Python that has PyTorch")
    parser.add_argument("--compile", action="store_true", help="with torch.compile, too")
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=COMMAND", help="one more to compare with")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each; 5 if not given")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity")
                        else os.cpu_count(), help="for each; one per processor if not given")
    parser.add_argument("--seconds", type=float, default=1, help="how long a run is measured; 1 if not given")
    parser.add_argument("--cpu", action="store_true",
                        help="compare processor time, with --threads 1: for a machine that is never quiet")
    parser.add_argument("--others", type=float, default=0.1, help="share of a processor that others may take; 0.1")
    parser.add_argument("--tries", type=int, default=4, help="for a run without more than that; 4")
    parser.add_argument("--patience", type=float, default=60, help="seconds to wait for a quiet moment, each time; 60")
    parser.add_argument("--out", default="bench.csv", help="the file to write; bench.csv")
    parser.add_argument("workload", nargs="*", help="all if not given")
    options = parser.parse_args()
    peers = find_peers(options)
    if not peers:
        sys.exit("compare.py: nobody to compare with")
    machine = f"{processor()} with {options.threads} thread{'s' if options.threads != 1 else ''}"
    machine += ": processor time" if options.cpu else ""
    print(f"{machine}; times faster than the peer: median of {options.rounds}, least and most of them")
    print(f"{'workload':12} {'peer':24} {'kaeru':>9} {'peer':>9} {'':9} {'ratio':>6} {'least':>6} {'most':>6} "
          f"{'MiB':>6} {'peer':>6}  others")
    rows = []
    for workload in options.workload or WORKLOADS:
        for row in compare(workload, [options.bench], peers, options):
            rows.append(row | {"machine": machine})
            print("{workload:12} {peer:24} {kaeru:9.4g} {other:9.4g} {unit:9} {ratio:6.2f} {low:6.2f} {high:6.2f} "
                  "{kaeru_mib:6.0f} {other_mib:6.0f} {others:7.2f}".format(**row), flush=True)
            with open(options.out, "w", newline="") as out:
                writer = csv.DictWriter(out, rows[0].keys())
                writer.writeheader()
                writer.writerows(rows)


if __name__ == "__main__":
    main()
