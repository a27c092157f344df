"""Findings in the joint space of queries and keys: pictures, and numbers beside what chance gives.

    python examples/qk_findings.py FOLDER --treebank en_ewt-ud-dev.conllu [--pictures docs/images] [--untrained]

Atlases go to FOLDER; the same command continues after a stop. A head is chosen on texts that are not drawn, and all
numbers are from the texts that are: those of the picture. Neighbors are the ten nearest queries and keys of other
texts, in the space that is projected; for parts of speech, of other words too. Strength is that of the page: 1 − (mean
difference of neighbors) / (mean difference of all pairs). Intervals are 95 %, over texts drawn with replacement;
`shuffled` is the same number with the column shuffled within each text: its mean, and its largest value of 100.
`--untrained` prints the same numbers for the same models with random weights, and draws nothing. Prints JSON.
"""

import argparse
import io
import json
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import headatlas as ha
from headatlas.numeric.metrics import interval
from headatlas.numeric.sharing import differences, nearest
from headatlas.stages.qk.colorings import COLORINGS, SCALES
from headatlas.stages.qk.points import Points, choose_points
from headatlas.stages.qk.tokens import points_table
from headatlas.stages.qk.transform import closed_form, scaled, translated
from headatlas.stages.qk.vectors import read_layer
from headatlas.wording import head_name

TEXT_TOKENS, IMAGE_TOKENS = 800, 1_040  # drawn
IMAGES = "sample:images"
DRAWS, SHUFFLES, DPI = 1_000, 100, 110
NUMERIC = {coloring.name: coloring.kind == "number" for coloring in COLORINGS}


class Sample:
    """Some texts or images of an atlas: their tokens, and the queries and keys of every head."""

    def __init__(self, atlas: ha.Atlas, points: Points, trained: ha.Atlas | None = None) -> None:
        self.atlas, self.rows = atlas, points.row
        self.tokens = points_table(trained or atlas, points).to_pandas()
        self.text = np.unique(self.tokens["example"], return_inverse=True)[1]
        self.word = atlas.table("tokens")["text"].to_numpy()[self.tokens["token"]]
        self.special = self.tokens["special"].to_numpy(bool)

    @cached_property
    def heads(self) -> dict[tuple[int, int], tuple[Any, Any]]:
        """Queries and keys (token, feature) of each head."""
        layers = self.atlas.header["model"]["layers"]
        vectors = [(layer["index"], *read_layer(self.atlas, self.rows, layer)) for layer in layers]
        return {(n, head): (q[:, head], k[:, head]) for n, q, k in vectors for head in range(q.shape[1])}

    def joint(self, head: tuple[int, int]) -> Any:
        """Queries, then keys, in one space."""
        query, key = self.heads[head]
        moved = translated(query, key)[0]
        return np.concatenate(scaled(query, moved, self.scales.get(head) or closed_form(query, moved)))

    @cached_property
    def scales(self) -> dict[tuple[int, int], float]:
        """The scales of the heads that were drawn."""
        if "qk" not in self.atlas.header["results"]:
            return {}
        rows = self.atlas.table("qk_heads").to_pylist()
        return {(row["layer"], row["head"]): row["scale"] for row in rows}

    def column(self, name: str) -> Any:
        """Numbers, or categories as numbers; NaN or −1 for special tokens and where there is none."""
        values = self.tokens[name]
        if NUMERIC[name]:
            return np.where(self.special, np.nan, values.to_numpy(float))
        return np.where(self.special, -1, values.astype("category").cat.codes)

    def near(self, head: tuple[int, int], name: str) -> Any:
        """The neighbors of each point."""
        apart = [self.text, np.unique(self.word, return_inverse=True)[1]] if name == "part_of_speech" else [self.text]
        return nearest(self.joint(head), apart=[np.tile(values, 2) for values in apart])

    def differences(self, near: Any, name: str, values: Any) -> tuple[Any, Any, float]:
        """By text: sums of the differences of neighbors, and their number; the mean difference of all pairs."""
        total, count, usual = differences(np.tile(values, 2), NUMERIC[name], near, circular=SCALES[name] == "angle")
        texts = np.tile(self.text, 2)
        return np.bincount(texts, total), np.bincount(texts, count), usual

    def strength(self, head: tuple[int, int], name: str) -> float:
        """How alike neighbors are in a column."""
        total, count, usual = self.differences(self.near(head, name), name, self.column(name))
        return float(1 - total.sum() / count.sum() / usual)


def samples(atlas: ha.Atlas, tokens: int, trained: ha.Atlas | None = None) -> tuple[Sample, Sample]:
    """Texts to choose a head on, about as many as are drawn; and those that are drawn.

    A model with random weights cannot be loaded again to read the colors of patches: columns are those of the trained
    one on the same examples.
    """
    drawn, stored = choose_points(atlas, tokens, 0), choose_points(atlas, 10**9, 0)
    example = atlas.table("tokens")["example"].to_numpy()[stored.token]
    free = np.random.default_rng(1).permutation(np.setdiff1d(stored.examples, drawn.examples))
    lengths = np.bincount(example)[free]
    chosen = np.isin(example, free[np.cumsum(lengths) <= tokens])
    other = Points(np.unique(example[chosen]), stored.token[chosen], stored.row[chosen])
    return Sample(atlas, other, trained), Sample(atlas, drawn, trained)


def bootstrapped(by_text: Any, statistic: Any) -> list[float]:
    """The interval of a statistic of sums over texts (text, column)."""
    rng = np.random.default_rng(0)
    draws = rng.integers(len(by_text), size=(DRAWS, len(by_text)))
    return rounded(interval(np.array([statistic(by_text[draw].sum(0)) for draw in draws])))


def rounded(values: Any) -> list[float]:
    return [round(float(value), 3) for value in values]


def shuffled(values: Any, text: Any, rng: np.random.Generator) -> Any:
    """Values in another order within each text."""
    order = np.lexsort((rng.random(len(values)), text))
    result = values.copy()
    result[np.argsort(text, kind="stable")] = values[order]
    return result


def grouping(choice: Sample, drawn: Sample, name: str) -> dict[str, Any]:
    """The head that groups most by a column."""
    head = max(choice.heads, key=lambda head: choice.strength(head, name))
    near, values, rng = drawn.near(head, name), drawn.column(name), np.random.default_rng(0)
    total, count, usual = drawn.differences(near, name, values)
    chance = []
    for _ in range(SHUFFLES):
        sums = drawn.differences(near, name, shuffled(values, drawn.text, rng))
        chance.append(1 - sums[0].sum() / sums[1].sum() / sums[2])
    every = sorted(drawn.strength(other, name) for other in drawn.heads)
    return {
        "head": head, "column": name, "texts": len(total), "tokens": len(values),
        "strength": round(float(1 - total.sum() / count.sum() / usual), 3),
        "interval": bootstrapped(np.stack([total, count], 1), lambda sums: 1 - sums[0] / sums[1] / usual),
        "shuffled": rounded((np.mean(chance), np.max(chance))),
        "heads": {"number": len(every), "median": round(float(np.median(every)), 3), "largest": rounded(every[-3:])},
    }  # fmt: skip


def offset(choice: Sample, drawn: Sample, head: tuple[int, int]) -> dict[str, Any]:
    """How far before or after a query the keys near it are, in other texts."""

    def gaps(sample: Sample) -> Any:
        n = len(sample.text)
        joint, text = sample.joint(head), sample.text
        squared = ((joint[:n, None] - joint[None, n:]) ** 2).sum(-1)
        squared[text[:, None] == text] = np.inf
        squared[:, sample.special] = np.inf
        near = np.argsort(squared, axis=1)[:, :10]
        position = sample.tokens["position"].to_numpy()
        return (position[near] - position[:, None])[~sample.special], position

    chosen = gaps(choice)[0].ravel()
    usual = int(np.bincount(chosen - chosen.min()).argmax() + chosen.min())
    found, position = gaps(drawn)
    text = drawn.text[~drawn.special]
    sums = np.stack([np.bincount(text, (found == usual).sum(1)), 10 * np.bincount(text)], 1)
    keys, queries = position[~drawn.special], position[~drawn.special]
    apart = text[:, None] != text
    return {
        "offset": usual, "share of the ten nearest keys": round(float((found == usual).mean()), 3),
        "interval": bootstrapped(sums, lambda total: total[0] / total[1]),
        "share of all keys of other texts": round(float((keys - queries[:, None] == usual)[apart].mean()), 3),
    }  # fmt: skip


def honesty(atlas: ha.Atlas, head: tuple[int, int]) -> dict[str, float]:
    """How far the plot of a head can be believed."""
    rows = atlas.table("qk_heads").to_pylist()
    row = next(row for row in rows if (row["layer"], row["head"]) == tuple(head))
    return {name: round(row[name], 3) for name in ("spearman", "trust", "kept")}


def save(figure: Any, path: Path) -> None:
    """A figure as a small file: as sharp as a screen, with 256 colors."""
    from PIL import Image

    image = io.BytesIO()
    figure.savefig(image, format="png", dpi=DPI, facecolor=figure.get_facecolor())
    few = Image.open(image).convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE, kmeans=3, dither=Image.Dither.NONE)
    few.save(path, optimize=True)


def made(model: Any, data: str, path: Path) -> ha.Atlas:
    """An atlas with queries and keys of several times as many tokens as are drawn."""
    images = data == IMAGES
    dataset = ha.data.load(data, limit=60 if images else 400)
    return ha.collect.maps(model, dataset, path, qk_tokens=4_000 if images else 6_000)


def in_texts(choice: Sample, drawn: Sample) -> Iterator[tuple[str, dict[str, Any]]]:
    """What to color by, and numbers, one finding after the other."""
    position = grouping(choice, drawn, "position")
    yield "position", position | {"near keys": offset(choice, drawn, position["head"])}
    yield "part_of_speech", grouping(choice, drawn, "part_of_speech")


def in_images(choice: Sample, drawn: Sample) -> Iterator[tuple[str, dict[str, Any]]]:
    """The same for images."""
    for column in ("hue", "row"):
        yield column, grouping(choice, drawn, column)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--treebank", required=True)
    parser.add_argument("--pictures", type=Path, default=Path("docs/images"))
    parser.add_argument("--untrained", action="store_true")
    given = parser.parse_args()
    for model, data, tokens, findings in (
        ("packaged", f"conllu:{given.treebank}", TEXT_TOKENS, in_texts),
        ("packaged:vit", IMAGES, IMAGE_TOKENS, in_images),
    ):
        atlas = made(model, data, given.folder / f"{findings.__name__}.atlas")
        if given.untrained:
            random = made(ha.models.untrained(model), data, given.folder / f"{findings.__name__}-untrained.atlas")
            for _, numbers in findings(*samples(random, tokens, atlas)):
                show({"untrained": model} | numbers)
            continue
        ha.qk.embed(atlas, tokens=tokens)
        for by, numbers in findings(*samples(atlas, tokens)):
            save(ha.plot.qk(atlas, numbers["head"], by=by), given.pictures / f"qk-{by.replace('_', '-')}.png")
            show(numbers | honesty(atlas, numbers["head"]))


def show(numbers: dict[str, Any]) -> None:
    print(json.dumps(numbers | {"head": head_name(*numbers["head"])}, ensure_ascii=False), flush=True)


if __name__ == "__main__":
    main()
