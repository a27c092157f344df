"""The errors a user can meet, as a tree. Each message says what, which, and what to do next.

HeadatlasError
├── ModelError        a model that is missing, cannot be loaded safely, or whose attention cannot be read
├── DataError         a dataset that is missing, empty, or not in the requested format
├── StoreError        a folder that is not an atlas, no space left, no permission
│   ├── DamagedChunk  stored bytes that do not match their checksum
│   ├── BusyError     a result that another process is writing
│   └── ReplacedError a result that was replaced while it was read
├── OptionError       options that contradict one another or an existing atlas
└── WorkerError       a worker process or a cluster that was lost
"""

__all__ = [
    "BusyError",
    "DamagedChunk",
    "DataError",
    "HeadatlasError",
    "ModelError",
    "OptionError",
    "ReplacedError",
    "StoreError",
    "WorkerError",
    "one_line",
]


def __dir__() -> list[str]:
    return sorted(__all__)


LONGEST = 2_000  # characters of a message; more is left out in the middle


def one_line(text: str) -> str:
    r"""A message as one line of bounded length: what cannot be printed, such as line breaks, is shown escaped.

    >>> one_line("no column 'a\nb\x1b[2J'")
    "no column 'a\\nb\\x1b[2J'"
    """
    text = _shortened(text)
    if text.isprintable():
        return text
    escaped = (char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
    return _shortened("".join(escaped))


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST * 2 // 3]} … {text[-LONGEST // 4 :]}"


class HeadatlasError(Exception):
    """An error the user can fix; the command line prints it as one line, without a traceback."""

    def __init__(self, message: object = "") -> None:
        super().__init__(one_line(str(message)))


class ModelError(HeadatlasError):
    """The model cannot be loaded, or its attention cannot be read."""


class DataError(HeadatlasError):
    """The dataset cannot be read."""


class StoreError(HeadatlasError):
    """The atlas cannot be read or written."""


class DamagedChunk(StoreError):
    """Stored bytes do not match their checksum."""


class BusyError(StoreError):
    """Another process is writing this result. `holder` says which one: pid, host, since, command."""

    def __init__(self, message: str, holder: dict[str, object] | None = None) -> None:
        super().__init__(message)
        self.holder = holder or {}


class ReplacedError(StoreError):
    """A result was replaced by another process while it was being read."""


class OptionError(HeadatlasError):
    """Options contradict one another, or the atlas they are meant for."""


class WorkerError(HeadatlasError):
    """A worker process or the cluster was lost."""
