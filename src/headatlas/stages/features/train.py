"""Train an encoder of maps without labels: two views of a head should agree, and features should not be redundant.

Barlow Twins (Zbontar et al. 2021): a network sees two views of each head in a batch, and the correlation matrix of the
outputs for the two views is pushed toward the identity.
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

MEMORY = 2**30  # bytes of maps, over all atlases; twice that while they are read
HELD = 60  # at most this many examples of an atlas are held out, and at most a tenth
FITTED = 100  # examples of an atlas that the last linear map is fitted to
WARM = 30  # warm-up steps to the full learning rate


@dataclass(frozen=True)
class Recipe:
    """Fixed hyperparameters."""

    rate: float = 2e-3
    decay: float = 1e-2
    projector: int = 1024
    weight: float = 5e-3  # weight of the correlations between different features
    average: float = 0.98  # decay of the running mean of the weights
    shrink: float = 0.03  # shrinkage of the covariance within heads toward a sphere, as a share of its mean


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
    seed : int
        Random seed.
    steps : int
        Training steps.
    batch : int
        Heads per batch.
    width : int
        Length of the vectors.
    threads : int
        Number of threads.

    Returns
    -------
    dict
        The facts stored in the file, among them `held_out`: the head retrieval on held-out examples of each atlas, as
        score and 95 % interval; also `parameters` and `seconds`.
    """
    if steps < 1 or batch < 16 or not 2 <= width <= 256 or threads < 1 or seed < 0:
        raise OptionError(
            "steps and threads must be at least 1, batch at least 16, width between 2 and 256, and seed at least 0"
        )
    if not atlases:
        raise OptionError("give at least one atlas to train on")
    started = time.monotonic()
    with _deterministic(seed, threads):
        sources = _read(atlases, seed)
        net, losses = _fit(sources, seed, steps, batch, width)
        _fit_linear_map(net, sources)
        facts = _facts(atlases, sources, {"seed": seed, "steps": steps, "batch": batch, "threads": threads})
        facts |= {"loss": losses, "held_out": _scores(net, sources)}
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


def _read(atlases: Sequence[Atlas], seed: int) -> list[Source]:
    rng = np.random.default_rng(seed)
    return [_source(atlas, MEMORY // len(atlases), rng) for atlas in atlases]


def _source(atlas: Atlas, room: int, rng: np.random.Generator) -> Source:
    url = atlas.files.url
    if not atlas.results("collect"):
        raise StoreError(f"the collection of {url} is not finished. Run its `headatlas collect` again, then train")
    examples, *shape = atlas.array("pooled").shape
    if examples < 2:
        raise DataError(f"{url} has {wording.many(examples, 'example')}: two views of a head need at least two")
    count = max(2, min(examples, room // (2 * math.prod(shape))))
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


def _fit(
    sources: Sequence[Source], seed: int, steps: int, batch: int, width: int
) -> tuple[AttentionNet, dict[str, float]]:
    """The running mean of the network over training, and the mean loss over the first and last tenth of the steps."""
    recipe, views = Recipe(), Views([source.maps for source in sources], seed, Changes())
    net = AttentionNet(width=width)
    projector = _projector(net.shape["inner"], recipe.projector)
    optimizer = torch.optim.AdamW([*net.parameters(), *projector.parameters()], weight_decay=recipe.decay)
    mean = copy.deepcopy(net).eval()
    losses = []
    with progress.bar("training", steps, "steps") as advance:
        for step in range(steps):
            for group in optimizer.param_groups:
                group["lr"] = recipe.rate * min(1, (step + 1) / WARM) * (1 + math.cos(math.pi * step / steps)) / 2
            channels = images(torch.cat(views.draw(batch)))
            first, second = projector(net.inner(channels)).chunk(2)
            loss = barlow_twins(first, second, recipe.weight)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            _update_mean(mean, net, min(recipe.average, (step + 1) / (step + 10)))
            losses.append(loss.item())
            advance(1)
    tenth = -(-steps // 10)
    return mean, {"first": round(float(np.mean(losses[:tenth])), 2), "last": round(float(np.mean(losses[-tenth:])), 2)}


def _projector(inputs: int, width: int) -> nn.Sequential:
    """Follows the network in training only: decorrelating more features than are used improves those."""
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
    left, right = ((view - view.mean(0)) / (view.std(0, correction=0) + 1e-4) for view in (first, second))
    correlation = left.T @ right / len(left)
    diagonal = correlation.diagonal()
    others = correlation.square().sum() - diagonal.square().sum()
    return (1 - diagonal).square().sum() + weight * others


@torch.no_grad()
def _update_mean(mean: AttentionNet, net: AttentionNet, decay: float) -> None:
    for old, new in zip(mean.state_dict().values(), net.state_dict().values(), strict=True):
        if old.is_floating_point():
            old.lerp_(new, 1 - decay)


def _fit_linear_map(net: AttentionNet, sources: Sequence[Source]) -> None:
    """Fit the last linear map: it whitens the variance within heads and keeps the axes that separate heads."""
    spreads, means = [], []
    for source in sources:
        inner = _inner(net, source.maps[:FITTED])
        centers = inner.mean(0)
        rest = (inner - centers).flatten(0, 1)
        spreads.append(rest.T @ rest / len(rest))
        means.append(centers)
    spread, heads = torch.stack(spreads).mean(0), torch.cat(means)
    spread += Recipe().shrink * spread.diagonal().mean() * torch.eye(len(spread), dtype=spread.dtype)
    variances, axes = torch.linalg.eigh(spread)
    white = axes / variances.sqrt()
    center = torch.stack([centers.mean(0) for centers in means]).mean(0)
    total = (heads - center) @ white
    # the covariance within heads is now the identity: adding it keeps the order of the axes and makes all well defined
    directions = torch.linalg.eigh(total.T @ total / len(total) + torch.eye(len(white), dtype=white.dtype))[1]
    net.centre.copy_(center)
    net.turn.copy_(white @ directions[:, -net.shape["width"] :].flip(1))


def _inner(net: AttentionNet, maps: Maps) -> Tensor:
    """Vectors before the last linear map (example, head, feature), in double precision."""
    with torch.inference_mode():
        return torch.stack([net.inner(images(example)).double() for example in maps])


def _scores(net: AttentionNet, sources: Sequence[Source]) -> dict[str, Any]:
    """Head retrieval of each atlas on held-out examples; None if fewer than two are held out."""
    net.load_state_dict({name: network.stored(name, tensor).float() for name, tensor in net.state_dict().items()})
    scores: dict[str, Any] = {}
    for source in sources:
        score = head_retrieval(network.vectors(net, source.held)) if len(source.held) > 1 else None
        scores[source.name] = score and [round(value, 4) for value in score]
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
