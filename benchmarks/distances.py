"""Distances of all pairs of heads: our kernel against NumPy loops, in the same run.

    python benchmarks/distances.py [--segments 1000] [--checked 12] [--rounds 5] [--json]

Maps are those of the packaged MiniLM on windows of 128 tokens of our corpus: its 72 heads on one window and its 72 on
the next are taken as 144 heads. Two NumPy programs in float32 are compared with the kernel. `pairs` loops over pairs of
heads, and takes the divergences of all rows of a pair at once. `heads` loops over heads, and takes those of a head
and all later ones at once, as a well-known script does. A round measures all programs on one segment each, in turn, on
one thread; numbers are medians of CPU time over rounds, times the number of segments. The kernel also does all segments
at the end, maps computed by the model included, and in two threads, maps computed before; its error is the largest
difference of a distance per token from the same formula in float64, over `checked` segments. Peak memory is that of a
process of its own for a tenth of the segments, and for all.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

TOKENS, HEADS = 128, 144


def segments(count):
    """Maps (head, query, key) of each segment."""
    import torch

    from headatlas import data, models

    torch.set_num_threads(1)
    model = models.load("packaged")
    text = " ".join(example.text for example in data.load("sample"))
    ids = model.tokenizer(text, add_special_tokens=False, verbose=False).input_ids
    step = (len(ids) - TOKENS) // (count + 1)
    last = None
    for number in range(count + 1):
        maps = window_maps(model, ids[number * step :][: TOKENS - 2])
        if last is not None:
            yield np.concatenate([last, maps])
        last = maps


def window_maps(model, ids):
    import torch

    from headatlas.models import capture

    tokenizer, record = model.tokenizer, capture.Record()
    whole = torch.tensor([[tokenizer.cls_token_id, *ids, tokenizer.sep_token_id]])
    capture.run(model, {"input_ids": whole, "attention_mask": torch.ones_like(whole)}, record)
    return np.concatenate([record.maps[layer.index][0].numpy() for layer in model.layers])


def kernel(maps):
    from headatlas.numeric.jensen_shannon import divergence_sums

    return divergence_sums(maps)


def divergences(first, second):
    """Summed over rows; NumPy's usual form, with 0 ln 0 = 0 by a number too small to matter."""
    mean = (first + second) / 2
    least = np.finfo(np.float32).tiny
    terms = first * np.log((first + least) / (mean + least)) + second * np.log((second + least) / (mean + least))
    return terms.sum((-2, -1)) / 2


def pairs(maps):
    sums = np.zeros((len(maps), len(maps)))
    for first in range(len(maps)):
        for second in range(first):
            sums[first, second] = divergences(maps[first], maps[second])
    return sums + sums.T


def heads(maps):
    sums = np.zeros((len(maps), len(maps)))
    for first in range(len(maps) - 1):
        sums[first, first + 1 :] = divergences(maps[first], maps[first + 1 :])
    return sums + sums.T


PROGRAMS = {"kernel": kernel, "pairs": pairs, "heads": heads}


def timed(function, *arguments):
    cpu, wall = time.process_time(), time.perf_counter()
    result = function(*arguments)
    return result, {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}


def compare(rounds, count):
    """CPU and wall seconds of each program for `count` segments, by medians over rounds."""
    chosen = list(segments(rounds))
    kernel(chosen[0][:3])  # compile
    times = {name: [] for name in PROGRAMS}
    for maps in chosen:
        for name, program in PROGRAMS.items():
            times[name].append(timed(program, maps)[1])
    return {
        name: {clock: count * statistics.median(each[clock] for each in rows) for clock in ("cpu", "wall")}
        for name, rows in times.items()
    }


def threads(rounds, count):
    """Wall seconds of the kernel in two threads for `count` segments."""
    chosen = list(segments(2 * rounds))
    with ThreadPoolExecutor(2) as pool:
        return count / len(chosen) * timed(lambda: list(pool.map(kernel, chosen)))[1]["wall"]


def error(checked):
    """The largest error of a distance per token, of each program."""
    errors = dict.fromkeys(PROGRAMS, 0.0)
    for maps in segments(checked):
        exact = pairs(maps.astype(np.float64))
        for name, program in PROGRAMS.items():
            errors[name] = max(errors[name], float(np.abs(program(maps) - exact).max() / TOKENS))
    return errors


def whole(count):
    """All segments, one after another, in this process: seconds, and peak memory in megabytes."""

    def run():
        total, spent = np.zeros((HEADS, HEADS)), 0.0
        for maps in segments(count):
            sums, taken = timed(kernel, maps)
            total, spent = total + sums, spent + taken["cpu"]
        return spent

    spent, taken = timed(run)
    peak = peak_memory()
    return {"segments": count, "kernel_cpu": spent, "peak_mb": peak} | {f"all_{key}": v for key, v in taken.items()}


def peak_memory():
    """Megabytes of this program alone: `ru_maxrss` would include the process that started it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def in_own_process(count):
    command = [sys.executable, __file__, "--whole", str(count)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def summary(report):
    ours = report["times"]["kernel"]["cpu"]
    print(f"{'':10}{'CPU s':>10}{'wall s':>10}{'CPU / ours':>12}{'error':>10}")
    for name, row in report["times"].items():
        error = report["error_per_token"][name]
        print(f"{name:10}{row['cpu']:>10.1f}{row['wall']:>10.1f}{row['cpu'] / ours:>12.1f}{error:>10.1e}")
    print(f"kernel in two threads: {report['two_threads_wall']:.1f} s")
    for row in report["whole"]:
        kernel_cpu, wall, peak = row["kernel_cpu"], row["all_wall"], row["peak_mb"]
        print(f"{row['segments']:,} segments: kernel {kernel_cpu:.1f} s, with the model {wall:.1f} s, {peak:.0f} MB")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--segments", type=int, default=1000)
    parser.add_argument("--checked", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--whole", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if os.environ.get("OMP_NUM_THREADS") != "1":  # read when loaded
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | {"OMP_NUM_THREADS": "1"})
    if given.whole:
        print(json.dumps(whole(given.whole)))
        sys.exit()
    report = {
        "segments": given.segments,
        "times": compare(given.rounds, given.segments),
        "two_threads_wall": threads(given.rounds, given.segments),
        "error_per_token": error(given.checked),
        "whole": [in_own_process(count) for count in (given.segments // 10, given.segments)],
    }
    print(json.dumps(report, indent=1)) if given.json else summary(report)
