"""How far distance mirrors attention in the joint space of queries and keys, head by head.

    python benchmarks/qk_correlation.py packaged.atlas /models/smollm2 --data sample --limit 140

Each argument is an atlas with queries and keys, or a model, which is collected on the data into a temporary atlas.
Prints for each head the scale and Spearman's correlation of distances with products over all pairs: with this scale,
without scaling, and with the closed form; and the means over heads. `queries` is the mean over queries of the
correlation weighted by nearness.
"""

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np

import headatlas as ha
from headatlas.atlas.header import HEADER
from headatlas.numeric.threads import single_thread
from headatlas.stages.qk import correlation
from headatlas.stages.qk.points import choose_points
from headatlas.stages.qk.transform import translated

COLUMNS = ("scale", "spearman", "unscaled", "closed form", "queries")


def heads(atlas, tokens):
    """Layer, head and the columns of every head."""
    rows = choose_points(atlas, tokens, seed=0).row
    query, key = (atlas.read(name)[rows] for name in ("query", "key"))  # (token, layer, head, feature)
    for layer in atlas.header["model"]["layers"]:
        number, groups = layer["index"], layer["heads"] // layer["key_heads"]
        for head in range(layer["heads"]):
            vectors = query[:, number, head], key[:, number, head // groups]
            queries, keys = (part[np.isfinite(part[:, 0])][:, : layer["width"]].astype(np.float32) for part in vectors)
            choice = correlation.choose_scale(queries, translated(queries, keys)[0])
            reached = (choice.spearman, choice.spearman_unscaled, choice.spearman_closed_form)
            yield number, head, choice.scale, *reached, choice.correlation


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
    print(f"{'head':>8}" + "".join(f"{name:>13}" for name in COLUMNS))
    for layer, head, *values in result["heads"]:
        print(f"{f'L{layer}·H{head}':>8}" + "".join(f"{value:13.3f}" for value in values))
    print(f"{'mean':>8}" + "".join(f"{value:13.3f}" for value in result["means"].values()))
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
