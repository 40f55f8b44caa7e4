#!/usr/bin/env python3
"""Compares kaeru with other frameworks on the workloads of `bench`; each run of a workload is a process.

    python3 tests/bench/compare.py                          all workloads against the PyTorch of this Python
    python3 tests/bench/compare.py --compile gpt2 copy      two workloads, also with torch.compile
    python3 tests/bench/compare.py --peer "llm.c=./llmc_bench" gpt2

A peer is a command that takes `--threads N --seconds S [--cpu] WORKLOAD` and prints the lines of `bench`. A peer without a
workload prints nothing and is skipped there. A ratio above 1 means that kaeru is faster. In each round kaeru and every peer
run once, and a ratio is that of two runs in the same round, so that a slow period of the machine slows both. A run is
repeated if other programs used the processors. Writes bench.csv, which plots/bench.gp draws.
"""
import argparse
import contextlib
import csv
import math
import os
import platform
import resource
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BENCH = ROOT / "build/tests/bench/bench"
WORKLOADS = ["gemm_128", "gemm_512", "gemm", "gemm_2048", "gemm_deep", "gemm_abt", "gemm_atb", "overhead", "skip_small",
             "skip", "copy", "translate", "shakespeare", "gpt2", "gpt2_long", "decode", "lora", "conv"]

# Prefixes of variables that can make a library slower or change its number of threads.
UNSET = ("OPENBLAS_", "MKL_", "BLIS_", "NVPL_", "ONEDNN_", "DNNL_", "ATEN_", "OMP_", "GOMP_", "KMP_", "TORCH",
         "KAERU_", "LD_PRELOAD", "MALLOC_")


def environment(threads):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(UNSET)}
    return clean | {"OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}


# ---- other programs on the machine -----------------------------------------------------------------------------------

def busy_seconds():
    """Processor time of all programs so far; None where the system has no /proc/stat."""
    try:
        fields = [int(x) for x in Path("/proc/stat").read_text().split("\n")[0].split()[1:]]
    except OSError:
        return None
    return (sum(fields[:3]) + sum(fields[5:8])) / os.sysconf("SC_CLK_TCK")      # without idle and iowait


def children_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def program_seconds():
    """Name and processor time of each other process, by process id."""
    programs = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        if path.parent.name == str(os.getpid()):
            continue
        try:
            start, _, rest = path.read_text(errors="replace").rpartition(")")           # PID (NAME) STATE PPID ...
        except OSError:                                                                 # the process has ended
            continue
        ticks = sum(int(x) for x in rest.split()[11:13])
        programs[path.parent.name] = start.partition("(")[2], ticks / os.sysconf("SC_CLK_TCK")
    return programs


def report_others(options):
    """Measures for half a second which programs use the processors, and prints them."""
    programs, busy, start = program_seconds(), busy_seconds(), time.monotonic()
    time.sleep(0.5)
    elapsed, shares = time.monotonic() - start, {}
    for process, (name, seconds) in program_seconds().items():
        shares[name] = shares.get(name, 0) + (seconds - programs.get(process, (name, 0))[1]) / elapsed
    most = sorted(((share, name) for name, share in shares.items() if share >= 0.01), reverse=True)[:3]
    print(f"compare.py: waits for a quiet machine, up to {options.patience:g} s each time: others take "
          f"{(busy_seconds() - busy) / elapsed:.2f} of a processor" + (": " if most else "")
          + ", ".join(f"{name} {share:.2f}" for share, name in most)
          + f"; --others (now {options.others:g}) and --patience change that", file=sys.stderr)


def wait_for_quiet(options):
    """Waits until other programs use the processors little for half a second, at most options.patience seconds."""
    end = time.monotonic() + (0 if options.cpu else options.patience)
    while time.monotonic() < end:
        before = busy_seconds()
        if before is None:
            return
        time.sleep(0.5)
        if busy_seconds() - before <= 0.5 * options.others:
            return
        if not options.reported:
            options.reported = True
            report_others(options)


# ---- one run ---------------------------------------------------------------------------------------------------------

def output_of(command, **how):
    """Status and output. The command runs in a new session: Ctrl-C only reaches this program, which kills the session."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True, **how) as process:
        try:
            out, _ = process.communicate()
        except BaseException:
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
        return process.returncode, out


def parse(text, workload, command):
    """Figures by name; none from a peer without the workload."""
    figures = {}
    for line in text.splitlines():
        try:
            name, value, unit = line.split()
            figures[name] = (float(value), unit)
        except ValueError:
            sys.exit(f"compare.py: {shlex.join(command)} printed '{line}': expected NAME VALUE UNIT")
    for name in (workload, f"{workload}.peak", f"{workload}.threads"):
        if figures and name not in figures:
            sys.exit(f"compare.py: {shlex.join(command)} printed no {name}")
    if figures and not figures[workload][0] > 0:
        sys.exit(f"compare.py: {shlex.join(command)} printed {workload} {figures[workload][0]:g}: expected more than 0")
    return figures


def run_once(command, workload, options):
    """The figures, and the share of a processor that other programs used during the run."""
    arguments = ["--threads", str(options.threads), "--seconds", str(options.seconds)]
    command = command + arguments + (["--cpu"] if options.cpu else []) + [workload]
    before, own, start = busy_seconds(), children_seconds(), time.monotonic()
    status, out = output_of(command, env=environment(options.threads))
    elapsed = time.monotonic() - start
    if status != 0:
        how = f"ended with status {status}" if status > 0 else f"was ended by signal {-status}"
        sys.exit(f"compare.py: {shlex.join(command)} {how}")
    others = 0.0 if before is None else (busy_seconds() - before - (children_seconds() - own)) / elapsed
    return parse(out, workload, command), others


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
    """Both must have the same number of threads and of parameters, and the same unit."""
    for what in ("threads", "parameters"):
        key = f"{workload}.{what}"
        if ours.get(key) != theirs.get(key):
            a, b = (f"{figures[key][0]:g}" if key in figures else "missing" for figures in (ours, theirs))
            sys.exit(f"compare.py: {key} is {a} in kaeru and {b} in {name}")
    if ours[workload][1] != theirs[workload][1]:
        sys.exit(f"compare.py: {workload} is in {ours[workload][1]} in kaeru and in {theirs[workload][1]} in {name}")
    if ours[f"{workload}.threads"][0] != options.threads:
        sys.exit(f"compare.py: {workload} ran on {ours[f'{workload}.threads'][0]:.0f} threads, not {options.threads}")


def compare(workload, bench, peers, options):
    """Yields a row of the table for each peer that has the workload."""
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
        status, version = output_of(command + ["--version"], stderr=subprocess.DEVNULL, env=environment(options.threads))
        if status == 0 and version:
            peers[version.strip()] = command
        else:
            print(f"compare.py: {options.python} has no PyTorch: left out", file=sys.stderr)
    return peers | dict(options.peer)


def write(path, rows):
    with open(path, "w", newline="") as out:
        writer = csv.DictWriter(out, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)


def compare_all(options, rows):
    """Adds to the rows, and writes the file after each."""
    peers = find_peers(options)
    if not peers:
        sys.exit("compare.py: no peer to compare with")
    machine = f"{processor()} with {options.threads} thread{'s' if options.threads != 1 else ''}"
    machine += ": processor time" if options.cpu else ""
    print(f"{machine}; times faster than the peer: median of {options.rounds}, least and most of them")
    print(f"{'workload':12} {'peer':24} {'kaeru':>9} {'peer':>9} {'':9} {'ratio':>6} {'least':>6} {'most':>6} "
          f"{'MiB':>6} {'peer':>6}  others", flush=True)
    for workload in dict.fromkeys(options.workload or WORKLOADS):
        for row in compare(workload, [options.bench], peers, options):
            rows.append(row | {"machine": machine})
            print("{workload:12} {peer:24} {kaeru:9.4g} {other:9.4g} {unit:9} {ratio:6.2f} {low:6.2f} {high:6.2f} "
                  "{kaeru_mib:6.0f} {other_mib:6.0f} {others:7.2f}".format(**row), flush=True)
            write(options.out, rows)
    if not rows:
        sys.exit("compare.py: no peer knows any of these workloads: nothing is written")


# ---- the command line ------------------------------------------------------------------------------------------------

class Parser(argparse.ArgumentParser):
    def error(self, message):
        self.exit(2, f"{self.prog}: {message}\n")


def refuse(text, why):
    raise argparse.ArgumentTypeError(f"{text}: {why}")


def number(least, most, kind=float):
    def parse_number(text):
        try:
            value = kind(text)
        except ValueError:
            value = math.nan
        if not least <= value <= most:
            refuse(text, f"expected a {'whole ' if kind is int else ''}number from {least:g} to {most:g}")
        return value
    return parse_number


def workload_name(text):
    return text if text in WORKLOADS else refuse(text, f"expected one of {', '.join(WORKLOADS)}")


def program(text):
    return text if shutil.which(text) else refuse(text, "there is no such program")


def built_program(text):
    how = f"not built: meson setup build && meson compile -C build bench (in {ROOT}) makes {BENCH.relative_to(ROOT)}"
    return text if shutil.which(text) else refuse(text, how)


def peer(text):
    """Name and command."""
    name, _, command = text.partition("=")
    try:
        words = shlex.split(command)
    except ValueError as error:                                                         # an unclosed quote
        refuse(text, str(error))
    if not name or not words:
        refuse(text, "expected NAME=COMMAND")
    return name, [program(words[0])] + words[1:]


def writable_file(text):
    """Checks the path before measuring; an existing file stays until there are results."""
    there = os.path.lexists(text)
    try:
        open(text, "a").close()
    except OSError as error:
        refuse(text, f"cannot be written: {error.strerror}")
    if not there:
        os.remove(text)
    return text


def parse_command_line():
    parser = Parser(description=__doc__.split("\n\n")[0], epilog="Workloads: " + ", ".join(WORKLOADS))
    parser.add_argument("--bench", type=built_program, default=str(BENCH), help="kaeru's program")
    parser.add_argument("--python", type=program, default=sys.executable, help="a Python that has PyTorch")
    parser.add_argument("--compile", action="store_true", help="also with torch.compile")
    parser.add_argument("--peer", type=peer, action="append", default=[], metavar="NAME=COMMAND",
                        help="another program to compare with")
    parser.add_argument("--rounds", type=number(1, 10000, int), default=5, help="runs of each; default 5")
    parser.add_argument("--threads", type=number(0, 256, int), default=0,
                        help="for each; the default 0 means one per processor")
    parser.add_argument("--seconds", type=number(0.001, 3600), default=1, help="how long a run is measured; default 1")
    parser.add_argument("--cpu", action="store_true",
                        help="compare processor time, with --threads 1: for a busy machine")
    parser.add_argument("--others", type=number(0, 10000), default=0.1,
                        help="share of a processor that others may use; default 0.1")
    parser.add_argument("--tries", type=number(1, 10000, int), default=4,
                        help="attempts for a run within that share; default 4")
    parser.add_argument("--patience", type=number(0, 86400), default=60,
                        help="seconds to wait for a quiet machine, each time; default 60")
    parser.add_argument("--out", type=writable_file, default="bench.csv", help="the file to write; default bench.csv")
    parser.add_argument("workload", type=workload_name, nargs="*", help="default: all")
    options = parser.parse_args()
    if options.threads == 0:
        options.threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    options.reported = False                                            # report_others is called once
    return options


def main():
    rows = []
    signal.signal(signal.SIGTERM, signal.default_int_handler)           # the same as Ctrl-C
    try:
        options = parse_command_line()
        compare_all(options, rows)
    except KeyboardInterrupt:
        kept = f"what was measured before is in {options.out}" if rows else "nothing is written"
        print(f"compare.py: interrupted: {kept}", file=sys.stderr)
        sys.exit(130)
    except OSError as error:
        sys.exit(f"compare.py: {error}")


if __name__ == "__main__":
    main()
