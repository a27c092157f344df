"""Named results: finished once, replaced when options differ, deleted with what they were made from."""

import numpy as np
import pytest

import headatlas as ha
from headatlas.atlas import results
from headatlas.errors import OptionError, StoreError
from support.planted import drawn, planted


@pytest.fixture
def atlas(tmp_path):
    return planted(tmp_path / "x.atlas", drawn(np.ones((2, 3, 5)), 20))


def cluster(atlas, name, k, source="planted"):
    there = results.begin(atlas, "cluster", name, {"k": k}, source=("features", source))
    if there is not None:
        return False
    sizes = {"example": 20, "layer": 2, "head": 3}
    atlas.create_array("labels", sizes, 16, {}, of=name)
    files = atlas.write_blocks("labels", 0, np.full((20, 2, 3), k, np.int32), of=name)
    results.finish(atlas, "cluster", name, {"clusters": [{}] * k}, files)
    return True


def test_a_result_is_made_once_and_the_latest_is_taken(atlas):
    assert cluster(atlas, "a", 3) and not cluster(atlas, "a", 3)
    assert cluster(atlas, "b", 4)
    again = ha.open(atlas.files.url)
    assert again.latest("cluster") == "b" and list(again.results("cluster")) == ["a", "b"]
    assert (again.read("labels") == 4).all() and (again.read("labels", of="a") == 3).all()
    assert again.done == ["collect", "features", "cluster"]
    assert "b            4 clusters, stability –  (of planted)" in str(again)


def test_a_result_that_is_asked_for_again_becomes_the_latest(atlas):
    cluster(atlas, "a", 3)
    cluster(atlas, "b", 4)
    assert not cluster(atlas, "a", 3)
    assert ha.open(atlas.files.url).latest("cluster") == "a" and (atlas.read("labels") == 3).all()


def test_results_finished_by_two_handles_at_once_are_both_kept(atlas):
    other = ha.open(atlas.files.url)
    assert results.begin(atlas, "cluster", "a", {"k": 3}, source=("features", "planted")) is None
    assert cluster(other, "b", 4)
    results.finish(atlas, "cluster", "a", {"clusters": []})
    assert set(ha.open(atlas.files.url).results("cluster")) == {"a", "b"}


def test_asking_whether_a_result_is_finished_changes_nothing(atlas):
    cluster(atlas, "a", 3)
    source = ("features", "planted")
    assert results.finished(atlas, "cluster", "a", {"k": 9}, source=source) is None
    assert results.finished(atlas, "cluster", "a", {"k": 3}, source=source)["name"] == "a"
    assert (ha.open(atlas.files.url).read("labels") == 3).all()


def test_other_options_replace_a_result_and_delete_what_was_made_from_it(atlas, capfd):
    cluster(atlas, "a", 3)
    results.begin(atlas, "correlate", "a", {}, source=("cluster", "a"))
    results.finish(atlas, "correlate", "a", {"names": []})
    assert (atlas.read("labels") == 3).all()
    assert cluster(atlas, "a", 7)
    assert (atlas.read("labels") == 7).all()
    assert atlas.results("correlate") == {}
    said = capfd.readouterr().err
    assert "cluster a: replaced, since options differ" in said and "correlate a: made from a, deleted" in said


def test_an_unfinished_result_is_not_shown_and_goes_on(atlas):
    assert results.begin(atlas, "cluster", "a", {"k": 3}, source=("features", "planted")) is None
    assert "cluster" not in atlas.done and atlas.results("cluster") == {}
    assert cluster(atlas, "a", 3)


def test_a_damaged_result_is_made_anew(atlas, tmp_path, capfd):
    cluster(atlas, "a", 3)
    (tmp_path / "x.atlas/cluster.zarr/a/labels/c/1/0/0").write_bytes(b"nonsense")
    assert cluster(atlas, "a", 3)
    assert "does not match its checksum: computed anew" in capfd.readouterr().err
    assert (ha.open(tmp_path / "x.atlas").read("labels") == 3).all()


def test_what_is_needed_and_missing_is_named_with_its_command(atlas):
    assert results.needed(atlas, "features") == "planted"
    with pytest.raises(StoreError, match=r"has no cluster yet\. Run `headatlas cluster .*x\.atlas` first"):
        results.needed(atlas, "cluster")
    cluster(atlas, "a", 3)
    with pytest.raises(StoreError, match=r"has no cluster result called 'b': it has a"):
        results.needed(atlas, "cluster", "b")
    with pytest.raises(StoreError, match=r"has no labels of zzz\. Run `headatlas cluster"):
        atlas.read("labels", of="zzz")
    with pytest.raises(StoreError, match=r"has no table clusters yet\. Run `headatlas correlate"):
        atlas.table("clusters")


@pytest.mark.parametrize("name", ["", "../up", "a/b", ".hidden", "ä", "x" * 65])
def test_a_name_that_is_no_folder_is_refused(atlas, name):
    with pytest.raises(OptionError, match="use letters, digits"):
        results.begin(atlas, "cluster", name, {})


def test_nothing_is_made_from_an_unfinished_collection(atlas):
    atlas.header["stages"]["collect"]["done"] = False
    with pytest.raises(StoreError, match=r"is not complete\. Run its `headatlas collect` command again"):
        results.begin(atlas, "features", "a", {})
