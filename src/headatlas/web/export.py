"""The page as files: each response of the server at its own path, so that any web server can show it."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from headatlas import __version__, progress, wording
from headatlas.atlas.store import Atlas
from headatlas.errors import HeadatlasError, OptionError, StoreError
from headatlas.web import export_items, export_size
from headatlas.web.api import openapi
from headatlas.web.api.endpoints import OPENAPI, PREFIX
from headatlas.web.api.errors import RequestError
from headatlas.web.compute.runner import ModelRunner
from headatlas.web.export_items import FULL_MAPS
from headatlas.web.export_size import Counts
from headatlas.web.server.access import PAGE_POLICY
from headatlas.web.server.responses import to_bytes
from headatlas.web.server.static_files import BUILT, MEDIA, NOT_BUILT, SINGLE, StaticFiles
from headatlas.web.views.snapshot import ExportedExamples, Snapshot
from headatlas.web.views.watcher import AtlasWatcher

MARKER = "headatlas-export.json"  # lists what an export wrote
WITH_POLICY = (  # file hosts do not send our security headers, so the page itself says what it may load
    b"<head>",
    f'<head><meta http-equiv="content-security-policy" content="{PAGE_POLICY}">'.encode(),
)


@dataclass(frozen=True)
class ExportSummary:
    """What was written."""

    files: int
    bytes: int
    examples: int
    full: int
    tsne: int


def export(
    atlas: Atlas,
    folder: str | os.PathLike[str],
    *,
    full: int | None = None,
    examples: int | None = None,
    tsne: int = 0,
    model: str | None = None,
    static: Path | None = BUILT,
) -> ExportSummary:
    """Write the page and everything it asks for into a folder.

    Parameters
    ----------
    atlas
        What is shown.
    folder
        New, empty, or the folder of an earlier export.
    full
        How many examples, from the first on, have full maps, if the model is available. By default 12, or as many as
        fit in 100 MB.
    examples
        How many have pooled maps. By default all, or as many as fit in a gigabyte. Those that show a cluster always do.
    tsne
        How many, from the first on, have layouts of all heads, which takes some seconds each.
    model
        Model for full maps. By default the one the atlas was made with, if it is available.
    static
        Folder of the built page.
    """
    if tsne < 0 or any(count is not None and count < 0 for count in (full, examples)):
        raise OptionError("--full, --examples and --tsne cannot be negative")
    atlas.needed("collect")
    target = Path(folder).expanduser()
    runner = ModelRunner(model)
    try:
        snapshot = AtlasWatcher(atlas, runner.loader).snapshot()
        _prepare(target)
        return _write(snapshot, runner, target, Counts(full, examples, tsne), StaticFiles(static))
    except OSError as error:
        raise StoreError(f"{target} cannot be written: {error.strerror or error}. Choose another folder") from error
    finally:
        runner.close()


def _write(
    snapshot: Snapshot, runner: ModelRunner, target: Path, counts: Counts, files: StaticFiles
) -> ExportSummary:  # fmt: skip
    built = sorted(files.folder.rglob("*")) if files.folder is not None else []
    page = len(_schema()) + sum(file.stat().st_size for file in built)
    full_count = export_size.announce(snapshot, counts, page)
    full, sizes = _compute(snapshot, runner, target, full_count, FULL_MAPS, "full maps")
    tsne, tsne_sizes = _compute(snapshot, runner, target, counts.tsne, export_items.TSNE, "t-SNE")
    pooled, listed = export_size.choose_examples(snapshot, counts.examples, [*full, *tsne])
    note = f"This page holds full maps of {wording.many(len(full), 'example')}; headatlas serve computes all of them."
    vectors = frozenset(export_size.fitting_vectors(snapshot, counts.full))
    exported = ExportedExamples(frozenset(pooled), tuple(full), tuple(tsne), vectors)
    frozen = Snapshot(snapshot.atlas, snapshot.tag, False, note, exported)
    sizes += [*tsne_sizes, *_read(frozen, target, listed), _save(target / OPENAPI, _schema()), *_page(target, files)]
    _mark(target)
    return ExportSummary(len(sizes), sum(sizes), len(pooled), len(full), len(tsne))


def _read(snapshot: Snapshot, target: Path, listed: list[int]) -> list[int]:
    """Write everything that is read from the atlas; the size of each file."""
    items = list(export_items.stored(snapshot, listed))
    sizes = []
    with progress.bar("writing", len(items), "files") as advance:
        for item in items:
            try:
                sizes.append(_save(target / item.path, to_bytes(item.read(snapshot))))
            except RequestError as error:  # an image that no longer exists
                progress.say(f"skipped {item.path}: {error}")
            advance(1)
    return sizes


def _compute(
    snapshot: Snapshot, runner: ModelRunner, target: Path, count: int, over: Sequence[str], title: str
) -> tuple[list[int], list[int]]:
    """Write what is computed for the first examples; which examples, and the size of each file."""
    count = min(count, snapshot.shape[0])
    if not count or not snapshot.live:
        if count:
            progress.say(f"without {title}: {snapshot.live_note}")
        return [], []
    sizes: list[int] = []
    with progress.bar(title, count, "examples") as advance:
        for example in range(count):
            try:
                for item in export_items.computed(over, snapshot, example):
                    sizes.append(_save(target / item.path, to_bytes(item.compute(runner, snapshot))))
            except HeadatlasError as error:
                progress.say(f"without {title} from example {example} on: {error}")
                return list(range(example)), sizes
            advance(1)
    return list(range(count)), sizes


def _schema() -> bytes:
    """The OpenAPI schema as the server writes it."""
    return json.dumps(openapi.schema(), ensure_ascii=False, separators=(",", ":")).encode()


# files


def _prepare(target: Path) -> None:
    """Make the folder, and remove an earlier export from it, but nothing else."""
    if target.exists() and not target.is_dir():
        raise OptionError(f"{target} is a file. Give a folder")
    names = sorted(entry.name for entry in target.iterdir()) if target.exists() else []
    if names and MARKER not in names:
        raise OptionError(f"{target} is not empty and not an earlier export (it holds {names[0]}). Give another folder")
    if names:
        for name in _marked(target):
            entry = target / name
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink(missing_ok=True)
    target.mkdir(parents=True, exist_ok=True)
    _mark(target, [PREFIX.rstrip("/")])  # an interrupted export can be repeated


def _marked(target: Path) -> list[str]:
    """What an earlier export wrote, according to its marker."""
    try:
        names = json.loads((target / MARKER).read_text(encoding="utf-8"))["wrote"]
        return [name for name in names if name == Path(name).name and name not in ("", ".", "..")]
    except (ValueError, KeyError, TypeError):
        raise OptionError(f"{target / MARKER} is damaged. Give another folder, or empty this one") from None


def _mark(target: Path, names: list[str] | None = None) -> None:
    wrote = names if names is not None else sorted({entry.name for entry in target.iterdir()} - {MARKER})
    text = json.dumps({"headatlas": __version__, "wrote": wrote}, indent=1)
    (target / MARKER).write_text(text + "\n", encoding="utf-8")


def _page(target: Path, files: StaticFiles) -> list[int]:
    """The files of the built page; `.nojekyll` keeps GitHub Pages from leaving some out."""
    sizes = [_save(target / ".nojekyll", b"")]
    if files.folder is None or not files.built:
        progress.say("the page was not built: only its data is written")
        return [*sizes, _save(target / "index.html", NOT_BUILT.encode())]
    for file in sorted(files.folder.rglob("*")):
        path = file.relative_to(files.folder)
        if path.parts[0] != SINGLE and file.suffix in MEDIA and files.find(path.as_posix()) is not None:
            content = file.read_bytes()
            is_page = path.name == "index.html"
            sizes.append(_save(target / path, content.replace(*WITH_POLICY, 1) if is_page else content))
    return sizes


def _save(file: Path, content: bytes) -> int:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    return len(content)
