"""Train an encoder of maps without labels, on two views of the same map or of the same head."""

from __future__ import annotations

import copy
import math
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from headatlas import __version__, progress, wording
from headatlas.atlas.store import Atlas
from headatlas.errors import DataError, OptionError, StoreError
from headatlas.options import either
from headatlas.stages.features import network
from headatlas.stages.features.encoders import VIEWS
from headatlas.stages.features.objective import Objective, net_of
from headatlas.stages.features.restoration import Restoration
from headatlas.stages.features.twins import HeadTwins
from headatlas.stages.features.views import Maps

OBJECTIVES: dict[str, type[Objective]] = {"map": Restoration, "heads": HeadTwins}
MEMORY = 2**30  # bytes of maps, over all atlases; twice that while they are read
HELD = 60  # at most this many examples of an atlas are held out, and at most a tenth
WARM = 30  # warm-up steps to the full learning rate
RATE = 2e-3  # largest learning rate
DECAY = 1e-2  # of the weights
AVERAGE = 0.98  # decay of the running mean of the weights


@dataclass(frozen=True)
class Source:
    """Maps of one atlas for training, and held out; the heads of all layers lie on one axis."""

    name: str
    maps: Maps
    held: Maps


def train(
    atlases: Sequence[Atlas],
    path: str | os.PathLike[str],
    *,
    views: str = "map",
    seed: int = 0,
    steps: int = 1200,
    batch: int = 512,
    width: int = 128,
    threads: int = 1,
) -> dict[str, Any]:
    """Train an encoder on the pooled maps of some atlases, and write it to `path` as safetensors.

    >>> import headatlas as ha
    >>> from headatlas.stages.features.train import train
    >>> atlas = ha.collect.maps("packaged", ["The cat sat.", "It slept, then it ate."], "memory://train.atlas")
    >>> facts = train([atlas], "cats.safetensors", steps=1, batch=16)
    >>> ha.features.image(atlas, "cats.safetensors").shape
    (2, 6, 12, 128)

    At most 1 GB of maps is held in memory, twice that while reading: whole examples, chosen at random. Up to 60
    examples of each atlas, but no more than a tenth, are held out. The same call with the same number of `threads`
    writes the same file on one machine.

    Parameters
    ----------
    atlases : sequence of Atlas
        Atlases with a collection.
    path : str or path
        The .safetensors file to write.
    views : {"map", "heads"}
        Train on two views of the same map, to restore corrupted maps; no vector then knows which head it is from. Or
        on maps of the same head on two examples, to tell heads apart.
    seed : int
        Random seed.
    steps : int
        Training steps.
    batch : int
        Maps per batch, or heads.
    width : int
        Length of the vectors.
    threads : int
        Number of threads.

    Returns
    -------
    dict
        The facts stored in the file, among them `held_out`: for held-out examples of each atlas, the share of the
        variance of maps that is restored, or the head retrieval, with its 95 % interval. Also `parameters` and
        `seconds`.
    """
    if steps < 1 or batch < 16 or not 2 <= width <= 256 or threads < 1 or seed < 0:
        raise OptionError(
            "steps and threads must be at least 1, batch at least 16, width between 2 and 256, and seed at least 0"
        )
    if views not in OBJECTIVES:
        raise OptionError(f"views {views!r}: choose {either(tuple(VIEWS))}")
    if not atlases:
        raise OptionError("give at least one atlas to train on")
    started, objective_class = time.monotonic(), OBJECTIVES[views]
    with _deterministic(seed, threads):
        sources = _read(atlases, seed, objective_class.least)
        objective = objective_class([source.maps for source in sources], seed, width)
        trained, losses = _fit(objective, steps, batch)
        objective.finish(trained)
        options = {"seed": seed, "steps": steps, "batch": batch, "threads": threads}
        facts = {"headatlas": __version__, "views": views, "options": options, **_facts(objective, atlases, sources)}
        facts |= {"loss": losses, "held_out": _scores(objective, trained, sources)}
    net = net_of(trained)
    network.save(net, path, facts)
    return {**facts, "parameters": net.parameters_count, "seconds": round(time.monotonic() - started)}


@contextmanager
def _deterministic(seed: int, threads: int) -> Iterator[None]:
    """Fix the random state and the number of threads, and restore them afterwards."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            yield
    finally:
        torch.set_num_threads(before)


def _read(atlases: Sequence[Atlas], seed: int, least: int) -> list[Source]:
    rng = np.random.default_rng(seed)
    return [_source(atlas, MEMORY // len(atlases), least, rng) for atlas in atlases]


def _source(atlas: Atlas, room: int, least: int, rng: np.random.Generator) -> Source:
    url = atlas.files.url
    if not atlas.results("collect"):
        raise StoreError(f"the collection of {url} is not finished. Run its `headatlas collect` again, then train")
    examples, *shape = atlas.array("pooled").shape
    if examples < least:
        raise DataError(f"{url} has {wording.many(examples, 'example')}: two views of a head need at least two")
    count = max(least, min(examples, room // (2 * math.prod(shape))))
    chosen = rng.permutation(examples)[:count]
    maps = _chosen(atlas, np.sort(chosen))
    exists = ~np.isnan(maps.sum((2, 3), np.float32)).any(0)
    if not exists.any():
        raise DataError(f"{url} has no maps to train on: every head contains NaN")
    maps = maps if exists.all() else maps[:, exists]
    held = np.zeros(count, bool)
    held[rng.permutation(count)[: min(HELD, count // 10)]] = True
    return Source(str(atlas.header["model"].get("name", url)), maps[~held], maps[held])


def _chosen(atlas: Atlas, examples: NDArray[np.int64]) -> Maps:
    """Maps of some examples, read block by block and resized for the network."""
    block = 64
    parts = []
    for start in range(0, int(examples[-1]) + 1, block):
        inside = examples[(examples >= start) & (examples < start + block)] - start
        if len(inside):
            maps = atlas.read("pooled", slice(start, start + block))[inside]
            flat = torch.from_numpy(maps.reshape(len(maps), -1, *maps.shape[-2:]))
            parts.append(network.resized(flat.float()).half().numpy())
    return np.concatenate(parts)


def _fit(objective: Objective, steps: int, batch: int) -> tuple[nn.ModuleDict, dict[str, float]]:
    """The running mean of the weights over training, and the mean loss over the first and last tenth of the steps."""
    trained = objective.trained
    optimizer = torch.optim.AdamW(trained.parameters(), weight_decay=DECAY)
    mean = copy.deepcopy(trained).eval()
    losses = []
    with progress.bar("training", steps, "steps") as advance:
        for step in range(steps):
            for group in optimizer.param_groups:
                group["lr"] = RATE * min(1, (step + 1) / WARM) * (1 + math.cos(math.pi * step / steps)) / 2
            loss = objective.loss(batch)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            _update_mean(mean, trained, min(AVERAGE, (step + 1) / (step + 10)))
            losses.append(loss.item())
            advance(1)
    tenth = -(-steps // 10)
    first, last = np.mean(losses[:tenth]), np.mean(losses[-tenth:])
    return mean, {"first": float(f"{first:.4g}"), "last": float(f"{last:.4g}")}


@torch.no_grad()
def _update_mean(mean: nn.Module, trained: nn.Module, decay: float) -> None:
    for old, new in zip(mean.state_dict().values(), trained.state_dict().values(), strict=True):
        if old.is_floating_point():
            old.lerp_(new, 1 - decay)


def _scores(objective: Objective, trained: nn.ModuleDict, sources: Sequence[Source]) -> dict[str, Any]:
    """The measure on held-out examples of each atlas, with the weights as they are stored."""
    net = net_of(trained)
    net.load_state_dict({name: network.stored(name, tensor).float() for name, tensor in net.state_dict().items()})
    scores: dict[str, Any] = {}
    for source in sources:
        score = objective.score(trained, source.held)
        scores[source.name] = score and [round(value, 4) for value in score]
    return scores


def _facts(objective: Objective, atlases: Sequence[Atlas], sources: Sequence[Source]) -> dict[str, Any]:
    recipe = {**objective.facts(), "rate": RATE, "decay": DECAY, "average": AVERAGE}
    data = [
        {
            "model": source.name,
            "data": atlas.header["data"].get("name"),
            "fingerprint": atlas.header["data"].get("fingerprint"),
            "examples": len(source.maps),
            "heads": source.maps.shape[1],
        }
        for atlas, source in zip(atlases, sources, strict=True)
    ]
    return {"recipe": recipe, "atlases": data, "measure": objective.measure}
