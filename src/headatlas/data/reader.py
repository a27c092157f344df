"""The declaration of a reader: the form of the names it reads, the function that reads, and what its examples are."""

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass

from headatlas.data import files
from headatlas.data.dataset import Example, Modality, Skipped, Window
from headatlas.data.rows import Columns

__all__ = ["Examples", "Reader"]

Examples = Iterator[Example] | Iterator[Example | Skipped]


@dataclass(frozen=True, slots=True)
class Reader:
    """How one form of dataset is read: by `plain` where the form fixes the columns, else by `table`.

    >>> Reader(".csv", example="a row", id="its number").form, Reader("squad:", example="a question", id="its id").form
    ('FILE.csv', 'squad:FILE')
    """

    name: str  # the end of a file name (".csv"), a prefix ("squad:"), or the whole name ("sample")
    _: KW_ONLY
    example: str  # what an example is, and its id, for the docs
    id: str
    plain: Callable[[str], Examples] | None = None
    table: Callable[[str, Columns], Examples] | None = None
    path: str = "FILE"  # what follows a prefix
    fixed: str | None = None  # the path that a whole name stands for
    check: Callable[[str], None] = files.require
    content: Callable[[str], Iterator[bytes]] = files.raw_bytes
    modality: Modality = "text"
    window: Window | None = None
    usual: int | None = None  # how many examples are read without a limit; None: all
    group: str | None = None  # column of the table `examples` whose equal values have one source: not independent

    @property
    def form(self) -> str:
        """How to write the name of a dataset of this form."""
        if self.name.startswith("."):
            return f"{self.path}{self.name}"
        return f"{self.name}{self.path}" if self.name.endswith(":") else self.name
