"""Head t-SNE: our kernel against openTSNE on heads of real models, and the time for all heads of a 12 × 12 model.

    python benchmarks/tsne.py [--heads 24] [--runs 15] [--restarts 32] [--json]

1. Half of the heads are drawn (seed 0) from the packaged MiniLM, half from SmolLM2 (in the folder HEADATLAS_MODELS).
   Each is given a text of 200 or 256 tokens in turn, passages of our corpus joined until they are long enough. openTSNE
   takes the same P as precomputed affinities, starts at random, and runs with its defaults (250 + 500 iterations,
   Barnes-Hut) `runs` times; our kernel runs `restarts` times (1,000 iterations). KL of all layouts is taken exactly, in
   float64, by one function. CPU time per layout is that of the process on one thread; ours includes KL, not compiling.
2. 144 maps of 256 tokens (the 72 of MiniLM on two texts), 100 restarts each, in threads on all cores: seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from headatlas import data, models, parallel
from headatlas.data import Example
from headatlas.models.batch import text_batch
from headatlas.models.encode import encode
from headatlas.stages.tsne import kernel
from headatlas.stages.tsne.choice import choose
from headatlas.stages.tsne.heads import head_affinity
from headatlas.stages.tsne.reading import Reading


def text_of(model, tokens, first=0):
    """A reading of exactly `tokens` tokens: passages from `first` on, cut before the closing special tokens."""
    passages = [example.text for example in data.load("sample")][first:]
    text = ""
    for passage in passages:
        text = f"{text} {passage}".strip()
        if len(model.tokenizer(text, verbose=False).input_ids) > tokens:
            break
    encoded = encode(model, Example("bench", text=text), max_tokens=tokens)[0]
    assert len(encoded.source) == tokens
    return Reading(model, text_batch(model, [encoded]), encoded)


def folder_of(name):
    given = os.environ.get("HEADATLAS_MODELS")
    folder = Path(given) / name if given else Path.home() / ".cache" / "headatlas-test-models" / name
    if not (folder / "config.json").exists():
        raise SystemExit(f"no model {name}: set HEADATLAS_MODELS to a folder that holds it")
    return str(folder)


def open_tsne(p, runs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from openTSNE import TSNE
        from openTSNE.affinity import PrecomputedAffinities

        places, start = [], time.process_time()
        for seed in range(runs):
            optimizer = TSNE(initialization="random", random_state=seed, n_jobs=1, negative_gradient_method="bh")
            places.append(np.asarray(optimizer.fit(affinities=PrecomputedAffinities(p.copy())), np.float32))
        seconds = (time.process_time() - start) / runs
    return kernel.divergence(p, np.stack(places)), seconds


def ours(p, restarts):
    start = time.process_time()
    _, kl = kernel.layouts(p, restarts=restarts)
    return kl, (time.process_time() - start) / restarts


def against(count, runs, restarts):
    rng, rows = np.random.default_rng(0), []
    for model in (models.load("packaged"), models.load(folder_of("smollm2"))):
        readings = [text_of(model, tokens) for tokens in (200, 256)]
        all_heads = choose(model, "all")
        for place, number in enumerate(rng.choice(len(all_heads), count // 2, replace=False)):
            layer, head = all_heads[number]
            reading = readings[place % 2]
            p = head_affinity(reading, model.layers[layer], head).p
            (kl, seconds), (their_kl, their_seconds) = ours(p, restarts), open_tsne(p, runs)
            rows.append(
                {
                    "model": model.name, "head": f"L{layer}·H{head}", "n": len(p), "kl": float(np.median(kl)),
                    "kl_least": float(kl.min()), "kl_opentsne": float(np.median(their_kl)), "cpu_ms": 1e3 * seconds,
                    "cpu_ms_opentsne": 1e3 * their_seconds, "times_faster": their_seconds / seconds,
                    "kl_ratio": float(np.median(kl) / np.median(their_kl)),
                }
            )  # fmt: skip
            print(f"{rows[-1]['head']} of {model.name}: done", file=sys.stderr, flush=True)
    return rows


def all_heads_of_text(restarts=100, tokens=256):
    model = models.load("packaged")
    jobs = []
    for first in (0, 40):
        reading = text_of(model, tokens, first)
        jobs += [head_affinity(reading, model.layers[layer], head).p for layer, head in choose(model, "all")]
    wall, cpu = time.perf_counter(), time.process_time()
    with ThreadPoolExecutor(parallel.cores()) as pool:
        list(pool.map(lambda job: kernel.layouts(job, restarts=restarts), jobs))
    return {
        "maps": len(jobs), "tokens": tokens, "restarts": restarts, "cores": parallel.cores(),
        "seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu,
    }  # fmt: skip


def summary(result):
    rows, all_heads = result["heads"], result["whole"]
    print(f"{'model':20} {'head':>8} {'n':>4} {'KL':>8} {'openTSNE':>9} {'ratio':>7}", end="")
    print(f" {'ms':>7} {'openTSNE':>9} {'faster':>7}")
    for row in rows:
        print(
            f"{row['model'][:20]:20} {row['head']:>8} {row['n']:>4} {row['kl']:>8.4f} {row['kl_opentsne']:>9.4f}",
            end="",
        )
        print(
            f" {row['kl_ratio']:>7.4f} {row['cpu_ms']:>7.2f} {row['cpu_ms_opentsne']:>9.0f} {row['times_faster']:>7.0f}"
        )
    print(f"largest ratio of median KL {max(row['kl_ratio'] for row in rows):.4f}, ", end="")
    print(f"faster by {min(row['times_faster'] for row in rows):.0f} at least, ", end="")
    print(f"{statistics.median(row['times_faster'] for row in rows):.0f} in the median")
    if all_heads:
        print(
            "{maps} maps of {tokens} tokens, {restarts} restarts: {seconds:.0f} s on {cores} cores".format(**all_heads)
        )
        print(f"(CPU time {all_heads['cpu_seconds']:.0f} s; one run)")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--heads", type=int, default=24)
    parser.add_argument("--runs", type=int, default=15, help="layouts of a head by openTSNE")
    parser.add_argument("--restarts", type=int, default=32, help="layouts of a head by our kernel")
    parser.add_argument("--no-whole", action="store_true", help="leave out all heads of a 12 × 12 model")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if os.environ.get("OMP_NUM_THREADS") != "1":  # read when libraries are loaded
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | threads)
    kernel.layouts(np.full((4, 4), 1 / 12) * (1 - np.eye(4)), restarts=1, iterations=4)  # compile
    result = {
        "heads": against(given.heads, given.runs, given.restarts),
        "whole": None if given.no_whole else all_heads_of_text(),
    }
    if given.json:
        print(json.dumps(result, indent=1))
    else:
        summary(result)
