"""Killed between any two steps of the engine and run again, every stage ends with the same bits; and
concurrent writers lose nothing."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import headatlas as ha
from headatlas import cluster, collect, correlate, features
from support.planted import drawn, planted

SUPPORT = Path(__file__).parents[1]
KILLS = 20
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a POSIX system")


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """A planted atlas with features, a clustering, and its correlations."""
    path = tmp_path_factory.mktemp("base") / "x.atlas"
    atlas = planted(path, drawn(np.ones((2, 3, 5)), 40), block=8)
    cluster.kmeans(atlas, k=5)
    correlate.clusters(atlas, permutations=9)
    return path


@pytest.fixture(scope="module")
def collected(tmp_path_factory):
    """Two texts collected with the packaged model."""
    path = tmp_path_factory.mktemp("collected") / "x.atlas"
    collect.maps("packaged", ["The cat sat on the mat.", "It slept, then it ate."], path, resolution=8)
    return path


@pytest.fixture(scope="module")
def clustered(collected, tmp_path_factory):
    """The same with features and a clustering."""
    path = tmp_path_factory.mktemp("clustered") / "x.atlas"
    atlas = ha.open(shutil.copytree(collected, path))
    features.image(atlas, "stats")
    cluster.kmeans(atlas, k=4)
    return path


@pytest.mark.parametrize(
    ("stage", "start"),
    [
        ("collect", None), ("features", "base"), ("features again", "base"), ("cluster", "base"),
        ("cluster again", "base"), ("cluster tree", "base"), ("sweep", "base"), ("project", "base"),
        ("correlate", "base"), ("null", "clustered"), ("tsne", "collected"), ("tsne compare", "collected"),
        ("qk", "collected"), ("probe", "collected"), ("compare", "clustered"), ("evaluate", None),
    ],
)  # fmt: skip
def test_a_stage_killed_between_two_steps_ends_with_the_same_bits(stage, start, request, tmp_path):
    atlas = str(request.getfixturevalue(start)) if start else ""
    arguments = [stage, atlas, str(tmp_path), str(KILLS)]
    command = [sys.executable, "-m", "support.killing", *arguments]
    process = subprocess.run(command, cwd=SUPPORT, capture_output=True, text=True, timeout=900)
    assert process.returncode == 0, process.stderr[-3000:]
    kills, steps = map(int, process.stdout.split())
    assert kills >= min(KILLS, steps)


WRITER = """
import sys, time
import numpy as np
import headatlas as ha
from headatlas.atlas import engine
path, name, start, rounds = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4])
for number in range(rounds):
    while time.time() < start + number * 0.02:
        pass
    options, inputs = {"n": number}, {"features": "planted"}
    with engine.result(ha.open(path), "cluster", f"{name}{number}", options, inputs=inputs) as result:
        result.create_array("labels", {"example": 4, "layer": 1, "head": 2}, 4)
        result.write_manifest("block-000000", result.write_blocks("labels", 0, np.full((4, 1, 2), number, np.int32)))
        result.finish({})
"""


def test_two_hundred_pairs_of_results_finished_at_the_same_moment_lose_nothing(tmp_path):
    import time

    path, rounds = tmp_path / "x.atlas", 200
    planted(path, drawn(np.ones((1, 2, 5)), 4), block=4)
    start = str(time.time() + 5)
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), name, start, str(rounds)], stderr=subprocess.PIPE)
        for name in ("a", "b")
    ]
    for writer in writers:
        assert writer.wait(600) == 0, writer.stderr.read().decode()
    atlas = ha.open(path)
    names = {f"{name}{number}" for name in ("a", "b") for number in range(rounds)}
    assert set(atlas.results("cluster")) == names
    for name in names:
        assert (atlas.read("labels", of=name) == int(name[1:])).all()
    assert not (path / "locks").exists() and not list(path.rglob("*.partial"))


READER = """
import sys
import headatlas as ha
from headatlas.errors import ReplacedError
path, seen, replaced = sys.argv[1], set(), 0
while True:
    atlas = ha.open(path)
    labels = atlas.read("labels", of="a")
    seen.add(int(labels[0, 0, 0]))
    assert (labels == labels[0, 0, 0]).all(), "a mixture of two results"
    try:
        parts = [atlas.read("labels", slice(start, start + 4), of="a") for start in range(0, 40, 4)]
        assert all((part == parts[0][0, 0, 0]).all() for part in parts), "a mixture of two results"
    except ReplacedError:
        replaced += 1
    if int(labels[0, 0, 0]) == 60:
        break
print(len(seen), replaced)
"""


def test_a_reader_sees_the_old_result_or_the_new_one_and_never_a_mixture(tmp_path):
    from headatlas.atlas import engine

    path = tmp_path / "x.atlas"
    atlas = planted(path, drawn(np.ones((1, 2, 5)), 40), block=4)

    def write(number):
        with engine.result(atlas, "cluster", "a", {"n": number}, inputs={"features": "planted"}) as result:
            result.create_array("labels", {"example": 40, "layer": 1, "head": 2}, 4)
            result.write_blocks("labels", 0, np.full((40, 1, 2), number, np.int32))
            result.finish({})

    write(0)
    reader = subprocess.Popen(
        [sys.executable, "-c", READER, str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    for number in range(1, 61):
        write(number)
    out, err = reader.communicate(timeout=300)
    assert reader.returncode == 0, err
    assert int(out.split()[0]) >= 1
