"""From options to a finished result."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from headatlas import progress, wording
from headatlas.atlas import engine
from headatlas.atlas.display import mean_maps
from headatlas.atlas.store import Atlas
from headatlas.atlas.writer import block_name
from headatlas.numeric.fast_tsne.perplexity import PERPLEXITY, perplexity_for
from headatlas.numeric.trust import neighbors_for
from headatlas.stages.qk.block import ARRAYS, EmbedBlock
from headatlas.stages.qk.head_map import PAIRS
from headatlas.stages.qk.methods import result_name
from headatlas.stages.qk.points import Points, choose_points
from headatlas.stages.qk.tables import HEADS, head_maps, make_table
from headatlas.stages.qk.tokens import points_table


@dataclass(frozen=True)
class Options:
    """What determines the bytes of a result."""

    method: str
    dims: int
    tokens: int
    seed: int


def run(atlas: Atlas, options: Options, workers: int, scheduler: str | None) -> str:
    """Draw all heads, or continue; returns the name of the result."""
    name = result_name(options.method, options.dims)
    points = choose_points(atlas, options.tokens, options.seed)
    with engine.result(atlas, "qk", name, asdict(options)) as result:
        if not result.finished:
            _report(options.method, len(points))
            _create_arrays(result, atlas, points, options.dims)
            _embed(result, atlas, points, options, workers, scheduler)
            _finish(result, atlas, points, options)
    return name


def _report(method: str, tokens: int) -> None:
    perplexity = perplexity_for(2 * tokens)
    if method == "tsne" and perplexity < PERPLEXITY:
        what = f"{wording.many(2 * tokens, 'point')} {'are' if tokens else 'is'} few for t-SNE"
        progress.say(f"{what}: perplexity {perplexity:.3g} in place of {PERPLEXITY:.3g}")


def _create_arrays(result: engine.Result, atlas: Atlas, points: Points, dims: int) -> None:
    model = atlas.header["model"]
    sizes = {"layer": len(model["layers"]), "head": model["heads"], "point": 2 * len(points), "axis": dims}
    for name in ARRAYS:
        result.create_array(name, sizes | {"pair": PAIRS}, 1, {"neighbors": neighbors_for(2 * len(points))})


def _embed(
    result: engine.Result, atlas: Atlas, points: Points, options: Options, workers: int, scheduler: str | None
) -> None:
    """Draw the heads of every layer; a block is a layer."""
    heads = np.cumsum([0, *(layer["heads"] for layer in atlas.header["model"]["layers"])]).tolist()
    ranges = [range(first, last) for first, last in pairwise(heads)]
    work = EmbedBlock(result.place, points.row, options.method, options.dims, options.seed)
    threads = 1 if options.method == "umap" else None  # numba's threads cannot be entered twice at a time
    engine.run_blocks(
        result, work, ranges, "drawing queries and keys", unit="heads", threads=threads, workers=workers,
        scheduler=scheduler,
    )  # fmt: skip


def _finish(result: engine.Result, atlas: Atlas, points: Points, options: Options) -> None:
    """Write the tables."""
    manifests = [result.manifest(block_name(number)) for number in range(len(atlas.header["model"]["layers"]))]
    rows = [row for manifest in manifests if manifest is not None for row in manifest["facts"]["heads"]]
    heads = [(row["layer"], row["head"]) for row in rows]
    layer, head = np.array(heads).T
    shapes = result.atlas.read("qk_shape", of=result.place.name)[layer, head].astype(np.float32)
    vectors = {
        "embedding": shapes / np.sqrt(shapes.shape[1]),
        "attention": np.sqrt(mean_maps(atlas)[layer, head].reshape(len(heads), -1)),
    }
    placed, related = head_maps(vectors, heads, options.seed)
    tables = {"qk_points": points_table(atlas, points), "qk_heads": make_table(rows, HEADS)}
    tables |= {"qk_map": placed, "qk_related": related}
    files = [result.write_table(name, table) for name, table in tables.items()]
    result.finish(_facts(rows, points, options), files)


def _facts(rows: list[dict[str, Any]], points: Points, options: Options) -> dict[str, Any]:
    """The facts recorded with the result: what was drawn, and means over heads."""
    facts: dict[str, Any] = {"method": options.method, "dims": options.dims, "heads": len(rows)}
    facts |= {"examples": len(points.examples), "tokens": len(points), "neighbors": neighbors_for(2 * len(points))}
    if options.method == "tsne":
        facts["perplexity"] = round(perplexity_for(2 * len(points)), 3)
    for name in ("correlation", "spearman", "trust", "continuity", "kept"):
        values = [row[name] for row in rows if row[name] is not None]
        facts[name] = round(float(np.mean(values)), 4) if values else None
    return facts
