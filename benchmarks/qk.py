"""Queries and keys of real heads in the plane: our t-SNE against openTSNE, scikit-learn, UMAP and PCA.

    python benchmarks/qk.py [ATLAS] [--heads 6] [--tokens 5000] [--methods ours opentsne sklearn umap pca]
                            [--curve] [--stage] [--workers 1] [--json]

ATLAS holds queries and keys of at least as many tokens (`headatlas collect … --qk-tokens 6000`); without it our own
corpus is collected with the packaged model into a temporary folder. Heads are drawn at random (seed 0), their keys get
the mean of the queries, and both are made equally long. Every method has its defaults and one thread, and has run once
on 500 points, UMAP on 5,000, before it is measured. KL of all layouts in the plane is taken by one exact function, over
the P of exact neighbors with perplexity 30; trustworthiness is that of 15 neighbors. CPU time is that of the process.
Each head's numbers are printed as they are measured, then medians over all heads. With --curve, our t-SNE is also
measured with other numbers of iterations. With --workers, heads are measured in so many processes: all methods of a
head in one.
With --stage, only the parts of `headatlas qk` are timed for each head: the scale, t-SNE, and trust with continuity.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

CURVE = (50, 100, 150, 200, 300, 400, 500)  # iterations of our t-SNE after those with exaggeration
PARTS = ("scale", "tsne", "trust")  # of the stage
METHODS = ("ours", "opentsne", "sklearn", "umap", "pca")


def packaged_atlas(folder):
    import headatlas as ha

    ha.collect.maps("packaged", "sample", folder / "sample.atlas", qk_tokens=8000)
    return folder / "sample.atlas"


def vectors_of(path, count, tokens):
    """Names and vectors (2 · token, feature) of heads drawn at random: queries first, then keys."""
    import headatlas as ha
    from headatlas.stages.qk.transform import closed_form, scaled, translated

    atlas = ha.open(path)
    query, key = (atlas.read(name) for name in ("query", "key"))
    present = np.flatnonzero(np.isfinite(query).all((1, 2, 3)) & np.isfinite(key).all((1, 2, 3)))[:tokens]
    if len(present) < tokens:
        raise SystemExit(f"{path} holds queries and keys of {len(present)} tokens: collect it with more --qk-tokens")
    layers, heads = query.shape[1:3]
    groups = heads // key.shape[2]
    for number in np.random.default_rng(0).choice(layers * heads, count, replace=False):
        layer, head = divmod(int(number), heads)
        queries = query[present, layer, head].astype(np.float32)
        keys, _ = translated(queries, key[present, layer, head // groups].astype(np.float32))
        yield f"L{layer}·H{head}", np.concatenate(scaled(queries, keys, closed_form(queries, keys)))


def layout(method, vectors):
    if method.startswith("ours"):
        from headatlas.numeric.fast_tsne.embed import ITERATIONS, embed

        return embed(vectors, iterations=int(method[5:] or ITERATIONS))[0]
    if method == "opentsne":
        from openTSNE import TSNE

        return np.asarray(TSNE(n_jobs=1, random_state=0).fit(vectors))
    if method == "sklearn":
        from sklearn.manifold import TSNE

        return TSNE(n_jobs=1, random_state=0).fit_transform(vectors)
    if method == "umap":
        from umap import UMAP

        return UMAP(n_jobs=1, random_state=0).fit_transform(vectors)
    from headatlas.numeric.pca import fit_pca

    return fit_pca(vectors, components=2).apply(vectors)


def measure(method, vectors, p):
    from headatlas.numeric.fast_tsne.divergence import divergence
    from headatlas.numeric.trust import trust_per_point

    cpu, wall = time.process_time(), time.perf_counter()
    positions = layout(method, vectors)
    numbers = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
    trust = trust_per_point(vectors, positions).mean(dtype=np.float64)
    return numbers | {"kl": divergence(p, positions), "trust": float(trust)}


def warm_up(methods):
    """Import and compile."""
    from headatlas.numeric.fast_tsne.affinities import joint_probabilities

    warnings.simplefilter("ignore")
    for method in methods:
        points = 5000 if method == "umap" else 500  # it has another search for neighbors from 4,096 points on
        vectors = np.random.default_rng(0).normal(size=(points, 32)).astype(np.float32)
        measure(method, vectors, joint_probabilities(vectors, 30.0))


def measure_head(name, vectors, methods):
    from headatlas.numeric.fast_tsne.affinities import joint_probabilities

    p, rows = joint_probabilities(vectors.astype(np.float32), 30.0), []
    for method in methods:
        rows.append({"head": name, "method": method} | measure(method, vectors, p))
        print(json.dumps(rows[-1], ensure_ascii=False), file=sys.stderr, flush=True)
    return rows


def time_parts(name, vectors, methods):
    """CPU seconds of each part of the stage."""
    from headatlas.numeric.neighborhoods import neighborhoods
    from headatlas.stages.qk.correlation import choose_scale

    query, key = np.split(vectors, 2)
    choose_scale(query[:20], key[:20])  # compile
    neighborhoods(vectors[:99], vectors[:99, :2], 15)
    moments = [time.process_time()]
    choose_scale(query, key)
    moments.append(time.process_time())
    positions = layout("ours", vectors)
    moments.append(time.process_time())
    neighborhoods(vectors, positions, 15)
    moments.append(time.process_time())
    parts = zip(methods, np.diff(moments).tolist(), strict=True)
    rows = [{"head": name, "method": part, "cpu": seconds} for part, seconds in parts]
    print(json.dumps(rows, ensure_ascii=False), file=sys.stderr, flush=True)
    return rows


def compare(path, count, tokens, methods, workers, job):
    context = multiprocessing.get_context("spawn")
    warm = ["ours"] if job is time_parts else methods
    with ProcessPoolExecutor(workers, context, warm_up, (warm,)) as pool:
        jobs = [pool.submit(job, *head, methods) for head in vectors_of(path, count, tokens)]
        return [row for job in jobs for row in job.result()]


def medians(rows, methods):
    table = {}
    for method in methods:
        chosen = [row for row in rows if row["method"] == method]
        names = [name for name in chosen[0] if name not in ("head", "method")]
        table[method] = {name: statistics.median(row[name] for row in chosen) for name in names}
    return table


def summary(table):
    names = [*next(iter(table.values()))]
    print(f"{'':10}" + "".join(f"{name:>10}" for name in names) + ("  CPU / ours" if "ours" in table else ""))
    for method, row in table.items():
        ratio = f"{row['cpu'] / table['ours']['cpu']:>12.1f}" if "ours" in table else ""
        print(f"{method:10}" + "".join(f"{row[name]:>10.4g}" for name in names) + ratio)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("atlas", nargs="?")
    parser.add_argument("--heads", type=int, default=6)
    parser.add_argument("--tokens", type=int, default=5000)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--curve", action="store_true", help="also with other numbers of iterations")
    parser.add_argument("--stage", action="store_true", help="time the parts of the stage instead")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if os.environ.get("OMP_NUM_THREADS") != "1" or os.environ.get("NUMBA_NUM_THREADS") != "1":  # read when loaded
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | threads)
    methods = [*given.methods, *(f"ours-{iterations}" for iterations in CURVE if given.curve)]
    methods, job = (PARTS, time_parts) if given.stage else (methods, measure_head)
    with tempfile.TemporaryDirectory() as folder:
        atlas = given.atlas or packaged_atlas(Path(folder))
        rows = compare(atlas, given.heads, given.tokens, methods, given.workers, job)
    if given.json:
        print(json.dumps({"heads": rows, "medians": medians(rows, methods)}, indent=1, ensure_ascii=False))
    else:
        summary(medians(rows, methods))
