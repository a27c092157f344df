"""Files of an atlas on any fsspec URL: written completely or not at all, errors in one clear line."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import gettempdir
from typing import IO, Any

from headatlas.errors import StoreError

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
DENIED = {errno.EACCES, errno.EPERM, errno.EROFS}


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0


class Files:
    """A folder, local or behind an fsspec URL. Paths are relative to it and use `/`."""

    def __init__(self, url: str | os.PathLike[str]) -> None:
        import fsspec

        self.url = os.fspath(url)
        if "://" not in self.url:
            self.url = str(Path(self.url).expanduser())
        self.system, self.root = fsspec.core.url_to_fs(self.url)
        self.local = "file" in self.system.protocol

    @property
    def absolute(self) -> str:
        """The same place for a process that works in another folder."""
        return str(Path(self.url).resolve()) if self.local and "://" not in self.url else self.url

    def path(self, name: str = "") -> str:
        """Full path of a file inside."""
        return f"{self.root}/{name}" if name else str(self.root)

    def exists(self, name: str = "") -> bool:
        """Whether the file, or the folder itself, exists."""
        return bool(self.system.exists(self.path(name)))

    def read(self, name: str) -> bytes:
        """The bytes of a file."""
        with self.guard(name):
            return bytes(self.system.cat_file(self.path(name)))

    def find(self, name: str) -> bytes | None:
        """The bytes of a file; None if it does not exist. Another process may delete it at any moment."""
        try:
            return self.read(name)
        except FileNotFoundError:
            return None

    def digest(self, name: str) -> str | None:
        """The sha256 of a file; None if it does not exist."""
        try:
            with self.guard(name), self.system.open(self.path(name), "rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        except FileNotFoundError:
            return None

    def info(self, name: str) -> dict[str, Any] | None:
        """Size and time of a file; None if it does not exist."""
        try:
            return dict(self.system.info(self.path(name)))
        except FileNotFoundError:
            return None

    def size_of(self, name: str) -> int | None:
        """Bytes of a file; None if it does not exist."""
        info = self.info(name)
        return None if info is None else int(info["size"])

    def write(self, name: str, content: bytes) -> None:
        """Replace a file."""
        with self.writing(name) as file:
            file.write(content)

    @contextmanager
    def writing(self, name: str) -> Iterator[IO[bytes]]:
        """A file that appears under its name only if the block ends without an error."""
        target = self.path(name)
        with self.guard(name):
            # a rename is atomic within one disk; so is an upload
            folder = Path(target).parent if self.local else Path(gettempdir())
            partial = folder / f"{Path(target).name}.{uuid.uuid4().hex}.partial"
            try:
                with self._created(partial, target) as file:
                    yield file
                if self.local:
                    partial.replace(target)
                    return
                self.system.put_file(str(partial), target)
            except BaseException:
                partial.unlink(missing_ok=True)
                raise
            partial.unlink(missing_ok=True)

    def _created(self, partial: Path, target: str) -> IO[bytes]:
        """A new file that becomes `target`, whose folder is made if need be: mostly it is there."""
        if self.local:
            with contextlib.suppress(FileNotFoundError):
                return partial.open("xb")
        self.system.makedirs(target.rpartition("/")[0], exist_ok=True)
        return partial.open("xb")

    def check_writable(self) -> None:
        """Raise an error if a local folder cannot be written or created; tries nothing."""
        if not self.local:
            return
        folder = Path(self.root)
        existing = next(place for place in (folder, *folder.parents) if place.exists())
        with self.guard():
            if not existing.is_dir():
                raise NotADirectoryError(errno.ENOTDIR, "not a folder", str(existing))
            if not os.access(existing, os.W_OK | os.X_OK):
                raise PermissionError(errno.EACCES, "no permission", str(existing))

    def names(self, folder: str = "") -> list[str]:
        """Names of the files and folders in a folder, sorted; none if it does not exist."""
        try:
            paths: list[Any] = self.system.ls(self.path(folder), detail=False)
        except FileNotFoundError:
            return []
        return sorted(str(path).rstrip("/").rpartition("/")[2] for path in paths)

    def remove(self, folder: str) -> None:
        """Delete a file, or a folder and its contents; does nothing if it does not exist."""
        path = self.path(folder)
        if self.exists(folder):
            with self.guard(folder), contextlib.suppress(FileNotFoundError):  # another process was faster
                self.system.rm_file(path) if self.system.isfile(path) else self.system.rm(path, recursive=True)

    def remove_empty(self, folder: str) -> None:
        """Delete a folder that holds nothing but the metadata of a Zarr group."""
        if self.names(folder) in ([], ["zarr.json"]):
            self.remove(folder)

    def sweep(self, folder: str) -> None:
        """Delete what a killed writer left half written in a folder; only its lock holder may do this."""
        if self.local:
            for partial in Path(self.path(folder)).rglob("*.partial"):
                partial.unlink(missing_ok=True)

    def sweep_partial(self, name: str) -> None:
        """Delete half-written copies of one file; only its lock holder may do this."""
        if self.local:
            target = Path(self.path(name))
            for partial in target.parent.glob(f"{target.name}.*.partial"):
                partial.unlink(missing_ok=True)

    def size(self) -> int:
        """Bytes of all files; those that are deleted meanwhile do not count."""
        if not self.local:
            return int(self.system.du(self.root)) if self.exists() else 0
        files = (Path(folder) / name for folder, _, names in os.walk(self.root) for name in names)
        return sum(_size(file) for file in files)

    @contextmanager
    def guard(self, name: str = "") -> Iterator[None]:
        """Turn an error with a file into one line that says what went wrong and what to do."""
        try:
            yield
        except OSError as error:
            where = f"{self.url}/{name}".rstrip("/")
            if error.errno in FULL:
                raise StoreError(
                    f"no space left for {where}. What is written is kept: make room and run the same command again"
                ) from error
            if error.errno in DENIED:
                raise StoreError(
                    f"no permission for {where}. Choose another place with -o, or change its owner"
                ) from error
            if error.errno in (errno.ENOTDIR, errno.EEXIST, errno.EISDIR):
                raise StoreError(
                    f"{where}: a file stands where a folder is needed. Choose another place with -o"
                ) from error
            raise
