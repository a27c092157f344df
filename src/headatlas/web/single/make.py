"""Makes a single file from an atlas: what its view needs, full maps if they fit, and what else is small."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headatlas import progress, wording
from headatlas.errors import HeadatlasError, OptionError
from headatlas.web import export_items
from headatlas.web.api.endpoints import ENDPOINTS
from headatlas.web.api.errors import RequestError
from headatlas.web.compute.runner import ModelRunner
from headatlas.web.export_items import Item
from headatlas.web.server.responses import to_bytes
from headatlas.web.single import view as views
from headatlas.web.single.contents import Contents
from headatlas.web.single.view import HeadName, View
from headatlas.web.views import example_table
from headatlas.web.views.snapshot import ExportedExamples, Snapshot
from headatlas.web.views.watcher import AtlasWatcher

if TYPE_CHECKING:
    from headatlas.atlas.store import Atlas
    from headatlas.models.model import Model

LARGEST = 16_000_000  # bytes of all responses in a file
EXACT = 4_000_000  # bytes up to which full maps are kept exactly
USEFUL = 1_000_000  # bytes of what a view can do without, of each kind
COMPRESSIBLE = 8  # maps with more than this many times `LARGEST` bytes are not tried


def contents(
    atlas: Atlas,
    example: int | None = None,
    head: HeadName | None = None,
    cluster: int | None = None,
    model: str | Model | None = None,
) -> Contents:
    """What a file holds that opens on an example, a head, a cluster or the overview."""
    atlas.needed("collect")
    runner = ModelRunner(model)
    try:
        snapshot = AtlasWatcher(atlas, runner.loader).snapshot()
        return _contents(snapshot, runner, views.choose(snapshot, example, head, cluster))
    finally:
        runner.close()


def _contents(snapshot: Snapshot, runner: ModelRunner, view: View) -> Contents:
    maps = {} if view.example is None else _full_maps(snapshot, runner, view.example)
    frozen = _frozen(snapshot, view, full=bool(maps))
    page = _page(frozen, view)
    if not add_maps(page, maps):
        progress.say(f"without full maps: with them {page.holds} would take more than {megabytes(LARGEST)}")
        frozen = _frozen(snapshot, view, full=False)
        page = _page(frozen, view)
    _add_useful(page, frozen, view)
    return page


def _frozen(snapshot: Snapshot, view: View, *, full: bool) -> Snapshot:
    """The atlas as an exported page that holds at most one example."""
    examples = () if view.example is None else (view.example,)
    exported = ExportedExamples(frozenset(examples), examples if full else (), ())
    return Snapshot(snapshot.atlas, snapshot.tag, False, "A single file has no model to run.", exported)


def _page(snapshot: Snapshot, view: View) -> Contents:
    """A page with what its view needs."""
    page = Contents(view.address, view.holds(snapshot), f"The whole atlas is shown by headatlas serve {snapshot.name}")
    for item in views.needed(snapshot, view):
        try:
            page.add(item.path, to_bytes(item.read(snapshot)))
        except RequestError as error:  # an image that no longer exists
            progress.say(f"skipped {item.path}: {error}")
    if page.size > LARGEST:
        raise OptionError(
            f"{page.holds} takes {megabytes(page.size)}, more than the {megabytes(LARGEST)} of a single file. "
            "Export a folder instead: headatlas export"
        )
    return page


def _add_useful(page: Contents, snapshot: Snapshot, view: View) -> None:
    """Add what is small and fits."""
    sizes: dict[str, int] = {}
    for item in views.useful(snapshot, view):
        name = item.endpoint.name
        if item.path in page.files or sizes.get(name, 0) > USEFUL or _values(item, snapshot) > USEFUL:
            continue
        before = page.size
        page.add(item.path, to_bytes(item.read(snapshot)))
        sizes[name] = sizes.get(name, 0) + page.size - before
        if sizes[name] > USEFUL or page.size > LARGEST:
            del page.files[item.path]


def _values(item: Item, snapshot: Snapshot) -> int:
    """How many values a response has, approximately: large ones are not even read."""
    examples, layers, heads = snapshot.shape
    if item.endpoint is ENDPOINTS.column:
        return examples * layers * heads
    tokens = int(snapshot.atlas.collection["counts"].get("tokens", 0))
    return tokens if item.endpoint is ENDPOINTS.texts else examples


# full maps


def _full_maps(snapshot: Snapshot, runner: ModelRunner, example: int) -> dict[str, bytes]:
    """The full maps of an example by their address; none if there is no model, or if they are far too large."""
    tokens, target = (example_table.integers(snapshot, name, 0)[example] for name in ("n_tokens", "n_target"))
    heads = sum(layer["heads"] for layer in snapshot.atlas.header["model"]["layers"])
    if not snapshot.live:
        progress.say(f"without full maps: {snapshot.live_note}")
        return {}
    if heads * max(tokens, target) ** 2 > COMPRESSIBLE * LARGEST:
        progress.say(f"without full maps: those of {wording.many(tokens, 'token')} are too large for a single file")
        return {}
    maps: dict[str, bytes] = {}
    items = list(export_items.computed(export_items.FULL_MAPS, snapshot, example))
    try:
        with progress.bar("full maps", len(items), "layers") as advance:
            for item in items:
                maps[item.path] = to_bytes(item.compute(runner, snapshot))
                advance(1)
    except HeadatlasError as error:
        progress.say(f"without full maps: {error}")
        return {}
    return maps


def add_maps(page: Contents, maps: dict[str, bytes]) -> bool:
    """Add full maps: exactly if the file stays small, else with 8 bits per weight. Whether they fit."""
    for rounded, most in ((False, EXACT), (True, LARGEST)):
        for path, values in maps.items():
            page.add(path, values, rounded=rounded)
        if page.size <= most:
            return True
    for path in maps:
        del page.files[path]
    page.rounded.clear()
    return not maps


def megabytes(size: int) -> str:
    """A size in megabytes.

    >>> megabytes(16_000_000), megabytes(1_240_000)
    ('16 MB', '1.2 MB')
    """
    return f"{size / 1e6:.2g} MB" if size < 1e8 else f"{size / 1e6:,.0f} MB"
