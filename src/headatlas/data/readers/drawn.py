"""Pictures drawn by Headatlas; any number of them."""

from collections.abc import Iterator
from itertools import count

from headatlas.data.dataset import Example
from headatlas.data.pictures import drawing_name
from headatlas.data.reader import Reader

__all__ = ["READERS", "drawn"]

USUAL = 200


def drawn(path: str) -> Iterator[Example]:
    """One drawing after another, without end.

    >>> first = next(drawn("drawings"))
    >>> first.id, first.image, first.columns["kind"]
    ('letter-H-0', 'sample:images/0', 'letter')
    """
    from headatlas.data.drawings import draw

    for number in count():
        drawing = draw(number)
        name = drawing.label.replace(" ", "-")
        yield Example(f"{name}-{number}", image=drawing_name(number), columns=drawing.columns)


def _version(path: str) -> Iterator[bytes]:
    """What all drawings follow from."""
    from headatlas.data.drawings import VERSION

    yield f"drawings, version {VERSION}".encode()


READERS = (
    Reader(
        "sample:images",
        plain=drawn,
        fixed="drawings",
        check=lambda path: None,
        content=_version,
        modality="image",
        usual=USUAL,
        example=f"a drawing of 64 × 64 pixels, in 37 classes: {USUAL}, or as many as the limit says",
        id="`letter-H-0`: its class, and its number",
    ),
)
