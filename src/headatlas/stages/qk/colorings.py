"""By what the points of a plot can be colored, each declared once: the columns of the table `qk_points`."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from headatlas.data.pieces import plain, sentences

Columns = Mapping[str, NDArray[Any]]  # of the tokens drawn; those of an example are consecutive
Modality = Literal["text", "image"]
Kind = Literal["number", "category"]
Scale = Literal["linear", "log", "angle"]  # log: a few numbers are many times larger than most; angle: 360 is 0


@dataclass(frozen=True)
class Coloring:
    """A column of `qk_points`; a missing value is null."""

    name: str
    label: str
    definition: str
    kind: Kind
    compute: Callable[[Columns], NDArray[Any] | None]  # None: this dataset does not have it
    unit: str = ""
    modalities: tuple[Modality, ...] = ("text", "image")
    scale: Scale = "linear"


def columns(tokens: Columns, modality: Modality) -> dict[str, NDArray[Any]]:
    """Every column that this dataset has, from the columns of its tokens."""
    computed = {item.name: item.compute(tokens) for item in COLORINGS if modality in item.modalities}
    return {name: values for name, values in computed.items() if values is not None}


def is_punctuation(piece: str) -> bool:
    """Whether a piece of text is nothing but punctuation.

    >>> is_punctuation("##."), is_punctuation(" ..."), is_punctuation("a."), is_punctuation(" ")
    (True, True, False, False)
    """
    characters = plain(piece)
    return bool(characters) and all(unicodedata.category(character)[0] == "P" for character in characters)


def _sentence_position(tokens: Columns) -> NDArray[Any]:
    """Position of each token in its sentence, from 0; −1 for special tokens.

    >>> text = np.array(["[CLS]", "Go", ".", "Now", "!"], object)
    >>> special = np.array([True, False, False, False, False])
    >>> place = {"example": np.zeros(5, int), "target": np.zeros(5, bool), "segment": np.zeros(5, int)}
    >>> _sentence_position({"text": text, "special": special} | place)
    array([-1,  0,  1,  0,  1], dtype=int32)
    """
    positions = np.full(len(tokens["text"]), -1, np.int32)
    part = tokens["example"] * 2 + tokens["target"]
    starts = np.flatnonzero(np.diff(part, prepend=-1))
    for first, last in zip(starts, [*starts[1:], len(part)], strict=True):
        piece = slice(first, last)
        numbers = sentences(tokens["text"][piece].tolist(), tokens["special"][piece], tokens["segment"][piece])
        inside = numbers[numbers >= 0]  # rising: the first token of a sentence is found by its number
        positions[piece][numbers >= 0] = np.arange(len(inside)) - np.searchsorted(inside, inside)
    return positions


def _lengths(tokens: Columns) -> NDArray[Any]:
    return np.where(tokens["special"], 0, [len(plain(piece)) for piece in tokens["text"]]).astype(np.int32)


def _punctuation(tokens: Columns) -> NDArray[Any]:
    return np.array([is_punctuation(piece) for piece in tokens["text"]], bool) & ~tokens["special"]


def _given(name: str) -> Callable[[Columns], NDArray[Any] | None]:
    return lambda tokens: tokens.get(name)


COLORINGS = (
    Coloring("position", "position", "position of the token in its sequence", "number", _given("position"), "tokens"),
    Coloring("position_mod_5", "position mod 5", "remainder of the position divided by 5", "category",
             lambda tokens: (tokens["position"] % 5).astype(np.int8), modalities=("text",)),
    Coloring("sentence_position", "position in the sentence", "position of the token in its sentence; -1 special",
             "number", _sentence_position, "tokens", ("text",)),
    Coloring("token_length", "length of the token", "characters of the token without marks of continued words; "
             "0 special", "number", _lengths, "characters", ("text",)),
    Coloring("frequency", "frequency", "how often the token occurs in this dataset", "number", _given("frequency"),
             "times", ("text",), "log"),
    Coloring("punctuation", "punctuation", "whether the token is nothing but punctuation", "category", _punctuation,
             modalities=("text",)),
    Coloring("part_of_speech", "part of speech", "universal part of speech of the word, where the dataset has it",
             "category", _given("part_of_speech"), modalities=("text",)),
    Coloring("special", "special token", "whether the token is special, such as [CLS]", "category", _given("special")),
    Coloring("row", "row", "row of the patch, from the top; -1 special", "number", _given("row"), "patches",
             ("image",)),
    Coloring("column", "column", "column of the patch, from the left; -1 special", "number", _given("column"),
             "patches", ("image",)),
    Coloring("brightness", "brightness", "mean brightness of the patch, from 0 to 1; null: special, or unknown",
             "number", _given("brightness"), modalities=("image",)),
    Coloring("hue", "hue", "hue of the mean color of the patch, from 0 to 360; null: gray, special, or unknown",
             "number", _given("hue"), "degrees", ("image",), "angle"),
    Coloring("label", "label", "label of the example", "category", _given("label"), modalities=("image",)),
)  # fmt: skip

SCALES = {item.name: item.scale for item in COLORINGS}
