"""An atlas whose maps are planted: which pattern each (example, layer, head) shows is known."""

import numpy as np
import pyarrow as pa

from headatlas.atlas import engine
from headatlas.atlas.store import Atlas
from support.atlases import writer

STATS = ["previous", "self", "next", "first", "special:[SEP]", "entropy_relative", "largest", "distance_share"]
TYPICAL = np.array(  # one row per pattern, one column per statistic
    [
        [0.80, 0.05, 0.03, 0.02, 0.02, 0.20, 0.80, 0.05],  # 0 previous token
        [0.02, 0.03, 0.02, 0.05, 0.80, 0.20, 0.80, 0.50],  # 1 separator
        [0.04, 0.04, 0.04, 0.04, 0.04, 0.97, 0.05, 0.33],  # 2 broad
        [0.03, 0.85, 0.03, 0.02, 0.02, 0.15, 0.85, 0.02],  # 3 itself
        [0.03, 0.03, 0.80, 0.02, 0.02, 0.20, 0.80, 0.05],  # 4 next token
    ]
)
R = 8


def drawn(preference, examples, seed=0):
    """Patterns (example, layer, head), drawn from each head's preference (layer, head, pattern)."""
    rng = np.random.default_rng(seed)
    layers, heads, kinds = preference.shape
    steps = rng.random((examples, layers, heads, 1))
    return (steps > np.cumsum(preference / preference.sum(-1, keepdims=True), -1)[None]).sum(-1).clip(0, kinds - 1)


def planted(path, patterns, *, width=6, block=16, noise=0.3, seed=0, columns=None, missing=()):
    """An atlas with these patterns (example, layer, head) in features, statistics and pooled maps; `missing` heads."""
    rng = np.random.default_rng(seed)
    patterns = np.asarray(patterns)
    examples, layers, heads = patterns.shape
    centers = np.random.default_rng(1234).normal(size=(len(TYPICAL), width)) * 4
    features = centers[patterns] + noise * rng.normal(size=(*patterns.shape, width))
    stats = np.clip(TYPICAL[patterns] + 0.02 * rng.normal(size=(*patterns.shape, len(STATS))), 0, 1)
    pooled = np.stack([_map(kind) for kind in range(len(TYPICAL))])[patterns] + 0.01 * rng.random(
        (*patterns.shape, R, R)
    )
    pooled /= pooled.sum(-1, keepdims=True)
    for layer, head in missing:
        for array in (features, stats, pooled):
            array[:, layer, head] = np.nan
    facts = [{"index": n, "kind": "encoder", "heads": heads, "key_heads": heads} for n in range(layers)]
    counts = {"examples": examples, "tokens": 20 * examples, "skipped": 0, "windowed": 0, "windows": 0, "cut": 0}
    model = {"name": "planted", "family": "none", "layers": facts, "heads": heads, "key_heads": heads, "hash": "0" * 8}
    atlas = Atlas.create(
        path,
        {
            "model": model,
            "data": {"name": "planted", "modality": "text", "fingerprint": "0"},
        },
    )
    table = {"example": np.arange(examples), "id": [str(n) for n in range(examples)]}
    table |= {"text": [f"text {n}" for n in range(examples)], "n_tokens": np.full(examples, 20)}
    rows = [
        {"layer": i, "head": h, "kind": "encoder"} for i in range(layers) for h in range(heads) if (i, h) not in missing
    ]
    sizes = {"example": examples, "layer": layers, "head": heads, "query": R, "key": R, "stat": len(STATS)}
    sizes |= {"feature": width, "block": -(-examples // block)}
    with engine.result(atlas, "collect", "collect", {}) as result:
        result.write_table("examples", pa.table(table | (columns or {})))
        result.write_table("heads", pa.Table.from_pylist(rows))
        result.write_table("layers", pa.Table.from_pylist(facts))
        result.create_array("pooled", sizes, block)
        result.create_array("pooled_mean", sizes, 1)
        result.create_array("stats", sizes, block, {"stats": STATS})
        result.write_blocks("pooled", 0, pooled.astype(np.float16))
        means = [pooled[start : start + block].mean(0) for start in range(0, examples, block)]
        result.write_blocks("pooled_mean", 0, np.array(means, np.float32))
        result.write_blocks("stats", 0, stats.astype(np.float32))
        result.finish({"counts": counts, "block": block, "stats": STATS})
    plant_features(atlas, "planted", features, block)
    return atlas


def plant_features(atlas, name, features, block):
    """A finished result of the stage `features` with these values (example, layer, head, feature)."""
    sizes = dict(zip(("example", "layer", "head", "feature"), features.shape, strict=True))
    with engine.result(atlas, "features", name, {"encoder": name}) as result:
        result.create_array("features", sizes, block)
        result.write_blocks("features", 0, features.astype(np.float16))
        result.finish({"width": features.shape[-1]})


def replace_examples(atlas, columns):
    """Write the table `examples` again, with these columns in addition to its example numbers and ids."""
    table = atlas.table("examples").select(["example", "id"]).to_pydict() | columns
    writer(atlas, "collect", "collect").write_table("examples", pa.table(table))


def clustered(atlas, labels, *, name="kmeans", level="maps", seed=0, missing=()):
    """Write a clustering as the stage cluster does."""
    labels = labels.astype(np.int32)
    for layer, head in missing:
        labels[:, layer, head] = -2
    distance = np.random.default_rng(seed).random(labels.shape).astype(np.float32)
    block = 16
    sizes = dict(zip(("example", "layer", "head"), labels.shape, strict=True))
    numbers, counts = np.unique(labels[labels >= 0], return_counts=True)
    rows = [{"cluster": int(c), "maps": int(n), "share": n / labels.size, "stability": 0.9}
            for c, n in zip(numbers, counts, strict=True)]  # fmt: skip
    with engine.result(atlas, "cluster", name, {"seed": seed, "level": level}) as result:
        for array, values in (("labels", labels), ("distance", distance)):
            result.create_array(array, sizes, block)
            result.write_blocks(array, 0, values)
        result.finish({"level": level, "clusters": rows})
    return labels, distance


def _map(kind):
    full = np.full((R, R), 0.1 / R)
    rows = np.arange(R)
    columns = {0: (rows - 1).clip(0), 1: np.full(R, R - 1), 3: rows, 4: (rows + 1).clip(0, R - 1)}.get(kind)
    if columns is not None:
        full[rows, columns] += 0.9
    return full / full.sum(-1, keepdims=True)
