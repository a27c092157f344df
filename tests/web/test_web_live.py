"""Full maps that are computed on request: exact, one at a time, and canceled when no client waits."""

import io
import shutil
import socket
import threading
import time
from concurrent.futures import wait

import numpy as np
import pytest
from PIL import Image

import headatlas as ha
from conftest import TEXTS as MIXED
from headatlas.data import Example
from headatlas.models import capture
from headatlas.web.api.endpoints import ENDPOINTS
from headatlas.web.compute import forward, model_files
from headatlas.web.compute.full_maps import full_map
from headatlas.web.compute.runner import ModelRunner
from headatlas.web.views.watcher import AtlasWatcher
from support import served
from support.served import TEXTS, attention, error

CLOSE = 2e-5


@pytest.fixture(scope="module")
def client(packaged_model):
    return served.client(served.real(), model=packaged_model)


def shapes(layer, tokens, target):
    queries = tokens if layer.kind == "encoder" or not target else target
    return queries, target if layer.kind == "decoder" and target else tokens


def assert_full(client, number, exact):
    """All full maps of an example equal those of `models.attention`."""
    example = client.get(f"/api/examples/{number}.json").json()
    assert [token["text"] for token in example["tokens"]] == exact.tokens
    assert [token["text"] for token in example["target"]] == exact.target_tokens
    assert example["full"]
    for layer in exact.layers:
        shape = shapes(layer, len(example["tokens"]), len(example["target"]))
        for head in range(layer.heads):
            path = ENDPOINTS.full_map.path(example=number, layer=layer.index, head=head)
            sent = attention(client.get(f"/{path}")).reshape(shape)
            assert np.abs(sent - exact.map(layer.index, head)).max() <= CLOSE
    assert layer.heads  # there was one


def test_full_maps_match_the_model(client, packaged_model, passes):
    for number, text in enumerate(TEXTS):
        assert_full(client, number, ha.models.attention(packaged_model, text))
    assert len(passes) == 2 * len(TEXTS)  # one by the server, for all heads, and one by the test


def test_windows_and_cut_texts_are_read_as_they_were_collected(packaged_model, tmp_path):
    long = " ".join(["the tide turns and the bell rings"] * 8)
    atlas = ha.collect.maps(
        packaged_model, [long], tmp_path / "w.atlas", resolution=4, max_tokens=20, overlong="window"
    )
    count = atlas.array("pooled").shape[0]
    client = served.client(atlas, model=packaged_model)
    assert count > 2
    for number in range(count):
        example = client.get(f"/api/examples/{number}.json").json()
        assert (example["window"], example["windows"], len(example["tokens"]) <= 20) == (number, count, True)
        assert len(attention(client.get(f"/api/examples/{number}/full/3.3.bin"))) == len(example["tokens"]) ** 2


def test_three_kinds_of_layers(small, tmp_path):
    model = small("T5").model
    atlas = ha.collect.maps(model, MIXED, tmp_path / "t5.atlas", resolution=8)
    client = served.client(atlas, model=model)
    assert {layer["kind"] for layer in client.get("/api/atlas.json").json()["model"]["layers"]} == {
        "encoder", "decoder", "cross",
    }  # fmt: skip
    for number in (0, 4):
        assert_full(client, number, ha.models.attention(model, MIXED[number]))


def test_images_and_their_pictures(small, tmp_path):
    loaded = small("ViT")
    pictures = [shutil.copy(path, tmp_path) for path in loaded.pictures]
    examples = [Example(str(number), image=str(path)) for number, path in enumerate(pictures)]
    atlas = ha.collect.maps(loaded.model, examples, tmp_path / "vit.atlas", resolution=8)
    client = served.client(atlas, model=loaded.model)
    card = client.get("/api/atlas.json").json()
    assert card["model"]["grid"] == {"special": ["[CLS]"], "rows": 4, "columns": 4}
    for number in (0, 2):
        assert_full(client, number, ha.models.attention(loaded.model, pictures[number]))
    sent = client.get("/api/examples/1/image.png")
    assert sent.headers["content-type"] == "image/png"
    (tmp_path / "sent.png").write_bytes(sent.content)
    with Image.open(tmp_path / "sent.png") as shown, Image.open(pictures[1]) as original:
        assert np.array_equal(np.asarray(shown), np.asarray(original))
    small_one = Image.open(io.BytesIO(client.get("/api/examples/1/thumbnail.png").content))
    assert max(small_one.size) <= 128
    assert "reads images" in error(client.post("/api/try.json", json={"text": "a cat"}), 422)["message"]
    Image.new("RGB", (40, 50)).save(pictures[2])  # another picture under the same name: never a wrong map
    fresh = served.client(atlas, model=loaded.model)
    assert "has changed" in error(fresh.get("/api/examples/2/full/0.0.bin"), 409)["message"]
    (tmp_path / "0.png").unlink()
    assert "no longer where it was" in error(fresh.get("/api/examples/0/image.png"), 404)["message"]
    assert error(fresh.get("/api/examples/0/full/0.0.bin"), 422)


def test_large_pictures_are_made_smaller_and_lose_their_metadata(tmp_path):
    from PIL.PngImagePlugin import PngInfo

    from headatlas.web.views.examples import encoded_again

    note = PngInfo()
    note.add_text("Comment", "secret place")
    Image.new("RGB", (3000, 600)).save(tmp_path / "large.png", pnginfo=note)
    sent = encoded_again(str(tmp_path / "large.png"))
    assert b"secret place" in (tmp_path / "large.png").read_bytes() and b"secret place" not in sent
    (tmp_path / "small.png").write_bytes(sent)
    with Image.open(tmp_path / "small.png") as shown:
        assert shown.size == (1024, 205)


def test_a_custom_text(client, packaged_model):
    text = "A bell rang; the bell was old."
    response = client.post("/api/try.json", json={"text": text})
    example = response.json()
    exact = ha.models.attention(packaged_model, text)
    assert (example["example"], example["pooled"], example["image"], example["text"]) == (-1, False, False, text)
    assert [token["text"] for token in example["tokens"]] == exact.tokens
    for layer, head in ((0, 2), (5, 11)):
        path = ENDPOINTS.full_map.path(key=example["key"], layer=layer, head=head)
        sent = attention(client.get(f"/{path}")).reshape(len(exact.tokens), -1)
        assert np.abs(sent - exact.map(layer, head)).max() <= CLOSE
    pair = client.post("/api/try.json", json={"text": "Who rang?", "pair": "A man rang."}).json()
    assert {token["segment"] for token in pair["tokens"]} == {0, 1}
    assert error(client.post("/api/try.json", json={"text": "  "}), 422)["next"]
    assert error(client.post("/api/try.json", json={"text": "a" * 20_001}), 413)
    assert client.post("/api/try.json", json={"text": "a " * 10_000}).json()["note"].endswith("tokens were cut off.")


def test_the_model_is_found_automatically_and_only_if_it_is_local(tmp_path):
    atlas = served.real()
    assert atlas.header["model"]["source"] == "packaged"
    assert model_files.candidates(atlas.header["model"], None) == ["packaged"]
    assert model_files.find_local("no/such-model") is None and model_files.find_local("../x/y z") is None
    card = served.client(atlas).get("/api/atlas.json").json()
    assert card["live"] and card["live_note"] == ""
    elsewhere = served.client(atlas, model=str(tmp_path)).get("/api/atlas.json").json()
    assert not elsewhere["live"] and "--model FOLDER" in elsewhere["live_note"]


def test_a_model_with_other_weights_is_refused(small, packaged_model):
    atlas = served.real()
    client = served.client(atlas, model=small("BERT").model)
    assert client.get("/api/atlas.json").json()["live"]
    problem = error(client.get("/api/examples/0/full/0.0.bin"), 503)
    assert "has other weights" in problem["message"] and "--model FOLDER" in problem["command"]
    card = client.get("/api/atlas.json").json()
    assert not card["live"] and "has other weights" in card["live_note"]
    assert client.get("/api/examples/0.json").json()["full"] is False
    assert error(client.get("/api/examples/0/full/0.0.bin"), 404)


def test_long_texts_cache_as_many_maps_as_fit(packaged_model, monkeypatch, passes):
    monkeypatch.setattr("headatlas.web.compute.runner.MAP_BYTES", 1000)  # less than all maps, more than one layer
    client = served.client(served.real(), model=packaged_model)
    exact = ha.models.attention(packaged_model, TEXTS[1])
    before = len(passes)
    for layer, head in ((1, 0), (1, 11), (4, 3)):
        sent = attention(client.get(f"/api/examples/1/full/{layer}.{head}.bin"))
        assert np.abs(sent - exact.map(layer, head).ravel()).max() <= CLOSE
    assert len(passes) - before == 2  # a layer at a time
    monkeypatch.setattr("headatlas.web.compute.full_maps.LARGEST_LAYER", 100)
    assert "too many" in error(client.get("/api/examples/1/full/0.0.bin"), 422)["message"]


@pytest.fixture
def slow(monkeypatch):
    """A forward pass that waits in its first layer until it is released; the layers it reaches are recorded."""
    begun, go, layers, call = threading.Event(), threading.Event(), [], capture.Record.call

    def waiting(self, layer, attention_call):
        if isinstance(self, forward.MapRecorder):
            layers.append(layer.index)
            begun.set()
            assert go.wait(20)
        return call(self, layer, attention_call)

    monkeypatch.setattr(capture.Record, "call", waiting)
    return begun, go, layers


def test_a_pass_ends_between_layers_when_all_clients_have_left(packaged_model, slow):
    begun, go, layers = slow
    runner = ModelRunner(packaged_model)
    snapshot = AtlasWatcher(served.real(), runner.loader).snapshot()

    def ask(example, layer, head):
        return full_map(runner, snapshot, example=example, layer=layer, head=head).job

    first, second = ask(0, 0, 0), ask(0, 3, 3)
    assert first is second  # one pass for both
    waiting = ask(1, 0, 0)
    assert begun.wait(20)
    runner.jobs.leave(waiting)  # canceled before it starts
    runner.jobs.leave(first)
    assert not first.canceled.is_set()  # one still waits
    runner.jobs.leave(second)
    go.set()
    wait([first.future, waiting.future], 20)
    assert isinstance(first.future.exception(), forward.Canceled) and layers == [0]
    assert "no client waits" in str(waiting.future.exception())
    repeated = ask(0, 0, 0)
    assert sorted(repeated.future.result(20)) == list(range(6))
    runner.close()


def test_requests_are_canceled_when_the_client_disconnects(packaged_model, slow):
    begun, go, layers = slow
    page = ha.web.open(served.real(), model=packaged_model)
    try:
        port = int(page.url.rpartition(":")[2].strip("/"))
        with socket.create_connection(("127.0.0.1", port)) as asking:
            asking.sendall(f"GET /api/examples/0/full/0.0.bin HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
            assert begun.wait(20)
        jobs = page._app.state.runner.jobs
        deadline = time.monotonic() + 10
        while not all(job.canceled.is_set() for job in jobs.unfinished()) and time.monotonic() < deadline:
            time.sleep(0.02)
        go.set()
        while jobs.unfinished() and time.monotonic() < deadline:
            time.sleep(0.02)
        assert layers == [0]
    finally:
        go.set()
        page.close()
