"""The card of the atlas, which a page asks for first, and the heads with their statistics."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas import __version__, wording
from headatlas.atlas import display, schema
from headatlas.atlas.blocks import read_blocks
from headatlas.atlas.store import Entry, source_of
from headatlas.stages.qk.notes import layer_note
from headatlas.statistics import statistic
from headatlas.web.api import arrays
from headatlas.web.api.payloads.atlas import (
    AtlasCard,
    ClusteringCard,
    DataCard,
    GridCard,
    HeadRow,
    Heads,
    LayerCard,
    ModelCard,
    ResultCard,
    StageCard,
    StatisticCard,
)
from headatlas.web.views import columns, projections, trees
from headatlas.web.views.example_vectors import scaling_of
from headatlas.web.views.snapshot import Snapshot
from headatlas.web.views.values import known

UNLIMITED = 1_000_000  # tokens: tokenizers report a huge number for models without a limit
LOCATION = re.compile(r"(?P<kind>[a-z]{2,}:)?(?P<path>[./~\\].*|[A-Za-z]:\\.*)")


def _pooled_examples(snapshot: Snapshot) -> list[int] | None:
    """The examples whose pooled maps an exported page has; None if it has all."""
    exported = snapshot.exported
    return None if exported is None or len(exported.pooled) == snapshot.shape[0] else sorted(exported.pooled)


def card(snapshot: Snapshot) -> AtlasCard:
    """Everything the atlas holds."""
    header = snapshot.atlas.header
    return AtlasCard(
        name=snapshot.name,
        version=__version__,
        format=header["format"],
        static=snapshot.exported is not None,
        live=snapshot.live and snapshot.exported is None,
        live_note=snapshot.live_note,
        full_examples=[] if snapshot.exported is None else list(snapshot.exported.full),
        pooled_examples=_pooled_examples(snapshot),
        resolution=int(snapshot.atlas.array("pooled").shape[-1]),
        model=_model(header["model"]),
        data=_data(header["data"], snapshot.atlas.collection["counts"]),
        stages=[_stage(snapshot, name) for name, stage in schema.STAGES.items() if stage.listed],
        statistics=[
            StatisticCard(name=declared.name, plain=declared.label, unit=declared.unit_text)
            for declared in map(statistic, columns.statistics(snapshot))
        ],
        columns=[column.card for column in columns.catalog(snapshot).values() if column.listed],
        projections=projections.cards(snapshot),
        clusterings=[_clustering(snapshot, name) for name in snapshot.atlas.results("cluster")],
    )


def _model(facts: dict[str, Any]) -> ModelCard:
    grid, max_tokens = facts.get("grid"), facts.get("max_tokens")
    layers = [
        LayerCard(
            index=index, kind=layer["kind"], heads=layer["heads"], key_heads=layer["key_heads"],
            causal=layer.get("causal", False), width=layer.get("width", 0), scaling=scaling_of(layer),
            note=layer_note(layer),
        )
        for index, layer in enumerate(facts["layers"])
    ]  # fmt: skip
    return ModelCard(
        name=facts["name"],
        family=facts["family"],
        modality=facts.get("modality", "text"),
        revision=facts.get("revision"),
        hash=facts["hash"],
        layers=layers,
        heads=facts["heads"],
        key_heads=facts["key_heads"],
        width=facts.get("width"),
        max_tokens=max_tokens if max_tokens and max_tokens < UNLIMITED else None,
        grid=GridCard(special=list(grid["special"]), rows=grid["rows"], columns=grid["columns"]) if grid else None,
        notes=list(facts.get("notes", [])),
    )


def _data(data: dict[str, Any], counts: dict[str, Any]) -> DataCard:
    names = ("examples", "tokens", "windowed", "windows", "cut", "skipped")
    numbers = {name: int(counts.get(name, 0)) for name in names}
    return DataCard(name=dataset_name(data["name"]), modality=data["modality"], **numbers)


def dataset_name(source: str) -> str:
    """The name of a dataset, without the folder it was read from.

    >>> dataset_name("squad:/data/squad/dev-v2.0.json"), dataset_name("hf:imdb:test"), dataset_name("./texts.csv")
    ('squad:dev-v2.0.json', 'hf:imdb:test', 'texts.csv')
    """
    location = LOCATION.fullmatch(source)
    return (location["kind"] or "") + PurePath(location["path"]).name if location else source


def _stage(snapshot: Snapshot, stage: str) -> StageCard:
    return StageCard(
        stage=stage,
        done=stage in snapshot.atlas.done,
        command=snapshot.command(stage),
        results=[_result(stage, entry) for entry in snapshot.atlas.results(stage).values()],
    )


def _result(stage: str, entry: Entry) -> ResultCard:
    recipe = entry["recipe"]
    return ResultCard(
        name=entry["name"], line=wording.result_line(stage, entry["facts"]), source=source_of(entry, stage),
        options=recipe["options"], version=recipe["version"],
    )  # fmt: skip


def _clustering(snapshot: Snapshot, name: str) -> ClusteringCard:
    entry = snapshot.atlas.results("cluster")[name]
    facts = entry["facts"]
    return ClusteringCard(
        name=name,
        key=entry["key"],
        method=facts.get("method", name),
        level=facts.get("level", "maps"),
        clusters=len(facts.get("clusters", [])),
        noise=facts.get("noise", 0.0),
        stability=known(facts.get("stability")),
        correlated=name in snapshot.atlas.results("correlate"),
        finest=trees.finest_level(snapshot, name),
    )


# heads


def heads(snapshot: Snapshot) -> Heads:
    """Every head that exists, with the mean and the standard deviation of its statistics."""
    mean, deviation = moments(snapshot)
    rows = [
        HeadRow(
            layer=index, head=head, kind=layer["kind"], mean=[known(value) for value in mean[index, head]],
            deviation=[known(value) for value in deviation[index, head]],
        )
        for index, layer in enumerate(snapshot.atlas.header["model"]["layers"])
        for head in range(layer["heads"])
    ]  # fmt: skip
    return Heads(examples=snapshot.shape[0], heads=rows)


def head_maps(snapshot: Snapshot) -> bytes:
    """The mean pooled map of every head."""
    return arrays.attention(display.mean_maps(snapshot.atlas)).tobytes()


def moments(snapshot: Snapshot) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and standard deviation over examples (layer, head, statistic)."""
    return snapshot.cached("moments", lambda: _moments(snapshot))


def _moments(snapshot: Snapshot) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and standard deviation, accumulated block by block."""
    shape = snapshot.atlas.array("stats").shape[1:]
    count, mean, squares = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for _, block in read_blocks(snapshot.atlas, "stats"):
        values = block.astype(np.float64)
        finite = np.isfinite(values)
        block_count = finite.sum(0)
        values[~finite] = 0
        with np.errstate(invalid="ignore", divide="ignore"):
            block_mean = np.where(block_count > 0, values.sum(0) / block_count, 0)
            deviations = np.where(finite, values - block_mean, 0)
            total = count + block_count
            step = np.where(total > 0, (block_mean - mean) / total, 0)
        squares += (
            np.einsum("e...,e...->...", deviations, deviations) + (block_mean - mean) * step * count * block_count
        )
        mean, count = mean + step * block_count, total
    with np.errstate(invalid="ignore", divide="ignore"):
        deviation = np.sqrt(squares / (count - 1))
    return np.where(count > 0, mean, np.nan), np.where(count > 1, deviation, np.nan)
