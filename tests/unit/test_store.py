"""Writing, opening and printing an atlas, and its errors."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import headatlas as ha
from headatlas.atlas import engine, schema
from headatlas.atlas.files import Files
from headatlas.atlas.store import Atlas
from headatlas.errors import StoreError

SIZES = {"example": 20, "layer": 2, "head": 3, "query": 4, "key": 4, "stat": 5, "block": 3}
HEADER = {"model": {"name": "m", "family": "bert", "heads": 3, "key_heads": 3, "layers": [{"kind": "encoder"}] * 2},
          "data": {"name": "d", "modality": "text"}}  # fmt: skip


@pytest.fixture(params=["folder", "memory"])
def location(request, tmp_path):
    """Where to store an atlas: a local folder, or a URL."""
    if request.param == "folder":
        return str(tmp_path / "x.atlas")
    return f"memory://{request.node.name}.atlas"


def collecting(location):
    """The result of a collection, to write to."""
    Atlas.create(location, HEADER)
    return engine.result(Atlas.open(location), "collect", "collect", {})


def test_blocks_are_written_and_read_by_their_position(location):
    values = np.random.default_rng(0).random((20, 2, 3, 4, 4)).astype(np.float16)
    with collecting(location) as result:
        result.create_array("pooled", SIZES, 8)
        files = [result.write_blocks("pooled", start, values[start : start + 8]) for start in (16, 0, 8)]
        with pytest.raises(AssertionError, match="a block is written whole"):
            result.write_blocks("pooled", 3, values[:8])
        result.finish({})
    reopened = ha.open(location)
    assert np.array_equal(reopened.read("pooled"), values)
    assert np.array_equal(reopened.read("pooled", (slice(3, 12), 1, 2)), values[3:12, 1, 2])
    assert reopened.array("pooled").metadata.dimension_names == schema.ARRAYS["pooled"].axes
    assert files == [[f"collect.zarr/pooled/c/{number}/0/0/0/0"] for number in (2, 0, 1)]
    assert all(reopened.files.exists(name) for (name,) in files)


def test_tables_are_written_completely_or_not_at_all(location):
    with collecting(location) as result:
        result.write_table("heads", pa.table({"layer": [0, 1]}))
        fields = pa.schema([("layer", pa.int64())])
        with pytest.raises(RuntimeError), result.writing_table("heads", fields) as writer:
            writer.write_table(pa.table({"layer": [5]}))
            raise RuntimeError
        result.finish({})
    atlas = ha.open(location)
    assert atlas.table("heads").to_pydict() == {"layer": [0, 1]}
    assert not [name for name in atlas.files.names("collect") if name.endswith(".partial")]


def test_a_manifest_has_the_checksums_of_its_files(location):
    with collecting(location) as result:
        files = result.atlas.files
        assert result.manifest("a") is None
        files.write("thing", b"one")
        result.write_manifest("a", ["thing"], {"n": 3})
        assert result.manifest("a")["facts"] == {"n": 3}
        assert result.pending(["a", "b"]) == ["b"] and result.pending(["a"], {"n": 4}) == ["a"]
        files.write("thing", b"two")
        with pytest.raises(ha.errors.DamagedChunk, match="thing does not match its checksum"):
            result.manifest("a")
        files.remove("thing")
        with pytest.raises(ha.errors.DamagedChunk, match="thing is missing"):
            result.manifest("a")


def test_missing_results_name_the_command(location):
    atlas = Atlas.create(location, HEADER)
    with pytest.raises(StoreError, match=r"has no stats\. Run `headatlas collect MODEL DATA -o .*` first"):
        atlas.read("stats")
    with pytest.raises(StoreError, match=r"has no table heads yet\. Run `headatlas collect MODEL DATA -o .*` first"):
        atlas.table("heads")
    with pytest.raises(StoreError, match="no table 'nothing'; the tables are: examples, tokens"):
        atlas.table("nothing")
    assert "unfinished" in str(atlas)


def test_opening_reports_why_it_fails(tmp_path):
    with pytest.raises(StoreError, match=r"there is no atlas at .*nowhere"):
        ha.open(tmp_path / "nowhere")
    with pytest.raises(StoreError, match=r"is not an atlas: it has no atlas\.json"):
        ha.open(tmp_path)
    (tmp_path / "atlas.json").write_text("{")
    with pytest.raises(StoreError, match=r"atlas\.json is damaged"):
        ha.open(tmp_path)
    for version, advice in ((99, "update headatlas"), (0, "collect again into a new folder")):
        (tmp_path / "atlas.json").write_text(json.dumps({"format": version}))
        with pytest.raises(StoreError, match=f"has format {version}.*{advice}"):
            ha.open(tmp_path)


def test_a_file_in_the_way_and_a_folder_without_permission(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="a file stands where a folder is needed"):
        Atlas.create(tmp_path / "file" / "x.atlas", HEADER)


@pytest.mark.skipif(not Path("/sys/kernel").exists(), reason="needs a read-only file system such as /sys of Linux")
def test_no_permission_gives_one_clear_line():
    with pytest.raises(StoreError, match=r"no permission for /sys/kernel/x\.atlas"):
        Files("/sys/kernel/x.atlas").write("atlas.json", b"{}")


def test_an_index_out_of_range_is_an_index_error_and_not_damage(tmp_path):
    with collecting(tmp_path / "x.atlas") as result:
        result.create_array("stats", SIZES, 8)
        with pytest.raises(IndexError):
            result.atlas.read("stats", 99)
