"""How far distance mirrors attention in the joint space of queries and keys, head by head.

    python benchmarks/qk_correlation.py packaged.atlas /models/smollm2 --data sample --limit 140

Each argument is an atlas with queries and keys, or a model, which is collected on the data into a temporary atlas.
Prints for each head the scale and Spearman's correlation of distances with products over all pairs: with this scale,
without scaling, and with the closed form; and the means over heads. `weighted` is the correlation over the same pairs,
weighted by 1 / distance², `queries` the mean over queries of each query's own. The last three columns are the same,
with the same scale, over those pairs only for which the model computes attention: a query and a key of the same
example, in causal layers not after it.
"""

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

import headatlas as ha
from headatlas.atlas.header import HEADER
from headatlas.numeric.threads import single_thread
from headatlas.stages.qk import correlation
from headatlas.stages.qk.points import choose_points
from headatlas.stages.qk.transform import translated
from headatlas.stages.qk.vectors import read_layer

COLUMNS = (
    "scale", "spearman", "unscaled", "closed form", "weighted", "queries",
    "own spearman", "own weighted", "own queries",
)  # fmt: skip


def heads(atlas, tokens):
    """Layer, head and the columns of every head."""
    points = choose_points(atlas, tokens, seed=0)
    example = atlas.table("tokens", columns=["example"])["example"].to_numpy()[points.token]
    for layer in atlas.header["model"]["layers"]:
        query, key = read_layer(atlas, points.row, layer)  # (token, head, feature)
        for head in range(layer["heads"]):
            yield layer["index"], head, *columns(query[:, head], key[:, head], example, layer["causal"])


def columns(query, key, example, causal):
    """The columns of one head; NaN rows are no vectors."""
    has_query, has_key = (np.isfinite(vectors).all(1) for vectors in (query, key))
    queries, keys = query[has_query], key[has_key]
    moved, by = translated(queries, keys)
    choice = correlation.choose_scale(queries, moved)
    near = correlation.weighted_correlation(correlation.Pairs.of(queries, moved, 0), choice.scale)
    both = has_query & has_key
    own = correlations(*own_pairs(query[both], key[both] + by, example[both], causal, choice.scale))
    reached = (choice.spearman, choice.spearman_unscaled, choice.spearman_closed_form)
    return choice.scale, *reached, near, choice.correlation, *own


def own_pairs(query, key, example, causal, scale):
    """Distances, products and number of the query of all pairs for which attention is computed."""
    parts = []
    for number in np.unique(example):
        own = np.flatnonzero(example == number)
        pairs = correlation.Pairs.all(query[own], key[own])
        row, column = np.nonzero(np.tri(len(own)) if causal else np.ones((len(own), len(own))))
        distance = np.sqrt(pairs.squared_distances(scale))
        parts.append((distance[row, column], pairs.product[row, column], own[row]))
    return [np.concatenate(values) for values in zip(*parts, strict=True)] if parts else [np.empty(0)] * 3


def correlations(distance, product, query):
    """Spearman's correlation, the correlation weighted by nearness, and the mean over queries of the latter."""
    if len(distance) < 3:
        return (np.nan,) * 3
    weight = 1 / (distance**2 + correlation.SOFT * (np.median(distance**2) or 1))
    of_queries = weighted(distance, product, weight, np.unique(query, return_inverse=True)[1])
    everywhere = weighted(distance, product, weight, np.zeros(len(distance), int))
    return spearmanr(distance, product)[0], everywhere[0], np.nanmean(of_queries)


def weighted(first, second, weight, group):
    """The weighted correlation in each group; NaN where one of the two hardly varies, as with one or two pairs."""
    total = np.bincount(group, weight)
    first, second = (values - (np.bincount(group, weight * values) / total)[group] for values in (first, second))
    together, *alone = (np.bincount(group, weight * values) for values in (first * second, first**2, second**2))
    known = (np.bincount(group) > 2) & (alone[0] > 1e-12 * total) & (alone[1] > 1e-12 * total)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(known, together / np.sqrt(alone[0] * alone[1]), np.nan)


def measure(source, data, limit, tokens):
    """The table of one model, and its means."""
    with tempfile.TemporaryDirectory() as folder:
        stored = (Path(source) / HEADER).exists()
        atlas = ha.open(source) if stored else ha.collect.maps(
            source, ha.data.load(data, limit=limit), Path(folder) / "x.atlas", resolution=8, qk_tokens=tokens
        )  # fmt: skip
        name = atlas.header["model"]["name"]
        with single_thread("scipy.stats"):
            table = list(heads(atlas, tokens))
    values = np.array([row[2:] for row in table])
    worse = int(((values[:, 1] > values[:, 2]) | (values[:, 1] > values[:, 3])).sum())
    means = dict(zip(COLUMNS, np.nanmean(values, 0).round(4).tolist(), strict=True))
    return {"model": name, "data": atlas.header["data"]["name"], "heads": table, "means": means, "worse": worse}


def show(result):
    """Print the table of one model."""
    print(f"{result['model']} on {result['data']}")
    print(f"{'head':>8}" + "".join(f"{name:>14}" for name in COLUMNS))
    for layer, head, *values in result["heads"]:
        print(f"{f'L{layer}·H{head}':>8}" + "".join(f"{value:14.3f}" for value in values))
    print(f"{'mean':>8}" + "".join(f"{value:14.3f}" for value in result["means"].values()))
    print(f"heads where the scale is worse than none or than the closed form: {result['worse']}\n", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="+", metavar="ATLAS|MODEL")
    parser.add_argument("--data", default="sample")
    parser.add_argument("--limit", type=int, default=300)
    parser.add_argument("--tokens", type=int, default=5000)
    parser.add_argument("--side", type=int, default=correlation.SIDE, help="queries, and keys, that are paired")
    parser.add_argument("--json", help="write everything to this file")
    options = parser.parse_args()
    correlation.SIDE = options.side
    results = [measure(source, options.data, options.limit, options.tokens) for source in options.sources]
    for result in results:
        show(result)
    if options.json:
        Path(options.json).write_text(json.dumps(results))


if __name__ == "__main__":
    main()
