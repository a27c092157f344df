"""A folder of images, labeled by subfolder or by a table."""

from collections.abc import Iterator
from pathlib import Path

from headatlas.data.dataset import Example, Skipped, is_text
from headatlas.data.pictures import fault
from headatlas.data.reader import Reader
from headatlas.data.readers.tabular import csv_rows
from headatlas.errors import DataError

__all__ = ["READERS", "folder", "folder_bytes", "require_folder"]

LABELS = "labels.csv"


def require_folder(path: str) -> None:
    """Raise an error if the folder is missing."""
    if not Path(path).expanduser().is_dir():
        what = "not a folder" if Path(path).expanduser().exists() else "missing"
        raise DataError(f"{path} is {what}. Use images:FOLDER, a local folder with one subfolder per label.")


def folder(path: str) -> Iterator[Example | Skipped]:
    """Every image in the folder and its subfolders, ordered by relative path, which is the id."""
    root = Path(path).expanduser().resolve()
    labels = _labels(root)
    files = _files(root)
    for name in files:
        if labels is not None and name == LABELS:
            continue
        reason = fault(str(files[name])) if is_text(name) else "its file name is not UTF-8"
        if reason:
            yield Skipped(name, reason)
        else:
            yield Example(name, image=str(files[name]), columns=_columns(name, labels))
    for name in sorted(set(labels or ()) - set(files)):
        yield Skipped(name, f"in {LABELS}, but the file is missing")


def folder_bytes(path: str) -> Iterator[bytes]:
    """Names and contents of all files, for the fingerprint."""
    for name, file in _files(Path(path).expanduser().resolve()).items():
        # The size comes first, so that no two folders give the same bytes.
        yield f"{name}\0{file.stat().st_size}\0".encode("utf-8", "surrogateescape")
        with file.open("rb") as stream:
            while block := stream.read(1 << 20):
                yield block


def _files(root: Path) -> dict[str, Path]:
    files = (file for file in root.rglob("*") if file.is_file())
    return dict(sorted((file.relative_to(root).as_posix(), file) for file in files))


def _columns(name: str, labels: dict[str, dict[str, object]] | None) -> dict[str, object]:
    if labels is None:
        return {"label": name.split("/")[0] if "/" in name else None}
    # An image that is not in the table has no label; its folder may not be a label.
    return labels.get(name) or dict.fromkeys(next(iter(labels.values()), {"label": None}))


def _labels(root: Path) -> dict[str, dict[str, object]] | None:
    """The other columns of the table, by file."""
    table = root / LABELS
    if not table.is_file():
        return None
    labels = {}
    for row in csv_rows(str(table)):
        if not {"file", "label"} <= row.keys():
            raise DataError(f"{table} needs the columns file and label; it has {', '.join(row)}. Rename them.")
        labels[Path(str(row.pop("file"))).as_posix()] = row
    return labels


READERS = (
    Reader(
        "images:",
        path="FOLDER",
        plain=folder,
        check=require_folder,
        content=folder_bytes,
        modality="image",
        example="an image file",
        id="path inside the folder",
    ),
)
