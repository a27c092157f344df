"""Datasets of the Hugging Face hub, or saved by its library, read from disk row by row."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from headatlas.data.dataset import Example, Skipped
from headatlas.data.files import raw_bytes
from headatlas.data.reader import Reader
from headatlas.data.readers.arrow import check_arrow
from headatlas.data.rows import Columns
from headatlas.errors import DataError

__all__ = ["READERS", "check_no_images", "hub", "hub_bytes", "require_library"]


def require_library(name: str) -> None:
    """Raise unless the `datasets` library is installed."""
    try:
        import datasets  # noqa: F401
    except ImportError as error:
        raise DataError(f"hf:{name} needs the datasets library. Run: pip install 'headatlas[hf]'") from error


def hub(name: str, columns: Columns) -> Iterator[Example | Skipped]:
    """The rows of NAME[:SPLIT] or NAME:CONFIG:SPLIT."""
    rows = _open(name)
    check_no_images(rows, f"hf:{name}")
    yield from columns.pick(rows.column_names, f"hf:{name}").examples(_read(rows, name), f"hf:{name}")


def check_no_images(rows: Any, name: str) -> None:
    """Raise an error if a Hugging Face dataset has a column of images."""
    pictures = [column for column, feature in rows.features.items() if type(feature).__name__ == "Image"]
    if pictures:
        raise DataError(
            f"{name} has a column of images, {pictures[0]!r}, which cannot be read directly. "
            "Save the images to a folder with one subfolder per label, and use images:FOLDER."
        )


def _read(rows: Any, name: str) -> Iterator[dict[str, object]]:
    """The rows. Their files are checked first: the library maps them into memory and trusts them."""
    for file in rows.cache_files:
        _check(Path(file["filename"]))
    try:
        yield from rows
    except Exception as error:  # the library raises different errors for each kind of damage
        raise DataError(f"hf:{name} cannot be read: {_line(error)}. Load or save it again.") from error


def _check(file: Path) -> None:
    stat = file.stat()
    check_arrow(str(file), stat.st_size, stat.st_mtime_ns)


def hub_bytes(name: str) -> Iterator[bytes]:
    """The split, which may be a slice, and the Arrow files the rows are read from, for the fingerprint."""
    rows = _open(name)
    yield str(rows.split).encode()
    for file in rows.cache_files:
        yield from raw_bytes(file["filename"])
    if not rows.cache_files:
        yield rows._fingerprint.encode()


def _open(name: str) -> Any:
    """One split, memory-mapped."""
    path, config, split = _parts(name)
    dataset = _saved(path) or _loaded(path, config, split)
    if not isinstance(dataset, dict):
        if split not in (None, str(dataset.split)):
            raise DataError(f"hf:{name}: the dataset in {path} has no splits. Use hf:{path}.")
        return dataset
    splits = sorted(dataset)
    if split is None and len(splits) == 1:
        return dataset[splits[0]]
    if split not in dataset:
        what = f"has no split {split!r}" if split else "has more than one split"
        raise DataError(f"hf:{name} {what}. Use hf:{path}:SPLIT with one of: {', '.join(splits)}.")
    return dataset[split]


def _saved(path: str) -> Any:
    """The dataset that `save_to_disk` wrote to this folder, or None."""
    import datasets

    folder = Path(path).expanduser()
    if not any((folder / name).is_file() for name in ("dataset_dict.json", "state.json")):
        return None
    for file in sorted(folder.rglob("*.arrow")):
        _check(file)
    try:
        return datasets.load_from_disk(str(folder))
    except Exception as error:  # the library raises different errors for each kind of damage
        raise DataError(f"hf:{path} cannot be loaded: {_line(error)}. Save it again with save_to_disk.") from error


def _loaded(path: str, config: str | None, split: str | None) -> Any:
    import datasets

    folder = Path(path).expanduser()
    try:
        # By default, older versions of the library ask at the terminal whether to run remote code.
        return datasets.load_dataset(
            str(folder) if folder.is_dir() else path, config, split=split, trust_remote_code=False
        )
    except Exception as error:  # the library raises different errors for each kind of damage
        raise DataError(
            f"hf:{path} cannot be loaded: {_line(error)}. Check the name, the split and the network, "
            "or save it with save_to_disk elsewhere and use hf:FOLDER."
        ) from error


def _line(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".")


def _parts(name: str) -> tuple[str, str | None, str | None]:
    """Name, configuration and split; a colon in brackets belongs to the split.

    >>> _parts("imdb:train[:10%]")
    ('imdb', None, 'train[:10%]')
    >>> _parts("glue:sst2:validation")
    ('glue', 'sst2', 'validation')
    """
    parts: list[str | None] = list(re.split(r":(?![^\[]*\])", name))
    if len(parts) > 3 or not all(parts):
        raise DataError(f"hf:{name} has too many or too few parts. Use hf:NAME, hf:NAME:SPLIT or hf:NAME:CONFIG:SPLIT.")
    path, *middle = parts
    split = middle.pop() if middle else None
    return str(path), middle[0] if middle else None, split


READERS = (
    Reader(
        "hf:",
        path="NAME[:SPLIT]",
        table=hub,
        check=require_library,
        content=hub_bytes,
        example="a row of a Hugging Face dataset",
        id="as for tables",
    ),
)
