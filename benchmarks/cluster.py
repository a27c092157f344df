"""What clustering, projecting and correlating cost as the number of maps grows, and how much memory they take.

    python benchmarks/cluster.py [--sizes 10000 100000] [--repeats 3] [--methods kmeans dbscan] [--json]

An atlas with features of 64 numbers per map (a mixture of thirty overlapping patterns, 72 heads that prefer some of
them) is written to a temporary folder for each size. Each method runs with its defaults in a separate process: CPU time
of all threads, and peak memory (VmHWM). Sizes up to 30,000 are run `--repeats` times and the median is given; larger
ones once. The cost at the largest size over that at the smallest is compared with the ratio of n log n.

    python benchmarks/cluster.py --agree x.atlas [--k 15]

compares KMeans on the default sample with KMeans on all maps (`sample=0`) and on another sample, for an atlas that has
features: adjusted Rand index over all maps. The results stay in the atlas, named agree-….
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000)
QUICK = 30_000
LAYERS, HEADS, WIDTH, BLOCK, PATTERNS = 6, 12, 64, 128, 30
STATS = ["previous", "self", "next", "first", "special:[SEP]", "entropy_relative", "largest", "distance_share"]
STATED = {"stats": STATS}
METHODS = {
    "kmeans k=auto": ("kmeans", {}),
    "kmeans k=12": ("kmeans", {"k": 12}),
    "dbscan": ("dbscan", {}),
    "hdbscan": ("hdbscan", {}),
    "tree": ("tree", {}),
    "project pca": ("pca", {}),
    "correlate": ("correlate", {}),
}


def write_atlas(path, maps):
    """Features, and what correlate reads besides labels: no model is needed to time clustering."""
    import numpy as np

    from headatlas import cluster
    from headatlas.atlas import engine
    from headatlas.atlas.store import Atlas

    examples = round(maps / (LAYERS * HEADS))
    header = {"model": {"name": "mixture", "layers": [], "heads": HEADS}, "data": {"name": "mixture"}}
    atlas = Atlas.create(path, header)
    sizes = {"example": examples, "layer": LAYERS, "head": HEADS, "feature": WIDTH, "stat": len(STATS)}
    rng = np.random.default_rng(0)
    write_collection(atlas, sizes, rng)
    centers = rng.normal(size=(PATTERNS, WIDTH)).astype(np.float32)
    preferences = np.cumsum(rng.dirichlet([0.1] * PATTERNS, (LAYERS, HEADS)), -1)
    with engine.result(atlas, "features", "mixture", {}) as result:
        result.create_array("features", sizes, BLOCK)
        for start in range(0, examples, BLOCK):
            shape = (min(BLOCK, examples - start), LAYERS, HEADS)
            patterns = (rng.random((*shape, 1)) > preferences).sum(-1).clip(0, PATTERNS - 1)
            noise = rng.standard_normal((*shape, WIDTH), np.float32) * 0.6
            result.write_blocks("features", start, (centers[patterns] + noise).astype(np.float16))
        result.finish({"width": WIDTH})
    cluster.kmeans(atlas, k=12, name="given")
    return examples * LAYERS * HEADS


def write_collection(atlas, sizes, rng):
    """Statistics, heads, and examples with a column."""
    import numpy as np
    import pyarrow as pa

    from headatlas.atlas import engine

    heads = [{"layer": layer, "head": head} for layer in range(LAYERS) for head in range(HEADS)]
    numbers = np.arange(sizes["example"])
    columns = {"example": numbers, "id": numbers.astype(str), "text": numbers.astype(str)}
    columns |= {"n_tokens": 20 + numbers % 400, "label": numbers % 4}
    with engine.result(atlas, "collect", "collect", {}) as result:
        result.write_table("heads", pa.Table.from_pylist(heads))
        result.write_table("examples", pa.table(columns))
        result.create_array("stats", sizes, BLOCK, STATED)
        for start in range(0, len(numbers), BLOCK):
            shape = (min(BLOCK, len(numbers) - start), LAYERS, HEADS, len(STATS))
            result.write_blocks("stats", start, rng.random(shape, np.float32))
        result.finish({})


def one_run(path, what, name):
    """In a separate process: CPU seconds and peak memory in megabytes."""
    import headatlas as ha
    from headatlas import cluster, correlate, project

    method, options = METHODS[what]
    atlas = ha.open(path)
    start = time.process_time()
    if method == "correlate":
        correlate.clusters(atlas, of="given", seed=int(name[3:]))
        labels = atlas.read("labels", of="given")
    elif method in project.METHODS:
        project.METHODS[method](atlas, name=name, **options)
        labels = atlas.read("labels", of="given")
    else:
        labels = cluster.METHODS[method](atlas, name=name, **options)
    seconds = time.process_time() - start
    peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    print(json.dumps({"cpu": seconds, "mb": int(peak.split()[1]) / 1024, "clusters": int(labels.max()) + 1}))


def agreement(path, k):
    """Adjusted Rand index between KMeans on a sample, on all maps, and on another sample."""
    from sklearn.metrics import adjusted_rand_score

    import headatlas as ha
    from headatlas import cluster

    atlas = ha.open(path)
    runs = {"sample": {}, "all": {"sample": 0}, "other": {"seed": 1}}
    labels = {name: cluster.kmeans(atlas, k=k, name=f"agree-{name}", **more) for name, more in runs.items()}
    labeled = labels["all"] >= 0
    pairs = (("sample", "all"), ("sample", "other"))
    return {f"{a} / {b}": float(adjusted_rand_score(labels[a][labeled], labels[b][labeled])) for a, b in pairs}


def child(*arguments):
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, __file__, "--child", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    return json.loads(done.stdout)


def measure(sizes, repeats, methods):
    results = {name: [] for name in methods}
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "x.atlas"
            maps = write_atlas(path, size)
            for name, rows in results.items():
                runs = [child(path, name, f"run{turn}") for turn in range(repeats if size <= QUICK else 1)]
                rows.append({key: statistics.median(run[key] for run in runs) for key in runs[0]})
                rows[-1] |= {"maps": maps, "runs": len(runs)}
                line = f"{name:14} {maps:>9,} maps  {rows[-1]['cpu']:8.1f} s  {rows[-1]['mb']:6.0f} MB"
                print(line, f" {rows[-1]['clusters']:.0f} clusters  {len(runs)} runs", file=sys.stderr, flush=True)
    return results


def summary(results):
    for name, rows in results.items():
        print(f"\n{name}")
        print(f"{'maps':>10} {'CPU s':>9} {'µs a map':>9} {'peak MB':>8} {'runs':>5}")
        for row in rows:
            a_map = 1e6 * row["cpu"] / row["maps"]
            print(f"{row['maps']:>10,} {row['cpu']:>9.1f} {a_map:>9.0f} {row['mb']:>8.0f} {row['runs']:>5}")
        if len(rows) > 1:
            a, b = rows[0], rows[-1]
            expected = b["maps"] * math.log(b["maps"]) / (a["maps"] * math.log(a["maps"]))
            print(f"cost ratio, last to first: {b['cpu'] / a['cpu']:.1f}; n log n would be {expected:.0f}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        one_run(*sys.argv[2:])
        raise SystemExit
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--agree", metavar="ATLAS", help="compare a fit on a sample with one on all maps instead")
    parser.add_argument("--k", type=int, default=15)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if given.agree:
        results = agreement(given.agree, given.k)
        print(
            json.dumps(results)
            if given.json
            else "\n".join(f"{pair:16} {value:.3f}" for pair, value in results.items())
        )
        raise SystemExit
    result = measure(sorted(given.sizes), given.repeats, given.methods)
    if given.json:
        print(json.dumps(result, indent=1))
    else:
        summary(result)
