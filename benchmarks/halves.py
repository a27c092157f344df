"""Are the same patterns found on other texts? Clusterings of two halves of the texts, compared.

    python benchmarks/halves.py [--models packaged SMOLLM2] [--data sample wiki.valid.raw dev-v2.0.json]
        [--encoders profile] [--methods tree kmeans] [--seeds 0 1 2] [--skip 500] [--maps 36000] [--folder FOLDER]
        [--json]

Each model is collected on each dataset: the packaged corpus (`sample`), paragraphs of a WikiText file, or questions of
a SQuAD file with their passages. The texts are split in two halves at random, once per seed; texts on one passage stay
together. Each half is clustered for itself, principal axes and all, with the defaults of a method; then both fits label
the maps of both halves. Printed are the numbers of clusters, by how much they differ (of the larger one), and how far
the labels agree (adjusted mutual information and adjusted Rand index). `kmeans` has the k of the tree of the same half;
`kmeans-auto` chooses. Encoders that are fitted see both halves: clustering is tested here, not they.
Atlases go to a temporary folder, or to --folder, where they are used again.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score

import headatlas as ha
from headatlas.atlas.groups import read_groups
from headatlas.numeric.sampling import thin
from headatlas.stages.cluster.backends import one_core
from headatlas.stages.cluster.fit import Labels
from headatlas.stages.cluster.method import Method
from headatlas.stages.cluster.methods.kmeans import KMeans
from headatlas.stages.cluster.methods.tree import Tree
from headatlas.stages.cluster.vectors import fit_space

MAPS = 36_000
MAX_TOKENS = 192
LEAST_WORDS = 64
QUESTIONS = 1  # of each passage: as many independent texts as possible
METHODS = ("tree", "kmeans", "kmeans-auto")


def texts(data: str, count: int, skip: int) -> list[ha.data.Example]:
    """Texts of a dataset; those with the same pair belong together."""
    if data.endswith(".json"):
        by_passage: dict[str | None, list[ha.data.Example]] = {}
        for example in ha.data.load(f"squad:{data}"):
            by_passage.setdefault(example.pair, []).append(example)
        examples = [example for passage in _shuffled(by_passage.values()) for example in passage[:QUESTIONS]]
    elif data == "sample":
        examples = list(ha.data.load("sample"))
    else:
        lines = [line.strip() for line in Path(data).read_text(encoding="utf-8").splitlines()]
        long = [line for line in lines if len(line.split()) >= LEAST_WORDS and not line.startswith("= ")]
        examples = [ha.data.Example(str(number), text=line) for number, line in enumerate(_shuffled(long))]
    return examples[skip : skip + count]


def _shuffled(items):
    items = list(items)
    random.Random(0).shuffle(items)
    return items


def collect(model: ha.models.Model, data: str, folder: Path, skip: int, maps: int) -> ha.Atlas:
    """The atlas of a model and a dataset."""
    heads = sum(layer.heads for layer in model.layers)
    parts = [Path(model.name).name, Path(data).name, *(str(number) for number in (skip, maps - MAPS) if number)]
    path = folder / (re.sub(r"\W+", "-", "-".join(parts)) + ".atlas")
    return ha.collect.maps(model, texts(data, maps // heads, skip), path, max_tokens=MAX_TOKENS, qk_tokens=0)


@dataclass(frozen=True)
class Half:
    """Vectors of the maps of some texts, with the place (text, layer, head) and the group of texts of each."""

    values: NDArray[np.float32]
    index: NDArray[np.int64]
    group: NDArray[np.int64]


def halves(atlas: ha.Atlas, encoder: str, seed: int) -> tuple[Half, Half]:
    """The maps of two random halves of the texts."""
    values = np.asarray(atlas.read("features", of=encoder), np.float32)
    group = read_groups(atlas, "pair" if "pair" in atlas.table_columns("examples") else None).number
    first = np.random.default_rng([seed, 5]).permutation(group.max() + 1)[: (group.max() + 1) // 2]
    exists = ~np.isnan(values).any(-1)
    index = np.argwhere(exists)
    chosen = np.isin(group, first)[index[:, 0]]
    parts = (index[chosen], index[~chosen])
    return tuple(Half(values[tuple(part.T)], part, group[part[:, 0]]) for part in parts)


def fit(half: Half, method: Method, values: NDArray[np.float32]) -> tuple[Labels, float]:
    """Labels of any maps by a clustering of one half, as the stage `cluster` makes it, and its seconds of CPU."""
    start = time.process_time()
    with one_core():
        space = fit_space(half.values)
        x = space.apply(half.values)
        small = thin(half.index, method.trial, 0)
        settled, *_ = method.settle(x, x[small], 0, bar=False, units=half.group[small])
        fitted = settled.fit(x, 0)[0]
        return fitted.assign(space.apply(values)), time.process_time() - start


def compare(atlas: ha.Atlas, encoder: str, seed: int, methods: list[str]) -> Iterator[dict]:
    """One row per method."""
    parts = halves(atlas, encoder, seed)
    values = np.concatenate([half.values for half in parts])
    found = [fit(half, Tree(), values) for half in parts]
    for name in methods:
        if name != "tree":
            ks = ["auto" if name == "kmeans-auto" else int(labels.max()) + 1 for labels, _ in found]
            pairs = [fit(half, KMeans(k), values) for half, k in zip(parts, ks, strict=True)]
        else:
            pairs = found
        (a, b), counts = [labels for labels, _ in pairs], [len(np.unique(labels)) for labels, _ in pairs]
        yield {
            "encoder": encoder, "seed": seed, "method": name, "clusters": counts,
            "difference": 1 - min(counts) / max(counts), "ami": float(adjusted_mutual_info_score(a, b)),
            "ari": float(adjusted_rand_score(a, b)), "cpu": sum(seconds for _, seconds in pairs),
        }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", default=["packaged"], help="models as `headatlas collect` takes them")
    parser.add_argument(
        "--data", nargs="+", default=["sample"], help="sample, a WikiText file, or a SQuAD file (.json)"
    )
    parser.add_argument("--encoders", nargs="+", default=["profile"])
    parser.add_argument("--methods", nargs="+", default=["tree", "kmeans"], choices=METHODS)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--skip", type=int, default=0, help="texts of each dataset to leave out, to test on others")
    parser.add_argument("--maps", type=int, default=MAPS, help="about so many in both halves")
    parser.add_argument("--folder", type=Path, help="folder for the atlases")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        for name in arguments.models:
            model = ha.models.load(name)
            for data in arguments.data:
                atlas = collect(model, data, arguments.folder or Path(temporary), arguments.skip, arguments.maps)
                case = {"model": Path(model.name).name, "data": Path(data).name}
                for encoder in arguments.encoders:
                    ha.features.image(atlas, encoder)
                    for seed in arguments.seeds:
                        for row in compare(atlas, encoder, seed, arguments.methods):
                            rows.append(case | row)
                            if not arguments.json:
                                show(rows)
    if arguments.json:
        print(json.dumps(rows, indent=1))


def show(rows: list[dict]) -> None:
    """The last row, and a header before the first."""
    names = ("model", "data", "encoder", "seed", "method", "clusters", "difference", "AMI", "ARI", "CPU s")
    if len(rows) == 1:
        print(f"| {' | '.join(names)} |\n|{' --- |' * len(names)}")
    row = rows[-1]
    counts = " and ".join(map(str, row["clusters"]))
    cells = [*(str(row[name]) for name in names[:5]), counts, f"{100 * row['difference']:.0f}%"]
    cells += [f"{row['ami']:.2f}", f"{row['ari']:.2f}", f"{row['cpu']:.0f}"]
    print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
