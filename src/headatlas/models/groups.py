"""Examples in batches of similar length, each for one forward pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from headatlas import parallel
from headatlas.models.batch import Batch, image_batch, text_batch
from headatlas.models.encode import Encoded
from headatlas.models.model import Model

MOST_PADDING = 1 / 16  # of the tokens of a batch: more costs more than another forward pass


@dataclass(frozen=True, slots=True)
class Group:
    """Examples of one forward pass: their places in the list they come from, and the tokens of texts."""

    places: list[int]
    batch: Batch
    encoded: list[Encoded]


def text_groups(model: Model, encoded: Sequence[Encoded], most_tokens: int) -> Iterator[Group]:
    """Texts of similar length, each batch within the token budget, padding included, and with little of that."""
    lengths = [(len(example.source), len(example.target) if example.target else 0) for example in encoded]
    places: list[int] = []
    for place in sorted(range(len(lengths)), key=lambda place: (sum(lengths[place]), lengths[place])):
        together = [lengths[other] for other in (*places, place)]
        padded = _padded_size(together)
        full = padded > most_tokens or padded - sum(map(sum, together)) > MOST_PADDING * padded
        if places and (full or (not model.padding and lengths[place] != lengths[places[0]])):
            yield _text_group(model, encoded, places)
            places = []
        places.append(place)
    yield _text_group(model, encoded, places)


def _padded_size(lengths: Sequence[tuple[int, int]]) -> int:
    """The tokens of a batch, with padding, from those of the source and target of each text.

    >>> _padded_size([(3, 2), (1, 4)])
    14
    """
    return len(lengths) * (max(source for source, _ in lengths) + max(target for _, target in lengths))


def _text_group(model: Model, encoded: Sequence[Encoded], places: list[int]) -> Group:
    parallel.check()
    chosen = [encoded[place] for place in places]
    return Group(places, text_batch(model, chosen), chosen)


def image_groups(model: Model, paths: Sequence[str], most_tokens: int) -> Iterator[Group]:
    """Images, as many in a batch as the token budget allows."""
    assert model.grid is not None  # set for every model that reads images
    size = max(1, most_tokens // (len(model.grid.special) + model.grid.rows * model.grid.columns))
    for start in range(0, len(paths), size):
        parallel.check()
        chosen = paths[start : start + size]
        yield Group(list(range(start, start + len(chosen))), image_batch(model, chosen), [])
