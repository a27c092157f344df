"""Find the layers of a model by a trial forward pass, not by tables of family names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from headatlas.errors import ModelError
from headatlas.models import capture
from headatlas.models.batch import pad_token
from headatlas.models.capture import Attended, Call
from headatlas.models.model import Kind, Layer, Modality, Route

SOURCE, TARGET = 6, 4  # lengths in the trial; unequal, to distinguish encoder, decoder and cross attention
HARMLESS = {"position_ids", "cache_position"}


@dataclass(frozen=True, slots=True)
class Seen:
    """One attention call of the trial."""

    module: str
    weights: Tensor
    key_heads: int
    width: int
    scaling: float | None = None
    standard: bool = False


@dataclass(frozen=True, slots=True)
class Survey:
    """The results of the trial."""

    route: Route
    layers: tuple[Layer, ...]
    layer_of_call: dict[int, int]
    tokens: int
    padding: bool
    notes: tuple[str, ...]


def survey(network: Any, modality: Modality, image_size: tuple[int, int] | None = None) -> Survey:
    """Run the network once and describe each of its attention layers."""
    config, attention_type = network.config, getattr(network, "attention_type", None)
    with _explained(config.model_type, modality):
        inputs = trial_inputs(config, modality, image_size)
        route, seen = _look(network, inputs)
    if not seen:
        raise ModelError(
            f"{config.model_type} has no attention to read: none of its layers computes a softmax over tokens"
        )
    lengths = (SOURCE, TARGET) if modality == "text" else (seen[0].weights.shape[-1],) * 2
    layers, unread = _layers(config, seen, lengths)
    if not layers:
        raise ModelError(f"the attention of {config.model_type} cannot be read. {_unread_note(unread)}")
    with _explained(config.model_type, modality):
        padding = modality == "image" or _same_when_padded(network, inputs, {n: seen[n].weights for n, _ in layers})
    notes = [_unread_note(unread)] if unread else []
    notes += _silent_layers(config.get_text_config() if modality == "text" else config, seen)
    notes += _sinks([layer for _, layer in layers])
    notes += _changes(padding, attention_type, getattr(network, "attention_type", None))
    return Survey(
        route,
        tuple(replace(layer, index=index) for index, (_, layer) in enumerate(layers)),
        {number: index for index, (number, _) in enumerate(layers)},
        lengths[0],
        padding,
        tuple(notes),
    )


@contextmanager
def _explained(family: str, modality: Modality) -> Iterator[None]:
    """Turn any error into a ModelError: a network that needs more than a text or an image can fail in many ways."""
    try:
        yield
    except ModelError:
        raise
    except Exception as error:
        what = {"text": "a text", "image": "an image"}[modality]
        reason = " ".join(str(error).split())[:200]
        raise ModelError(f"{family} cannot be run on {what} alone ({type(error).__name__}: {reason})") from error


def _layers(config: Any, seen: list[Seen], lengths: tuple[int, int]) -> tuple[list[tuple[int, Layer]], list[Seen]]:
    """The layers with the numbers of their calls, encoder before decoder before cross; and other calls."""
    layers, unread = [], []
    for number, call in enumerate(seen):
        before = seen[number - 1] if number else None
        if before and before.module == call.module and torch.equal(before.weights, call.weights):
            continue  # the same map, used for two halves of the values
        kind = _kind(call.weights, lengths, bool(getattr(config, "is_encoder_decoder", False)))
        if kind is None:
            unread.append(call)
        elif bool((call.weights < 0).any() or (call.weights.sum(-1) > 1.001).any()):
            raise ModelError(f"{config.model_type} returns scores instead of attention ({call.module} of its outputs)")
        else:
            layers.append((number, _layer(call, kind)))
    order = {"encoder": 0, "decoder": 1, "cross": 2}
    layers.sort(key=lambda pair: (order[pair[1].kind], pair[0]))
    return layers, unread


def trial_inputs(config: Any, modality: Modality, image_size: tuple[int, int] | None) -> dict[str, Tensor]:
    """The smallest input that reveals all layers: one example, six tokens (and four target tokens) or one image."""
    if modality == "image":
        channels = getattr(config, "num_channels", 3)
        noise = torch.rand((1, channels, *(image_size or (224, 224))), generator=torch.Generator().manual_seed(0))
        return {"pixel_values": noise * 2 - 1}
    ids = torch.arange(5, 5 + SOURCE)[None] % getattr(config.get_text_config(), "vocab_size", 5 + SOURCE)
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    if getattr(config, "is_encoder_decoder", False):
        inputs["decoder_input_ids"] = ids[:, :TARGET]
        inputs["decoder_attention_mask"] = torch.ones_like(ids[:, :TARGET])
    return inputs


def _look(network: Any, inputs: dict[str, Tensor]) -> tuple[Route, list[Seen]]:
    names = {id(module): name for name, module in network.named_modules()}
    seen: list[Seen] = []

    def see(number: int, call: Call) -> Attended:
        output, weights = call.eager()
        name = names.get(id(call.module), f"call {number}")
        if weights is None:
            raise ModelError(f"{name} returns no attention weights")
        key_heads, width = call.key.shape[1], call.query.shape[-1]
        seen.append(Seen(name, weights, key_heads, width, call.scaling, is_standard(call)))
        return output, weights

    with torch.inference_mode():
        with capture.seeing(see):
            network(**inputs, **capture.flags(network))
        if seen:
            return "registry", seen
        maps = capture.all_maps(network, inputs)
    width = getattr(network.config, "hidden_size", 0)
    return "outputs", [Seen(f"map {i}", m, m.shape[1], width // m.shape[1]) for i, m in enumerate(maps)]


def _same_when_padded(network: Any, inputs: dict[str, Tensor], maps: dict[int, Tensor]) -> bool:
    """Whether the maps of the trial stay the same when it is padded in a batch with a longer text."""
    pad = pad_token(network.config)
    padded = {}
    for name, values in inputs.items():
        shorter = torch.cat([values, torch.full((1, 2), 0 if "mask" in name else pad)], 1)
        padded[name] = torch.cat([shorter, torch.cat([values, values[:, :2]], 1)])  # (example, token)
    _, seen = _look(network, padded)
    shortened = {n: seen[n].weights[:1, :, : weights.shape[-2], : weights.shape[-1]] for n, weights in maps.items()}
    return all(
        shortened[n].shape == weights.shape and torch.allclose(shortened[n], weights, atol=1e-4)
        for n, weights in maps.items()
    )


def is_standard(call: Call) -> bool:
    """Whether the family computes softmax(scaling · q kᵀ + mask), tested on scores large enough to reveal a cap."""
    if any(isinstance(extra, Tensor) for name, extra in call.extras.items() if name not in HARMLESS):
        return False
    if call.query.shape[1] % call.key.shape[1] or call.query.shape[-1] != call.key.shape[-1]:
        return False
    scaling = call.query.shape[-1] ** -0.5 if call.scaling is None else call.scaling
    rng = torch.Generator().manual_seed(0)
    spread = 20 / (call.query.shape[-1] ** 0.5 * abs(scaling))
    query = torch.randn(call.query.shape, generator=rng) * spread
    key, value = (torch.randn(part.shape, generator=rng) for part in (call.key, call.value))
    eager_output, eager_weights = replace(call, query=query, key=key, value=value).eager()
    groups = query.shape[1] // key.shape[1]
    key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
    scores = query @ key.transpose(-1, -2) * scaling
    weights = (scores if call.mask is None else scores + call.mask).softmax(-1)
    output = (weights @ value).transpose(1, 2)
    return (
        eager_weights is not None
        and eager_output.shape == output.shape
        and torch.allclose(eager_weights, weights, atol=1e-5)
        and torch.allclose(eager_output, output, atol=1e-4)
    )


def _kind(weights: Tensor, lengths: tuple[int, int], encoder_decoder: bool) -> Kind | None:
    """Encoder, decoder or cross attention by the lengths of the map; None if it does not cover the whole input."""
    if weights.ndim != 4 or weights.shape[0] != 1:
        return None
    source, target = lengths
    shape = (weights.shape[-2], weights.shape[-1])
    if encoder_decoder:
        kinds: dict[tuple[int, int], Kind] = {
            (source, source): "encoder",
            (target, target): "decoder",
            (target, source): "cross",
        }
        return kinds.get(shape)
    if shape != (source, source):
        return None
    return "decoder" if _causal(weights) else "encoder"


def _causal(weights: Tensor) -> bool:
    return weights.shape[-1] > 1 and not bool(weights.triu(1).any())


def _layer(call: Seen, kind: Kind) -> Layer:
    heads = call.weights.shape[1]
    causal = kind != "cross" and _causal(call.weights)
    sink = bool((call.weights.sum(-1) < 0.999).any())
    return Layer(
        0, kind, heads, call.key_heads, call.width, causal, call.module, call.scaling, call.standard and not sink, sink
    )


def _unread_note(unread: list[Seen]) -> str:
    names = ", ".join(call.module for call in unread[:4]) + (" …" if len(unread) > 4 else "")
    shape = " × ".join(str(size) for size in unread[0].weights.shape[-2:])
    return (
        f"{len(unread)} layers attend within windows or blocks, so no map covers a whole example "
        f"({names}: {shape}); they are omitted"
    )


def _silent_layers(config: Any, seen: list[Seen]) -> list[str]:
    """Notes about layers without attention, such as linear-attention or state-space layers between attention layers."""
    count = getattr(config, "num_hidden_layers", None)
    numbers = [re.search(r"\.(\d+)\.", f".{call.module}.") for call in seen]
    attending = {int(match.group(1)) for match in numbers if match}
    if not isinstance(count, int) or not attending or len(seen) >= count:
        return []
    silent = [number for number in range(count) if number not in attending]
    types = getattr(config, "layer_types", None) or []
    kinds = sorted({types[number] for number in silent if number < len(types)})
    what = f" ({', '.join(kinds)})" if kinds else ""
    listed = ", ".join(map(str, silent[:12])) + (" …" if len(silent) > 12 else "")
    return [f"{len(silent)} of {count} layers have no softmax attention{what} and are omitted: {listed}"] * bool(silent)


def _sinks(layers: list[Layer]) -> list[str]:
    count = sum(layer.sink for layer in layers)
    what = "give part of their attention to a sink that is not a token; maps are rescaled to the tokens"
    return [f"{count} layers {what}"] if count else []


def _changes(padding: bool, before: str | None, after: str | None) -> list[str]:
    notes = []
    if not padding:
        notes.append("padding changes its maps: a batch holds only examples of the same length")
    if before != after:
        notes.append(
            f"it uses {after} attention for short texts and {before} for long ones; headatlas uses {after} for all"
        )
    return notes
