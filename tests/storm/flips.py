"""A storm over an atlas: single bytes change in random files, then everything is read through the public functions.

A changed byte is either named in one line, and then repaired by the commands that made the atlas, or has no effect on
what is read.
"""

import random
import sys

import numpy as np

import headatlas as ha
from headatlas.atlas import check, engine, schema
from headatlas.errors import StoreError
from storm.children import Child, command
from storm.counting import LOST, REPAIRED, TRACEBACK, WITHOUT, WRONG, Report
from storm.reading import read_all
from storm.scene import FULL, content, differences
from support.atlases import writer
from support.planted import drawn, planted

NO_EFFECT, NAMED, SILENT = 0, 1, 2  # exit status of a reader


def make(path):
    """A small atlas with results of several stages; all its files have checksums."""
    preference = np.full((2, 3, 5), 0.02)
    for layer, head in np.ndindex(2, 3):
        preference[layer, head, (layer * 3 + head) % 5] = 1
    columns = {"topic": ["sea", "hill"] * 10, "parts": [["a", str(number)] for number in range(20)]}
    atlas = planted(path, drawn(preference, 20), columns=columns, block=8)
    seal(atlas)
    ha.features.image(atlas, "stats")
    ha.cluster.kmeans(atlas, k=4, of="planted")
    ha.correlate.clusters(atlas, permutations=9)
    ha.project.pca(atlas, of="planted")
    return ha.open(path)


def seal(atlas):
    """Give the tables of a planted collection checksums, as a real one has."""
    result = writer(atlas, "collect", "collect")
    tables = [schema.TABLES[name].path("") for name in ("examples", "heads", "layers")]
    result.write_manifest(engine.TABLES, tables)
    with atlas.editing():
        atlas.entries("collect")[0]["manifests"] = len(result.manifests())


def _read(path, before):
    """Read everything, and compare it with what it was; print what is wrong."""
    try:
        after = read_all(path)
    except StoreError as error:
        if not (str(error).isprintable() and "damaged" in str(error)):
            raise
        return NAMED if _is_found(path) else sys.stderr.write("named, but not found by check") and SILENT
    wrong = [key for key in before if after.get(key) != before[key]]
    sys.stderr.write(f"{wrong}")
    return SILENT if wrong or len(after) != len(before) else NO_EFFECT


def _is_found(path):
    """Whether `headatlas check` finds damage."""
    try:
        return bool(check.damage(ha.open(path))[1])
    except StoreError:
        return True


def _repair(scene):
    """Run every command that made the atlas again; twice if one names the damage of another, which comes later."""
    for _ in range(2):
        if not sum(command(*scene.arguments(line)) for line in FULL):
            return 0
    return 1


def storm(scene, seed, numbers):
    """Change single bytes of an atlas, one at a time, and run the commands that made it again."""
    report = Report()
    before, intact = read_all(scene.full / "x.atlas"), content(scene.full)
    files = [name for name, digest in intact.items() if digest != "folder"]
    metadata = [name for name in files if name.endswith("zarr.json")]
    tables = [name for name in files if name.endswith((".parquet", ".npz"))]
    for number in numbers:
        rng = random.Random(f"{seed} {number}")
        name = rng.choice(rng.choice([files, metadata, tables, ["x.atlas/atlas.json"]]))  # most files are blocks
        work = scene.fresh("check")
        at = _flip(rng, work / name)
        where = f"seed {seed}, case {number}, byte {at} of {name}"
        report.add(*_outcome(scene, work, before, intact, where))
    return report


def _flip(rng, file):
    data = file.read_bytes()
    at = rng.randrange(len(data))
    file.write_bytes(data[:at] + bytes([data[at] ^ rng.randint(1, 255)]) + data[at + 1 :])
    return at


def _outcome(scene, work, before, intact, where):
    read = Child(_read, (work / "x.atlas", before), work).wait()
    if read.status != NAMED:
        outcome = {NO_EFFECT: WITHOUT, SILENT: WRONG}.get(read.status, TRACEBACK)
        return outcome, where, read.err
    repaired = Child(_repair, (scene,), work).wait()
    if repaired.has_traceback:
        return TRACEBACK, where, str(repaired)
    left = content(work)
    return (REPAIRED if left == intact else LOST), where, f"{differences(left, intact)} {repaired.err[-500:]}"
