"""Queries and keys of real heads in the plane: our t-SNE against openTSNE, scikit-learn, UMAP and PCA.

    python benchmarks/qk.py [ATLAS] [--heads 6] [--tokens 5000] [--methods ours opentsne sklearn umap pca] [--json]

ATLAS holds queries and keys of at least as many tokens (`headatlas collect … --qk-tokens 6000`); without it our own
corpus is collected with the packaged model into a temporary folder. Heads are drawn at random (seed 0), their keys get
the mean of the queries, and both are made equally long. Every method has its defaults and one thread, and has run once
on 500 points before it is measured. KL of all layouts in the plane is taken by one exact function, over the P of exact
neighbors with perplexity 30; trustworthiness is that of 15 neighbors. CPU time is that of the process. Each head's
numbers are printed as they are measured, then medians over all heads.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

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
    if method == "ours":
        from headatlas.numeric.fast_tsne.embed import embed

        return embed(vectors)[0]
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


def compare(path, count, tokens, methods):
    from headatlas.numeric.fast_tsne.affinities import joint_probabilities

    rows = []
    for name, vectors in vectors_of(path, count, tokens):
        if not rows:
            for method in methods:  # compile and import
                layout(method, vectors[:: len(vectors) // 500])
        p = joint_probabilities(vectors, 30.0)
        for method in methods:
            rows.append({"head": name, "method": method} | measure(method, vectors, p))
            print(json.dumps(rows[-1], ensure_ascii=False), file=sys.stderr, flush=True)
    return rows


def medians(rows, methods):
    table = {}
    for method in methods:
        chosen = [row for row in rows if row["method"] == method]
        table[method] = {
            name: statistics.median(row[name] for row in chosen) for name in ("cpu", "wall", "kl", "trust")
        }
    return table


def summary(table):
    ours = table.get("ours")
    print(f"{'method':10} {'CPU s':>8} {'wall s':>8} {'KL':>8} {'trust':>8} {'CPU / ours':>11}")
    for method, row in table.items():
        ratio = f"{row['cpu'] / ours['cpu']:>11.1f}" if ours else ""
        print(f"{method:10} {row['cpu']:>8.1f} {row['wall']:>8.1f} {row['kl']:>8.3f} {row['trust']:>8.4f} {ratio}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("atlas", nargs="?")
    parser.add_argument("--heads", type=int, default=6)
    parser.add_argument("--tokens", type=int, default=5000)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if os.environ.get("OMP_NUM_THREADS") != "1" or os.environ.get("NUMBA_NUM_THREADS") != "1":  # read when loaded
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | threads)
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        atlas = given.atlas or packaged_atlas(Path(folder))
        rows = compare(atlas, given.heads, given.tokens, given.methods)
    if given.json:
        print(json.dumps({"heads": rows, "medians": medians(rows, given.methods)}, indent=1, ensure_ascii=False))
    else:
        summary(medians(rows, given.methods))
