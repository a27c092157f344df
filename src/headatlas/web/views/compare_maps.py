"""Maps of compared models: the mean of every head, and those of the examples that are kept."""

from __future__ import annotations

from headatlas.web.api import arrays
from headatlas.web.api.errors import RequestError
from headatlas.web.views.compare import needed, rows, steps
from headatlas.web.views.snapshot import Snapshot


def models(snapshot: Snapshot, comparison: str) -> range:
    """The models whose maps are shown: the first and every step. Other seeds are shown as numbers only."""
    return range(1 + steps(snapshot, comparison))


def means(snapshot: Snapshot, comparison: str, model: int) -> bytes:
    """The mean pooled map of every head of a model."""
    last = models(snapshot, comparison)[-1]
    if not 0 <= model <= last:
        raise RequestError(404, f"There is no model {str(model)[:20]} of {comparison}: they go from 0 to {last}.")
    return arrays.attention(snapshot.atlas.read("compare_mean", model, comparison)).tobytes()


def maps(snapshot: Snapshot, comparison: str, place: int, layer: int) -> bytes:
    """The pooled maps of a kept example, of all heads of a layer in every model that has it."""
    needed(snapshot, comparison)
    count = len(rows(snapshot, "compare_examples", comparison))
    if not 0 <= place < count:
        raise RequestError(404, f"There is no kept example {str(place)[:20]}: they go from 0 to {count - 1}.")
    layers = layer_count(snapshot, comparison)
    if not 0 <= layer < layers:
        raise RequestError(404, f"There is no layer {str(layer)[:20]}: they go from 0 to {layers - 1}.")
    shown = slice(0, len(models(snapshot, comparison)))
    return arrays.attention(snapshot.atlas.read("compare_pooled", (place, shown, layer), comparison)).tobytes()


def layer_count(snapshot: Snapshot, comparison: str) -> int:
    """Layers of the largest model."""
    return int(snapshot.atlas.array("compare_pooled", comparison).shape[2])
