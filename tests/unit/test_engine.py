"""Results: finished once, replaced when options differ, deleted with their inputs, and never mixed."""

import json

import numpy as np
import pytest

import headatlas as ha
from headatlas.atlas import engine
from headatlas.atlas.store import Atlas
from headatlas.errors import BusyError, OptionError, ReplacedError, StoreError
from support.atlases import folders, unfinish
from support.planted import drawn, planted


@pytest.fixture
def atlas(tmp_path):
    return planted(tmp_path / "x.atlas", drawn(np.ones((2, 3, 5)), 20))


def cluster(atlas, name, k, source="planted"):
    """Write a clustering; return whether there was anything to do."""
    with engine.result(atlas, "cluster", name, {"k": k}, inputs={"features": source}) as result:
        if result.finished:
            return False
        write_labels(result, k)
        result.finish({"clusters": [{}] * k})
    return True


def write_labels(result, k):
    result.create_array("labels", {"example": 20, "layer": 2, "head": 3}, 16)
    result.write_manifest("block-000000", result.write_blocks("labels", 0, np.full((20, 2, 3), k, np.int32)))


def correlate(atlas, of):
    with engine.result(atlas, "correlate", of, {}, inputs={"cluster": of}) as result:
        if not result.finished:
            result.finish({})


def test_a_result_is_made_once_and_the_latest_is_the_default(atlas):
    assert cluster(atlas, "a", 3) and not cluster(atlas, "a", 3)
    assert cluster(atlas, "b", 4)
    reopened = ha.open(atlas.files.url)
    assert reopened.latest("cluster") == "b" and list(reopened.results("cluster")) == ["a", "b"]
    assert (reopened.read("labels") == 4).all() and (reopened.read("labels", of="a") == 3).all()
    assert reopened.done == ["collect", "features", "cluster"]
    assert "b            4 clusters, stability –  (of planted)" in str(reopened)


def test_a_result_that_is_requested_again_becomes_the_latest(atlas):
    cluster(atlas, "a", 3)
    cluster(atlas, "b", 4)
    assert not cluster(atlas, "a", 3)
    assert ha.open(atlas.files.url).latest("cluster") == "a" and (atlas.read("labels") == 3).all()


def test_results_written_by_two_handles_at_once_are_both_kept(atlas):
    other = ha.open(atlas.files.url)
    with engine.result(atlas, "cluster", "a", {"k": 3}, inputs={"features": "planted"}) as result:
        assert cluster(other, "b", 4)
        result.finish({})
    assert set(ha.open(atlas.files.url).results("cluster")) == {"a", "b"}


def test_the_old_result_is_read_until_the_new_one_is_finished(atlas):
    cluster(atlas, "a", 3)
    reader = ha.open(atlas.files.url)
    with engine.result(atlas, "cluster", "a", {"k": 7}, inputs={"features": "planted"}) as result:
        write_labels(result, 7)
        assert (ha.open(atlas.files.url).read("labels") == 3).all()
        assert (result.atlas.read("labels", of="a") == 7).all()
        result.finish({})
    with pytest.raises(ReplacedError, match=r"cluster a of .* was replaced while it was being read"):
        reader.read("labels", slice(0, 4), of="a")
    assert (reader.read("labels", of="a") == 7).all()  # reading the whole array starts over


def test_other_options_replace_a_result_and_delete_what_was_derived_from_it(atlas, capfd):
    cluster(atlas, "a", 3)
    correlate(atlas, "a")
    old = folders(atlas, "cluster", "a")
    assert (atlas.read("labels") == 3).all()
    assert cluster(atlas, "a", 7)
    assert (atlas.read("labels") == 7).all()
    assert atlas.results("correlate") == {} and not any(folder.exists() for folder in old)
    messages = capfd.readouterr().err
    assert "cluster a: replaced, since options differ" in messages and "correlate a: made from a, deleted" in messages


def test_a_result_whose_input_was_replaced_meanwhile_is_refused(atlas):
    cluster(atlas, "a", 3)
    with (
        pytest.raises(StoreError, match=r"what it was made from was replaced meanwhile\. Run the same command again"),
        engine.result(ha.open(atlas.files.url), "correlate", "a", {}, inputs={"cluster": "a"}) as result,
    ):
        cluster(atlas, "a", 7)
        result.finish({})
    assert ha.open(atlas.files.url).results("correlate") == {}


def test_a_mistake_leaves_no_trace(atlas):
    cluster(atlas, "a", 3)
    before = (ha.open(atlas.files.url).header, atlas.files.names("cluster.zarr"))
    with (
        pytest.raises(OptionError),
        engine.result(atlas, "cluster", "a", {"k": 9}, inputs={"features": "planted"}),
    ):
        raise OptionError("k 9: too many")
    assert (ha.open(atlas.files.url).header, atlas.files.names("cluster.zarr")) == before
    assert atlas.files.names("locks") == []


def test_an_unfinished_result_is_not_read_and_continues(atlas):
    with (
        pytest.raises(KeyboardInterrupt),
        engine.result(atlas, "cluster", "a", {"k": 3}, inputs={"features": "planted"}) as result,
    ):
        write_labels(result, 3)
        raise KeyboardInterrupt
    atlas = ha.open(atlas.files.url)
    assert "cluster" not in atlas.done and atlas.results("cluster") == {}
    assert "a            … unfinished: run the same command again to continue" in str(atlas)
    with engine.result(atlas, "cluster", "a", {"k": 3}, inputs={"features": "planted"}) as result:
        assert result.pending(["block-000000", "block-000001"]) == ["block-000001"]
        result.finish({})
    assert (atlas.read("labels") == 3).all()


def test_an_unfinished_result_of_another_recipe_is_dropped(atlas):
    cluster(atlas, "a", 3)
    unfinish(atlas, "cluster", "a")
    old = folders(atlas, "cluster", "a")
    assert cluster(atlas, "a", 4)
    assert not any(folder.exists() for folder in old) and len(atlas.entries("cluster")) == 1


def test_a_damaged_result_is_recomputed(atlas, tmp_path, capfd):
    cluster(atlas, "a", 3)
    (folders(atlas, "cluster", "a")[1] / "labels/c/1/0/0").write_bytes(b"nonsense")
    assert cluster(atlas, "a", 3)
    assert "does not match its checksum: recomputed" in capfd.readouterr().err
    assert (ha.open(tmp_path / "x.atlas").read("labels") == 3).all()


def test_a_lost_block_is_an_error_and_not_a_block_of_fill_values(atlas):
    cluster(atlas, "a", 3)
    (folders(atlas, "cluster", "a")[1] / "labels/c/1/0/0").unlink()
    with pytest.raises(ha.errors.DamagedChunk, match=r"labels is damaged \(.*c/1/0/0 is missing\)"):
        ha.open(atlas.files.url).read("labels")


def test_a_missing_input_is_named_with_its_command(atlas):
    assert atlas.needed("features") == "planted"
    with pytest.raises(StoreError, match=r"has no cluster yet\. Run `headatlas cluster .*x\.atlas` first"):
        atlas.needed("cluster")
    cluster(atlas, "a", 3)
    with pytest.raises(StoreError, match=r"has no cluster result called 'b': it has a"):
        atlas.needed("cluster", "b")
    with pytest.raises(StoreError, match=r"has no labels of zzz\. Run `headatlas cluster"):
        atlas.read("labels", of="zzz")
    with pytest.raises(StoreError, match=r"has no table clusters yet\. Run `headatlas correlate"):
        atlas.table("clusters")


@pytest.mark.parametrize("name", ["", "../up", "a/b", ".hidden", "ä", "x" * 65])
def test_an_invalid_name_is_refused(atlas, name):
    with pytest.raises(OptionError, match="use letters, digits"), engine.result(atlas, "cluster", name, {}):
        pass


def test_nothing_is_made_from_an_unfinished_collection(atlas):
    unfinish(atlas, "collect", "collect")
    with (
        pytest.raises(StoreError, match=r"is not complete\. Run its `headatlas collect` command again"),
        engine.result(atlas, "features", "a", {}),
    ):
        pass


def test_a_result_that_is_being_written_is_refused_with_its_writer_named(atlas, tmp_path):
    with engine.result(atlas, "cluster", "a", {"k": 3}, inputs={"features": "planted"}):
        holder = json.loads((tmp_path / "x.atlas/locks/cluster.a.lock").read_text())
        with pytest.raises(BusyError) as caught:
            cluster(ha.open(atlas.files.url), "a", 4)
        assert f"process {holder['pid']} on {holder['host']} has been writing since {holder['since']}" in str(
            caught.value
        )
        assert str(caught.value).startswith("cluster a of ") and "choose another name" in str(caught.value)
        assert cluster(ha.open(atlas.files.url), "b", 4)  # another result can be written
    assert not (tmp_path / "x.atlas/locks").exists()


def test_a_lock_of_a_dead_process_is_taken_over_with_a_message(atlas, tmp_path, capfd):
    (tmp_path / "x.atlas/locks").mkdir()
    dead = {"pid": 2**22 + 1, "host": "elsewhere", "since": "2026-01-01T00:00:00", "command": "headatlas cluster"}
    (tmp_path / "x.atlas/locks/cluster.a.lock").write_text(json.dumps(dead))
    assert cluster(atlas, "a", 3)
    assert f"cluster a: taken over from process {dead['pid']}, which began at {dead['since']} and died" in (
        capfd.readouterr().err
    )


def test_an_atlas_of_an_older_format_gives_one_clear_line(tmp_path):
    (tmp_path / "atlas.json").write_text(json.dumps({"format": 1, "stages": {}}))
    with pytest.raises(StoreError, match=r"has format 1, .* reads format 2: collect again .*headatlas collect"):
        Atlas.open(tmp_path)
