#!/usr/bin/env python3
"""The workloads of `processes` in PyTorch: DistributedDataParallel over gloo, on this machine. See processes.py."""
import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

import torch
from torch import distributed, multiprocessing
from torch.nn.parallel import DistributedDataParallel

import peer_torch as peer

BATCHES = {"shakespeare": (12, 64, peer.SHAKESPEARE), "gpt2": (4, 64, {})}


def share(model):
    return DistributedDataParallel(model, gradient_as_bucket_view=True)


def train(rank, options, meeting):
    torch.set_num_threads(options.threads)
    distributed.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=options.processes)
    batch, length, sizes = BATCHES[options.workload]
    step, count = peer.gpt_training((options.batch or batch) // options.processes, length, share, **sizes)
    samples = []
    for _ in range(2 + options.steps):
        start = time.perf_counter()
        step()
        samples.append(time.perf_counter() - start)
    peak = torch.tensor(peer.peak_mib())
    distributed.all_reduce(peak, distributed.ReduceOp.MAX)
    if rank == 0:
        name = options.workload
        print(f"{name} {1e3 * statistics.median(samples[2:]):.4g} ms/step")
        print(f"{name}.best {1e3 * min(samples[2:]):.4g} ms/step")
        print(f"{name}.peak {peak.item():.0f} MiB")
        print(f"{name}.threads {torch.get_num_threads()} threads")
        print(f"{name}.processes {options.processes} processes")
        print(f"{name}.parameters {count} parameters", flush=True)
    distributed.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=2, help="default 2")
    parser.add_argument("--threads", type=int, default=1, help="of each process; default 1")
    parser.add_argument("--steps", type=int, default=5, help="measured steps; default 5")
    parser.add_argument("--batch", type=int, default=0, help="of all processes; default: that of the workload")
    parser.add_argument("--version", action="store_true", help="print PyTorch's version and end")
    parser.add_argument("workload", nargs="?", default="gpt2", choices=list(BATCHES))
    options = parser.parse_args()
    if options.version:
        print("PyTorch", torch.__version__.split("+")[0], "DDP")
        return
    with tempfile.TemporaryDirectory() as folder:
        multiprocessing.spawn(train, (options, Path(folder) / "meeting"), options.processes)


if __name__ == "__main__":
    sys.exit(main())
