#!/usr/bin/env python3
"""Training by two processes, in turn with one process of two threads and with PyTorch DDP.

    python3 tests/bench/processes.py                        gpt2 and shakespeare, five rounds
    python3 tests/bench/processes.py --rounds 1 gpt2
    python3 tests/bench/processes.py --memory               instead: the memory of 1, 2 and 4 processes, gpt2 in 4 shards
    python3 tests/bench/processes.py --check >check.csv     instead: 1 to 8 processes, gpt2 in 8 shards, for cost.c

In each round every program runs once. A time is the median over the rounds of each run's median step; a ratio is the median of
the ratios of two runs in the same round. On a machine with other programs, see how the rounds differ.
"""
import argparse
import os
import shlex
import shutil
import statistics
import sys

from compare import HERE, ROOT, Parser, environment, number, output_of, parse, program, refuse

WORKLOADS = ["shakespeare", "gpt2"]
PROCESSES = ROOT / "build/tests/bench/processes"
# Open MPI must be told to start as root, and more processes than processors.
MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}


def run(command, workload, threads, options):
    """The figures of one run."""
    command = command + ["--threads", str(threads), "--steps", str(options.steps), workload]
    status, out = output_of(command, env=environment(threads) | MPI)
    if status != 0:
        sys.exit(f"processes.py: {shlex.join(command)} ended with status {status}")
    return {name.partition(".")[2]: value for name, (value, _) in parse(out, workload, command).items()}


def kaeru(options, processes, shards=None):
    launcher = ["mpirun", "-n", str(processes)] if processes > 1 else []
    return launcher + [options.bench] + (["--shards", str(shards)] if shards else [])


def compare(workload, options):
    ways = {"one process, two threads": (kaeru(options, 1), 2), "two processes": (kaeru(options, 2), 1)}
    ddp = [options.python, str(HERE / "peer_ddp.py")]
    status, version = output_of(ddp + ["--version"], env=environment(1))
    if status == 0:
        ways[f"{version.strip()}, two processes"] = ddp + ["--processes", "2"], 1
    times = {name: [] for name in ways}
    for _ in range(options.rounds):
        for name, (command, threads) in ways.items():
            times[name].append(run(command, workload, threads, options)[""])
    ours = times["two processes"]
    for name, theirs in times.items():
        ratios = sorted(b / a for a, b in zip(ours, theirs))
        print(f"{workload:12} {name:34} {statistics.median(theirs):9.4g} ms/step {statistics.median(ratios):7.2f} "
              f"{ratios[0]:6.2f} {ratios[-1]:6.2f}", flush=True)


def print_memory(options):
    print("processes  peak MiB  weights + gradients + 2/P weights  the rest")
    for processes in (1, 2, 4):
        figures = run(kaeru(options, processes, 4), "gpt2", 1, options)
        print(f"{processes:9} {figures['peak']:9.0f} {figures['model']:34.0f} {figures['peak'] - figures['model']:9.0f}",
              flush=True)


def print_check(options):
    processors = len(os.sched_getaffinity(0))
    print("processes,processors,seconds")
    for processes in (1, 2, 3, 4, 5, 6, 7, 8):
        figures = run(kaeru(options, processes, 8) + ["--batch", "8"], "gpt2", 1, options)
        print(f"{processes},{min(processes, processors)},{figures[''] / 1e3:.4g}", flush=True)


def built(text):
    how = f"not built: meson compile -C build processes (in {ROOT}) makes it where MPI is installed"
    return text if shutil.which(text) else refuse(text, how)


def workload_name(text):
    return text if text in WORKLOADS else refuse(text, f"expected one of {', '.join(WORKLOADS)}")


def main():
    parser = Parser(description=__doc__.split("\n\n")[0], epilog="Workloads: " + ", ".join(WORKLOADS))
    parser.add_argument("--bench", type=built, default=str(PROCESSES), help="kaeru's program")
    parser.add_argument("--python", type=program, default=sys.executable, help="a Python that has PyTorch")
    parser.add_argument("--rounds", type=number(1, 10000, int), default=5, help="runs of each; default 5")
    parser.add_argument("--steps", type=number(1, 10000, int), default=5, help="measured steps of a run; default 5")
    parser.add_argument("--memory", action="store_true", help="measure memory instead")
    parser.add_argument("--check", action="store_true", help="measure 1 to 8 processes instead; prints CSV for cost")
    parser.add_argument("workload", nargs="*", type=workload_name, help="default: both")
    options = parser.parse_args()
    if options.memory:
        print_memory(options)
    elif options.check:
        print_check(options)
    else:
        print(f"{'workload':12} {'':34} {'time':>9} {'':7} {'x two':>7} {'least':>6} {'most':>6}")
        for workload in options.workload or WORKLOADS:
            compare(workload, options)


if __name__ == "__main__":
    main()
