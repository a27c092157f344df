"""Head t-SNE that the server computes by tokens or words, with or without special tokens."""

from __future__ import annotations

import threading
from functools import cache

import numpy as np
import pytest
import torch
from transformers import AutoModel

from headatlas import models, tsne
from headatlas.web.api.endpoints import ENDPOINTS
from headatlas.web.api.payloads.tsne import VARIANTS
from headatlas.web.compute.jobs import Pending
from headatlas.web.compute.runner import ModelRunner
from support import served

TEXT = "Morwenna dismantled the xylophonists' counterfeit lighthouses."  # words of several pieces


@pytest.fixture(scope="module")
def client():
    with served.client(served.real()) as running:
        yield running


@cache
def eager(source):
    """An unmodified copy of the packaged model with eager attention."""
    return AutoModel.from_pretrained(source, attn_implementation="eager", dtype=torch.float32).eval()


def test_maximum_attention_matches_the_maps_of_the_model(client):
    model = models.load("packaged")
    ids = model.tokenizer(served.TEXTS[0], return_tensors="pt")
    with torch.inference_mode():
        maps = eager(model.source)(**ids, output_attentions=True).attentions
    points = ids["input_ids"].shape[1]
    for layer in range(6):
        response = client.get(f"/api/examples/0/tsne/maximum/{layer}.bin")
        sent, queries = served.attention(response)[: 12 * points], served.words(response)[12 * points :]
        assert len(queries) == 12 * points
        for head in range(12):
            for key in range(points):
                column = [float(maps[layer][0, head, query, key]) for query in range(points)]
                cell = head * points + key
                assert sent[cell] == pytest.approx(max(column), abs=1e-4)
                assert column[queries[cell]] == pytest.approx(max(column), abs=1e-5)


@pytest.mark.parametrize("name", VARIANTS)
def test_layouts_match_the_library(client, name):
    read = client.post("/api/try.json", json={"text": TEXT}).json()
    text = {"key": read["key"], "variant": name}
    answer = served.ask(client, ENDPOINTS.tsne, **text).json()
    special, unit = VARIANTS[name]
    assert (answer["special"], answer["unit"]) == (special, unit)
    result = tsne.heads("packaged", TEXT, heads=[(0, 2), (3, 10)], restarts=8, special=special, unit=unit)
    for (layer, head), kl in result.kl.items():
        np.testing.assert_allclose(answer["heads"][12 * layer + head]["kl"], kl, rtol=1e-6)
    points = len(result.points[0].text)
    tokens = len(read["tokens"])
    assert points < tokens - 2 if unit == "word" else points == tokens - (0 if special else 2)
    assert served.words(served.ask(client, ENDPOINTS.tsne_positions, layouts="heads", **text)).size == 2 * 72 * points
    assert served.words(served.ask(client, ENDPOINTS.tsne_positions, layouts="states", **text)).size == 2 * 6 * points


def test_words_and_plain_maxima_by_slow_loops(client):
    """Pieces are joined to words, special tokens dropped, then the maximum taken; the state of a word is the mean."""
    from headatlas.web.compute import tsne_layouts as page

    reading = tsne.reading.read("packaged", TEXT)
    side = reading.side("encoder", True)
    groups: list[list[int]] = []
    for number, word in enumerate(side.word):
        if groups and word >= 0 and side.word[groups[-1][0]] == word:
            groups[-1].append(number)
        else:
            groups.append([number])
    groups = [group for group in groups if not side.special[group[0]]]
    assert max(map(len, groups)) > 2
    attention = reading.maps[3][7]
    words = [[np.mean([sum(attention[i, j] for j in keys) for i in queries]) for keys in groups] for queries in groups]
    options = page.options("tsne-plain-words")
    units = page.maps_of(reading, reading.model.layers[3], options)
    np.testing.assert_allclose(units.maps[7], words, atol=1e-6)
    states = page.states_of(reading, reading.model.layers[3], options)
    slow = [reading.hidden[3][group].mean(0) for group in groups]
    np.testing.assert_allclose(states, slow, atol=1e-5)
    key = client.post("/api/try.json", json={"text": TEXT}).json()["key"]
    response = served.ask(client, ENDPOINTS.tsne_maximum, key=key, variant="tsne-plain-words", layer=3)
    size = len(groups)
    np.testing.assert_allclose(
        served.attention(response)[7 * size : 8 * size], np.array(words, np.float64).max(0), atol=1e-4
    )


def test_texts_without_plain_tokens(client):
    """Without special tokens, a text may have no points or a single one."""
    for text in ("a", "[SEP]"):
        read = client.post("/api/try.json", json={"text": text}).json()
        text = {"key": read["key"], "variant": "tsne-plain"}
        answer = served.ask(client, ENDPOINTS.tsne, **text).json()
        assert len(answer["heads"]) == 72
        assert served.ask(client, ENDPOINTS.tsne_positions, layouts="heads", **text).status_code == 200


def test_asking_for_progress_starts_nothing(client):
    assert client.get("/api/examples/1/tsne-words/progress.json").json() == {"done": 0, "total": 0}
    assert client.get(f"/api/try/{'0' * 32}/tsne/progress.json").json() == {"done": 0, "total": 0}
    served.error(client.get("/api/examples/1/other/progress.json"), 422)


def test_progress_counts_heads_and_layers(monkeypatch):
    from headatlas.web.compute import tsne as requests
    from headatlas.web.compute import tsne_layouts as page
    from headatlas.web.views.watcher import AtlasWatcher

    begun, go_on = threading.Event(), threading.Event()

    def slow(vectors, layer, options, states=page._states):
        begun.set()
        assert go_on.wait(30)
        return states(vectors, layer, options)

    monkeypatch.setattr(page, "_states", slow)  # all heads are done when the first layer begins
    runner = ModelRunner()
    snapshot = AtlasWatcher(served.real(), runner.loader).snapshot()
    pending = requests.layouts(runner, snapshot, example=1, variant="tsne")

    def progress(variant):
        payload = requests.progress(runner, snapshot, example=1, variant=variant)
        return payload.done, payload.total

    try:
        assert isinstance(pending, Pending) and begun.wait(60)
        assert progress("tsne") == (72, 78)
        assert progress("tsne-words") == (0, 0)
        go_on.set()
        pending.job.future.result(30)
        assert (pending.job.done, pending.job.total) == (78, 78)
    finally:
        go_on.set()
        runner.close()
