"""Access to the files of an atlas, for tests that change them."""

from contextlib import contextmanager
from pathlib import Path

from headatlas.atlas.writer import Place, Writer


def place(atlas, stage, name):
    """Where a result is stored, finished or not."""
    entry = next(entry for entry in atlas.entries(stage) if entry["name"] == name)
    return Place(atlas.files.absolute, stage, name, entry["key"])


def folders(atlas, stage, name):
    """The folders of a result: manifests, arrays, tables."""
    return [Path(atlas.files.path(folder)) for folder in place(atlas, stage, name).folders]


def writer(atlas, stage, name):
    """A writer for an existing result."""
    return Writer(place(atlas, stage, name))


def unfinish(atlas, stage, name):
    """Mark a result as unfinished, as if the process had been killed just before the end."""
    with atlas.editing():
        next(entry for entry in atlas.entries(stage) if entry["name"] == name)["done"] = False


@contextmanager
def stopping(monkeypatch, error, at):
    """Raise an error instead of writing manifest number `at`."""
    write, calls = Writer.write_manifest, []

    def failing(self, task, *rest):
        calls.append(task)
        if len(calls) == at:
            raise error
        write(self, task, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(Writer, "write_manifest", failing)
        yield
