"""What a projection costs, fitting and placing separately, and how far it can be trusted.

    python benchmarks/project.py [ATLAS] [--methods pca umap tsne] [--sample 5000] [--json]

ATLAS has features; without it our own corpus is collected with the packaged model into a temporary folder and encoded
by profile. Each method runs once, with its defaults but for the sample, on one core, in two separate processes:

1. fit: the sample is read and fitted. CPU time with the compiling that UMAP does in every new process.
2. place: the rest of the maps is placed among the sample and given its trust, twice over: the first time is what a new
   process pays, the second what a map costs once all is compiled.

Peak memory is VmHWM of each process. Nothing is written to the atlas.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
from pathlib import Path

METHODS = ("pca", "umap", "tsne")


def packaged_atlas(path):
    import headatlas as ha

    ha.collect.maps("packaged", "sample", path)
    ha.features.image(path, "profile")


def peak():
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def fit(path, kind, sample, file):
    """In a separate process: fit, measure trust, and write the fitted projection to a file."""
    import headatlas as ha
    from headatlas import project
    from headatlas.stages.project.methods import CLASSES
    from headatlas.stages.project.placing import fit as fit_sample

    atlas = ha.open(path)
    of = atlas.needed("features")
    method = CLASSES[kind]()
    start = time.process_time()
    fitted = fit_sample(atlas, of, method, int(sample), 0)
    seconds = time.process_time() - start
    continuity = project.trust_per_point(fitted.positions, fitted.vectors, fitted.neighbors).mean()
    Path(file).write_bytes(pickle.dumps(fitted))
    results = {"sample": len(fitted.numbers), "components": len(fitted.space.shares), "fit_cpu": seconds}
    return results | {
        "fit_mb": peak(), "trustworthiness": float(fitted.trust.mean()), "continuity": float(continuity)
    }  # fmt: skip


def place(path, file):
    """In a separate process: place all maps that were not fitted, twice."""
    import numpy as np

    import headatlas as ha
    from headatlas.stages.project.placing import TOGETHER, points

    atlas = ha.open(path)
    features = atlas.read("features", of=atlas.needed("features"))
    flat = features.reshape(-1, features.shape[-1])
    fitted = pickle.loads(Path(file).read_bytes())
    times = []
    for _ in range(2):
        start = time.process_time()
        parts = [points(fitted, flat[first : first + TOGETHER], first) for first in range(0, len(flat), TOGETHER)]
        times.append(time.process_time() - start)
    trust, placed = (np.concatenate([part[number] for part in parts]) for number in (1, 2))
    count = int(placed.sum())
    results = {"placed": count, "place_cpu": times[0], "place_mb": peak()}
    if count:
        results |= {"maps_a_second": count / times[1], "placed_trustworthiness": float(trust[placed].mean())}
    return results


def child(*arguments):
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    command = [sys.executable, __file__, "--child", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    return json.loads(done.stdout)


def measure(path, methods, sample, folder):
    results = {}
    for kind in methods:
        file = folder / f"{kind}.pickle"
        results[kind] = child("fit", path, kind, sample, file) | child("place", path, file)
        print(f"{kind}: done", file=sys.stderr, flush=True)
    return results


def summary(results):
    print("one run each, CPU time on one core, trust included")
    print(f"{'method':6} {'fitted':>7} {'fit s':>7} {'MB':>6} {'trust':>6} {'contin.':>8}", end="")
    print(f" {'placed':>7} {'first s':>8} {'MB':>6} {'then maps/s':>12} {'trust':>6}")
    for kind, row in results.items():
        print(f"{kind:6} {row['sample']:>7,} {row['fit_cpu']:>7.1f} {row['fit_mb']:>6.0f}", end="")
        print(f" {row['trustworthiness']:>6.3f} {row['continuity']:>8.3f} {row['placed']:>7,}", end="")
        print(f" {row['place_cpu']:>8.1f} {row['place_mb']:>6.0f}", end="")
        if row["placed"]:
            print(f" {row['maps_a_second']:>12,.0f} {row['placed_trustworthiness']:>6.3f}", end="")
        print()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        print(json.dumps({"fit": fit, "place": place}[sys.argv[2]](*sys.argv[3:])))
        raise SystemExit
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("atlas", nargs="?", help="an atlas with features; our own corpus if not given")
    parser.add_argument("--methods", nargs="+", default=METHODS, choices=METHODS)
    parser.add_argument("--sample", type=int, default=5_000, help="maps that are fitted")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        path = given.atlas or Path(temporary) / "sample.atlas"
        if not given.atlas:
            packaged_atlas(path)
        result = measure(path, given.methods, given.sample, Path(temporary))
    if given.json:
        print(json.dumps(result, indent=1))
    else:
        summary(result)
