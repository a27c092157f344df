"""What is there: the first answer a page asks for, and the heads with their statistics."""

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
from headatlas.statistics import statistic
from headatlas.web.api import encoding
from headatlas.web.api.payloads import (
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
from headatlas.web.views import columns
from headatlas.web.views.columns import known
from headatlas.web.views.site import View

ENDLESS = 1_000_000  # tokens: what is said of a model that has no limit
PLACE = re.compile(r"(?P<kind>[a-z]{2,}:)?(?P<path>[./~\\].*|[A-Za-z]:\\.*)")


def card(view: View) -> AtlasCard:
    """All that is there."""
    header = view.atlas.header
    return AtlasCard(
        name=view.name,
        version=__version__,
        format=header["format"],
        static=view.static,
        live=view.live and not view.static,
        live_note=view.note,
        full_examples=list(view.full),
        resolution=int(view.atlas.array("pooled").shape[-1]),
        model=_model(header["model"]),
        data=_data(header, view.atlas.collection["counts"]),
        stages=[_stage(view, name) for name, stage in schema.STAGES.items() if stage.listed],
        statistics=[
            StatisticCard(name=declared.name, plain=declared.label, unit=declared.unit)
            for declared in map(statistic, columns.statistics(view))
        ],
        columns=[one.card for one in columns.catalogue(view).values()],
        projections=columns.projections(view),
        clusterings=[_clustering(view, name) for name in view.atlas.results("cluster")],
    )


def _model(facts: dict[str, Any]) -> ModelCard:
    grid, longest = facts.get("grid"), facts.get("max_tokens")
    layers = [
        LayerCard(
            index=number, kind=one["kind"], heads=one["heads"], key_heads=one["key_heads"],
            causal=one.get("causal", False),
        )
        for number, one in enumerate(facts["layers"])
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
        max_tokens=longest if longest and longest < ENDLESS else None,
        grid=GridCard(special=list(grid["special"]), rows=grid["rows"], columns=grid["columns"]) if grid else None,
        notes=list(facts.get("notes", [])),
    )


def _data(header: dict[str, Any], counts: dict[str, Any]) -> DataCard:
    data = header["data"]
    names = ("examples", "tokens", "windowed", "windows", "cut", "skipped")
    numbers = {name: int(counts.get(name, 0)) for name in names}
    return DataCard(name=called(data["name"]), modality=data["modality"], **numbers)


def called(name: str) -> str:
    """A dataset by its name, without the folder it lay in.

    >>> called("squad:/data/squad/dev-v2.0.json"), called("hf:imdb:test"), called("./texts.csv")
    ('squad:dev-v2.0.json', 'hf:imdb:test', 'texts.csv')
    """
    found = PLACE.fullmatch(name)
    return (found["kind"] or "") + PurePath(found["path"]).name if found else name


def _stage(view: View, stage: str) -> StageCard:
    entries = view.atlas.results(stage).values()
    return StageCard(
        stage=stage,
        done=stage in view.atlas.done,
        command=view.command(stage),
        results=[_result(stage, entry) for entry in entries],
    )


def _result(stage: str, entry: Entry) -> ResultCard:
    recipe = entry["recipe"]
    return ResultCard(
        name=entry["name"], line=wording.result_line(stage, entry["facts"]), source=source_of(entry, stage),
        options=recipe["options"], version=recipe["version"],
    )  # fmt: skip


def _clustering(view: View, name: str) -> ClusteringCard:
    facts = view.atlas.results("cluster")[name]["facts"]
    return ClusteringCard(
        name=name,
        method=facts.get("method", name),
        level=facts.get("level", "maps"),
        clusters=len(facts.get("clusters", [])),
        noise=facts.get("noise", 0.0),
        stability=known(facts.get("stability")),
        correlated=name in view.atlas.results("correlate"),
    )


# heads


def heads(view: View) -> Heads:
    """Every head that exists, with the mean and the deviation of its statistics."""
    mean, deviation = _moments(view)
    rows = [
        HeadRow(
            layer=number, head=head, kind=layer["kind"], mean=[known(one) for one in mean[number, head]],
            deviation=[known(one) for one in deviation[number, head]],
        )
        for number, layer in enumerate(view.atlas.header["model"]["layers"])
        for head in range(layer["heads"])
    ]  # fmt: skip
    return Heads(examples=view.shape[0], heads=rows, maps="api/heads/maps.bin")


def head_maps(view: View) -> bytes:
    """The mean pooled map of every head."""
    return encoding.attention(display.mean_maps(view.atlas)).tobytes()


def _moments(view: View) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and standard deviation over examples (layer, head, statistic), each part joined to those before it."""
    shape = view.atlas.array("stats").shape[1:]
    count, mean, squares = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for _, part in read_blocks(view.atlas, "stats"):
        values = part.astype(np.float64)
        there = np.isfinite(values)
        own = there.sum(0)
        values[~there] = 0
        with np.errstate(invalid="ignore", divide="ignore"):
            middle = np.where(own > 0, values.sum(0) / own, 0)
            away = np.where(there, values - middle, 0)
            total = count + own
            step = np.where(total > 0, (middle - mean) / total, 0)
        squares += np.einsum("e...,e...->...", away, away) + (middle - mean) * step * count * own
        mean, count = mean + step * own, total
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = np.sqrt(squares / (count - 1))
    return np.where(count > 0, mean, np.nan), np.where(count > 1, spread, np.nan)
