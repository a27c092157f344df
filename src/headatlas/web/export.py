"""The page as files: what the server would answer, each answer at its own path, so that any web server can show it."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from headatlas import __version__, progress, wording
from headatlas.atlas.store import Atlas
from headatlas.errors import HeadatlasError, OptionError, StoreError
from headatlas.web.api import openapi
from headatlas.web.api.errors import Problem
from headatlas.web.api.payloads import Payload
from headatlas.web.api.responses import encoded
from headatlas.web.compute.live import Job, Live, one_map
from headatlas.web.server.access import PAGE_POLICY
from headatlas.web.server.static_files import BUILT, KINDS, NOT_BUILT, Pages
from headatlas.web.views import cards, clusters, columns, examples
from headatlas.web.views.site import Site, View

MARK = "headatlas-export.json"
ROOM = 10**9  # bytes that examples may take, unless their number is given
GUARDED = (  # a host of files sends no headers of ours, so the page itself says what it may load
    b"<head>",
    f'<head><meta http-equiv="content-security-policy" content="{PAGE_POLICY}">'.encode(),
)
A_TOKEN = 60  # bytes of a token in the page of an example, about
Item = tuple[str, Callable[[View], Payload | bytes]]


@dataclass(frozen=True)
class Done:
    """What was written."""

    files: int
    bytes: int
    examples: int
    full: int
    laid: int


def export(
    atlas: Atlas,
    folder: str | os.PathLike[str],
    *,
    full: int = 12,
    examples: int | None = None,
    tsne: int = 0,
    model: str | None = None,
    static: Path | None = BUILT,
) -> Done:
    """Write the page and all it asks for into a folder that is new, empty, or holds an earlier export.

    Of the first `full` examples full maps are written, if the model is at hand. `examples` says how many have pooled
    maps; by default all, or as many as fit in a gigabyte. Those that show a cluster always have. Of the first `tsne`
    examples the layouts of all heads are made and written, which takes some seconds each.
    """
    if full < 0 or tsne < 0 or (examples is not None and examples < 0):
        raise OptionError("--full, --examples and --tsne cannot be negative")
    atlas.needed("collect")
    target = Path(folder).expanduser()
    live = Live(model)
    try:
        view = Site(atlas, live).view()
        _prepare(target)
        return _write(view, live, target, (full, examples, tsne), Pages(static))
    except OSError as error:
        raise StoreError(f"{target} cannot be written: {error.strerror or error}. Choose another folder") from error
    finally:
        live.close()


def _write(
    view: View, live: Live, target: Path, counts: tuple[int, int | None, int], pages: Pages
) -> Done:  # fmt: skip
    whole, made = _full(view, live, target, counts[0])
    laid, sizes = _laid(view, live, target, counts[2])
    made += sizes
    shown, listed = _chosen(view, counts[1], [*whole, *laid])
    note = f"This page holds full maps of {wording.many(len(whole), 'example')}; headatlas serve makes all of them."
    frozen = View(view.atlas, view.tag, False, note, True, tuple(whole), tuple(laid), frozenset(shown))
    items = [*_items(frozen), *_pages(frozen, listed)]
    with progress.bar("writing", len(items), "files") as advance:
        for path, make in items:
            try:
                made.append(_save(target / path, encoded(make(frozen))))
            except Problem as problem:  # a picture that is not where it was
                progress.say(f"left out {path}: {problem}")
            advance(1)
    made += _page(target, pages)
    _mark(target)
    return Done(len(made), sum(made), len(shown), len(whole), len(laid))


def _items(view: View) -> Iterator[Item]:
    """Everything but what belongs to one example."""
    yield "api/atlas.json", cards.card
    yield "api/heads.json", cards.heads
    yield "api/heads/maps.bin", cards.head_maps
    yield "api/examples.json", examples.listed
    yield "api/texts.json", examples.texts
    yield openapi.ADDRESS.lstrip("/"), _schema
    for name in view.atlas.results("project"):
        yield f"api/projections/{name}.bin", partial(columns.positions, name=name)
        yield f"api/projections/{name}/trust.bin", partial(columns.trust, name=name)
    for name in columns.catalogue(view):
        yield f"api/columns/{name}.bin", partial(columns.column, name=name)
    for name in view.atlas.results("cluster"):
        yield from _clustering(view, name)


def _schema(view: View) -> bytes:
    """As the server writes it."""
    return json.dumps(openapi.schema(), ensure_ascii=False, separators=(",", ":")).encode()


def _clustering(view: View, of: str) -> Iterator[Item]:
    base = f"api/clusterings/{of}"
    yield f"{base}/clusters.json", partial(clusters.clusters, name=of)
    yield f"{base}/means.bin", partial(clusters.means, name=of)
    if of not in view.atlas.results("correlate"):
        return
    yield f"{base}/profiles.json", partial(clusters.profiles, name=of)
    if clusters.exemplars(view, of):
        yield f"{base}/exemplars.bin", partial(clusters.exemplar_maps, name=of)
    for one in clusters.ranked(view, of):
        yield f"{base}/clusters/{one.number}.json", partial(clusters.cluster, name=of, number=one.number)


def _pages(view: View, listed: list[int]) -> Iterator[Item]:
    """What belongs to one example."""
    pictures = view.atlas.header["data"]["modality"] == "image"
    for number in listed:
        base = f"api/examples/{number}"
        yield f"{base}.json", partial(examples.example, number=number)
        if view.pages is None or number in view.pages:
            yield f"{base}/pooled.bin", partial(examples.pooled, number=number)
            if pictures:
                yield f"{base}/image.png", partial(examples.picture, number=number)


def _full(view: View, live: Live, target: Path, count: int) -> tuple[list[int], list[int]]:
    """Write the full maps of the first examples; which ones, and the bytes of each file."""
    count = min(count, view.shape[0])
    if not count or not view.live:
        if count:
            progress.say(f"without full maps: {view.note}")
        return [], []
    layers = view.atlas.header["model"]["layers"]
    sizes: list[int] = []
    with progress.bar("full maps", count, "examples") as advance:
        for number in range(count):
            for layer, head in ((n, h) for n, one in enumerate(layers) for h in range(one["heads"])):
                try:
                    found = live.example(view, number, layer, head)
                    content = found if isinstance(found, bytes) else one_map(found.future.result(), layer, head)
                except HeadatlasError as error:
                    progress.say(f"without full maps from example {number} on: {error}")
                    return list(range(number)), sizes
                sizes.append(_save(target / f"api/examples/{number}/full/{layer}.{head}.bin", content))
            advance(1)
    return list(range(count)), sizes


def _laid(view: View, live: Live, target: Path, count: int) -> tuple[list[int], list[int]]:
    """Write head t-SNE of the first examples; which ones, and the bytes of each file."""
    count = min(count, view.shape[0])
    if not count or not view.live:
        if count:
            progress.say(f"without t-SNE: {view.note}")
        return [], []
    sizes: list[int] = []
    with progress.bar("t-SNE", count, "examples") as advance:
        for number in range(count):
            try:
                found = live.laid(view, number)
                laid = found.future.result() if isinstance(found, Job) else found
            except HeadatlasError as error:
                progress.say(f"without t-SNE from example {number} on: {error}")
                return list(range(number)), sizes
            base = target / f"api/examples/{number}"
            sizes.append(_save(base / "tsne.json", encoded(laid.answer)))
            sizes += [_save(base / "tsne" / f"{name}.bin", content) for name, content in laid.buffers.items()]
            advance(1)
    return list(range(count)), sizes


def _chosen(view: View, wanted: int | None, whole: list[int]) -> tuple[set[int], list[int]]:
    """Examples that have pooled maps, and those that have a page at all; what is left out is said."""
    count, (layers, heads) = view.shape[0], view.shape[1:]
    r = view.atlas.array("pooled").shape[-1]
    tokens = int(view.atlas.collection["counts"].get("tokens", 0))
    each, texts = layers * heads * r * r * 2, tokens * A_TOKEN
    every = wanted is None and texts <= ROOM // 2
    fits = max(0, ROOM - texts) // each if every else ROOM // (each + texts // max(1, count))
    first = range(min(count, fits if wanted is None else wanted))
    always = {row["example"] for of in view.atlas.results("cluster") for row in clusters.exemplars(view, of)}
    shown = {*first, *whole, *always}
    listed = list(range(count)) if every else sorted(shown)
    if len(shown) < count:
        rest = "the others have their tokens only" if every else "the others have no page"
        progress.say(f"{len(shown):,} of {count:,} examples have pooled maps, {rest}; --examples changes that")
    return shown, listed


# files


def _prepare(target: Path) -> None:
    """Make the folder, and empty it of an earlier export; of nothing else."""
    if target.exists() and not target.is_dir():
        raise OptionError(f"{target} is a file. Give a folder")
    there = sorted(one.name for one in target.iterdir()) if target.exists() else []
    if there and MARK not in there:
        raise OptionError(f"{target} is not empty and no earlier export (it holds {there[0]}). Give another folder")
    if there:
        for name in _marked(target):
            one = target / name
            if one.is_dir() and not one.is_symlink():
                shutil.rmtree(one)
            else:
                one.unlink(missing_ok=True)
    target.mkdir(parents=True, exist_ok=True)
    _mark(target, ["api"])  # a stopped export can be done again


def _marked(target: Path) -> list[str]:
    """What an earlier export wrote, by its own account."""
    try:
        names = json.loads((target / MARK).read_text(encoding="utf-8"))["wrote"]
        return [name for name in names if name == Path(name).name and name not in ("", ".", "..")]
    except (ValueError, KeyError, TypeError):
        raise OptionError(f"{target / MARK} is damaged. Give another folder, or empty this one") from None


def _mark(target: Path, names: list[str] | None = None) -> None:
    wrote = names if names is not None else sorted({one.name for one in target.iterdir()} - {MARK})
    text = json.dumps({"headatlas": __version__, "wrote": wrote}, indent=1)
    (target / MARK).write_text(text + "\n", encoding="utf-8")


def _page(target: Path, pages: Pages) -> list[int]:
    """The files of the built page; `.nojekyll` keeps a well-known host from leaving some out."""
    sizes = [_save(target / ".nojekyll", b"")]
    if pages.folder is None or not pages.built:
        progress.say("the page was not built: only its data is written")
        return [*sizes, _save(target / "index.html", NOT_BUILT.encode())]
    for file in sorted(pages.folder.rglob("*")):
        path = file.relative_to(pages.folder)
        if file.suffix in KINDS and pages.find(path.as_posix()) is not None:
            content = file.read_bytes()
            sizes.append(_save(target / path, content if path.name != "index.html" else content.replace(*GUARDED, 1)))
    return sizes


def _save(file: Path, content: bytes) -> int:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    return len(content)
