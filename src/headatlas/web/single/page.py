"""A page that is a single file: shown in a notebook, or saved."""

from __future__ import annotations

import html
import os
from functools import cached_property
from pathlib import Path

from headatlas.errors import OptionError, StoreError
from headatlas.web.single.contents import Contents
from headatlas.web.single.document import document
from headatlas.web.single.make import megabytes

HEIGHT = 720  # pixels of the frame in a notebook
SANDBOX = "allow-scripts allow-forms allow-downloads"  # the frame cannot reach the notebook around it


class SinglePage:
    """The page with the data of one view in it. It needs no server and no connection."""

    def __init__(self, contents: Contents, height: int = HEIGHT) -> None:
        self.contents, self.height = contents, height

    @cached_property
    def html(self) -> str:
        """The file."""
        return document(self.contents)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the file, which every browser opens from disk."""
        target = Path(path).expanduser()
        if target.suffix.lower() not in (".html", ".htm"):
            raise OptionError(f"{target}: a page is saved as .html; use this suffix")
        try:
            target.write_text(self.html, encoding="utf-8", newline="")
        except OSError as error:
            raise StoreError(f"{target} cannot be written: {error.strerror or error}. Choose another path") from None

    def _repr_html_(self) -> str:
        return frame(self.html, self.height)

    def __repr__(self) -> str:
        return f"<SinglePage of {self.contents.holds}: {megabytes(len(self.html))}>"


def frame(page: str, height: int) -> str:
    """A frame whose document is an attribute, so that it needs no address to load from."""
    attributes = f'title="Headatlas" width="100%" height="{height}" style="border:0" sandbox="{SANDBOX}"'
    return f'<iframe srcdoc="{html.escape(page)}" {attributes}></iframe>'
