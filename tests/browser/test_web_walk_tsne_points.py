"""Points that the t-SNE tab draws: tokens or words, with or without special tokens."""

from __future__ import annotations

import pytest

import headatlas as ha
from headatlas import models
from headatlas.atlas.tokens import read_tokens
from headatlas.models.batch import text_batch
from headatlas.stages.tsne.heads import head_points
from headatlas.stages.tsne.reading import Reading
from headatlas.web.api.payloads.tsne import VARIANTS
from support import served
from support.browser import until
from support.pages import looking
from support.walking import settled


@pytest.fixture(scope="module")
def decoder(tmp_path_factory):
    """A small untrained decoder that reads pieces of bytes, on single texts and on pairs."""
    from conftest import byte_tokenizer
    from support.families import FAMILIES

    home = tmp_path_factory.mktemp("decoder")
    FAMILIES["Llama"].network().save_pretrained(home / "llama")
    byte_tokenizer().save_pretrained(home / "llama")
    texts = [
        ha.data.Example("0", text="The keeper of the lighthouse wrote it down."),
        ha.data.Example("1", text="Who", pair="Someone unforgettable."),  # both texts have a word 0, side by side
    ]
    return ha.collect.maps(str(home / "llama"), texts, home / "decoder.atlas", resolution=8)


def drawn(page):
    """The points that the browser shows: units of the text, and circles of the layout."""
    units = page.evaluate("[...document.querySelectorAll('[data-unit]')].map(unit => unit.textContent)")
    circles = page.evaluate(
        "document.querySelectorAll('.points')[0].querySelectorAll('circle:not(.ring)').length"
    )  # fmt: skip
    return units, circles


def letters(texts):
    """Texts without spaces and without the prefix of a piece."""
    return ["".join(text.removeprefix("##").split()) for text in texts]


@pytest.mark.parametrize("kind", ["packaged", "decoder", "pairs"])
def test_points_of_the_page_match_the_server(browser, kind, request):
    """The same units, in the same order, as the library lays out: texts of tokens or words, with or without special."""
    atlas = served.real() if kind == "packaged" else request.getfixturevalue(kind)
    model = models.load("packaged" if kind == "packaged" else atlas.header["model"]["source"])
    number = {"packaged": 0, "decoder": 1, "pairs": 5}[kind]
    encoded = read_tokens(atlas, [number])
    reading = Reading(model, text_batch(model, encoded), encoded[0])
    layers = {layer.kind: layer for layer in model.layers}.values()
    shown = ha.web.open(atlas)
    try:
        with looking(browser) as page:
            for name, (special, unit) in VARIANTS.items():
                query = f"special={int(special)}&words={int(unit == 'word')}"
                for layer in layers:
                    page.goto(f"{shown.url}#/tsne/{number}?head={layer.index}.0&{query}")
                    settled(page)
                    wanted = head_points(reading, layer, special, unit).text
                    until(
                        page, f"document.querySelectorAll('[data-unit]').length === {len(wanted)} && "
                        f"document.querySelectorAll('.points circle').length >= {len(wanted)}", 60,
                    )  # fmt: skip
                    units, circles = drawn(page)
                    assert letters(units) == letters(wanted), name
                    assert circles == len(wanted), name
    finally:
        shown.close()
