"""Open files, local or at any fsspec URL, compressed or not, with clear errors."""

import io
import json
import lzma
import re
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, TextIO

from headatlas.errors import DataError

__all__ = ["check_utf8", "load_json", "open_bytes", "open_text", "parse_json", "raw_bytes", "require"]

DEEPEST = 64  # levels of lists and objects in JSON
CONTAINERS = (list, dict)  # of parsed JSON: exactly these types


def require(path: str) -> None:
    """Raise an error if the file is missing, so that a typo shows before a model is loaded."""
    import fsspec

    try:
        system, inside = fsspec.core.url_to_fs(path)
        is_file = system.isfile(inside)
        # Checked last: over HTTP this fetches the whole page.
        is_folder = not is_file and system.isdir(inside)
    except (ImportError, ValueError, OSError) as error:
        raise DataError(f"{path} cannot be reached: {error}. Check the address, or download the file.") from error
    if is_folder:
        raise DataError(f"{path} is a folder. Name a file in it, or write images:{path} or hf:{path}.")
    if not is_file:
        raise DataError(f"{path} is missing. Check the path.")


@contextmanager
def open_bytes(path: str, *, compression: str | None = "infer") -> Iterator[BinaryIO]:
    """Open the bytes of a file, decompressed if its name ends in .gz or similar."""
    import fsspec

    try:
        with fsspec.open(path, "rb", compression=compression) as stream:
            yield stream
    except FileNotFoundError as error:
        raise DataError(f"{path} is missing. Check the path.") from error
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise DataError(f"{path} cannot be read: {error}. Check that it is complete and readable.") from error


@contextmanager
def open_text(path: str, *, newline: str | None = None) -> Iterator[TextIO]:
    """Open the text of a UTF-8 file, without a byte order mark."""
    with open_bytes(path) as stream, io.TextIOWrapper(stream, encoding="utf-8-sig", newline=newline) as text:
        try:
            yield text
        except UnicodeDecodeError:
            check_utf8(path)
            raise


def check_utf8(path: str) -> None:
    """Raise an error that names the line and byte if the file is not UTF-8."""
    with open_bytes(path) as stream:
        for number, line in enumerate(stream, 1):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                raise DataError(
                    f"{path} is not UTF-8: line {number}, byte {error.start + 1} of it is 0x{line[error.start]:02x}. "
                    "Convert it first, e.g. iconv -f latin1 -t utf-8 OLD > NEW."
                ) from error


def raw_bytes(path: str) -> Iterator[bytes]:
    """The file as it is stored, block by block."""
    with open_bytes(path, compression=None) as stream:
        while block := stream.read(1 << 20):
            yield block


def parse_json(text: str, path: str, line: int = 1) -> Any:
    """Read JSON text that starts on this line of the file."""
    try:
        return _parsed(text, path, line)
    except json.JSONDecodeError as error:
        where = f"line {line + error.lineno - 1}, column {error.colno}"
        raise DataError(f"{path} is not valid JSON ({where}: {error.msg}). Fix that line.") from error
    except RecursionError as error:
        raise _too_deep(path, line) from error
    except ValueError as error:  # Python refuses to read very long numbers
        raise _too_long(text, path, line) from error


def _parsed(text: str, path: str, line: int) -> Any:
    """The value, unless it is nested so deeply that it could be read but not be written again."""
    value = json.loads(text)
    if text.count("[") + text.count("{") > DEEPEST and _depth_exceeds(value, DEEPEST):
        raise _too_deep(path, line)
    return value


def _depth_exceeds(value: Any, depth: int) -> bool:
    level = [value] if type(value) in CONTAINERS else []
    for _ in range(depth):
        if not level:
            return False
        lists = [item if type(item) is list else item.values() for item in level]
        level = [item for items in lists for item in items if type(item) in CONTAINERS]
    return bool(level)


def _too_deep(path: str, line: int) -> DataError:
    return DataError(f"{path} contains JSON that is nested too deeply, at line {line}. Flatten it.")


def _too_long(text: str, path: str, line: int) -> DataError:
    """The error for a number with more digits than Python reads."""
    longest = sys.get_int_max_str_digits()
    number = re.search(rf"\d{{{longest + 1},}}", text)
    start = number.start() if number else 0
    where = f"line {line + text.count(chr(10), 0, start)}, column {start - text.rfind(chr(10), 0, start)}"
    return DataError(
        f"{path} contains a number with more than {longest:,} digits, at {where}. Write it as text, in quotes."
    )


def load_json(path: str) -> Any:
    """Read a file that is one JSON document."""
    with open_text(path) as stream:
        return parse_json(stream.read(), path)
