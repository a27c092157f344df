"""Damage of an atlas: `headatlas check`, and repairs by running the same command again."""

import json
import shutil

import pytest

import headatlas as ha
from headatlas.atlas import check, header
from headatlas.atlas.files import Files
from headatlas.errors import DamagedChunk, StoreError
from storm import flips
from storm.reading import read_all
from support.atlases import folders
from support.commands import bits, call


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    path = tmp_path_factory.mktemp("storm") / "original.atlas"
    flips.make(path)
    return path


@pytest.fixture
def path(original, tmp_path):
    return shutil.copytree(original, tmp_path / "x.atlas")


def flip(file, at=-1):
    """Change one byte."""
    content = bytearray(file.read_bytes())
    content[at if at >= 0 else len(content) // 2] ^= 1
    file.write_bytes(content)


def test_a_table_is_checked_when_it_is_opened(path):
    table = folders(ha.open(path), "correlate", "kmeans")[2] / "clusters.parquet"
    flip(table)
    for read in (lambda atlas: atlas.table("clusters"), lambda atlas: atlas.table_columns("clusters")):
        with pytest.raises(DamagedChunk, match=r"clusters.parquet is damaged \(it does not match its checksum\)"):
            read(ha.open(path))
    table.write_bytes(table.read_bytes()[:-1])
    with pytest.raises(DamagedChunk, match=r"\(it has [\d,]+ bytes instead of [\d,]+\)"):
        ha.open(path).table("clusters")


def test_pages_of_a_table_without_a_manifest_have_checksums(path):
    (path / "manifests/collect/tables.json").unlink()
    clean = (path / "examples.parquet").read_bytes()
    flip(path / "examples.parquet", clean.index(b"text 1") if b"text 1" in clean else 60)
    with pytest.raises(DamagedChunk, match=r"examples.parquet is damaged"):
        ha.open(path).table("examples")


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"\xff\xfe", b'{"zarr_format": 3}', None])
def test_damaged_metadata_are_named_and_repaired(path, damage, capfd):
    before = bits(path)
    metadata = folders(ha.open(path), "cluster", "kmeans")[1] / "labels/zarr.json"
    clean = metadata.read_bytes()
    metadata.write_bytes(clean.replace(b"20,", b"16,", 1) if damage is None else damage)
    assert metadata.read_bytes() != clean
    with pytest.raises(StoreError, match=r"labels/zarr.json is damaged.*Run the `headatlas cluster` command"):
        ha.open(path).read("labels")
    ha.cluster.kmeans(ha.open(path), k=4, of="planted")
    assert "labels/zarr.json" in "".join(capfd.readouterr().err.split())
    assert bits(path) == before


def test_a_damaged_table_is_repaired_by_the_same_command(path):
    before = bits(path)
    flip(folders(ha.open(path), "correlate", "kmeans")[2] / "clusters.parquet")
    ha.correlate.clusters(ha.open(path), permutations=9)
    assert bits(path) == before


@pytest.mark.parametrize(
    "damage",
    [
        b"", b"{", b"[]", b"\xff", b'{"format": 2}', b'{"format": "2"}', b'{"format": 2, "results": {"x": 1}}',
        b"[" * 5000,
    ],
)  # fmt: skip
def test_a_damaged_header_is_named_and_restored_from_its_copy(path, damage):
    before = bits(path)
    (path / "atlas.json").write_bytes(damage)
    with pytest.raises(StoreError, match=r"atlas.json is damaged: .*headatlas collect MODEL DATA -o .*restores a copy"):
        ha.open(path)
    header.restore(path)
    assert bits(path) == before
    (path / "atlas.json").write_bytes(damage)
    (path / header.COPY).unlink()
    with pytest.raises(StoreError, match="Restore it, or collect elsewhere"):
        ha.open(path)


def test_a_changed_number_in_the_header_is_noticed(path):
    text = (path / "atlas.json").read_text()
    (path / "atlas.json").write_text(text.replace('"examples": 20', '"examples": 21'))
    with pytest.raises(StoreError, match="does not match its checksum"):
        ha.open(path)


def test_headers_and_manifests_without_these_checksums_are_read(path):
    """Atlases of earlier versions."""
    expected = read_all(path)
    text = json.loads((path / "atlas.json").read_text())
    del text["checksum"]
    for entry in (entry for entries in text["results"].values() for entry in entries):
        entry["manifests"] -= 1
    (path / "atlas.json").write_text(json.dumps(text))
    (path / header.COPY).unlink()
    for manifest in path.glob("manifests/**/*.json"):
        content = json.loads(manifest.read_text())
        del content["sizes"]
        manifest.unlink() if manifest.stem == "metadata" else manifest.write_text(json.dumps(content))
    values = read_all(path)
    assert {key: value for key, value in values.items() if key != "header"} == {
        key: value for key, value in expected.items() if key != "header"
    }
    assert check.damage(ha.open(path))[1] == []
    del text["model"]
    (path / "atlas.json").write_text(json.dumps(text))
    with pytest.raises(StoreError, match=r"atlas.json has no valid 'model'"):
        ha.open(path)


def test_the_collect_command_restores_the_header(folder):
    line = ("collect", "packaged", "texts.txt", "-o", "x.atlas", "--resolution", "4")
    (folder / "texts.txt").write_text("The cat sat.\nIt slept.\n")
    assert call(*line)[0] == 0
    before = bits("x.atlas")
    flip(folder / "x.atlas/atlas.json")
    code, _, err = call(*line)
    assert code == 0 and "x.atlas/atlas.json was damaged: restored from its copy" in err
    assert bits("x.atlas") == before


def test_check_names_everything_that_is_damaged(path):
    code, out, _ = call("check", path)
    assert code == 0 and "files are as they were written" in out
    places = [folders(ha.open(path), "correlate", "kmeans")[2] / "cells.parquet", path / "collect.zarr/stats/c/1/0/0/0"]
    places += [folders(ha.open(path), "cluster", "kmeans")[1] / "labels/zarr.json", path / header.COPY]
    places += [folders(ha.open(path), "features", "stats")[0] / "block-000001.json", path / "examples.parquet"]
    for place in places:
        flip(place) if place.name != "block-000001.json" else place.write_bytes(b"{")
    code, out, err = call("check", path)
    lines = out.splitlines()
    assert code == 1 and f"{len(places)} files are damaged" in err and len(lines) == len(places)
    for place, word in zip(places, ("correlate", "collect", "cluster", "copy", "features", "collect"), strict=True):
        name = "collect.zarr/stats" if "stats/c" in str(place) else str(place.relative_to(path))
        assert any(line.startswith(name) and word in line for line in lines), (name, lines)


def test_check_says_what_repairs_a_damaged_header(path):
    flip(path / "atlas.json")
    code, out, err = call("check", path)
    assert code == 1 and out == "" and err.count("\n") == 1 and "Run its `headatlas collect" in err
    assert header.copy(Files(path)) is not None


def test_pieces_that_are_missing_are_found(path):
    (folders(ha.open(path), "features", "stats")[0] / "block-000001.json").unlink()
    code, out, _ = call("check", path)
    assert code == 1 and "has 1 manifests too few. Run the `headatlas features`" in out


def test_a_copy_that_is_not_current_is_renewed_by_the_next_command(path):
    """As after a kill between writing atlas.json and its copy."""
    before = bits(path)
    (path / header.COPY).write_bytes(b"{}")
    ha.project.pca(ha.open(path), of="planted")
    assert bits(path) == before
