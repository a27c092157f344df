"""Atlases for the tests of the server, made once, and a client that talks to it."""

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from starlette.testclient import TestClient

import headatlas as ha
from headatlas import cluster, correlate, project
from headatlas.models import capture
from headatlas.web.server.app import create
from support.planted import drawn, planted

EXAMPLES, LAYERS, HEADS = 40, 3, 4
GONE = (2, 3)  # a head that does not exist
TEXTS = [
    "The cat sat on the mat, and then it slept.",
    "Who rang?",
    "<script>alert(1)</script> & more.",
    "One. Two, three.",
]
NASTY = "</script><img src=x onerror=alert(1)>\u202e \U0001f600"


@cache
def folder():
    """A folder for atlases that lasts as long as the tests."""
    path = Path(tempfile.mkdtemp(prefix="headatlas-web-"))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


@cache
def bare():
    """Planted maps, no stage after features."""
    preference = np.full((LAYERS, HEADS, 5), 0.02)
    for layer, head in np.ndindex(LAYERS, HEADS):
        preference[layer, head, (layer * HEADS + head) % 5] = 1
    columns = {
        "topic": ["sea", "hill", NASTY, None] * (EXAMPLES // 4),
        "score": np.where(np.arange(EXAMPLES) % 7 == 3, np.nan, np.linspace(-2, 5, EXAMPLES)),
        "flag": [number % 3 == 0 for number in range(EXAMPLES)],
        "a strange/name": [f"v{number % 2}" for number in range(EXAMPLES)],
        "many": [f"value {number}" for number in range(EXAMPLES)],
        "parts": [["a", str(number)] for number in range(EXAMPLES)],
    }
    return planted(folder() / "bare.atlas", drawn(preference, EXAMPLES), missing=[GONE], columns=columns, block=8)


@cache
def full():
    """All stages: a clustering that is correlated, one with noise that is not, a tree, one of heads; a projection."""
    shutil.copytree(folder() / "bare.atlas" if bare() else "", folder() / "full.atlas")
    atlas = ha.open(folder() / "full.atlas")
    cluster.dbscan(atlas, eps=0.5, min_samples=4, name="loose.one")
    cluster.kmeans(atlas, k=3, level="heads", name="heads")
    cluster.tree(atlas)
    correlate.clusters(atlas, of="tree", permutations=19, exemplars=3)
    cluster.kmeans(atlas, k=5)
    correlate.clusters(atlas, of="kmeans", permutations=19, exemplars=3)
    project.pca(atlas)
    return ha.open(folder() / "full.atlas")


@cache
def real():
    """What the packaged model does on a few texts."""
    return ha.collect.maps("packaged", TEXTS, folder() / "real.atlas", resolution=8)


@pytest.fixture
def passes(monkeypatch):
    """Counts forward passes."""
    calls, run = [], capture.run
    monkeypatch.setattr(capture, "run", lambda *rest: (calls.append(1), run(*rest)))
    return calls


def client(atlas, **options):
    """A client of a server for an atlas; errors of the server are responses, not exceptions."""
    options = {"static": None} | options
    return TestClient(create(atlas, **options), base_url="http://127.0.0.1", raise_server_exceptions=False)


def ask(client, endpoint, **values):
    """The response at the address of an endpoint."""
    return client.get("/" + endpoint.path(**values))


def words(answer):
    """A buffer as numbers."""
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/octet-stream"
    return np.frombuffer(answer.content, "<u2")


def attention(answer):
    """A buffer of attention as weights."""
    return (words(answer) / 65535) ** 2


def error(answer, status):
    """The error in a response; all errors have the same shape."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    assert set(answer.json()) == {"error"} and answer.json()["error"]["status"] == status
    return answer.json()["error"]
