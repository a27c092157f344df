"""Head t-SNE that the server computes."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from headatlas import tsne
from headatlas.cli import app
from headatlas.web.api.endpoints import ENDPOINTS
from headatlas.web.compute.jobs import Job
from support import served

LONG = (
    "The keeper of the lighthouse wrote down every ship that passed before the storm, because he believed that a ship "
    "which has been written down cannot be lost. His daughter did not believe it. "
)


@pytest.fixture(scope="module")
def client():
    with served.client(served.real()) as running:
        yield running


@pytest.fixture(scope="module")
def answer(client):
    response = client.get("/api/examples/0/tsne.json")
    assert response.status_code == 200, response.text
    return response.json()


def layout(payload, places, number, points):
    """The layout of a head from the buffer, in its original units."""
    scale = payload["heads"][number]["scale"]
    positions = places.reshape(-1, points, 2)[number].astype(float)
    return positions * scale["step"] + [scale["x"], scale["y"]] - 32767 * scale["step"]


def test_layouts_match_the_library(client, answer):
    points = len(client.get("/api/examples/0.json").json()["tokens"])
    places = served.words(client.get("/api/examples/0/tsne/heads.bin"))
    model = served.real().header["model"]
    assert len(answer["heads"]) == sum(layer["heads"] for layer in model["layers"])
    assert places.size == 2 * points * len(answer["heads"])
    result = tsne.heads("packaged", served.TEXTS[0], heads=[(0, 2), (3, 10)], restarts=8)
    for (layer, head), expected in result.layouts.items():
        number = 12 * layer + head
        entry = answer["heads"][number]
        assert (entry["layer"], entry["head"]) == (layer, head)
        np.testing.assert_allclose(entry["kl"], result.kl[layer, head], rtol=1e-6)
        assert entry["mass"] == pytest.approx(result.mass[layer, head])
        actual, wanted = layout(answer, places, number, points), expected.astype(float)
        distances = [np.linalg.norm(positions[:, None] - positions[None], axis=-1) for positions in (actual, wanted)]
        np.testing.assert_allclose(distances[0], distances[1], atol=4 * entry["scale"]["step"])  # rotated, not changed


def test_activity_chains_and_states(client, answer):
    result = tsne.activity("packaged", served.TEXTS[0])
    for entry, row in zip(answer["heads"], result.rows, strict=True):
        assert (entry["layer"], entry["head"], entry["chain"]) == (row["layer"], row["head"], row["chain"])
        assert entry["activity"] == pytest.approx(row["activity"], abs=1e-5)
    assert [entry["layer"] for entry in answer["layers"]] == list(range(6))
    assert all(len(entry["kl"]) == 8 for entry in answer["layers"])
    points = len(client.get("/api/examples/0.json").json()["tokens"])
    assert served.words(client.get("/api/examples/0/tsne/states.bin")).size == 2 * 6 * points


def test_a_custom_text_and_short_ones(client):
    for text in ("Rain.", "a", LONG):
        read = client.post("/api/try.json", json={"text": text}).json()
        assert read["tsne"]
        text = {"key": read["key"], "variant": "tsne"}
        payload = served.ask(client, ENDPOINTS.tsne, **text).json()
        assert payload["example"] == -1 and len(payload["heads"]) == 72
        assert served.words(served.ask(client, ENDPOINTS.tsne_positions, layouts="heads", **text)).size == 2 * 72 * len(
            read["tokens"]
        )


def test_mistakes(client):
    served.error(client.get("/api/examples/99/tsne.json"), 404)
    served.error(client.get("/api/examples/0/tsne/maximum/99.bin"), 404)
    served.error(client.get("/api/examples/0/tsne/other.bin"), 422)
    served.error(client.get(f"/api/try/{'0' * 32}/tsne.json"), 404)
    with served.client(served.bare()) as planted:  # its model is not available
        assert planted.get("/api/examples/0.json").json()["tsne"] is False
        served.error(planted.get("/api/examples/0/tsne.json"), 404)


def test_canceled_jobs_stop_between_two_heads():
    from headatlas.web.compute import forward, tsne_layouts

    job, started = Job(), []

    def make(task):
        started.append(task)
        job.canceled.set()

    with pytest.raises(forward.Canceled):
        tsne_layouts.in_threads(make, range(100), job)
    assert len(started) < 20


def test_an_export_holds_layouts(tmp_path):
    result = CliRunner().invoke(
        app, ["export", served.real().files.url, str(tmp_path / "site"), "--full", "0", "--tsne", "1"]
    )
    assert result.exit_code == 0 and "t-SNE of 1" in result.output
    api = tmp_path / "site" / "api" / "examples"
    assert len(json.loads((api / "0" / "tsne.json").read_text())["heads"]) == 72
    for path in ("heads.bin", "states.bin", *(f"maximum/{layer}.bin" for layer in range(6))):
        assert (api / "0" / "tsne" / path).is_file()
    assert json.loads((api / "0.json").read_text())["tsne"] is True
    assert json.loads((api / "1.json").read_text())["tsne"] is False
