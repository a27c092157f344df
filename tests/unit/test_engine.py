"""Results: finished once, replaced when options differ, deleted with their inputs, and never mixed."""

import json
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import headatlas as ha
from headatlas.atlas import check, checksums, engine, lock
from headatlas.atlas.files import Files
from headatlas.atlas.store import Atlas
from headatlas.errors import BusyError, OptionError, ReplacedError, StoreError
from support.atlases import folders, unfinish, writer
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


def test_work_that_fails_because_its_input_was_replaced_says_so_and_leaves_nothing(atlas, tmp_path):
    """What is read from two results in turn can fail in any way: other shapes, files that are gone."""
    cluster(atlas, "a", 3)
    with (
        pytest.raises(ReplacedError, match=r"correlate a: what it was made from was replaced meanwhile\. Run the same"),
        engine.result(ha.open(atlas.files.url), "correlate", "a", {}, inputs={"cluster": "a"}) as result,
    ):
        result.write_manifest("block-000000", [result.write_file("part", b"")])
        cluster(atlas, "a", 7)
        raise FileNotFoundError("cluster.zarr/a")
    assert not list(tmp_path.glob("x.atlas/*/correlate/a")) and not (tmp_path / "x.atlas/correlate/a").exists()
    with pytest.raises(StoreError, match=r"has no cluster result called 'gone': it has a"):  # replaced before it began
        engine.result(atlas, "correlate", "gone", {}, inputs={"cluster": "gone"}).__enter__()


def test_groups_that_a_killed_process_did_not_finish_are_written_again(atlas, tmp_path):
    cluster(atlas, "a", 3)
    before = sorted(str(path) for path in tmp_path.rglob("*"))
    array = folders(atlas, "cluster", "a")[1]
    (array / "zarr.json").unlink()  # of the group; that of the array was written first
    for folder in (tmp_path / "x.atlas/cluster.zarr", array.parent, tmp_path / "x.atlas/manifests"):
        (folder / "zarr.0f.partial").write_bytes(b"{")
    (tmp_path / "x.atlas/manifests/zarr.0f.partial").rename(tmp_path / "x.atlas/manifests/atlas.json.0f.partial")
    unfinish(atlas, "cluster", "a")
    assert cluster(atlas, "a", 3)
    assert sorted(str(path) for path in tmp_path.rglob("*")) == before


def test_files_that_disappear_while_they_are_looked_at(tmp_path, monkeypatch):
    """Another process replaces a result between any two calls."""
    files = Files(tmp_path)
    (tmp_path / "a").write_bytes(b"abc")
    assert files.size() == 3 and files.find("a") == b"abc" and files.size_of("a") == 3
    monkeypatch.setattr(Files, "exists", lambda *_: True)
    assert files.find("b") is files.digest("b") is files.info("b") is files.size_of("b") is None
    assert files.names("b") == [] and checksums.recorded(files, "b") == {}
    assert checksums.fault(files, "b", checksums.Checksum("0")) == "is missing"
    monkeypatch.setattr(os, "walk", lambda _: [(str(tmp_path), [], ["a", "gone"])])
    assert files.size() == 3


def test_a_result_that_is_replaced_while_it_is_checked_is_not_called_damaged(atlas, monkeypatch):
    cluster(atlas, "a", 3)
    reader = ha.open(atlas.files.url)
    cluster(atlas, "a", 7)
    assert check.damage(reader)[1] == [] and reader.file("cluster", "fit.npz", "a") is None


def test_many_processes_take_and_release_locks_at_once(tmp_path):
    """The folder of the locks is deleted with the last of them, and made again by the next."""
    files, rounds = Files(tmp_path), 300

    def take(name):
        for _ in range(rounds):
            with lock.hold(files, name, wait=10):
                pass
        return rounds

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(take, ["a", "b", "c", "a"])) == 4 * rounds
    assert not (tmp_path / "locks").exists()
    (tmp_path / "locks").write_bytes(b"")
    with pytest.raises(StoreError, match="a file stands where a folder is needed"):
        take("a")
    (tmp_path / "locks").unlink()
    (tmp_path / "locks").mkdir()  # left by a process that was killed before it deleted it
    lock.clear_dead(files)
    assert not (tmp_path / "locks").exists()


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


def test_what_a_writer_deletes_while_it_is_checked_is_no_damage(atlas, monkeypatch):
    with engine.result(atlas, "cluster", "a", {"k": 3}, inputs={"features": "planted"}) as result:
        write_labels(result, 3)
        listed = check._listed

        def then_deleted(*arguments):
            """Between the listing of the files and the check of them."""
            before = listed(*arguments)
            for task in result.manifests():
                result.delete_manifest(task)
            atlas.files.remove("cluster.zarr/a")
            return before

        reader = ha.open(atlas.files.url)
        monkeypatch.setattr(check, "_listed", then_deleted)
        assert check.damage(reader)[1] == []
        monkeypatch.undo()
        write_labels(result, 3)
        atlas.files.remove(f"cluster.zarr/a/{result.place.key}/labels/c")
        assert check.damage(ha.open(atlas.files.url))[1], "what is gone while its manifest is there is damage"


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


@pytest.mark.parametrize("group", [True, False])
def test_the_empty_folders_of_a_deleted_result_are_deleted_by_the_next_one(atlas, group):
    cluster(atlas, "a", 3)
    left = [folder.parents[1] / "killed" for folder in folders(atlas, "cluster", "a")]
    for folder in left:
        folder.mkdir(parents=True)
    if group:
        (left[1] / "zarr.json").write_text("{}")
    cluster(atlas, "b", 4)
    assert not any(folder.exists() for folder in left) and (left[1].parent / "zarr.json").exists()
    assert (ha.open(atlas.files.url).read("labels", of="a") == 3).all()


def test_a_damaged_block_that_is_not_full_can_be_written_again(tmp_path):
    atlas = planted(tmp_path / "x.atlas", drawn(np.ones((2, 3, 5)), 20), block=8)
    block = tmp_path / "x.atlas/collect.zarr/pooled/c/2/0/0/0/0"
    values, intact = atlas.read("pooled", slice(16, 20)), block.read_bytes()
    for place in np.linspace(0, len(intact) - 1, 20).astype(int):
        damaged = bytearray(intact)
        damaged[place] ^= 0xFF
        block.write_bytes(damaged)
        writer(atlas, "collect", "collect").write_blocks("pooled", 16, values)
        assert block.read_bytes() == intact


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
