"""The contents of a page that shows the full maps of one text, without an atlas."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from headatlas import __version__, wording
from headatlas.atlas import schema
from headatlas.data import Example as Input
from headatlas.errors import OptionError
from headatlas.models import Attention
from headatlas.models import attention as compute
from headatlas.models.load import ModelLike
from headatlas.models.model import check_head
from headatlas.stages.qk.notes import layer_note
from headatlas.web.api import arrays
from headatlas.web.api.endpoints import ENDPOINTS
from headatlas.web.api.payloads.atlas import AtlasCard, DataCard, HeadRow, Heads, LayerCard, ModelCard
from headatlas.web.api.payloads.base import Payload
from headatlas.web.api.payloads.examples import Example, Examples, Texts, Token
from headatlas.web.compute.forward import token_payloads
from headatlas.web.server.responses import to_bytes
from headatlas.web.single import make
from headatlas.web.single.contents import Contents
from headatlas.web.views.example_vectors import scaling_of

ADDRESS = "#/examples/0?example=0"
MODEL_ADDRESS = f"{ADDRESS}&as=model"


def read(attention: Attention | ModelLike, text: str | Path | Input | None, pair: str | None) -> Attention:
    """The maps that were given, or those that a model computes."""
    if isinstance(attention, Attention):
        if text is not None or pair is not None:
            raise OptionError("these maps are of one text already: give a model to read another text")
        return attention
    if text is None:
        raise OptionError("give a text after the model, or what models.attention returned")
    return compute(attention, text, pair=pair)


def head_address(attention: Attention, layer: int, heads: Sequence[int] | None) -> str:
    """The address of the arcs of some heads of a layer."""
    counts = [len(maps) for maps in attention.maps]
    check_head(counts, layer, 0)
    chosen = range(counts[layer]) if heads is None else heads
    if not chosen:
        raise OptionError("heads: give at least one, or leave it out to show all of the layer")
    for head in chosen:
        check_head(counts, layer, head)
    return f"{ADDRESS}&as=arcs&heads={','.join(f'{layer}.{head}' for head in chosen)}"


def contents(attention: Attention, address: str) -> Contents:
    """Everything that the tab Examples asks for."""
    page = Contents(address, f"one text as {attention.model or 'a model'} reads it", tabs=["examples"])
    for path, response in _responses(attention):
        page.add(path, to_bytes(response))
    size = sum(maps.size for maps in attention.maps)
    if size > make.COMPRESSIBLE * make.LARGEST or not make.add_maps(page, dict(_maps(attention))):
        raise OptionError(
            f"the maps of {wording.many(len(attention.tokens), 'token')} take more than the "
            f"{make.megabytes(make.LARGEST)} of a page in a notebook: give a shorter text"
        )
    return page


def _maps(attention: Attention) -> Iterator[tuple[str, bytes]]:
    for layer, maps in enumerate(attention.maps):
        yield ENDPOINTS.layer_maps.path(example=0, layer=layer), arrays.attention(maps).tobytes()


def _responses(attention: Attention) -> Iterator[tuple[str, Payload]]:
    tokens, target = _tokens(attention)
    text = " ".join(token.text for token in tokens)
    rows = [
        HeadRow(layer=number, head=head, kind=layer.kind, mean=[], deviation=[])
        for number, layer in enumerate(attention.layers)
        for head in range(layer.heads)
    ]
    yield ENDPOINTS.atlas.path(), _card(attention)
    yield ENDPOINTS.heads.path(), Heads(examples=1, heads=rows)
    yield ENDPOINTS.texts.path(), Texts(text=[text])
    yield (
        ENDPOINTS.examples.path(),
        Examples(
            id=["0"], excerpt=[text[:160]], n_tokens=[len(tokens)], n_target=[len(target)], window=[0], windows=[1],
            columns={},
        ),
    )  # fmt: skip
    yield (
        ENDPOINTS.example.path(example=0),
        Example(
            example=0, key=None, id="", text=text, pair=None, window=0, windows=1,
            cut=attention.encoded.cut if attention.encoded else 0, columns={}, tokens=tokens, target=target,
            image=False, pooled=False, full=True, tsne=False, vectors=False, note="",
        ),
    )  # fmt: skip


def _tokens(attention: Attention) -> tuple[list[Token], list[Token]]:
    if attention.encoded is not None:
        return token_payloads(attention.encoded)
    source, target = (
        [Token(text=text, word=number, special=False, segment=0) for number, text in enumerate(tokens)]
        for tokens in (attention.tokens, attention.target_tokens)
    )
    return source, target


def _card(attention: Attention) -> AtlasCard:
    layers = [
        LayerCard(
            index=number, kind=layer.kind, heads=layer.heads, key_heads=layer.key_heads, causal=layer.causal,
            width=layer.width, scaling=scaling_of(asdict(layer)), note=layer_note(asdict(layer)),
        )
        for number, layer in enumerate(attention.layers)
    ]  # fmt: skip
    model = ModelCard(
        name=attention.model, family="", modality="text", revision=None, hash="", layers=layers,
        heads=max(layer.heads for layer in layers), key_heads=max(layer.key_heads for layer in layers), width=None,
        max_tokens=None, grid=None, notes=[],
    )  # fmt: skip
    tokens = len(attention.tokens)
    data = DataCard(
        name="one text", modality="text", examples=1, tokens=tokens, windowed=0, windows=0, cut=0, skipped=0
    )
    return AtlasCard(
        name="", version=__version__, format=schema.FORMAT, static=True, live=False,
        live_note="A single file has no model to run.", full_examples=[0], pooled_examples=None, resolution=1,
        model=model, data=data, stages=[], statistics=[], columns=[], projections=[], clusterings=[],
    )  # fmt: skip
