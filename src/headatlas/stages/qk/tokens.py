"""The tokens that are drawn, with everything that colorings are computed from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headatlas.atlas.store import Atlas
from headatlas.stages.qk import colorings
from headatlas.stages.qk.points import Points

TEXT = ("example", "position", "target", "id", "text", "word", "special", "segment")
IMAGE = ("example", "position", "text", "special", "row", "column")
PART_OF_SPEECH = "upos"  # the column of treebanks, a value for each word


def points_table(atlas: Atlas, points: Points) -> pa.Table:
    """One row per token that is drawn: example, position, row in `tokens`, and the columns to color it by."""
    modality = atlas.header["data"]["modality"]
    tokens = read_text(atlas, points) if modality == "text" else read_image(atlas, points)
    place = {name: tokens[name] for name in ("example", "position")} | {"token": points.token}
    return pa.table({name: _column(values) for name, values in (place | colorings.columns(tokens, modality)).items()})


def _column(values: NDArray[Any]) -> pa.Array:
    return pa.array(values, from_pandas=True)  # NaN and None are null


def read_text(atlas: Atlas, points: Points) -> dict[str, NDArray[Any]]:
    """Columns of the tokens of texts."""
    tokens, counts = _read(atlas, points, TEXT)
    tokens["frequency"] = np.array([counts[token] for token in tokens["id"].tolist()], np.int64)
    if PART_OF_SPEECH in atlas.table_columns("examples"):
        tokens["part_of_speech"] = _parts_of_speech(atlas, tokens)
    return tokens


def read_image(atlas: Atlas, points: Points) -> dict[str, NDArray[Any]]:
    """Columns of the patches of images."""
    from headatlas.stages.qk.patches import patch_colors

    tokens, _ = _read(atlas, points, IMAGE)
    place = np.searchsorted(points.examples, tokens["example"])
    tokens |= patch_colors(atlas, points.examples, place, tokens)
    if "label" in atlas.table_columns("examples"):
        labels = atlas.table("examples", columns=["label"])["label"].take(points.examples).to_pylist()
        tokens["label"] = np.array([None if label is None else str(label) for label in labels], object)[place]
    return tokens


def _read(atlas: Atlas, points: Points, names: tuple[str, ...]) -> tuple[dict[str, NDArray[Any]], dict[int, int]]:
    """Columns of the tokens that are drawn; and how often each token occurs in the whole dataset, by its id."""
    parts, counts, first = [], dict[int, int](), 0
    for table in atlas.table_parts("tokens", list(names)):
        lo, hi = np.searchsorted(points.token, (first, first + table.num_rows))
        parts.append(table.take(points.token[lo:hi] - first))
        if "id" in names:
            for token, count in zip(*np.unique(table["id"].to_numpy(), return_counts=True), strict=True):
                counts[int(token)] = counts.get(int(token), 0) + int(count)
        first += table.num_rows
    joined = pa.concat_tables(parts)
    return {name: joined[name].to_numpy() for name in names}, counts


def _parts_of_speech(atlas: Atlas, tokens: dict[str, NDArray[Any]]) -> NDArray[Any]:
    """The part of speech of the word of each token; None for special tokens and tokens of the target."""
    of_words = atlas.table("examples", columns=[PART_OF_SPEECH])[PART_OF_SPEECH]
    drawn = np.unique(tokens["example"]).tolist()
    known: dict[int, list[Any]] = {number: of_words[number].as_py() or [] for number in drawn}
    values = np.full(len(tokens["word"]), None, object)
    for place, (example, word, target) in enumerate(
        zip(tokens["example"].tolist(), tokens["word"].tolist(), tokens["target"].tolist(), strict=True)
    ):
        if not target and 0 <= word < len(known[example]):
            values[place] = known[example][word]
    return values
