"""Texts, pairs of texts or examples in memory."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from headatlas.data.dataset import Example, Items, Modality, Skipped
from headatlas.data.files import raw_bytes
from headatlas.data.pictures import drawing_number, fault
from headatlas.data.tables import ACCEPTED, example_bytes
from headatlas.errors import DataError

__all__ = ["Memory"]


class Memory:
    """A source that stores its examples, since an iterable may be consumed only once."""

    def __init__(self, items: Iterable[object]) -> None:
        self.examples = tuple(_example(number, item) for number, item in enumerate(items))
        kinds: set[Modality] = {"text" if example.image is None else "image" for example in self.examples}
        if len(kinds) > 1:
            raise DataError("Some of these examples are images and some are text. Load them as two datasets.")
        self.modality: Modality = kinds.pop() if kinds else "text"

    def read(self) -> Items:
        """Yield the examples."""
        for example in self.examples:
            reason = fault(example.image) if example.image is not None else None
            yield Skipped(example.id, reason) if reason else example

    def content(self) -> Iterator[bytes]:
        """Every field of every example, and the bytes of the images."""
        for item in self.examples:
            yield example_bytes(item)
            if item.image is not None and drawing_number(item.image) is not None:
                yield item.image.encode()
            elif item.image is not None and Path(item.image).is_file():
                yield from raw_bytes(item.image)


def _example(number: int, item: object) -> Example:
    if isinstance(item, Example):
        return item
    if isinstance(item, str):
        return Example(str(number), text=item)
    if isinstance(item, tuple | list) and len(item) == 2 and all(isinstance(part, str) for part in item):
        return Example(str(number), text=item[0], pair=item[1])
    kind = type(item).__name__
    if isinstance(item, tuple | list):
        kind += f" ({', '.join(type(part).__name__ for part in item[:3])}{', …' * (len(item) > 3)})"
    raise DataError(f"Item {number} is {kind}, not text. Pass {ACCEPTED}.")
