"""The files of an export: every exported endpoint, for everything it is declared `over`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from headatlas.web.api.endpoints import ENDPOINTS, Endpoint
from headatlas.web.api.payloads.base import Payload
from headatlas.web.compute.jobs import Pending
from headatlas.web.compute.runner import ModelRunner
from headatlas.web.views import clusters, columns, compare, compare_maps, probe, qk, trees
from headatlas.web.views.snapshot import Snapshot

Values = dict[str, str | int]
Enumerator = Callable[[Snapshot, Sequence[int]], Iterable[Values]]
VARIANT = "tsne"  # the variant of t-SNE that is exported
FULL_MAPS = ("full maps",)
TSNE = ("t-SNE", "t-SNE positions", "t-SNE by layer")


@dataclass(frozen=True)
class Item:
    """An address and its parameters."""

    endpoint: Endpoint
    values: Values

    @property
    def path(self) -> str:
        """The file, relative to the folder of the export."""
        return self.endpoint.path(**self.values)

    def read(self, snapshot: Snapshot) -> Payload | bytes:
        """What the server would respond with, read from the atlas."""
        response: Payload | bytes = self.endpoint.function(snapshot, **self.values)
        return response

    def compute(self, runner: ModelRunner, snapshot: Snapshot) -> Payload | bytes:
        """What the server would respond with, computed with the model."""
        response: Payload | bytes | Pending = self.endpoint.function(runner, snapshot, **self.values)
        return response.wait() if isinstance(response, Pending) else response


def stored(snapshot: Snapshot, examples: Sequence[int]) -> Iterator[Item]:
    """Everything that is read from the atlas; `examples` are those that have a page."""
    names = {endpoint.over for endpoint in ENDPOINTS if endpoint.over and not endpoint.live}
    return items(names, snapshot, examples)


def computed(over: Sequence[str], snapshot: Snapshot, example: int) -> Iterator[Item]:
    """What is computed for an example: `FULL_MAPS` or `TSNE`."""
    return items(over, snapshot, [example])


def items(over: Iterable[str | None], snapshot: Snapshot, examples: Sequence[int]) -> Iterator[Item]:
    """Every endpoint that is declared `over` one of these, for these examples."""
    for endpoint in ENDPOINTS:
        if endpoint.over is not None and endpoint.over in over:
            for values in ENUMERATORS[endpoint.over](snapshot, examples):
                yield Item(endpoint, values)


# what `Endpoint.over` can be


def _results(stage: str, parameter: str) -> Enumerator:
    return lambda snapshot, examples: [{parameter: name} for name in snapshot.atlas.results(stage)]


def _with_exemplars(snapshot: Snapshot, examples: Sequence[int]) -> list[Values]:
    return [{"clustering": name} for name in snapshot.atlas.results("cluster") if clusters.exemplars(snapshot, name)]


def _trees(snapshot: Snapshot) -> list[str]:
    return [name for name in snapshot.atlas.results("cluster") if trees.is_tree(snapshot, name)]


def _clusters(snapshot: Snapshot, examples: Sequence[int]) -> Iterator[Values]:
    for name in _correlated(snapshot):
        for cluster in clusters.ranked(snapshot, name):
            yield {"clustering": name, "cluster": cluster.number}


def _heads(snapshot: Snapshot, examples: Sequence[int]) -> Iterator[Values]:
    for name in _correlated(snapshot):
        for layer, facts in enumerate(_layers(snapshot)):
            for head in range(facts["heads"]):
                yield {"clustering": name, "layer": layer, "head": head}


def _correlated(snapshot: Snapshot) -> list[str]:
    return [name for name in snapshot.atlas.results("cluster") if name in snapshot.atlas.results("correlate")]


def _unlike(snapshot: Snapshot, examples: Sequence[int]) -> Iterator[Values]:
    for name in _correlated(snapshot):
        if columns.has_unlike(snapshot, name):
            for example in examples:
                yield {"clustering": name, "example": example}


def _pooled(snapshot: Snapshot, examples: Sequence[int]) -> list[Values]:
    return [{"example": example} for example in examples if snapshot.has_pooled_maps(example)]


def _images(snapshot: Snapshot, examples: Sequence[int]) -> list[Values]:
    return _pooled(snapshot, examples) if snapshot.atlas.header["data"]["modality"] == "image" else []


def _layers(snapshot: Snapshot) -> list[dict[str, Any]]:
    layers: list[dict[str, Any]] = snapshot.atlas.header["model"]["layers"]
    return layers


def _maps(snapshot: Snapshot, examples: Sequence[int]) -> Iterator[Values]:
    for example in examples:
        for layer in range(len(_layers(snapshot))):
            yield {"example": example, "layer": layer}


def _vectors(snapshot: Snapshot, examples: Sequence[int]) -> Iterator[Values]:
    return _maps(snapshot, [example for example in examples if snapshot.has_vectors(example)])


def _every_head(snapshot: Snapshot, examples: Sequence[int]) -> Iterator[Values]:
    for layer, facts in enumerate(_layers(snapshot)):
        for head in range(facts["heads"]):
            yield {"layer": layer, "head": head}


def _tsne(snapshot: Snapshot, examples: Sequence[int]) -> list[Values]:
    return [{"example": example, "variant": VARIANT} for example in examples]


def _tsne_positions(snapshot: Snapshot, examples: Sequence[int]) -> list[Values]:
    return [values | {"layouts": kind} for values in _tsne(snapshot, examples) for kind in ("heads", "states")]


def _tsne_layers(snapshot: Snapshot, examples: Sequence[int]) -> list[Values]:
    layers = range(len(_layers(snapshot)))
    return [values | {"layer": layer} for values in _tsne(snapshot, examples) for layer in layers]


def _embedding_columns(snapshot: Snapshot, examples: Sequence[int]) -> Iterator[Values]:
    for name in snapshot.atlas.results("qk"):
        for column in qk.catalog(snapshot, name):
            yield {"embedding": name, "column": column}


def _embedding_layers(snapshot: Snapshot, examples: Sequence[int]) -> Iterator[Values]:
    for name in snapshot.atlas.results("qk"):
        for layer in range(len(_layers(snapshot))):
            yield {"embedding": name, "layer": layer}


def _embedding_heads(snapshot: Snapshot, examples: Sequence[int]) -> Iterator[Values]:
    for name in snapshot.atlas.results("qk"):
        for layer, facts in enumerate(_layers(snapshot)):
            for head in range(facts["heads"]):
                yield {"embedding": name, "layer": layer, "head": head}


def _comparison_steps(snapshot: Snapshot, examples: Sequence[int]) -> Iterator[Values]:
    for name in snapshot.atlas.results("compare"):
        for step in range(1, 1 + compare.steps(snapshot, name)):
            yield {"comparison": name, "step": step}


def _comparison_heads(snapshot: Snapshot, examples: Sequence[int]) -> Iterator[Values]:
    for name in snapshot.atlas.results("compare"):
        for values in _every_head(snapshot, examples):
            yield {"comparison": name, **values}


def _comparison_models(snapshot: Snapshot, examples: Sequence[int]) -> Iterator[Values]:
    for name in snapshot.atlas.results("compare"):
        for model in compare_maps.models(snapshot, name):
            yield {"comparison": name, "model": model}


def _comparison_maps(snapshot: Snapshot, examples: Sequence[int]) -> Iterator[Values]:
    for name in snapshot.atlas.results("compare"):
        for place in range(len(compare.rows(snapshot, "compare_examples", name))):
            for layer in range(compare_maps.layer_count(snapshot, name)):
                yield {"comparison": name, "place": place, "layer": layer}


def _probe_tables(panel: str) -> Enumerator:
    """The tables of analyses that the page shows in a panel of this kind."""
    return lambda snapshot, examples: [{"table": table} for table in probe.tables(snapshot, panel)]


def _once(panel: str) -> Enumerator:
    """Once, if an analysis has such a panel."""
    return lambda snapshot, examples: [{}] * bool(probe.tables(snapshot, panel))


def _measured(enumerate_embeddings: Enumerator) -> Enumerator:
    """Each of these with every measure of points."""

    def enumerated(snapshot: Snapshot, examples: Sequence[int]) -> Iterator[Values]:
        for values in enumerate_embeddings(snapshot, examples):
            for measure in qk.MEASURES:
                yield values | {"measure": measure}

    return enumerated


ENUMERATORS: dict[str, Enumerator] = {
    "atlas": lambda snapshot, examples: [{}],
    "projections": _results("project", "projection"),
    "columns": lambda snapshot, examples: [{"column": slug} for slug in columns.catalog(snapshot)],
    "clusterings": _results("cluster", "clustering"),
    "correlated clusterings": lambda snapshot, examples: [{"clustering": name} for name in _correlated(snapshot)],
    "clusterings with exemplars": _with_exemplars,
    "trees": lambda snapshot, examples: [{"clustering": name} for name in _trees(snapshot)],
    "clusters": _clusters,
    "heads of correlated clusterings": _heads,
    "examples of clusterings that know unlike maps": _unlike,
    "examples": lambda snapshot, examples: [{"example": example} for example in examples],
    "examples with pooled maps": _pooled,
    "examples with images": _images,
    "full maps": _maps,
    "examples with queries and keys": _vectors,
    "heads": _every_head,
    "t-SNE": _tsne,
    "t-SNE positions": _tsne_positions,
    "t-SNE by layer": _tsne_layers,
    "measures of heads": _probe_tables("measures"),
    "roles of heads": _probe_tables("roles"),
    "rows of heads": _probe_tables("rows"),
    "relations": _once("relations"),
    "distances of heads": _once("distances"),
    "comparisons": _results("compare", "comparison"),
    "steps of comparisons": _comparison_steps,
    "heads of comparisons": _comparison_heads,
    "models of comparisons": _comparison_models,
    "kept maps of comparisons": _comparison_maps,
    "embeddings": _results("qk", "embedding"),
    "columns of embeddings": _embedding_columns,
    "layers of embeddings": _embedding_layers,
    "heads of embeddings": _embedding_heads,
    "measures of embeddings": _measured(_results("qk", "embedding")),
    "measures of layers of embeddings": _measured(_embedding_layers),
}
