"""Train an encoder of maps without labels: two views of one head should agree, and features should not repeat.

Barlow Twins (Zbontar et al. 2021): a network sees two views of each head of a batch, and the correlation of its outputs
over the batch, between one view and the other, is drawn to the identity.
"""

from __future__ import annotations

import copy
import math
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from headatlas import __version__, progress, wording
from headatlas.atlas.store import Atlas
from headatlas.errors import DataError, OptionError, StoreError
from headatlas.numeric.metrics import head_retrieval
from headatlas.stages.features import network
from headatlas.stages.features.network import AttentionNet, images
from headatlas.stages.features.views import Changes, Maps, Views

MEMORY = 2**30  # bytes of maps kept, over all atlases; while they are read it is twice that
HELD = 60  # examples of an atlas that are never trained on, at most; and at most a tenth of them
FITTED = 100  # examples of an atlas to which the last linear map is fitted
WARM = 30  # steps until the full rate


@dataclass(frozen=True)
class Recipe:
    """What is set once for all."""

    rate: float = 2e-3
    decay: float = 1e-2
    projector: int = 1024
    weight: float = 5e-3  # of correlations between different features
    average: float = 0.98  # how much of the running mean of the weights is kept at each step
    shrink: float = 0.03  # of the spread within heads towards a sphere, as a share of its mean


@dataclass(frozen=True)
class Source:
    """Maps of one atlas: to train on, and held out; heads of all layers in a row, those that exist."""

    name: str
    maps: Maps
    held: Maps


def train(
    atlases: Sequence[Atlas],
    path: str | os.PathLike[str],
    *,
    seed: int = 0,
    steps: int = 1200,
    batch: int = 512,
    width: int = 128,
    threads: int = 1,
) -> dict[str, Any]:
    """Train an encoder on the pooled maps of some atlases, and write it to `path` as safetensors.

    At most 1 GB of maps is kept, twice that while reading: whole examples, drawn with `seed`. Up to 60 examples of each
    atlas, but no more than a tenth, are held out. Gives the facts that the file keeps, and the head retrieval on these
    examples: score and 95 % interval for each atlas. The same call with the same number of `threads` gives the same
    file on one machine.
    """
    if steps < 1 or batch < 16 or not 2 <= width <= 256 or threads < 1 or seed < 0:
        raise OptionError(
            "steps and threads must be at least 1, batch at least 16, width between 2 and 256, and seed not negative"
        )
    if not atlases:
        raise OptionError("give at least one atlas to train on")
    started = time.monotonic()
    with _one_way(seed, threads):
        sources = _read(atlases, seed)
        net, losses = _fit(sources, seed, steps, batch, width)
        _settle(net, sources)
        facts = _facts(atlases, sources, {"seed": seed, "steps": steps, "batch": batch, "threads": threads})
        facts |= {"loss": losses, "held_out": _scores(net, sources)}
    network.save(net, path, facts)
    return {**facts, "parameters": net.parameters_count, "seconds": round(time.monotonic() - started)}


@contextmanager
def _one_way(seed: int, threads: int) -> Iterator[None]:
    """Same dice, same order of sums; what the caller had set comes back."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            yield
    finally:
        torch.set_num_threads(before)


def _read(atlases: Sequence[Atlas], seed: int) -> list[Source]:
    dice = np.random.default_rng(seed)
    return [_source(atlas, MEMORY // len(atlases), dice) for atlas in atlases]


def _source(atlas: Atlas, room: int, dice: np.random.Generator) -> Source:
    where = atlas.files.url
    if not atlas.results("collect"):
        raise StoreError(f"{where} is not collected to its end. Run its `headatlas collect` again, then train")
    examples, *shape = atlas.array("pooled").shape
    if examples < 2:
        raise DataError(f"{where} has {wording.many(examples, 'example')}: two views of a head need two at least")
    count = max(2, min(examples, room // (2 * math.prod(shape))))
    chosen = dice.permutation(examples)[:count]
    maps = _chosen(atlas, np.sort(chosen))
    there = ~np.isnan(maps.sum((2, 3), np.float32)).any(0)
    if not there.any():
        raise DataError(f"{where} has no map to train on: there is NaN in every head")
    maps = maps if there.all() else maps[:, there]
    held = np.zeros(count, bool)
    held[dice.permutation(count)[: min(HELD, count // 10)]] = True
    return Source(str(atlas.header["model"].get("name", where)), maps[~held], maps[held])


def _chosen(atlas: Atlas, examples: NDArray[np.int64]) -> Maps:
    """Maps of some examples, read block by block, at the side the network takes."""
    block = 64
    parts = []
    for start in range(0, int(examples[-1]) + 1, block):
        inside = examples[(examples >= start) & (examples < start + block)] - start
        if len(inside):
            maps = atlas.read("pooled", slice(start, start + block))[inside]
            flat = torch.from_numpy(maps.reshape(len(maps), -1, *maps.shape[-2:]))
            parts.append(network.resized(flat.float()).half().numpy())
    return np.concatenate(parts)


def _fit(
    sources: Sequence[Source], seed: int, steps: int, batch: int, width: int
) -> tuple[AttentionNet, dict[str, float]]:
    """The running mean of the network over training, and the loss of the first and the last tenth of it."""
    recipe, views = Recipe(), Views([source.maps for source in sources], seed, Changes())
    net = AttentionNet(width=width)
    projector = _projector(net.shape["inner"], recipe.projector)
    optimiser = torch.optim.AdamW([*net.parameters(), *projector.parameters()], weight_decay=recipe.decay)
    mean = copy.deepcopy(net).eval()
    losses = []
    with progress.bar("training", steps, "steps") as advance:
        for step in range(steps):
            for group in optimiser.param_groups:
                group["lr"] = recipe.rate * min(1, (step + 1) / WARM) * (1 + math.cos(math.pi * step / steps)) / 2
            channels = images(torch.cat(views.draw(batch)))
            first, second = projector(net.inner(channels)).chunk(2)
            loss = barlow_twins(first, second, recipe.weight)
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            _follow(mean, net, min(recipe.average, (step + 1) / (step + 10)))
            losses.append(loss.item())
            advance(1)
    tenth = -(-steps // 10)
    return mean, {"first": round(float(np.mean(losses[:tenth])), 2), "last": round(float(np.mean(losses[-tenth:])), 2)}


def _projector(inputs: int, width: int) -> nn.Sequential:
    """Stands behind the network in training only: decorrelating more features than are kept makes those better."""
    return nn.Sequential(
        nn.GELU(),
        nn.Linear(inputs, width, bias=False),
        nn.BatchNorm1d(width),
        nn.GELU(),
        nn.Linear(width, width, bias=False),
    )


def barlow_twins(first: Tensor, second: Tensor, weight: float) -> Tensor:
    """Distance of the correlations between two views (row, feature) from the identity.

    >>> same = torch.tensor([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    >>> barlow_twins(same, same, 0.5).item() < 1e-6, round(barlow_twins(same, same.flip(1), 0.5).item(), 3)
    (True, 3.0)
    """
    one, two = ((view - view.mean(0)) / (view.std(0, correction=0) + 1e-4) for view in (first, second))
    correlation = one.T @ two / len(one)
    own = correlation.diagonal()
    others = correlation.square().sum() - own.square().sum()
    return (1 - own).square().sum() + weight * others


@torch.no_grad()
def _follow(mean: AttentionNet, net: AttentionNet, kept: float) -> None:
    for old, new in zip(mean.state_dict().values(), net.state_dict().values(), strict=True):
        if old.is_floating_point():
            old.lerp_(new, 1 - kept)


def _settle(net: AttentionNet, sources: Sequence[Source]) -> None:
    """Find the last linear map: maps of one head spread alike in all directions, and what tells heads apart is kept."""
    spreads, means = [], []
    for source in sources:
        inner = _inner(net, source.maps[:FITTED])
        centres = inner.mean(0)
        rest = (inner - centres).flatten(0, 1)
        spreads.append(rest.T @ rest / len(rest))
        means.append(centres)
    spread, heads = torch.stack(spreads).mean(0), torch.cat(means)
    spread += Recipe().shrink * spread.diagonal().mean() * torch.eye(len(spread), dtype=spread.dtype)
    variances, axes = torch.linalg.eigh(spread)
    white = axes / variances.sqrt()
    centre = torch.stack([one.mean(0) for one in means]).mean(0)
    total = (heads - centre) @ white
    # the spread within heads is a sphere now, so adding it keeps the order of the axes and makes all of them defined
    found = torch.linalg.eigh(total.T @ total / len(total) + torch.eye(len(white), dtype=white.dtype))[1]
    net.centre.copy_(centre)
    net.turn.copy_(white @ found[:, -net.shape["width"] :].flip(1))


def _inner(net: AttentionNet, maps: Maps) -> Tensor:
    """Vectors before the last linear map (example, head, feature), in double precision."""
    with torch.inference_mode():
        return torch.stack([net.inner(images(example)).double() for example in maps])


def _scores(net: AttentionNet, sources: Sequence[Source]) -> dict[str, Any]:
    """Head retrieval of each atlas on examples never trained on; None where fewer than two are held out."""
    net.load_state_dict({name: network.stored(name, one).float() for name, one in net.state_dict().items()})
    scores: dict[str, Any] = {}
    for source in sources:
        found = head_retrieval(network.vectors(net, source.held)) if len(source.held) > 1 else None
        scores[source.name] = found and [round(value, 4) for value in found]
    return scores


def _facts(atlases: Sequence[Atlas], sources: Sequence[Source], options: dict[str, int]) -> dict[str, Any]:
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
    recipe = {"method": "Barlow Twins", **asdict(Recipe()), **asdict(Changes())}
    return {"headatlas": __version__, "options": options, "recipe": recipe, "atlases": data}
